"""Charts were tools of the service `ui` before: what was written then goes on working."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from madang.app import Madang, open_madang
from madang.core.calls import Call
from madang.core.errors import NotGranted, UnknownTool
from madang.core.ids import AssistantId
from madang.settings import read_settings
from tests.asking import Asker

DATA = [{"label": "May", "value": 3}]


@asynccontextmanager
async def configured(folder: Path, config: str) -> AsyncIterator[Madang]:
    (folder / "config.toml").write_text(config, encoding="utf-8")
    async with open_madang(read_settings({}, data_dir=str(folder))) as madang:
        yield madang


async def services_of(madang: Madang, call: Call) -> set[str]:
    tools = {tool.name for tool in await madang.provider.available_tools(call)}
    samples = {"ui": "prompt_user", "chart": "visualize_data", "planning": "add_todo"}
    return {service for service, tool in samples.items() if tool in tools}


@pytest.mark.parametrize("name", ["visualize_data", "chart__visualize_data", "ui__visualize_data"])
async def test_the_tool_is_found_by_its_former_qualified_name_too(asker: Asker, name: str) -> None:
    reply = await asker.done(name, type="bar", data=DATA)

    assert reply.service == "chart"
    assert reply.text.startswith("[visualize_data] ")


@pytest.mark.parametrize("name", ["chart__prompt_user", "planning__visualize_data"])
async def test_a_former_name_leads_to_no_other_tool(asker: Asker, name: str) -> None:
    with pytest.raises(UnknownTool):
        await asker.ask(name)


async def test_the_page_keeps_its_address(asker: Asker) -> None:
    reply = await asker.with_call(pages="linked").done("visualize_data", type="bar", data=DATA)

    assert reply.page is not None
    assert reply.page.name == "ui/chart"


@pytest.mark.parametrize(
    ("granted", "services"),
    [('"ui"', {"ui", "chart"}), ('"chart"', {"chart"}), ('"planning"', {"planning"})],
)
async def test_a_grant_of_ui_holds_for_charts(tmp_path: Path, granted: str, services: set[str]) -> None:
    async with configured(tmp_path, f"[assistants.guest]\nservices = [{granted}]\n") as madang:
        guest = replace(madang.call("python"), assistant_id=AssistantId("guest"))

        assert await services_of(madang, guest) == services
        if "chart" in services:
            reply = await madang.provider.execute_tool(guest, "ui__visualize_data", {"type": "bar", "data": DATA})
            assert not reply.is_error
        else:
            with pytest.raises(NotGranted, match="'chart'"):
                await madang.provider.execute_tool(guest, "visualize_data", {"type": "bar", "data": DATA})


@pytest.mark.parametrize(
    ("setting", "services"),
    [
        ("ui", {"ui", "chart"}),
        ("planning,ui", {"planning", "ui", "chart"}),
        ("chart", {"chart"}),
        ("planning", {"planning"}),
    ],
)
async def test_offering_ui_offers_charts(tmp_path: Path, setting: str, services: set[str]) -> None:
    async with configured(tmp_path, f'services = "{setting}"\n') as madang:
        assert await services_of(madang, madang.call("python")) == services
