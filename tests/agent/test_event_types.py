"""The events of runs as they are stored: the bytes that older builds wrote, made by types and read back into them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from madang.agent import events
from madang.agent.call_details import NO_DETAILS, CallDetails
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.pauses import PauseRecord
from madang.core.phrases import say
from madang.core.run_events import ArgumentsEnded, read_event
from madang.llm.base import ModelAnswer, Retry, Usage
from madang.llm.errors import Overloaded
from madang.llm.messages import AttachedFile, CallPart, ImagePart, TextPart, ThinkingPart
from madang.records.events import NewEvent
from madang.records.runs.records import Run

RECORDED = Path(__file__).parent / "recorded" / "events.jsonl"
"""Every kind of event, as it was written since there is one of it: what is in the data folders of that time."""

AT = "2026-01-02T03:04:05.678Z"


def every_event() -> Iterator[NewEvent]:
    """Yield events of every kind, with and without what may be left out."""
    run = _run()
    asked = PauseRecord(
        "pause-1", "prompt", "ui", "prompt_user", "Which tea?", SessionId("tea"), AssistantId("default"), "run:1", AT
    )
    expiring = replace(asked, id="pause-2", kind="wait", expires_at=AT, call_id="call-2")
    settled = replace(
        expiring,
        status="answered",
        settled_at=AT,
        settled_by="client",
        settled_with={"tool": "reply_prompt", "arguments": {"answer": ["green", "홍차"]}, "client": "a-client"},
    )
    yield events.run_started(run)
    yield events.run_started(replace(run, epoch=2))
    yield from events.run_resumed(replace(run, epoch=3, was_interrupted=True))
    yield events.run_finished(run)
    yield from events.run_cancelled(replace(run, state="waiting"), [])
    yield from events.run_cancelled(run, [])
    yield events.run_waiting(run, [asked, expiring])
    yield events.run_failed("overloaded", "The server is busy.", retry_helps=True)
    yield events.run_failed("limit", "Too many turns.")
    yield from events.answer_stopped("message-1", "Half of an ans")
    yield from events.user_wrote("message-2", [TextPart("차 한 잔, please\u2028")])
    yield from events.user_wrote("message-3", [ImagePart(b"hi", "image/png")])
    note = TextPart("[File]", file=AttachedFile("notes.txt", "content-1"))
    yield from events.user_wrote("message-4", [TextPart("Read it"), note, TextPart("[Image]", file=AttachedFile("i"))])
    call = CallPart("call-1", "add_todo", '{"name": "half a pair: \ud83d"}')
    parts = (ThinkingPart("Hm."), ThinkingPart("So.", took_ms=1200), TextPart("Green."), call)
    yield from events.answered(
        "message-5", ModelAnswer(parts, "tool_calls", Usage(10, output_tokens=2), "some-model"), [call]
    )
    yield from events.answered("message-6", ModelAnswer((TextPart("Hi"),), "stop"), [])
    yield events.call_ended("call-1", "[add_todo] Done.", "ok", NO_DETAILS.metadata())
    whole = CallDetails(
        took_ms=7,
        data={"id": 1, "nested": {"value": None, "list": [1.5, True, "a\ud83d"]}},
        images=2,
        view_id="view-1",
        view_uri="ui://planning/plan",
        pause=settled,
    )
    yield events.call_ended("call-1", "[add_todo] Done.", "answered_late", whole.metadata())
    yield events.call_ended("call-1", "much", "error", CallDetails(data_left_out=40_000).metadata())
    yield events.call_paused("call-2", "pause-2", "wait")
    yield events.call_paused("call-2", "pause-2", "approval", CallDetails(pause=asked).metadata())
    yield events.call_paused("call-2", "pause-2", "choice", CallDetails(view_id="v", view_uri="ui://x/y").metadata())
    yield events.results_given("message-7")
    yield events.answered_late("message-8", settled, "green")
    yield events.acted("message-9", "The person has done this:\n[add_todo] …")
    yield events.noted("noted-1", "person", "[add_todo] Done.")
    yield events.message_queued("message-10", "And this")
    yield events.message_withdrawn("message-10")
    yield events.retried(Retry(2, 1.23456, Overloaded(say("Busy."))))
    yield events.retried(Retry(3, 2.0, Overloaded(say("Busy."))))
    yield events.compacted("message-11", 12, "What was said before.")
    yield from events.run_cancelled(run, ["pause-1"])
    yield from events.answered("message-12", ModelAnswer((TextPart("Half"),), "length"), [], is_cut=True)
    yield events.mended("message-13", "cut", "The model is asked to go on.")
    yield events.run_failed("incomplete", "Cut off.")


def line_of(event: NewEvent) -> str:
    return json.dumps({"type": event.kind, **event.payload}, separators=(",", ":"))


def test_every_event_is_stored_as_it_always_was() -> None:
    assert [line_of(event) for event in every_event()] == RECORDED.read_text(encoding="utf-8").splitlines()


def _run() -> Run:
    return Run(
        no=1,
        id="run-1",
        user_id=UserId("me"),
        session_id=SessionId("tea"),
        assistant_id=AssistantId("default"),
        model="some-model",
        state="running",
        epoch=1,
        owner="process-1",
        turn=1,
        calls=0,
        input_tokens=0,
        output_tokens=0,
        cost=0.0,
        is_tainted=False,
        deadline_at="",
        wake_at="",
        error_code="",
        error="",
        created_at=AT,
        updated_at=AT,
    )


def test_what_older_builds_stored_is_read_as_its_type_and_is_the_same_again() -> None:
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        event = read_event({**json.loads(line), "seq": 3, "at": AT})
        assert event is not None, line
        assert (event.seq, event.at) == (3, AT)
        assert line_of(NewEvent(event.type, event.payload())) == line


@pytest.mark.parametrize(
    "older",
    [
        {"name": "madang/compacted", "value": {"messageId": "m", "upToSeq": 3}},
        {"name": "madang/answered_late", "value": {"messageId": "m", "id": "p", "text": "green"}},
        {
            "name": "madang/pause",
            "value": {
                "toolCallId": "c",
                "id": "p",
                "kind": "wait",
                "pause": {
                    "id": "p",
                    "kind": "wait",
                    "status": "open",
                    "settledBy": "",
                    "settledAt": "",
                    "expiresAt": "",
                },
            },
        },
    ],
    ids=lambda older: older["name"],
)
def test_an_older_event_is_read_without_what_it_did_not_say(older: dict[str, Any]) -> None:
    assert read_event({"type": "CUSTOM", **older}) is not None


def test_a_field_of_a_newer_build_is_passed_over() -> None:
    event = read_event({"type": "TOOL_CALL_END", "toolCallId": "call-1", "metadata": {"new": True}})

    assert event == ArgumentsEnded(tool_call_id="call-1")


@pytest.mark.parametrize(
    "unknown",
    [
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "m"},
        {"type": "CUSTOM", "name": "madang/of_a_newer_build", "value": {}},
        {"type": "TEXT_MESSAGE_END"},
        {},
    ],
    ids=str,
)
def test_an_event_that_is_not_known_is_passed_over(unknown: dict[str, Any]) -> None:
    assert read_event(unknown) is None
