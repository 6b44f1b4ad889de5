"""`madang sessions export` where several machines share a server and each has files of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from madang.agent_app import open_agent
from madang.cli import main
from madang.llm.messages import TextPart
from madang.llm.opening import OpenedModel
from madang.settings import Settings
from tests.agent.bench import ME, Script
from tests.postgresql import url_in


def test_an_export_says_that_files_are_on_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = url_in(tmp_path)

    async def work() -> None:
        settings = Settings(data_dir=tmp_path / "here", model="m", database=url)
        async with open_agent(settings, lambda name: OpenedModel(Script([TextPart("Done.")]))) as agent:
            await agent.runner.post(ME, [TextPart("Hello")])
            await agent.runner.wait_idle()

    asyncio.run(work())
    monkeypatch.setenv("MADANG_DATABASE", url)

    told = {}
    for place in ("here", "elsewhere"):
        monkeypatch.setenv("MADANG_DATA_DIR", str(tmp_path / place))
        assert main(["sessions", "export", "tea", str(tmp_path / f"{place}.zip")]) == 0
        told[place] = "on another machine" in capsys.readouterr().out

    assert told == {"here": False, "elsewhere": True}
