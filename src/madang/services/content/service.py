"""The content service, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from madang.core.calls import Call
from madang.core.phrases import say
from madang.core.service import ServiceContext, ServiceMetadata
from madang.core.tools import tools_of
from madang.services.content.context import content_context
from madang.services.content.domain import Limits, Ranking
from madang.services.content.engine.parsing import Parser
from madang.services.content.engine.ranking import IndexRanking
from madang.services.content.store import ContentRows, ServerRanking, content_topic
from madang.services.content.tools import ContentTools, Parts
from madang.storage.database import Database
from madang.storage.folders import Folders
from madang.storage.search.tokens import Tokenizer


class ContentService:
    """Keeps the texts and files of each session, and finds passages in them.

    `index_dir` is where an embedded database's search indexes are; without it they are in memory, made anew at each
    start.
    """

    metadata = ServiceMetadata(
        name="content",
        title=say("Content"),
        description=say("Texts and files that a session keeps, reads by lines and searches."),
        version="1",
        instructions="add_content keeps texts and documents, and keyword_similarity_search finds passages in them.",
        needs_posix=True,
    )

    def __init__(
        self, database: Database, index_dir: Path | None, folders: Folders | None = None, limits: Limits | None = None
    ) -> None:
        self._database = database
        self._rows = ContentRows(database, limits or Limits())
        self._parser = Parser()
        tokenizer = Tokenizer()
        self._ranking: Ranking = (
            ServerRanking(database) if database.ranks_text else IndexRanking(index_dir, self._rows, tokenizer)
        )
        parts = Parts(
            rows=self._rows,
            ranking=self._ranking,
            parser=self._parser,
            tokenizer=tokenizer,
            limits=limits or Limits(),
            folders=folders,
            ranks_by_rows=database.ranks_text,
        )
        self.tools = tools_of(ContentTools(parts))

    async def load(self) -> None:
        await self._rows.open()
        await self._ranking.open()

    async def unload(self) -> None:
        """Close the indexes and the parser; the database belongs to whoever opened it."""
        await self._ranking.close()
        await self._parser.close()

    async def get_service_context(self, call: Call) -> ServiceContext:
        return await content_context(self._rows, call)

    def changes(self, call: Call) -> AsyncIterator[object]:
        return self._database.changes(content_topic(call))
