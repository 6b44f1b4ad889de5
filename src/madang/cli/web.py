"""`madang web`: the chat in the browser, on this machine. A second one on the same data folder opens the first."""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from madang.cli.browser import forward_command, has_screen, open_browser, remove_launch_file
from madang.cli.conversation import absolute_models
from madang.cli.language import words
from madang.cli.launcher import shell_line, typed_command
from madang.cli.serve import SWITCH_INTERVAL_S
from madang.cli.shutdown import ShutdownClock
from madang.cli.terminal import show, show_note
from madang.cli.tokens import browser_token, kept_browser_token, kept_token, new_token
from madang.core.errors import SetupError
from madang.core.phrases import Phrase, say
from madang.settings import Settings, prepare_data_dir
from madang.system.locks import try_lock

if TYPE_CHECKING:
    from madang.host.live import LiveReaders
    from madang.host_app import WebHost

DEFAULT_PORT = 8321
NEXT_PORTS = 20
"""How many ports after the usual one are tried before any free one is taken."""
FREE_PORT_TRIES = 20
START_WAIT_S = 10.0
BROWSER_WAIT_S = 10.0
"""How long a browser may take before the person is told what to do."""


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Serve the chat until the person stops the process, or open the one that is running."""
    if options.port is not None and not 0 <= options.port <= 65535:
        raise SetupError(say("'{port}' is no port.", port=options.port))
    settings = replace(settings, model=absolute_models(options.model or settings.model))
    prepare_data_dir(settings.data_dir)
    with _instance(settings) as is_first:
        if not is_first:
            return _open_running(options, settings)
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        # uvicorn raises the signal again when it has finished, which by default would end the process before its parts
        # are closed.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        with ShutdownClock() as clock:
            if asyncio.run(_serve(options, settings, clock)):
                clock.cancel()  # what the person has asked for is done whatever it takes, also beside a busy thread
                clock.exit_code = _delete_data(settings)
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
            url = f"http://127.0.0.1:{port}/#launch={_ask_code(port, kept_browser_token(settings))}"
            _say(settings, say("Madang is running already: {url}", url=url))
            _say(settings, say("This address lets one tab in, within a minute."))
            if options.model or options.port is not None:
                _note(settings, say("Its model and its port are those that it was started with."))
            if _show_tab(options, settings, port, url):
                time.sleep(1.0)  # the browser has to read the file before it goes
                remove_launch_file(settings.data_dir)
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
        if answer.status == 401:
            raise SetupError(
                say("The Madang that is running was started before its token was changed."),
                hint=say("Stop it, and start it again."),
            )
        if answer.status != 201:
            raise ValueError(answer.status)
        return str(json.loads(answer.read(4096))["code"])
    finally:
        connection.close()


async def _serve(options: argparse.Namespace, settings: Settings, clock: ShutdownClock) -> bool:
    """Serve the host, and return whether all data is to be deleted now that it has stopped."""
    # Imported here: the second one of a folder needs none of it.
    from madang.cli.exports import export_everything
    from madang.cli.workspace import offer_agents_file
    from madang.host_app import open_web_host
    from madang.llm.keys import KeyStore
    from madang.llm.opening import open_model
    from madang.server.http_server import HttpServer

    keys = KeyStore(settings.data_dir, os.environ)
    configs = dict(settings.models)  # those that are added in the browser can be opened at once
    with ExitStack() as opened:
        sockets = [opened.enter_context(one) for one in _sockets(options, settings)]
        port = sockets[0].getsockname()[1]
        client_token = settings.token or kept_token(settings) or new_token(settings.token_path)
        async with open_web_host(
            settings,
            lambda name: open_model(name, configs, keys),
            port,
            configs=configs,
            keys=keys,
            export=export_everything,
            client_token=client_token,
            browser_token=browser_token(settings),
        ) as host:
            call = host.agent.madang.call("host")
            await host.agent.madang.use_workspace(call)
            await offer_agents_file(host.agent.madang, call, may_ask=False)
            serving = HttpServer(host.app)
            clock.start_with(serving)
            _write_port(settings, port)
            _end_streams_at_exit(serving, host.readers)
            host.ending.connect(partial(_stop, serving, host.readers))
            started = asyncio.create_task(_invite(options, settings, host))
            try:
                await serving.serve(sockets=sockets)
            finally:
                started.cancel()
                _port_path(settings).unlink(missing_ok=True)
                remove_launch_file(settings.data_dir)
        return host.ending.deletes_data


async def _invite(options: argparse.Namespace, settings: Settings, host: WebHost) -> None:
    """Tell the person where the chat is, and open it, if there is a screen."""
    origin, url = host.address.origin, host.launch_url()
    folder = ("--data-dir", str(settings.data_dir)) if options.data_dir else ()
    another, token = typed_command("web", *folder), typed_command("token", *folder)
    lines = (
        say("Madang: {url}", url=url),
        say("This address lets one tab in, within a minute; for another: {command}", command=another),
        say("MCP clients: {url}, with the token of: {command}", url=f"{origin}/mcp", command=token),
        say("Data folder: {folder}", folder=str(settings.data_dir)),
        say("Stop with Ctrl-C."),
    )
    for line in lines:
        _say(settings, line)
    if not host.has_front_end:
        _note(settings, say("The front end is not built: {url} says how to get it.", url=origin))
    # In a thread: some systems answer only when the browser has started.
    if await asyncio.to_thread(_show_tab, options, settings, host.address.port, url):
        await asyncio.sleep(BROWSER_WAIT_S)
        remove_launch_file(settings.data_dir)
        if host.has_front_end and not host.codes.were_used:
            _note(
                settings,
                say("If no tab has opened, open the address yourself: browsers in a sandbox cannot read our files."),
            )


def _show_tab(options: argparse.Namespace, settings: Settings, port: int, url: str) -> bool:
    """Open a tab, and tell whether a browser was started; where there is no screen, say how to come from elsewhere."""
    if has_screen(os.environ):
        if options.no_open:
            return False
        if open_browser(settings.data_dir, url):
            return True
        _note(settings, say("No browser could be opened: open the address above."))
        return False
    if "SSH_CONNECTION" in os.environ or not options.no_open:
        command = shell_line(forward_command(os.environ, port))
        _note(settings, say("To open it on another computer, run there first: {command}", command=command))
    return False


def _stop(serving: Any, readers: LiveReaders) -> None:
    """Stop a host that the person has ended in the browser."""
    readers.end()
    serving.should_exit = True


def _delete_data(settings: Settings) -> int:
    """Delete everything, as the person has asked for in the browser. Nothing of this process uses it any more."""
    from madang.records.data_folder import delete_folder_contents

    others = delete_folder_contents(settings.data_dir)
    text = say("Deleted: {folder} is empty.", folder=str(settings.data_dir))
    if others:
        text = say("Deleted, but for what is not Madang's: {names}", names=", ".join(others))
    _say(settings, text)
    return 0


def _end_streams_at_exit(serving: Any, readers: LiveReaders) -> None:
    """End the streams as soon as the server is to stop: it would wait for them."""
    loop, handle_exit = asyncio.get_running_loop(), serving.handle_exit

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(readers.end)
        handle_exit(number, frame)

    serving.handle_exit = handle


def _sockets(options: argparse.Namespace, settings: Settings) -> list[socket.socket]:
    """Return sockets on both loopback addresses: the port that is asked for, else the usual one or the next free one.

    A port that is free on one address may be taken on the other, and then it is somebody else's.
    """
    from madang.server.http import loopback_sockets

    if options.port:
        try:
            return loopback_sockets(options.port)
        except SetupError as error:
            raise SetupError(error.message, hint=say("Use another port: --port 0 takes a free one.")) from None
    if options.port is None:
        for port in range(DEFAULT_PORT, DEFAULT_PORT + 1 + NEXT_PORTS):
            with suppress(SetupError):
                sockets = loopback_sockets(port)
                if port != DEFAULT_PORT:
                    changed = say("Another program has port {taken}: this is {port}.", taken=DEFAULT_PORT, port=port)
                    _note(settings, changed)
                return sockets
    for _ in range(FREE_PORT_TRIES - 1):
        with suppress(SetupError):
            return loopback_sockets(0)
    return loopback_sockets(0)


def _write_port(settings: Settings, port: int) -> None:
    fd = os.open(_port_path(settings), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="ascii") as file:
        file.write(str(port))


def _say(settings: Settings, phrase: Phrase) -> None:
    show(words(settings, phrase))


def _note(settings: Settings, phrase: Phrase) -> None:
    show_note(words(settings, phrase))
