"""Answers of models as bytes of their APIs: the same story for chat completions, messages, responses and Gemini.

Written after what the servers send, not with anybody's client, so that a client is tested against the wire.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Wire = Literal["chat", "anthropic", "responses", "google"]
Finish = str
"""`stop`, `calls`, `length`, `refused`, in the words of the wire; any other is sent as it is."""

USAGE = (100, 40, 20)
"""Tokens of the request, those of them that were cached, and of the answer."""

FINISHES: dict[Wire, dict[Finish, str]] = {
    "chat": {"stop": "stop", "calls": "tool_calls", "length": "length", "refused": "content_filter"},
    "anthropic": {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "refused": "refusal"},
    "responses": {
        "stop": "completed",
        "calls": "completed",
        "length": "max_output_tokens",
        "refused": "content_filter",
    },
    "google": {"stop": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"},
}


@dataclass(frozen=True, slots=True)
class Say:
    text: str


@dataclass(frozen=True, slots=True)
class Think:
    text: str
    signature: str = "signed"


@dataclass(frozen=True, slots=True)
class Ask:
    """A call of a tool; its arguments come in pieces of `step` characters."""

    tool: str
    arguments: str = "{}"
    id: str | None = ""
    """Empty: one of the server's own. None: the server gives none."""
    step: int = 7


Piece = Say | Think | Ask


