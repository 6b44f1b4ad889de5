"""The parts of an answer that is still coming: what every wire does with texts, thoughts, calls and images. Pure.

A wire says what has come; here it is told apart what a model wrote as text and is none (thoughts, calls), halves of
letters are joined, calls get their ids, and arguments are mended.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from madang.core.phrases import Phrase
from madang.llm.base import ModelDelta, ModelRequest
from madang.llm.call_ids import CallIds, used_ids
from madang.llm.mending import mend_arguments
from madang.llm.messages import CallPart, Extra, ImagePart, Part, ResultPart, TextPart, ThinkingPart, UnknownPart
from madang.llm.text_calls import TextCall, read_calls
from madang.llm.text_reader import Piece, TextReader, split_thought

_HALF = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(r"\s+")


class Letters:
    """Joins halves of a surrogate pair that came apart; half a pair alone becomes U+FFFD."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def joined(self, text: str) -> str:
        if not self._half and (text.isascii() or not _HALF.search(text)):
            return text
        text, self._half = self._half + text, ""
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def rest(self) -> str:
        """Return what is left at the end."""
        half, self._half = self._half, ""
        return "\N{REPLACEMENT CHARACTER}" if half else ""


class OpenText:
    """A text or a thought that is still coming. `values` is what its provider wants back with it."""

    __slots__ = ("index", "is_thinking", "pieces", "values")

    def __init__(self, index: int, is_thinking: bool) -> None:
        self.index = index
        self.is_thinking = is_thinking
        self.pieces: list[str] = []
        self.values: dict[str, Any] = {}


class OpenCall:
    """A call that is still coming. `wire_id` is the server's id, `id` the one we keep."""

    __slots__ = ("id", "index", "letters", "pieces", "tool", "values", "wire_id")

    def __init__(self, index: int, id: str, wire_id: str) -> None:
        self.index = index
        self.id = id
        self.wire_id = wire_id
        self.tool = ""
        self.pieces: list[str] = []
        self.values: dict[str, Any] = {}
        self.letters = Letters()

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    @property
    def is_json(self) -> bool:
        if not self.pieces or self.pieces[-1].rstrip()[-1:] not in ("}", "]", '"'):
            return False  # in most cases the last letter tells, without a look at all of it
        try:
            json.loads(self.arguments)
        except (ValueError, RecursionError):
            return False
        return True


