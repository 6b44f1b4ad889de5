"""What an agent can do with content: keep, list, read, search and delete it."""

from __future__ import annotations

import asyncio
import hashlib
import mimetypes
from dataclasses import dataclass

from madang.core.calls import Call
from madang.core.errors import InvalidArguments
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.services.content import views
from madang.services.content.domain import (
    UNTITLED_CONTENT,
    UNTITLED_STORE,
    ContentId,
    ContentMetadata,
    ContentText,
    FileUrl,
    Limits,
    LineRange,
    NewContent,
    Pagination,
    Passage,
    Query,
    Ranking,
    SearchOptions,
    StoreId,
    StoreKey,
    StoreMetadata,
    check_lines,
    check_text,
    line_count,
    no_content,
    preview,
    searched_text,
    shown_name,
    split_chunk_id,
    too_large,
)
from madang.services.content.engine import chunks, excerpts
from madang.services.content.engine.parsing import Parsed, Parser
from madang.services.content.engine.snippets import snippet
from madang.services.content.engine.sources import Source, fetch
from madang.services.content.store import ContentRows
from madang.storage.folders import Folders
from madang.storage.search.tokens import Tokenizer, has_words, highlight_terms

ADD_LIMIT_S = 120.0
"""25 MiB of Korean take half a minute, and several times that on a busy machine."""

HASH_INLINE_MAX_BYTES = 100_000
"""So many bytes are hashed in less time than the way to a thread and back takes."""

SPARE_HITS = 5
"""So many more are asked for once a hit was of a content that had been deleted a moment ago."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the tools work with."""

    rows: ContentRows
    ranking: Ranking
    parser: Parser
    tokenizer: Tokenizer
    limits: Limits
    folders: Folders | None
    ranks_by_rows: bool


