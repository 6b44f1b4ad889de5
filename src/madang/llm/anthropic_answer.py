"""The answer of Anthropic's Messages out of its events. Pure: it reads nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from madang.core.phrases import say
from madang.llm.answer_parts import AnswerParts, OpenCall, OpenText
from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest, Usage
from madang.llm.errors import CutShort

_USAGE_FIELDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class MessagesAnswer:
    """Folds events into deltas, and at the end into one answer."""

    def __init__(self, provider: str, model: str, request: ModelRequest, max_calls: int = 256) -> None:
        self._parts = AnswerParts(provider, model, request, max_calls)
        self._blocks: dict[int, OpenText | OpenCall] = {}
        self._inputs: dict[int, dict[str, Any]] = {}
        """Arguments that came with the beginning of a call; pieces that come after it replace them."""
        self._usage: dict[str, int] = {}
        self._served_model = ""
        self.raw_finish = ""
        self.is_done = False

    def add(self, chunk: Mapping[str, Any]) -> list[ModelDelta]:
        """Return the deltas of an event, or of a whole message that came at once."""
        deltas: list[ModelDelta] = []
        index = chunk.get("index")
        number = index if isinstance(index, int) else 0
        match chunk.get("type"):
            case "message_start":
                self._add_message(chunk.get("message"), deltas)
            case "message":
                self._add_message(chunk, deltas)
            case "content_block_start":
                self._start(number, chunk.get("content_block"), deltas)
            case "content_block_delta":
                self._go_on(number, chunk.get("delta"), deltas)
            case "content_block_stop":
                self._stop(number, deltas)
            case "message_delta":
                self._end_message(chunk.get("delta"), chunk.get("usage"))
            case "message_stop":
                self.is_done = True
        return deltas

    def end(self) -> list[ModelDelta]:
        return self._parts.end()

    def answer(self) -> ModelAnswer:
        """Return the whole answer.

        Raises:
            CutShort: the server gave no reason for its end.
        """
        if not self.raw_finish:
            raise CutShort(say("The model's answer broke off."))
        parts, usage = self._parts.parts(), self._counted()
        return ModelAnswer(parts, self.raw_finish, usage, self._served_model, malformed_call=self._parts.malformed)

    def _add_message(self, message: object, deltas: list[ModelDelta]) -> None:
        if not isinstance(message, dict):
            return
        served, content = message.get("model"), message.get("content")
        if isinstance(served, str):
            self._served_model = served
        for number, block in enumerate(content if isinstance(content, list) else ()):
            self._start(number, block, deltas)
            self._stop(number, deltas)
        self._end_message(message, message.get("usage"))

    def _end_message(self, message: object, usage: object) -> None:
        reason = message.get("stop_reason") if isinstance(message, dict) else None
        if reason and isinstance(reason, str):
            self.raw_finish = reason
        for field in _USAGE_FIELDS:
            count = usage.get(field) if isinstance(usage, dict) else None
            # At the end some repeat what they told at the beginning as 0.
            if isinstance(count, int) and not isinstance(count, bool) and count >= self._usage.get(field, 0):
                self._usage[field] = count

    def _start(self, number: int, block: object, deltas: list[ModelDelta]) -> None:
        if not isinstance(block, dict):
            return
        self._blocks.pop(number, None)
        match block.get("type"):
            case "text":
                deltas += self._parts.say(_str(block.get("text")))
            case "thinking":
                self._think(number, block, deltas)
            case "redacted_thinking":
                self._parts.open_thinking(deltas, is_new=True).values["redacted"] = _str(block.get("data"))
            case "tool_use":
                call = self._parts.begin_call(_str(block.get("id")), deltas)
                self._blocks[number] = call
                deltas += self._parts.name_call(call, _str(block.get("name")))
                arguments = block.get("input")
                if arguments and isinstance(arguments, dict):
                    self._inputs[number] = arguments
            case kind:
                self._parts.add_unknown(_str(kind) or "unknown")

    def _go_on(self, number: int, delta: object, deltas: list[ModelDelta]) -> None:
        if not isinstance(delta, dict):
            return
        block = self._blocks.get(number)
        match delta.get("type"):
            case "text_delta":
                deltas += self._parts.say(_str(delta.get("text")))
            case "thinking_delta" | "signature_delta":
                self._think(number, delta, deltas)
            case "input_json_delta" if isinstance(block, OpenCall):
                if piece := _str(delta.get("partial_json")):
                    self._inputs.pop(number, None)
                    deltas += self._parts.add_arguments(block, piece)

    def _think(self, number: int, source: Mapping[str, Any], deltas: list[ModelDelta]) -> None:
        """Add to the thought of a block, which is one of its own: each has its signature."""
        thought = self._blocks.get(number)
        if not isinstance(thought, OpenText):
            thought = self._blocks[number] = self._parts.open_thinking(deltas, is_new=True)
        deltas += self._parts.think(_str(source.get("thinking")))
        if signature := _str(source.get("signature")):
            thought.values["signature"] = thought.values.get("signature", "") + signature

    def _stop(self, number: int, deltas: list[ModelDelta]) -> None:
        block, arguments = self._blocks.get(number), self._inputs.pop(number, None)
        if isinstance(block, OpenCall) and arguments:
            deltas += self._parts.add_arguments(block, json.dumps(arguments, ensure_ascii=False))

    def _counted(self) -> Usage:
        """Return the usage; the input is told in three numbers that exclude each other."""
        usage = self._usage
        parts = [usage[field] for field in _USAGE_FIELDS[:3] if field in usage]
        read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
        total = sum(parts) if parts else None
        return Usage(total, read, usage.get("output_tokens"), cache_write_tokens=written)


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""
