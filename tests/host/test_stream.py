"""The event stream of a session: the log by its numbers, what is live beside it, and readers that are too slow."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from madang.host.reader import (
    HEARTBEAT,
    MAX_QUEUED_BYTES,
    MAX_QUEUED_EVENTS,
    LiveText,
    ReaderQueue,
    frame,
    resync,
)
from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Streamed
from madang.llm.messages import CallPart, TextPart
from tests.agent.bench import Script, eventually
from tests.host.hosting import Events, hosting


class Slow(Script):
    """Writes one word, and the next when it is let."""

    def __init__(self) -> None:
        super().__init__([TextPart("")])
        self.go_on = asyncio.Event()

    async def stream(self, request: ModelRequest) -> Streamed:
        yield ModelDelta("text", "Green ")
        await self.go_on.wait()
        yield ModelDelta("text", "tea.")
        yield ModelAnswer((TextPart("Green tea."),), "stop")


async def live(events: Events) -> dict[str, Any]:
    while True:
        event = await events.until("TEXT_MESSAGE_CONTENT")
        if event["_id"] is None:
            return event


async def test_a_stream_tells_the_log_and_goes_on_after_a_number(tmp_path: Path) -> None:
    async with hosting(tmp_path, [TextPart("Yes.")]) as tab:
        session = await tab.new_session()
        async with tab.events(session) as events:
            await tab.write(session, "Hello")
            await events.until("RUN_FINISHED")
            stored = events.stored()
        assert [event["_id"] for event in stored] == list(range(1, len(stored) + 1))
        assert all(event["seq"] == event["_id"] for event in stored)

        for cut in range(len(stored)):
            async with tab.events(session, after=cut) as events:
                await events.until("RUN_FINISHED")
                assert events.stored() == stored[cut:]


async def test_what_a_model_writes_is_told_before_it_is_stored_also_to_who_comes_late(tmp_path: Path) -> None:
    script = Slow()
    async with hosting(tmp_path, script=script) as tab:
        session = await tab.new_session()
        async with tab.events(session) as first:
            run = (await tab.write(session, "Which?"))["runId"]
            begun = await live(first)
            assert (begun["delta"], begun["metadata"]) == ("Green ", {"runId": run, "messageNo": 1, "offset": 0})
            async with tab.events(session) as late:
                assert (await live(late))["delta"] == "Green "
                script.go_on.set()
                rest = await live(late)
                assert (rest["delta"], rest["metadata"]["offset"]) == ("tea.", len("Green "))
                await late.until("RUN_FINISHED")
            await first.until("RUN_FINISHED")
        texts = [one["delta"] for one in first.stored() if one["type"] == "TEXT_MESSAGE_CONTENT"]
        assert texts == ["Which?", "Green tea."]
        async with tab.events(session) as after:
            await after.until("RUN_FINISHED")
            assert [one for one in after.seen if one["type"] == "TEXT_MESSAGE_CONTENT" and one["_id"] is None] == []


async def test_the_state_of_services_is_told_at_once_and_when_it_changes(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        async with tab.events(session) as events:
            first = (await events.until("STATE_SNAPSHOT"))["snapshot"]["services"]
            assert {"planning", "playbook", "ui"} <= set(first)
            await tab.post(f"/api/sessions/{session}/tools/add_todo", {"arguments": {"name": "Buy tea"}})
            changes = (await events.until("STATE_DELTA"))["delta"]
            while "Buy tea" not in str(changes):
                changes = (await events.until("STATE_DELTA"))["delta"]
            assert [(one["op"], one["path"]) for one in changes] == [("add", "/services/planning")]


async def test_the_inbox_is_told_on_every_stream(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        asking, watching = await tab.new_session(), await tab.new_session()
        async with tab.events(watching) as events:
            await eventually(lambda: asyncio.sleep(0, tab.host.readers), lambda readers: bool(readers._readers))
            path = f"/api/sessions/{asking}/tools/prompt_user"
            await tab.post(path, {"arguments": {"prompt": "Which tea?", "type": "text"}})
            while (await events.until("CUSTOM", "madang/inbox"))["value"]["open"] != 1:
                pass


async def test_a_stream_beyond_the_end_of_the_log_is_told_to_begin_anew(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        async with tab.events(session, after=99) as events:
            told = await events.until("CUSTOM", "madang/resync")
            assert told["value"] == {"reason": "beyond"}
            with pytest.raises(EOFError):
                await events.until("CUSTOM", "madang/resync")


async def test_a_stream_of_no_session_is_refused(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        assert (await tab.http.get("/api/sessions/nothing/events")).status_code == 404
        session = await tab.new_session()
        assert (await tab.http.get(f"/api/sessions/{session}/events?after=-1")).status_code == 400


async def test_readers_that_left_are_forgotten(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        async with tab.events(session) as events:
            await events.until("STATE_SNAPSHOT")
        await eventually(lambda: asyncio.sleep(0, tab.host.readers._readers), lambda readers: not readers)


async def test_t58_live_events_cut_a_reader_that_does_not_take_them() -> None:
    queue = ReaderQueue()
    event = frame({"type": "CUSTOM", "name": "x", "value": "x" * 10_000})
    while queue.end is None:
        queue.push(event)
        assert queue.size_bytes <= MAX_QUEUED_BYTES
    assert queue.end == resync("slow")
    assert queue.size_bytes == 0
    assert await queue.take(1) == b""
    queue.push(event)
    assert await queue.take(1) == b""


async def test_many_small_live_events_cut_a_reader_too() -> None:
    queue = ReaderQueue()
    for _ in range(MAX_QUEUED_EVENTS):
        queue.push(b"x")
    assert queue.end is None
    queue.push(b"x")
    assert queue.end == resync("slow")


async def test_stored_events_wait_for_room_and_cut_nobody() -> None:
    queue = ReaderQueue()
    events = [frame({"n": number, "text": "x" * 20_000}, number) for number in range(200)]

    async def put_all() -> None:
        for event in events:
            await queue.put(event)

    putting = asyncio.create_task(put_all())
    taken = b""
    while len(taken) < sum(map(len, events)):
        taken += await queue.take(60)
        assert queue.size_bytes <= MAX_QUEUED_BYTES
    await putting
    assert taken == b"".join(events)


async def test_words_that_were_not_sent_yet_are_joined() -> None:
    queue = ReaderQueue()
    offset = 0
    for _ in range(5_000):
        queue.push_text(LiveText("r", 1, offset, "차 "))
        offset += 2
    queue.push_text(LiveText("r", 2, 0, "다음"))
    assert queue.end is None
    told = await queue.take(1)
    assert told.count(b"data: ") == 2
    assert ("차 " * 5_000).encode() in told


async def test_a_text_for_one_reader_does_not_grow_with_that_of_another() -> None:
    first, second = ReaderQueue(), ReaderQueue()
    live_text = LiveText("r", 1, 0, "Green ")
    first.push_text(live_text)
    second.push_text(live_text)
    first.push_text(LiveText("r", 1, 6, "tea"))
    assert b"Green tea" in await first.take(1)
    assert b'"delta":"Green "' in await second.take(1)


async def test_a_quiet_stream_has_a_heartbeat() -> None:
    assert await ReaderQueue().take(0.01) == HEARTBEAT


def test_half_a_surrogate_pair_can_be_told() -> None:
    assert b"\\ud83d" in frame({"delta": "\ud83d"}, 7)
    assert frame({"a": "line\nbreak"}, 7) == b'id: 7\ndata: {"a":"line\\nbreak"}\n\n'


async def test_a_screen_without_a_session_is_told_of_the_inbox_and_of_sessions(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab, tab.http.stream("GET", "/api/events") as response:
        events = Events(response.aiter_lines())
        await events.until("CUSTOM", "madang/inbox")
        session = await tab.new_session()
        await told_of(events, session)
        path = f"/api/sessions/{session}/tools/prompt_user"
        await tab.post(path, {"arguments": {"prompt": "Which tea?", "type": "text", "timeoutS": 1}})
        while (await events.until("CUSTOM", "madang/inbox"))["value"]["open"] != 1:
            pass
        # It expires, which nobody does, and is told all the same.
        while (await events.until("CUSTOM", "madang/inbox"))["value"]["open"] != 0:
            pass


async def told_of(events: Events, session: str) -> Any:
    """Return the row of a session that a stream tells next."""
    while True:
        # The first may say only that watching has begun.
        for row in (await events.until("CUSTOM", "madang/sessions"))["value"]["sessions"]:
            if row["id"] == session:
                return row


async def test_what_changes_in_the_list_of_sessions_is_told_as_its_rows(tmp_path: Path) -> None:
    asks = CallPart("1", "prompt_user", '{"prompt": "Which tea?", "type": "text"}')
    async with hosting(tmp_path, [asks]) as tab, tab.http.stream("GET", "/api/events") as response:
        events = Events(response.aiter_lines())
        await events.until("CUSTOM", "madang/inbox")
        session = await tab.new_session(title="First name")
        assert await told_of(events, session) == (await tab.get("/api/sessions"))["sessions"][0]
        assert (await tab.http.patch(f"/api/sessions/{session}", json={"title": "Renamed"})).status_code == 200
        while (await told_of(events, session))["title"] != "Renamed":
            pass
        await tab.write(session, "Ask me")
        # That it ran may be told or not: what changes within a moment is told once.
        while (row := await told_of(events, session))["openPauses"] == 0 or row["run"]["state"] != "waiting":
            pass
        assert (await tab.http.delete(f"/api/sessions/{session}")).status_code == 200
        while session not in (await events.until("CUSTOM", "madang/sessions"))["value"]["gone"]:
            pass


async def test_more_changes_than_are_told_have_the_list_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("madang.host.session_news.MAX_TOLD_SESSIONS", 0)
    async with hosting(tmp_path) as tab, tab.http.stream("GET", "/api/events") as response:
        events = Events(response.aiter_lines())
        await events.until("CUSTOM", "madang/inbox")
        await tab.new_session()
        told = await events.until("CUSTOM", "madang/sessions")

    assert told["value"] == {"sessions": [], "gone": [], "isIncomplete": True}


async def test_streams_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madang.host.live.MAX_STREAMS", 2)
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        async with tab.events(session), tab.http.stream("GET", "/api/events") as second:
            assert second.status_code == 200
            for path in (f"/api/sessions/{session}/events", "/api/events"):
                answer = await tab.http.get(path)
                assert (answer.status_code, answer.json()["code"]) == (429, "limit_exceeded")
        await eventually(lambda: asyncio.sleep(0, tab.host.readers._all()), lambda readers: not readers)
        async with tab.events(session) as events:
            await events.until("STATE_SNAPSHOT")