class ContentTools:
    """The tools of the content service."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._rows = parts.rows
        self._ranking = parts.ranking

    @tool(effect="write")
    async def create_store(self, call: Call, metadata: StoreMetadata | None = None) -> ToolResult[views.StoreDetails]:
        """Make a store for texts and files that belong together, apart from the session's own store."""
        given = metadata or StoreMetadata()
        name = shown_name(given.name, UNTITLED_STORE)
        return views.store_created(await self._rows.create_store(call, name, given.description))

    @tool(effect="read")
    async def list_stores(self, call: Call) -> ToolResult[views.StoreList]:
        """List the content stores of this session with their ids."""
        return views.stores_listed(await self._rows.list_stores(call))

    @tool(effect="write", idempotent=True, time_limit_s=ADD_LIMIT_S)
    async def add_content(
        self,
        call: Call,
        content: ContentText | None = None,
        file_url: FileUrl | None = None,
        store_id: StoreId = "",
        metadata: ContentMetadata | None = None,
    ) -> ToolResult[views.ContentAdded]:
        """Keep a text (content) or a file (fileUrl) for searching and reading. Without storeId: the session's store."""
        given = metadata or ContentMetadata()
        source = await self._source(call, content, file_url)
        filename = shown_name(given.filename or source.filename, UNTITLED_CONTENT)
        mime_type = shown_name(given.mime_type, source.mime_type)
        sha256 = (
            _digest(source.data)
            if len(source.data) < HASH_INLINE_MAX_BYTES
            else await asyncio.to_thread(_digest, source.data)
        )
        store = await self._rows.find_store(call, store_id)
        there = await self._rows.find_duplicate(store, sha256) if store else None
        if store and there:
            await self._ranking.update(store)
            return views.content_added(store, there, is_duplicate=True)
        if content is not None:
            parsed = Parsed(content, mime_type or mimetypes.guess_type(filename)[0] or "text/plain", "utf-8")
        else:
            parsed = await self._parts.parser.parse(source.data, filename=filename, mime_type=mime_type)
        new = await asyncio.to_thread(self._prepared, parsed, filename, sha256, len(source.data))
        key, kept, is_duplicate = await self._rows.add(call, store_id, new)
        await self._ranking.update(key)
        return views.content_added(key, kept, is_duplicate=is_duplicate)

    @tool(effect="read")
    async def list_content(
        self, call: Call, store_id: StoreId = "", pagination: Pagination | None = None
    ) -> ToolResult[views.ContentList]:
        """List what is in a store: names, sizes, ids and the beginning of each text."""
        part = pagination or Pagination()
        store = await self._rows.find_store(call, store_id)
        if store is None:
            return views.contents_listed(None, [], 0, part.offset)
        contents, total = await self._rows.list_contents(store, part.offset, part.limit)
        return views.contents_listed(store, contents, total, part.offset)

    @tool(effect="read")
    async def read_content(
        self, call: Call, content_id: ContentId, store_id: StoreId = "", line_range: LineRange | None = None
    ) -> ToolResult[views.ContentRead]:
        """Read lines of a content, as many as fit; a chunk id in place of the content's reads that chunk."""
        id, number = split_chunk_id(content_id)
        content = await self._rows.get(call, store_id, id)
        if number is not None:
            chunk = await self._rows.chunk(call, content, number)
            if chunk is None:
                raise no_content(content_id)
            following = chunk.number + 1 if chunk.number < content.chunk_count else 0
            return views.content_read(
                content, chunk.text, chunk.from_line, chunk.to_line, asked_to=chunk.to_line, next_chunk=following
            )
        from_line, to_line = check_lines(line_range or LineRange(), content)
        found = await self._rows.chunks_of_lines(call, content, from_line, to_line, excerpts.MAX_EXCERPT_CHUNKS)
        if not found:
            raise no_content(content_id)  # deleted since we looked
        excerpt = excerpts.of_lines(found, from_line, to_line)
        return views.content_read(
            content, excerpt.text, excerpt.from_line, excerpt.to_line, asked_to=to_line, next_chunk=excerpt.next_chunk
        )

    @tool(effect="read")
    async def keyword_similarity_search(
        self, call: Call, query: Query, store_id: StoreId = "", options: SearchOptions | None = None
    ) -> ToolResult[views.SearchResults]:
        """Find the passages of a store that fit a question or some words best, in any language."""
        wanted = options or SearchOptions()
        store, is_behind = await self._rows.find_searched(call, store_id)
        if not has_words(query):
            raise InvalidArguments(
                say("query: holds no words to search for."),
                hint=say("Use words that the text may contain, for example the topic of the question."),
            )
        terms = await self._terms(query)
        # A Korean query may be of particles alone; they are in every text, so they are in no index.
        passages = await self._passages(store, terms, wanted, is_behind) if store and terms else []
        marks = highlight_terms(terms, query)
        return views.found(query, passages, [snippet(passage.chunk.text, marks) for passage in passages])

    @tool(effect="destroy")
    async def delete_content(
        self, call: Call, content_id: ContentId, store_id: StoreId = ""
    ) -> ToolResult[views.ContentDeleted]:
        """Delete a content from its store, for good."""
        store, content = await self._rows.delete_content(call, store_id, content_id)
        await self._ranking.update(store)
        return views.content_deleted(store, content)

    @tool(effect="destroy")
    async def delete_store(self, call: Call, store_id: ContentId) -> ToolResult[views.StoreDeleted]:
        """Delete a store with everything in it, for good."""
        store = await self._rows.delete_store(call, store_id)
        await self._ranking.drop(store.key)
        return views.store_deleted(store)

    async def _source(self, call: Call, content: str | None, file_url: str | None) -> Source:
        if (content is None) == (file_url is None):
            raise InvalidArguments(
                say("Give either 'content' (the text itself) or 'fileUrl' (where the file is)."),
                hint=say('For example: content: "Meeting notes: …", or fileUrl: "notes/today.md"'),
            )
        if file_url is not None:
            return await fetch(call, file_url, self._parts.folders, self._parts.limits.file_bytes)
        data = (content or "").encode()
        if len(data) > self._parts.limits.file_bytes:
            raise too_large(self._parts.limits.file_bytes)
        return Source(data, "", "")

    def _prepared(self, parsed: Parsed, filename: str, sha256: str, size: int) -> NewContent:
        text = parsed.text
        check_text(text)
        pieces = chunks.split(text)
        return NewContent(
            sha256=sha256,
            filename=filename,
            mime_type=parsed.mime_type,
            size=size,
            line_count=line_count(text),
            preview=preview(text),
            page_lines=parsed.page_lines,
            chunks=pieces,
            tokens=[
                self._parts.tokenizer.tokens(searched_text(filename, piece.number, piece.text))
                for piece in (pieces if self._parts.ranks_by_rows else ())
            ],
        )

    async def _terms(self, query: str) -> list[str]:
        # The first Hangul loads the dictionary, and a long query is work: neither belongs on the event loop.
        if len(query) < 200 and query.isascii():
            return self._parts.tokenizer.terms(query)
        return await asyncio.to_thread(self._parts.tokenizer.terms, query)

    async def _passages(
        self, store: StoreKey, terms: list[str], wanted: SearchOptions, is_behind: bool
    ) -> list[Passage]:
        passages: list[Passage] = []
        for spare in (0, SPARE_HITS):
            if is_behind:
                await self._ranking.update(store)
            hits = await self._ranking.rank(store, terms, wanted.top_n + spare)
            hits = [hit for hit in hits if hit.relevance >= wanted.threshold]
            passages, is_behind = await self._rows.passages(store, hits)
            if not is_behind and len(passages) == len(hits):
                break
        return passages[: wanted.top_n]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
