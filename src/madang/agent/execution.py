"""One run from where it is to its next stop: ask the model, make its calls, ask again."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from madang.agent import events
from madang.agent.calls import MAX_CALLS_PER_ANSWER, number_calls
from madang.agent.history import count_tokens
from madang.agent.limits import RunLimits, RunStopped
from madang.agent.manual import manual_answer
from madang.agent.news import NewsRows
from madang.agent.open_calls import OpenCalls
from madang.agent.requests import PreparedRequest, RequestBuilder, answer_usage
from madang.agent.stores import RunStores
from madang.agent.thinking import ThinkingTimer
from madang.agent.turns import Turn
from madang.core.calls import Call, Locale
from madang.core.errors import MadangError
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Retry, RetryPolicy, retrying
from madang.llm.errors import ContextTooLong, retry_helps
from madang.llm.messages import CallPart, Part, dump_parts
from madang.llm.opening import OpenedModel
from madang.provider.provider import Provider
from madang.rendering.catalogue import translator
from madang.storage.runs.journal import NewMessage, NewRunCall, RunNews, StaleNews, Step
from madang.storage.runs.records import LostRun, Run
from madang.storage.runs.store import MAX_ERROR_CHARS

logger = logging.getLogger(__name__)

DeltaListener = Callable[[Run, int, ModelDelta | None], None]
"""Takes a delta with its run and the number of its message; None: that message begins anew."""


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What an assistant brings to a run."""

    opened: OpenedModel | None
    """None: the person is the model."""
    instructions: str = ""
    limits: RunLimits = field(default_factory=RunLimits)
    locale: Locale = "en"
    retries: RetryPolicy = field(default_factory=RetryPolicy)


SetupLoader = Callable[[Run], Awaitable[RunSetup]]
"""Returns what the run's assistant brings to it, as it is set up now."""


