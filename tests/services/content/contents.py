"""The content service on each back end, and short ways to its tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from madang.core.calls import Call
from madang.core.results import ENVELOPE_FIELDS, Reply
from madang.database.port import Database
from madang.database.sqlite.database import SqliteDatabase
from madang.files.folders import Folders
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.services.content.domain.contents import Limits
from madang.services.content.service import ContentService
from tests.asking import CALL, Asker
from tests.postgresql import database_in

BACK_ENDS: dict[str, tuple[Callable[[Path], Database], bool]] = {
    "disk": (lambda folder: SqliteDatabase(folder / "madang.db"), True),
    "memory": (lambda _: SqliteDatabase(None), False),
    "server": (database_in, False),
}
"""How each makes its database, and whether it has indexes in a folder."""

EMBEDDED = ("disk", "memory")


@asynccontextmanager
async def open_content(
    folder: Path, kind: str = "disk", *, folders: Folders | None = None, limits: Limits | None = None, call: Call = CALL
) -> AsyncIterator[Asker]:
    """Open the content service alone."""
    make, has_folder = BACK_ENDS[kind]
    database = make(folder)
    provider = Provider(AuditLog(database))
    provider.register(ContentService(database, folder / "index" if has_folder else None, folders, limits))
    try:
        yield Asker(provider, database, call)
    finally:
        await provider.close()
        await database.close()


async def add(asker: Asker, text: str, name: str = "", **arguments: Any) -> str:
    """Add a text and return its id."""
    metadata = {"metadata": {"filename": name}} if name else {}
    reply = await asker.done("add_content", content=text, **metadata, **arguments)
    return str(reply.data["contentId"])


async def search(asker: Asker, query: str, top_n: int = 50, **arguments: Any) -> list[str]:
    """Return the ids of the contents that are found, each once, best first."""
    reply = await asker.done("keyword_similarity_search", query=query, options={"topN": top_n}, **arguments)
    return list(dict.fromkeys(result["contentId"] for result in reply.data["results"]))


def facts(reply: Reply) -> dict[str, Any]:
    """Return the data of the tool itself, without what the renderer adds."""
    return {name: value for name, value in reply.data.items() if name not in ENVELOPE_FIELDS}
