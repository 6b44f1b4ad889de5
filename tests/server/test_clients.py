"""What a client can show: from what it declares, and from who it says it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from madang.core.calls import PageMode
from madang.server.clients import SHOWS_NO_PAGES, page_mode
from madang.server.mapping import APP_MIME_TYPE, UI_EXTENSION


def session(name: str | None = None, extensions: Any = None) -> SimpleNamespace:
    """Return as much of an MCP session as says who the client is."""
    client = SimpleNamespace(client_info=SimpleNamespace(name=name)) if name is not None else None
    return SimpleNamespace(client_capabilities=SimpleNamespace(extensions=extensions), client_params=client)


@pytest.mark.parametrize(
    ("name", "extensions", "mode"),
    [
        ("any", {UI_EXTENSION: {"mimeTypes": [APP_MIME_TYPE]}}, "linked"),
        ("claude-code", {UI_EXTENSION: {"mimeTypes": ["text/x", APP_MIME_TYPE]}}, "linked"),
        ("any", {UI_EXTENSION: {"mimeTypes": ["text/html"]}}, "embedded"),
        ("any", {UI_EXTENSION: {}}, "embedded"),
        ("any", {"other": {"mimeTypes": [APP_MIME_TYPE]}}, "embedded"),
        ("any", None, "embedded"),
        (None, None, "embedded"),
        ("Claude-Code", None, "off"),
    ],
)
def test_pages_are_linked_where_declared_off_for_known_terminals_else_embedded(
    name: str | None, extensions: Any, mode: PageMode
) -> None:
    assert page_mode(session(name, extensions)) == mode


@pytest.mark.parametrize("name", sorted(SHOWS_NO_PAGES))
def test_command_line_agents_get_text_only(name: str) -> None:
    assert page_mode(session(name)) == "off"


def test_a_client_without_capabilities_gets_embedded_pages() -> None:
    assert page_mode(SimpleNamespace(client_capabilities=None, client_params=None)) == "embedded"


@pytest.mark.parametrize("settings", [None, [], 5, "x", {"mimeTypes": 5}, {"mimeTypes": None}, {"mimeTypes": {}}])
def test_t37_a_declaration_that_makes_no_sense_is_none(settings: Any) -> None:
    assert page_mode(session("any", {UI_EXTENSION: settings})) == "embedded"
