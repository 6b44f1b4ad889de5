"""A page says exactly how its question stands, whoever settled it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from madang.core.ids import SessionId
from tests.agent.bench import eventually
from tests.host.hosting import Tab, hosting
from tests.host.test_views import call_tool, playbook_view


async def ask(tab: Tab, session: str, **more: Any) -> Any:
    return await call_tool(tab, session, "prompt_user", prompt="Which tea?", type="text", **more)


async def state(tab: Tab, view: str) -> tuple[str, str]:
    pause = (await tab.get(f"/api/views/{view}"))["pause"]
    assert bool(pause["settledAt"]) is (pause["status"] != "open")
    return pause["status"], pause["settledBy"]


async def test_a_page_tells_how_its_question_ended(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        expiring, declined, answered, elsewhere = [
            await ask(tab, session, **more) for more in ({"timeoutS": 1}, {}, {}, {})
        ]
        assert await state(tab, answered["view"]["id"]) == ("open", "")

        await tab.post(f"/api/inbox/{declined['pauseId']}", {"decline": True})
        await tab.post(f"/api/inbox/{answered['pauseId']}", {"answer": "green"})
        foreign = replace(
            tab.host.agent.madang.call("mcp-stdio"), session_id=SessionId(session), actor="foreign", door="mcp-stdio"
        )
        arguments = {"messageId": elsewhere["pauseId"], "answer": "black"}
        assert not (await tab.host.agent.madang.provider.execute_tool(foreign, "reply_prompt", arguments)).is_error

        assert await state(tab, declined["view"]["id"]) == ("cancelled", "person")
        assert await state(tab, answered["view"]["id"]) == ("answered", "person")
        assert await state(tab, elsewhere["view"]["id"]) == ("answered", "client")
        expired = await eventually(lambda: state(tab, expiring["view"]["id"]), lambda now: now[0] != "open")
        assert expired == ("expired", "")
        late = await tab.http.post(f"/api/inbox/{expiring['pauseId']}", json={"answer": "green"})
        assert (late.status_code, late.json()["code"]) == (410, "expired")


async def test_a_choice_that_was_asked_anew_is_superseded(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        first, _ = await playbook_view(tab, session)
        second = (await call_tool(tab, session, "show_playbooks"))["view"]["id"]
        assert (await state(tab, first))[0] == "superseded"
        assert await state(tab, second) == ("open", "")
