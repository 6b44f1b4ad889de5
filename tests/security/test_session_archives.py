"""Archives that somebody else made, or changed: refused with a reason, and nothing of them stays."""

from __future__ import annotations

import json
import zipfile
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from madang.core.errors import MadangError
from madang.core.ids import SessionId
from tests.whole_sessions import House, all_files, all_rows, fill, open_house

pytestmark = pytest.mark.anyio

Change = Callable[[dict[str, bytes]], None]
FILES = "workspace/files.jsonl"


@pytest.fixture(params=["disk", "server"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, request.param) as house:
        yield house


def line(name: str, **fields: object) -> Change:
    """Change fields of the first line of a list."""

    def change(parts: dict[str, bytes]) -> None:
        first, *rest = parts[name].splitlines()
        parts[name] = b"\n".join([json.dumps(json.loads(first) | fields).encode(), *rest])

    return change


def replaced(name: str, text: str) -> Change:
    return lambda parts: parts.update({name: text.encode()})


def doubled(parts: dict[str, bytes]) -> None:
    parts[FILES] = parts[FILES] + parts[FILES]


def without(*names: str) -> Change:
    def change(parts: dict[str, bytes]) -> None:
        for name in names:
            del parts[name]

    return change


CHANGES: dict[str, Change] = {
    "a newer format": line("session.json", format=2),
    "no session": without("session.json"),
    "a session without times": line("session.json", createdAt=""),
    "an assistant without a name": line("session.json", assistantId=" \n"),
    "events out of order": line("events.jsonl", seq=9),
    "an event without a kind": line("events.jsonl", kind=""),
    "a time that is none": line("events.jsonl", at="yesterday"),
    "a time without a zone": line("events.jsonl", at="2026-01-01T00:00:00"),
    "a plan that is none": replaced("planning/plan.json", '{"state": 1}'),
    "a file outside": line(FILES, path="../../../../out.txt"),
    "an absolute file": line(FILES, path="/tmp/out.txt"),
    "a file that is missing": line(FILES, path="missing.txt"),
    "a file before all time": line(FILES, modifiedNs=-1),
    "a file twice": doubled,
    "an export that is none": line("workspace/exports.jsonl", path="quokka.txt"),
    "a text that is missing": without("content/texts/000001.txt"),
    "a text that is none": lambda parts: parts.update({"content/texts/000001.txt": b"\xff\xfe\0"}),
    "a text with NUL": lambda parts: parts.update({"content/texts/000001.txt": b"a\0b"}),
    "a store that is missing": line("content/contents.jsonl", store=99),
    "a playbook of nobody": line("playbook/playbooks.jsonl", assistantId="\n"),
    "a question of no kind": line("ui/prompts.jsonl", question={"type": "essay"}),
}


@pytest.fixture
async def parts(house: House, tmp_path: Path) -> dict[str, bytes]:
    """What is in the archive of a full session."""
    await fill(house, "quokka")
    await house.madang.session_operations.export(house.call, tmp_path / "good.zip")
    with zipfile.ZipFile(tmp_path / "good.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


async def test_a_changed_archive_is_refused_and_nothing_of_it_stays(
    house: House, parts: dict[str, bytes], tmp_path: Path
) -> None:
    operations = house.madang.session_operations
    await operations.forget(house.session("nobody").call)  # writes what is queued
    kept = (await state(house), await all_rows(house.madang.database))
    for reason, change in CHANGES.items():
        changed = dict(parts)
        change(changed)
        file = tmp_path / "bad.zip"
        with zipfile.ZipFile(file, "w") as archive:
            for name, data in changed.items():
                archive.writestr(name, data)

        target = replace(house.call, session_id=SessionId("new"))
        is_refused = False
        try:
            await operations.import_(target, file)
        except MadangError:
            is_refused = True

        assert is_refused, reason
        assert await house.madang.sessions.get(house.session("new").call) is None, reason
        assert await state(house) == kept[0], reason
    rows = await all_rows(house.madang.database)
    assert {table for table, _ in (rows - kept[1]) + (kept[1] - rows)} <= {"notice", "account"}
    assert not (tmp_path / "out.txt").exists()


async def test_playbooks_of_an_archive_that_is_refused_are_not_added(
    house: House, parts: dict[str, bytes], tmp_path: Path
) -> None:
    CHANGES["a file that is missing"](parts)
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    async with open_house(tmp_path / "elsewhere", "disk") as other:
        with pytest.raises(MadangError):
            await other.madang.session_operations.import_(other.call, tmp_path / "bad.zip")

        assert (await other.asker.done("list_playbooks")).data["page"]["totalItems"] == 0


async def test_what_an_archive_says_of_unknown_services_is_left_out(
    house: House, parts: dict[str, bytes], tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "more.zip", "w") as archive:
        for name, data in (parts | {"browser/tabs.json": b"{}", "planning/unknown.json": b"{}"}).items():
            archive.writestr(name, data)

    imported = await house.madang.session_operations.import_(
        replace(house.call, session_id=None), tmp_path / "more.zip"
    )

    assert imported.state == "ready"


async def test_an_archive_has_neither_tokens_nor_the_address_of_the_database(
    house: House, parts: dict[str, bytes]
) -> None:
    address = house.madang.settings.database
    for name, data in parts.items():
        assert str(house.data_dir).encode() not in data, name
        assert not address or address.encode() not in data, name


async def state(house: House) -> dict[str, bytes]:
    return {name: data for name, data in all_files(house.data_dir).items() if not name.startswith("index/")}
