"""What a talk shows, as it crosses to the browser: messages, calls with all that is known of them, ends of runs. Pure.

A reader that follows the stream is told the same by events: `tests/host/test_reload.py` compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from madang.agent.events import MAX_DELTA_CHARS, pause_document
from madang.agent.news import SHOWN
from madang.core.event_documents import ViewReference
from madang.core.pauses import PauseRecord
from madang.core.results import page_uri
from madang.host.wire import CallAnswer, MessageAnswer, NoteAnswer
from madang.llm.errors import retry_helps
from madang.records.runs.endings import ModelSwitch, RunEnding
from madang.records.runs.journal import Message
from madang.records.runs.message_calls import MessageCall


def message_answer(message: Message) -> MessageAnswer:
    """Return a message. What a provider wants back verbatim is of no use to a tab, and may be large."""
    parts = [{name: value for name, value in part.items() if name != "extra"} for part in message.parts]
    if message.kind in ("action", "answered_late", "mend", "check"):
        # A model is told it in more words than the person is shown; and here it is no longer than in its event.
        parts = [{"type": "text", "text": str(part.get(SHOWN, part_text(part)))[:MAX_DELTA_CHARS]} for part in parts]
    return MessageAnswer(
        id=message.id,
        seq=message.seq,
        role=message.role,
        parts=parts,
        created_at=message.created_at,
        kind=message.kind,
        model=message.model,
        input_tokens=message.input_tokens,
    )


def call_answer(one: MessageCall, pages: Mapping[str, str], pauses: Mapping[str, PauseRecord]) -> CallAnswer:
    """Return a call; `pages` are the names of the pages of views, and `pauses` what calls have asked, by their ids."""
    call = one.call
    pause = pauses.get(call.pause_id)
    page = pages.get(call.view_id)
    return CallAnswer(
        tool=call.tool,
        arguments=call.arguments,
        state=call.state,
        outcome=call.outcome,
        text="\n".join(filter(None, map(part_text, call.result))),
        data=dict(call.data) if call.data is not None else None,
        data_left_out=call.data_left_out,
        took_ms=call.took_ms,
        view=ViewReference(id=call.view_id, uri=page_uri(page)) if page is not None else None,
        pause_id=call.pause_id,
        pause=pause_document(pause) if pause is not None else None,
    )


def calls_of_parts(messages: Sequence[Message]) -> dict[str, CallAnswer]:
    """Return calls as the messages alone tell them: what was asked for, and what came of it."""
    results = {
        (message.turn, part.get("callId")): part
        for message in messages
        for part in message.parts
        if message.role == "tool" and part.get("type") == "result"
    }
    return {
        f"{message.id}/{part.get('id')}": _call_of_part(part, results.get((message.turn, part.get("id")), {}))
        for message in messages
        for part in message.parts
        if message.role == "assistant" and part.get("type") == "call"
    }


def _call_of_part(part: Mapping[str, Any], result: Mapping[str, Any]) -> CallAnswer:
    return CallAnswer(
        tool=str(part.get("tool", "")),
        arguments=str(part.get("arguments", "")),
        state="done",
        outcome="cancelled" if not result else "error" if result.get("isError") else "ok",
        text=part_text(result),
        data=None,
        data_left_out=0,
        took_ms=None,
        view=None,
        pause_id="",
        pause=None,
    )


def note_answer(ending: RunEnding) -> NoteAnswer:
    """Return the end of a run that did not go well."""
    return NoteAnswer(
        seq=ending.seq,
        note=ending.state,
        text=ending.text,
        code=ending.code,
        retry_helps=retry_helps(ending.code),
        at=ending.at,
    )


def switch_note(switch: ModelSwitch) -> NoteAnswer:
    """Return that another model took over."""
    return NoteAnswer(seq=switch.seq, note="model", text=switch.text, code="", retry_helps=False, at=switch.at)


def part_text(part: Mapping[str, Any]) -> str:
    """Return the text of a part that has one."""
    text = part.get("text")
    return text if isinstance(text, str) else ""
