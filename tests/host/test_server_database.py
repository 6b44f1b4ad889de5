"""The chat on a database server: what it keeps is the same there, and so is what it shows."""

from __future__ import annotations

from pathlib import Path

from madang.llm.messages import Part, TextPart
from tests.agent.bench import tool_call
from tests.host.hosting import hosting
from tests.host.test_copies import ANSWERS, talk, views, without_ids
from tests.host.test_reload import Talking, calls_of, check
from tests.host.test_sessions import over
from tests.host.test_views import PNG, upload
from tests.postgresql import url_in


async def test_a_reload_shows_what_was_shown(tmp_path: Path) -> None:
    answers: list[list[Part]] = [
        [TextPart("I look."), tool_call("add_todo", "c1", name="Buy \x00 tea"), tool_call("add_todo", "c2", x=1)],
        [tool_call("visualize_data", "c3", type="bar", data=[{"label": "tea", "value": 3}])],
        [TextPart("Done.")],
    ]
    async with hosting(tmp_path, *answers, url=url_in(tmp_path)) as tab:
        session = await tab.new_session()
        kept = (await upload(tab, session, "tea.png", PNG)).json()
        body = {"text": "Do it", "attachments": [{"contentId": kept["contentId"], "name": "tea.png"}]}
        await tab.post(f"/api/sessions/{session}/messages", body)
        await over(tab, session)
        shown = await check(tab, session)
        assert calls_of(shown)[2]["viewId"]
        assert shown["items"][0]["images"]
        assert "runs finished 1" in (await tab.get("/api/report"))["text"]


async def test_what_was_written_before_a_stop_stays(tmp_path: Path) -> None:
    script = Talking()
    async with hosting(tmp_path, script=script, url=url_in(tmp_path)) as tab:
        session = await tab.new_session()
        await tab.write(session, "Tell me")
        await script.wrote.wait()
        await tab.post(f"/api/sessions/{session}/stop")
        shown = await check(tab, session)
        assert (shown["items"][1]["text"], shown["items"][1]["isCut"]) == ("Green tea is very", True)


async def test_a_fork_has_its_own_views_after_its_parent_is_deleted(tmp_path: Path) -> None:
    async with hosting(tmp_path, *ANSWERS, url=url_in(tmp_path)) as tab:
        session, calls = await talk(tab)
        last = (await tab.messages(session))["messages"][-1]["id"]
        fork = (await tab.post(f"/api/sessions/{session}/fork", {"messageId": last}))["id"]
        assert (await tab.http.delete(f"/api/sessions/{session}")).status_code == 200
        copied = list((await tab.messages(fork))["calls"].values())
        assert list(map(without_ids, copied)) == list(map(without_ids, calls))
        question, chart = await views(tab, fork)
        assert (question["pause"]["status"], chart["sessionId"]) == ("answered", fork)
