"""`madang web` as people have it: the command as a process of its own, a script for a model, and tabs in Chromium.

`serve_chat` starts the process, `open_tab` gives a signed-in tab, which fails its test on whatever goes wrong in the
console, in a script or against the content security policy. `ask(tool, …)` in a message makes the model call a tool.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import httpx2
from playwright.async_api import Browser, BrowserContext, ConsoleMessage, FrameLocator, Locator, Page, Response, expect

from madang.core.calls import Locale

START_S = 60
ECHO = {"steps": [{"say": "I read: {last}"}]}
"""Says what it was given last: the person's words, or what tools answered."""
UNREACHABLE = "ERR_(CONNECTION|CONTENT_LENGTH|EMPTY|INCOMPLETE|INTERNET|NETWORK|FAILED|SOCKET)"
"""What a console says of a server that goes in the middle of whatever it does."""
OBEDIENT: dict[str, Any] = {"obeys": True, "turns": [ECHO]}
"""Makes the calls that it is told to make, and then says what they answered."""

_ANOTHER_DAY = Path(__file__).with_name("another_day.py")
_LAUNCH_URL = re.compile(r"http://127\.0\.0\.1:(\d+)/#launch=([\w-]+)")
_REPORT_VIOLATIONS = """
    addEventListener("securitypolicyviolation", (event) =>
        madangReportViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`.trim()), true)
"""


def ask(tool: str, /, **arguments: Any) -> str:
    """Return words of the person that make an obedient model call a tool."""
    return f"CALL {tool} {json.dumps(arguments, ensure_ascii=False)}"


