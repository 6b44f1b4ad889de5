"""Who gets in: two names told apart by exact Host, two tokens, launch codes, and the policies of what is served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from madang.host.launch import CODE_S, LaunchCodes
from tests.host.hosting import BROWSER_TOKEN, CLIENT_TOKEN, hosting

NO_TOKEN = {"authorization": ""}


async def test_the_routes_of_each_name_are_not_served_under_the_other(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        port = tab.host.address.port
        for path, host, status in [
            ("/api/me", f"127.0.0.1:{port}", 200),
            ("/api/me", f"localhost:{port}", 421),
            ("/api/openapi.json", f"localhost:{port}", 421),
            ("/", f"localhost:{port}", 421),
            ("/mcp", f"localhost:{port}", 421),
            ("/proxy", f"localhost:{port}", 200),
            ("/proxy", f"127.0.0.1:{port}", 421),
        ]:
            answer = await tab.http.get(path, headers={"host": host})
            assert answer.status_code == status, (path, host)


async def test_health_and_readiness_need_no_token_and_tell_a_state_only(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        port = tab.host.address.port
        for path, state in (("/healthz", "ok"), ("/readyz", "ready")):
            answer = await tab.http.get(path, headers=NO_TOKEN)
            assert (answer.status_code, answer.json()) == (200, {"state": state})
            assert "server" not in answer.headers
            assert answer.headers["cache-control"] == "no-store"
            head = await tab.http.head(path, headers=NO_TOKEN)
            assert (head.status_code, head.content) == (200, b"")
            for attack, status in [
                ({"host": "evil.test"}, 421),
                ({"host": f"localhost:{port}"}, 421),
                ({"origin": "http://evil.test"}, 403),
                ({"origin": "null"}, 403),
                ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
                ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 403),
                ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
                ({"sec-fetch-site": "same-site"}, 403),
            ]:
                assert (await tab.http.get(path, headers=NO_TOKEN | attack)).status_code == status, attack
            for method, status in (("POST", 401), ("PUT", 401), ("DELETE", 401)):
                assert (await tab.http.request(method, path, headers=NO_TOKEN)).status_code == status
            assert (await tab.http.get(f"{path}/x", headers=NO_TOKEN)).status_code == 401


@pytest.mark.parametrize(
    "host",
    ["evil.test", "127.0.0.1.evil.test:{port}", "localhost.:{port}", "127.0.0.1", "[::1]:{port}", "127.1:{port}"],
)
async def test_t40_other_hosts_are_refused_on_every_route(tmp_path: Path, host: str) -> None:
    async with hosting(tmp_path) as tab:
        name = host.format(port=tab.host.address.port)
        for path in ("/", "/api/me", "/proxy", "/mcp", "/assets/a.js", "/api/sessions/x/events", "/healthz", "/readyz"):
            assert (await tab.http.get(path, headers={"host": name})).status_code == 421


async def test_t40_an_origin_other_than_the_chats_own_is_refused(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        port = tab.host.address.port
        for origin in ("http://evil.test", "null", f"http://localhost:{port}", f"http://127.0.0.1:{port + 1}"):
            answer = await tab.http.post("/api/sessions", json={}, headers={"origin": origin})
            assert answer.status_code == 403, origin
            assert "access-control-allow-origin" not in answer.headers
        own = {"origin": f"http://127.0.0.1:{port}", "sec-fetch-site": "same-origin"}
        assert (await tab.http.post("/api/sessions", json={}, headers=own)).status_code == 201
        assert len((await tab.get("/api/sessions"))["sessions"]) == 1


async def test_each_token_opens_only_what_is_its_own(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        client = {"authorization": f"Bearer {CLIENT_TOKEN}"}
        browser = {"authorization": f"Bearer {BROWSER_TOKEN}"}
        assert (await tab.http.get("/api/me", headers=NO_TOKEN)).status_code == 401
        assert (await tab.http.get("/api/me", headers=client)).status_code == 401
        assert (await tab.http.post("/mcp", json={}, headers=browser)).status_code == 401
        assert (await tab.http.get("/api/me?token=" + BROWSER_TOKEN, headers=NO_TOKEN)).status_code == 401
        assert (await tab.http.get("/api/nothing", headers=NO_TOKEN)).status_code == 401
        assert (await tab.http.get("/api/nothing", headers=browser)).status_code == 404


async def test_a_launch_code_gives_the_token_once(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        url = tab.host.launch_url()
        assert url.startswith(tab.host.address.origin + "/#launch=")
        code = url.partition("#launch=")[2]

        first = await tab.http.post("/api/launch", json={"code": code}, headers=NO_TOKEN)
        second = await tab.http.post("/api/launch", json={"code": code}, headers=NO_TOKEN)

        assert (first.status_code, first.json()) == (200, {"token": BROWSER_TOKEN})
        assert (second.status_code, second.json()["code"]) == (403, "denied")
        cross = {**NO_TOKEN, "sec-fetch-site": "cross-site"}
        fresh = tab.host.codes.make()
        assert (await tab.http.post("/api/launch", json={"code": fresh}, headers=cross)).status_code == 403
        assert tab.host.codes.use(fresh)


async def test_another_program_of_the_person_is_given_a_code_for_the_token(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        assert (await tab.http.post("/api/launch-codes", json={}, headers=NO_TOKEN)).status_code == 401
        assert tab.host.codes.use((await tab.post("/api/launch-codes"))["code"])


def test_a_launch_code_is_good_for_a_minute_and_only_some_are_open() -> None:
    now = [0.0]
    codes = LaunchCodes(lambda: now[0])
    early = codes.make()
    now[0] = CODE_S
    assert not codes.use(early)
    made = [codes.make() for _ in range(20)]
    assert not codes.use(made[0])
    assert codes.use(made[-1])
    assert not codes.use("")


async def test_a_chat_that_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    async with hosting(tmp_path / "data", static=tmp_path) as tab:
        answer = await tab.http.get("/", headers=NO_TOKEN)
        assert answer.status_code == 404
        assert "make run" in answer.text


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text('<meta property="csp-nonce" nonce="__NONCE__"><p>마당')
    (folder / "assets" / "main-1.js").write_text("plain")
    (folder / "assets" / "main-1.js.gz").write_bytes(b"\x1f\x8b zipped")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def policy(answer: Any) -> dict[str, str]:
    header: str = answer.headers["content-security-policy"]
    return {name: rest for name, _, rest in (part.strip().partition(" ") for part in header.split(";"))}


async def test_the_page_of_the_chat_has_a_policy_with_a_nonce_of_its_own(tmp_path: Path, built: Path) -> None:
    async with hosting(tmp_path / "data", static=built) as tab:
        pages = [await tab.http.get("/", headers=NO_TOKEN) for _ in range(2)]

        nonces = [page.text.partition('nonce="')[2].partition('"')[0] for page in pages]
        assert nonces[0] != nonces[1]
        for page, nonce in zip(pages, nonces, strict=True):
            rules = policy(page)
            assert rules["style-src"] == f"'self' 'nonce-{nonce}'"
            assert rules["script-src"] == "'self'"
            assert rules["frame-ancestors"] == "'none'"
            assert rules["frame-src"] == tab.host.address.content_origin
            assert rules["require-trusted-types-for"] == "'script'"
            assert page.headers["x-content-type-options"] == "nosniff"
            assert page.headers["cache-control"] == "no-store"


async def test_assets_come_compressed_and_nothing_else_of_the_disk_does(tmp_path: Path, built: Path) -> None:
    async with hosting(tmp_path / "data", static=built) as tab:
        identity = {**NO_TOKEN, "accept-encoding": "identity"}
        plain = await tab.http.get("/assets/main-1.js", headers=identity)
        assert (plain.text, plain.headers["content-type"]) == ("plain", "text/javascript; charset=utf-8")
        assert "immutable" in plain.headers["cache-control"]
        async with tab.http.stream(
            "GET", "/assets/main-1.js", headers={**NO_TOKEN, "accept-encoding": "gzip"}
        ) as zipped:
            assert zipped.headers["content-encoding"] == "gzip"
            assert b"".join([part async for part in zipped.aiter_raw()]) == b"\x1f\x8b zipped"
        for path in ("../secret.txt", "..%2fsecret.txt", "%2e%2e/%2e%2e/secret.txt", "a/../../../secret.txt", "", ".x"):
            answer = await tab.http.get(f"/assets/{path}", headers=identity)
            assert answer.status_code in (401, 404), path
            assert "secret" not in answer.text


async def test_the_proxy_is_for_frames_of_the_chat(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        frame = {**NO_TOKEN, "host": tab.host.address.content_host, "sec-fetch-site": "cross-site"}
        asked = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
        page = await tab.http.get("/proxy", headers={**frame, **asked})
        assert page.status_code == 200
        assert policy(page)["frame-ancestors"] == tab.host.address.origin
        assert tab.host.address.origin in page.text
        assert "__HOST_ORIGIN__" not in page.text
        for refused in (
            {"sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"},
            {**asked, "sec-fetch-dest": "object"},
        ):
            assert (await tab.http.get("/proxy", headers={**frame, **refused})).status_code == 403


async def test_t42_what_a_form_of_another_site_can_send_changes_nothing(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = await tab.http.post("/api/sessions", content=b"{}", headers={"content-type": kind})
            assert answer.status_code == 415
        assert (await tab.get("/api/sessions"))["sessions"] == []


async def test_every_answer_of_the_api_is_closed_to_others(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        for path in ("/api/me", "/api/sessions/nothing", "/api/sessions?limit=0"):
            answer = await tab.http.get(path)
            assert answer.headers["cache-control"] == "no-store"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"


async def test_mcp_is_served_in_the_same_process(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        }
        headers = {"authorization": f"Bearer {CLIENT_TOKEN}", "accept": "application/json, text/event-stream"}
        answer = await tab.http.post("/mcp", json=message, headers=headers)
        assert answer.status_code == 200
        assert "Madang" in answer.text


async def test_the_openapi_document_names_every_operation(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        document = await tab.get("/api/openapi.json")
        assert document["openapi"].startswith("3.1")
        for path, method in [
            ("/api/launch", "post"),
            ("/api/sessions", "get"),
            ("/api/sessions/{id}", "patch"),
            ("/api/inbox/{id}", "post"),
            ("/api/views/{id}/tools", "post"),
            ("/api/sessions/{id}/files", "get"),
            ("/api/sessions/{id}/files", "post"),
            ("/api/sessions/{id}/files/text", "get"),
            ("/api/sessions/{id}/exports", "get"),
        ]:
            operation = document["paths"][path][method]
            assert operation["summary"]
        for path, method in (("/api/launch", "post"), ("/api/hello", "get")):
            assert document["paths"][path][method]["security"] == []
        binary = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        files = document["paths"]["/api/sessions/{id}/files"]
        assert (files["get"]["responses"]["200"]["content"], files["post"]["requestBody"]["content"]) == (
            binary,
            binary,
        )
        assert document["paths"]["/api/sessions/{id}/exports"]["get"]["responses"]["200"]["content"] == binary
        assert "sessionTitle" in document["components"]["schemas"]["InboxItemAnswer"]["properties"]
        ids = [one["operationId"] for methods in document["paths"].values() for one in methods.values()]
        assert len(ids) == len(set(ids))