class RunExecution:
    """A run that this process owns."""

    def __init__(
        self,
        run: Run,
        load_setup: SetupLoader,
        stores: RunStores,
        provider: Provider,
        on_delta: DeltaListener,
    ) -> None:
        self._run = run
        self._load_setup = load_setup
        self._setup: RunSetup
        self._stores = stores
        self._provider = provider
        self._on_delta = on_delta
        self._locale: Locale = "en"
        self._noted: tuple[str, ...] = ()
        self._prepared: PreparedRequest | None = None
        self._attended_s = time.monotonic()
        """When the person last did something for this run: its owner then began, or a message of theirs was given."""

    async def go_on(self) -> None:
        """Go on until the run waits or is over. What ends it is written; a lost run is left to its new owner."""
        try:
            self._setup = await self._load_setup(self._run)
            self._locale = self._setup.locale
            await self._go_on()
        except LostRun:
            return
        except MadangError as error:
            await self._fail(error)
        except Exception:
            # It would never be claimed by another process while this one lives.
            reference = secrets.token_hex(4)
            logger.exception("Internal error %s in the run %s", reference, self._run.id)
            await self._fail(
                RunStopped("internal", say("Internal error (reference {reference}).", reference=reference))
            )

    async def _go_on(self) -> None:
        while not self._run.turn or await self._end_turn():
            await self._give_news()
            if self._setup.opened is not None:  # else no turn is taken but by the person
                self._setup.limits.check(self._run, time.monotonic() - self._attended_s)
            answer = await self._ask()
            if answer is None:
                return
            await self._store(answer)

    async def _give_news(self) -> None:
        """Add what happened beside the run to its history."""
        while (news := await self._stores.runs.read_news(self._run)) != RunNews():
            rows = NewsRows(self._locale)
            await rows.add(news, self._provider, lambda call_id: self._call(self._run, call_id, ""))
            with suppress(StaleNews):
                self._run = await self._stores.runs.commit(self._run, rows.step)
                self._attended_s = time.monotonic()
                # The model that the person has chosen by now, for this message or in the settings, answers it.
                self._setup = await self._load_setup(self._run)
                if self._setup.opened is not None:
                    await self._stores.manual.withdraw(self._run)
                return

    async def _end_turn(self) -> bool:
        """Make the calls of the last answer, or end the run if there are none; False if it waits or is over."""
        calls, has_results = await self._stores.calls.read_turn(self._run)
        if not calls:
            await self._commit(Step(state="finished", events=[events.run_finished(self._run)]))
            return self._run.state == "running"
        if has_results:
            return True
        turn = Turn(self._run, self._stores, self._provider, self._call, is_manual=self._setup.opened is None)
        try:
            return await turn.settle(calls)
        finally:
            self._run = turn.run

    async def _ask(self) -> ModelAnswer | None:
        """Return the next answer; None if the person is the model, and the run waits for them."""
        opened = self._setup.opened
        if opened is None:
            return await self._ask_person()
        requests = self._requests(opened)
        call = self._call(self._run, "", "")
        self._run, self._prepared = await requests.prepare(self._run, call)
        try:
            return await self._stream(opened, self._prepared.request)
        except ContextTooLong:
            self._run = await requests.shrink(self._run, call, self._prepared)
            self._run, self._prepared = await requests.prepare(self._run, call)
            return await self._stream(opened, self._prepared.request)

    async def _stream(self, opened: OpenedModel, request: ModelRequest) -> ModelAnswer:
        stream, timer = self._run.turn + 1, ThinkingTimer()
        async with aclosing(retrying(opened.model, request, self._setup.retries)) as items:
            async for item in items:
                if isinstance(item, ModelAnswer):
                    return timer.timed(item)
                if isinstance(item, Retry):
                    timer = ThinkingTimer()
                    await self._commit(Step(events=[events.retried(item)], streamed=[stream]))
                    self._on_delta(self._run, stream, None)
                else:
                    timer.hear(item)
                    self._on_delta(self._run, stream, item)
        raise AssertionError("a model's stream ends in an answer or an error")

    async def _ask_person(self) -> ModelAnswer | None:
        pause = await self._stores.manual.ask(self._run)
        if not pause.is_open:
            self._noted = (pause.id,)
            return manual_answer(pause)
        told = [events.run_waiting(self._run, [pause])]
        await self._commit(Step(state="waiting", events=told, awaited=[pause.id]))
        return None

    def _requests(self, opened: OpenedModel) -> RequestBuilder:
        setup, stores = self._setup, self._stores
        open_calls = OpenCalls(stores.messages, stores.operations, self._provider)
        return RequestBuilder(
            opened,
            setup.instructions,
            setup.retries,
            stores.runs,
            stores.messages,
            stores.usage,
            open_calls,
            self._provider,
        )

    async def _store(self, answer: ModelAnswer) -> None:
        """Keep an answer.

        Raises:
            RunStopped: it was cut off in the middle, or withheld.
        """
        turn = self._run.turn + 1
        if answer.finish == "refused":
            raise RunStopped("refused", say("The model's server withheld the answer."))
        if answer.finish == "length" and answer.calls:
            raise RunStopped("length", say("The answer was cut off inside a call."))
        calls = number_calls(answer.runnable_calls[:MAX_CALLS_PER_ANSWER], f"{self._run.id[-8:]}-{turn}")
        parts = _with_calls(answer.parts, calls)
        id = new_id()
        told = events.answered(id, answer, calls)
        step = Step(
            events=told,
            turn=turn,
            messages=[
                NewMessage(
                    id,
                    "assistant",
                    dump_parts(parts),
                    len(told) - 1,
                    count_tokens(parts),
                    model=answer.model,
                    input_tokens=answer.usage.input_tokens,
                )
            ],
            calls=[NewRunCall(number, call.id, call.tool, call.arguments) for number, call in enumerate(calls)],
            origins=self._prepared.origins if self._prepared else (),
            noted=self._noted,
            streamed=[turn],
            usage=answer_usage(self._setup.opened, answer),
            calibration=self._prepared.learn(answer) if self._prepared else None,
        )
        await self._commit(step)
        self._noted = ()
        self._prepared = None

    async def _fail(self, error: MadangError) -> None:
        lines = [error.message, *([error.hint] if error.hint else [])]
        message = "\n".join(line.render(translator(self._locale)) for line in lines)[:MAX_ERROR_CHARS]
        told = events.run_failed(error.code, message, retry_helps=retry_helps(error.code))
        try:
            await self._commit(Step(state="failed", events=[told], error_code=error.code, error=message))
        except LostRun:
            return

    async def _commit(self, step: Step) -> None:
        self._run = await self._stores.runs.commit(self._run, step)

    def _call(self, run: Run, call_id: str, operation_id: str) -> Call:
        return run.call(call_id, operation_id, self._locale)


def _with_calls(parts: tuple[Part, ...], calls: list[CallPart]) -> list[Part]:
    """Return the parts of an answer with its calls under their new ids; those that are not made are left out."""
    rest = iter(calls)
    kept: list[Part] = []
    for part in parts:
        if not isinstance(part, CallPart):
            kept.append(part)
        elif (call := next(rest, None)) is not None:
            kept.append(call)
    return kept