class ChatServer:
    """One `madang web` on a data folder, which can be killed and started again at the same address."""

    def __init__(self, folder: Path, script: Mapping[str, Any] | None, locale: Locale) -> None:
        self.data_dir = folder / "data"
        self.locale = locale
        self._script_path = folder / "script.json"
        self._has_model = script is not None
        self._process: asyncio.subprocess.Process | None = None
        self._output = b""
        self._reading: asyncio.Task[None] | None = None
        self.port = 0
        self.token = ""
        self.clock_days = 0
        """By how much the clock of the next process is wrong."""
        if script is not None:
            self.write_script(script)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        """What the process has written so far."""
        return self._output.decode(errors="replace")

    def write_script(self, script: Mapping[str, Any]) -> None:
        """Give the model another script, which the next process reads."""
        self._script_path.write_text(json.dumps(script, ensure_ascii=False), encoding="utf-8")

    async def start(self) -> None:
        """Start the process, and wait until it has printed its address."""
        code = _LAUNCH_URL.search(await self._start())
        assert code is not None, self.output
        self.port = int(code[1])
        async with httpx2.AsyncClient(base_url=self.origin, timeout=START_S) as http:
            self.token = _answer(await http.post("/api/launch", json={"code": code[2]}))["token"]

    async def run(self, *options: str) -> str:
        """Run another `madang web` on the same data folder to its end, and return what it printed."""
        process = await self._spawn("web", "--no-open", *options)
        async with asyncio.timeout(START_S):
            output, _ = await process.communicate()
        assert process.returncode == 0, output.decode()
        return output.decode()

    async def run_elsewhere(self, session: str, text: str) -> asyncio.subprocess.Process:
        """Begin a run of a session in another process; the caller waits for its end."""
        return await self._spawn("run", text, "--session", session)

    async def kill(self) -> None:
        """End the process as a power cut does."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        """End the process as a person does."""
        await self._end(signal.SIGINT)

    async def terminate(self) -> None:
        """End the process as a system does that is shut down."""
        await self._end(signal.SIGTERM)

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        """Ask the API as a tab does."""
        headers = {"authorization": f"Bearer {self.token}", "accept-language": self.locale}
        async with httpx2.AsyncClient(base_url=self.origin, headers=headers, timeout=START_S) as http:
            return _answer(await http.request(method, path, json=body))

    async def new_session(self, **fields: Any) -> str:
        id: str = (await self.request("POST", "/api/sessions", fields))["id"]
        return id

    async def call_tool(self, session: str, tool: str, /, **arguments: Any) -> Any:
        """Call a tool as the person, past the browser."""
        answer = await self.request("POST", f"/api/sessions/{session}/tools/{tool}", {"arguments": arguments})
        assert not answer["isError"], answer["text"]
        return answer

    async def write(self, session: str, text: str) -> None:
        """Write a message, past the browser."""
        await self.request("POST", f"/api/sessions/{session}/messages", {"text": text})

    async def messages(self, session: str) -> list[Any]:
        answer = await self.request("GET", f"/api/sessions/{session}/messages")
        messages: list[Any] = answer["messages"]
        return messages

    async def inbox(self) -> list[Any]:
        items: list[Any] = (await self.request("GET", "/api/inbox"))["items"]
        return items

    async def launch_url(self) -> str:
        """Return an address that lets one tab in."""
        code = (await self.request("POST", "/api/launch-codes", {}))["code"]
        return f"{self.origin}/#launch={code}"

    async def _start(self) -> str:
        assert self._process is None, "it is running"
        self._output = b""
        self._process = await self._spawn("web", "--no-open", "--port", str(self.port))
        self._reading = asyncio.create_task(self._read(self._process))
        async with asyncio.timeout(START_S):
            while not _LAUNCH_URL.search(self.output):
                assert not self._reading.done(), self.output
                await asyncio.sleep(0.02)
        return self.output

    async def _spawn(self, *options: str) -> asyncio.subprocess.Process:
        model = ["--model", f"scripted:{self._script_path}"] if self._has_model else []
        command = [str(_ANOTHER_DAY), str(self.clock_days)] if self.clock_days else ["-m", "madang"]
        return await asyncio.create_subprocess_exec(
            *(sys.executable, *command, *options, *model, "--locale", self.locale),
            env={**os.environ, "MADANG_DATA_DIR": str(self.data_dir), "PYTHONUNBUFFERED": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while data := await process.stdout.read(4096):
            self._output += data

    async def _end(self, number: int) -> None:
        if self._process is None or self._reading is None:
            return
        if self._process.returncode is None:
            self._process.send_signal(number)
        async with asyncio.timeout(START_S):
            await self._process.wait()
            await self._reading
        self._process = None


def _answer(response: httpx2.Response) -> Any:
    assert response.status_code < 300, (response.status_code, response.text)
    return response.json()


@asynccontextmanager
async def serve_chat(
    folder: Path, script: Mapping[str, Any] | None = None, *, locale: Locale = "en"
) -> AsyncIterator[ChatServer]:
    """Start `madang web` on a folder of its own, and kill it at the end; without a script it has no model."""
    server = ChatServer(folder, script, locale)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()


class Recorder:
    """Remembers what must not happen in a browser: errors in the console or a script, violations of a policy."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._expected: list[re.Pattern[str]] = []
        self._added = asyncio.Event()

    async def watch(self, context: BrowserContext) -> None:
        """Listen to every tab and frame of a context."""
        await context.expose_binding("madangReportViolation", lambda _, text: self._add("policy", text))
        await context.add_init_script(_REPORT_VIOLATIONS)
        context.on("weberror", lambda error: self._add("script", str(error.error)))
        context.on("console", self._on_console)

    def expect(self, pattern: str) -> None:
        """Pass over problems that a story has on purpose: a server that is killed cannot be reached."""
        self._expected.append(re.compile(pattern))

    def check(self) -> None:
        surprises = [one for one in self.problems if not any(pattern.search(one) for pattern in self._expected)]
        assert not surprises, "\n".join(surprises)

    async def heard(self, *beginnings: str) -> None:
        """Wait until there is a problem that begins with each of some words, and forget all of them."""
        async with asyncio.timeout(START_S):
            while not all(any(one.startswith(words) for one in self.problems) for words in beginnings):
                self._added.clear()
                await self._added.wait()
        self.problems.clear()

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._add("console", message.text)

    def _add(self, kind: str, text: str) -> None:
        self.problems.append(f"{kind}: {text}")
        self._added.set()


