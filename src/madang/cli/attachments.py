"""What a message on the command line is made of: words, standard input, a playbook's steps, and files."""

from __future__ import annotations

import base64
import mimetypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from madang.agent.news import attached_file
from madang.cli.conversation import Conversation
from madang.core.errors import RequestError, ToolError
from madang.core.phrases import Phrase, layout, say
from madang.core.results import Reply
from madang.core.trust import Origin
from madang.core.uploads import UploadedFile
from madang.llm.messages import ImagePart, Part, TextPart
from madang.services.content.domain.contents import MAX_CONTENT_BYTES
from madang.text.encodings import decode, detect_encoding, has_controls, replace_surrogates
from madang.text.kinds import MAX_IMAGE_BYTES, file_kind, image_type

CONTENT = "content"
"""The service that keeps files which are no images."""
MAX_INPUT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of the person's, and its kind if it is an image that models take."""

    name: str
    data: bytes
    image_type: str = ""


def read_input() -> str:
    """Return standard input as a text; empty at a terminal.

    Raises:
        RequestError: it is too large, or no text.
    """
    # The descriptor: the stream may be closed, or None.
    if sys.stdin is None or os.isatty(0):
        return ""
    try:
        data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
    except (OSError, ValueError):
        return ""
    if len(data) > MAX_INPUT_BYTES:
        raise RequestError(
            say("Standard input is larger than {max} KB.", max=MAX_INPUT_BYTES // 1024),
            hint=say("Put it into a file, and give that with --file."),
        )
    encoding = detect_encoding(data, is_whole=True)
    text = decode(data, encoding)
    if file_kind(data) is not None or "\0" in text or has_controls(data[:4096]) or replace_surrogates(text) != text:
        raise RequestError(
            say("Standard input is no text."), hint=say("Put it into a file, and give that with --file.")
        )
    return text.strip("\n")


def read_attachments(paths: list[str]) -> list[Attachment]:
    """Return the files of the person's.

    Raises:
        RequestError: one cannot be read, or is too large.
    """
    attachments = [_read(path) for path in paths]
    if sum(len(one.data) for one in attachments if one.image_type) > MAX_IMAGE_BYTES:
        raise RequestError(say("The images are larger than {max} MB.", max=MAX_IMAGE_BYTES // 1024**2))
    return attachments


def _read(name: str) -> Attachment:
    try:
        path = Path(name).expanduser()
        with path.open("rb") as file:
            data = file.read(MAX_CONTENT_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise RequestError(say("The file {path} cannot be read: {reason}.", path=name, reason=reason)) from None
    if len(data) > MAX_CONTENT_BYTES:
        raise RequestError(say("The file {path} is larger than {max} MB.", path=name, max=MAX_CONTENT_BYTES // 1024**2))
    return Attachment(path.name, data, image_type(data))


async def compose(talk: Conversation, text: str, attachments: list[Attachment], playbook: str = "") -> list[Part]:
    """Return the parts of a message. Files are added to the session's contents; a playbook is selected.

    Raises:
        RequestError: there is no such playbook, or a file holds nothing that can be read.
    """
    parts: list[Part] = [TextPart(text)] if text else []
    provider = talk.agent.madang.provider
    if playbook:
        reply = await provider.execute_tool(talk.call, "select_playbook", {"id": playbook})
        parts.append(TextPart(_checked(reply).text, origins=(Origin("playbook", playbook),)))
    for one in attachments:
        parts.append(await _add(talk, one))
    return [*parts, *(ImagePart(one.data, one.image_type, one.name) for one in attachments if one.image_type)]


async def _add(talk: Conversation, attachment: Attachment) -> TextPart:
    """Keep a file that is no image, and return what tells the model of it."""
    name = attachment.name
    if attachment.image_type:
        return attached_file(name, "", talk.translate)
    mime_type = mimetypes.guess_type(attachment.name)[0] or "application/octet-stream"
    url = f"data:{mime_type};base64,{base64.b64encode(attachment.data).decode('ascii')}"
    try:
        upload = UploadedFile(url, name)
        id = (await talk.agent.madang.provider.accept_upload(talk.call, CONTENT, upload)).id
    except ToolError as error:
        raise RequestError(error.message, hint=error.hint) from None
    return attached_file(name, id, talk.translate)


def _checked(reply: Reply) -> Reply:
    if reply.is_error:
        error = reply.data["error"]
        raise RequestError(_said(error["message"]), hint=_said(error["hint"]) if error.get("hint") else None)
    return reply


def _said(text: str) -> Phrase:
    return layout("{text}", text=text)
