"""Firefox over WebDriver BiDi, its own protocol: as much of it as one story needs."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

START_S = 60
_LISTENING = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")
_NAMES = ("firefox-esr", "firefox")
ENTER = "\ue007"


def installed_firefox() -> str:
    """Return where the installed Firefox is."""
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    raise FileNotFoundError(f"None of {', '.join(_NAMES)} is on the PATH: scripts/system-packages installs one.")


class Firefox:
    """One tab, and the frames in it."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self.tab = ""

    async def command(self, method: str, **params: Any) -> Any:
        id = next(self._ids)
        await self._socket.send(json.dumps({"id": id, "method": method, "params": params}))
        async with asyncio.timeout(START_S):
            while True:
                answer = json.loads(await self._socket.recv())
                if answer.get("id") == id:
                    assert answer["type"] == "success", answer
                    return answer["result"]

    async def open(self, url: str) -> None:
        if not self.tab:
            self.tab = (await self.command("browsingContext.getTree"))["contexts"][0]["context"]
        await self.command("browsingContext.navigate", context=self.tab, url=url, wait="interactive")

    async def frame(self, *path: int) -> str:
        """Return a frame by its place: that of the first frame in the first frame is at 0, 0."""
        async with asyncio.timeout(START_S):
            while True:
                node = (await self.command("browsingContext.getTree", root=self.tab))["contexts"][0]
                for place in path:
                    node = node["children"][place] if node and len(node["children"]) > place else None
                if node:
                    return str(node["context"])
                await asyncio.sleep(0.1)

    async def find(self, frame: str, expression: str) -> Any:
        """Return the first value of an expression that is none of nothing, as BiDi has it."""
        async with asyncio.timeout(START_S):
            while True:
                target = {"context": frame}
                answer = await self.command(
                    "script.evaluate", expression=expression, target=target, awaitPromise=True, resultOwnership="root"
                )
                assert answer["type"] == "success", answer
                if answer["result"]["type"] not in ("null", "undefined"):
                    return answer["result"]
                await asyncio.sleep(0.1)

    async def press(self, frame: str, selector: str, text: str = "") -> None:
        """Press the pointer on an element, and type into it if there is something to type."""
        element = await self.find(frame, f"document.querySelector({json.dumps(selector)})")
        origin = {"type": "element", "element": {"sharedId": element["sharedId"]}}
        moves = [
            {"type": "pointerMove", "x": 0, "y": 0, "origin": origin},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        actions: list[dict[str, Any]] = [{"type": "pointer", "id": "mouse", "actions": moves}]
        await self.command("input.performActions", context=frame, actions=actions)
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        if keys:
            actions = [{"type": "key", "id": "keyboard", "actions": keys}]
            await self.command("input.performActions", context=frame, actions=actions)


@asynccontextmanager
async def firefox(folder: Path) -> AsyncIterator[Firefox]:
    """Start the installed Firefox with a profile of its own, and kill it at the end."""
    profile = folder / "profile"
    profile.mkdir()
    (profile / "user.js").write_text(
        'user_pref("browser.shell.checkDefaultBrowser", false);\n'
        'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
        'user_pref("browser.startup.homepage_override.mstone", "ignore");\n'
        'user_pref("intl.accept_languages", "en-US");\n',
        encoding="ascii",
    )
    process = await asyncio.create_subprocess_exec(
        *(installed_firefox(), "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(START_S):
            while (address := _LISTENING.search(line := await process.stderr.readline())) is None:
                assert line, "Firefox has ended"
        draining = asyncio.create_task(process.stderr.read())
        async with connect(f"{address[1].decode()}/session", max_size=None) as socket:
            browser = Firefox(socket)
            await browser.command("session.new", capabilities={})
            yield browser
        draining.cancel()
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
