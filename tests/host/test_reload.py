"""After a reload nothing is missing: a page of messages shows what the events before it showed, in every state.

Both are folded by the front end's own fold, in Node.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from madang.agent.call_details import MAX_DATA_BYTES
from madang.agent.model_switch import choose_model
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.ids import SessionId
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.service import Service, ServiceMetadata
from madang.core.tools import tool, tools_of
from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Streamed
from madang.llm.errors import Overloaded, QuotaExceeded
from madang.llm.messages import CallPart, Part, TextPart, ThinkingPart
from tests.agent.bench import Script, eventually, tool_call
from tests.agent.outside import Outside
from tests.host.hosting import Tab, hosting
from tests.host.test_inbox import one_item
from tests.host.test_sessions import over
from tests.host.test_views import PNG, call_tool, upload
from tests.postgresql import url_in

WEB = Path(__file__).parents[2] / "web"
FOLD = Path(__file__).with_name("fold.mjs")
MAX_LOOKS = 10


async def pictures(tab: Tab, session: str) -> tuple[Any, Any]:
    """Return what a tab shows that has followed the session from its beginning, and one that was just opened."""
    pages = [await tab.get(f"/api/sessions/{session}/messages?limit=3")]
    while pages[-1]["hasMore"]:
        before = pages[-1]["messages"][0]["seq"]
        pages.append(await tab.get(f"/api/sessions/{session}/messages?limit=3&before={before}"))
    last_seq = pages[0]["lastSeq"]
    async with tab.events(session) as events:
        while (await events.next())["_id"] != last_seq:
            pass
    told = json.dumps({"events": events.stored(), "pages": pages})
    assert (WEB / "node_modules").is_dir(), "what folds is not there: scripts/web installs it"
    command = ["node", str(FOLD), str(WEB)]
    done = await asyncio.to_thread(subprocess.run, command, input=told, capture_output=True, text=True, check=True)
    folded = json.loads(done.stdout)
    return _comparable(folded["live"]), _comparable(folded["reloaded"])


def _comparable(talk: Any) -> Any:
    for name in ("services", "runs", "hasOlder", "draft"):
        del talk[name]
    for item in talk["items"]:
        assert item.pop("at")
    for call in talk["calls"].values():
        if call["pause"] and call["pause"]["status"] == "withdrawn":
            del call["pause"]["settledAt"]  # it is the moment of the run's end
    return talk


async def check(tab: Tab, session: str) -> Any:
    """Check that both come to be the same: a page is read in parts, and a run may still write its end."""
    live, reloaded = await pictures(tab, session)
    for _ in range(MAX_LOOKS):
        if reloaded == live:
            break
        live, reloaded = await pictures(tab, session)
    assert reloaded == live
    return live


class Many(Document):
    values: list[int]


class ManyTools:
    @tool(effect="read")
    async def count(self, call: Call, to: int) -> ToolResult[Many]:
        """Count up to a number."""
        return ToolResult([say("Counted.")], Many(values=list(range(to))))


class Counting(Service):
    def __init__(self) -> None:
        self.metadata = ServiceMetadata("counting", say("Counting"), say("Counts."), "1")
        self.tools = tools_of(ManyTools())


def calls_of(talk: Any) -> list[Any]:
    return list(talk["calls"].values())


async def test_calls_keep_their_data_times_and_pages(tmp_path: Path) -> None:
    answers: list[list[Part]] = [
        [
            ThinkingPart("Let me see."),
            TextPart("I look."),
            tool_call("add_todo", "c1", name="Buy tea"),
            tool_call("add_todo", "c2", colour="red"),
            tool_call("no_such_tool", "c3"),
        ],
        [
            tool_call("visualize_data", "c1", type="bar", data=[{"label": "tea", "value": 3}]),
            tool_call("count", "c4", to=5),
            tool_call("count", "c5", to=20_000),
        ],
        [TextPart("Done.")],
    ]
    async with hosting(tmp_path, *answers) as tab:
        tab.host.agent.madang.provider.register(Counting())
        session = await tab.new_session()
        await tab.write(session, "Do it")
        await over(tab, session)
        talk = await check(tab, session)
        todo, wrong, unknown, chart, few, many = calls_of(talk)
        assert todo["data"]["todos"][0]["name"] == "Buy tea"
        assert (wrong["outcome"], wrong["data"]["error"]["code"]) == ("error", "invalid_arguments")
        assert (unknown["outcome"], unknown["tookMs"]) == ("error", None)
        assert all(call["tookMs"] is not None for call in (todo, wrong, chart, few, many))
        view = await tab.get(f"/api/views/{chart['viewId']}")
        assert (view["tool"], view["service"], view["server"]) == ("visualize_data", "chart", "")
        assert few["data"] == {"values": [0, 1, 2, 3, 4]}
        assert many["data"] is None
        assert many["dataLeftOut"] > MAX_DATA_BYTES


async def test_a_question_stands_as_it_stands(tmp_path: Path) -> None:
    answers: list[list[Part]] = [
        [tool_call("prompt_user", prompt="Which tea?", type="text", timeoutS=3600)],
        [TextPart("Good.")],
    ]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        await tab.write(session, "Ask me")
        item = await one_item(tab)
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"]["state"] == "waiting")
        [call] = calls_of(await check(tab, session))
        assert (call["isRunning"], call["pause"]["status"]) == (True, "open")
        assert call["pause"]["expiresAt"] == item["expiresAt"]
        assert call["viewId"]
        await tab.post(f"/api/inbox/{item['id']}", {"answer": "green"})
        await over(tab, session)
        [call] = calls_of(await check(tab, session))
        assert (call["pause"]["status"], call["pause"]["settledBy"]) == ("answered", "person")
        assert call["pause"]["settledAt"]


async def test_actions_and_late_answers_are_told_between_the_messages(tmp_path: Path) -> None:
    answers: list[list[Part]] = [
        [tool_call("prompt_user", "c1", prompt="Which tea?", type="text")],
        [tool_call("wait_for_user", "c2", message="Wait")],
        [TextPart("Good.")],
    ]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        await tab.write(session, "Ask me")
        question = await one_item(tab)
        await call_tool(tab, session, "add_todo", name="Buy tea")
        await tab.write(session, "Later")
        await eventually(tab.inbox, lambda items: len(items) == 2)
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"]["state"] == "waiting")
        asked, _ = calls_of(await check(tab, session))
        assert (asked["outcome"], asked["pause"]["status"]) == ("unanswered", "open")
        await tab.post(f"/api/inbox/{question['id']}", {"answer": "green"})
        await over(tab, session)  # an answer to what it asked before wakes it from the wait
        talk = await check(tab, session)
        asked, _ = calls_of(talk)
        assert (asked["outcome"], asked["pause"]["status"]) == ("answered_late", "answered")
        notes = {item["note"]: item["text"] for item in talk["items"] if item["kind"] == "note"}
        assert set(notes) == {"action", "answered_late"}
        assert "Buy tea" in notes["action"]
        assert "green" in notes["answered_late"]
        # What is shown of it is not all that the model was told.
        assert "answered what you asked before" not in notes["answered_late"]
        assert "answered what you asked before" in str(tab.script.requests[-1].messages)


class Talking(Script):
    """Writes one word after another until it is stopped."""

    def __init__(self) -> None:
        super().__init__([TextPart("")])
        self.wrote = asyncio.Event()

    async def stream(self, request: ModelRequest) -> Streamed:
        self.requests.append(request)
        if len(self.requests) > 1:
            yield ModelAnswer((TextPart("Coffee."),), "stop")
            return
        yield ModelDelta("text", "Green tea is ")
        yield ModelDelta("text", "very")
        self.wrote.set()
        await asyncio.Event().wait()


async def test_what_was_written_when_the_person_stopped_it_stays(tmp_path: Path) -> None:
    script = Talking()
    async with hosting(tmp_path, script=script) as tab:
        session = await tab.new_session()
        await tab.write(session, "Tell me")
        await script.wrote.wait()
        assert (await tab.post(f"/api/sessions/{session}/stop"))["stopped"]
        talk = await check(tab, session)
        _, answer, note = talk["items"]
        assert (answer["role"], answer["text"], answer["isCut"]) == ("assistant", "Green tea is very", True)
        assert note["note"] == "cancelled"
        assert talk["run"]["state"] == "cancelled"
        await tab.write(session, "Or rather coffee")
        await over(tab, session)
        await check(tab, session)
        # The model knows what it had said.
        assert [message.text for message in script.requests[-1].messages] == [
            "Tell me",
            "Green tea is very",
            "Or rather coffee",
        ]
        fork = await tab.post(f"/api/sessions/{session}/fork", {"messageId": answer["id"]})
        assert [one["kind"] for one in (await tab.messages(fork["id"]))["messages"]] == ["", "stopped"]


class Ending(Script):
    """Gives answers that end with the words that are written."""

    def __init__(self, *answers: tuple[str, list[Part]]) -> None:
        super().__init__()
        self._ends = list(answers)

    async def stream(self, request: ModelRequest) -> Streamed:
        self.requests.append(request)
        finish, parts = self._ends.pop(0)
        yield ModelAnswer(tuple(parts), finish)


async def test_answers_that_were_cut_and_asked_for_again_stay_so(tmp_path: Path) -> None:
    cut_call = CallPart("c1", "add_todo", '{"name": "Te')
    script = Ending(
        ("length", [TextPart("Half an")]),
        ("tool_calls", [ThinkingPart("Hm."), tool_call("add_todo", name="Tea")]),
        ("length", [TextPart("I add one"), cut_call]),
        ("abort", [TextPart("So")]),
        ("stop", [ThinkingPart("Nothing to say.")]),
    )
    async with hosting(tmp_path, script=script) as tab:
        session = await tab.new_session()
        await tab.write(session, "Add a todo")
        await over(tab, session)
        talk = await check(tab, session)
        notes = [item["note"] for item in talk["items"] if item["kind"] == "note"]
        cut = [item["text"] for item in talk["items"] if item.get("isTruncated")]
        assert (notes, cut) == (["mend", "mend", "failed"], ["Half an", "I add one", "So"])
        assert talk["items"][-1]["code"] == "incomplete"
        assert [call["outcome"] for call in talk["calls"].values()] == ["ok", "error"]


async def test_what_a_stopped_run_has_asked_is_withdrawn(tmp_path: Path) -> None:
    answers: list[list[Part]] = [
        [tool_call("prompt_user", prompt="Which tea?", type="text")],
        [TextPart("Good.")],
    ]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        await tab.write(session, "Ask me")
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"]["state"] == "waiting")
        await tab.post(f"/api/sessions/{session}/stop")
        talk = await check(tab, session)
        [call] = calls_of(talk)
        assert (call["isRunning"], call["outcome"]) == (False, "cancelled")
        assert (call["pause"]["status"], call["pause"]["settledBy"]) == ("withdrawn", "run")
        assert (await tab.get(f"/api/views/{call['viewId']}"))["pause"]["status"] == "withdrawn"


class Failing(Script):
    def __init__(self, *errors: Exception) -> None:
        super().__init__([TextPart("Better now.")])
        self.errors = list(errors)

    async def stream(self, request: ModelRequest) -> Streamed:
        yield ModelDelta("text", "Half of ")
        if self.errors:
            raise self.errors.pop(0)
        async for item in super().stream(request):
            yield item


@pytest.mark.parametrize(
    ("error", "helps"),
    [(QuotaExceeded(say("No money.")), False), (Overloaded(say("Busy."), retry_after_s=10_000), True)],
)
async def test_a_failure_is_told_with_its_words(tmp_path: Path, error: Exception, helps: bool) -> None:
    async with hosting(tmp_path, script=Failing(error)) as tab:
        session = await tab.new_session()
        await tab.write(session, "Try")
        await over(tab, session)
        talk = await check(tab, session)
        note = talk["items"][-1]
        assert (note["note"], note["retryHelps"]) == ("failed", helps)
        assert str(error) in note["text"]
        assert talk["run"]["state"] == "failed"
        await tab.write(session, "Again")
        await over(tab, session)
        assert (await check(tab, session))["run"]["state"] == "idle"


@pytest.mark.parametrize("is_on_server", [False, True])
async def test_a_model_that_took_over_is_told(tmp_path: Path, is_on_server: bool) -> None:
    answers: list[list[Part]] = [
        [tool_call("prompt_user", prompt='Which "madang/model"?', type="text")],
        [TextPart("Good.")],
    ]
    async with hosting(tmp_path, *answers, url=url_in(tmp_path) if is_on_server else "") as tab:
        session, stores = await tab.new_session(), tab.host.agent.stores
        await tab.write(session, "Ask me")
        item = await one_item(tab)
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"]["state"] == "waiting")
        run = await stores.runs.get_live(replace(tab.host.agent.madang.call("host"), session_id=SessionId(session)))
        assert run is not None
        await choose_model(stores, run, "script", "en")
        talk = await check(tab, session)
        assert [one["text"] for one in notes_of(talk)] == ["From here on script answers."]
        await tab.post(f"/api/inbox/{item['id']}", {"answer": "green"})
        await over(tab, session)
        talk = await check(tab, session)
        assert [(one["note"], one["text"]) for one in notes_of(talk)] == [("model", "From here on script answers.")]
        assert talk["items"][-1]["text"] == "Good."


def notes_of(talk: Any) -> list[Any]:
    return [item for item in talk["items"] if item["kind"] == "note"]


async def test_decisions_of_the_person_are_told(tmp_path: Path) -> None:
    answers: list[list[Part]] = [[tool_call("erase", name="tea")], [TextPart("Done.")]]
    async with hosting(tmp_path, *answers) as tab:
        tab.host.agent.madang.provider.register(Outside())
        session = await tab.new_session()
        await tab.write(session, "Erase it")
        item = await one_item(tab)
        await eventually(lambda: tab.get(f"/api/sessions/{session}"), lambda now: now["run"]["state"] == "waiting")
        await check(tab, session)
        await tab.post(f"/api/inbox/{item['id']}", {"allow": False})
        await over(tab, session)
        [call] = calls_of(await check(tab, session))
        assert (call["outcome"], call["pause"]["status"]) == ("denied", "cancelled")


async def test_queued_messages_and_images_are_told(tmp_path: Path) -> None:
    answers: list[list[Part]] = [
        [tool_call("prompt_user", prompt="Which tea?", type="text")],
        [TextPart("Good.")],
    ]
    async with hosting(tmp_path, *answers) as tab:
        session = await tab.new_session()
        kept = (await upload(tab, session, "tea.png", PNG)).json()
        file = (await upload(tab, session, "차.txt", b"green tea")).json()
        attachments = [{"contentId": one["contentId"], "name": one["name"]} for one in (kept, file)]
        await tab.post(f"/api/sessions/{session}/messages", {"text": "Look", "attachments": attachments})
        await one_item(tab)
        talk = await check(tab, session)
        assert talk["items"][0]["images"][0]["alt"] == "tea.png"
        assert talk["items"][0]["files"] == attachments[1:]
        assert talk["items"][0]["text"] == "Look"