class ChatTab:
    """A signed-in tab, and what people see and do there, by roles and names."""

    def __init__(self, server: ChatServer, page: Page, recorder: Recorder) -> None:
        self.server = server
        self.page = page
        self.recorder = recorder

    @property
    def session_id(self) -> str:
        """The session that is open, by the address."""
        return self.page.url.partition("#/s/")[2]

    @property
    def talk(self) -> Locator:
        return self.page.get_by_role("region", name=re.compile("^(Conversation|대화)$"))

    @property
    def head(self) -> Locator:
        """The line above the talk: title, state, menu."""
        return self.page.get_by_role("main").locator("header").first

    @property
    def composer(self) -> Locator:
        return self.page.get_by_role("textbox", name=re.compile("^(Message|메시지)$"))

    @property
    def gate(self) -> Locator:
        """The approval that stands where the composer stands."""
        return self.page.get_by_role("alertdialog")

    def card(self, title: str) -> Locator:
        """A page of a service in the talk, with the bar above it."""
        return self.page.get_by_role("main").get_by_role("region", name=title, exact=True)

    def view(self, title: str) -> FrameLocator:
        """What is inside a page: the frame in the sandbox proxy."""
        return frame_in(self.card(title))

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    async def open(self, session: str) -> None:
        """Go to a session, and wait until its talk is there."""
        await self.page.goto(f"{self.server.origin}/#/s/{session}")
        await expect(self.talk).to_be_visible()

    async def go(self, screen: str) -> None:
        """Go to another screen, by its address."""
        await self.page.goto(f"{self.server.origin}/#/{screen}")

    async def start_session(self, text: str = "", **fields: Any) -> str:
        """Open a new session, and write its first message if there is one."""
        session = await self.server.new_session(**fields)
        await self.open(session)
        if text:
            await self.write(text)
        return session

    async def write(self, text: str) -> None:
        """Send a message by the keyboard."""
        await self.composer.fill(text)
        async with self.page.expect_response(_is_sent_message) as sent:
            await self.composer.press("Enter")
        assert (await sent.value).status == 202

    async def reload(self) -> None:
        await self.page.reload()

    async def expect_said(self, words: str | re.Pattern[str], count: int = 1) -> None:
        """Wait until words are so often in the talk's text, of the person or the agent."""
        await expect(self.talk.get_by_text(words)).to_have_count(count)

    async def expect_state(self, state: str) -> None:
        """Wait for the word beside the title: "Running", "Your turn", or none, which means that no run is left."""
        if not state:
            await self._expect_no_run()
        for word in ("Running", "Your turn"):
            await expect(self.head.get_by_text(word, exact=True)).to_have_count(1 if word == state else 0)

    async def _expect_no_run(self) -> None:
        # Not by the title alone: between an answer and the run's going on it says nothing either.
        path = f"/api/sessions/{self.session_id}"
        async with asyncio.timeout(START_S):
            while True:
                session = await self.server.request("GET", path)
                if session["run"] is None:
                    return
                await asyncio.sleep(0.05)

    async def another(self) -> Self:
        """Open a second tab in the same browser, at the same place."""
        page = await self.page.context.new_page()
        tab = type(self)(self.server, page, self.recorder)
        await _sign_in(tab)
        if self.session_id:
            await tab.open(self.session_id)
        return tab


def _is_sent_message(response: Response) -> bool:
    return response.request.method == "POST" and response.url.endswith("/messages")


def frame_in(place: Locator) -> FrameLocator:
    """Return the page in a place: the inner frame, in that of the sandbox proxy."""
    return place.frame_locator("iframe").frame_locator("iframe")


@asynccontextmanager
async def open_tab(browser: Browser, server: ChatServer, **options: Any) -> AsyncIterator[ChatTab]:
    """Open a tab of a new browser context, signed in by a launch address; nothing may have gone wrong at the end."""
    shape = {"viewport": {"width": 1440, "height": 900}, "locale": "ko-KR" if server.locale == "ko" else "en-US"}
    context = await browser.new_context(**{**shape, **options})
    recorder = Recorder()
    await recorder.watch(context)
    tab = ChatTab(server, await context.new_page(), recorder)
    try:
        await _sign_in(tab)
        yield tab
        recorder.check()
    finally:
        # A route that is still answering would fail in the next test.
        for page in context.pages:
            await page.unroute_all(behavior="ignoreErrors")
        await context.close()


async def _sign_in(tab: ChatTab) -> None:
    await tab.page.goto(await tab.server.launch_url())
    await expect(tab.composer).to_be_visible()


def held(text: str, when: str) -> dict[str, Any]:
    """Return a turn that says something when it reads some words, and then never ends by itself."""
    return {"when": when, "steps": [{"say": text}, {"wait": 3600}]}


def script(*turns: Mapping[str, Any], obeys: bool = True) -> dict[str, Any]:
    """Return a script of turns; whatever else is said is said again."""
    return {"obeys": obeys, "turns": [*turns, ECHO]}


def texts_of(messages: Sequence[Any], role: str) -> list[str]:
    """Return the texts of stored messages of a role, oldest first."""
    return [
        "".join(part.get("text", "") for part in message["parts"] if part["type"] == "text")
        for message in messages
        if message["role"] == role
    ]
