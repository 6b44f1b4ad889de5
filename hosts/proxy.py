"""A recording proxy before `madang mcp --http`: the HTTP twin of `pipe.py`, writing the same file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import httpx2 as httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

_HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding", "accept-encoding"}


def recording_proxy(address: str, record: Path) -> Starlette:
    """Return an application that passes every request on to the server at `address` and writes down both sides."""
    client = httpx.AsyncClient(timeout=None)
    numbers = count(1)

    async def forward(request: Request) -> Response:
        number = next(numbers)
        body = await request.body()
        if body:
            _write(record, f"client#{number}", body.decode())
        url = httpx.URL(address).copy_with(path=request.url.path, query=request.url.query.encode())
        headers = [(name, value) for name, value in request.headers.items() if name not in _HOP_BY_HOP]
        answer = await client.send(
            client.build_request(request.method, url, headers=headers, content=body), stream=True
        )

        async def chunks() -> AsyncIterator[bytes]:
            received = b""
            try:
                async for chunk in answer.aiter_bytes():
                    received += chunk
                    yield chunk
            finally:
                await answer.aclose()
                for message in _json_lines(received.decode(errors="replace")):
                    _write(record, f"server#{number}", message)

        kept = {name: value for name, value in answer.headers.items() if name not in {*_HOP_BY_HOP, "content-encoding"}}
        return StreamingResponse(chunks(), answer.status_code, kept)

    return Starlette(routes=[Route("/{path:path}", forward, methods=["GET", "POST", "DELETE", "HEAD"])])


def _json_lines(body: str) -> Iterator[str]:
    """Yield the messages of a body, whether it is JSON or a stream of events."""
    for line in body.splitlines():
        text = line.removeprefix("data:").strip()
        if text.startswith("{"):
            yield text


def _write(record: Path, sender: str, message: str) -> None:
    try:
        line = json.dumps(json.loads(message))
    except ValueError:
        return
    with record.open("a") as file:
        file.write(f"{sender} {line}\n")
