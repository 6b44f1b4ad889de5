"""Contents and passages as results, and the errors of the tools' arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pydantic import ConfigDict

from madang.core.documents import DOCUMENT_CONFIG, Document
from madang.core.errors import InvalidArguments
from madang.core.phrases import Block, Phrase, Rows, Text, say
from madang.core.results import ToolResult
from madang.core.texts import one_line
from madang.core.trust import Origin
from madang.services.content.domain.contents import (
    DELETED_DAYS,
    AddedContent,
    Content,
    ContentExcerpt,
    StoreKey,
    chunk_id,
)
from madang.services.content.domain.jobs import Job
from madang.services.content.domain.search import SearchMatches

MAX_QUERY_IN_TEXT_CHARS = 200
"""Of a query within a text; the data has it whole."""


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


class AddingStopped(Document):
    success: bool


class ContentRestored(Document):
    success: bool
    store_id: str
    content_id: str


def text_or_file_required() -> InvalidArguments:
    return InvalidArguments(
        say("Give either 'content' (the text itself) or 'fileUrl' (where the file is)."),
        hint=say('For example: content: "Meeting notes: …", or fileUrl: "notes/today.md"'),
    )


_INDEX_LAGS = say("The search index is still being written: a search may not find everything yet.")
_INDEX_UNWRITABLE = say(
    "The search index cannot be written, so a search may not find the last changes: look for free space in the data "
    "folder."
)


def text_added(added: AddedContent) -> ToolResult[ContentAdded]:
    """Return what was added of a text that the call itself brought: all that is said of it is its own."""
    return replace(content_added(added), origins=None if added.is_duplicate else ())


def content_added(added: AddedContent) -> ToolResult[ContentAdded]:
    store, content, is_duplicate = added
    data = ContentAdded.model_construct(**_summary_fields(content), store_id=store.id, duplicate=is_duplicate)
    note = say("Note: Use 'keyword_similarity_search' to find passages, or 'read_content' to read lines.")
    if is_duplicate:
        summary = say(
            'The same file is already in store {store}, as "{name}". Nothing was added.',
            name=content.filename,
            store=store.id,
        )
        return ToolResult([summary, say("Content ID: {id}", id=content.id)], data, next=[note])
    text: Text = [
        say('Added "{name}" to store {store}.', name=content.filename, store=store.id),
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
    ]
    return ToolResult(text, data, next=[note])


def contents_listed(
    store: StoreKey | None, contents: Sequence[Content], total: int, offset: int
) -> ToolResult[ContentList]:
    data = ContentList.model_construct(
        store_id=store.id if store else "",
        contents=[ContentSummary.model_construct(**_summary_fields(content)) for content in contents],
        total=total,
        has_more=offset + len(contents) < total,
    )
    if store is None:
        return ToolResult(
            [say("No files found: nothing was added to the session's own store yet.")],
            data,
            next=[say("Note: Use 'add_content' to add a text or a file, or 'list_stores' to see other stores.")],
            origins=(),
        )
    if not total:
        empty = say("No files found in store {store}.", store=store.id)
        note = say("Note: Use 'add_content' to add a text or a file.")
        return ToolResult([empty], data, next=[note], origins=())
    if not contents:
        past_end = say(
            "No files found in store {store} from offset {offset} on: it holds {total}.",
            store=store.id,
            offset=offset,
            total=total,
        )
        note = say("Note: Call 'list_content' with a pagination offset from 0 to {last}.", last=total - 1)
        return ToolResult([past_end], data, next=[note])
    rows = [_content_row(number, content) for number, content in enumerate(contents, start=offset + 1)]
    text: Text = [
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
            say("… {left_out} more: 'list_content' with storeId {store}, pagination offset {next}.", store=store.id),
            offset=offset,
            total=total,
        ),
    ]
    note = say("Note: Use 'read_content' with a contentId to read, or 'keyword_similarity_search' to search.")
    return ToolResult(text, data, next=[note])


def content_read(read: ContentExcerpt) -> ToolResult[ContentRead]:
    content, (text, from_line, to_line, _) = read.content, read.excerpt
    about = say('"{name}" (content ID: {id})', name=content.filename, id=content.id)
    pages = content.pages(from_line, to_line)
    if pages:
        about = say("{about}, pages {first}–{last}", about=about, first=pages[0], last=pages[1])
    if read.is_whole:
        heading = say("{about}, the whole text, {total} line(s):", about=about, total=content.line_count)
    else:
        heading = say(
            "{about}: only lines {first} to {last} are shown here, the whole has {total} lines:",
            about=about,
            first=from_line,
            last=to_line,
            total=content.line_count,
        )
    if not read.is_whole and from_line == to_line:
        heading = say(
            "{about}: only line {line} is shown here, the whole has {total} {total|line|lines}:",
            about=about,
            line=from_line,
            total=content.line_count,
        )
    data = ContentRead.model_construct(
        content_id=content.id, content=text, line_range=[from_line, to_line], total_lines=content.line_count
    )
    body = Block(text.removesuffix("\n"))
    origins = (Origin("content", read.content.filename),)
    return ToolResult([heading, "", body], data, next=[_reading_on(read)], origins=origins)


def _reading_on(read: ContentExcerpt) -> Phrase:
    """Return the call that reads what comes after an excerpt."""
    content, (_, _, to_line, next_chunk), last_line, _ = read
    if next_chunk:
        return say(
            "Not the whole text. It goes on: 'read_content' with contentId {id}.", id=chunk_id(content.id, next_chunk)
        )
    if to_line < last_line < content.line_count:
        return say(
            "Not all of these. {count} more line(s): 'read_content' with contentId {id}, lineRange fromLine {next}, "
            "toLine {last}.",
            count=last_line - to_line,
            id=content.id,
            next=to_line + 1,
            last=last_line,
        )
    if to_line < content.line_count:
        return say(
            "Not the whole text. {count} more line(s) after these: 'read_content' with contentId {id}, lineRange "
            "fromLine {next}.",
            count=content.line_count - to_line,
            id=content.id,
            next=to_line + 1,
        )
    return say("Note: Use 'keyword_similarity_search' to find passages.")


def query_without_words() -> InvalidArguments:
    return InvalidArguments(
        say("query: holds no words to search for."),
        hint=say("Use words that the text may contain, for example the topic of the question."),
    )


def passages_found(query: str, matches: SearchMatches) -> ToolResult[SearchResults]:
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
        for passage, snippet in matches.items
    ]
    lag = [] if matches.is_current else [_INDEX_LAGS if matches.is_index_writable else _INDEX_UNWRITABLE]
    data = SearchResults.model_construct(query=query, results=results)
    short_query = one_line(query, MAX_QUERY_IN_TEXT_CHARS)
    if not results:
        return ToolResult(
            [say('No passages found for "{query}".', query=short_query)],
            data,
            next=[*lag, say("Note: Try other words or a lower threshold, or use 'list_content' to see what there is.")],
        )
    text: Text = [
        say('Found {count} passage(s) for "{query}", the most relevant first:', count=len(results), query=short_query),
        "",
        Rows(
            [_result_row(number, result) for number, result in enumerate(results, start=1)],
            say(
                "… {left_out} less relevant passage(s) do not fit here: to read them, call 'keyword_similarity_search' "
                "with a part of the question."
            ),
        ),
    ]
    note = say(
        "Note: Use 'read_content' with a contentId and lineRange, or with a Chunk ID as contentId, to read more."
    )
    return ToolResult(text, data, next=[*lag, note])


def content_deleted(store: StoreKey, content: Content) -> ToolResult[ContentDeleted]:
    note = say(
        "It can no longer be read or found. Use 'list_content' to see what remains. For {days} days the person can "
        "take it back in Madang's chat.",
        days=DELETED_DAYS,
    )
    return ToolResult(_deletion(store, content), _deleted(store, content), next=[note])


def _deletion(store: StoreKey, content: Content) -> Text:
    return [
        say('Deleted "{name}" from store {store}.', name=content.filename, store=store.id),
        say("Content ID: {id}", id=content.id),
    ]


def _deleted(store: StoreKey, content: Content) -> ContentDeleted:
    return ContentDeleted(success=True, store_id=store.id, content_id=content.id)


def adding_stopped(job: Job | None) -> ToolResult[AddingStopped]:
    if job is None:
        return ToolResult([say("Nothing is being read under this id.")], AddingStopped(success=False))
    text = (
        say("The person has stopped the reading of '{name}'. Nothing of it was kept.", name=job.name)
        if job.is_stopped
        else say("'{name}' could not be read, and is out of sight now.", name=job.name)
    )
    return ToolResult([text], AddingStopped(success=True))


def content_restored(restored: AddedContent) -> ToolResult[ContentRestored]:
    store, content = restored.store, restored.content
    text: Text = [
        say('"{name}" is in store {store} again.', name=content.filename, store=store.id),
        say("Content ID: {id}", id=content.id),
    ]
    note = say("Note: Use 'read_content' with its contentId to read it.")
    return ToolResult(text, ContentRestored(success=True, store_id=store.id, content_id=content.id), next=[note])


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


def _content_row(number: int, content: Content) -> Phrase:
    return say(
        "{number}. {name} ({size}, {lines} {lines|line|lines})\n   Type: {type} | ID: {id}\n   Uploaded: {at}\n"
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
        type=say("keyword"),
        context=result.context,
        content=result.content_id,
        chunk=result.chunk_id,
    )


def _size_text(size: int) -> str:
    return f"{size / 1024:.1f}KB"
