"""Reading documents: bytes in, text out. So far only text in UTF-8."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass

from madang.core.errors import InvalidArguments
from madang.core.messages import say


@dataclass(frozen=True, slots=True)
class Parsed:
    """The text of a document, and what it was."""

    text: str
    mime_type: str
    encoding: str
    page_lines: tuple[int, ...] = ()


class Parser:
    """Reads documents."""

    async def parse(self, data: bytes, *, filename: str, mime_type: str = "") -> Parsed:
        """Return the text of a document.

        Raises:
            ToolError: it cannot be read.
        """
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidArguments(
                say("The file {name} is not text in UTF-8.", name=filename[:200]),
                hint=say("Add its text as 'content' with 'add_content'."),
            ) from None
        return Parsed(text, mime_type or mimetypes.guess_type(filename)[0] or "text/plain", "utf-8")

    async def close(self) -> None:
        """Nothing to close."""
