"""The panels beside the chat, by the sentences that they have to keep: one state, told to model and person alike."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from playwright.async_api import Browser, FilePayload, Locator, Page, Request, expect
from pydantic import Field

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.phrases import say
from madang.core.service import ActiveSession, Service, ServiceContext, ServiceMetadata
from tests.browser.chat import ChatServer, ChatTab, ask, held, open_tab, script, serve_chat, texts_of
from tests.documents import typeset
from tests.host.hosting import hosting
from tests.node import AXE

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "src" / "madang" / "host" / "static"
QUIET_MS = 400
"""Longer than a tab puts anything off."""
SCRIPT = script(held("Working on it.", when="Hold on"))


class Panel:
    """The panels of a tab, opened at one of them."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.place = page.locator("aside.panel")

    async def open(self, name: str) -> Locator:
        button = self.page.get_by_role("button", name=re.compile("^(Panel|패널)$"))
        await expect(button).to_be_visible()
        if await button.get_attribute("aria-pressed") != "true":
            await button.click()
        await self.place.get_by_role("tab", name=name, exact=True).click()
        body = self.place.get_by_role("tabpanel")
        await expect(body).to_be_visible()
        return body


@contextmanager
def requests_of(page: Page) -> Iterator[list[str]]:
    """Collect all that a page asks its server for."""
    asked: list[str] = []

    def on_request(request: Request) -> None:
        path = re.sub(r"^https?://[^/]+", "", request.url)
        if path.startswith("/api/"):
            asked.append(f"{request.method} {path}")

    page.on("request", on_request)
    try:
        yield asked
    finally:
        page.remove_listener("request", on_request)


@asynccontextmanager
async def mcp_client(server: ChatServer, session: str) -> AsyncIterator[Client]:
    """A client of another program, which starts its own Madang on the same data folder."""
    options = ["--data-dir", str(server.data_dir), "--session", session]
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "madang", "mcp", *options], env=dict(os.environ)
    )
    async with Client(parameters) as client:
        yield client


