"""What is served over HTTP: the routes behind the gate, and the listening sockets."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.types import ASGIApp

from madang.core.errors import SetupError
from madang.core.limits import MAX_BODY_BYTES
from madang.core.phrases import say
from madang.files.downloads import Downloads
from madang.server.downloads import DownloadRoute
from madang.server.gate import MCP, AccessPolicy, Gate, PolicyMount, PolicyRoute
from madang.server.sdk import HttpSessions, SdkServer

_NO_IPV6 = frozenset(
    getattr(errno, name)
    for name in ("EADDRNOTAVAIL", "EAFNOSUPPORT", "WSAEADDRNOTAVAIL", "WSAEAFNOSUPPORT")
    if hasattr(errno, name)
)


def http_app(
    server: SdkServer,
    access: AccessPolicy,
    downloads: Downloads | None = None,
    routes: Sequence[PolicyRoute | PolicyMount] = (),
    mcp_hosts: frozenset[str] | None = None,
) -> ASGIApp:
    """Return the ASGI app that serves MCP at /mcp, downloads if there are any, and further routes, behind one gate.

    `mcp_hosts` are the names under which MCP is served, if not all.
    """
    security = TransportSecuritySettings(allowed_hosts=sorted(access.hosts), allowed_origins=sorted(access.origins))
    sessions = HttpSessions(server, security, MAX_BODY_BYTES)
    served: list[PolicyRoute | PolicyMount] = [
        PolicyRoute("/mcp", sessions, policy=replace(MCP, hosts=mcp_hosts)),
        *routes,
    ]
    if downloads is not None:
        served.append(DownloadRoute(downloads))
    app = Starlette(routes=served, lifespan=lambda _: sessions.run())
    return Gate(app, access, served)


def local_policy(token: str, host: str, port: int) -> AccessPolicy:
    """Return the policy of a server on this machine: the names of the loopback interface, with this port."""
    names = {"127.0.0.1", "localhost", "[::1]"} if host in ("127.0.0.1", "localhost", "::1") else {host}
    hosts = frozenset(f"{name}:{port}" for name in names)
    return AccessPolicy(token, hosts, frozenset(f"http://{name}" for name in hosts))


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this machine; port 0 takes a free one.

    Raises:
        SetupError: the port is taken.
    """
    try:
        return _listen(host, port)
    except OSError as error:
        raise _cannot_listen(host, port, error) from None


def loopback_sockets(port: int) -> list[socket.socket]:
    """Return sockets on both loopback addresses, with the same port; port 0 takes a free one.

    `localhost` means either. Were one left free, another user of this machine could listen there and be sent the token,
    or be the content of our pages: only a machine without IPv6 does with one.

    Raises:
        SetupError: the port is taken on either address.
    """
    sockets = [listening_socket("127.0.0.1", port)]
    port = sockets[0].getsockname()[1]
    try:
        sockets.append(_listen("::1", port))
    except OSError as error:
        # No other error says that nobody can listen there: out of descriptors or of ports, somebody else may.
        if error.errno not in _NO_IPV6:
            sockets[0].close()
            raise _cannot_listen("::1", port, error) from None
    return sockets


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol: asyncio sets TCP_NODELAY only on a socket that says it is TCP. Without it the second part of an
    # answer waits for the acknowledgement of the first, which a client may delay by 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform == "win32":
            # There, another process could otherwise take over the port, with the tokens that clients send to it.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind((host, port))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def _cannot_listen(host: str, port: int, error: OSError) -> SetupError:
    return SetupError(
        say("Cannot listen on {host} port {port}: {reason}.", host=host, port=port, reason=error.strerror or error),
        hint=say("Use another port: 0 takes a free one."),
    )
