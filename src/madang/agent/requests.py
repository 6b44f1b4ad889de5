"""Requests that fit the model: the history as it is, or with its older turns compacted first."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, replace

from madang.agent import events
from madang.agent.calls import is_effect
from madang.agent.compaction import (
    count_summary,
    keep_record,
    plan_compaction,
    summary_parts,
    summary_request,
)
from madang.agent.found_tools import as_asked
from madang.agent.history import (
    COMPACTED_REACH,
    SEEN_REACH,
    Budget,
    Window,
    calibrate,
    count_frame,
    count_tokens,
    learn_window,
    shorten_results,
    total_tokens,
    visible,
)
from madang.agent.limits import DEFAULT_WINDOW_TOKENS
from madang.agent.offers import ToolOffers
from madang.agent.open_calls import OpenCalls
from madang.agent.prompt import brought_in, build_request
from madang.agent.state_note import end_state
from madang.agent.usage import HeardAnswer, answer_usage, attempt_usage, estimate_request
from madang.core.calls import Call
from madang.core.ids import new_id
from madang.core.trust import Origin
from madang.llm.base import ModelAnswer, ModelRequest, Retry, RetryPolicy, retrying
from madang.llm.errors import (
    AnswerTooLarge,
    BadReply,
    ContextTooLong,
    CutShort,
    ModelError,
    RequestRefused,
    ServerFailed,
    Stalled,
)
from madang.llm.opening import OpenedModel
from madang.provider.provider import Provider
from madang.records.runs.journal import Message, NewMessage, Step
from madang.records.runs.messages import MessageStore
from madang.records.runs.records import Run
from madang.records.runs.store import RunStore
from madang.records.runs.usage import AnswerUsage, Calibration, UsageStore
from madang.rendering.catalogue import translator

ABOUT_THE_REQUEST = (AnswerTooLarge, BadReply, ContextTooLong, CutShort, RequestRefused, ServerFailed, Stalled)
"""Errors after which a history is cut without a summary. Any other would meet the next request just the same."""


@dataclass(frozen=True, slots=True)
class PreparedRequest:
    """A request, and what it was estimated at."""

    request: ModelRequest
    estimated_tokens: int
    calibration: Calibration
    origins: tuple[Origin, ...] = ()
    """Where untrusted words in the state that it tells came from."""

    @property
    def expected_tokens(self) -> int:
        """What the model's own count will be, as far as is known."""
        return round(self.estimated_tokens * self.calibration.factor)

    def learn(self, answer: ModelAnswer) -> Calibration | None:
        """Return what the answer taught of how the model counts; None if nothing new."""
        return calibrate(self.calibration, self.estimated_tokens, answer.usage.input_tokens)


