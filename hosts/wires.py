"""The four wires that hosts speak to a model: OpenAI chat and responses, Anthropic messages, Gemini.

Each reads a request into a `Conversation` and writes a `Reply` as the chunks that hosts want, streamed or whole.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any, Protocol

from hosts.conversation import Conversation, Offer, Reply, Turn, flatten, parsed

Body = dict[str, Any]
Chunk = tuple[str, Any]
"""The name of an event ("" for none) and its data."""


class Wire(Protocol):
    """One wire, without state."""

    def read(self, body: Body) -> Conversation:
        """Return what the request gives to the model."""

    def whole(self, reply: Reply) -> Body:
        """Return the reply to a request that does not stream."""

    def streamed(self, reply: Reply) -> Iterator[Chunk]:
        """Yield the reply to a request that streams."""


class ChatWire:
    """OpenAI chat completions."""

    def read(self, body: Body) -> Conversation:
        results = {
            message.get("tool_call_id"): flatten(message.get("content"))
            for message in body.get("messages", [])
            if message.get("role") == "tool"
        }
        calls = [call for message in body.get("messages", []) for call in message.get("tool_calls") or []]
        return Conversation(
            [Offer(tool["function"]["name"]) for tool in body.get("tools") or [] if "function" in tool],
            [
                Turn(call["function"]["name"], parsed(call["function"]["arguments"]), results[call["id"]])
                for call in calls
                if call["id"] in results
            ],
        )

    def whole(self, reply: Reply) -> Body:
        message = {"role": "assistant", **self._delta(reply)}
        choice = {"index": 0, "message": message, "finish_reason": self._reason(reply)}
        return {**self._head("chat.completion"), "choices": [choice], "usage": _OPENAI_USAGE}

    def streamed(self, reply: Reply) -> Iterator[Chunk]:
        head = self._head("chat.completion.chunk")
        delta = {"role": "assistant", **self._delta(reply)}
        yield "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield "", {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": self._reason(reply)}]}
        yield "", {**head, "choices": [], "usage": _OPENAI_USAGE}
        yield "", "[DONE]"

    def _delta(self, reply: Reply) -> Body:
        if isinstance(reply, str):
            return {"content": reply}
        function = {"name": reply.name, "arguments": json.dumps(reply.arguments)}
        return {
            "content": None,
            "tool_calls": [{"index": 0, "id": _id("call"), "type": "function", "function": function}],
        }

    def _reason(self, reply: Reply) -> str:
        return "stop" if isinstance(reply, str) else "tool_calls"

    def _head(self, kind: str) -> Body:
        return {"id": _id("chat"), "object": kind, "created": 1_700_000_000, "model": "scripted"}


class ResponsesWire:
    """OpenAI responses, with the tools of a server in a namespace and a search that the client executes (Codex)."""

    def read(self, body: Body) -> Conversation:
        items = body["input"] if isinstance(body.get("input"), list) else []
        outputs = {item.get("call_id"): item for item in items if str(item.get("type")).endswith("_output")}
        turns = []
        for item in items:
            output = outputs.get(item.get("call_id"))
            if output is None or item is output:
                continue
            result = flatten(output.get("output", output.get("tools")))
            name = (
                "tool_search" if item["type"] == "tool_search_call" else f"{item.get('namespace') or ''}{item['name']}"
            )
            turns.append(Turn(name, parsed(item.get("arguments")), result))
        offers = [offer for tool in body.get("tools") or [] for offer in self._offers(tool)]
        for item in outputs.values():
            offers += [offer for tool in item.get("tools") or [] for offer in self._offers(tool)]
        return Conversation(offers, turns)

    def whole(self, reply: Reply) -> Body:
        return {**self._head("completed"), "output": [self._item(reply)]}

    def streamed(self, reply: Reply) -> Iterator[Chunk]:
        item = self._item(reply)
        yield self._event("response.created", response=self._head("in_progress"))
        yield self._event("response.output_item.added", output_index=0, item=item)
        yield self._event("response.output_item.done", output_index=0, item=item)
        yield self._event("response.completed", response={**self._head("completed"), "output": [item]})

    def _offers(self, tool: Body) -> Iterator[Offer]:
        if tool.get("type") == "namespace":
            for member in tool.get("tools") or []:
                yield Offer(member["name"], tool["name"])
        else:
            yield Offer(tool.get("name") or tool["type"])

    def _item(self, reply: Reply) -> Body:
        if isinstance(reply, str):
            content = [{"type": "output_text", "text": reply, "annotations": []}]
            return {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": content}
        if reply.name == "tool_search":
            arguments = {"query": "madang playbook prompt chart file", "limit": 50}
            return {
                "type": "tool_search_call",
                "id": _id("ts"),
                "call_id": _id("call"),
                "execution": "client",
                "status": "completed",
                "arguments": arguments,
            }
        call: Body = {"type": "function_call", "id": _id("fc"), "call_id": _id("call"), "status": "completed"}
        call |= {"name": reply.name, "arguments": json.dumps(reply.arguments)}
        return call | ({"namespace": reply.namespace} if reply.namespace else {})

    def _event(self, kind: str, **fields: Any) -> Chunk:
        return kind, {"type": kind, **fields}

    def _head(self, status: str) -> Body:
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
        return {
            "id": _id("resp"),
            "object": "response",
            "status": status,
            "model": "scripted",
            "usage": usage,
            "output": [],
        }


class MessagesWire:
    """Anthropic messages."""

    def read(self, body: Body) -> Conversation:
        blocks = [
            block
            for message in body.get("messages", [])
            if isinstance(message.get("content"), list)
            for block in message["content"]
        ]
        results = {block["tool_use_id"]: block for block in blocks if block.get("type") == "tool_result"}
        return Conversation(
            [Offer(tool["name"]) for tool in body.get("tools") or [] if not tool.get("defer_loading")],
            [
                Turn(block["name"], parsed(block["input"]), flatten(results[block["id"]].get("content")))
                for block in blocks
                if block.get("type") == "tool_use" and block["id"] in results
            ],
        )

    def whole(self, reply: Reply) -> Body:
        return {**self._message(), "content": [self._block(reply)], "stop_reason": self._reason(reply)}

    def streamed(self, reply: Reply) -> Iterator[Chunk]:
        block = self._block(reply)
        if isinstance(reply, str):
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": reply}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(reply.arguments)}
        stop = {"stop_reason": self._reason(reply), "stop_sequence": None}
        yield self._event("message_start", message=self._message())
        yield self._event("content_block_start", index=0, content_block=start)
        yield self._event("content_block_delta", index=0, delta=delta)
        yield self._event("content_block_stop", index=0)
        yield self._event("message_delta", delta=stop, usage={"output_tokens": 5})
        yield self._event("message_stop")

    def _block(self, reply: Reply) -> Body:
        if isinstance(reply, str):
            return {"type": "text", "text": reply}
        return {"type": "tool_use", "id": _id("toolu"), "name": reply.name, "input": reply.arguments}

    def _reason(self, reply: Reply) -> str:
        return "end_turn" if isinstance(reply, str) else "tool_use"

    def _event(self, kind: str, **fields: Any) -> Chunk:
        return kind, {"type": kind, **fields}

    def _message(self) -> Body:
        head = {"id": _id("msg"), "type": "message", "role": "assistant", "model": "scripted", "content": []}
        return {**head, "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}


class GeminiWire:
    """Gemini generateContent."""

    def read(self, body: Body) -> Conversation:
        parts = [part for content in body.get("contents", []) for part in content.get("parts", [])]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
        offers = [
            Offer(declaration["name"])
            for tool in body.get("tools") or []
            for declaration in tool.get("functionDeclarations") or []
        ]
        turns = [
            Turn(call["name"], call.get("args") or {}, self._result(response.get("response")))
            for call, response in zip(calls, responses, strict=False)
        ]
        return Conversation(offers, turns)

    def whole(self, reply: Reply) -> Body:
        if isinstance(reply, str):
            part: Body = {"text": reply}
        else:
            part = {"functionCall": {"name": reply.name, "args": reply.arguments}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}

    def streamed(self, reply: Reply) -> Iterator[Chunk]:
        yield "", self.whole(reply)

    def _result(self, response: Any) -> str:
        if isinstance(response, dict) and set(response) <= {"output"}:
            return flatten(response.get("output", ""))
        return flatten(response)


_OPENAI_USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:20]}"
