"""The card of an export in real Chromium: it fits, and its button gives the person exactly what was exported."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from madang.core.calls import Locale
from tests.browser.embedding import EmbeddingHost
from tests.browser.serving import APPS, ServedMadang, open_served

SAVES_FILES: dict[str, Any] = {"serverTools": {}, "serverResources": {}, "downloadFile": {}, "openLinks": {}}
CONTENT = bytes(range(256)) * 1000
HOSTILE = "<img src=x onerror=window.__pwned=1>"


@pytest.fixture
async def over_http(browser: Browser, tmp_path: Path) -> AsyncIterator[ServedMadang]:
    async with open_served(browser, tmp_path, APPS, way="http") as served:
        yield served


async def exported(madang: ServedMadang, name: str = "그림.png", **arguments: Any) -> dict[str, Any]:
    madang.keep_file(name, CONTENT)
    return await madang.call_tool("export_file", {"path": name, **arguments})


async def test_the_button_hands_the_bytes_to_the_host(linked: ServedMadang) -> None:
    result = await exported(linked, description="For May")
    host = linked.host(host_capabilities=SAVES_FILES)
    async with linked.showing(host, tool="export_file", result=result):
        await expect(host.frame.get_by_text("This app cannot save files.")).to_be_hidden()
        await host.frame.get_by_role("button", name="Download").click()
        (download,) = await host.recorded("download")
        await expect(host.frame.get_by_role("button", name="Download")).to_be_enabled()
        await expect(host.frame.get_by_role("status")).to_be_empty()

    (file,) = download["contents"]
    assert file["type"] == "resource"
    assert (file["resource"]["uri"], file["resource"]["mimeType"]) == ("file:///그림.png", "image/png")
    data = base64.b64decode(file["resource"]["blob"], validate=True)
    assert hashlib.sha256(data).hexdigest() == result["structuredContent"]["sha256"]
    assert data == CONTENT
    assert host.page_errors == host.requests == []


async def test_a_package_is_handed_over_too(linked: ServedMadang) -> None:
    linked.keep_file("a.txt", b"a")
    result = await linked.call_tool("export_zip", {"files": ["a.txt", "gone"], "packageName": "자료"})
    host = linked.host(host_capabilities=SAVES_FILES)
    async with linked.showing(host, tool="export_zip", result=result):
        await expect(host.frame.get_by_text("Not in it: 1")).to_be_visible()
        await host.frame.get_by_role("button", name="Download").click()
        (download,) = await host.recorded("download")

    resource = download["contents"][0]["resource"]
    assert (resource["uri"], resource["mimeType"]) == ("file:///자료.zip", "application/zip")
    data = base64.b64decode(resource["blob"])
    assert hashlib.sha256(data).hexdigest() == result["structuredContent"]["sha256"]


async def test_a_host_that_reads_for_itself_gets_the_link(linked: ServedMadang) -> None:
    result = await exported(linked)
    host = linked.host(host_capabilities={"downloadFile": {}})
    async with linked.showing(host, tool="export_file", result=result):
        await host.frame.get_by_role("button", name="Download").click()
        (download,) = await host.recorded("download")

    link = {"type": "resource_link", "uri": result["structuredContent"]["uri"], "name": "그림.png"}
    assert download["contents"] == [{**link, "mimeType": "image/png"}]


async def test_an_export_that_is_gone_is_told(linked: ServedMadang) -> None:
    result = await exported(linked)
    Path(result["structuredContent"]["path"]).unlink()
    host = linked.host(host_capabilities=SAVES_FILES)
    async with linked.showing(host, tool="export_file", result=result):
        await host.frame.get_by_role("button", name="Download").click()

        await expect(host.frame.get_by_role("status")).to_contain_text("That did not work.")
    assert host.record("download") == []


async def test_without_a_host_that_saves_there_is_no_button(madang: ServedMadang) -> None:
    result = await exported(madang)
    host = madang.host()
    async with madang.showing(host, tool="export_file", result=result):
        await host.settle()

        await expect(host.frame.get_by_role("button")).to_have_count(0)
        await expect(host.frame.get_by_text(result["structuredContent"]["path"])).to_be_hidden()
        await host.frame.get_by_text("Where it is").click()
        await expect(host.frame.get_by_text(result["structuredContent"]["path"])).to_be_visible()
        await host.frame.get_by_role("button", name="Copy path").click()
        assert await host.view.evaluate("getSelection().toString()") == result["structuredContent"]["path"]
        await expect(host.frame.get_by_text("This app cannot save files.")).to_be_visible()


async def test_where_http_is_served_the_host_opens_the_address(over_http: ServedMadang) -> None:
    result = await exported(over_http)
    host = over_http.host(host_capabilities=SAVES_FILES)
    async with over_http.showing(host, tool="export_file", result=result):
        await host.frame.get_by_role("link").click()
        (url,) = await host.recorded("link")

    assert url == result["structuredContent"]["downloadUrl"]
    assert host.requests == []


@pytest.mark.parametrize("locale", ["en", "ko"])
async def test_the_card_fits_in_either_theme_and_width_and_runs_nothing(
    browser: Browser, tmp_path: Path, artefacts: Path, locale: Locale
) -> None:
    async with open_served(browser, tmp_path, APPS, locale=locale) as madang:
        for number in range(30):
            madang.keep_file(f"folder/{number} {HOSTILE.replace('/', '')} {'긴' * 40}.txt", b"x")
        arguments = {"files": ["folder", HOSTILE], "packageName": HOSTILE + "가" * 60, "description": HOSTILE * 5}
        result = await madang.call_tool("export_zip", arguments)
        for width in (320, 1000):
            host = madang.host(host_capabilities=SAVES_FILES, width=width)
            async with madang.showing(host, tool="export_zip", result=result):
                await host.frame.locator("details").last.locator("summary").click()
                await host.settle()
                assert await host.view.evaluate("document.documentElement.scrollWidth") == width
                for theme in ("light", "dark"):
                    await host.notify("ui/notifications/host-context-changed", {"theme": theme})
                    await expect(host.frame.locator("html")).to_have_attribute("data-theme", theme)
                    await host.screenshot(artefacts / f"export-{locale}-{theme}-{width}.png")
                await assert_nothing_ran(host)


async def assert_nothing_ran(host: EmbeddingHost) -> None:
    assert await host.view.evaluate("typeof window.__pwned") == "undefined"
    assert await host.view.evaluate("document.querySelectorAll('img, main script').length") == 0
    assert host.page_errors == host.requests == []
