"""Reading lines of a content, or one of its chunks."""

from __future__ import annotations

from typing import Protocol

from madang.core.calls import Call
from madang.services.content.domain.arguments import LineRange, check_lines
from madang.services.content.domain.contents import Chunk, Content, ContentExcerpt, Excerpt, no_content, split_chunk_id
from madang.services.content.engine import excerpts


class ReadableContents(Protocol):
    """The rows that texts are read from: a `ContentStore`."""

    async def get(self, call: Call, store_id: str, id: str) -> Content: ...
    async def chunk(self, call: Call, content: Content, number: int) -> Chunk | None: ...
    async def chunks_of_lines(
        self, call: Call, content: Content, from_line: int, to_line: int, limit: int
    ) -> list[Chunk]: ...


class ContentReader:
    """Reads as much of a content as one reply holds."""

    def __init__(self, contents: ReadableContents) -> None:
        self._contents = contents

    async def read(self, call: Call, store_id: str, id: str, range: LineRange) -> ContentExcerpt:
        """Return lines of the content `id`; the id of a chunk returns that chunk, whatever the range.

        Raises:
            NotFound: there is no such store, content or chunk.
            InvalidArguments, OutOfRange: the content has no such lines.
        """
        content_id, number = split_chunk_id(id)
        content = await self._contents.get(call, store_id, content_id)
        if number is not None:
            return await self._read_chunk(call, content, number, id)
        from_line, to_line = check_lines(range, content)
        chunks = await self._contents.chunks_of_lines(call, content, from_line, to_line, excerpts.MAX_EXCERPT_CHUNKS)
        if not chunks:
            raise no_content(id)  # deleted meanwhile
        return ContentExcerpt(content, excerpts.of_lines(chunks, from_line, to_line), to_line)

    async def _read_chunk(self, call: Call, content: Content, number: int, id: str) -> ContentExcerpt:
        chunk = await self._contents.chunk(call, content, number)
        if chunk is None:
            raise no_content(id)
        next_chunk = number + 1 if number < content.chunk_count else 0
        excerpt = Excerpt(chunk.text, chunk.from_line, chunk.to_line, next_chunk)
        return ContentExcerpt(content, excerpt, chunk.to_line, is_chunk=True)
