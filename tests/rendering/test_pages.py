"""What the HTML of pages promises, as far as it shows without a browser."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import TemplateNotFound, UndefinedError

from madang.core.calls import LOCALES, Locale
from madang.core.phrases import Phrase
from madang.rendering.pages import render_fragment, render_page
from madang.rendering.replies import page_document
from tests.asking import CALL


def translate(template: str, **values: object) -> str:
    return str(Phrase(template, values))


def listing(page: int = 1, pages: int = 3, ids: list[str] | None = None, goal: str = "Goal") -> str:
    items = [
        SimpleNamespace(
            id=id,
            goal=goal,
            initial_command="",
            steps=1,
            created_at="2026-11-15T09:00Z",
        )
        for id in (["pb-1"] if ids is None else ids)
    ]
    context = SimpleNamespace(page=page, page_size=10, total_items=25, total_pages=pages, items=items)
    return render_fragment("playbook/playbooks.html", {"page": context}, translate)


class Attributes(HTMLParser):
    """Collects the attributes of every element, as a browser would read them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(dict(attrs))

    def json(self, name: str) -> list[Any]:
        return [json.loads(found[name] or "") for found in self.found if name in found]


def test_the_list_keeps_the_hooks_that_other_programs_look_for() -> None:
    first, last = listing(page=1), listing(page=2, pages=2)

    assert re.search(r'<button[^>]*data-page="0"[^>]*disabled[^>]*>← Previous', first)
    assert re.search(r'<button data-page="2" class="nav-page-btn"[^>]*>Next →</button>', first)
    assert not re.search(r'<button[^>]*data-page="2"[^>]*disabled', first)
    assert re.search(r'<button[^>]*data-page="3"[^>]*disabled[^>]*>Next →', last)
    assert '<button class="select-pb-btn" data-pbid="pb-1"' in first
    assert '<button class="delete-pb-btn" data-pbid="pb-1"' in first
    assert '<div class="pagination">' in first
    assert '<span class="page-info">Page 1 of 3 (25 total)</span>' in first


@pytest.mark.parametrize("id", ['"><b x="', "'&#34;\\", "한국어</script>", "{{ 7 * 7 }}"])
def test_arguments_survive_the_way_through_an_attribute(id: str) -> None:
    attributes = Attributes(listing(ids=[id], goal=id))

    assert {"id": id} in attributes.json("data-args")
    assert {"page": 1, "pageSize": 10} in attributes.json("data-then-args")


def test_an_empty_list_says_so() -> None:
    assert "There are no playbooks yet. " in listing(ids=[], pages=0)


def test_a_forgotten_value_is_an_error_and_not_a_gap() -> None:
    with pytest.raises(UndefinedError):
        render_fragment("playbook/playbooks.html", {}, translate)


@pytest.mark.parametrize("name", ["playbook/../playbooks.html", "none/none.html", "../pages.py"])
def test_only_templates_can_be_rendered(name: str) -> None:
    with pytest.raises(TemplateNotFound):
        render_fragment(name, {}, translate)


def test_the_shell_escapes_what_it_is_given() -> None:
    page = render_page("", title="</title><b>", lang='"><b>', refresh_tool='"><b>')

    assert "<b>" not in page


@pytest.mark.parametrize("locale", LOCALES)
def test_shell_style_and_script_stay_small(locale: Locale) -> None:
    page = page_document(replace(CALL, locale=locale), refresh_tool="get_playbook_page", refresh_args="page pageSize?")

    assert len(page.encode()) <= 24 * 1024
    assert len(gzip.compress(page.encode())) <= 8 * 1024


def test_nothing_is_loaded_before_the_first_page() -> None:
    """Cold start is measured, and a server without pages needs no template engine."""
    code = "import sys, madang.rendering.pages; sys.exit('jinja2' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
