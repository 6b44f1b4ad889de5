"""The events of runs, in the names and shapes of AG-UI 1.0. Pure.

A run of AG-UI ends where a run of ours pauses: what one owner does of a run without a stop is a segment, and has an id
of its own. Outside of segments there are CUSTOM events only: what the person writes while a run waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from madang.core.pauses import PauseRecord
from madang.llm.base import ModelAnswer, Retry
from madang.llm.messages import AttachedFile, CallPart, ImagePart, Part, TextPart, ThinkingPart
from madang.storage.events import NewEvent
from madang.storage.runs.records import Run

MAX_NOTED_CHARS = 500
MAX_DELTA_CHARS = 32_000
"""Of one event, which may have 256 KB as JSON."""


def segment_id(run: Run) -> str:
    return f"{run.id}:{run.epoch}"


def run_started(run: Run) -> NewEvent:
    payload: dict[str, Any] = {"threadId": run.session_id, "runId": segment_id(run)}
    if run.epoch > 1:
        payload["parentRunId"] = f"{run.id}:{run.epoch - 1}"
    return NewEvent("RUN_STARTED", payload)


def run_resumed(run: Run) -> list[NewEvent]:
    """Return the events of a claim: the end of a segment whose owner died, then the beginning of the next."""
    died = [NewEvent("RUN_ERROR", {"message": "The process that ran it ended.", "code": "interrupted"})]
    return [*(died if run.was_interrupted else []), run_started(run)]


def run_finished(run: Run) -> NewEvent:
    return _finished(run, {"type": "success"})


def run_cancelled(run: Run) -> list[NewEvent]:
    """Return the events of a stop; a run that waits has no segment that could end, so it gets one."""
    began: list[NewEvent] = []
    if run.state == "waiting":
        run = replace(run, epoch=run.epoch + 1)
        began = [run_started(run)]
    return [*began, _finished(run, {"type": "cancelled"})]


def answer_stopped(message_id: str, text: str) -> list[NewEvent]:
    """Return the events of what there was of an answer when the person stopped it; the last one tells of it."""
    return [*_text(message_id, "assistant", text), _custom("madang/stopped", {"messageId": message_id})]


def run_waiting(run: Run, pauses: Sequence[PauseRecord]) -> NewEvent:
    interrupts = []
    for pause in pauses:
        interrupt = {"id": pause.id, "reason": pause.kind, "message": pause.title, "toolCallId": pause.call_id}
        if pause.expires_at:
            interrupt["expiresAt"] = pause.expires_at
        interrupts.append(interrupt)
    return _finished(run, {"type": "interrupt", "interrupts": interrupts})


def run_failed(code: str, message: str, *, retry_helps: bool = False) -> NewEvent:
    return NewEvent("RUN_ERROR", {"message": message, "code": code, "retryHelps": retry_helps})


def user_wrote(message_id: str, parts: Sequence[Part]) -> list[NewEvent]:
    """Return the events of a message of the person's; the last one is the one that tells of it.

    One that has only an image has events too: its place in the history is that of the last. Images are too large for
    an event, which says how many there are.
    """
    texts = [part for part in parts if isinstance(part, TextPart)]
    text = "".join(part.text for part in texts if part.file is None)
    start = NewEvent("TEXT_MESSAGE_START", {"messageId": message_id, "role": "user"})
    told = list(_text(message_id, "user", text)) or [start, NewEvent("TEXT_MESSAGE_END", {"messageId": message_id})]
    metadata = {
        "images": sum(isinstance(part, ImagePart) for part in parts),
        "files": [_file(part.file) for part in texts if part.file is not None and part.file.content_id],
    }
    if any(metadata.values()):
        told[-1] = replace(told[-1], payload={**told[-1].payload, "metadata": metadata})
    return told


def _file(file: AttachedFile) -> dict[str, str]:
    return {"name": file.name, "contentId": file.content_id}


def answered(message_id: str, answer: ModelAnswer, calls: Sequence[CallPart]) -> list[NewEvent]:
    """Return the events of a model's answer, which is stored whole; the last one is the one that tells of it."""
    events: list[NewEvent] = []
    for number, part in enumerate(answer.parts):
        if isinstance(part, ThinkingPart) and part.text:
            events += _thinking(f"{message_id}-t{number}", part)
    events += _text(message_id, "assistant", answer.text)
    for call in calls:
        events += _call(message_id, call)
    tokens = {"inputTokens": answer.usage.input_tokens, "outputTokens": answer.usage.output_tokens}
    events.append(_custom("madang/answered", {"messageId": message_id, "model": answer.model, **tokens}))
    return events


