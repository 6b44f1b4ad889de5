"""The answer of a chat completion out of its chunks, whatever servers make of the API. Pure: it reads nothing."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from typing import Any

from madang.core.phrases import say
from madang.llm.answer_parts import AnswerParts, OpenCall
from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Usage
from madang.llm.chat_request import CALL_EXTRA, THINKING_FIELDS
from madang.llm.errors import CutShort
from madang.llm.messages import ImagePart


class ChatAnswer:
    """Folds chunks into deltas, and at the end into one answer."""

    def __init__(self, provider: str, model: str, request: ModelRequest, max_calls: int = 256) -> None:
        self._parts = AnswerParts(provider, model, request, max_calls)
        self._by_index: dict[int, OpenCall] = {}
        self._served_model = ""
        self._usage = Usage()
        self.raw_finish = ""
        self.is_done = False

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

    def end(self) -> list[ModelDelta]:
        return self._parts.end()

    def answer(self) -> ModelAnswer:
        """Return the whole answer.

        Raises:
            CutShort: the server gave no reason for its end.
        """
        finish = self.raw_finish or self._finish_of_done()
        if not finish:
            raise CutShort(say("The model's answer broke off."))
        parts = self._parts.parts()
        return ModelAnswer(parts, finish, self._usage, self._served_model, malformed_call=self._parts.malformed)

    def _finish_of_done(self) -> str:
        """Return the reason of an end that was told by `[DONE]` alone. Half a call is none, whoever says so."""
        if not self.is_done or self._parts.is_empty or not all(call.is_json for call in self._parts.calls):
            return ""
        return "tool_calls" if self._parts.calls else "stop"

    def _add_delta(self, delta: Mapping[str, Any], deltas: list[ModelDelta]) -> None:
        for field in THINKING_FIELDS:
            thought = delta.get(field)
            if thought and isinstance(thought, str):
                deltas += self._parts.think(thought)
                self._parts.open_thinking(deltas).values["field"] = field
                break
        details = delta.get("reasoning_details")
        if details and isinstance(details, list):
            self._parts.open_thinking(deltas).values.setdefault("details", []).extend(details)
        content = delta.get("content") or delta.get("refusal")
        if content:
            if isinstance(content, str):
                deltas += self._parts.say(content)
            elif isinstance(content, list):
                deltas += self._content_parts(content)
        images = delta.get("images")
        if images and isinstance(images, list):
            deltas += self._content_parts(images)
        calls = delta.get("tool_calls")
        if calls and isinstance(calls, list):
            for fragment in calls:
                if isinstance(fragment, dict):
                    self._fragment(fragment, deltas)
        legacy = delta.get("function_call")
        if legacy and isinstance(legacy, dict):
            self._fragment({"index": 0, "function": legacy}, deltas)

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
                        yield from self._parts.think(words)
            elif text and isinstance(text, str):
                yield from self._parts.say(text)

    def _image(self, image: object) -> Iterator[ModelDelta]:
        url = image.get("url") if isinstance(image, dict) else image
        if not isinstance(url, str) or not url.startswith("data:image/"):
            return  # an address elsewhere is never fetched
        head, _, data = url.partition(",")
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return
        yield from self._parts.add_image(ImagePart(raw, head.removeprefix("data:").partition(";")[0]))

    def _fragment(self, fragment: Mapping[str, Any], deltas: list[ModelDelta]) -> None:
        function = fragment.get("function")
        function = function if isinstance(function, dict) else {}
        name, wire_id = _str(function.get("name")), _str(fragment.get("id"))
        arguments = function.get("arguments")
        if isinstance(arguments, dict | list):
            arguments = json.dumps(arguments, ensure_ascii=False)
        arguments = _str(arguments)
        index = fragment.get("index")
        call = self._find(index, wire_id, name, arguments)
        if call is None:
            if not name and not arguments:
                return
            call = self._parts.begin_call(wire_id, deltas)
            if isinstance(index, int):
                self._by_index[index] = call
        elif name and arguments and call.is_json and arguments == call.arguments:
            return  # the same call once more, as some servers sum up at the end
        elif wire_id and not call.wire_id:
            call.wire_id = wire_id
        extra = fragment.get(CALL_EXTRA)
        if extra and isinstance(extra, dict):
            call.values[CALL_EXTRA] = extra
        if name:
            deltas += self._parts.name_call(call, name)
        deltas += self._parts.add_arguments(call, arguments)

    def _find(self, index: object, wire_id: str, name: str, arguments: str) -> OpenCall | None:
        """Return the call that a fragment goes on with; None if it begins one.

        Servers number calls, or only name them by ids, or give every call the number 0, or do neither.
        """
        calls = self._parts.calls
        if isinstance(index, int):
            call = self._by_index.get(index)
        elif wire_id:
            call = next((call for call in reversed(calls) if call.wire_id == wire_id), None)
        else:
            call = calls[-1] if calls and not name else None
        if call is None or (wire_id and call.wire_id and wire_id != call.wire_id):
            return None
        if not name or not call.pieces or not call.is_json:
            return call
        # The same number, but a name after whole arguments: another call, unless it brings nothing, or the same.
        if wire_id and (not arguments.strip() or arguments == call.arguments):
            return call
        return None


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
