"""Stores, contents and passages as results, and the errors of the tools' arguments. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import ConfigDict

from madang.core.documents import DOCUMENT_CONFIG, Document
from madang.core.errors import InvalidArguments
from madang.core.phrases import Block, Line, Phrase, Rows, Text, say
from madang.core.results import ToolResult
from madang.core.texts import one_line
from madang.services.content.domain import (
    AddedContent,
    Content,
    ContentExcerpt,
    SearchMatch,
    Store,
    StoreKey,
    chunk_id,
)

MAX_SHOWN_CHARS = 200
"""Of a query or a description within a text; the data has it whole."""


class StoreDetails(Document):
    store_id: str
    name: str
    description: str
    is_default: bool
    content_count: int
    created_at: str


class StoreList(Document):
    stores: list[StoreDetails]
    total: int


class ContentSummary(Document):
    content_id: str
    filename: str
    mime_type: str
    size: int
    line_count: int
    chunk_count: int
    preview: str
    uploaded_at: str


class ContentAdded(ContentSummary):
    store_id: str
    duplicate: bool


class ContentList(Document):
    store_id: str
    contents: list[ContentSummary]
    total: int
    has_more: bool


class ContentRead(Document):
    content_id: str
    content: str
    line_range: list[int]
    total_lines: int


@dataclass(slots=True)
class SearchResult:
    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT_CONFIG

    content_id: str
    chunk_id: str
    filename: str
    score: float
    relevance_type: str
    context: str
    line_range: list[int]


class SearchResults(Document):
    query: str
    results: list[SearchResult]


class ContentDeleted(Document):
    success: bool
    store_id: str
    content_id: str


class StoreDeleted(Document):
    success: bool
    store_id: str
    deleted_contents: int


def store_created(store: Store) -> ToolResult[StoreDetails]:
    text: Text = [
        say('Created store "{name}".', name=store.name),
        say("Store ID: {id}", id=store.key.id),
        say("Description: {description}", description=store.description or "-"),
        "",
        say("Note: Use 'add_content' with storeId {id} to put texts and files into it.", id=store.key.id),
    ]
    return ToolResult(text, _store(store))


def stores_listed(stores: Sequence[Store]) -> ToolResult[StoreList]:
    data = StoreList.model_construct(stores=[_store(store) for store in stores], total=len(stores))
    if not stores:
        return ToolResult(
            [
                say("This session has no stores yet."),
                say("Note: Use 'add_content' to add to the session's own store, or 'create_store' to make another."),
            ],
            data,
        )
    rows = [_store_row(number, store) for number, store in enumerate(stores, start=1)]
    text: Text = [
        say("Found {total} store(s) in this session.", total=len(stores)),
        "",
        Rows(rows, say("… {left_out} more: they are in the structured result.")),
        "",
        say("Note: Use 'list_content' with a storeId to see what is in a store."),
    ]
    return ToolResult(text, data)


def text_or_file_required() -> InvalidArguments:
    return InvalidArguments(
        say("Give either 'content' (the text itself) or 'fileUrl' (where the file is)."),
        hint=say('For example: content: "Meeting notes: …", or fileUrl: "notes/today.md"'),
    )


def content_added(added: AddedContent) -> ToolResult[ContentAdded]:
    store, content, is_duplicate = added
    first = say('Added "{name}" to store {store}.', name=content.filename, store=store.id)
    if is_duplicate:
        first = say(
            'The same file is already in store {store}, as "{name}". Nothing was added.',
            name=content.filename,
            store=store.id,
        )
    text: Text = [
        first,
        say("Content ID: {id}", id=content.id),
        say(
            "Type: {type} | Size: {size} | Lines: {lines} | Chunks: {chunks}",
            type=content.mime_type,
            size=_size_text(content.size),
            lines=content.line_count,
            chunks=content.chunk_count,
        ),
        say("Uploaded: {at}", at=content.uploaded_at),
        say("Preview: {preview}", preview=content.preview),
        "",
        say("Note: Use 'keyword_similarity_search' to find passages, or 'read_content' to read lines."),
    ]
    data = ContentAdded.model_construct(**_summary_fields(content), store_id=store.id, duplicate=is_duplicate)
    return ToolResult(text, data)


def contents_listed(
    store: StoreKey | None, contents: Sequence[Content], total: int, offset: int
) -> ToolResult[ContentList]:
    has_more = offset + len(contents) < total
    data = ContentList.model_construct(
        store_id=store.id if store else "",
        contents=[ContentSummary.model_construct(**_summary_fields(content)) for content in contents],
        total=total,
        has_more=has_more,
    )
    if store is None:
        return ToolResult(
            [
                say("No files found: nothing was added to the session's own store yet."),
                say("Note: Use 'add_content' to add a text or a file, or 'list_stores' to see other stores."),
            ],
            data,
        )
    if not contents:
        first = say("No files found in store {store}.", store=store.id)
        if total:
            first = say(
                "No files found in store {store} from offset {offset} on: it holds {total}.",
                store=store.id,
                offset=offset,
                total=total,
            )
        return ToolResult([first, say("Note: Use 'add_content' to add a text or a file.")], data)
    rows = [_content_row(number, content) for number, content in enumerate(contents, start=offset + 1)]
    text: list[Line | Rows] = [
        say(
            "Found {total} file(s) in store {store}. Showing {first}–{last}:",
            total=total,
            store=store.id,
            first=offset + 1,
            last=offset + len(contents),
        ),
        "",
        Rows(
            rows,
            say("… {left_out} more of these. Use 'list_content' with pagination limit {shown} to read part by part."),
        ),
        "",
    ]
    if has_more:
        text.append(
            say(
                "{count} more: use 'list_content' with pagination offset {offset}.",
                count=total - offset - len(contents),
                offset=offset + len(contents),
            )
        )
    text.append(say("Note: Use 'read_content' with a contentId to read, or 'keyword_similarity_search' to search."))
    return ToolResult(text, data)


def content_read(read: ContentExcerpt) -> ToolResult[ContentRead]:
    content, (text, from_line, to_line, next_chunk), last_line = read
    pages = content.pages(from_line, to_line)
    where = say("lines {first}–{last} of {total}", first=from_line, last=to_line, total=content.line_count)
    if pages:
        where = say("{where}, pages {first}–{last}", where=where, first=pages[0], last=pages[1])
    lines: list[Line | Rows] = [
        say('"{name}" (content ID: {id}), {where}:', name=content.filename, id=content.id, where=where),
        "",
        Block(text.removesuffix("\n")),
        "",
    ]
    if next_chunk:
        lines.append(
            say(
                "The text goes on: use 'read_content' with contentId {id} to read on.",
                id=chunk_id(content.id, next_chunk),
            )
        )
    elif to_line < last_line:
        lines.append(
            say(
                "{count} more line(s): use 'read_content' with contentId {id} and lineRange fromLine {next}.",
                count=last_line - to_line,
                id=content.id,
                next=to_line + 1,
            )
        )
    else:
        lines.append(say("Note: Use 'keyword_similarity_search' to find passages."))
    data = ContentRead.model_construct(
        content_id=content.id, content=text, line_range=[from_line, to_line], total_lines=content.line_count
    )
    return ToolResult(lines, data)


def query_without_words() -> InvalidArguments:
    return InvalidArguments(
        say("query: holds no words to search for."),
        hint=say("Use words that the text may contain, for example the topic of the question."),
    )


def passages_found(query: str, matches: Sequence[SearchMatch]) -> ToolResult[SearchResults]:
    results = [
        SearchResult(
            content_id=passage.content_id,
            chunk_id=chunk_id(passage.content_id, passage.chunk.number),
            filename=passage.filename,
            score=round(passage.relevance, 4),
            relevance_type="keyword",
            context=snippet,
            line_range=[passage.chunk.from_line, passage.chunk.to_line],
        )
        for passage, snippet in matches
    ]
    data = SearchResults.model_construct(query=query, results=results)
    short_query = one_line(query, MAX_SHOWN_CHARS)
    if not results:
        return ToolResult(
            [
                say('No passages found for "{query}".', query=short_query),
                say("Note: Try other words or a lower threshold, or use 'list_content' to see what there is."),
            ],
            data,
        )
    text: Text = [
        say('Found {count} passage(s) for "{query}", the most relevant first:', count=len(results), query=short_query),
        "",
        Rows(
            [_result_row(number, result) for number, result in enumerate(results, start=1)],
            say(
                "… {left_out} more: they are in the structured result. To read them here, ask more precisely, or for "
                "parts of the question with 'keyword_similarity_search'."
            ),
        ),
        "",
        say("Note: Use 'read_content' with a contentId and lineRange, or with a Chunk ID as contentId, to read more."),
    ]
    return ToolResult(text, data)


def content_deleted(store: StoreKey, content: Content) -> ToolResult[ContentDeleted]:
    text: Text = [
        say('Deleted "{name}" from store {store}.', name=content.filename, store=store.id),
        say("Content ID: {id}", id=content.id),
        "",
        say("It can no longer be read or found. Use 'list_content' to see what remains."),
    ]
    return ToolResult(text, ContentDeleted(success=True, store_id=store.id, content_id=content.id))


def store_deleted(store: Store) -> ToolResult[StoreDeleted]:
    text: Text = [
        say('Deleted store "{name}" with {count} content(s).', name=store.name, count=store.contents),
        say("Store ID: {id}", id=store.key.id),
        "",
        say("Nothing of it can be read or found any more. Use 'list_stores' to see what remains."),
    ]
    return ToolResult(text, StoreDeleted(success=True, store_id=store.key.id, deleted_contents=store.contents))


def _store(store: Store) -> StoreDetails:
    return StoreDetails.model_construct(
        store_id=store.key.id,
        name=store.name,
        description=store.description,
        is_default=store.is_own,
        content_count=store.contents,
        created_at=store.created_at,
    )


def _summary_fields(content: Content) -> dict[str, Any]:
    return {
        "content_id": content.id,
        "filename": content.filename,
        "mime_type": content.mime_type,
        "size": content.size,
        "line_count": content.line_count,
        "chunk_count": content.chunk_count,
        "preview": content.preview,
        "uploaded_at": content.uploaded_at,
    }


def _store_row(number: int, store: Store) -> Phrase:
    row = say(
        "{number}. {name} ({count} content(s))\n   Store ID: {id} | Created: {at}",
        number=number,
        name=store.name,
        count=store.contents,
        id=store.key.id,
        at=store.created_at,
    )
    if store.is_own:
        row = say("{row}\n   The session's own: used when storeId is left out", row=row)
    if store.description:
        row = say(
            "{row}\n   Description: {description}", row=row, description=one_line(store.description, MAX_SHOWN_CHARS)
        )
    return row


def _content_row(number: int, content: Content) -> Phrase:
    return say(
        "{number}. {name} ({size}, {lines} lines)\n   Type: {type} | ID: {id}\n   Uploaded: {at}\n"
        "   Preview: {preview}",
        number=number,
        name=content.filename,
        size=_size_text(content.size),
        lines=content.line_count,
        type=content.mime_type,
        id=content.id,
        at=content.uploaded_at,
        preview=content.preview,
    )


def _result_row(number: int, result: SearchResult) -> Phrase:
    return say(
        "{number}. {name}:{first}-{last} (relevance: {score})\n   Match Type: {type}\n   Context: {context}\n"
        "   Content ID: {content} | Chunk ID: {chunk}",
        number=number,
        name=result.filename,
        first=result.line_range[0],
        last=result.line_range[1],
        score=f"{result.score:.2f}",
        type=result.relevance_type,
        context=result.context,
        content=result.content_id,
        chunk=result.chunk_id,
    )


def _size_text(size: int) -> str:
    return f"{size / 1024:.1f}KB"
