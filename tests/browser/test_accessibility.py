"""Every page of the product in real Chromium, in either language and theme: judged by axe-core, and free of what is
written for models: names of tools and ids."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, expect

from madang.core.calls import Locale
from madang.core.phrases import Phrase
from madang.core.results import UiPage
from madang.rendering.catalogue import translator
from madang.rendering.pages import render_fragment
from madang.services.chart.domain.charts import CHART_TYPES
from madang.services.ui.domain import Question
from madang.services.ui.views import questions
from tests.browser.embedding import EmbeddingHost
from tests.browser.serving import APPS, ServedMadang, open_served
from tests.browser.test_look import PLAYBOOKS
from tests.node import AXE
from tests.promises import TOOLS

Findings = list[tuple[str, str, list[str]]]

QUESTIONS: dict[str, dict[str, Any]] = {
    "text": {"prompt": "What is it called?", "placeholder": "A short name"},
    "select": {"prompt": "어떤 색으로 할까요?", "options": ["Blue", "초록"]},
    "multiselect": {"prompt": "Which of these?\nTake your time.", "options": ["Blue", "초록", "red"]},
}
ANSWERS: dict[str, Any] = {"text": "마당", "select": "Blue", "multiselect": ["Blue", "red"]}
SERIES = [
    {"name": name, "data": [{"label": label, "value": value * factor} for label, value in (("1", 3), ("2", 5))]}
    for name, factor in (("North", 1), ("남쪽", 2), ("West", 7))
]


async def pages_of(madang: ServedMadang, locale: Locale) -> dict[str, str]:
    """Return every page there is, in each of its states, as the fragments that a host is given."""

    async def shown(tool: str, **arguments: Any) -> dict[str, Any]:
        return await madang.call_tool(tool, arguments)

    results: dict[str, dict[str, Any]] = {"no playbooks": await shown("show_playbooks")}
    ids = [await madang.keep(**kept) for kept in PLAYBOOKS]
    for number in range(5):
        await madang.keep(goal=f"Goal {number}")
    results["playbooks"] = waiting = await shown("show_playbooks", pageSize=3)
    choice = {"pauseId": waiting["structuredContent"]["pause"]["id"], "pageSize": 3}
    await shown("select_playbook", id=ids[1], pauseId=choice["pauseId"])
    results["playbooks, one selected"] = await shown("get_playbook_page", page=1, **choice)
    results["playbooks, searched"] = await shown("get_playbook_page", page=1, query="report", **choice)
    results["playbooks, not found"] = await shown("get_playbook_page", page=1, query="nothing at all", **choice)
    results["playbooks, last page"] = await shown("get_playbook_page", page=3, pageSize=3)
    for type, question in QUESTIONS.items():
        results[f"{type}, pending"] = asked = await shown("prompt_user", type=type, **question)
        id = asked["structuredContent"]["messageId"]
        results[f"{type}, answered"] = await shown("reply_prompt", messageId=id, answer=ANSWERS[type])
    asked = await shown("prompt_user", type="select", **QUESTIONS["select"])
    id = asked["structuredContent"]["messageId"]
    results["cancelled"] = await shown("reply_prompt", messageId=id, cancelled=True)
    asked = await shown("prompt_user", type="multiselect", **QUESTIONS["multiselect"])
    id = asked["structuredContent"]["messageId"]
    results["none chosen"] = await shown("reply_prompt", messageId=id, answer=[])
    results["wait"] = waiting = await shown("wait_for_user", message="Plug it in", resumeInstruction="Then I print.")
    results["wait, resumed"] = await shown("resume_from_wait", waitId=waiting["structuredContent"]["waitId"])
    for chart in CHART_TYPES:
        data = {"data": SERIES[0]["data"]} if chart == "pie" else {"series": SERIES}
        results[chart] = await shown("visualize_data", type=chart, title="Orders", xLabel="x", yLabel="y", **data)
        results[f"{chart}, bare"] = await shown("visualize_data", type=chart, data=SERIES[1]["data"])
    madang.keep_file("report.docx", b"x" * 3000)
    results["export"] = await shown("export_file", path="report.docx", description="For May")
    results["package"] = await shown("export_zip", files=["report.docx", "gone"], packageName="May")
    fragments: dict[str, str] = {name: result["_meta"]["madang/html"] for name, result in results.items()}
    expired = Question(
        message_id="q1", type="text", prompt="Late?", status="expired", created_at="2026-01-01", expires_at="2026-01-02"
    )
    page = questions.question_settled(expired).page
    assert page is not None
    return {**fragments, "expired": drawn(page, locale)}


def drawn(page: UiPage, locale: Locale) -> str:
    def fill(template: str, **values: object) -> str:
        return Phrase(template, values).render(translator(locale))

    return render_fragment(page.template, page.context, fill)


REFUSED: dict[str, dict[str, Any]] = {
    "get_prompt": {"messageId": "01a1de88-e9e1-7648-a0b4-b17a6b28a8ef"},
    "show_playbooks": {"page": 99},
    "export_file": {"path": "gone"},
    "resume_from_wait": {"waitId": "01a1de88-e9e1-7648-a0b4-b17a6b28a8ef"},
    "visualize_data": {"type": "bar"},
}
FOR_MODELS = re.compile(rf"\b(?:{'|'.join(TOOLS)})\b|[0-9a-f]{{8}}-[0-9a-f]{{4}}-[0-9a-f]{{4}}", re.IGNORECASE)


async def visible_text(host: EmbeddingHost) -> str:
    """Return all that the person sees and a screen reader says."""
    text: str = await host.view.evaluate(
        """() => [document.body.innerText, ...[...document.querySelectorAll('body *')]
            .filter((one) => one.checkVisibility())
            .flatMap((one) => ['aria-label', 'title', 'placeholder', 'value'].map((name) => one.getAttribute(name)))]
            .join(' ')"""
    )
    return text


async def findings(host: EmbeddingHost) -> Findings:
    """Return what axe-core finds serious or critical in the view as it is now."""
    found: Findings = await host.view.evaluate(
        """async () => {
            const { violations } = await axe.run(document, { resultTypes: ['violations'] });
            return violations
                .filter(({ impact }) => ['serious', 'critical'].includes(impact))
                .map(({ id, help, nodes }) => [id, help, nodes.map((node) => node.html + node.failureSummary)]);
        }"""
    )
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en", "ko"])
async def test_no_page_has_a_serious_finding_or_a_word_for_models(
    browser: Browser, locale: Locale, theme: Literal["light", "dark"], tmp_path: Path
) -> None:
    """All in one frame, as a host shows one result after the other; with all that can be opened opened too."""
    async with open_served(browser, tmp_path, APPS, locale=locale) as madang:
        pages = await pages_of(madang, locale)
        async with madang.showing(madang.host(width=600), color_scheme=theme) as host:
            await host.view.evaluate(AXE.read_text(encoding="utf-8"))
            found: dict[str, Findings] = {}
            texts: dict[str, str] = {}
            for name, html in pages.items():
                await host.notify("ui/notifications/tool-result", {"_meta": {"madang/html": html}})
                await expect(host.frame.locator("h1")).to_have_count(1)
                await host.settle()
                found[name], texts[name] = await findings(host), await visible_text(host)
                if name.endswith("pending"):
                    await host.frame.locator(".main").click()
                closed = host.frame.locator("details:not([open]) > summary")
                while await closed.count():
                    await closed.first.click()
                if await host.frame.locator(".delete-pb-btn").count():
                    await host.frame.locator(".delete-pb-btn").first.click()
                await expect(host.frame.locator("details .skeleton")).to_have_count(0)
                found[f"{name}, opened"] = await findings(host)
                if name not in ("export", "package"):  # where a file lies is shown to those who ask
                    texts[f"{name}, opened"] = await visible_text(host)
            for tool, arguments in REFUSED.items():
                await host.notify("ui/notifications/tool-result", await madang.call_tool(tool, arguments))
                await expect(host.frame.locator("#madang-status.error")).to_be_visible()
                texts[f"{tool} refused"] = await visible_text(host)
            found["an error"] = await findings(host)

    assert {name: serious for name, serious in found.items() if serious} == {}
    assert {name: words for name, text in texts.items() if (words := FOR_MODELS.findall(text))} == {}


async def test_what_is_hard_to_use_is_found(browser: Browser, tmp_path: Path) -> None:
    """The judge itself is judged: a page with faults does not pass."""
    faults = '<h1>Faults</h1><button></button><p style="color: #bbb; background: #fff">Pale</p><input name="x">'
    async with open_served(browser, tmp_path, APPS) as madang, madang.showing(result={}) as host:
        await host.view.evaluate(AXE.read_text(encoding="utf-8"))
        await host.notify("ui/notifications/tool-result", {"_meta": {"madang/html": faults}})
        await expect(host.frame.locator("h1")).to_have_text("Faults")

        assert {id for id, *_ in await findings(host)} == {"button-name", "color-contrast", "label"}
