"""One run from where it is to its next stop: ask the model, make its calls, ask again."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial

import anyio

from madang.agent import events
from madang.agent.answers import AnswerRows, note_message
from madang.agent.finishes import CHECK, asks_back, is_confirmation
from madang.agent.found_tools import with_named_calls
from madang.agent.history import count_tokens
from madang.agent.limits import RunLimits, RunStopped
from madang.agent.manual import manual_answer
from madang.agent.model_switch import fall_back
from madang.agent.news import NewsRows
from madang.agent.open_calls import OpenCalls
from madang.agent.requests import PreparedRequest, RequestBuilder
from madang.agent.stores import RunStores
from madang.agent.thinking import ThinkingTimer
from madang.agent.turns import Turn
from madang.agent.usage import HeardAnswer, answer_usage, attempt_usage
from madang.core.calls import Call, Locale
from madang.core.errors import MadangError
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Retry, RetryPolicy, retrying
from madang.llm.errors import ContextTooLong, ModelError, retry_helps
from madang.llm.messages import TextPart, dump_parts
from madang.llm.opening import OpenedModel
from madang.llm.scripted import PROVIDER as SCRIPTED
from madang.provider.provider import Provider
from madang.records.runs.journal import MessageKind, NewMessage, RunNews, StaleNews, Step
from madang.records.runs.records import LostRun, Run
from madang.records.runs.store import MAX_ERROR_CHARS
from madang.records.runs.usage import AnswerUsage
from madang.rendering.catalogue import translator

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
    models: tuple[str, ...] = ()
    """The names of the model and of those that take its place when its server is away."""
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    is_unattended: bool = False
    """Nobody looks on: what the model did not do is noticed by nobody."""


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
        self._has_moved = run.has_moved
        self._load_setup = load_setup
        self._setup: RunSetup
        self._stores = stores
        self._provider = provider
        self._on_delta = on_delta
        self._locale: Locale = "en"
        self.is_asking = False
        """Whether the model is being asked: nothing is lost but its words if that is given up."""
        self._noted: tuple[str, ...] = ()
        self._prepared: PreparedRequest | None = None
        self._heard = HeardAnswer()
        self._said = ""
        """The text of the last answer."""
        self._has_tools = True
        """Whether the last request offered any."""
        self._told: tuple[MessageKind, ...] = ()
        """What the model was given since its last answer, by kinds."""
        self._attended_s = self._worked_s()
        """When the person last did something for this run: its owner then began, or a message of theirs was given."""

    @property
    def run_no(self) -> int:
        return self._run.no

    async def go_on(self) -> None:
        """Go on until the run waits or is over. What ends it is written; a lost run is left to its new owner."""
        try:
            await self._set_up()
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

    async def _set_up(self) -> None:
        self._setup = await self._stores.patience.insist(lambda: self._load_setup(self._run))

    def _worked_s(self) -> float:
        """Return a clock that stands still while the database is away: no run works then."""
        return time.monotonic() - self._stores.patience.away_s

    async def _go_on(self) -> None:
        while not self._run.turn or await self._end_turn():
            await self._give_news()
            await self._tell_move()
            answer = await self._next_answer()
            if answer is None:
                return
            await self._store(answer)

    async def _give_news(self) -> None:
        """Add what happened beside the run to its history."""
        while (news := await self._stores.runs.read_news(self._run)) != RunNews():
            rows = await self._stores.patience.insist(partial(self._news_rows, news))
            with suppress(StaleNews):
                self._run = await self._stores.runs.commit(self._run, rows.step)
                self._told = (*self._told, "")
                self._attended_s = self._worked_s()
                # The model that the person has chosen by now, for this message or in the settings, answers it.
                await self._set_up()
                if self._setup.opened is not None:
                    await self._stores.manual.withdraw(self._run)
                return

    async def _tell_move(self) -> None:
        """Tell the model, once, that the files which the session had elsewhere are not here."""
        if not self._has_moved:
            return
        self._has_moved = False
        tools = {tool.name for tool in self._provider.list_service_tools("workspace")}
        if not await self._stores.calls.has_called(self._run, tools):
            return
        text = say("This session goes on on another machine: files that it had on the first one are not here.")
        id, words = new_id(), text.render(translator(self._locale))
        parts = [TextPart(words)]
        message = NewMessage(id, "user", dump_parts(parts), 0, count_tokens(parts), kind="action")
        await self._commit(Step(events=[events.acted(id, words)], messages=[message]))

    async def _news_rows(self, news: RunNews) -> NewsRows:
        rows = NewsRows(self._locale)
        await rows.add(news, self._provider, lambda call_id: self._call(self._run, call_id, ""))
        return rows

    async def _end_turn(self) -> bool:
        """Make the calls of the last answer, or end the run if there are none; False if it waits or is over."""
        if self._run.state != "running":
            return False
        rows = await self._stores.calls.read_turn(self._run)
        self._told = rows.told
        if rows.told or rows.has_results:
            return True
        if not rows.calls:
            self._said = "".join(str(part.get("text", "")) for part in rows.answer if part.get("type") == "text")
            if await self._is_in_doubt():
                message, event = note_message("check", CHECK, 0, translator(self._locale))
                await self._commit(Step(events=[event], messages=[message]))
                self._told = ("check",)
                return True
            await self._commit(Step(state="finished", events=[events.run_finished(self._run)]))
            return self._run.state == "running"
        turn = Turn(self._run, self._stores, self._provider, self._call, is_manual=self._setup.opened is None)
        try:
            return await turn.settle(rows.calls)
        finally:
            self._run = turn.run

    async def _is_in_doubt(self) -> bool:
        """Tell whether a run without further calls may not be done, and its model was not asked yet: its last calls
        failed, or it made none where nobody looks on.

        A script plays what is written, and an answer that asks something back is for the person.
        """
        opened, run = self._setup.opened, self._run
        if opened is None or opened.model.provider == SCRIPTED or not self._has_tools or asks_back(self._said):
            return False
        outcomes = await self._stores.calls.read_last_outcomes(run)
        is_idle = self._setup.is_unattended and not outcomes
        if not is_idle and "error" not in outcomes:
            return False
        return not await self._stores.calls.was_checked(run) and await self._stores.runs.read_news(run) == RunNews()

    async def _next_answer(self) -> ModelAnswer | None:
        try:
            return await self._ask_within_limits()
        except (ModelError, RunStopped):
            if self._told != ("check",):
                raise
            # The run has its answer: what is asked before its end must not fail it.
            self._prepared = None
            return ModelAnswer((), "stop")

    async def _ask_within_limits(self) -> ModelAnswer | None:
        """Return the next answer as `_ask` does.

        Raises:
            RunStopped: a limit is reached, also while the answer is still coming: what there is of it is kept.
        """
        opened, limits = self._setup.opened, self._setup.limits
        if opened is None:  # no turn is taken but by the person
            return await self._ask()
        self._check_limits()
        with anyio.move_on_after(self._attended_s + limits.unattended_s - self._worked_s()):
            return await self._ask()
        if self._prepared is not None:
            half = ModelAnswer((TextPart(self._heard.text),), "out of time")
            rows = AnswerRows(self._run, half, translator(self._locale))
            usage = attempt_usage(opened, self._prepared.expected_tokens, self._heard.pieces, None)
            await self._commit(replace(rows.cut(), usage=usage))
        raise limits.out_of_time()

    def _check_limits(self) -> None:
        self._setup.limits.check(self._run, self._worked_s() - self._attended_s)

    async def _ask(self) -> ModelAnswer | None:
        """Return the next answer, of the next model where one is away.

        None if the person is the model, and the run waits for them.
        """
        while True:
            try:
                return await self._ask_model()
            except ModelError as error:
                self._run = await fall_back(self._stores, self._run, self._setup.models, error, self._locale)
                self._on_delta(self._run, self._run.turn + 1, None)
                await self._set_up()

    async def _ask_model(self) -> ModelAnswer | None:
        opened = self._setup.opened
        if opened is None:
            return await self._ask_person()
        requests = self._requests(opened)
        call = self._call(self._run, "", "")
        prepared = await self._prepare(requests, call)
        self._has_tools = bool(prepared.request.tools)
        try:
            return await self._stream(opened, prepared.request)
        except ContextTooLong:
            self._run = await requests.shrink(self._run, call, prepared)
            return await self._stream(opened, (await self._prepare(requests, call)).request)

    async def _prepare(self, requests: RequestBuilder, call: Call) -> PreparedRequest:
        insist = self._stores.patience.insist
        self._run, prepared = await insist(lambda: requests.prepare(self._run, call))
        self._prepared = prepared
        return prepared

    async def _stream(self, opened: OpenedModel, request: ModelRequest) -> ModelAnswer:
        self.is_asking = True
        try:
            return await self._hear_answer(opened, request)
        finally:
            self.is_asking = False

    async def _hear_answer(self, opened: OpenedModel, request: ModelRequest) -> ModelAnswer:
        stream, timer = self._run.turn + 1, ThinkingTimer()
        self._heard = HeardAnswer()
        try:
            async with aclosing(retrying(opened.model, request, self._setup.retries)) as items:
                async for item in items:
                    if isinstance(item, ModelAnswer):
                        return timer.timed(item)
                    if isinstance(item, Retry):
                        timer, usage = ThinkingTimer(), self._attempt_usage(opened, item.error)
                        await self._commit(Step(events=[events.retried(item)], streamed=[stream], usage=usage))
                        self._heard = HeardAnswer()
                        self._on_delta(self._run, stream, None)
                        self._check_limits()
                    else:
                        timer.hear(item)
                        self._heard.hear(item)
                        self._on_delta(self._run, stream, item)
        except ModelError as error:
            if (usage := self._attempt_usage(opened, error)) is not None:
                await self._commit(Step(usage=usage))
            raise
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
            stores.offers,
        )

    async def _store(self, answer: ModelAnswer) -> None:
        """Keep an answer, with what becomes of it by the way it ended.

        Raises:
            RunStopped: it was withheld.
        """
        answer = with_named_calls(answer, self._provider.find_tool)
        rows = AnswerRows(self._run, answer, translator(self._locale))
        if self._setup.opened is not None:  # what the person does in its place is always meant so
            if answer.finish == "refused":
                await self._commit(Step(streamed=[self._run.turn + 1], usage=self._usage(answer)))
                raise RunStopped("refused", say("The model's server withheld the answer."))
            if self._told == ("check",) and is_confirmation(answer, self._said):
                rows.step = rows.unkept()
            else:
                rows.judge(was_mended=self._told[-1:] == ("mend",))
        step = replace(
            rows.step,
            origins=self._prepared.origins if self._prepared else (),
            noted=self._noted,
            usage=self._usage(answer),
            calibration=self._prepared.learn(answer) if self._prepared else None,
        )
        await self._commit(step)
        self._noted = ()
        self._prepared = None

    def _usage(self, answer: ModelAnswer) -> AnswerUsage | None:
        if self._setup.opened is None:
            return None
        expected = self._prepared.expected_tokens if self._prepared else 0
        return answer_usage(self._setup.opened, answer, expected)

    def _attempt_usage(self, opened: OpenedModel, error: ModelError) -> AnswerUsage | None:
        expected = self._prepared.expected_tokens if self._prepared else 0
        return attempt_usage(opened, expected, self._heard.pieces, error)

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
