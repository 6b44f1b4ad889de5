"""Links inside the documentation lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, name_of, prose

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_SOURCES = [
    file.as_posix()
    for pattern in ("src/**/*.py", "tests/**/*.py", "hosts/**/*.py", "docs/**/*.py", "web/src/**/*.ts*", "web/*.mjs")
    for file in ROOT.glob(pattern)
]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_to_files_and_headings_resolve(page: Path) -> None:
    assert [link for link in _LINK.findall(prose(page)) if not _resolves(page, link)] == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached = {ROOT / "README.md"}
    waiting = list(reached)
    while waiting:
        page = waiting.pop()
        for link in _LINK.findall(prose(page)):
            target = (page.parent / link.partition("#")[0]).resolve()
            inside = sorted(target.glob("*.md")) if target.is_dir() else [target]
            new = [one for one in inside if one.suffix == ".md" and one.is_file() and one not in reached]
            reached.update(new)
            waiting += new

    assert [name_of(page) for page in PAGES if page not in reached] == []


def _resolves(page: Path, link: str) -> bool:
    if re.match(r"https?://", link):
        return True
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_source_file_that_a_page_names_exists(page: Path) -> None:
    """Modules move, and prose stays behind."""
    named = re.findall(r"`([\w.-]+(?:/[\w.-]+)+\.(?:py|ts|tsx|mjs))`", prose(page))

    assert [file for file in named if not _is_source(file)] == []


def _is_source(file: str) -> bool:
    if file.startswith("tests/services/NAME/"):  # of the service that the reader writes
        return True
    return any(path.endswith(f"/{file}") for path in _SOURCES)
