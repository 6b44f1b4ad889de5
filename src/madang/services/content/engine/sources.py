"""The bytes of a content: a text, a data: URL, or a file that the session may read. Never the network.

The one place where the bytes of what is added are counted; how long an argument may be is checked before.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from madang.core.calls import Call
from madang.core.errors import InvalidArguments, Unavailable
from madang.core.executor import Executor
from madang.core.limits import MAX_INLINE_BYTES
from madang.core.phrases import say
from madang.files.folders import Folders
from madang.files.folders.uploads import SCHEME as UPLOAD_SCHEME
from madang.services.content.domain.contents import content_too_large, inline_too_large

INLINE_ENCODE_MAX_CHARS = 256 * 1024
_UNQUOTE_BLOCK_CHARS = 64 * 1024
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)


class Source(NamedTuple):
    """The bytes of a text or file, and what is known of it before it is parsed."""

    data: bytes
    filename: str = ""
    mime_type: str = ""
    text: str | None = None
    """The text itself, if the caller sent one: then there is nothing to parse."""


class SourceReader:
    """Reads what is added, up to `max_bytes`. Without folders there are no files."""

    def __init__(self, folders: Folders | None, max_bytes: int, executor: Executor | None = None) -> None:
        self._folders = folders
        self._max_bytes = max_bytes
        self._executor = executor or Executor()

    async def from_text(self, call: Call, text: str) -> Source:
        """Return a text that the caller sent.

        Raises:
            LimitExceeded: it is too large.
        """
        # Encoding a long one would hold up the event loop.
        is_long = len(text) > INLINE_ENCODE_MAX_CHARS
        data = await self._executor.slow.run(call, text.encode) if is_long else text.encode()
        if len(data) > MAX_INLINE_BYTES:
            raise inline_too_large()
        return self._checked(Source(data, text=text))

    async def from_url(self, call: Call, url: str) -> Source:
        """Return the file behind `url`.

        Raises:
            InvalidArguments: it is not an address that is read here.
            LimitExceeded: the file is too large.
            Unavailable: there are no files in this Madang.
            ToolError: there is no such file, or the session may not read it.
        """
        url = url.strip()
        scheme = _SCHEME.match(url)
        kind = scheme.group().lower() if scheme else ""
        if kind == "data:":
            # Decoding a large one would hold up the event loop.
            return self._checked(await self._executor.slow.run(call, _from_data_url, url))
        if kind == UPLOAD_SCHEME and self._folders is not None and call.door == "host" and call.actor == "person":
            # What the person drops into our chat. No model and no client can name one, not even of its own session.
            read = self._folders.read_upload
            return self._checked(Source(await self._executor.reads.run(call, read, call, url, self._max_bytes + 1)))
        # An allow-list: any other scheme (http, ftp, smb, jar) would let a text that the model has read send data away.
        if (kind and kind != "file:") or url.startswith("//"):
            raise InvalidArguments(
                say(
                    "fileUrl: {scheme} addresses are not read: content never comes from the network.",
                    scheme=kind or "//",
                ),
                hint=say(
                    "Use a path in the workspace, a file:// or a data: URL, or pass the text itself as 'content'."
                ),
            )
        if self._folders is None:
            raise Unavailable(
                say("Files cannot be read here."),
                hint=say("Pass the text itself as 'content' to 'add_content', or the file as a data: URL."),
            )
        # One byte more than allowed tells a larger file, of any size, without reading it all.
        data, filename = await self._executor.reads.run(call, self._folders.read, call, url, self._max_bytes + 1)
        return self._checked(Source(data, filename))

    def _checked(self, source: Source) -> Source:
        if len(source.data) > self._max_bytes:
            raise content_too_large(self._max_bytes)
        return source


def _from_data_url(url: str) -> Source:
    head, comma, body = url[len("data:") :].partition(",")
    mime_type, *parameters = head.split(";")
    if not comma or (mime_type and not _MIME_TYPE.fullmatch(mime_type)):
        raise _not_a_data_url(say("it has no 'type/subtype' followed by a comma"))
    data = _unquoted(body)
    if any(parameter.strip().lower() == "base64" for parameter in parameters):
        try:
            data = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise _not_a_data_url(say("its base64 is damaged")) from None
    return Source(data, mime_type=mime_type)


def _unquoted(body: str) -> bytes:
    """Decode percent-encoding block by block: Python makes a list of it, forty times as large as the text."""
    data, at = bytearray(), 0
    while at < len(body):
        end = at + _UNQUOTE_BLOCK_CHARS
        if end < len(body) and (sign := body.rfind("%", end - 2, end)) > 0:
            end = sign  # it belongs to the two characters after it
        data += unquote_to_bytes(body[at:end])
        at = end
    return bytes(data)


def _not_a_data_url(reason: object) -> InvalidArguments:
    return InvalidArguments(
        say("fileUrl: is no data: URL: {reason}.", reason=reason),
        hint=say("For example: data:text/plain;base64,SGVsbG8="),
    )