def call_ended(call_id: str, text: str, outcome: str, metadata: Mapping[str, Any]) -> NewEvent:
    return NewEvent(
        "TOOL_CALL_RESULT",
        {
            "messageId": f"result-{call_id}",
            "toolCallId": call_id,
            "content": text,
            "role": "tool",
            "metadata": {"outcome": outcome, **metadata},
        },
    )


def call_paused(call_id: str, pause_id: str, kind: str, metadata: Mapping[str, Any] | None = None) -> NewEvent:
    return _custom("madang/pause", {"toolCallId": call_id, "id": pause_id, "kind": kind, **(metadata or {})})


def results_given(message_id: str) -> NewEvent:
    """Tell of the message that holds the results of a turn."""
    return _custom("madang/results", {"messageId": message_id})


def answered_late(message_id: str, pause: PauseRecord, text: str) -> NewEvent:
    """Tell of an answer that the model gets as a message, because its run had gone on."""
    value = {"messageId": message_id, "id": pause.id, "text": text[:MAX_DELTA_CHARS], "pause": pause_document(pause)}
    return _custom("madang/answered_late", value)


def pause_document(pause: PauseRecord) -> dict[str, Any]:
    """Return how a pause stands, as a browser is told it: live, and when it reads a session again."""
    return {
        "id": pause.id,
        "kind": pause.kind,
        "status": pause.status,
        "settledBy": pause.settled_by,
        "settledAt": pause.settled_at,
        "settler": pause.settler_name,
        "answer": pause.answer,
        "expiresAt": pause.expires_at,
    }


def acted(message_id: str, text: str) -> NewEvent:
    """Tell of what was done beside the run, and the model is told."""
    return _custom("madang/action", {"messageId": message_id, "text": text[:MAX_DELTA_CHARS]})


def noted(id: str, by: str, text: str) -> NewEvent:
    """Tell of what was done beside the run, before the model is told."""
    return _custom("madang/noted", {"id": id, "by": by, "text": text[:MAX_NOTED_CHARS]})


def message_queued(message_id: str, text: str) -> NewEvent:
    return _custom("madang/queued", {"messageId": message_id, "text": text[:MAX_DELTA_CHARS]})


def message_withdrawn(message_id: str) -> NewEvent:
    return _custom("madang/withdrawn", {"messageId": message_id})


def retried(retry: Retry) -> NewEvent:
    return _custom(
        "madang/retry", {"attempt": retry.attempt, "afterS": round(retry.wait_s, 3), "code": retry.error.code}
    )


def compacted(message_id: str, up_to_seq: int, text: str) -> NewEvent:
    value = {"messageId": message_id, "upToSeq": up_to_seq, "text": text[:MAX_DELTA_CHARS]}
    return _custom("madang/compacted", value)


def _finished(run: Run, outcome: Mapping[str, Any]) -> NewEvent:
    return NewEvent("RUN_FINISHED", {"threadId": run.session_id, "runId": segment_id(run), "outcome": outcome})


def _custom(name: str, value: Mapping[str, Any]) -> NewEvent:
    return NewEvent("CUSTOM", {"name": name, "value": value})


def _text(message_id: str, role: str, text: str) -> Iterator[NewEvent]:
    if not text:
        return
    yield NewEvent("TEXT_MESSAGE_START", {"messageId": message_id, "role": role})
    for piece in _pieces(text):
        yield NewEvent("TEXT_MESSAGE_CONTENT", {"messageId": message_id, "delta": piece})
    yield NewEvent("TEXT_MESSAGE_END", {"messageId": message_id})


def _thinking(message_id: str, part: ThinkingPart) -> Iterator[NewEvent]:
    yield NewEvent("REASONING_MESSAGE_START", {"messageId": message_id, "role": "reasoning"})
    for piece in _pieces(part.text):
        yield NewEvent("REASONING_MESSAGE_CONTENT", {"messageId": message_id, "delta": piece})
    took = {} if part.took_ms is None else {"metadata": {"tookMs": part.took_ms}}
    yield NewEvent("REASONING_MESSAGE_END", {"messageId": message_id, **took})


def _call(message_id: str, call: CallPart) -> Iterator[NewEvent]:
    start = {"toolCallId": call.id, "toolCallName": call.tool, "parentMessageId": message_id}
    yield NewEvent("TOOL_CALL_START", start)
    for piece in _pieces(call.arguments):
        yield NewEvent("TOOL_CALL_ARGS", {"toolCallId": call.id, "delta": piece})
    yield NewEvent("TOOL_CALL_END", {"toolCallId": call.id})


def _pieces(text: str) -> Iterator[str]:
    for start in range(0, len(text), MAX_DELTA_CHARS):
        yield text[start : start + MAX_DELTA_CHARS]
