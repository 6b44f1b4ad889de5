"""The progress of a call, from a service to the client that waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import anyio
import pytest

from madang.app import open_madang
from madang.client import connect
from madang.core.calls import Call
from madang.core.phrases import Phrase, say
from madang.core.results import ToolResult
from madang.server import progress
from madang.server.progress import ProgressReporter
from madang.settings import Settings
from tests.asking import Asker
from tests.doors import EVERY_DOOR, DoorKind, Doors
from tests.server.serving import CALL, Offering, schema_tool, serving

both_eras = pytest.mark.parametrize("era", ["auto", "legacy"])

Report = tuple[float, float | None, str | None]


class Listener:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    async def __call__(self, done: float, total: float | None, message: str | None) -> None:
        self.reports.append((done, total, message))


async def count_to_three(call: Call, arguments: Mapping[str, Any]) -> ToolResult[Any]:
    for done in (1, 2, 3):
        await call.report_progress(done, 3, say("Error: {message}", message=f"{done}\nof three"))
    return ToolResult(["Done"], {})


@both_eras
async def test_a_client_that_asks_is_told_in_its_language(era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "MIN_INTERVAL_S", 0.0)
    listener: Any = Listener()
    korean = replace(CALL, locale="ko")
    async with serving(Offering(schema_tool("count", count_to_three)), korean) as served, served.client(era) as client:
        await client.call_tool("count", {}, progress_callback=listener)
        await client.call_tool("count", {})

    assert [report[:2] for report in listener.reports] == [(1, 3), (2, 3), (3, 3)]
    assert [report[2] for report in listener.reports] == ["오류: 1 of three", "오류: 2 of three", "오류: 3 of three"]


@pytest.mark.parametrize("kind", EVERY_DOOR, ids=str)
async def test_packing_files_tells_how_far_it_is_through_every_door(tmp_path: Path, kind: DoorKind) -> None:
    listener = Listener()
    async with Doors(kind, tmp_path).open() as door, door.connect() as server:
        for name in ("a.txt", "b.txt", "c.txt"):
            await server.write_file(path=name, content=name)
        exported = await server.export_zip.with_progress(listener)(files=["."])
        response = await server.call("export_zip", {"files": ["a.txt"]}, on_progress=listener)

    assert exported.file_count == 3
    assert response is not None
    assert [report for report in listener.reports if report[0] == 3] == [(3, None, "Files packed: 3")]
    assert listener.reports[-1] == (1, None, "Files packed: 1")


async def test_without_a_listener_nothing_is_told_and_a_listener_that_fails_breaks_nothing(asker: Asker) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("no")

    await CALL.report_progress(1)
    await replace(CALL, progress=fail).report_progress(1, 2, say("Look"))
    asker.keep_file("a.txt", b"a")
    reply = await asker.with_call(progress=fail).done("export_zip", files=["a.txt"])

    assert reply.data["fileCount"] == 1
    assert replace(CALL, progress=fail) == CALL
    assert hash(replace(CALL, progress=fail)) == hash(CALL)


class Session:
    def __init__(self) -> None:
        self.sent: list[Report] = []

    async def report_progress(self, done: float, total: float | None, message: str | None) -> None:
        self.sent.append((done, total, message))


async def test_progress_only_grows_comes_ten_times_a_second_and_is_made_of_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now_s[0])
    session: Any = Session()
    reporter = ProgressReporter(session, "en")

    async def report(
        done: float, total: float | None = None, *, after_s: float = 1, words: Phrase | None = None
    ) -> None:
        now_s[0] += after_s
        await reporter(done, total, words)

    await report(0)
    await report(0)
    await report(2, 10)
    await report(3, after_s=0.05)
    await report(1, 10)
    await report(4, inf)
    await report(nan)
    await report(inf)
    await report(5, words=say("{name}", name="x" * 1000))
    reporter.close()
    await report(6)

    assert session.sent == [(0, None, None), (2, 10, None), (4, None, None), (5, None, "x" * 199 + "…")]


async def test_our_client_in_this_process_hears_it_in_the_language_of_its_call(tmp_path: Path) -> None:
    listener = Listener()
    with anyio.fail_after(60):
        async with (
            open_madang(Settings(tmp_path, locale="ko")) as madang,
            connect(madang.provider, madang.call("python")) as server,
        ):
            await server.write_file(path="a.txt", content="a")
            await server.export_zip.with_progress(listener)(files=["a.txt"])

    assert listener.reports == [(1, None, "묶은 파일: 1개")]
