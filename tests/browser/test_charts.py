"""Charts in real Chromium: they fit, they can be read in either theme, and their files reach the host."""

from __future__ import annotations

import base64
import csv
import io
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.async_api import Browser, expect

from madang.core.calls import Locale
from madang.rendering.pages import render_page
from madang.services.chart.domain.charts import CHART_TYPES, Chart, ChartType
from tests.browser.embedding import EmbeddingHost
from tests.services.chart.charts import GALLERY, HOSTILE, chart, draw_file, fragment, months

SAVES_FILES: dict[str, Any] = {"serverTools": {}, "downloadFile": {}}


async def no_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError(f"A chart calls no tool, and this one called {name}.")


@asynccontextmanager
async def showing(
    browser: Browser, chart: Chart, *, locale: Locale = "en", **options: Any
) -> AsyncIterator[EmbeddingHost]:
    host = EmbeddingHost(no_tool, **options)
    page = render_page(fragment(chart, locale), title="Chart", lang=locale)
    async with host.showing(browser, page):
        yield host


@pytest.mark.parametrize("width", [320, 1200])
async def test_every_chart_fits_in_either_theme_and_width(browser: Browser, artefacts: Path, width: int) -> None:
    """All in one frame, as a host shows one result after the other: a frame for each would take minutes."""
    async with showing(browser, GALLERY["bar"], width=width, host_capabilities=SAVES_FILES) as host:
        for name, shown in GALLERY.items():
            html = fragment(shown, "ko" if name.startswith("korean") else "en")
            await host.notify("ui/notifications/tool-result", {"_meta": {"madang/html": html}})
            await expect(host.frame.get_by_role("img", name=shown.title)).to_have_count(1)
            await host.settle()
            assert await host.view.evaluate("document.documentElement.scrollWidth") == width, name
            assert await host.view.evaluate("innerHeight >= document.documentElement.scrollHeight"), name
            assert await host.view.evaluate(_OUTSIDE) == [], name
            assert await host.view.evaluate(_MIN_TEXT_SIZE) >= 10, name
            for theme in ("light", "dark"):
                await host.notify("ui/notifications/host-context-changed", {"theme": theme})
                await expect(host.frame.locator("html")).to_have_attribute("data-theme", theme)
                await host.screenshot(artefacts / f"chart-{name}-{theme}-{width}.png")
        assert host.page_errors == []
        assert host.requests == []


# Real letters are narrower and wider than we think; what sticks out is cut off by the edge of the picture.
_OUTSIDE = """() => {
    const svg = [...document.querySelectorAll('svg')].find((one) => one.getBoundingClientRect().width);
    const sheet = svg.getBoundingClientRect();
    return [...svg.querySelectorAll('text')].filter((text) => {
        const box = text.getBoundingClientRect();
        return box.left < sheet.left - 1 || box.right > sheet.right + 1 || box.top < sheet.top - 1
            || box.bottom > sheet.bottom + 2;
    }).map((text) => text.textContent);
}"""

_MIN_TEXT_SIZE = """() => {
    const svg = [...document.querySelectorAll('svg')].find((one) => one.getBoundingClientRect().width);
    return parseFloat(getComputedStyle(svg).fontSize) * svg.getScreenCTM().a;
}"""


async def test_the_theme_of_the_host_is_the_theme_of_the_chart(browser: Browser) -> None:
    async with showing(browser, GALLERY["line"], host_context={"theme": "dark"}) as host:
        line = host.frame.locator("svg.wide .line")
        await expect(line).to_have_css("stroke", "rgb(127, 168, 245)")

        variables = {"--chart-1": "rgb(1, 2, 3)"}
        await host.notify(
            "ui/notifications/host-context-changed", {"theme": "light", "styles": {"variables": variables}}
        )
        await expect(line).to_have_css("stroke", "rgb(1, 2, 3)")


@pytest.mark.parametrize("type", CHART_TYPES)
async def test_hostile_texts_are_only_texts(browser: Browser, type: ChartType) -> None:
    hostile = chart(
        type,
        [(text, 5 + place) for place, text in enumerate(HOSTILE)],
        title=HOSTILE[0],
        x_label=HOSTILE[1],
        y_label=HOSTILE[8],
    )
    async with showing(browser, hostile, host_capabilities=SAVES_FILES) as host:
        await host.frame.get_by_text("Data", exact=True).click()
        await host.frame.get_by_role("button", name="Save picture (SVG)").click()
        await host.recorded("download")

        await expect(host.frame.locator("h1")).to_have_text(HOSTILE[0])
        assert await host.view.evaluate("typeof window.__pwned") == "undefined"
        assert await host.view.evaluate("document.querySelectorAll('img, main script').length") == 0
        assert host.requests == []
        assert host.page_errors == []