async def call_on_the_command_line(server: ChatServer, session: str, tool: str, **arguments: Any) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "madang", "call", tool, json.dumps(arguments), "--session", session),
        env={**os.environ, "MADANG_DATA_DIR": str(server.data_dir)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


async def quiet(page: Page) -> None:
    """Wait until a tab asks for nothing any more: what it reads when it is opened has come, and timers have run out."""
    async with asyncio.timeout(60):
        while True:
            with requests_of(page) as asked:
                await page.wait_for_timeout(QUIET_MS)
            if not asked:
                return


async def test_add_todo_from_an_mcp_client_shows_in_the_planning_panel_of_an_open_tab(tab: ChatTab) -> None:
    session = await tab.start_session()
    plan = await Panel(tab.page).open("Plan")
    await quiet(tab.page)
    with requests_of(tab.page) as asked:
        async with mcp_client(tab.server, session) as client:
            await client.call_tool("add_todo", {"name": "From a client"})
            await expect(plan.get_by_role("checkbox", name="From a client")).to_be_visible()
        await quiet(tab.page)

    assert asked == []


async def test_service_contexts_reach_the_browser_again_on_every_change_from_any_process_without_polling(
    tab: ChatTab,
) -> None:
    """By the command line, a stdio client, the run and another tab. Sessions and inbox are not asked for."""
    session = await tab.start_session()
    plan = await Panel(tab.page).open("Plan")
    other = await tab.another()
    other_plan = await Panel(other.page).open("Plan")
    await quiet(tab.page)

    with requests_of(tab.page) as asked:
        await call_on_the_command_line(tab.server, session, "create_goal", goal="By the command line")
        await expect(plan.get_by_role("heading", name="By the command line")).to_be_visible()
        async with mcp_client(tab.server, session) as client:
            await client.call_tool("add_todo", {"name": "By a client"})
        await expect(plan.get_by_role("checkbox", name="By a client")).to_be_visible()
        await other_plan.get_by_role("button", name="Add a todo").click()
        await other_plan.get_by_role("textbox", name="New todo").fill("By another tab")
        await other.page.keyboard.press("Enter")
        await expect(plan.get_by_role("checkbox", name="By another tab")).to_be_visible()
        await tab.server.write(session, ask("add_todo", name="By the run"))
        await expect(plan.get_by_role("checkbox", name="By the run")).to_be_visible()
        await tab.expect_said(re.compile("I read: .*By the run"))
        await tab.server.request("PATCH", f"/api/sessions/{session}", {"title": "Told by the stream"})
        await expect(tab.page.get_by_role("link", name="Told by the stream")).to_be_visible()
        await quiet(tab.page)
    assert asked == [], "a tab that nothing is done in asks for nothing"

    for name in ("By a client", "By another tab", "By the run"):
        await expect(other_plan.get_by_role("checkbox", name=name)).to_be_visible()


async def test_the_planning_files_and_contents_panels_read_service_contexts_and_call_no_tool_to_show_state(
    tab: ChatTab,
) -> None:
    session = await tab.start_session()
    call = tab.server.call_tool
    await call(session, "create_goal", goal="A goal")
    await call(session, "write_file", path="notes/today.md", content="# Today")
    await call(session, "add_content", content="Some text", metadata={"filename": "text.md"})
    await call(session, "create_playbook", goal="A playbook", workflow=[{"description": "Look"}])
    panel = Panel(tab.page)
    await panel.open("Plan")
    await quiet(tab.page)

    with requests_of(tab.page) as asked:
        await expect((await panel.open("Plan")).get_by_role("heading", name="A goal")).to_be_visible()
        files = await panel.open("Files")
        await files.get_by_role("button", name="notes", exact=True).click()
        await expect(files.get_by_role("button", name="today.md", exact=True)).to_be_visible()
        await expect((await panel.open("Contents")).get_by_text("text.md")).to_be_visible()
        await expect((await panel.open("Playbooks")).get_by_role("heading", name="A playbook")).to_be_visible()
        await panel.open("Work")

    assert asked == []


def test_state_is_read_by_key_with_a_generated_type_and_an_unknown_field_fails_the_build(tmp_path: Path) -> None:
    node = front_end_tools().Node.find()._program
    web = ROOT / "web"
    head = f"import type {{ ServiceStates }} from {json.dumps(str(web / 'src/wire/types.ts'))}\n"
    outcomes = {}
    for field in ("planning.todos", "planning.tasks", "nothing"):
        (tmp_path / "reads.ts").write_text(f"{head}export const read = (states: ServiceStates) => states.{field}\n")
        config: dict[str, Any] = {"extends": str(web / "tsconfig.json"), "include": [str(tmp_path / "reads.ts")]}
        config["compilerOptions"] = {"types": []}
        (tmp_path / "tsconfig.json").write_text(json.dumps(config))
        compiler = web / "node_modules" / "@typescript" / "native" / "bin" / "tsc"
        command = [str(node), str(compiler), "--noEmit", "--project", str(tmp_path / "tsconfig.json")]
        outcomes[field] = subprocess.run(command, capture_output=True, text=True, check=False)

    assert outcomes["planning.todos"].returncode == 0, outcomes["planning.todos"].stdout
    assert "Property 'tasks' does not exist on type 'PlanInState'" in outcomes["planning.tasks"].stdout
    assert "Property 'nothing' does not exist on type 'ServiceStates'" in outcomes["nothing"].stdout


def front_end_tools() -> Any:
    """Return `scripts/web` as a module: it knows which Node there is."""
    loader = SourceFileLoader("front_end_tools", str(ROOT / "scripts" / "web"))
    spec = spec_from_loader("front_end_tools", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


class _Watching(Service):
    """A service that notes where the person is."""

    def __init__(self, name: str, wait_s: float = 0.0, *, fails: bool = False) -> None:
        self.metadata = ServiceMetadata(name, say("Watching"), say("Watches."), "1")
        self.told: list[tuple[str | None, str | None] | None] = []
        self.heard = asyncio.Event()
        self.interrupted = 0
        self._wait_s = wait_s
        self._fails = fails

    async def switch_context(self, active: ActiveSession | None) -> None:
        self.told.append((active.assistant_id, active.session_id) if active else None)
        self.heard.set()
        if self._fails:
            raise RuntimeError("on purpose")
        try:
            await asyncio.sleep(self._wait_s)
        except asyncio.CancelledError:
            self.interrupted += 1
            raise

    async def hears(self, place: tuple[str, str] | None) -> None:
        async with asyncio.timeout(60):
            while not self.told or self.told[-1] != place:
                self.heard.clear()
                await self.heard.wait()


async def test_changing_session_or_assistant_sends_switch_context_once_to_every_ready_service_and_none_if_there_is_none(
    browser: Browser, tmp_path: Path
) -> None:
    """One that raises or hangs delays it by no more than its limit."""
    async with hosting(tmp_path, static=STATIC) as host:
        provider = host.host.agent.madang.provider
        provider._lifecycle._hook_limit_s = 0.5
        watching, raising, hanging = _Watching("watching"), _Watching("raises", fails=True), _Watching("hangs", 3600)
        for service in (raising, hanging, watching):
            provider.register(service)
        await provider.open_all()
        await host.post("/api/assistants", {"name": "Gardener"})
        first, second = await host.new_session(title="First"), await host.new_session(title="Second")
        other = await host.new_session(title="Of another", assistantId="Gardener")
        page = await browser.new_page()
        await page.goto(host.host.launch_url())
        await page.wait_for_url(re.compile("^((?!launch).)*$"))
        places = [("default", first), ("default", second), ("Gardener", other), ("default", first)]
        titles = {first: "First", second: "Second", other: "Of another"}
        for place in places:
            await page.get_by_role("navigation").get_by_role("link", name=titles[place[1]], exact=True).click()
            await watching.hears(place)
        await page.reload()
        await expect(page.get_by_role("heading", name="First")).to_be_visible()
        await page.goto(f"{host.host.address.origin}/#/s/{other}")
        await watching.hears(("Gardener", other))
        gardener = await host.get("/api/assistants/Gardener")
        deleted = await host.http.delete(f"/api/assistants/Gardener?version={gardener['version']}")
        assert deleted.status_code == 200, deleted.text
        await watching.hears(("default", other))
        await page.close()
        await watching.hears(None)

    moves = [*places, ("Gardener", other), ("default", other), None]
    assert watching.told == moves
    assert raising.told == hanging.told == moves
    assert hanging.interrupted == len(moves)


async def test_the_person_ticks_a_todo_while_the_run_works_and_the_next_request_says_so_once(
    browser: Browser, tmp_path: Path
) -> None:
    async with serve_chat(tmp_path, SCRIPT) as server, open_tab(browser, server) as tab:
        session = await tab.start_session()
        await server.call_tool(session, "add_todo", name="Water the tomatoes")
        plan = await Panel(tab.page).open("Plan")
        await tab.write("Hold on")
        await tab.expect_said("Working on it.")

        await plan.get_by_role("checkbox", name="Water the tomatoes").click()
        await expect(plan.get_by_role("checkbox", name="Water the tomatoes")).to_be_checked()
        await expect(plan.get_by_text("The agent will be told of 1 change next turn")).to_be_visible()
        await expect(plan.get_by_text("Changed by me")).to_be_visible()
        await tab.reload()
        plan = await Panel(tab.page).open("Plan")
        await expect(plan.get_by_text("The agent will be told of 1 change next turn")).to_be_visible()

        await tab.page.get_by_role("main").get_by_role("button", name="Stop").click()
        await tab.expect_state("")
        await tab.write("And now?")
        await expect(plan.get_by_text("The agent will be told")).to_have_count(0)
        texts = texts_of(await server.messages(session), "user")

    assert [text for text in texts if "themselves" in text] == [
        "Meanwhile the person did this themselves:\n[mark_todo] Todo ID:1 completed: Water the tomatoes"
    ]


class BeehiveState(Document):
    """What is known of the hives."""

    hives: int = Field(
        title="Beehives there",
        description="Behind the yard.",
        json_schema_extra={"ko": {"title": "벌통 수", "description": "마당 뒤에 있는 것."}},
    )
    is_winter: bool
    notes: list[str] = Field(title="Plan", description="Planning")  # words that the catalogue has
    keepers: list[Keeper]


class Keeper(Document):
    """Who looks after them."""

    name: str = Field(json_schema_extra={"ko": {"title": "돌보는 사람"}})
    since: str


class _Bees(Service):
    metadata = ServiceMetadata("bees", say("Beehives"), say("The hives behind the yard."), "1")
    state_type = BeehiveState

    async def get_service_context(self, call: Call) -> ServiceContext:
        keepers = [Keeper(name="<b>Somebody</b>", since="2026-11-01T08:00:00Z")]
        return ServiceContext("", BeehiveState(hives=12, is_winter=True, notes=["Quiet"], keepers=keepers))


async def test_a_new_services_typed_state_gets_a_plain_panel_without_front_end_code(
    browser: Browser, tmp_path: Path
) -> None:
    """In both languages, with the schema's own words for its fields."""
    async with hosting(tmp_path, static=STATIC) as host:
        host.host.agent.madang.provider.register(_Bees())
        page = await browser.new_page()
        await page.goto(host.host.launch_url())
        await page.wait_for_url(re.compile("^((?!launch).)*$"))

        async def open_bees(locale: str) -> Locator:
            session = await host.new_session(locale=locale)
            await page.goto(f"{host.host.address.origin}/#/s/{session}")
            await expect(page.get_by_role("button", name=re.compile("^(Panel|패널)$"))).to_be_visible()
            return await Panel(page).open("Beehives")

        bees = await open_bees("en")
        await expect(bees.get_by_role("term")).to_have_text(["Beehives thereBehind the yard.", "Is winter"])
        await expect(bees.get_by_role("definition")).to_have_text(["12", "yes"])
        await expect(bees.get_by_role("heading", level=3)).to_have_text(["Plan", "Keepers"])
        await expect(bees.get_by_role("listitem")).to_have_text("Quiet")
        await expect(bees.get_by_role("columnheader")).to_have_text(["Name", "Since"])
        await expect(bees.get_by_role("row").nth(1)).to_contain_text("<b>Somebody</b>")
        bees = await open_bees("ko")
        await expect(bees.get_by_role("term").nth(0)).to_have_text("벌통 수마당 뒤에 있는 것.")
        await expect(bees.get_by_role("definition")).to_have_text(["12", "예"])
        await expect(bees.get_by_text("계획", exact=True)).to_be_visible()
        await expect(bees.get_by_role("columnheader").nth(0)).to_have_text("돌보는 사람")
        await page.close()


async def test_a_file_is_uploaded_shown_renamed_deleted_and_brought_back(tab: ChatTab) -> None:
    session = await tab.start_session()
    files = await Panel(tab.page).open("Files")
    async with tab.page.expect_file_chooser() as chooser:
        await files.get_by_role("button", name="Choose a file").click()
    table: FilePayload = {"name": "표.csv", "mimeType": "text/csv", "buffer": '이름,수\n"가, 나",2\n'.encode()}
    await (await chooser.value).set_files([table])
    await expect(files.get_by_role("cell", name="가, 나")).to_be_visible()
    row = files.get_by_role("button", name="표.csv", exact=True)

    await files.get_by_role("button", name="More: 표.csv").click()
    await tab.page.get_by_role("menuitem", name="Rename").click()
    await files.get_by_role("textbox", name="New name").fill("자료.csv")
    await tab.page.keyboard.press("Enter")
    await expect(files.get_by_role("button", name="자료.csv", exact=True)).to_be_visible()
    await expect(row).to_have_count(0)

    await files.get_by_role("button", name="More: 자료.csv").click()
    await tab.page.get_by_role("menuitem", name="Delete").click()
    await expect(files.get_by_text("No files yet")).to_be_visible()
    await tab.button("Undo").click()
    await expect(files.get_by_role("button", name="자료.csv", exact=True)).to_be_visible()
    read = await tab.server.call_tool(session, "read_file", path="자료.csv")

    assert '"가, 나",2' in read["data"]["content"]


async def test_a_content_is_added_with_its_progress_cancelled_in_both_panels_deleted_and_brought_back(
    tab: ChatTab,
) -> None:
    session = await tab.start_session()
    note: FilePayload = {"name": "메모.txt", "mimeType": "text/plain", "buffer": "차를 끓인다\n".encode()}

    async def add() -> Locator:
        contents = await Panel(tab.page).open("Contents")
        async with tab.page.expect_file_chooser() as chooser:
            await contents.get_by_role("button", name="Choose a file").click()
        await (await chooser.value).set_files([note])
        return contents

    await tab.page.route("**/uploads?*", lambda route: None)  # it is on its way until somebody cancels it
    contents = await add()
    await expect(contents.get_by_text("Uploading · 0 %")).to_be_visible()
    work = await Panel(tab.page).open("Work")
    await expect(work.get_by_role("listitem")).to_contain_text("메모.txt")
    await work.get_by_role("button", name="Stop: 메모.txt").click()
    await expect(work.get_by_text("Nothing is running")).to_be_visible()
    contents = await add()
    await contents.get_by_role("button", name="Cancel the upload of 메모.txt").click()
    await expect(contents.get_by_text("No contents yet")).to_be_visible()

    await tab.page.unroute("**/uploads?*")
    contents = await add()
    await expect(contents.get_by_role("listitem")).to_contain_text("메모.txt")
    [added] = (await tab.server.call_tool(session, "list_content"))["data"]["contents"]

    await contents.get_by_role("button", name="More: 메모.txt").click()
    await tab.page.get_by_role("menuitem", name="Delete").click()
    await expect(contents.get_by_text("No contents yet")).to_be_visible()
    await tab.button("Undo").click()
    await expect(contents.get_by_role("listitem")).to_contain_text("메모.txt")

    assert (await tab.server.call_tool(session, "list_content"))["data"]["contents"] == [added]


async def test_a_run_of_another_program_is_read_while_it_writes_and_stopped_from_another_session(tab: ChatTab) -> None:
    session = await tab.start_session(title="Shopping")
    process = await tab.server.run_elsewhere(session, "Hold on")
    try:
        await expect(tab.head.get_by_text("Running in another program")).to_be_visible()
        await expect(tab.talk.get_by_text("Working on it.")).to_be_visible()

        await tab.start_session()
        work = await Panel(tab.page).open("Work")
        job = work.get_by_role("listitem").filter(has_text="Shopping")
        await expect(job).to_contain_text("in another program")
        await job.get_by_role("button", name="Stop: Shopping").click()
        await expect(work.get_by_text("Nothing is running")).to_be_visible()
        async with asyncio.timeout(30):
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()

    [written] = texts_of(await tab.server.messages(session), "assistant")
    assert written.endswith("Working on it.")


CANARY = "http://canary.invalid/seen"
HOSTILE = {
    "page.md": f"# Heading\n\n<script>top.hit = 1</script><img src={CANARY} onerror='top.hit = 1'>\n\n"
    f"![picture]({CANARY}) [click](javascript:top.hit=1) [away](https://example.com/x)",
    "table.csv": f'name,<b>bold</b>\n"=HYPERLINK(""{CANARY}"")","<img src={CANARY} onerror=top.hit=1>"\n' + "x," * 5000,
    "table.tsv": "one\ttwo\n<script>top.hit = 1</script>\t2\n",
    "drawing.svg": f"""<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="top.hit = 1">
        <script>top.hit = 1</script><image href="{CANARY}" width="9" height="9"/><rect width="9" height="9"/></svg>""",
    "odd.txt": "\u202etxt.exe <b>not bold</b>",
}


async def test_nothing_in_a_file_is_run_or_fetched_when_it_is_shown(tab: ChatTab) -> None:
    session = await tab.start_session()
    for path, text in HOSTILE.items():
        await tab.server.call_tool(session, "write_file", path=path, content=text)
    asked: list[str] = []
    tab.page.context.on("request", lambda request: asked.append(request.url))
    files = await Panel(tab.page).open("Files")

    async def show(name: str) -> Locator:
        await files.get_by_role("button", name=name, exact=True).click()
        return files.get_by_role("region", name=name, exact=True).first

    page = await show("page.md")
    await expect(page.get_by_role("heading", name="Heading")).to_be_visible()
    await expect(page.get_by_text("[picture]")).to_be_visible()
    # HTML stands as its text, in which an address is a link as anywhere: to be pressed, and not before.
    await expect(page.get_by_role("link")).to_have_text([CANARY, "away"])
    table = await show("table.csv")
    await expect(table.get_by_role("columnheader", name="<b>bold</b>")).to_be_visible()
    await expect(table.get_by_role("row").nth(2).get_by_role("cell")).to_have_count(50)
    await expect((await show("table.tsv")).get_by_role("cell", name="<script>")).to_be_visible()
    drawing = (await show("drawing.svg")).get_by_role("img", name="drawing.svg")
    await expect(drawing).to_be_visible()
    assert await drawing.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 20
    await expect((await show("odd.txt")).get_by_text("<b>not bold</b>")).to_be_visible()

    assert [url for url in asked if "canary" in url or "example.com" in url] == []
    assert await tab.page.evaluate("window.hit") is None


async def test_a_pdf_is_turned_page_by_page_and_read_as_text(tab: ChatTab) -> None:
    session = await tab.start_session()
    files = await Panel(tab.page).open("Files")
    async with tab.page.expect_file_chooser() as chooser:
        await files.get_by_role("button", name="Choose a file").click()
    document: FilePayload = {
        "name": "보고서.pdf",
        "mimeType": "application/pdf",
        "buffer": typeset([["첫째 쪽"], ["둘째 쪽"], ["셋째 쪽"]]),
    }
    await (await chooser.value).set_files([document])
    picture = files.get_by_role("img")
    await expect(picture).to_have_accessible_name("Page 1 of 3")
    assert await picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 800

    await files.get_by_role("button", name="Next page").focus()
    await tab.page.keyboard.press("Enter")
    await expect(picture).to_have_accessible_name("Page 2 of 3")
    await tab.page.keyboard.press("ArrowRight")
    await expect(picture).to_have_accessible_name("Page 3 of 3")
    await expect(files.get_by_role("button", name="Next page")).to_have_attribute("aria-disabled", "true")
    await tab.page.keyboard.press("Home")
    await expect(picture).to_have_accessible_name("Page 1 of 3")
    await files.get_by_role("button", name="Text", exact=True).click()
    await expect(files.get_by_text("The text alone, without its look.")).to_be_visible()
    await expect(files.get_by_role("heading", name="Page 2")).to_be_visible()
    await expect(files.get_by_text("둘째 쪽")).to_be_visible()

    await tab.server.call_tool(session, "write_file", path="broken.pdf", content="%PDF-1.7 and nothing else")
    tab.recorder.expect("400")
    await files.get_by_role("button", name="broken.pdf", exact=True).click()
    await expect(files.get_by_role("alert")).to_contain_text("is broken")


async def test_a_link_to_a_file_opens_the_files_panel_with_it(tab: ChatTab) -> None:
    session = await tab.start_session()
    await tab.server.call_tool(session, "write_file", path="sub/한글 파일.md", content="# Found")
    await tab.page.goto(f"{tab.server.origin}/#/s/{session}/f/sub%2F%ED%95%9C%EA%B8%80%20%ED%8C%8C%EC%9D%BC.md")
    files = tab.page.locator("aside.panel").get_by_role("tabpanel", name="Files")

    await expect(files.get_by_role("heading", name="Found")).to_be_visible()
    await expect(files.get_by_role("button", name="한글 파일.md", exact=True)).to_have_attribute("aria-current", "true")


async def test_todos_are_added_renamed_moved_and_deleted_by_the_keyboard(tab: ChatTab) -> None:
    """Whatever is done, the focus stays where the person is: a form gives it back, a moved todo takes it along."""
    session = await tab.start_session()
    await tab.server.call_tool(session, "add_todo", name="First")
    plan = await Panel(tab.page).open("Plan")
    keyboard = tab.page.keyboard
    await plan.get_by_role("button", name="Add a todo").focus()
    await keyboard.press("Enter")
    await keyboard.type("Second")
    await keyboard.press("Enter")
    second = plan.get_by_role("checkbox", name="Second")
    await expect(second).to_be_visible()
    await keyboard.press("Escape")
    await expect(plan.get_by_role("button", name="Add a todo")).to_be_focused()

    await second.focus()
    await keyboard.press("Alt+ArrowUp")
    await expect(plan.get_by_role("checkbox").nth(0)).to_have_accessible_name("Second")
    await expect(second).to_be_focused()
    await keyboard.press("Space")
    await expect(second).to_be_checked()
    await keyboard.press("Tab")
    await expect(plan.get_by_role("button", name="More: Second")).to_be_focused()
    await keyboard.press("Enter")
    await expect(tab.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    await keyboard.press("Enter")
    await expect(plan.get_by_role("textbox", name="Rename")).to_be_focused()
    await keyboard.type("Renamed")
    await keyboard.press("Enter")
    renamed = plan.get_by_role("checkbox", name="Renamed")
    await expect(renamed).to_be_checked()
    await expect(renamed).to_be_focused()

    await keyboard.press("Tab")
    await keyboard.press("Enter")
    await expect(tab.page.get_by_role("menuitem", name="Rename")).to_be_focused()
    await keyboard.press("End")
    await keyboard.press("Enter")
    await expect(renamed).to_have_count(0)
    await expect(plan).to_be_focused()
    await plan.get_by_role("button", name="Add a note").focus()
    await keyboard.press("Enter")
    await keyboard.type("It rains")
    await keyboard.press("Enter")
    noted = plan.get_by_role("listitem").filter(has_text="It rains")
    await expect(noted.get_by_role("time")).to_have_text(re.compile(r"^\d\d:\d\d$"))
    await expect(plan.get_by_role("button", name="Add a note")).to_be_focused()


async def test_the_last_of_five_hundred_todos_is_reached_ticked_and_moved(tab: ChatTab) -> None:
    session = await tab.start_session()
    async with mcp_client(tab.server, session) as client:
        for number in range(1, 501):
            await client.call_tool("add_todo", {"name": f"Todo {number}"})
    plan = await Panel(tab.page).open("Plan")
    await expect(plan.get_by_role("progressbar", name="0 of 500 done")).to_be_visible()
    assert await plan.get_by_role("checkbox").count() < 100, "a screenful, not all of them"

    more = plan.get_by_role("button", name=re.compile("^Show more"))
    async with asyncio.timeout(60):
        while await more.count():
            await more.dispatch_event("click")
    last = plan.get_by_role("checkbox", name="Todo 500", exact=True)
    await last.focus()
    await tab.page.keyboard.press("Space")
    await expect(last).to_be_checked()
    await tab.page.keyboard.press("Alt+ArrowUp")
    await expect(plan.get_by_role("checkbox").nth(498)).to_have_accessible_name("Todo 500")
    await expect(last).to_be_focused()


async def test_a_playbook_is_written_found_run_and_deleted_with_undo(browser: Browser, tmp_path: Path) -> None:
    async with serve_chat(tmp_path, SCRIPT) as server, open_tab(browser, server) as tab:
        await tab.start_session()
        playbooks = await Panel(tab.page).open("Playbooks")
        await playbooks.get_by_role("button", name="New playbook").click()
        await playbooks.get_by_role("textbox", name="Goal").fill("Brew tea")
        await playbooks.get_by_role("textbox", name="Step 1").fill("Boil water")
        await playbooks.get_by_role("button", name="Save").click()
        row = playbooks.get_by_role("listitem").filter(has=tab.page.get_by_role("heading", name="Brew tea"))
        await expect(row).to_contain_text("1 step")

        await playbooks.get_by_role("searchbox").fill("coffee")
        await expect(playbooks.get_by_text("Nothing found for “coffee”")).to_be_visible()
        await playbooks.get_by_role("searchbox").fill("tea")
        await expect(row).to_be_visible()
        await playbooks.get_by_role("button", name="Clear the search").click()
        await playbooks.get_by_role("button", name="More: Brew tea").click()
        await tab.page.get_by_role("menuitem", name="Delete").click()
        await expect(playbooks.get_by_text("No playbooks yet")).to_be_visible()
        await tab.button("Undo").click()
        await expect(row).to_be_visible()
        await playbooks.get_by_role("button", name="Run: Brew tea").click()
        await tab.expect_said(re.compile("^Run the playbook “Brew tea”"))


async def test_a_playbook_shows_how_far_its_steps_are_by_the_todos_made_of_them(
    browser: Browser, tmp_path: Path
) -> None:
    steps = [{"description": step} for step in ("Boil water", "Warm the pot", "Pour")]
    async with serve_chat(tmp_path, SCRIPT) as server, open_tab(browser, server) as tab:
        session = await tab.start_session()
        made = await server.call_tool(session, "create_playbook", goal="Brew tea", workflow=steps)
        for _ in range(7):
            await server.call_tool(session, "select_playbook", id=made["data"]["playbook"]["id"])
        playbooks = await Panel(tab.page).open("Playbooks")
        chosen = playbooks.locator(".selected-playbook")
        await expect(chosen.get_by_text(re.compile(r"^Chosen \d\d:\d\d · no todo of the plan"))).to_be_visible()
        await expect(chosen.get_by_role("img")).to_have_count(0)

        for step in steps:
            await server.call_tool(session, "add_todo", name=step["description"])
        await server.call_tool(session, "mark_todo", id=1)
        await expect(chosen.get_by_role("listitem").nth(0).get_by_role("img", name="Done")).to_be_visible()
        await expect(chosen.locator("[aria-current=step]")).to_contain_text("Warm the pot")
        await tab.write("Hold on")
        await expect(chosen.get_by_text("Running", exact=True)).to_be_visible()
        await expect(chosen.get_by_role("img", name="Being done")).to_be_visible()

        await chosen.get_by_role("button", name="History 7").click()
        times = playbooks.get_by_role("list").get_by_role("time")
        await expect(times).to_have_count(7)
        await expect(times.first).to_have_text(re.compile(r"^\d\d:\d\d$"))


async def test_every_panel_is_reached_and_used_by_the_keyboard_alone(tab: ChatTab) -> None:
    session = await tab.start_session()
    await tab.server.call_tool(session, "write_file", path="notes/today.md", content="# Today")
    page, keyboard = tab.page, tab.page.keyboard
    place = page.locator("aside.panel")

    async def go_to(target: Locator) -> None:
        """Press Tab until a control has the focus."""
        for _ in range(40):
            if await target.evaluate("(one) => one === document.activeElement"):
                return
            await keyboard.press("Tab")
        raise AssertionError(f"{target} cannot be reached")

    await expect(tab.composer).to_be_focused()
    await keyboard.press("Control+.")
    await keyboard.press("Control+.")
    await go_to(place.get_by_role("tab", name="Plan", exact=True))
    await keyboard.press("ArrowRight")
    await expect(place.get_by_role("tab", name="Playbooks", exact=True)).to_be_focused()
    await go_to(place.get_by_role("button", name=re.compile("^New( playbook)?$")))
    await keyboard.press("Enter")
    await go_to(place.get_by_role("textbox", name="Goal"))
    await keyboard.type("Brew tea by keys")
    await go_to(place.get_by_role("textbox", name="Step 1"))
    await keyboard.type("Boil water")
    await go_to(place.get_by_role("button", name="Save"))
    await keyboard.press("Enter")
    await expect(place.get_by_role("heading", name="Brew tea by keys")).to_be_visible()
    await expect(place.get_by_role("tabpanel")).to_be_focused()

    await keyboard.press("Shift+Tab")
    await keyboard.press("Shift+Tab")
    await expect(place.get_by_role("tab", name="Playbooks", exact=True)).to_be_focused()
    await keyboard.press("ArrowRight")
    await go_to(place.get_by_role("button", name="notes", exact=True))
    await keyboard.press("ArrowRight")
    await expect(place.get_by_role("button", name="today.md", exact=True)).to_be_visible()
    await keyboard.press("ArrowDown")
    await keyboard.press("Enter")
    await expect(place.get_by_role("heading", name="Today")).to_be_visible()
    await go_to(place.get_by_role("button", name="Close", exact=True))
    await keyboard.press("Enter")
    await expect(place.get_by_role("heading", name="Today")).to_have_count(0)
    await expect(place.get_by_role("tabpanel")).to_be_focused()

    await place.get_by_role("tab", name="Files", exact=True).focus()
    await keyboard.press("ArrowRight")
    await expect(place.get_by_text("No contents yet")).to_be_visible()
    await keyboard.press("End")
    await expect(place.get_by_role("tab", name="Work", exact=True)).to_be_focused()
    await expect(place.get_by_text("Nothing is running")).to_be_visible()


PANELS = {"ko": ("계획", "플레이북", "파일", "자료", "실행"), "en": ("Plan", "Playbooks", "Files", "Contents", "Work")}


@pytest.mark.parametrize(
    ("width", "theme", "locale"),
    [(375, "light", "ko"), (375, "dark", "en"), (1440, "light", "en"), (1440, "dark", "ko")],
)
async def test_no_panel_has_a_serious_finding(
    browser: Browser, chat_server: ChatServer, width: int, theme: Any, locale: str
) -> None:
    session = await chat_server.new_session(locale=locale)
    call = chat_server.call_tool
    await call(session, "create_goal", goal="보고서를 낸다")
    await call(session, "add_todo", name="모으기")
    await call(session, "mark_todo", id=1, summary="19건")
    await call(session, "add_observation", observation="4분 걸린다")
    await call(session, "write_file", path="보고서/요약.md", content="# 요약")
    await call(session, "export_file", path="보고서/요약.md")
    await call(session, "add_content", content="토마토 물 주는 때", metadata={"filename": "텃밭.md"})
    playbook = await call(session, "create_playbook", goal="차 끓이기", workflow=[{"description": "물 끓이기"}])
    await call(session, "select_playbook", id=playbook["data"]["playbook"]["id"])
    shape = {"viewport": {"width": width, "height": 812}, "color_scheme": theme}
    found: dict[str, Any] = {}
    async with open_tab(browser, chat_server, **shape) as tab:
        await tab.open(session)
        await tab.page.evaluate(AXE.read_text(encoding="utf-8"))
        panel = Panel(tab.page)
        for name in PANELS[locale]:
            body = await panel.open(name)
            if name == PANELS[locale][2]:
                await body.get_by_role("button", name="보고서", exact=True).click()
                await body.get_by_role("button", name="요약.md", exact=True).click()
                await expect(body.get_by_role("heading", name="요약")).to_be_visible()
            found[name] = await tab.page.evaluate(
                """async () => (await axe.run('.panel', { resultTypes: ['violations'] })).violations
                    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
                    .map(({ id, nodes }) => [id, nodes.map((node) => node.html + node.failureSummary)])"""
            )
            small = await tab.page.evaluate(
                """() => [...document.querySelectorAll('.panel button')]
                    .filter((one) => one.checkVisibility() && !one.matches('.box'))
                    .map((one) => [one.ariaLabel ?? one.textContent, one.getBoundingClientRect().height])
                    .filter(([, height]) => height < 44)"""
            )
            if width == 375:
                found[f"{name}, small"] = small

    assert {name: one for name, one in found.items() if one} == {}