def event(data: Any, kind: str = "") -> bytes:
    """Return one event of a stream."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {kind}\n" if kind else "").encode() + f"data: {text}\n\n".encode()


def render(wire: Wire, pieces: Sequence[Piece], finish: Finish | None = None) -> list[bytes]:
    """Return the events of an answer; the last ones are its end (see `END_EVENTS`)."""
    finish = finish or ("calls" if any(isinstance(piece, Ask) for piece in pieces) else "stop")
    return list(_RENDERERS[wire](pieces, finish))


END_EVENTS: dict[Wire, int] = {"chat": 3, "anthropic": 2, "responses": 1, "google": 1}
"""How many events at the end of an answer tell that it is whole: without them it was cut."""


def _steps(text: str, step: int) -> Iterator[str]:
    for start in range(0, len(text), step):
        yield text[start : start + step]


def _id(id: str | None, default: str) -> str | None:
    return default if id == "" else id


def _words(text: str) -> list[str]:
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:]


def chunk(delta: Any, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a chunk of a chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": [choice], **more}


def fragment(index: int | None, name: str | None, arguments: Any, id: str | None = "c0") -> dict[str, Any]:
    """Return a piece of a call in a chunk."""
    numbered = {"index": index} if index is not None else {}
    return {**numbered, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _chat(pieces: Sequence[Piece], finish: Finish) -> Iterator[bytes]:
    yield event(chunk({"role": "assistant", "content": ""}))
    number = 0
    for piece in pieces:
        match piece:
            case Say(text):
                for word in _words(text):
                    yield event(chunk({"content": word}))
            case Think(text, _):
                for word in _words(text):
                    yield event(chunk({"reasoning_content": word}))
            case Ask(tool, arguments, id, step):
                yield event(chunk({"tool_calls": [fragment(number, tool, "", _id(id, f"call_{number}"))]}))
                for part in _steps(arguments, step):
                    yield event(chunk({"tool_calls": [{"index": number, "function": {"arguments": part}}]}))
                number += 1
    yield event(chunk({}, FINISHES["chat"].get(finish, finish)))
    details = {"cached_tokens": USAGE[1]}
    usage = {"prompt_tokens": USAGE[0], "completion_tokens": USAGE[2], "prompt_tokens_details": details}
    yield event({**chunk({}), "choices": [], "usage": usage | {"total_tokens": USAGE[0] + USAGE[2]}})
    yield event("[DONE]")


def anthropic_event(kind: str, **fields: Any) -> bytes:
    return event({"type": kind, **fields}, kind)


def _anthropic(pieces: Sequence[Piece], finish: Finish) -> Iterator[bytes]:
    usage = {"input_tokens": USAGE[0] - USAGE[1], "cache_read_input_tokens": USAGE[1], "output_tokens": 1}
    message = {"id": "m1", "type": "message", "role": "assistant", "model": "stub", "content": []}
    empty = {"stop_reason": None, "stop_sequence": None}
    yield anthropic_event("message_start", message={**message, **empty, "usage": usage})
    for index, piece in enumerate(pieces):
        blocks: dict[str, Any]
        match piece:
            case Say(text):
                blocks = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": word} for word in _words(text)]
            case Think(text, signature):
                blocks = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [{"type": "thinking_delta", "thinking": word} for word in _words(text)]
                deltas.append({"type": "signature_delta", "signature": signature})
            case Ask(tool, arguments, id, step):
                blocks = {"type": "tool_use", "id": id or f"toolu_{index}", "name": tool, "input": {}}
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in _steps(arguments, step)]
        yield anthropic_event("content_block_start", index=index, content_block=blocks)
        for delta in deltas:
            yield anthropic_event("content_block_delta", index=index, delta=delta)
        yield anthropic_event("content_block_stop", index=index)
    stop = {"stop_reason": FINISHES["anthropic"].get(finish, finish), "stop_sequence": None}
    yield anthropic_event("message_delta", delta=stop, usage={"output_tokens": USAGE[2]})
    yield anthropic_event("message_stop")


def _responses(pieces: Sequence[Piece], finish: Finish) -> Iterator[bytes]:
    response: dict[str, Any] = {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "stub",
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "in_progress",
    }
    number = iter(range(10**9))

    def send(kind: str, **fields: Any) -> bytes:
        return event({"type": kind, "sequence_number": next(number), **fields}, kind)

    yield send("response.created", response=response)
    output = []
    for index, piece in enumerate(pieces):
        place: dict[str, Any] = {"output_index": index, "item_id": f"item_{index}"}
        match piece:
            case Say(text):
                item: dict[str, Any] = {"id": f"item_{index}", "type": "message", "role": "assistant"}
                yield send(
                    "response.output_item.added",
                    output_index=index,
                    item={**item, "content": [], "status": "in_progress"},
                )
                part = {"type": "output_text", "text": "", "annotations": []}
                yield send("response.content_part.added", **place, content_index=0, part=part)
                for word in _words(text):
                    yield send("response.output_text.delta", **place, content_index=0, delta=word, logprobs=[])
                item |= {"content": [{**part, "text": text}], "status": "completed"}
            case Think(text, signature):
                item = {"id": f"item_{index}", "type": "reasoning", "summary": []}
                yield send("response.output_item.added", output_index=index, item=item)
                part = {"type": "summary_text", "text": ""}
                yield send("response.reasoning_summary_part.added", **place, summary_index=0, part=part)
                for word in _words(text):
                    yield send("response.reasoning_summary_text.delta", **place, summary_index=0, delta=word)
                item = {**item, "summary": [{**part, "text": text}], "encrypted_content": signature}
            case Ask(tool, arguments, id, step):
                call_id = id or f"call_{index}"
                item = {"id": f"item_{index}", "type": "function_call", "call_id": call_id, "name": tool}
                yield send(
                    "response.output_item.added",
                    output_index=index,
                    item={**item, "arguments": "", "status": "in_progress"},
                )
                for delta in _steps(arguments, step):
                    yield send("response.function_call_arguments.delta", **place, delta=delta)
                yield send("response.function_call_arguments.done", **place, name=tool, arguments=arguments)
                item |= {"arguments": arguments, "status": "completed"}
        yield send("response.output_item.done", output_index=index, item=item)
        output.append(item)
    is_whole = finish in ("stop", "calls")
    usage = {
        "input_tokens": USAGE[0],
        "input_tokens_details": {"cached_tokens": USAGE[1]},
        "output_tokens": USAGE[2],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": USAGE[0] + USAGE[2],
    }
    ended = {**response, "output": output, "usage": usage, "status": "completed" if is_whole else "incomplete"}
    if not is_whole:
        ended["incomplete_details"] = {"reason": FINISHES["responses"].get(finish, finish)}
    yield send("response.completed" if is_whole else "response.incomplete", response=ended)


def _google(pieces: Sequence[Piece], finish: Finish) -> Iterator[bytes]:
    def send(parts: list[dict[str, Any]], **more: Any) -> bytes:
        candidate = {"content": {"parts": parts, "role": "model"}, "index": 0, **more}
        return event({"candidates": [candidate], "modelVersion": "stub", "responseId": "g1"})

    for index, piece in enumerate(pieces):
        match piece:
            case Say(text):
                for word in _words(text):
                    yield send([{"text": word}])
            case Think(text, _):
                for word in _words(text):
                    yield send([{"text": word, "thought": True}])
            case Ask(tool, arguments, id, _):
                call: dict[str, Any] = {"name": tool, "args": json.loads(arguments)}
                signature = base64.b64encode(b"signed").decode()
                numbered = {"id": given} if (given := _id(id, f"call_{index}")) else {}
                yield send([{"functionCall": {**call, **numbered}, "thoughtSignature": signature}])
    usage = {"promptTokenCount": USAGE[0], "cachedContentTokenCount": USAGE[1], "candidatesTokenCount": USAGE[2]}
    candidate = {
        "content": {"parts": [{"text": ""}], "role": "model"},
        "finishReason": FINISHES["google"].get(finish, finish),
    }
    yield event({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "stub", "responseId": "g1"})


_RENDERERS = {"chat": _chat, "anthropic": _anthropic, "responses": _responses, "google": _google}


def error_body(wire: Wire, message: str, kind: str = "error", status: int = 500) -> bytes:
    """Return the body of a refused request."""
    error: dict[str, Any] = {"message": message, "type": kind}
    match wire:
        case "anthropic":
            value: dict[str, Any] = {"type": "error", "error": error}
        case "google":
            value = {"error": {"code": status, "message": message, "status": kind.upper()}}
        case _:
            value = {"error": {**error, "code": kind, "param": None}}
    return json.dumps(value).encode()


def error_event(wire: Wire, message: str, kind: str) -> bytes:
    """Return an error inside a stream that has begun."""
    match wire:
        case "anthropic":
            return anthropic_event("error", error={"type": kind, "message": message})
        case "responses":
            return event(
                {"type": "error", "sequence_number": 9, "code": kind, "message": message, "param": None}, "error"
            )
        case "google":
            return event({"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}})
        case "chat":
            return event({"error": {"message": message, "type": kind, "code": kind}})


def keep_alive(wire: Wire) -> bytes:
    """Return what the server sends while it has nothing to say; Gemini sends nothing, and its package takes nothing."""
    return {"anthropic": anthropic_event("ping"), "google": b""}.get(wire, b": keep-alive\n\n")


def with_keep_alives(wire: Wire, events: Iterable[bytes]) -> list[bytes]:
    return [piece for one in events for piece in (one, keep_alive(wire)) if piece]