class AnswerParts:
    """Builds the parts of one answer, and the deltas of each step."""

    def __init__(self, provider: str, model: str, request: ModelRequest, max_calls: int) -> None:
        self._provider = provider
        self._model = model
        self._request = request
        self._ids = CallIds(used_ids(request), max_calls)
        self._offered = frozenset(tool.name for tool in request.tools)
        self._reader = TextReader(self._offered)
        self._letters = {"text": Letters(), "thinking": Letters()}
        self._parts: list[OpenText | OpenCall | ImagePart | UnknownPart] = []
        self._text: OpenText | None = None  # the last part, if it is one
        self.calls: list[OpenCall] = []
        self.malformed: Phrase | None = None
        """Why what looks like a call is none."""

    @property
    def is_empty(self) -> bool:
        return not self._parts

    def say(self, text: str) -> list[ModelDelta]:
        text = self._letters["text"].joined(text)
        return self._pieces(self._reader.feed(text)) if text else []

    def think(self, text: str) -> list[ModelDelta]:
        text = self._letters["thinking"].joined(text)
        deltas: list[ModelDelta] = []
        if text:
            self.open_thinking(deltas)
            deltas.append(self._add("thinking", text))
        return deltas

    def open_thinking(self, deltas: list[ModelDelta], *, is_new: bool = False) -> OpenText:
        """Return the thought that is coming, for what its provider wants back; what was held is a text before it."""
        deltas += self._pieces(self._reader.release())
        if is_new:
            self._text = None
        return self._open_text(is_thinking=True)

    def add_image(self, image: ImagePart) -> list[ModelDelta]:
        deltas = [*self._pieces(self._reader.release()), ModelDelta("image", index=len(self._parts))]
        self._append(image)
        return deltas

    def add_unknown(self, kind: str) -> None:
        self._append(UnknownPart({"type": f"{self._provider}/{kind}"}))

    def begin_call(self, wire_id: str, deltas: list[ModelDelta]) -> OpenCall:
        """Return a call that begins; what was held is text then, and added to `deltas`."""
        deltas += self._pieces(self._reader.release())
        call = OpenCall(len(self._parts), self._ids.claim(wire_id), wire_id)
        self._append(call)
        self.calls.append(call)
        return call

    def name_call(self, call: OpenCall, name: str) -> Iterator[ModelDelta]:
        """Go on with the name of a call; servers send it whole, in pieces, or each time all that is there so far."""
        if name == call.tool:
            return
        joined = call.tool + name
        is_cumulative = name.startswith(call.tool) and joined not in self._offered
        piece, call.tool = (name[len(call.tool) :], name) if is_cumulative else (name, joined)
        yield ModelDelta("call", piece, call.index, call.id, call.tool)

    def add_arguments(self, call: OpenCall, text: str) -> Iterator[ModelDelta]:
        text = call.letters.joined(text)
        if text:
            call.pieces.append(text)
            yield ModelDelta("arguments", text, call.index, call.id, call.tool)

    def end(self) -> list[ModelDelta]:
        """Return what was held back: as calls, or as the text that it is after all."""
        deltas = self.say(rest) if (rest := self._letters["text"].rest()) else []
        if rest := self._letters["thinking"].rest():
            deltas.append(self._add("thinking", rest))
        for call in self.calls:
            deltas += self.add_arguments(call, call.letters.rest())
        pieces, held = self._reader.end()
        deltas += self._pieces(pieces)
        if held:
            deltas += self._read_held(held)
        return deltas

    def parts(self) -> tuple[Part, ...]:
        return tuple(part for open_part in self._parts for part in self._whole(open_part))

    def _read_held(self, text: str) -> Iterator[ModelDelta]:
        calls = self._text_calls(text)
        for call in calls:
            opened = self.begin_call("", [])
            yield from self.name_call(opened, call.tool)
            yield from self.add_arguments(opened, call.arguments)
        if not calls:
            delta = self._add("text", text)
            if self.malformed is None:  # else nobody takes it for an answer
                yield delta

    def _text_calls(self, text: str) -> tuple[TextCall, ...]:
        """Return the calls that a text is. What it quotes from a document or a result is none."""
        if self.calls:
            return ()
        reading = read_calls(text, self._offered)
        if (reading.calls or reading.malformed) and self._is_quoted(text):
            return ()
        self.malformed = reading.malformed
        return reading.calls

    def _is_quoted(self, text: str) -> bool:
        words = _BLANKS.sub("", text)
        return any(words in _BLANKS.sub("", source) for source in _untrusted_texts(self._request))

    def _pieces(self, pieces: Iterable[Piece]) -> list[ModelDelta]:
        return [self._add(kind, text) for kind, text in pieces]

    def _add(self, kind: Any, text: str) -> ModelDelta:
        part = self._open_text(is_thinking=kind == "thinking")
        part.pieces.append(text)
        return ModelDelta(kind, text, part.index)

    def _open_text(self, *, is_thinking: bool) -> OpenText:
        part = self._text
        if part is None or part.is_thinking != is_thinking:
            part = OpenText(len(self._parts), is_thinking)
            self._append(part)
            self._text = part
        return part

    def _append(self, part: OpenText | OpenCall | ImagePart | UnknownPart) -> None:
        self._parts.append(part)
        self._text = None

    def _whole(self, part: OpenText | OpenCall | ImagePart | UnknownPart) -> Iterator[Part]:
        if isinstance(part, ImagePart | UnknownPart):
            yield part
            return
        extra = Extra(self._provider, self._model, part.values) if part.values else None
        if isinstance(part, OpenCall):
            yield CallPart(part.id, part.tool, mend_arguments(part.arguments), extra)
            return
        text = "".join(part.pieces)
        if part.is_thinking:
            yield ThinkingPart(text, extra)
        elif part.index == 0 and (split := split_thought(text)):
            thought, answer = split
            yield ThinkingPart(thought)
            yield from self._answer(answer)
        else:
            yield TextPart(text)

    def _answer(self, text: str) -> Iterator[Part]:
        """Yield what stands behind a thought of which only the end was marked."""
        calls = self._text_calls(text)
        for call in calls:
            yield CallPart(self._ids.claim(""), call.tool, call.arguments)
        if not calls and text:
            yield TextPart(text)


def _untrusted_texts(request: ModelRequest) -> Iterator[str]:
    """Yield what the history has from others than the person and the model."""
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, ResultPart) or (isinstance(part, TextPart) and (part.file or part.origins)):
                yield part.text
