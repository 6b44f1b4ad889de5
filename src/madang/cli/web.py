"""`madang web`: the chat in the browser, on this machine. A second one on the same data folder opens the first."""

from __future__ import annotations

import argparse
import asyncio
import html
import http.client
import json
import os
import signal
import socket
import sys
import time
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from madang.cli.conversation import absolute_model
from madang.cli.serve import SWITCH_INTERVAL_S
from madang.cli.shutdown import ShutdownClock
from madang.cli.terminal import show, show_note
from madang.cli.tokens import browser_token, kept_token, new_token
from madang.core.errors import SetupError
from madang.core.phrases import Phrase, say
from madang.rendering.catalogue import translator
from madang.settings import Settings, prepare_data_dir
from madang.storage.locks import try_lock

if TYPE_CHECKING:
    from madang.host.live import LiveReaders

DEFAULT_PORT = 8321
FREE_PORT_TRIES = 20
START_WAIT_S = 10.0


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Serve the chat until the person stops the process, or open the one that is running."""
    if options.port is not None and not 0 <= options.port <= 65535:
        raise SetupError(say("'{port}' is no port.", port=options.port))
    settings = replace(settings, model=absolute_model(options.model or settings.model))
    prepare_data_dir(settings.data_dir)
    with _instance(settings) as is_first:
        if not is_first:
            return _open_running(options, settings)
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        # uvicorn raises the signal again when it has finished, which by default would end the process before its parts
        # are closed.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        with ShutdownClock() as clock:
            asyncio.run(_serve(options, settings, clock))
        return clock.exit_code


@contextmanager
def _instance(settings: Settings) -> Iterator[bool]:
    """Be the one host of a data folder, for as long as the process lives; False if another one is."""
    fd = os.open(settings.data_dir / "web.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        is_first = try_lock(fd)
        if is_first:
            _port_path(settings).unlink(missing_ok=True)
        yield is_first
    finally:
        os.close(fd)


def _port_path(settings: Settings) -> Path:
    return settings.data_dir / "web.port"


def _open_running(options: argparse.Namespace, settings: Settings) -> int:
    """Open the host that is running on the same data folder.

    It is asked with the browser token, which only its data folder has; the port is the one that it wrote there while it
    holds the lock, so no other program is sent the token.
    """
    until = time.monotonic() + START_WAIT_S
    while time.monotonic() < until:
        with suppress(OSError, ValueError, KeyError, http.client.HTTPException):
            port = int(_port_path(settings).read_text(encoding="ascii"))
            url = f"http://127.0.0.1:{port}/#launch={_ask_code(port, browser_token(settings))}"
            _say(settings, say("Madang is running already: {url}", url=url))
            if not options.no_open:
                _open_browser(settings, url)
                time.sleep(1.0)  # the browser has to read the file before it goes
            return 0
        time.sleep(0.2)
    raise SetupError(
        say("Another Madang has this data folder, and does not answer."),
        hint=say("Stop it, or use another folder with --data-dir."),
    )


def _ask_code(port: int, token: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        connection.request("POST", "/api/launch-codes", b"{}", headers)
        answer = connection.getresponse()
        if answer.status != 201:
            raise ValueError(answer.status)
        return str(json.loads(answer.read(4096))["code"])
    finally:
        connection.close()


async def _serve(options: argparse.Namespace, settings: Settings, clock: ShutdownClock) -> None:
    # Imported here: the second one of a folder needs none of it.
    from madang.host_app import open_web_host
    from madang.llm.keys import KeyStore
    from madang.llm.opening import open_model
    from madang.server.http_server import HttpServer

    keys = KeyStore(settings.data_dir, os.environ)
    with ExitStack() as opened:
        sockets = [opened.enter_context(one) for one in _sockets(options, settings)]
        port = sockets[0].getsockname()[1]
        client_token = settings.token or kept_token(settings) or new_token(settings.token_path)
        async with open_web_host(
            settings,
            lambda name: open_model(name, settings.models, keys),
            port,
            client_token=client_token,
            browser_token=browser_token(settings),
        ) as host:
            await host.agent.madang.use_workspace(host.agent.madang.call("host"))
            serving = HttpServer(host.app)
            clock.start_with(serving)
            _write_port(settings, port)
            url = host.launch_url()
            _say(settings, say("Madang: {url}", url=url))
            _say(settings, say("It opens one tab within a minute; 'madang web' opens another. Stop with Ctrl-C."))
            if not options.no_open:
                _open_browser(settings, url)
            _end_streams_at_exit(serving, host.readers)
            try:
                await serving.serve(sockets=sockets)
            finally:
                for path in (_port_path(settings), _launch_path(settings)):
                    path.unlink(missing_ok=True)


def _end_streams_at_exit(serving: Any, readers: LiveReaders) -> None:
    """End the streams as soon as the server is to stop: it would wait for them."""
    loop, handle_exit = asyncio.get_running_loop(), serving.handle_exit

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(readers.end)
        handle_exit(number, frame)

    serving.handle_exit = handle


def _sockets(options: argparse.Namespace, settings: Settings) -> list[socket.socket]:
    """Return sockets on both loopback addresses: the port that is asked for, else the usual one, else a free one."""
    from madang.server.http import loopback_sockets

    if options.port:
        return loopback_sockets(options.port)
    if options.port is None:
        try:
            return loopback_sockets(DEFAULT_PORT)
        except SetupError:
            show_note(_words(settings, say("Another program has port {port}; a free one is used.", port=DEFAULT_PORT)))
    for _ in range(FREE_PORT_TRIES - 1):
        # A port that is free on one address may be taken on the other, and then it is somebody else's.
        with suppress(SetupError):
            return loopback_sockets(0)
    return loopback_sockets(0)


def _write_port(settings: Settings, port: int) -> None:
    fd = os.open(_port_path(settings), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="ascii") as file:
        file.write(str(port))


def _launch_path(settings: Settings) -> Path:
    return settings.data_dir / "open.html"


def _open_browser(settings: Settings, url: str) -> None:
    """Open the browser by a file that only its owner can read: other users can see command lines."""
    path = _launch_path(settings)
    page = f'<!doctype html><meta http-equiv="refresh" content="0;url={html.escape(url)}"><title>Madang</title>'
    try:
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(page)
        is_opened = webbrowser.open(path.absolute().as_uri())
    except (OSError, webbrowser.Error):
        is_opened = False
    if not is_opened:
        show_note(_words(settings, say("No browser could be opened: open the address above.")))


def _say(settings: Settings, phrase: Phrase) -> None:
    show(_words(settings, phrase))


def _words(settings: Settings, phrase: Phrase) -> str:
    return phrase.render(translator(settings.locale))
