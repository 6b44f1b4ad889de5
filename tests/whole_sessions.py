"""Sessions with something of every tool in them, and everything that a Madang keeps, to find what is left of one."""

from __future__ import annotations

import json
import re
import zipfile
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from madang.app import Madang, open_madang
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.database.port import Database, Transaction
from madang.files.folders import Folders
from madang.records.events import EventLog, NewEvent
from madang.settings import Settings
from tests.asking import Asker
from tests.postgresql import url_in
from tests.promises import PROMISED, PROMISES, prepare
from tests.stores.catalogue import tables

ASSISTANT = AssistantId("test-agent")
ONE_AT_A_TIME = 3
"""Of a tool's texts, how many are marked, each in a call of its own."""

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class House:
    """An open Madang, where everything of it lies, and one who asks its tools."""

    madang: Madang
    data_dir: Path
    asker: Asker

    def session(self, name: str) -> House:
        """Return the same house, for one who asks in another session."""
        return replace(self, asker=self.asker.with_call(session_id=SessionId(name)))

    @property
    def call(self) -> Call:
        return self.asker.call


@asynccontextmanager
async def open_house(
    folder: Path, back_end: str, session: str = "victim", database: str | None = None
) -> AsyncIterator[House]:
    """Open a Madang in a folder, with a file or a server as its database: the tests' own, unless it is given."""
    allowed = folder / "allowed"
    allowed.mkdir(parents=True, exist_ok=True)
    data_dir = folder / "data"
    if database is None:
        database = url_in(folder) if back_end == "server" else ""
    settings = Settings(data_dir=data_dir, allow_folders=(allowed.resolve(),), database=database)
    async with open_madang(settings) as madang:
        call = Call(assistant_id=ASSISTANT, session_id=SessionId(session))
        folders = Folders(data_dir / "workspaces", [allowed.resolve()])
        await EventLog(madang.database).open()
        yield House(madang, data_dir, Asker(madang.provider, madang.database, call, folders))


async def fill(house: House, mark: str) -> None:
    """Use every tool in a session, with `mark` in each text that a tool takes, and leave something of each service."""
    asker = house.asker
    for name in PROMISED:
        arguments = await prepare(asker, name)
        for marked in list(marked_arguments(arguments, mark))[:ONE_AT_A_TIME]:
            await asker.ask(name, **marked)  # it may be refused: an id with a mark is none
        await asker.ask(name, **arguments)
    for promises in PROMISES.values():
        await promises.prepare(asker)
    await asker.done("add_observation", observation=mark)
    await asker.done("write_file", path=f"{mark}/{mark}.txt", content=f"{mark}\n")
    await asker.done("export_file", path=f"{mark}/{mark}.txt", displayName=mark)
    await asker.done("add_content", content=f"{mark} {mark}", metadata={"filename": f"{mark}.txt"})
    await asker.done("prompt_user", prompt=mark, type="text")
    await asker.done("show_playbooks")
    await EventLog(house.madang.database).append(
        asker.call, NewEvent("SAID", {"text": mark}), NewEvent("DONE", {"session": asker.call.session})
    )


def marked_arguments(arguments: dict[str, Any], mark: str) -> Iterator[dict[str, Any]]:
    """Yield the arguments with the mark at the end of one of their texts, for each text."""
    for path in _texts(arguments):
        changed = json.loads(json.dumps(arguments))
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = f"{inner[path[-1]]} {mark}"
        yield changed


def _texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(inner, (*path, key))


async def all_rows(database: Database) -> Counter[tuple[str, str]]:
    """Return every row of every table, as text."""
    names = await tables(database)

    async def work(tx: Transaction) -> Counter[tuple[str, str]]:
        rows: Counter[tuple[str, str]] = Counter()
        for name in names:
            text = f'CAST("{name}" AS text)' if database.dialect == "postgresql" else "*"
            rows.update((name, repr(row)) for row in await tx.all(f'SELECT {text} FROM "{name}"'))
        return rows

    return await database.read(work, user_id=Call().user_id)


def all_files(data_dir: Path) -> dict[str, bytes]:
    """Return every file and folder but the database's own, which keeps deleted bytes until it reuses their pages."""
    return {
        path.relative_to(data_dir).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in sorted(data_dir.rglob("*"))
        if not path.name.startswith("madang.db")
    }


async def exported(house: House, file: Path) -> dict[str, Any]:
    """Return what an export of the session says, with ids numbered in the order in which they appear."""
    await house.madang.session_operations.export(house.call, file)
    return contents_of(file)


def contents_of(file: Path) -> dict[str, Any]:
    """Return what is in an archive: lists as lists, ids by number, and without the session's own name."""
    numbers: dict[str, str] = {}

    def numbered(text: str) -> str:
        return _UUID.sub(lambda match: numbers.setdefault(match[0], f"#{len(numbers)}"), text)

    parts: dict[str, Any] = {}
    with zipfile.ZipFile(file) as archive:
        for name in sorted(archive.namelist()):
            data = archive.read(name)
            if name.endswith(".jsonl") and name.count("/") < 2:
                parts[name] = [json.loads(numbered(line)) for line in data.decode().splitlines()]
            elif name.endswith(".json"):
                parts[name] = {key: value for key, value in json.loads(data).items() if key != "id"}
            else:
                parts[name] = data
    return parts


def without_moments(parts: dict[str, Any]) -> dict[str, Any]:
    """Return contents without the moments of the export itself: when it was made, and when it withdrew what is open."""
    for name in ("ui/prompts.jsonl", "playbook/choices.jsonl"):
        for item in parts.get(name, []):
            pause = item.get("pause", item)
            if pause["status"] == "withdrawn":
                pause["settledAt"] = ""
    parts["session.json"].pop("lastAt")
    return parts