class RequestBuilder:
    """Builds the requests of a run for its model."""

    def __init__(
        self,
        opened: OpenedModel,
        instructions: str,
        retries: RetryPolicy,
        runs: RunStore,
        messages: MessageStore,
        usage: UsageStore,
        open_calls: OpenCalls,
        provider: Provider,
        offers: ToolOffers,
    ) -> None:
        self._opened = opened
        self._instructions = instructions
        self._retries = retries
        self._runs = runs
        self._messages = messages
        self._usage = usage
        self._open_calls = open_calls
        self._provider = provider
        self._offers = offers

    async def prepare(self, run: Run, call: Call) -> tuple[Run, PreparedRequest]:
        """Return the next request, and the run after what had to be compacted for it.

        Raises:
            LostRun: the run is no longer this process's.
            ModelError: the model cannot be reached for a summary.
        """
        frame, origins, budget_tokens, calibration = await self._frame(run, call)
        messages = await self._read(call, budget_tokens)
        if total_tokens(messages) > budget_tokens:
            run = await self._compact(run, call, budget_tokens)
            messages = await self._read(call, budget_tokens)
        sent, tokens = as_asked(await self._open_calls.close(call, messages)), total_tokens(messages)
        if tokens > budget_tokens:
            sent = shorten_results(sent, budget_tokens, translator(call.locale))
            tokens = sum(count_tokens(message.parts) for message in sent)
        frame = replace(frame, state=end_state(frame.state, messages, call))
        request = replace(frame, messages=sent)
        origins = brought_in(origins, messages)
        return run, PreparedRequest(request, count_frame(frame) + tokens, calibration, origins)

    async def shrink(self, run: Run, call: Call, refused: PreparedRequest) -> Run:
        """Make room after the model refused a request as too long, and keep how much it takes.

        Raises:
            LostRun, ModelError: as for `prepare`.
        """
        learnt = learn_window(refused.calibration, refused.estimated_tokens)
        run = await self._runs.commit(run, Step(calibration=learnt))
        _, _, budget_tokens, _ = await self._frame(run, call)
        return await self._compact(run, call, budget_tokens)

    async def _frame(self, run: Run, call: Call) -> tuple[ModelRequest, tuple[Origin, ...], int, Calibration]:
        opened = self._opened
        calibration = await self._usage.get_calibration(run.user_id, opened.model.label)
        budget = Budget(opened.window_tokens or DEFAULT_WINDOW_TOKENS, calibration, opened.options)
        offer = await self._offers.settle(call, budget.known_tokens, calibration.factor)
        frame, origins = await build_request(self._provider, call, (), self._instructions, opened.options, offer)
        return frame, origins, budget.history_tokens(count_frame(frame)), calibration

    async def _read(self, call: Call, budget_tokens: int, reach: int = SEEN_REACH) -> list[Message]:
        return visible(await self._messages.read_window(call, Window(budget_tokens, reach).is_full))

    async def _compact(self, run: Run, call: Call, budget_tokens: int) -> Run:
        """Store a summary of the older turns, in one unit; where there is only one turn, nothing."""
        plan = plan_compaction(await self._read(call, budget_tokens, COMPACTED_REACH), budget_tokens)
        if plan is None:
            return run
        translate = translator(call.locale)
        request, left_out = summary_request(plan, self._opened.options, budget_tokens, translate)
        run, answer, usage = await self._summarise(run, request)
        outcomes = await self._messages.list_outcomes(call, plan.after_seq, plan.covers_seq)
        record = keep_record(plan, outcomes, self._is_effect, budget_tokens, translate)
        words = answer.text if answer is not None and answer.finish != "refused" else ""
        parts = summary_parts(plan, words, left_out, record, budget_tokens, translate)
        id = new_id()
        message = NewMessage(id, "summary", parts, 0, count_summary(parts), covers_seq=plan.covers_seq)
        told = [events.compacted(id, plan.covers_seq, str(parts[0]["text"]))]
        return await self._runs.commit(run, Step(events=told, messages=[message], usage=usage))

    async def _summarise(self, run: Run, request: ModelRequest) -> tuple[Run, ModelAnswer | None, AnswerUsage | None]:
        """Return the answer, if there is one, and what the last attempt took, which is not written yet."""
        tokens, heard = estimate_request(request), HeardAnswer()
        try:
            async with aclosing(retrying(self._opened.model, request, self._retries)) as items:
                async for item in items:
                    if isinstance(item, Retry):
                        usage = attempt_usage(self._opened, tokens, heard.pieces, item.error)
                        heard = HeardAnswer()
                        run = await self._runs.commit(run, Step(events=[events.retried(item)], usage=usage))
                    elif isinstance(item, ModelAnswer):
                        return run, item, answer_usage(self._opened, item, tokens)
                    else:
                        heard.hear(item)
        except ModelError as error:
            if not isinstance(error, ABOUT_THE_REQUEST):
                raise
            return run, None, attempt_usage(self._opened, tokens, heard.pieces, error)
        return run, None, None

    def _is_effect(self, tool: str) -> bool:
        return is_effect(self._provider.find_tool(tool))
