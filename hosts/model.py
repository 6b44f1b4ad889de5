"""The scripted model: a loopback server that speaks all four wires and keeps every request it got."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from hosts.conversation import Conversation, next_reply
from hosts.script import STEPS, Step
from hosts.wires import Body, ChatWire, Chunk, GeminiWire, MessagesWire, ResponsesWire, Wire

SEARCH_PAUSE_S = 1.0
"""How long the model takes before it looks for its tools again, so that a server has time to start."""


class ScriptedModel:
    """Plays the script to any client, and remembers what each of our tools' results looked like to it."""

    def __init__(self, steps: Sequence[Step] = STEPS) -> None:
        self._steps = steps
        self.requests: list[tuple[str, Body]] = []
        self.conversations: list[Conversation] = []

    def given(self) -> list[str]:
        """Return the result of each step at the moment it was new: a host may shorten what is older."""
        results: list[str] = []
        for conversation in self.conversations:
            results += conversation.results[len(results) :]
        return results

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/{path:path}", self._answer, methods=["GET", "POST", "HEAD"])])

    async def _answer(self, request: Request) -> Response:
        path = request.path_params["path"]
        content = await request.body()
        body: Body = json.loads(content) if content else {}
        self.requests.append((f"{request.method} /{path}", body))
        if "count_tokens" in path or "countTokens" in path:
            return JSONResponse({"input_tokens": 100, "totalTokens": 100})
        wire, streams = _wire(path, body)
        if wire is None:
            model = {"id": "scripted", "object": "model", "type": "model", "display_name": "Scripted"}
            return JSONResponse({"object": "list", "data": [model], "models": []})
        conversation = wire.read(body)
        self.conversations.append(conversation)
        reply = next_reply(conversation, self._steps)
        if conversation.is_waiting:
            await anyio.sleep(SEARCH_PAUSE_S)
        if not streams:
            return JSONResponse(wire.whole(reply))
        return StreamingResponse(_events(wire.streamed(reply)), media_type="text/event-stream")


def _wire(path: str, body: Body) -> tuple[Wire | None, bool]:
    streams = bool(body.get("stream"))
    if path.endswith("chat/completions"):
        return ChatWire(), streams
    if path.endswith("responses"):
        return ResponsesWire(), streams
    if path.endswith("messages"):
        return MessagesWire(), streams
    if path.endswith("enerateContent"):
        return GeminiWire(), path.endswith("streamGenerateContent")
    return None, False


def _events(chunks: Iterator[Chunk]) -> Iterator[str]:
    for event, data in chunks:
        text = data if isinstance(data, str) else json.dumps(data)
        yield (f"event: {event}\n" if event else "") + f"data: {text}\n\n"


@asynccontextmanager
async def serving(app: Starlette) -> AsyncIterator[int]:
    """Serve an application on a free port of this machine; gives the port."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve)
        while not server.started:  # noqa: ASYNC110 - uvicorn tells it in no other way
            await anyio.sleep(0.02)
        yield server.servers[0].sockets[0].getsockname()[1]
        server.should_exit = True
