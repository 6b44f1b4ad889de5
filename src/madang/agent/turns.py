"""Bringing the calls of one turn to their ends: deciding, making, waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from madang.agent import events
from madang.agent.approvals import Approvals
from madang.agent.call_details import NO_DETAILS, CallDetails, reply_details
from madang.agent.calls import can_repeat, fingerprint, is_effect, parse_arguments, plan_turn
from madang.agent.history import count_tokens
from madang.agent.limits import RunStopped
from madang.core.calls import Call
from madang.core.errors import MadangError, NotGranted, UnknownTool
from madang.core.ids import new_id
from madang.core.pauses import PauseRecord
from madang.core.phrases import Phrase, say
from madang.core.results import Reply
from madang.core.tools import Tool
from madang.llm.messages import ImagePart, ResultPart, dump_parts, parse_parts
from madang.provider.policy import Decision
from madang.provider.provider import Provider
from madang.rendering.catalogue import translator
from madang.storage.events import NewEvent
from madang.storage.pauses import PauseStore
from madang.storage.runs.calls import CallStore
from madang.storage.runs.journal import CallChange, CallOutcome, NewMessage, RunCall, Step, StepState
from madang.storage.runs.message_calls import operation_id
from madang.storage.runs.records import Run
from madang.storage.runs.store import RunStore

MAX_PARALLEL_READS = 8
MAX_SAME_CALLS = 3
"""After so many calls with the same outcome the model is told, after one more the run fails."""


@dataclass(slots=True)
class _Pending:
    """What a turn has to write with its next step."""

    changes: list[CallChange] = field(default_factory=list)
    events: list[NewEvent] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    is_tainted: bool = False


class Turn:
    """The calls of the present turn of a run that this process owns."""

    def __init__(
        self,
        run: Run,
        runs: RunStore,
        calls: CallStore,
        provider: Provider,
        approvals: Approvals,
        pauses: PauseStore,
        call: Callable[[Run, str, str], Call],
        approve: Callable[[str], None],
        *,
        is_manual: bool,
    ) -> None:
        self.run = run
        self._is_manual = is_manual
        self._runs = runs
        self._calls = calls
        self._provider = provider
        self._approvals = approvals
        self._pauses = pauses
        self._call = call
        self._approve = approve
        self._pending = _Pending()
        self._results: dict[int, tuple[CallOutcome, ResultPart]] = {}
        self._open: dict[int, str] = {}
        self._approvals_taken: dict[int, PauseRecord] = {}

    async def settle(self, calls: Sequence[RunCall]) -> bool:
        """Bring every call to its end, as far as that goes without the person; False if the run waits now.

        Raises:
            LostRun: the run is no longer this process's.
            RunStopped: it turns in a circle.
        """
        tools = {call.tool: self._provider.find_tool(call.tool) for call in calls}
        plan = plan_turn(calls, tools)
        for call in plan.interrupted:
            self._end(call, "interrupted", self._words(_INTERRUPTED), is_error=True)
        ready = list(plan.approved)
        for call in plan.asked:
            await self._take_answer(call, ready)
        for call in plan.undecided:
            await self._decide(call, tools[call.tool], ready)
        await self._make_reads([call for call in ready if not is_effect(tools[call.tool])])
        await self._make_effects(calls, [call for call in ready if is_effect(tools[call.tool])], tools)
        return await self._finish(calls)

    async def _take_answer(self, call: RunCall, ready: list[RunCall]) -> None:
        """Take what came of a pause; one that is still open is not answered, because the person wrote instead."""
        pause = _find(self.run.pauses, call.pause_id)
        if pause is None:
            # An owner died between what it asked and the end of the turn, so nothing was awaited yet.
            pause = _find(await self._pauses.list_by_run(self.run.user_id, self.run.id), call.pause_id)
            if pause is not None and pause.is_open:
                self._open[call.number] = pause.id
                return
        if pause is None:
            self._end(call, "interrupted", self._words(_INTERRUPTED), is_error=True)
            return
        self._pending.noted.append(pause.id)
        asked = CallDetails(pause=pause)
        if pause.is_open:
            self._end(call, "unanswered", self._words(_UNANSWERED), details=asked)
        elif call.state == "waiting":
            reply = await self._provider.outcome(self._made(call), pause)
            self._end_with(call, reply, reply_details(self._made(call), {}, reply, pause=pause))
        elif pause.settled_with.get("arguments", {}).get("allow") is True:
            ready.append(call)
            self._approvals_taken[call.number] = pause
            self._approve(self._operation(call))
        else:
            self._end(call, "denied", self._words(_DENIED), is_error=True, details=asked)

    async def _decide(self, call: RunCall, tool: Tool | None, ready: list[RunCall]) -> None:
        arguments = parse_arguments(call.arguments)
        if arguments is None:
            self._end(call, "error", self._words(_NO_OBJECT), is_error=True)
            return
        decision = Decision("allow")
        if tool is not None:
            decision = await self._provider.decide(self._made(call), tool, arguments)
        if decision.verdict == "ask":
            pause = await self._approvals.ask(self.run, call, self._operation(call))
            self._open[call.number] = pause.id
            self._pending.changes.append(CallChange(number=call.number, state="asking", pause_id=pause.id))
            asked = CallDetails(pause=pause)
            self._pending.events.append(events.call_paused(call.call_id, pause.id, "approval", asked.metadata()))
        else:
            ready.append(call)  # also one that is denied: the provider refuses it, and keeps a record of that

    async def _make_reads(self, calls: Sequence[RunCall]) -> None:
        limit = asyncio.Semaphore(MAX_PARALLEL_READS)

        async def one(call: RunCall) -> None:
            async with limit:
                await self._make(call)

        await asyncio.gather(*map(one, calls))

    async def _make_effects(
        self, calls: Sequence[RunCall], ready: list[RunCall], tools: dict[str, Tool | None]
    ) -> None:
        """Make effects one after another, in the model's order; none before one that the person has to allow first."""
        first_open = min((n for n in self._open if is_effect(tools[_by_number(calls, n).tool])), default=None)
        ready = sorted(
            (call for call in ready if first_open is None or call.number < first_open), key=lambda call: call.number
        )
        unmarked = [call for call in ready if not can_repeat(tools[call.tool]) and call.state != "started"]
        if unmarked:
            self._pending.changes += [CallChange(number=call.number, state="started") for call in unmarked]
            await self._commit()
        for place, call in enumerate(ready):
            await self._make(call)
            if place < len(ready) - 1:
                await self._commit()

    async def _make(self, call: RunCall) -> None:
        arguments = parse_arguments(call.arguments)
        if arguments is None:
            self._end(call, "error", self._words(_NO_OBJECT), is_error=True)
            return
        started_s = time.perf_counter()
        try:
            reply = await self._provider.execute_tool(self._made(call), call.tool, arguments)
        except (UnknownTool, NotGranted) as error:
            self._end(call, "error", f"[{call.tool[:100]}] Error: {self._error_words(error)}", is_error=True)
            return
        took_ms = round((time.perf_counter() - started_s) * 1000)
        tool = self._provider.find_tool(call.tool)
        self._pending.is_tainted = self._pending.is_tainted or (tool is not None and tool.untrusted)
        approval = self._approvals_taken.get(call.number)
        details = reply_details(self._made(call), arguments, reply, took_ms, approval)
        if reply.pause_id:
            self._pause(call, reply, details)
        else:
            self._end_with(call, reply, details)

    def _pause(self, call: RunCall, reply: Reply, details: CallDetails) -> None:
        # The time and the data are those of the question; what the person does is the outcome.
        details = CallDetails(view_id=details.view_id, view_uri=details.view_uri)
        self._open[call.number] = reply.pause_id
        self._pending.changes.append(
            CallChange(number=call.number, state="waiting", pause_id=reply.pause_id, view_id=details.view_id or None)
        )
        kind = reply.pause or ""
        self._pending.events.append(events.call_paused(call.call_id, reply.pause_id, kind, details.metadata()))

    def _end_with(self, call: RunCall, reply: Reply, details: CallDetails) -> None:
        images = tuple(ImagePart(image.data, image.mime_type, image.alt) for image in reply.images)
        outcome: CallOutcome = "denied" if reply.error_code == "denied" else "error" if reply.is_error else "ok"
        self._end(call, outcome, reply.text, is_error=reply.is_error, images=images, details=details)

    def _end(
        self,
        call: RunCall,
        outcome: CallOutcome,
        text: str,
        *,
        is_error: bool = False,
        images: tuple[ImagePart, ...] = (),
        details: CallDetails = NO_DETAILS,
    ) -> None:
        part = ResultPart(call.call_id, call.tool, text, is_error, images)
        self._results[call.number] = outcome, part
        self._pending.changes.append(
            CallChange(
                number=call.number,
                state="done",
                outcome=outcome,
                result=dump_parts([part]),
                fingerprint=fingerprint(call.tool, call.arguments, text),
                took_ms=details.took_ms,
                data=details.data,
                data_left_out=details.data_left_out,
                view_id=details.view_id or None,
            )
        )
        self._pending.events.append(events.call_ended(call.call_id, text, outcome, details.metadata()))

    async def _finish(self, calls: Sequence[RunCall]) -> bool:
        if self._open:
            ids = set(self._open.values())
            pauses = [one for one in await self._pauses.list_by_run(self.run.user_id, self.run.id) if one.id in ids]
            self._pending.events.append(events.run_waiting(self.run, pauses))
            await self._commit(state="waiting", awaited=[pause.id for pause in pauses])
            return False
        if not self._is_manual:  # a person may look at the same thing as often as they like
            await self._break_circle()
        parts = [part for call in calls for part in self._result_parts(call)]
        id = new_id()
        self._pending.events.append(events.results_given(id))
        message = NewMessage(id, "tool", dump_parts(parts), len(self._pending.events) - 1, count_tokens(parts))
        await self._commit(messages=[message])
        return True

    def _result_parts(self, call: RunCall) -> list[ResultPart]:
        if call.number in self._results:
            return [self._results[call.number][1]]
        return [part for part in parse_parts(list(call.result)) if isinstance(part, ResultPart)]

    async def _break_circle(self) -> None:
        """Notice a run that makes the same call with the same outcome again and again.

        Raises:
            RunStopped: the model was told, and went on all the same.
        """
        for change in self._pending.changes:
            if change.state != "done" or not change.fingerprint:
                continue
            count = 1 + await self._calls.count_same(self.run, change.fingerprint)
            if count > MAX_SAME_CALLS:
                raise RunStopped("loop", say("The same call had the same outcome again and again."))
            if count == MAX_SAME_CALLS:
                outcome, part = self._results[change.number]
                hint = self._words(_SAME_AGAIN)
                self._results[change.number] = (
                    outcome,
                    ResultPart(part.call_id, part.tool, f"{part.text}\n{hint}", part.is_error, part.images),
                )

    async def _commit(
        self, *, state: StepState = "running", messages: Sequence[NewMessage] = (), awaited: Sequence[str] = ()
    ) -> None:
        """Write all that is pending as one step; where there is nothing, nothing."""
        pending, self._pending = self._pending, _Pending()
        step = Step(
            state=state,
            events=pending.events,
            messages=messages,
            changes=pending.changes,
            is_tainted=pending.is_tainted,
            awaited=awaited,
            noted=pending.noted,
        )
        if state != "running" or messages or pending.changes or pending.events:
            self.run = await self._runs.commit(self.run, step)

    def _operation(self, call: RunCall) -> str:
        return operation_id(self.run.id, call.turn, call.number)

    def _made(self, call: RunCall) -> Call:
        return self._call(self.run, call.call_id, self._operation(call))

    def _words(self, phrase: Phrase) -> str:
        return phrase.render(translator(self._call(self.run, "", "").locale))

    def _error_words(self, error: MadangError) -> str:
        hint = f"\nHint: {self._words(error.hint)}" if error.hint is not None else ""
        return self._words(error.message) + hint


def _find(pauses: Sequence[PauseRecord], id: str) -> PauseRecord | None:
    return next((pause for pause in pauses if pause.id == id), None)


def _by_number(calls: Sequence[RunCall], number: int) -> RunCall:
    return next(call for call in calls if call.number == number)


_INTERRUPTED = say(
    "Error: Madang stopped while this call was made, so its outcome is not known: it may have been done.\n"
    "Hint: Look at the state before you call it again."
)
_UNANSWERED = say("Not answered yet: the person wrote something instead, which follows. The question stays open.")
_DENIED = say("Error: The person did not allow this call.\nHint: Ask them what they want instead.")
_NO_OBJECT = say("Error: The arguments are no JSON object.\nHint: Send one whole JSON object.")
_SAME_AGAIN = say("Hint: This call had the same outcome {count} times. Do something else.", count=MAX_SAME_CALLS)
