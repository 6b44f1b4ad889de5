"""`connect`: opens a connection to a server in this process, over HTTP, or over stdio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from madang import __version__
from madang.client.backends import Backend, HasTools, McpBackend, ProviderBackend, connection_lost
from madang.client.proxy import ServerProxy
from madang.core.calls import Call
from madang.core.errors import SetupError
from madang.core.phrases import say

if TYPE_CHECKING:
    from mcp import Client, ClientSession, StdioServerParameters
    from mcp.client import Transport
    from mcp.server import MCPServer, Server

    Target: TypeAlias = (
        HasTools
        | str
        | Sequence[str]
        | StdioServerParameters
        | Transport
        | Client
        | ClientSession
        | MCPServer
        | Server[Any]
    )

CLIENT_NAME = "madang-python"
"""Madang servers recognise a program by it: they send no pages and list the tools for the person."""

MAX_SILENCE_S = 300.0


@asynccontextmanager
async def connect(
    server: Target,
    call: Call | None = None,
    *,
    token: str = "",
    assistant: str = "",
    session: str = "",
    timeout_s: float = 60.0,
) -> AsyncIterator[ServerProxy]:
    """Connect to a server and list its tools. The connection is closed at the end, unless it was passed in open.

    `server` is a provider in this process (`call` then says whose calls they are), the address of a server over HTTP
    (with its `token`), a command that speaks MCP over standard input and output (`["madang", "mcp"]`), or what the MCP
    SDK connects to, an open client or session of it included. `assistant` and `session` name the context of each call
    over MCP; without them a Madang server uses its own. `timeout_s` is for one request over MCP.

    Raises:
        SetupError: the server cannot be reached, or what it lists is beyond all bounds.
        RequestError: it does not let its tools be listed.
        ConnectionLost: the server is gone; also raised by the call that was under way and by later ones.
    """
    failure: Exception | None = None
    try:
        async with AsyncExitStack() as opened:
            try:
                proxy = ServerProxy(await _backend(server, call, token, assistant, session, timeout_s, opened))
                await proxy.refresh()
                yield proxy
            except Exception as error:
                # The SDK's task groups would wrap it in an ExceptionGroup, which no `except NotFound` catches.
                failure = error
    except Exception as error:
        # A broken connection also fails to close; the first failure is the one to raise.
        if failure is None:
            if isinstance(error, ExceptionGroup):
                # A transport that broke between calls; the SDK's task groups tell it only in this way.
                raise connection_lost(_reason(error)) from error
            raise
    if failure is not None:
        raise failure


async def _backend(
    server: Any, call: Call | None, token: str, assistant: str, session: str, timeout_s: float, opened: AsyncExitStack
) -> Backend:
    if isinstance(server, HasTools):
        if token or assistant or session:
            raise TypeError("A provider in this process takes a Call; token, assistant and session are for MCP.")
        return ProviderBackend(server, call or Call(pages="off"))
    if call is not None:
        raise TypeError("A Call is for a provider in this process; over MCP name the assistant and the session.")
    meta = {"madang/assistantId": assistant, "madang/sessionId": session}
    client = await _opened(server, token, timeout_s, opened)
    return McpBackend(client, {key: value for key, value in meta.items() if value})


async def _opened(server: Any, token: str, timeout_s: float, opened: AsyncExitStack) -> Client | ClientSession:
    # Imported here: `unwrap` alone needs neither the time nor the memory that the SDK takes.
    from mcp import Client, ClientSession, StdioServerParameters
    from mcp_types import Implementation

    if isinstance(server, (Client, ClientSession)):
        return server
    if isinstance(server, str):
        if not server.startswith(("http://", "https://")):
            raise ValueError(f"{server!r} is not the URL of a server; pass a command as a list.")
        server = await _http(server, token, timeout_s, opened)
    elif token:
        raise TypeError("A token is for a server over HTTP.")
    elif isinstance(server, Sequence):
        command, *arguments = server
        server = StdioServerParameters(command=command, args=arguments)
    info = Implementation(name=CLIENT_NAME, version=__version__)
    try:
        return await opened.enter_async_context(Client(server, client_info=info, read_timeout_seconds=timeout_s))
    except Exception as error:
        raise SetupError(
            say("The server cannot be reached: {reason}.", reason=_reason(error)),
            hint=say("Check its address or command, and the token if it wants one."),
        ) from error


async def _http(address: str, token: str, timeout_s: float, opened: AsyncExitStack) -> Any:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from madang.client.http import MAX_MESSAGE_BYTES, MessageClient

    headers = {"Authorization": f"Bearer {token}"} if token else {}
    # A server may keep an idle stream open for long: the timeout of a request does not apply to it.
    timeout = httpx2.Timeout(timeout_s, read=max(timeout_s, MAX_SILENCE_S))
    client = await opened.enter_async_context(MessageClient(headers=headers, timeout=timeout))
    return streamable_http_client(address, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES)


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error).rstrip(".") or type(error).__name__
