"""Thousands of bad requests through both doors: each is answered, and nothing is left behind."""

from __future__ import annotations

import http.client
import json
import os
import re
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.security.bad_inputs import BadInput, BadInputs, check_answers
from tests.security.served import TIMEOUT_S, Answer, Served, serve
from tests.security.stdio_client import StdioClient
from tests.wires import envelope

INPUTS = int(os.environ.get("MADANG_TEST_BAD_INPUTS", "10000"))
"""Of these 100,000 are a run of their own, of several minutes: tests/README.md has the command."""
# A request over HTTP takes twice as long as a line, and most of what can be wrong is in the message that both carry.
LINES, BODIES = INPUTS * 4 // 5, INPUTS // 5
SEED = int(os.environ.get("MADANG_TEST_SEED", "20261115"))
WINDOW = 500
THREADS = 4
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2066-\u2069]")
SENDABLE = re.compile("[!-~]{1,200}")
BOOKKEEPING = {"audit", "notice", "migration", "sqlite_sequence"}

# Not the virtual ones: Python's own SQLite may be too old to open them. What they are made of is tables.
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL TABLE%'"


def row_counts(data_dir: Path) -> dict[str, int]:
    with closing(sqlite3.connect(f"file:{data_dir / 'madang.db'}?mode=ro", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        names = [name for (name,) in connection.execute(TABLES)]
        return {
            name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            for name in names
            if name not in BOOKKEEPING
        }


def filled(counts: dict[str, int]) -> dict[str, int]:
    """Return the tables that have rows: empty ones are made when something first looks at them."""
    return {name: count for name, count in counts.items() if count}


def check_trail(data_dir: Path, inputs: int) -> None:
    """Check that each row of the audit trail is whole, and that nothing in it is a control."""
    with closing(sqlite3.connect(f"file:{data_dir / 'madang.db'}?mode=ro", uri=True)) as connection:
        rows = connection.execute("SELECT tool, arguments, outcome, session_id, decision, actor FROM audit").fetchall()
    assert len(rows) > inputs // 10
    for tool, arguments, outcome, session_id, _, actor in rows:
        assert all((tool, arguments, outcome, session_id, actor)) or tool == ""
        assert not CONTROLS.search(tool + arguments + session_id)
        json.loads(arguments)


def test_t37_bad_lines_are_each_answered_and_leave_nothing(tmp_path: Path) -> None:
    client = StdioClient(tmp_path)
    client.shake_hands()
    tools = [tool["name"] for tool in client.ask(_request(2, "tools/list"))["result"]["tools"]]
    client.ask(_request(3, "tools/call", name="create_goal", arguments={"goal": "Stay whole"}))
    bad_inputs = BadInputs(tools, SEED)
    _settle(bad_inputs, client)
    before = filled(row_counts(tmp_path))

    sent = 0
    while sent < LINES:
        inputs = list(bad_inputs.take(WINDOW))
        check_answers(inputs, _send_all(client, inputs))
        sent += WINDOW

    state = client.ask(_request(4, "tools/call", name="get_current_state", arguments={}))
    assert state["result"]["structuredContent"]["goal"] == "Stay whole"
    assert client.end() == 0
    assert filled(row_counts(tmp_path)) == before
    check_trail(tmp_path, LINES)
    _check_log(client.log)


def _send_all(client: StdioClient, inputs: list[BadInput]) -> list[dict[str, Any]]:
    client.tell(*(one.line for one in inputs))
    return [client.answers.get(timeout=TIMEOUT_S) for one in inputs if one.is_answered]


def _settle(bad_inputs: BadInputs, client: StdioClient) -> None:
    """Send some inputs first: services make their tables when they are first asked."""
    inputs = list(bad_inputs.take(WINDOW))
    check_answers(inputs, _send_all(client, inputs))


BAD_HEADERS: list[dict[str, str | None]] = [
    {"mcp_protocol_version": "nonsense"},
    {"mcp_protocol_version": "1999-01-01"},
    {"mcp_protocol_version": "2026-07-28"},
    {"mcp_session_id": "nonsense"},
    {"mcp_session_id": "x" * 5000},
    {"mcp_session_id": None},
    {"content_type": "text/plain"},
    {"content_type": None},
    {"content_encoding": "gzip"},
    {"accept": "text/html"},
    {"accept": None},
    {"authorization": None},
    {"authorization": "Bearer wrong"},
    {"authorization": "Basic \xff"},
    {"host": "evil.example"},
    {"origin": "http://evil.example"},
    {"sec_fetch_site": "cross-site"},
]


class HttpClient:
    """A client on one connection, which is opened again whenever the server closes it."""

    def __init__(self, served: Served, session: str) -> None:
        self._served = served
        self._session = session
        self._connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=TIMEOUT_S)

    def post(self, body: bytes, **changes: str | None) -> Answer:
        headers = dict(self._served.headers(**{"mcp_session_id": self._session, **changes}))
        for _ in range(2):
            try:
                self._connection.request("POST", "/mcp", body, headers)
                response = self._connection.getresponse()
                return Answer(
                    response.status, {name.lower(): value for name, value in response.headers.items()}, response.read()
                )
            except (http.client.RemoteDisconnected, ConnectionError):
                self._connection.close()  # it was closed between two requests, or for a body that is too large
        raise AssertionError("no answer")

    def close(self) -> None:
        self._connection.close()


def test_t37_bad_bodies_are_each_answered_and_leave_nothing(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        session = served.session()
        listed = served.post(_request(2, "tools/list"), mcp_session_id=session).message()
        tools = [tool["name"] for tool in listed["result"]["tools"]]
        served.call(session, "create_goal", {"goal": "Stay whole"})
        _post_all(served, session, list(BadInputs(tools, SEED).take(WINDOW)))
        before = filled(row_counts(tmp_path))

        inputs = list(BadInputs(tools, SEED + 1).take(BODIES))
        failures: list[BaseException] = []

        def work(part: list[BadInput]) -> None:
            try:
                _post_all(served, session, part)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(inputs[start::THREADS],)) for start in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

        state = served.call(session, "get_current_state", {}).message()
        assert state["result"]["structuredContent"]["goal"] == "Stay whole"
    assert filled(row_counts(tmp_path)) == before
    check_trail(tmp_path, BODIES)
    _check_log(served.log)


def modern_headers(line: bytes) -> dict[str, str | None]:
    """Return the headers that a client of 2026-07-28 sends with a request, as far as there is one."""
    headers: dict[str, str | None] = {"mcp_session_id": None, "mcp_protocol_version": "2026-07-28"}
    try:
        message = json.loads(line)
        method, name = message["method"], message["params"].get("name")
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return headers
    named = {"mcp_method": method, "mcp_name": name}
    return headers | {
        key: value for key, value in named.items() if isinstance(value, str) and SENDABLE.fullmatch(value)
    }


def test_t37_bad_requests_that_stand_alone_are_each_answered(tmp_path: Path) -> None:
    with serve(tmp_path) as served:
        client = HttpClient(served, "")
        statuses: Counter[int] = Counter()
        for one in BadInputs(["add_todo", "get_playbook", "write_file"], SEED, envelope("test")).take(INPUTS // 20):
            answer = client.post(one.line, **modern_headers(one.line))
            statuses[answer.status] += 1
            if answer.status == 202:
                assert not one.is_answered, one
            else:
                assert answer.status in (200, 400, 404, 413), (one, answer)
                check_answers([replace(one, may_be_null=answer.status != 200, is_answered=True)], [answer.message()])
        client.close()
    assert statuses[200]
    assert statuses[400]
    _check_log(served.log)


def _post_all(served: Served, session: str, inputs: list[BadInput]) -> None:
    client = HttpClient(served, session)
    statuses: Counter[int] = Counter()
    for number, one in enumerate(inputs):
        if number % 20 == 0:
            refused = client.post(one.line, **BAD_HEADERS[number // 20 % len(BAD_HEADERS)])
            assert refused.status < 500
            assert not refused.body or refused.message()["jsonrpc"] == "2.0", refused
        answer = client.post(one.line)
        statuses[answer.status] += 1
        if answer.status == 202:
            assert not one.is_answered, one
            continue
        assert answer.status in (200, 400, 404, 413), (one, answer)
        check_answers([BadInput(one.kind, one.line, one.id, may_be_null=answer.status != 200)], [answer.message()])
    client.close()
    assert statuses[200]
    assert statuses[400]


def _request(id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def _check_log(log: Path) -> None:
    text = log.read_text()
    assert "Traceback" not in text, text[text.index("Traceback") :][:3000]
    assert "rows were lost" not in text
    assert not CONTROLS.search(text.replace("\n", ""))
