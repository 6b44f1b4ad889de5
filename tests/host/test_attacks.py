"""Every operation of the API under attack: as the document of the API names them, so that a new one is tried too."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from madang.core.ids import SessionId, UserId
from madang.llm.messages import Part, TextPart
from tests.agent.bench import tool_call
from tests.agent.outside import Outside
from tests.host.hosting import BROWSER_TOKEN, CLIENT_TOKEN, Tab, hosting
from tests.host.test_inbox import one_item
from tests.host.test_sessions import over

OPEN = ("/api/launch", "/api/hello")
"""What a tab asks for that has no token yet, or does not send it yet."""


class Operations:
    """All operations, with a body and a query that fit."""

    def __init__(self, tab: Tab, document: Any) -> None:
        self.tab = tab
        self.all = [
            (method.upper(), path, operation)
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ]

    async def send(self, method: str, path: str, operation: Any, **options: Any) -> httpx2.Response:
        """Send a request that would be taken, but for what the options change."""
        url = re.sub(r"{\w+}", "nothing", path)
        headers = {**options.pop("headers", {})}
        if "requestBody" in operation and "content" not in options:
            options["content"] = b"{}"
        if "requestBody" in operation:
            [media_type] = operation["requestBody"]["content"]
            headers.setdefault("content-type", media_type)
        request = self.tab.http.build_request(method, options.pop("url", url), headers=headers, **options)
        response = await self.tab.http.send(request, stream=True)
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            await response.aclose()
        else:
            await response.aread()
        return response

    def with_body(self) -> list[tuple[str, str, Any]]:
        return [
            (method, path, operation)
            for method, path, operation in self.all
            if "application/json" in operation.get("requestBody", {}).get("content", {})
        ]


def required_query(operation: Any) -> str:
    """Return a query with which an operation looks for what it is about."""
    names = [one["name"] for one in operation["parameters"] if one["in"] == "query" and one["required"]]
    return f"?{'&'.join(f'{name}={name}' for name in names)}" if names else ""


@asynccontextmanager
async def operations(folder: Path, *answers: list[Part]) -> AsyncIterator[Operations]:
    async with hosting(folder, *answers) as tab:
        yield Operations(tab, await tab.get("/api/openapi.json"))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer x"}, 401),
        ({"authorization": f"Bearer {BROWSER_TOKEN}x"}, 401),
        ({"authorization": f"Bearer {CLIENT_TOKEN}"}, 401),
        ({"authorization": f"Basic {BROWSER_TOKEN}"}, 401),
        ({"host": "evil.test"}, 421),
        ({"host": "localhost.:1"}, 421),
        ({"origin": "http://evil.test"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
async def test_t40_t42_no_operation_is_open_to_others(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    async with operations(tmp_path) as api:
        for method, path, operation in api.all:
            if path in OPEN and status == 401:
                continue
            answer = await api.send(method, path, operation, headers=headers)
            assert answer.status_code == status, (method, path)
            assert "access-control-allow-origin" not in answer.headers
            assert BROWSER_TOKEN not in answer.text


async def test_a_token_in_an_address_is_none(tmp_path: Path) -> None:
    async with operations(tmp_path) as api:
        for method, path, operation in api.all:
            if path in OPEN:
                continue
            url = re.sub(r"{\w+}", "nothing", path)
            for query in (
                f"token={BROWSER_TOKEN}",
                f"access_token={BROWSER_TOKEN}",
                f"authorization=Bearer%20{BROWSER_TOKEN}",
            ):
                answer = await api.send(method, path, operation, url=f"{url}?{query}", headers={"authorization": ""})
                assert answer.status_code == 401, (method, path)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", ""]
)
async def test_t42_bodies_of_other_kinds_are_refused(tmp_path: Path, kind: str) -> None:
    async with operations(tmp_path) as api:
        for method, path, operation in api.all:
            if "requestBody" in operation:
                answer = await api.send(method, path, operation, headers={"content-type": kind})
                assert answer.status_code == 415, (method, path)


BAD_BODIES: dict[str, bytes] = {
    "nothing": b"",
    "array": b"[]",
    "text": b'"x"',
    "half": b'{"text": "x',
    "nan": b'{"text": NaN}',
    "infinity": b'{"text": -Infinity}',
    "deep": b'{"text":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "deep and within": b'{"arguments":' + b'{"a":' * 80 + b"1" + b"}" * 80 + b"}",
    "many": json.dumps({"arguments": {str(number): 1 for number in range(300_000)}}).encode(),
    "long": b'{"text": "' + b"x" * (5 * 1024 * 1024) + b'"}',
    "twice": b'{"text": "a", "text": "b", "text": 1}',
    "digits": b'{"limit": ' + b"9" * 5_000 + b"}",
    "half a pair": b'{"text": "\\ud83d", "name": "\\ud83d", "title": "\\ud83d", "say": 5}',
    "not utf-8": b'{"text": "\xff\xfe"}',
    "unknown": b'{"__proto__": {"x": 1}, "constructor": 1}',
    "zero": b'{"text": "\\u0000", "code": "\\u0000", "name": "\\u0000", "messageId": 1}',
}


@pytest.mark.parametrize("name", BAD_BODIES)
async def test_t37_a_bad_body_is_told_as_one(tmp_path: Path, name: str) -> None:
    async with operations(tmp_path) as api:
        for method, path, operation in api.with_body():
            answer = await api.send(method, path, operation, content=BAD_BODIES[name])
            # An empty body is an empty object, which some operations take.
            fine = (200, 201, 202, 204) if name in ("nothing", "half a pair", "zero") else ()
            assert answer.status_code in (400, 403, 404, 409, 413, *fine), (
                method,
                path,
                answer.status_code,
                answer.text[:300],
            )


async def test_t36_bad_queries_are_told_as_such(tmp_path: Path) -> None:
    values = ["", "0x1", "-1", "1.5", "1e30", "NaN", "Infinity", "true", "[1]", "9" * 5_000, "%00", "%ff", "%ed%a0%bd"]
    async with operations(tmp_path) as api:
        for method, path, operation in api.all:
            url = re.sub(r"{\w+}", "nothing", path)
            for parameter in (one for one in operation["parameters"] if one["in"] == "query"):
                for value in values:
                    answer = await api.send(method, path, operation, url=f"{url}?{parameter['name']}={value}")
                    assert answer.status_code < 500, (method, path, parameter["name"], value, answer.text[:300])
                    if parameter["schema"].get("type") == "integer":
                        assert answer.status_code in (400, 404), (method, path, parameter["name"], value)


@pytest.mark.parametrize(
    "id",
    ["x" * 5_000, "%00", "..%2f..%2fetc%2fpasswd", "%ff%fe", "%ed%a0%bd", "'%20OR%201=1--", "%E2%80%AE", "~", "🍵"],
)
async def test_odd_ids_are_ids_of_nothing(tmp_path: Path, id: str) -> None:
    async with operations(tmp_path) as api:
        for method, path, operation in api.all:
            if "{" not in path:
                continue
            url = re.sub(r"{\w+}", id, path)
            answer = await api.send(method, path, operation, url=url)
            assert answer.status_code in (400, 403, 404, 405), (method, path, answer.status_code, answer.text[:300])


async def test_t27_what_is_another_users_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        madang = tab.host.agent.madang
        theirs = replace(
            madang.call("host", pages="linked"),
            user_id=UserId("eve"),
            session_id=SessionId("theirs"),
            operation_id="host:x",
        )
        asked = await madang.provider.execute_tool(theirs, "prompt_user", {"prompt": "Which?", "type": "text"})
        [(view,)] = await madang.database.find("SELECT id FROM page_view WHERE user_id = 'eve'", user_id=UserId("eve"))
        made = await madang.provider.execute_tool(theirs, "create_playbook", {"goal": "Tea", "workflow": []})
        ids = {"sessions": "theirs", "inbox": asked.pause_id, "views": view}
        document = await tab.get("/api/openapi.json")
        api = Operations(tab, document)
        bodies = {
            "/api/inbox/{id}": b'{"answer": "x"}',
            "/api/views/{id}/tools": b'{"name": "reply_prompt", "arguments": {}}',
            "/api/views/{id}/resources": b'{"uri": "madang://x"}',
            "/api/sessions/{id}/messages": b'{"text": "x"}',
            "/api/sessions/{id}/fork": b'{"messageId": "x"}',
            "/api/sessions/{id}/turns": b'{"say": "x"}',
        }
        for method, path, operation in api.all:
            kind = path.split("/")[2]
            if kind not in ids or "{id}" not in path:
                continue
            answers = []
            for id in (ids[kind], "01a1e365-af26-7c81-94c1-239d4ebbc506"):
                url = re.sub(r"{\w+}", "x", path.replace("{id}", id)) + required_query(operation)
                options = {"content": bodies[path]} if method == "POST" and path in bodies else {}
                answer = await api.send(method, path, operation, url=url, **options)
                answers.append((answer.status_code, answer.text))
            assert answers[0] == answers[1], (method, path)
            assert answers[0][0] in (400, 404), (method, path, answers[0])
        assert "theirs" not in str(await tab.get("/api/sessions"))
        assert await tab.inbox() == []
        session = await tab.new_session()
        answer = await tab.http.post(
            f"/api/sessions/{session}/tools/get_playbook", json={"arguments": {"id": made.data["playbook"]["id"]}}
        )
        assert "not found" in answer.json()["text"]
        still = await madang.database.find("SELECT status FROM pause WHERE user_id = 'eve'", user_id=UserId("eve"))
        assert still == [("open",)]


@pytest.mark.parametrize(
    ("first", "second"), [({"allow": True}, {"allow": False}), ({"allow": True}, {"decline": True})]
)
async def test_t29_of_two_decisions_at_once_one_counts(tmp_path: Path, first: Any, second: Any) -> None:
    answers: list[list[Part]] = [[tool_call("erase", name="tea")], [TextPart("Done.")]]
    async with hosting(tmp_path, *answers) as tab:
        outside = Outside()
        tab.host.agent.madang.provider.register(outside)
        session = await tab.new_session()
        await tab.write(session, "Erase it")
        path = f"/api/inbox/{(await one_item(tab))['id']}"
        told = await asyncio.gather(*(tab.http.post(path, json=one) for one in [first, second] * 5))
        winners = [one.status_code for one in told]
        assert winners.count(200) == 1
        assert set(winners) == {200, 409}
        await over(tab, session)
        assert len(outside.holder.erased) <= 1
        assert len(tab.script.requests) == 2


async def test_t29_of_two_turns_at_once_one_counts(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        session = await tab.new_session()
        path = f"/api/sessions/{session}/turns"
        bodies = [{"calls": [{"tool": "add_todo", "arguments": {"name": f"Tea {n}"}}]} for n in range(6)]
        told = await asyncio.gather(*(tab.http.post(path, json=body) for body in bodies))
        assert all(one.status_code in (202, 409) for one in told), [one.text for one in told]
        runs = {one.json()["runId"] for one in told if one.status_code == 202}
        assert len(runs) == 1
