"""What a client of another program asks, over standard input on the same data folder, is answered in the chat."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from tests.host.hosting import Events, Tab, hosting
from tests.host.test_inbox import one_item


@asynccontextmanager
async def client(folder: Path, era: Any = "auto", *options: str, **more: Any) -> AsyncIterator[Client]:
    """A real client with a Madang of its own, in a process of its own."""
    arguments = ["-m", "madang", "mcp", "--data-dir", str(folder), "--session", "theirs", *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    info = types.Implementation(name="Tea Desktop", version="1")
    async with Client(server, mode=era, client_info=info, read_timeout_seconds=60, **more) as opened:
        yield opened


@asynccontextmanager
async def told(tab: Tab) -> AsyncIterator[Events]:
    async with tab.http.stream("GET", "/api/events") as response:
        yield Events(response.aiter_lines())


async def count(events: Events, number: int) -> None:
    while (await events.until("CUSTOM", "madang/inbox"))["value"]["open"] != number:
        pass


async def ask(client: Client, **more: Any) -> Any:
    arguments = {"prompt": "Which tea?", "type": "select", "options": ["green", "black"], **more}
    return (await client.call_tool("prompt_user", arguments)).structured_content


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_question_of_another_client_is_answered_in_the_inbox(tmp_path: Path, era: str) -> None:
    async with hosting(tmp_path) as tab, told(tab) as events, client(tmp_path, era) as other:
        await count(events, 0)
        asked = await ask(other)
        await count(events, 1)  # told, not looked for
        item = await one_item(tab)
        assert (item["id"], item["sessionId"]) == (asked["messageId"], "theirs")
        assert (item["text"], item["asker"]) == ("Which tea?", "Tea Desktop")
        assert [choice["value"] for choice in item["choices"]] == ["green", "black"]

        # It comes back for the answer, and waits for it in that call.
        arguments = {"messageId": asked["messageId"], "waitS": 25}
        waiting = asyncio.create_task(other.call_tool("get_prompt", arguments))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        settled = await tab.post(f"/api/inbox/{item['id']}", {"answer": "green"})

        assert settled["status"] == "answered"
        async with asyncio.timeout(20):
            result = await waiting
        assert (result.structured_content["status"], result.structured_content["answer"]) == ("answered", "green")
        await count(events, 0)
        assert await tab.inbox() == []


async def test_one_that_is_declined_reaches_the_client_too_also_after_a_restart_of_the_host(tmp_path: Path) -> None:
    async with client(tmp_path) as other:
        asked = await ask(other)
        async with hosting(tmp_path) as tab:
            item = await one_item(tab)
            await tab.post(f"/api/inbox/{item['id']}", {"decline": True})
        result = await other.call_tool("get_prompt", {"messageId": asked["messageId"]})
        assert result.structured_content["status"] == "cancelled"


async def test_what_the_client_answers_itself_leaves_the_inbox(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab, told(tab) as events, client(tmp_path) as other:
        asked = await ask(other)
        await count(events, 1)
        arguments = {"messageId": asked["messageId"], "answer": "black"}
        await other.call_tool("reply_prompt", arguments)
        await count(events, 0)
        late = await tab.http.post(f"/api/inbox/{asked['messageId']}", json={"answer": "green"})
        assert (late.status_code, late.json()["code"]) == (409, "conflict")
        same = await tab.http.post(f"/api/inbox/{asked['messageId']}", json={"answer": "black"})
        assert same.status_code == 200


async def test_a_choice_of_playbooks_is_made_in_the_inbox(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab, told(tab) as events, client(tmp_path) as other:
        await other.call_tool("create_playbook", {"goal": "Make tea", "workflow": []})
        await other.call_tool("show_playbooks", {})
        await count(events, 1)
        item = await one_item(tab)
        assert (item["type"], [one["label"] for one in item["choices"]]) == ("choice", ["Make tea"])
        settled = await tab.post(f"/api/inbox/{item['id']}", {"answer": item["choices"][0]["value"]})
        assert settled["status"] == "answered"
        runs = await other.call_tool("list_playbook_runs", {})
        assert "Make tea" in str(runs.structured_content)


@pytest.mark.parametrize(("era", "late"), [("auto", "accept"), ("auto", "cancel"), ("legacy", "cancel")])
async def test_a_form_that_the_client_draws_may_be_answered_in_the_inbox_meanwhile(
    tmp_path: Path, era: str, late: Any
) -> None:
    """In the older era it is taken back. Since then the client comes with what it says, which changes nothing."""
    closed, taken_back = asyncio.Event(), asyncio.Event()

    async def form(*_: Any) -> types.ElicitResult:
        try:
            await closed.wait()
        except asyncio.CancelledError:
            taken_back.set()
            raise
        return types.ElicitResult(action=late, content={"answer": "black"} if late == "accept" else None)

    async with (
        hosting(tmp_path) as tab,
        client(tmp_path, era, "--ask", "elicit", elicitation_callback=form) as other,
    ):
        asking = asyncio.create_task(other.call_tool("prompt_user", {"prompt": "Which tea?", "type": "text"}))
        item = await one_item(tab)
        await tab.post(f"/api/inbox/{item['id']}", {"answer": "green"})
        if era == "legacy":
            async with asyncio.timeout(20):
                await taken_back.wait()
        else:
            await asyncio.sleep(1.1)  # sooner than that, a refusal is the client's own
            closed.set()
        told = (await asking).structured_content
        assert told is not None
        assert (told["status"], told["answer"], told["by"]) == ("answered", "green", "person")
        result = (await other.call_tool("get_prompt", {"messageId": item["id"]})).structured_content
        assert result is not None
        assert (result["status"], result["answer"]) == ("answered", "green")
