"""Where the bytes of a content come from: a data: URL, or a file that the session may read. Never the network."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from madang.core.calls import Call
from madang.core.errors import InvalidArguments, Unavailable
from madang.core.phrases import say
from madang.services.content.domain import too_large
from madang.storage.folders import Folders

_AT_ONCE = 64 * 1024
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_MIME_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)


class Source(NamedTuple):
    """The bytes of a file, and what is known of it before it is read."""

    data: bytes
    filename: str
    mime_type: str


async def fetch(call: Call, url: str, folders: Folders | None, limit: int) -> Source:
    """Return the file behind `url`.

    Raises:
        InvalidArguments: it is no address that is read here.
        LimitExceeded: the file has more than `limit` bytes.
        Unavailable: there are no files in this Madang.
    """
    url = url.strip()
    scheme = _SCHEME.match(url)
    kind = scheme.group().lower() if scheme else ""
    if kind == "data:":
        # A large one takes a while to decode, and others wait on the event loop.
        return await asyncio.to_thread(_inline, url, limit)
    # An allow-list: whatever else there is (http, ftp, smb, jar) would let a text that the model read send it away.
    if (kind and kind != "file:") or url.startswith("//"):
        raise InvalidArguments(
            say("fileUrl: {scheme} addresses are not read: content never comes from the network.", scheme=kind or "//"),
            hint=say("Use a path in the workspace, a file:// or a data: URL, or pass the text itself as 'content'."),
        )
    if folders is None:
        raise Unavailable(
            say("Files cannot be read here."),
            hint=say("Pass the text itself as 'content' to 'add_content', or the file as a data: URL."),
        )
    data, filename = await asyncio.to_thread(folders.read, call, url, limit)
    return Source(data, filename, "")


def _inline(url: str, limit: int) -> Source:
    head, comma, body = url[len("data:") :].partition(",")
    mime_type, *parameters = head.split(";")
    if not comma or (mime_type and not _MIME_TYPE.fullmatch(mime_type)):
        raise _not_a_data_url(say("it has no 'type/subtype' followed by a comma"))
    if len(body) > limit * 4:
        raise too_large(limit)
    data = _unquoted(body)
    if any(parameter.strip().lower() == "base64" for parameter in parameters):
        try:
            data = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise _not_a_data_url(say("its base64 is damaged")) from None
    if len(data) > limit:
        raise too_large(limit)
    return Source(data, "", mime_type)


def _unquoted(body: str) -> bytes:
    """Decode percent signs part by part: of millions at once Python makes a list, forty times as large as the text."""
    data, at = bytearray(), 0
    while at < len(body):
        end = at + _AT_ONCE
        if end < len(body) and (sign := body.rfind("%", end - 2, end)) > 0:
            end = sign  # it belongs to the two characters behind it
        data += unquote_to_bytes(body[at:end])
        at = end
    return bytes(data)


def _not_a_data_url(reason: object) -> InvalidArguments:
    return InvalidArguments(
        say("fileUrl: is no data: URL: {reason}.", reason=reason),
        hint=say("For example: data:text/plain;base64,SGVsbG8="),
    )
