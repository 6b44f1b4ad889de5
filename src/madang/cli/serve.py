"""`madang mcp`: serve MCP over stdio to the client that started us, or over HTTP to clients on this machine."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from madang.cli.launcher import launch_command, shell_line
from madang.cli.shutdown import ShutdownClock
from madang.cli.terminal import show, show_note
from madang.core.errors import SetupError
from madang.core.phrases import layout, say
from madang.rendering.catalogue import translator
from madang.settings import Settings

LOCAL_HOSTS = ("127.0.0.1", "localhost", "::1")

SWITCH_INTERVAL_S = 0.0005
"""How long a busy Python thread keeps others waiting, a tenth of the default: a small call waits four or five times."""


def mcp(options: argparse.Namespace, settings: Settings) -> int:
    """Serve until the client disconnects or the person stops the process."""
    address = parse_address(options.http) if options.http is not None else None
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    # SIGTERM shuts down in order, as Ctrl-C does. By default it would end the process at once, and so would uvicorn,
    # which raises it again when it has finished.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if address is None and os.isatty(0):
        waiting = say(
            "Madang waits for an MCP client on standard input. To try a tool: madang call get_current_state. "
            "To connect a client: madang install. Ctrl-C stops."
        )
        show_note(waiting.render(translator(settings.locale)))
    with ShutdownClock() as clock:
        if address is None:
            clock.exit_code = asyncio.run(_serve_stdio(settings, clock))
        else:
            asyncio.run(_serve_http(settings, *address, clock))
    return clock.exit_code


def parse_address(text: str) -> tuple[str, int]:
    """Return host and port of HOST:PORT.

    Raises:
        SetupError: the text is not HOST:PORT, or the host is not this machine.
    """
    host, _, port = text.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdecimal() or len(port) > 5 or int(port) > 65535:
        raise SetupError(say("'{text}' is not HOST:PORT.", text=text), hint=say("For example: 127.0.0.1:8321"))
    if host not in LOCAL_HOSTS:
        raise SetupError(
            say("Madang serves HTTP only to this machine, not on '{host}'.", host=host),
            hint=say("Other machines need TLS and accounts, which Madang does not have yet. Use 127.0.0.1."),
        )
    return host, int(port)


# Imported by the function that serves: a client waits for the start, and the other commands need none of it.


@contextmanager
def _gc_paused() -> Iterator[None]:
    """Pause the garbage collector while modules load, then freeze their objects: they live as long as the process."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


async def _serve_stdio(settings: Settings, clock: ShutdownClock) -> int:
    with _gc_paused():
        from madang.app import open_madang
        from madang.server.mcp import McpServer

    task = asyncio.current_task()
    assert task is not None
    interruption = clock.cancel_on_signals(task)
    try:
        async with open_madang(settings) as madang:
            await madang.use_workspace(madang.call("mcp-stdio"))
            server = McpServer(
                madang.provider,
                madang.call("mcp-stdio"),
                settings.page_override,
                always_elicit=settings.ask == "elicit",
                pauses=madang.pauses,
            )
            await server.serve_stdio(clock.start)
    except asyncio.CancelledError:
        if not interruption.signal_number:
            raise
        return 128 + interruption.signal_number
    return 0


async def _serve_http(settings: Settings, host: str, port: int, clock: ShutdownClock) -> None:
    with _gc_paused():
        from madang.app import open_madang
        from madang.cli.tokens import kept_token
        from madang.server.health import Readiness, health_routes
        from madang.server.http import http_app, local_policy, loopback_sockets
        from madang.server.http_server import HttpServer
        from madang.server.mcp import McpServer
        from madang.server.welcome import WelcomeRoute

    with ExitStack() as opened:
        sockets = [opened.enter_context(socket) for socket in loopback_sockets(port)]
        port = sockets[0].getsockname()[1]
        kept = settings.token or kept_token(settings)
        token = kept or secrets.token_urlsafe(32)
        async with open_madang(settings, base_url(host, port)) as madang:
            await madang.use_workspace(madang.call("mcp-http"))
            server = McpServer(
                madang.provider,
                madang.call("mcp-http"),
                settings.page_override,
                always_elicit=settings.ask == "elicit",
                pauses=madang.pauses,
            )
            routes = [
                WelcomeRoute(settings.locale),
                *health_routes(Readiness(madang.database, madang.provider)),
            ]
            app = http_app(server.server, local_policy(token, host, port), madang.downloads, routes)
            show(how_to_connect(settings, host, port, token, is_kept=bool(kept)))
            serving = HttpServer(app)
            clock.start_with(serving)
            await serving.serve(sockets=sockets)


def base_url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def how_to_connect(settings: Settings, host: str, port: int, token: str, *, is_kept: bool = False) -> str:
    """Return how to connect clients to the server, for the person who started it.

    The token stands in no command line, which every account of the machine can see, and in no file of a project.
    """
    url = f"{base_url(host, port)}/mcp"
    entry = {"type": "http", "url": url, "headers": {"Authorization": "Bearer ${input:madang-token}"}}
    asked = {"type": "promptString", "id": "madang-token", "description": "Token of Madang", "password": True}
    config = json.dumps({"servers": {"madang": entry}, "inputs": [asked]}, indent=2)
    command = shell_line([*launch_command(), "mcp"])
    lines = [
        say("Madang serves MCP at {url}", url=url),
        say("Data folder: {folder}", folder=str(settings.data_dir)),
        say("Token: {token}", token=token)
        if is_kept
        else say("Token (new at each start; 'madang token' keeps one): {token}", token=token),
        layout(""),
        say("Clients that start Madang themselves need neither: madang install claude-desktop"),
        say(
            "(or claude-code, vscode, cursor, codex, gemini-cli, copilot-cli, opencode, goose). They run: {command}",
            command=command,
        ),
        layout(""),
        say("Clients that connect over HTTP, for example VS Code (.vscode/mcp.json), which asks for the token:"),
    ]
    ending = [
        layout(""),
        say("Keep the token out of command lines: other users of this machine can see them."),
        say("The MCP Inspector: npx @modelcontextprotocol/inspector {command}", command=command),
        say("Stop with Ctrl-C."),
    ]
    translate = translator(settings.locale)
    return "\n".join(
        [*(line.render(translate) for line in lines), config, *(line.render(translate) for line in ending)]
    )
