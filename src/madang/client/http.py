"""The HTTP client below a connection: a broken connection or a boundless body becomes the answer of that one request.

The MCP SDK lets both out of its task group instead: that cancels the whole program around them and ends in an
ExceptionGroup. Imported only when a connection over HTTP is opened.
"""

from __future__ import annotations

from typing import Any

import httpx2
from mcp_types import INTERNAL_ERROR

from madang.core.errors import ConnectionLost

MAX_MESSAGE_BYTES = 32 * 2**20


class MessageClient(httpx2.AsyncClient):
    """An HTTP client whose every request gets an answer; a failure is a JSON-RPC error, for the call that sent it."""

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await super().send(request, **options)
            if response.headers.get("content-type", "").lower().startswith("application/json"):
                return await _read_whole(response, request)
        except httpx2.TransportError as error:
            reason = str(error).rstrip(".") or type(error).__name__
            return _failure(request, 502, reason, data={"code": ConnectionLost.code})
        return response


async def _read_whole(response: httpx2.Response, request: httpx2.Request) -> httpx2.Response:
    """Read a message here, where its size is counted as it is decompressed and a broken connection is caught."""
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_MESSAGE_BYTES:
                return _failure(request, 502, f"The answer is larger than {MAX_MESSAGE_BYTES // 2**20} MB")
    except httpx2.DecodingError as error:
        return _failure(request, 502, f"The answer cannot be decompressed: {error}")
    finally:
        await response.aclose()
    encoded = ("content-encoding", "content-length", "transfer-encoding")
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in encoded]
    return httpx2.Response(response.status_code, headers=headers, content=bytes(body), request=request)


def _failure(request: httpx2.Request, status: int, message: str, data: Any = None) -> httpx2.Response:
    error = {"code": INTERNAL_ERROR, "message": message, **({"data": data} if data else {})}
    body = {"jsonrpc": "2.0", "id": None, "error": error}
    return httpx2.Response(status, json=body, request=request)
