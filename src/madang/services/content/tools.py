"""What an agent can do with content: add, list, read, search and delete it."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.core.uploads import UPLOAD_LIMIT_S
from madang.services.content.domain.arguments import (
    ContentId,
    ContentMetadata,
    ContentText,
    FileUrl,
    JobId,
    LineRange,
    Pagination,
    SearchOptions,
    SearchQuery,
    StoreId,
    StoreMetadata,
    check_inline,
)
from madang.services.content.domain.contents import UNTITLED_STORE, normalized_name
from madang.services.content.domain.jobs import JobPlace
from madang.services.content.engine.jobs import Jobs
from madang.services.content.engine.reading import ContentReader
from madang.services.content.engine.searching import PassageSearch
from madang.services.content.engine.writing import ContentWriter
from madang.services.content.store import ContentStore
from madang.services.content.views import contents as views
from madang.services.content.views import stores
from madang.text.search.tokens import has_words


class ContentTools:
    """The tools of the content service."""

    def __init__(
        self, contents: ContentStore, writer: ContentWriter, reader: ContentReader, search: PassageSearch, jobs: Jobs
    ) -> None:
        self._contents = contents
        self._writer = writer
        self._reader = reader
        self._search = search
        self._jobs = jobs

    @tool(effect="write", restorable=True, once_per_operation=True, trusted=True)
    async def create_store(self, call: Call, metadata: StoreMetadata | None = None) -> ToolResult[stores.StoreDetails]:
        """Make a store for texts and files that belong together, beside the session's own."""
        metadata = metadata or StoreMetadata()
        name = normalized_name(metadata.name, UNTITLED_STORE)
        return stores.store_created(await self._contents.create_store(call, name, metadata.description))

    @tool(effect="read")
    async def list_stores(self, call: Call) -> ToolResult[stores.StoreList]:
        """List the content stores of this session with their ids."""
        return stores.stores_listed(await self._contents.list_stores(call))

    @tool(
        effect="write",
        restorable=True,
        idempotent=True,
        once_per_operation=True,
        either=("content", "file_url"),
        time_limit_s=UPLOAD_LIMIT_S,
        paths={"file_url": "source"},
    )
    async def add_content(
        self,
        call: Call,
        content: ContentText | None = None,
        file_url: FileUrl | None = None,
        store_id: StoreId = "",
        metadata: ContentMetadata | None = None,
    ) -> ToolResult[views.ContentAdded]:
        """Keep a text (content) or a file (fileUrl) for searching and reading. Without storeId: the session's store."""
        check_inline(content, file_url)
        metadata = metadata or ContentMetadata()
        if content is not None and file_url is None:
            return views.text_added(await self._writer.add_text(call, content, store_id, metadata))
        if file_url is not None and content is None:
            return views.content_added(await self._writer.add_file(call, file_url, store_id, metadata))
        raise views.text_or_file_required()

    @tool(effect="read")
    async def list_content(
        self, call: Call, store_id: StoreId = "", pagination: Pagination | None = None
    ) -> ToolResult[views.ContentList]:
        """List what is in a store: names, sizes, ids and the beginning of each text."""
        pagination = pagination or Pagination()
        store = await self._contents.find_store(call, store_id)
        if store is None:
            return views.contents_listed(None, [], 0, pagination.offset)
        contents, total = await self._contents.list_contents(store, pagination.offset, pagination.limit)
        return views.contents_listed(store, contents, total, pagination.offset)

    @tool(effect="read")
    async def read_content(
        self, call: Call, content_id: ContentId, store_id: StoreId = "", line_range: LineRange | None = None
    ) -> ToolResult[views.ContentRead]:
        """Read lines of a content, as many as fit; a chunk id in place of the content's reads that chunk."""
        return views.content_read(await self._reader.read(call, store_id, content_id, line_range or LineRange()))

    @tool(effect="read")
    async def keyword_similarity_search(
        self, call: Call, query: SearchQuery, store_id: StoreId = "", options: SearchOptions | None = None
    ) -> ToolResult[views.SearchResults]:
        """Find the passages of a store that fit a question or some words best, in any language."""
        if not has_words(query):
            raise views.query_without_words()
        matches = await self._search.search(call, store_id, query, options or SearchOptions())
        return views.passages_found(query, matches)

    @tool(effect="destroy", restorable=True, once_per_operation=True)
    async def delete_content(
        self, call: Call, content_id: ContentId, store_id: StoreId = ""
    ) -> ToolResult[views.ContentDeleted]:
        """Delete a content from its store."""
        return views.content_deleted(*await self._writer.delete_content(call, store_id, content_id))

    @tool(effect="write", restorable=True, audience="panel", idempotent=True, once_per_operation=True)
    async def restore_content(self, call: Call, content_id: ContentId) -> ToolResult[views.ContentRestored]:
        """Take back a delete_content."""
        return views.content_restored(await self._writer.restore_content(call, content_id))

    @tool(effect="write", audience="panel", idempotent=True)
    async def stop_adding(self, call: Call, job_id: JobId) -> ToolResult[views.AddingStopped]:
        """Stop the reading of a file that is being added, or put one that failed out of sight."""
        return views.adding_stopped(self._jobs.stop(JobPlace.of_session(call), job_id))

    @tool(effect="destroy", restorable=True, once_per_operation=True)
    async def delete_store(self, call: Call, store_id: ContentId) -> ToolResult[stores.StoreDeleted]:
        """Delete a store with everything in it. For 30 days the person can take it back."""
        return stores.store_deleted(await self._writer.delete_store(call, store_id))
