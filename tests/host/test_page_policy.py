"""The policy of a view: what another server declares for its page is filtered, and never wider than the ceiling."""

from __future__ import annotations

import pytest

from madang.host.page_policy import CONNECT_SCHEMES, RESOURCE_SCHEMES, PageRights, allowed_domains, proxy_policy

HOST = "http://127.0.0.1:1"

GOOD = ["https://example.com", "https://cdn.example.com:8443", "https://xn--bj0bj06e.xn--3e0b707e"]
BAD = [
    "",
    "*",
    "https:",
    "https://",
    "https://*",
    "https://*.example.com",
    "https://example.com/path",
    "https://example.com?x",
    "https://example.com;script-src *",
    "https://example.com; script-src *",
    "https://example.com 'unsafe-eval'",
    "https://example.com\nscript-src *",
    "https://example.com\r\nx-header: y",
    "https://example.com\thttps://evil.test",
    "https://example.com\x00",
    "https://example.com,https://evil.test",
    "'self'",
    "'unsafe-eval'",
    '"https://example.com"',
    "'nonce-abc'",
    "data:",
    "blob:",
    "http://example.com",
    "HTTPS://EXAMPLE.COM",
    "ws://example.com",
    "javascript:alert(1)",
    "example.com",
    "https://user@example.com",
    "https://example.com@127.0.0.1",
    "https://localhost",
    "https://localhost:8321",
    "https://a.localhost",
    "https://printer.local",
    "https://metadata.google.internal",
    "https://127.0.0.1",
    "https://127.0.0.1:8321",
    "https://127.0.0.0x1",
    "https://127.1",
    "https://2130706433",
    "https://[::1]",
    "https://10.0.0.1",
    "https://169.254.169.254",
    "https://example.com:99999999",
    "https://exa\u200bmple.com",
    "https://예.한국",
    "https://" + "a." * 200 + "com",
]


@pytest.mark.parametrize("domain", GOOD)
def test_a_host_of_the_internet_is_allowed(domain: str) -> None:
    assert allowed_domains([domain], RESOURCE_SCHEMES) == (domain,)


@pytest.mark.parametrize("domain", BAD, ids=ascii)
def test_anything_else_is_left_out_and_the_others_stay(domain: str) -> None:
    assert allowed_domains([GOOD[0], domain, GOOD[1]], CONNECT_SCHEMES) == (GOOD[0], GOOD[1])


def test_sockets_are_for_connections_alone_and_the_list_has_an_end() -> None:
    assert allowed_domains(["wss://example.com"], CONNECT_SCHEMES) == ("wss://example.com",)
    assert allowed_domains(["wss://example.com"], RESOURCE_SCHEMES) == ()
    assert len(allowed_domains([f"https://a{number}.example.com" for number in range(1000)], RESOURCE_SCHEMES)) == 32


def test_what_is_declared_widens_its_own_directives_alone() -> None:
    plain = proxy_policy(HOST, PageRights(), "n")
    wide = proxy_policy(HOST, PageRights(True, ("https://api.example.com",), ("https://cdn.example.com",)), "n")
    assert "example.com" not in plain
    assert [one for one in wide.split("; ") if one not in plain.split("; ")] == [
        "script-src 'unsafe-inline' https://cdn.example.com",
        "style-src 'unsafe-inline' https://cdn.example.com",
        "img-src data: https://cdn.example.com",
        "font-src https://cdn.example.com",
        "media-src https://cdn.example.com",
        "connect-src https://api.example.com",
    ]
    for policy in (plain, wide):
        for directive in ("default-src 'none'", "base-uri 'none'", "form-action 'none'", f"frame-ancestors {HOST}"):
            assert directive in policy.split("; ")


def test_without_scripts_only_the_proxys_own_runs_and_nothing_is_connected_to() -> None:
    rights = PageRights(False, ("https://api.example.com",), ())
    policy = proxy_policy(HOST, rights, "abc").split("; ")
    assert "script-src 'nonce-abc'" in policy
    assert not [one for one in policy if one.startswith("connect-src")]
    assert rights.sandbox == ""
