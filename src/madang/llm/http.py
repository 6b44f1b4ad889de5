"""The HTTP client below a model, and its clock. Imported when a model is first asked."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from types import TracebackType
from typing import Self

import httpx2

from madang import __version__
from madang.core.errors import SetupError
from madang.core.phrases import say
from madang.llm.connection import Connection, RequestListener, is_loopback


def open_client(connection: Connection) -> httpx2.AsyncClient:
    """Return a client that keeps connections for the next request.

    It follows no redirect: keys and conversations go to the server that was named and to no other. The proxy of the
    environment counts for other machines only, so that what is on this one is never sent out.

    Raises:
        SetupError: the file of certificates or the proxy cannot be used.
    """
    limits = connection.limits
    proxy = connection.proxy.get_secret_value() if connection.proxy else None
    try:
        return httpx2.AsyncClient(
            verify=_tls(connection),
            proxy=proxy,
            trust_env=proxy is None and not is_loopback(connection.url),
            follow_redirects=False,
            # Reads have our own limits, which know an event from a comment.
            timeout=httpx2.Timeout(None, connect=limits.connect_s, write=limits.idle_s),
            # Each of many runs has its own connection; the default would let the 101st wait for the first to end.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60.0),
            headers={"user-agent": f"madang/{__version__}", "accept-encoding": "identity"},
            event_hooks={"request": [_RequestWatch(connection.on_request)] if connection.on_request else []},
        )
    except (ValueError, httpx2.InvalidURL):
        # Not the words of the error: they may hold the proxy's password.
        raise SetupError(say("The proxy of the model's server is not an address that can be used.")) from None


class _RequestWatch:
    """Tells of each request that does not stay on this computer."""

    def __init__(self, listener: RequestListener) -> None:
        self._listener = listener

    async def __call__(self, request: httpx2.Request) -> None:
        if not is_loopback(str(request.url)):
            self._listener(request.url.host)


def _tls(connection: Connection) -> ssl.SSLContext | bool:
    if connection.ca_file:
        try:
            return ssl.create_default_context(cafile=connection.ca_file)
        except (OSError, ssl.SSLError) as error:
            reason = error.strerror or str(error)
            path = connection.ca_file
            raise SetupError(
                say("The certificates {path} cannot be used: {reason}.", path=path, reason=reason)
            ) from None
    if connection.url.startswith("http:"):
        # No TLS, so no certificates are loaded, which takes 20 ms; this context trusts nothing.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return True


TRACKED_HEADER = "x-madang-request"
"""By this a request is known below a vendor's package. It is taken off before it is sent."""


class ResponseTracker:
    """The responses that a vendor's package has open, so that they can be closed when the package forgets to."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._responses: dict[str, httpx2.Response] = {}
        before = client.event_hooks
        client.event_hooks = {
            "request": [*before["request"], self._sent],
            "response": [*before["response"], self._answered],
        }

    async def close(self, id: str) -> None:
        """Close the response to a request, if it is open."""
        response = self._responses.pop(id, None)
        if response is not None and not response.is_closed:
            await response.aclose()

    async def _sent(self, request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, TRACKED_HEADER: request.headers.pop(TRACKED_HEADER, "")}

    async def _answered(self, response: httpx2.Response) -> None:
        id = response.request.extensions.get(TRACKED_HEADER)
        if id:
            self._responses[id] = response


class Watchdog:
    """Breaks the connection of a response off when nothing resets it in time.

    A timeout around each read would cost as much as all else that is done for a delta; a reset is an assignment. The
    blocked read then ends as if the server were gone, and `has_expired` tells the two apart.
    """

    def __init__(self, response: httpx2.Response) -> None:
        self.has_expired = False
        self._loop = asyncio.get_running_loop()
        self._stream = response.extensions.get("network_stream")
        self._deadline = self._looks_at = float("inf")
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def reset(self, seconds: float) -> None:
        """Let it expire so many seconds from now."""
        self._deadline = self._loop.time() + seconds
        if self._deadline < self._looks_at:
            self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._looks_at = self._deadline
        self._timer = self._loop.call_at(self._looks_at, self._look)

    def _look(self) -> None:
        if self._loop.time() < self._deadline:  # it was reset meanwhile
            self._arm()
            return
        self.has_expired = True
        connection = self._stream.get_extra_info("socket") if self._stream is not None else None
        if connection is not None:
            with suppress(OSError):  # it is closed already
                connection.shutdown(socket.SHUT_RDWR)
