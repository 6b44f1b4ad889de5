"""The page at the root: for a person with a browser, and of no use to anybody else."""

from __future__ import annotations

import re

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from madang.core.calls import LOCALES, Locale
from madang.server.gate import MCP, AccessPolicy, Gate, PolicyRoute
from madang.server.welcome import WelcomeRoute, welcome_page

HOST = "127.0.0.1:8321"
TOKEN = "t" * 32
BROWSER = {"accept": "text/html,application/xhtml+xml", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.fixture
def client() -> TestClient:
    routes = [WelcomeRoute("ko"), PolicyRoute("/mcp", PlainTextResponse("MCP"), policy=MCP)]
    access = AccessPolicy(TOKEN, frozenset({HOST}), frozenset({f"http://{HOST}"}))
    return TestClient(Gate(Starlette(routes=routes), access, routes), base_url=f"http://{HOST}")


def test_a_browser_is_told_what_this_is(client: TestClient) -> None:
    answer = client.get("/", headers=BROWSER)

    assert answer.status_code == 200
    assert "madang install" in answer.text
    assert re.search("[가-힣]", answer.text)
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "access-control-allow-origin" not in answer.headers


def test_a_browser_at_the_printed_address_is_led_to_that_page(client: TestClient) -> None:
    answer = client.get("/mcp", headers=BROWSER, follow_redirects=False)

    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "madang install" in client.get("/mcp", headers=BROWSER).text


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {"accept": "text/event-stream"}, 401),
        ("GET", {"authorization": "Bearer wrong"}, 401),
        ("POST", {}, 401),
        ("GET", {"host": "evil.example:8321"}, 421),
        ("GET", {"sec-fetch-site": "cross-site"}, 403),
        ("GET", {"authorization": f"Bearer {TOKEN}"}, 200),
    ],
)
def test_nobody_else_is_led_anywhere(client: TestClient, method: str, headers: dict[str, str], status: int) -> None:
    answer = client.request(method, "/mcp", headers={**BROWSER, **headers}, follow_redirects=False)

    assert answer.status_code == status


def test_a_program_without_the_token_is_told_nothing_more_than_before(client: TestClient) -> None:
    answer = client.get("/", headers={"accept": "application/json"})

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_other_paths_methods_hosts_and_sites_are_as_closed_as_ever(client: TestClient) -> None:
    assert client.get("/other", headers=BROWSER).status_code == 401
    assert client.post("/", headers=BROWSER).status_code in (401, 405)
    assert client.get("/", headers={**BROWSER, "host": "evil.example:8321"}).status_code in (403, 421)
    assert client.get("/", headers={**BROWSER, "origin": "http://evil.example"}).status_code == 403
    framed = {**BROWSER, "sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site"}
    assert client.get("/", headers=framed).status_code == 403


@pytest.mark.parametrize("locale", LOCALES)
def test_the_page_is_the_same_for_everybody(locale: Locale) -> None:
    page = welcome_page(locale)

    assert f'lang="{locale}"' in page
    assert "<script" not in page
    assert "http" not in page.removeprefix("<!doctype html>")
