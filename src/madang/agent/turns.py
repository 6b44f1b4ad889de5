"""Bringing the calls of one turn to their ends: deciding, making, waiting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from madang.agent import events
from madang.agent.call_details import NO_DETAILS, CallDetails, reply_details
from madang.agent.calls import can_repeat, fingerprint, is_effect, parse_arguments, plan_turn
from madang.agent.circles import ENDS, HINTS, MAX_RECENT_CALLS, PastCall, Verdict, judge, plan_digest
from madang.agent.history import count_tokens
from madang.agent.limits import RunStopped
from madang.agent.outcomes import check_stored, error_text, outcome_part
from madang.agent.stores import RunStores
from madang.core.calls import Call
from madang.core.errors import NotGranted, UnknownTool
from madang.core.ids import new_id
from madang.core.pauses import PauseRecord
from madang.core.phrases import Phrase, say
from madang.core.results import Reply
from madang.core.trust import Origin
from madang.llm.messages import ImagePart, ResultPart, dump_parts, parse_parts
from madang.provider.policy import ALLOWED, Decision
from madang.provider.provider import Provider
from madang.records.events import NewEvent
from madang.records.runs.calls import RecentCall
from madang.records.runs.journal import CallChange, CallOutcome, NewMessage, RunCall, Step, StepState
from madang.records.runs.message_calls import operation_id
from madang.records.runs.records import Run
from madang.rendering.catalogue import translator

MAX_PARALLEL_READS = 8


@dataclass(slots=True)
class _Pending:
    """What a turn has to write with its next step."""

    changes: list[CallChange] = field(default_factory=list)
    events: list[NewEvent] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)


class Turn:
    """The calls of the present turn of a run that this process owns.

    Reads run side by side; effects one by one, in the model's order, each decided just before it is made, with all that
    came before it in the turn. An effect that the person has to allow stops the later ones.
    """

    def __init__(
        self,
        run: Run,
        stores: RunStores,
        provider: Provider,
        call: Callable[[Run, str, str], Call],
        *,
        is_manual: bool,
    ) -> None:
        self.run = run
        self._stores = stores
        self._provider = provider
        self._call = call
        self._is_manual = is_manual
        self._pending = _Pending()
        self._results: dict[int, ResultPart] = {}
        self._ended: dict[int, CallChange] = {}
        self._open: dict[int, str] = {}
        self._gates: set[int] = set()
        self._allowed: dict[int, PauseRecord] = {}
        self._shown: list[Origin] = []
        self._insist = stores.patience.insist

    async def settle(self, calls: Sequence[RunCall]) -> bool:
        """Bring every call to its end, as far as that goes without the person; False if the run waits now.

        Raises:
            LostRun: the run is no longer this process's.
            RunStopped: it turns in a circle.
        """
        tools = {call.tool: self._provider.find_tool(call.tool) for call in calls}
        plan = plan_turn(calls, tools)
        self._shown = [origin for call in calls for origin in call.origins]
        ready = [*plan.approved, *plan.undecided]
        for call in plan.interrupted:
            if await self._is_to_repeat(call):
                ready.append(call)
        for call in plan.asked:
            if await self._take_answer(call):
                ready.append(call)
        decided = {call.number: ALLOWED for call in ready if call.state != "received"}
        ready.sort(key=lambda call: call.number)
        await self._make_reads([call for call in ready if not is_effect(tools[call.tool])], decided)
        await self._make_effects([call for call in ready if is_effect(tools[call.tool])], decided)
        return await self._finish(calls)

    async def _is_to_repeat(self, call: RunCall) -> bool:
        """Find out what became of a call over which an owner died, and tell whether it has to be made (again)."""
        was_done = await self._was_done(call)
        if was_done is None:
            self._end(call, "interrupted", self._words(_INTERRUPTED), is_error=True)
        elif was_done:
            self._end(call, "ok", self._words(_DONE_BEFORE))
        return was_done is False

    async def _take_answer(self, call: RunCall) -> bool:
        """Take what came of a pause, and tell whether the person has allowed the call.

        A pause that is still open is not answered, because the person wrote instead.
        """
        pause = _find(self.run.pauses, call.pause_id)
        if pause is None:
            # An owner died between what it asked and the end of the turn, so nothing was awaited yet.
            pause = _find(await self._stores.pauses.list_by_run(self.run.user_id, self.run.id), call.pause_id)
            if pause is not None and pause.is_open:
                self._await(call, pause.id, is_gate=call.state == "asking")
                return False
        if pause is None:
            self._end(call, "interrupted", self._words(_INTERRUPTED), is_error=True)
            return False
        self._pending.noted.append(pause.id)
        asked = CallDetails(pause=pause)
        if pause.is_open and call.state == "asking":
            # What would be allowed later is a call that has its outcome: the model asks anew if it still wants to.
            self._pending.withdrawn.append(pause.id)
            self._end(call, "denied", self._words(_UNDECIDED), is_error=True, details=asked)
        elif pause.is_open:
            self._end(call, "unanswered", self._words(_UNANSWERED), details=asked)
        elif call.state == "waiting":
            reply = await self._insist(partial(self._outcome, call, pause))
            self._end_with(call, reply, reply_details(self._made(call), {}, reply, pause=pause))
        elif pause.settled_with.get("arguments", {}).get("allow") is True:
            self._allowed[call.number] = pause
            return True
        else:
            self._end(call, "denied", self._words(_DENIED), is_error=True, details=asked)
        return False

    async def _make_reads(self, calls: Sequence[RunCall], decided: Mapping[int, Decision]) -> None:
        limit = asyncio.Semaphore(MAX_PARALLEL_READS)

        async def one(call: RunCall, decision: Decision) -> None:
            async with limit:
                await self._make(call, decision)

        decisions = [(call, decided.get(call.number) or await self._decide(call)) for call in calls]
        await asyncio.gather(*(one(call, decision) for call, decision in decisions if decision is not None))

    async def _make_effects(self, calls: Sequence[RunCall], decided: Mapping[int, Decision]) -> None:
        for call in calls:
            if any(number < call.number for number in self._gates):
                return
            decision = decided.get(call.number) or await self._decide(call)
            if decision is None:
                continue
            is_marked = call.state == "started" or can_repeat(self._provider.find_tool(call.tool))
            if decision.verdict == "allow" and not is_marked:
                self._pending.changes.append(CallChange(number=call.number, state="started"))
            # What came before is kept before the next effect begins, and that it begins is known to a next owner.
            if any(change.state in ("started", "done") for change in self._pending.changes):
                await self._commit()
            await self._make(call, decision)

    async def _decide(self, call: RunCall) -> Decision | None:
        """Decide over a call; None if it is not made now: the person is asked, or it is none that could be made."""
        tool, arguments = self._provider.find_tool(call.tool), parse_arguments(call.arguments)
        if arguments is None:
            self._end(call, "error", self._words(_NO_OBJECT), is_error=True)
            return None
        if tool is None:
            return ALLOWED  # making it tells the model so
        decision = await self._insist(lambda: self._provider.decide(self._made(call), tool, arguments, self._shown))
        if decision.verdict != "ask":
            return decision
        pause = await self._stores.approvals.ask(self.run, call, self._operation(call), decision.reason)
        self._await(call, pause.id, is_gate=True)
        self._pending.changes.append(CallChange(number=call.number, state="asking", pause_id=pause.id))
        asked = CallDetails(pause=pause)
        self._pending.events.append(events.call_paused(call.call_id, pause.id, "approval", asked.metadata()))
        return None

    async def _make(self, call: RunCall, decision: Decision) -> None:
        arguments = parse_arguments(call.arguments)
        if arguments is None:
            self._end(call, "error", self._words(_NO_OBJECT), is_error=True)
            return
        started_s = time.perf_counter()
        try:
            reply = await self._insist(lambda: self._execute(call, arguments, decision))
        except (UnknownTool, NotGranted) as error:
            self._end(call, "error", error_text(self._made(call), call.tool, error), is_error=True)
            return
        took_ms = round((time.perf_counter() - started_s) * 1000)
        details = reply_details(self._made(call), arguments, reply, took_ms, self._allowed.get(call.number))
        if reply.pause_id:
            self._pause(call, reply, details)
        else:
            self._end_with(call, reply, details)

    async def _execute(self, call: RunCall, arguments: dict[str, Any], decision: Decision) -> Reply:
        """Make a call.

        Raises:
            StoreUnavailable: the database did not answer, and the call can be made again: its effect is had once, or
                has not been had.
        """
        reply = await self._provider.execute_tool(self._made(call), call.tool, arguments, decision)
        if reply.is_store_away:
            tool = self._provider.find_tool(call.tool)
            if can_repeat(tool) or not is_effect(tool) or await self._was_done(call) is False:
                return check_stored(reply)
        return reply

    async def _outcome(self, call: RunCall, pause: PauseRecord) -> Reply:
        return check_stored(await self._provider.outcome(self._made(call), pause))

    async def _was_done(self, call: RunCall) -> bool | None:
        return await self._insist(lambda: self._provider.was_done(self._made(call), call.tool))

    def _await(self, call: RunCall, pause_id: str, *, is_gate: bool) -> None:
        self._open[call.number] = pause_id
        if is_gate:
            self._gates.add(call.number)

    def _pause(self, call: RunCall, reply: Reply, details: CallDetails) -> None:
        # The time and the data are those of the question; what the person does is the outcome.
        details = CallDetails(view_id=details.view_id, view_uri=details.view_uri)
        self._await(call, reply.pause_id, is_gate=False)
        self._pending.changes.append(
            CallChange(number=call.number, state="waiting", pause_id=reply.pause_id, view_id=details.view_id or None)
        )
        assert reply.pause is not None
        self._pending.events.append(events.call_paused(call.call_id, reply.pause_id, reply.pause, details.metadata()))

    def _end_with(self, call: RunCall, reply: Reply, details: CallDetails) -> None:
        images = tuple(ImagePart(image.data, image.mime_type, image.alt) for image in reply.images)
        outcome: CallOutcome = "denied" if reply.error_code == "denied" else "error" if reply.is_error else "ok"
        tool = self._provider.find_tool(call.tool)
        origins = tool.origins(reply) if tool is not None else ()
        self._shown += origins
        self._end(call, outcome, reply.text, is_error=reply.is_error, images=images, details=details, origins=origins)

    def _end(
        self,
        call: RunCall,
        outcome: CallOutcome,
        text: str,
        *,
        is_error: bool = False,
        images: tuple[ImagePart, ...] = (),
        details: CallDetails = NO_DETAILS,
        origins: tuple[Origin, ...] = (),
    ) -> None:
        part = outcome_part(call.call_id, call.tool, text, is_error=is_error, images=images)
        # A read that brings something new is no repetition; an effect is one, whatever it says of itself.
        text_of_read = None if is_effect(self._provider.find_tool(call.tool)) else part.text
        change = CallChange(
            number=call.number,
            state="done",
            outcome=outcome,
            result=dump_parts([part]),
            fingerprint=fingerprint(call.tool, call.arguments, text_of_read, plan_digest(details.data)),
            took_ms=details.took_ms,
            data=details.data,
            data_left_out=details.data_left_out,
            view_id=details.view_id or None,
            origins=origins,
        )
        self._results[call.number], self._ended[call.number] = part, change
        self._pending.changes.append(change)
        self._pending.events.append(events.call_ended(call.call_id, part.text, outcome, details.metadata()))

    async def _finish(self, calls: Sequence[RunCall]) -> bool:
        if self._open:
            ids = set(self._open.values())
            pauses = [
                one for one in await self._stores.pauses.list_by_run(self.run.user_id, self.run.id) if one.id in ids
            ]
            self._pending.events.append(events.run_waiting(self.run, pauses))
            await self._commit(state="waiting", awaited=[pause.id for pause in pauses])
            return False
        # A person may look at the same thing as often as they like.
        circle = None if self._is_manual else await self._find_circle(calls)
        parts = [part for call in calls for part in self._result_parts(call)]
        if circle is not None:
            closing = next(call.call_id for call in calls if call.number == circle.number)
            hint = self._words(HINTS[circle.circle.shape])
            parts = [replace(one, text=f"{one.text}\n{hint}") if one.call_id == closing else one for one in parts]
        id = new_id()
        self._pending.events.append(events.results_given(id))
        message = NewMessage(id, "tool", dump_parts(parts), len(self._pending.events) - 1, count_tokens(parts))
        await self._commit(messages=[message])
        if circle is not None and circle.is_over:
            raise RunStopped("loop", ENDS[circle.circle.shape], hint=say("Write a message to go on with it."))
        return True

    def _result_parts(self, call: RunCall) -> list[ResultPart]:
        if call.number in self._results:
            return [self._results[call.number]]
        return [part for part in parse_parts(list(call.result)) if isinstance(part, ResultPart)]

    async def _find_circle(self, calls: Sequence[RunCall]) -> Verdict | None:
        """Return what is to be done about this turn, by the recent calls of the run; not all of its own are written."""
        recent = {
            (one.turn, one.number): one for one in await self._stores.calls.list_recent(self.run, MAX_RECENT_CALLS)
        }
        tools = {call.number: call.tool for call in calls}
        for number, change in self._ended.items():
            one = RecentCall(self.run.turn, number, tools[number], change.fingerprint, change.outcome)
            recent[self.run.turn, number] = one
        return judge([self._past(one) for _, one in sorted(recent.items())])

    def _past(self, call: RecentCall) -> PastCall:
        key, _, plan = call.fingerprint.partition(":")
        effect = is_effect(self._provider.find_tool(call.tool))
        return PastCall(call.turn, call.number, call.tool, key, effect, call.outcome == "ok", plan)

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
            awaited=awaited,
            noted=pending.noted,
            withdrawn=pending.withdrawn,
        )
        if state != "running" or messages or pending.changes or pending.events:
            self.run = await self._stores.runs.commit(self.run, step)

    def _operation(self, call: RunCall) -> str:
        return operation_id(self.run.id, call.turn, call.number)

    def _made(self, call: RunCall) -> Call:
        return self._call(self.run, call.call_id, self._operation(call))

    def _words(self, phrase: Phrase) -> str:
        return phrase.render(translator(self._call(self.run, "", "").locale))


def _find(pauses: Sequence[PauseRecord], id: str) -> PauseRecord | None:
    return next((pause for pause in pauses if pause.id == id), None)


_DONE_BEFORE = say("Done. Madang was interrupted right after it, so its own words are lost: look at what it changed.")
_INTERRUPTED = say(
    "Error: Madang stopped while this call was made, so its outcome is not known: it may have been done.\n"
    "Hint: Look at the state before you call it again."
)
_UNANSWERED = say("No answer yet: the person wrote the message below instead. The question stays open.")
_UNDECIDED = say(
    "Error: Not done: the person wrote the message below instead of allowing it.\n"
    "Hint: Do what they say now. If the call is still wanted, make it again: they are asked again."
)
_DENIED = say("Error: The person did not allow this call.\nHint: Ask them what they want instead.")
_NO_OBJECT = say("Error: The arguments are no JSON object.\nHint: Send one whole JSON object.")
