"""The answer of a chat completion out of its chunks, whatever servers make of the API. Pure: it reads nothing."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from madang.core.ids import new_id
from madang.core.phrases import say
from madang.llm.base import ModelAnswer, ModelDelta, Usage
from madang.llm.chat_request import THINKING_FIELDS
from madang.llm.errors import AnswerTooLarge, CutShort
from madang.llm.messages import CallPart, Extra, ImagePart, Part, TextPart, ThinkingPart


class _Text:
    """A text or a thought that is still coming."""

    __slots__ = ("details", "field", "index", "is_thinking", "pieces")

    def __init__(self, index: int, is_thinking: bool, field: str = "") -> None:
        self.index = index
        self.is_thinking = is_thinking
        self.field = field
        self.pieces: list[str] = []
        self.details: list[Any] = []


class _Call:
    """A call that is still coming. `wire_id` is the server's id, `id` the one we keep."""

    __slots__ = ("id", "index", "pieces", "tool", "wire_id")

    def __init__(self, index: int, id: str, wire_id: str) -> None:
        self.index = index
        self.id = id
        self.wire_id = wire_id
        self.tool = ""
        self.pieces: list[str] = []

    @property
    def is_json(self) -> bool:
        try:
            json.loads("".join(self.pieces))
        except (ValueError, RecursionError):
            return False
        return True


