"""The page at the root: for a person with a browser, and of no use to anybody else."""

from __future__ import annotations

import re

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from madang.core.calls import LOCALES, Locale
from madang.server.gate import AccessPolicy, Gate
from madang.server.welcome import WelcomeRoute, welcome_page

HOST = "127.0.0.1:8321"
BROWSER = {"accept": "text/html,application/xhtml+xml", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}


@pytest.fixture
def client() -> TestClient:
    route = WelcomeRoute("ko")
    access = AccessPolicy("t" * 32, frozenset({HOST}), frozenset({f"http://{HOST}"}))
    return TestClient(Gate(Starlette(routes=[route]), access, [route]), base_url=f"http://{HOST}")


def test_a_browser_is_told_what_this_is(client: TestClient) -> None:
    answer = client.get("/", headers=BROWSER)

    assert answer.status_code == 200
    assert "madang install" in answer.text
    assert re.search("[가-힣]", answer.text)
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "access-control-allow-origin" not in answer.headers


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
