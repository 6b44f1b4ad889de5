"""Messages as they are sent to a model and kept: parts of our own shape, with a JSON form that older builds can read.

What a provider wants back verbatim (signatures, encrypted reasoning) is opaque, and goes to that provider alone.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

from madang.core.trust import Origin, dump_origins, parse_origins

Role = Literal["user", "assistant", "tool", "summary"]
"""`tool`: results of calls. `summary`: what stands for messages that were compacted; sent as the user's."""

ROLES: tuple[Role, ...] = ("user", "assistant", "tool", "summary")


@dataclass(frozen=True, slots=True)
class Extra:
    """What a provider wants back with a part, verbatim. `values` is JSON, and of no meaning to anything else."""

    provider: str
    model: str
    values: Mapping[str, Any]

    def fits(self, provider: str, model: str) -> bool:
        """Tell whether it may be sent to this model: a signature of one is refused by another."""
        return (self.provider, self.model) == (provider, model)


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """What the person attached to a message."""

    name: str
    content_id: str = ""
    """In the content store; an image is a part of the message instead."""


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str
    extra: Extra | None = None
    file: AttachedFile | None = None
    """The text tells the model of this file: the person has not written it."""
    origins: tuple[Origin, ...] = ()
    """Where it came from, if the person has not written it."""


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """What a model thought before it answered. The text may be empty where a provider hides it in `extra`."""

    text: str
    extra: Extra | None = None
    took_ms: int | None = None
    """How long, if somebody was there to see."""


@dataclass(frozen=True, slots=True)
class CallPart:
    """A call that the model asks for. `arguments` is the string as it came, also where it is no JSON."""

    id: str
    tool: str
    arguments: str
    extra: Extra | None = None
    asked: str = ""
    """The arguments of `use_tool`, if the model named the tool by it."""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture, from the person, a tool or a model."""

    data: bytes = field(repr=False)
    mime_type: str
    alt: str = ""


@dataclass(frozen=True, slots=True)
class ResultPart:
    """What came of a call."""

    call_id: str
    tool: str
    text: str
    is_error: bool = False
    images: tuple[ImagePart, ...] = ()


@dataclass(frozen=True, slots=True)
class UnknownPart:
    """A part that a newer build wrote. It is kept as it is, and sent to no model."""

    fields: Mapping[str, Any]


Part: TypeAlias = TextPart | ThinkingPart | CallPart | ImagePart | ResultPart | UnknownPart


@dataclass(frozen=True, slots=True)
class Message:
    """What a person, a model or tools said."""

    role: Role
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))


def user_message(text: str, *images: ImagePart) -> Message:
    """Return what the person wrote, with the images they attached."""
    return Message("user", (TextPart(text), *images))


def written_text(parts: Sequence[Part]) -> str:
    """Return what the person wrote; of a message that has only files, their names."""
    texts = [part for part in parts if isinstance(part, TextPart)]
    written = "".join(part.text for part in texts if part.file is None)
    return written or ", ".join(part.file.name for part in texts if part.file is not None)


def sendable(text: str) -> str:
    """Return a text that can be UTF-8: half a surrogate pair, from a file's name for example, becomes a ?.

    A server, or the vendor's package before it, would refuse the whole request, and every later one.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def dump_parts(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return parts as JSON, for a row."""
    return [_dump(part) for part in parts]


def parse_parts(values: object) -> tuple[Part, ...]:
    """Return the parts of a row. What is not understood becomes an `UnknownPart`; nothing is refused."""
    if not isinstance(values, list):
        return ()
    return tuple(_parse(value) for value in values if isinstance(value, dict))


def dump_message(message: Message) -> dict[str, Any]:
    """Return a message as JSON."""
    return {"role": message.role, "parts": dump_parts(message.parts)}


def parse_message(value: Mapping[str, Any]) -> Message:
    """Return the message of `dump_message`; an unknown role counts as the user's.

    So a build that does not know who spoke gives it no voice of the model's own.
    """
    role = value.get("role")
    return Message(cast(Role, role) if role in ROLES else "user", parse_parts(value.get("parts")))


def _dump(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text, extra, file, origins):
            source = {"origins": dump_origins(origins)} if origins else {}
            return {"type": "text", "text": text, **_dump_extra(extra), **_dump_file(file), **source}
        case ThinkingPart(text, extra, took_ms):
            took = {} if took_ms is None else {"tookMs": took_ms}
            return {"type": "thinking", "text": text, **took, **_dump_extra(extra)}
        case CallPart(id, tool, arguments, extra, asked):
            by = {"asked": asked} if asked else {}
            return {"type": "call", "id": id, "tool": tool, "arguments": arguments, **by, **_dump_extra(extra)}
        case ImagePart():
            return {"type": "image", **_dump_image(part)}
        case ResultPart(call_id, tool, text, is_error, images):
            result: dict[str, Any] = {"type": "result", "callId": call_id, "tool": tool, "text": text}
            if is_error:
                result["isError"] = True
            if images:
                result["images"] = [_dump_image(image) for image in images]
            return result
        case UnknownPart(fields):
            return dict(fields)


def _dump_extra(extra: Extra | None) -> dict[str, Any]:
    if extra is None:
        return {}
    return {"extra": {"provider": extra.provider, "model": extra.model, "values": dict(extra.values)}}


def _dump_file(file: AttachedFile | None) -> dict[str, Any]:
    return {} if file is None else {"file": {"name": file.name, "contentId": file.content_id}}


def _dump_image(image: ImagePart) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode("ascii")
    return {"data": data, "mimeType": image.mime_type, **({"alt": image.alt} if image.alt else {})}


def _parse(value: dict[str, Any]) -> Part:
    try:
        match value.get("type"):
            case "text":
                origins = parse_origins(value.get("origins", ""))
                return TextPart(_text(value, "text"), _parse_extra(value), _parse_file(value), origins)
            case "thinking":
                took_ms = value.get("tookMs")
                return ThinkingPart(
                    _text(value, "text"), _parse_extra(value), took_ms if isinstance(took_ms, int) else None
                )
            case "call":
                arguments = _text(value, "arguments")
                asked = value.get("asked")
                asked = asked if isinstance(asked, str) else ""
                return CallPart(_text(value, "id"), _text(value, "tool"), arguments, _parse_extra(value), asked)
            case "image":
                return _parse_image(value)
            case "result":
                images = tuple(_parse_image(image) for image in value.get("images", ()))
                is_error = value.get("isError") is True
                return ResultPart(_text(value, "callId"), _text(value, "tool"), _text(value, "text"), is_error, images)
    except (KeyError, TypeError, ValueError, AttributeError):
        pass  # a newer build changed what the kind means
    return UnknownPart(value)


def _text(value: dict[str, Any], name: str) -> str:
    text = value[name]
    if not isinstance(text, str):
        raise TypeError(name)
    return text


def _parse_extra(value: dict[str, Any]) -> Extra | None:
    extra = value.get("extra")
    if extra is None:
        return None
    return Extra(_text(extra, "provider"), _text(extra, "model"), dict(extra["values"]))


def _parse_file(value: dict[str, Any]) -> AttachedFile | None:
    file = value.get("file")
    return None if file is None else AttachedFile(_text(file, "name"), _text(file, "contentId"))


def _parse_image(value: dict[str, Any]) -> ImagePart:
    try:
        data = base64.b64decode(_text(value, "data"), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    return ImagePart(data, _text(value, "mimeType"), str(value.get("alt", "")))