class ChatAnswer:
    """Folds chunks into deltas, and at the end into one answer."""

    def __init__(self, provider: str, model: str, used_ids: Collection[str] = (), max_calls: int = 256) -> None:
        self._provider = provider
        self._model = model
        self._used_ids = set(used_ids)
        self._max_calls = max_calls
        self._parts: list[_Text | _Call | ImagePart] = []
        self._text: _Text | None = None  # the last part, if it is one
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._served_model = ""
        self._usage = Usage()
        self.raw_finish = ""

    def add(self, chunk: Mapping[str, Any]) -> list[ModelDelta]:
        """Return the deltas of a chunk, or of a whole answer that came at once."""
        deltas: list[ModelDelta] = []
        usage = chunk.get("usage")
        if usage:
            self._usage = _usage(usage)
        served = chunk.get("model")
        if served and isinstance(served, str):
            self._served_model = served
        choices = chunk.get("choices")
        if not choices or not isinstance(choices, list):
            return deltas
        choice = choices[0]
        if not isinstance(choice, dict) or choice.get("index") not in (0, None):
            return deltas
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._add_delta(delta, deltas)
        finish = choice.get("finish_reason")
        if finish and isinstance(finish, str):
            self.raw_finish = finish
        return deltas

    def answer(self) -> ModelAnswer:
        """Return the whole answer.

        Raises:
            CutShort: the server gave no reason for its end.
        """
        if not self.raw_finish:
            raise CutShort(say("The model's answer broke off."))
        parts = tuple(self._whole(part) for part in self._parts)
        return ModelAnswer(parts, self.raw_finish, self._usage, self._served_model)

    def _add_delta(self, delta: Mapping[str, Any], deltas: list[ModelDelta]) -> None:
        for field in THINKING_FIELDS:
            thought = delta.get(field)
            if thought and isinstance(thought, str):
                deltas.append(self._say(thought, is_thinking=True, field=field))
                break
        details = delta.get("reasoning_details")
        if details and isinstance(details, list):
            self._open_text(is_thinking=True).details += details
        content = delta.get("content") or delta.get("refusal")
        if content:
            if isinstance(content, str):
                deltas.append(self._say(content))
            elif isinstance(content, list):
                deltas += self._content_parts(content)
        images = delta.get("images")
        if images and isinstance(images, list):
            deltas += self._content_parts(images)
        calls = delta.get("tool_calls")
        if calls and isinstance(calls, list):
            for fragment in calls:
                if isinstance(fragment, dict):
                    deltas += self._fragment(fragment)
        legacy = delta.get("function_call")
        if legacy and isinstance(legacy, dict):
            deltas += self._fragment({"index": 0, "function": legacy})

    def _say(self, text: str, *, is_thinking: bool = False, field: str = "") -> ModelDelta:
        part = self._open_text(is_thinking=is_thinking)
        if field:
            part.field = field
        part.pieces.append(text)
        return ModelDelta("thinking" if is_thinking else "text", text, part.index)

    def _open_text(self, *, is_thinking: bool) -> _Text:
        part = self._text
        if part is None or part.is_thinking != is_thinking:
            part = self._text = _Text(len(self._parts), is_thinking)
            self._parts.append(part)
        return part

    def _content_parts(self, content: list[Any]) -> Iterator[ModelDelta]:
        """Yield the deltas of a content that is a list: texts, thoughts and images."""
        for part in content:
            if not isinstance(part, dict):
                continue
            kind, text = part.get("type"), part.get("text")
            if kind == "image_url":
                yield from self._image(part.get("image_url"))
            elif kind == "thinking":
                thought = part.get("thinking")
                texts = thought if isinstance(thought, list) else [thought]
                for one in texts:
                    words = one.get("text") if isinstance(one, dict) else one
                    if words and isinstance(words, str):
                        yield self._say(words, is_thinking=True)
            elif text and isinstance(text, str):
                yield self._say(text)

    def _image(self, image: object) -> Iterator[ModelDelta]:
        url = image.get("url") if isinstance(image, dict) else image
        if not isinstance(url, str) or not url.startswith("data:image/"):
            return  # an address elsewhere is never fetched
        head, _, data = url.partition(",")
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return
        yield ModelDelta("image", index=len(self._parts))
        self._parts.append(ImagePart(raw, head.removeprefix("data:").partition(";")[0]))
        self._text = None

    def _fragment(self, fragment: Mapping[str, Any]) -> Iterator[ModelDelta]:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        name, wire_id = _str(function.get("name")), _str(fragment.get("id"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        arguments = _str(arguments)
        call = self._find(fragment.get("index"), wire_id, name)
        if call is None:
            if not name and not arguments:
                return
            call = self._open(fragment.get("index"), wire_id)
        elif wire_id and not call.wire_id:
            call.wire_id = wire_id
        if name and name != call.tool:
            call.tool += name
            yield ModelDelta("call", name, call.index, call.id, call.tool)
        if arguments:
            call.pieces.append(arguments)
            yield ModelDelta("arguments", arguments, call.index, call.id, call.tool)

    def _find(self, index: object, wire_id: str, name: str) -> _Call | None:
        """Return the call that a fragment goes on with; None if it begins one.

        Servers number calls, or only name them by ids, or give every call the number 0, or do neither.
        """
        if isinstance(index, int):
            call = self._by_index.get(index)
            if call is None:
                return None
        elif wire_id:
            return next((call for call in self._calls if call.wire_id == wire_id), None)
        elif self._calls:
            call = self._calls[-1]
            if name:
                return None
        else:
            return None
        if wire_id and call.wire_id and wire_id != call.wire_id:
            return None
        # The same number and no id, but a name after whole arguments.
        if name and not wire_id and call.pieces and call.is_json:
            return None
        return call

    def _open(self, index: object, wire_id: str) -> _Call:
        if len(self._calls) >= self._max_calls:
            raise AnswerTooLarge(say("The model asked for more than {max} calls at once.", max=self._max_calls))
        # A missing id, or one that is taken, would give the result of one call to another.
        id = wire_id if wire_id and wire_id not in self._used_ids else f"call_{new_id()}"
        self._used_ids.add(id)
        call = _Call(len(self._parts), id, wire_id)
        self._parts.append(call)
        self._calls.append(call)
        self._text = None
        if isinstance(index, int):
            self._by_index[index] = call
        return call

    def _whole(self, part: _Text | _Call | ImagePart) -> Part:
        if isinstance(part, ImagePart):
            return part
        text = "".join(part.pieces)
        if isinstance(part, _Call):
            return CallPart(part.id, part.tool, text)
        if not part.is_thinking:
            return TextPart(text)
        values: dict[str, Any] = {"field": part.field} if part.field else {}
        if part.details:
            values["details"] = part.details
        return ThinkingPart(text, Extra(self._provider, self._model, values) if values else None)


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else usage.get("prompt_cache_hit_tokens")
    cost = usage.get("cost")
    return Usage(
        _count(usage.get("prompt_tokens")),
        _count(cached),
        _count(usage.get("completion_tokens")),
        float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9 else None,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
