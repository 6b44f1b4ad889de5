"""How stores use the database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from madang.core.errors import NotFound
from madang.services.content.domain.contents import Chunk, Limits, NewContent
from madang.services.content.store import ContentStore
from madang.text.search.queries import Tokens
from tests.asking import CALL
from tests.services.content.contents import BACK_ENDS

NEW = NewContent("hash", "a.txt", "text/plain", 1, 1, "a", (), [Chunk(1, 1, 1, "a")], [Tokens(["a"], [])])


class RecordingDatabase:
    """A database that notes which kinds of access it was asked for."""

    def __init__(self, database: Any) -> None:
        self._database = database
        self.accesses: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name in ("find", "read", "write"):
            self.accesses.append(name)
        return getattr(self._database, name)


@pytest.mark.parametrize("kind", BACK_ENDS)
async def test_a_content_is_looked_up_and_deleted_in_one_transaction(tmp_path: Path, kind: str) -> None:
    database = RecordingDatabase(BACK_ENDS[kind][0](tmp_path))
    contents = ContentStore(database, Limits())
    await contents.open()
    try:
        store, content, *_ = await contents.add(CALL, "", NEW)
        database.accesses.clear()

        deleted = await contents.delete_content(CALL, store.id, content.id)
        assert (deleted, database.accesses) == ((store, content), ["write"])

        with pytest.raises(NotFound, match="Content"):
            await contents.delete_content(CALL, store.id, content.id)
        with pytest.raises(NotFound, match="Store"):
            await contents.delete_content(CALL, "none", content.id)
    finally:
        await database.close()
