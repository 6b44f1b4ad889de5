"""Our pages in the Inspector's own web host: every button, form and chart, by mouse and by keyboard."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Dialog, FrameLocator, expect

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.files.folders import Folders
from tests.doors import Door
from tests.hosts.inspector import PATIENCE_MS, Host
from tests.node import ROOT

COLOURS: dict[str, Any] = {"prompt": "Which colour?", "type": "select", "options": ["Blue", "Green", "빨강"]}
NAME: dict[str, Any] = {"prompt": "What is it called?", "type": "text", "placeholder": "A short name"}
SEVERAL: dict[str, Any] = {**COLOURS, "prompt": "Which colours?", "type": "multiselect"}


def artefacts() -> Path:
    folder = ROOT / ".artefacts"
    folder.mkdir(exist_ok=True)
    return folder


async def test_the_buttons_of_the_playbook_page_work_in_a_foreign_host(host: Host, door: Door) -> None:
    for number in range(1, 13):
        await door.done("create_playbook", goal=f"Playbook {number}", workflow=[{"description": "Do it"}])
    view = await host.open_view("Show playbooks", pageSize=5)
    rows = view.locator("li h2")
    await expect(rows).to_have_text([f"Playbook {number}" for number in range(1, 6)], timeout=PATIENCE_MS)
    await expect(view.locator(".page-info")).to_have_text("Page 1 of 3 (12 total)")
    assert await view.locator("html").evaluate("() => [location.href, origin]") == ["about:srcdoc", "null"]

    await view.get_by_role("button", name="Next →").click()
    await expect(rows).to_have_text([f"Playbook {number}" for number in range(6, 11)], timeout=PATIENCE_MS)

    await view.get_by_role("button", name="Delete: Playbook 7").click()
    await view.get_by_role("button", name="Delete", exact=True).click()
    await expect(rows).to_have_text([f"Playbook {number}" for number in (6, 8, 9, 10, 11)], timeout=PATIENCE_MS)
    await expect(view.locator(".page-info")).to_have_text("Page 2 of 3 (11 total)")

    await view.get_by_role("button", name="Select: Playbook 9").click()
    await expect(view.locator("#madang-status")).to_contain_text("Selected: ", timeout=PATIENCE_MS)
    await expect(host.page.get_by_text(re.compile("^error$", re.IGNORECASE))).to_have_count(0)
    await host.page.screenshot(path=artefacts() / f"inspector-{host.era}.png")

    kept = (await door.done("list_playbooks")).data["page"]["items"]
    assert [item["goal"] for item in kept] == [f"Playbook {number}" for number in range(1, 13) if number != 7]
    runs = (await door.done("list_playbook_runs")).data["page"]["items"]
    assert [run["playbookId"] for run in runs] == [item["id"] for item in kept if item["goal"] == "Playbook 9"]


async def test_an_export_is_downloaded_in_a_foreign_host(host: Host, tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    with Folders(tmp_path / "data" / "workspaces").of(Call(AssistantId("default"), SessionId("default"))) as session:
        session.files.write("그림/하나.png", [content])
    view = await host.open_view("Export file", path="그림/하나.png")
    download = view.get_by_role("button", name="Download")
    await expect(download).to_be_visible(timeout=PATIENCE_MS)

    asked: list[str] = []

    async def agree(dialog: Dialog) -> None:
        asked.append(dialog.message)
        await dialog.accept()

    host.page.on("dialog", agree)
    async with host.page.expect_download(timeout=PATIENCE_MS) as saving:
        await download.click()

    saved = await saving.value
    await saved.save_as(tmp_path / "saved")
    assert (tmp_path / "saved").read_bytes() == content
    assert saved.suggested_filename == "하나.png"
    assert "하나.png" in asked[0], "the host asks the person first, by the name"


async def test_each_kind_of_question_is_answered_with_the_mouse(host: Host, door: Door) -> None:
    view = await asked(host, NAME)
    await view.get_by_role("textbox", name="What is it called?").fill("마당")
    await sent(view, "마당")
    await host.page.screenshot(path=artefacts() / f"inspector-prompt-{host.era}.png")
    await host.close_view()

    view = await asked(host, COLOURS)
    await view.get_by_text("빨강").click()
    await sent(view, "빨강")
    await host.close_view()

    view = await asked(host, SEVERAL)
    await view.get_by_text("Blue").click()
    await view.get_by_text("빨강").click()
    await sent(view, "Blue", "빨강")
    await host.close_view()

    view = await asked(host, NAME)
    await view.get_by_role("button", name="Skip").click()
    await expect(view.get_by_text("You skipped this question.")).to_be_visible()

    assert await answers(door) == ["마당", "빨강", ["Blue", "빨강"]]
    assert (await door.done("list_prompts", status="cancelled")).data["total"] == 1


@pytest.mark.parametrize(
    ("question", "keys", "answer"),
    [
        (NAME, ["Tab", "H", "i", "Tab", "Enter"], "Hi"),
        (COLOURS, ["Tab", "Space", "ArrowDown", "Tab", "Space"], "Green"),
        (SEVERAL, ["Tab", "Space", "Tab", "Tab", "Space", "Tab", "Enter"], ["Blue", "빨강"]),
    ],
    ids=["text", "select", "multiselect"],
)
async def test_each_kind_of_question_is_answered_with_the_keyboard_alone(
    host: Host, door: Door, question: dict[str, Any], keys: list[str], answer: Any
) -> None:
    view = await asked(host, question)
    await view.locator("h1").focus()
    for key in keys:
        await host.page.keyboard.press(key)

    await expect(view.locator(".answer").first).to_be_visible(timeout=PATIENCE_MS)
    await expect(view.locator("h1")).to_be_focused()
    assert await answers(door) == [answer]


async def test_waits_and_charts_work_in_a_foreign_host(host: Host, door: Door) -> None:
    view = await host.open_view("Wait for user", message="Plug it in", resumeInstruction="Then I print.")
    await view.get_by_role("button", name="Continue").click()
    await expect(view.get_by_text("Continued.")).to_be_visible(timeout=PATIENCE_MS)
    await host.close_view()

    data = [{"label": "May", "value": 3}, {"label": "June", "value": 7}]
    view = await host.open_view("Visualize data", type="bar", data=data, title="Orders")
    await expect(view.get_by_role("img", name="Orders")).to_be_visible(timeout=PATIENCE_MS)
    await view.get_by_text("Data", exact=True).click()
    await expect(view.get_by_role("row")).to_have_count(3)
    await host.page.screenshot(path=artefacts() / f"inspector-chart-{host.era}.png")


async def asked(host: Host, question: dict[str, Any]) -> FrameLocator:
    view = await host.open_view("Prompt user", **question)
    await expect(view.locator("h1")).to_have_text(question["prompt"], timeout=PATIENCE_MS)
    return view


async def sent(view: FrameLocator, *answer: str) -> None:
    await view.get_by_role("button", name="Send").click()
    await expect(view.locator(".answer")).to_have_text(list(answer), timeout=PATIENCE_MS)


async def answers(door: Door) -> list[Any]:
    """Return what was answered, oldest first, as another process sees it."""
    prompts = (await door.done("list_prompts", status="answered")).data["prompts"]
    return [prompt["answer"] for prompt in reversed(prompts)]
