"""The events of runs, made of what happened. Pure.

A run of AG-UI ends where a run of ours pauses: what one owner does of a run without a stop is a segment, and has an id
of its own. Outside of segments there are CUSTOM events only: what the person writes while a run waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from madang.core.event_documents import CallPause, ViewReference
from madang.core.own_events import (
    Acted,
    Answered,
    AnsweredLate,
    AnsweredLateValue,
    AnsweredValue,
    Compacted,
    CompactedValue,
    Mended,
    MendedValue,
    MendReason,
    MessageValue,
    ModelSwitched,
    ModelSwitchedValue,
    Noted,
    NotedValue,
    Paused,
    PausedValue,
    Queued,
    ResultsGiven,
    Retried,
    RetriedValue,
    Stopped,
    TextValue,
    Withdrawn,
)
from madang.core.pauses import PauseRecord
from madang.core.results import PauseKind
from madang.core.run_events import (
    ArgumentsContinued,
    ArgumentsEnded,
    CallOutcome,
    Interrupt,
    MessageContinued,
    MessageEnded,
    MessageEndMetadata,
    MessageFile,
    MessageStarted,
    ReasoningContinued,
    ReasoningEnded,
    ReasoningEndMetadata,
    ReasoningStarted,
    ResultMetadata,
    RunCancelled,
    RunEvent,
    RunFailed,
    RunFinished,
    RunInterrupted,
    RunOutcome,
    RunStarted,
    RunSucceeded,
    ToolFinished,
    ToolStarted,
)
from madang.llm.base import ModelAnswer, Retry
from madang.llm.messages import CallPart, ImagePart, Part, TextPart, ThinkingPart
from madang.records.events import NewEvent
from madang.records.runs.records import Run

MAX_NOTED_CHARS = 500
MAX_DELTA_CHARS = 32_000
"""Of one event, which may have 256 KB as JSON."""


class CallMetadata(TypedDict, total=False):
    """What the person is shown of a call beside its text."""

    took_ms: int
    data: dict[str, Any]
    data_left_out: int
    images: int
    view: ViewReference
    pause: CallPause


def segment_id(run: Run) -> str:
    return f"{run.id}:{run.epoch}"


def run_started(run: Run) -> NewEvent:
    parent = f"{run.id}:{run.epoch - 1}" if run.epoch > 1 else None
    return _new(RunStarted(thread_id=run.session_id, run_id=segment_id(run), parent_run_id=parent))


def run_resumed(run: Run) -> list[NewEvent]:
    """Return the events of a claim: the end of a segment whose owner died, then the beginning of the next."""
    died = [_new(RunFailed(message="The process that ran it ended.", code="interrupted"))]
    return [*(died if run.was_interrupted else []), run_started(run)]


def run_finished(run: Run) -> NewEvent:
    return _finished(run, RunSucceeded())


def run_cancelled(run: Run, withdrawn: Sequence[str]) -> list[NewEvent]:
    """Return the events of a stop; a run that waits has no segment that could end, so it gets one."""
    began: list[NewEvent] = []
    if run.state == "waiting":
        run = replace(run, epoch=run.epoch + 1)
        began = [run_started(run)]
    return [*began, _finished(run, RunCancelled(withdrawn=list(withdrawn) or None))]


def answer_stopped(message_id: str, text: str) -> list[NewEvent]:
    """Return the events of what there was of an answer when the person stopped it; the last one tells of it."""
    return [*_answer_text(message_id, text), _new(Stopped(value=MessageValue(message_id=message_id)))]


def run_waiting(run: Run, pauses: Sequence[PauseRecord]) -> NewEvent:
    interrupts = [
        Interrupt(
            id=pause.id,
            reason=pause.kind,
            message=pause.title,
            tool_call_id=pause.call_id,
            expires_at=pause.expires_at or None,
        )
        for pause in pauses
    ]
    return _finished(run, RunInterrupted(interrupts=interrupts))


def run_failed(code: str, message: str, *, retry_helps: bool = False) -> NewEvent:
    return _new(RunFailed(message=message, code=code, retry_helps=retry_helps))


def user_wrote(message_id: str, parts: Sequence[Part]) -> list[NewEvent]:
    """Return the events of a message of the person's; the last one is the one that tells of it.

    One that has only an image has events too: its place in the history is that of the last. Images are too large for
    an event, which says how many there are.
    """
    texts = [part for part in parts if isinstance(part, TextPart)]
    text = "".join(part.text for part in texts if part.file is None)
    images = sum(isinstance(part, ImagePart) for part in parts)
    files = [
        MessageFile(name=part.file.name, content_id=part.file.content_id)
        for part in texts
        if part.file is not None and part.file.content_id
    ]
    metadata = MessageEndMetadata(images=images, files=files) if images or files else None
    return [
        _new(MessageStarted(message_id=message_id, role="user")),
        *(_new(MessageContinued(message_id=message_id, delta=piece)) for piece in _pieces(text)),
        _new(MessageEnded(message_id=message_id, metadata=metadata)),
    ]


def answered(
    message_id: str, answer: ModelAnswer, calls: Sequence[CallPart], *, is_cut: bool = False
) -> list[NewEvent]:
    """Return the events of a model's answer, which is stored whole; the last one is the one that tells of it.

    `is_cut`: it is all that there is of it.
    """
    events: list[NewEvent] = []
    for number, part in enumerate(answer.parts):
        if isinstance(part, ThinkingPart) and part.text:
            events += _thinking(f"{message_id}-t{number}", part)
    events += _answer_text(message_id, answer.text)
    for call in calls:
        events += _call(message_id, call)
    value = AnsweredValue(
        message_id=message_id,
        model=answer.model,
        input_tokens=answer.usage.input_tokens,
        output_tokens=answer.usage.output_tokens,
        is_cut=is_cut or None,
        images=sum(isinstance(part, ImagePart) for part in answer.parts) or None,
    )
    return [*events, _new(Answered(value=value))]


def call_ended(call_id: str, text: str, outcome: CallOutcome, metadata: CallMetadata) -> NewEvent:
    return _new(
        ToolFinished(
            message_id=f"result-{call_id}",
            tool_call_id=call_id,
            content=text,
            metadata=ResultMetadata(outcome=outcome, **metadata),
        )
    )


def call_paused(call_id: str, pause_id: str, kind: PauseKind, metadata: CallMetadata | None = None) -> NewEvent:
    metadata = metadata or {}
    value = PausedValue(
        tool_call_id=call_id, id=pause_id, kind=kind, view=metadata.get("view"), pause=metadata.get("pause")
    )
    return _new(Paused(value=value))


def results_given(message_id: str) -> NewEvent:
    """Tell of the message that holds the results of a turn."""
    return _new(ResultsGiven(value=MessageValue(message_id=message_id)))


def answered_late(message_id: str, pause: PauseRecord, text: str) -> NewEvent:
    """Tell of an answer that the model gets as a message, because its run had gone on."""
    value = AnsweredLateValue(
        message_id=message_id, id=pause.id, text=text[:MAX_DELTA_CHARS], pause=pause_document(pause)
    )
    return _new(AnsweredLate(value=value))


def pause_document(pause: PauseRecord) -> CallPause:
    """Return how a pause stands, as a browser is told it: live, and when it reads a session again."""
    return CallPause(
        id=pause.id,
        kind=pause.kind,
        status=pause.status,
        settled_by=pause.settled_by,
        settled_at=pause.settled_at,
        settler=pause.settler_name,
        answer=pause.answer,
        expires_at=pause.expires_at,
    )


def acted(message_id: str, text: str) -> NewEvent:
    """Tell of what was done beside the run, and the model is told."""
    return _new(Acted(value=TextValue(message_id=message_id, text=text[:MAX_DELTA_CHARS])))


def noted(id: str, by: str, text: str) -> NewEvent:
    """Tell of what was done beside the run, before the model is told."""
    return _new(Noted(value=NotedValue(id=id, by=by, text=text[:MAX_NOTED_CHARS])))


def mended(message_id: str, reason: MendReason, text: str) -> NewEvent:
    """Tell that the model is asked again."""
    return _new(Mended(value=MendedValue(message_id=message_id, reason=reason, text=text)))


def message_queued(message_id: str, text: str) -> NewEvent:
    return _new(Queued(value=TextValue(message_id=message_id, text=text[:MAX_DELTA_CHARS])))


def message_withdrawn(message_id: str) -> NewEvent:
    return _new(Withdrawn(value=MessageValue(message_id=message_id)))


def retried(retry: Retry) -> NewEvent:
    value = RetriedValue(attempt=retry.attempt, after_s=round(retry.wait_s, 3), code=retry.error.code)
    return _new(Retried(value=value))


def model_switched(before: str, model: str, code: str, text: str) -> NewEvent:
    value = ModelSwitchedValue(before=before, model=model, code=code, text=text[:MAX_NOTED_CHARS])
    return _new(ModelSwitched(value=value))


def compacted(message_id: str, up_to_seq: int, text: str) -> NewEvent:
    value = CompactedValue(message_id=message_id, up_to_seq=up_to_seq, text=text[:MAX_DELTA_CHARS])
    return _new(Compacted(value=value))


def _new(event: RunEvent) -> NewEvent:
    return NewEvent(event.type, event.payload())


def _finished(run: Run, outcome: RunOutcome) -> NewEvent:
    return _new(RunFinished(thread_id=run.session_id, run_id=segment_id(run), outcome=outcome))


def _answer_text(message_id: str, text: str) -> Iterator[NewEvent]:
    if not text:
        return
    yield _new(MessageStarted(message_id=message_id, role="assistant"))
    for piece in _pieces(text):
        yield _new(MessageContinued(message_id=message_id, delta=piece))
    yield _new(MessageEnded(message_id=message_id))


def _thinking(message_id: str, part: ThinkingPart) -> Iterator[NewEvent]:
    yield _new(ReasoningStarted(message_id=message_id))
    for piece in _pieces(part.text):
        yield _new(ReasoningContinued(message_id=message_id, delta=piece))
    metadata = None if part.took_ms is None else ReasoningEndMetadata(took_ms=part.took_ms)
    yield _new(ReasoningEnded(message_id=message_id, metadata=metadata))


def _call(message_id: str, call: CallPart) -> Iterator[NewEvent]:
    yield _new(ToolStarted(tool_call_id=call.id, tool_call_name=call.tool, parent_message_id=message_id))
    for piece in _pieces(call.arguments):
        yield _new(ArgumentsContinued(tool_call_id=call.id, delta=piece))
    yield _new(ArgumentsEnded(tool_call_id=call.id))


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), MAX_DELTA_CHARS):
        yield text[start : start + MAX_DELTA_CHARS]