async def test_the_picture_has_a_name_and_the_data_is_a_table(browser: Browser) -> None:
    async with showing(browser, GALLERY["bar"]) as host:
        await expect(host.frame.get_by_role("img", name="Orders per month")).to_have_accessible_description(
            "Bar chart with 1 series and 6 point(s) in all. 6 point(s), min 2 (May), max 23 (Jun), mean 10.6667."
        )
        await host.frame.get_by_text("Data", exact=True).click()

        await expect(host.frame.get_by_role("columnheader")).to_have_text(["Month", "Orders (thousands)"])
        await expect(host.frame.get_by_role("row").nth(6)).to_have_text("Jun23")


async def test_files_are_offered_where_the_host_saves_them(browser: Browser) -> None:
    shown = chart("line", months(1, -2.5, 3), title="한국어 & <b>")
    async with showing(browser, shown, host_capabilities=SAVES_FILES) as host:
        await host.frame.get_by_role("button", name="Save picture (SVG)").click()
        (picture,) = await host.recorded("download")
        await expect(host.frame.get_by_role("button", name="Save data (CSV)")).to_be_enabled()
        await host.frame.get_by_role("button", name="Save data (CSV)").click()
        _, data = await host.recorded("download", 2)
        await expect(host.frame.get_by_role("status")).to_be_empty()

    (svg,), (table,) = picture["contents"], data["contents"]
    assert svg["type"] == table["type"] == "resource"
    assert (svg["resource"]["uri"], svg["resource"]["mimeType"]) == ("ui://charts/chart.svg", "image/svg+xml")
    root = ElementTree.fromstring(svg["resource"]["text"].encode())
    assert root.findtext("{http://www.w3.org/2000/svg}title") == "한국어 & <b>"
    assert (table["resource"]["uri"], table["resource"]["mimeType"]) == ("ui://charts/chart.csv", "text/csv")
    assert table["resource"]["text"] == "\ufefflabel,value\r\nJan,1\r\nFeb,-2.5\r\nMar,3\r\n"
    assert len(list(csv.reader(io.StringIO(table["resource"]["text"])))) == 4


async def test_a_picture_is_saved_as_png_too(browser: Browser) -> None:
    async with showing(browser, GALLERY["korean"], locale="ko", host_capabilities=SAVES_FILES) as host:
        await host.frame.get_by_role("button", name="그림 저장 (PNG)").click()
        (picture,) = await host.recorded("download")

        (file,) = picture["contents"]
        assert (file["resource"]["uri"], file["resource"]["mimeType"]) == ("ui://charts/chart.png", "image/png")
        data = base64.b64decode(file["resource"]["blob"])
        width, height = struct.unpack(">II", data[16:24])
        assert data.startswith(b"\x89PNG")
        assert (width, height > 500) == (1440, True)
        assert len(data) > 10_000  # more than an empty sheet takes
        assert host.requests == []
        assert host.page_errors == []


async def test_the_pointer_shows_what_is_under_it(browser: Browser) -> None:
    async with showing(browser, GALLERY["bar-series"]) as host:
        band = host.frame.locator("svg.wide .hit").nth(1)
        await band.hover()

        await expect(host.frame.locator(".tip")).to_have_text(
            "Q2\nNorth: 2,100\nSouth: 3,100\nEast: 1,100\nWest: 4,300"
        )
        await host.frame.locator("h1").hover()
        await expect(host.frame.locator(".tip")).to_be_hidden()


async def test_a_file_that_is_not_saved_is_told(browser: Browser) -> None:
    async with showing(browser, GALLERY["pie"], host_capabilities=SAVES_FILES, refuses_files=True) as host:
        await host.frame.get_by_role("button", name="Save data (CSV)").click()

        await expect(host.frame.get_by_role("status")).to_have_text("The file was not saved.")


@pytest.mark.parametrize("legacy", [False, True], ids=["apps", "old-mcp-ui"])
async def test_no_file_is_offered_where_the_host_saves_none(browser: Browser, legacy: bool) -> None:
    async with showing(browser, GALLERY["pie"], legacy=legacy) as host:
        await host.settle()

        await expect(host.frame.get_by_role("button")).to_have_count(0)


async def test_files_are_offered_for_a_chart_that_comes_with_the_result(browser: Browser) -> None:
    host = EmbeddingHost(no_tool, host_capabilities=SAVES_FILES)
    result = {"_meta": {"madang/html": fragment(GALLERY["area"])}}
    async with host.showing(browser, render_page("", title="Chart", lang="en"), tool_result=result):
        await host.frame.get_by_role("button", name="Save data (CSV)").click()

        (data,) = await host.recorded("download")
    assert "\r\nMar,14\r\n" in data["contents"][0]["resource"]["text"]


@pytest.mark.parametrize("name", ["bar-series", "line-series", "scatter", "pie"])
async def test_the_file_is_a_picture_by_itself(browser: Browser, artefacts: Path, name: str) -> None:
    page = await browser.new_page(viewport={"width": 760, "height": 460}, color_scheme="dark")
    try:
        path = artefacts / f"chart-file-{name}.svg"
        path.write_text(draw_file(GALLERY[name]), encoding="utf-8")
        await page.goto(path.as_uri())
        await page.screenshot(path=artefacts / f"chart-file-{name}.png")

        assert await page.evaluate("document.documentElement.localName") == "svg"
    finally:
        await page.close()
