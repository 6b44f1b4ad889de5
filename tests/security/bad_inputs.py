"""A stream of bad requests, the same for the same seed: each with the answers that it may get.

Nothing here is a good call of a tool that writes, so a server has the same rows before and after.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

Id = int | str


@dataclass(frozen=True, slots=True)
class BadInput:
    """One line, or one body. `id` is that of its answer; `may_be_null` says that the id may not have been read."""

    kind: str
    line: bytes
    id: Id | None = None
    may_be_null: bool = False
    is_answered: bool = True


NASTY: list[Any] = [
    None,
    True,
    -1,
    0,
    2**63,
    10**4000,
    1.5,
    1e308,
    float("nan"),
    float("-inf"),
    "",
    " ",
    "x",
    "\x00",
    "\x1b[2J\x1b]8;;http://x\x07",
    "\u202etxt.exe",
    "\u2028Status: Agent paused",
    "\u200b",
    "../../etc/passwd",
    "'; DROP TABLE audit; --",
    "{{7*7}}",
    "<script>alert(1)</script>",
    "\U0010ffff",
    "가" * 300,
    [],
    [[]],
    [None],
    {},
    {"": ""},
    {"__proto__": {}},
    {"$ref": "http://127.0.0.1:9/x"},
]

METHODS = (
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "skills/list",
    "skills/get",
    "server/discover",
    "tasks/get",
)

READING: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ping", {}),
    ("tools/list", {}),
    ("resources/list", {}),
    ("tools/call", {"name": "get_current_state", "arguments": {}}),
    ("tools/call", {"name": "list_playbooks", "arguments": {"page": 1}}),
)
"""Requests that change nothing, also when what is done to them leaves them whole."""


class BadInputs:
    """Makes bad requests about these tools. Ids are counted up, so that each answer can be told from all others."""

    def __init__(self, tools: Iterable[str], seed: int, meta: Mapping[str, Any] | None = None) -> None:
        """`meta` is what each request says of its client, where there is no handshake."""
        self._tools = sorted(tools)
        self._meta = meta or {}
        self._random = Random(seed)
        self._id = 1_000_000
        self._kinds: list[Callable[[], BadInput]] = [
            self._damaged,
            self._damaged,
            self._noise,
            self._half_pair,
            self._digits,
            self._deep,
            self._large,
            self._shape,
            self._bad_id,
            self._odd_id,
            self._unknown_method,
            self._wrong_params,
            self._wrong_params,
            self._wrong_call,
            self._unknown_tool,
            self._wrong_arguments,
            self._wrong_arguments,
            self._wrong_arguments,
            self._wrong_meta,
            self._unasked,
        ]

    def take(self, count: int) -> Iterator[BadInput]:
        for _ in range(count):
            yield self._random.choice(self._kinds)()

    def _next_id(self) -> int:
        self._id += 1
        return self._id

    def _nasty(self) -> Any:
        return self._random.choice(NASTY)

    def _request(self, kind: str, method: Any, params: Any, id: Any = None, *, may_be_null: bool = False) -> BadInput:
        id = self._next_id() if id is None else id
        if self._meta and self._random.random() < 0.9:
            own = params.get("_meta", {})
            params = {**params, "_meta": {**self._meta, **own} if isinstance(own, dict) else own}
        line = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        return BadInput(kind, line.encode(), id, may_be_null)

    def _call(self, kind: str, name: Any, arguments: Any) -> BadInput:
        return self._request(kind, "tools/call", {"name": name, "arguments": arguments})

    def _damaged(self) -> BadInput:
        """Return a request with bytes changed, lost or added behind its id."""
        id, (method, params) = self._next_id(), self._random.choice(READING)
        start = b'{"jsonrpc":"2.0","id":%d,"method":"' % id
        rest = bytearray(json.dumps(method)[1:].encode() + b',"params":' + json.dumps(params).encode() + b"}")
        for _ in range(self._random.randint(1, 4)):
            place = self._random.randrange(len(rest)) if rest else 0
            how = self._random.randrange(4)
            if how == 0:
                del rest[place:]
            elif how == 1:
                rest[place:place] = self._random.choice(
                    [b"\xff", b"\xed\xa0\x80", b"\x00", b"\\", b'"', b"}", b"]", b","]
                )
            elif rest:
                rest[place] = self._random.randrange(256)
        # An id that was read from a broken line is right, and none is no lie.
        return BadInput("damaged", start + bytes(rest).replace(b"\n", b" "), id, may_be_null=True)

    def _noise(self) -> BadInput:
        noise = self._random.randbytes(self._random.randint(1, 200)).replace(b"\n", b" ")
        text = self._random.choice(
            [b"x" + noise, b"GET / HTTP/1.1", b"hello", b"\xef\xbb\xbf{", b"\xff\xfe{\x00", b"\x00"]
        )
        return BadInput("noise", text)

    def _half_pair(self) -> BadInput:
        half = chr(self._random.randint(0xD800, 0xDFFF))
        params = self._random.choice(
            [
                {"name": "add_todo", "arguments": {"name": half}},
                {"name": half, "arguments": {}},
                {"name": "add_todo", "arguments": {half: 1}},
            ]
        )
        return self._request("half pair", "tools/call", params, may_be_null=True)

    def _digits(self) -> BadInput:
        id, digits = self._next_id(), b"9" * self._random.choice([4_301, 5_000, 20_000])
        params = b'{"name":"mark_todo","arguments":{"id":' + digits + b"}}"
        line = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}' % (id, params)
        return BadInput("digits", line, id, may_be_null=True)

    def _deep(self) -> BadInput:
        id, depth = self._next_id(), self._random.choice([65, 66, 67, 100, 199, 201, 1_000, 20_000])
        opening, closing = self._random.choice([(b"[", b"]"), (b'{"a":', b"}")])
        value = opening * depth + b"1" + closing * depth
        params = b'{"name":"add_todo","arguments":{"name":%s}}' % value
        line = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}' % (id, params)
        return BadInput("deep", line, id, may_be_null=True)

    def _large(self) -> BadInput:
        size = self._random.choice([10_000, 30_000, 100_000])
        value = self._random.choice(["x" * size, [0] * size, {str(number): 0 for number in range(size // 10)}])
        return self._request(
            "large", "tools/call", {"name": "add_todo", "arguments": {"name": value}}, may_be_null=True
        )

    def _shape(self) -> BadInput:
        id = self._next_id()
        shapes: list[tuple[Any, Id | None]] = [
            (self._nasty(), None),
            ([{"jsonrpc": "2.0", "id": id, "method": "ping"}], None),
            ({"id": id, "method": "ping"}, id),
            ({"jsonrpc": "1.0", "id": id, "method": "ping"}, id),
            ({"jsonrpc": "2.0", "id": id, "method": self._random.choice([None, 5, [], {}])}, id),
            (
                {"jsonrpc": "2.0", "id": id, "method": "ping", "params": self._random.choice([5, "x", [], [1], True])},
                id,
            ),
            ({"jsonrpc": "2.0", "id": id}, None),
            ({"jsonrpc": "2.0", "id": id, "result": 5}, None),
            ({"jsonrpc": "2.0", "id": id, "error": "x"}, None),
        ]
        value, answered_id = self._random.choice(shapes)
        return BadInput("shape", json.dumps(value).encode(), answered_id, may_be_null=True)

    def _bad_id(self) -> BadInput:
        id = self._random.choice(["null", "true", "1.5", "[]", "{}", "NaN", "[1]", '{"a":1}', "1e3"])
        return BadInput("bad id", b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % id.encode())

    def _odd_id(self) -> BadInput:
        id: Id = self._random.choice([-self._next_id(), 10**30 + self._next_id(), 10**4000 + self._next_id()])
        if self._random.random() < 0.5:
            id = f"{self._random.choice(['', '한글', chr(0), chr(27), chr(0x202E), 'x' * 5000])} {self._next_id()}"
        method, params = self._random.choice(READING)
        return self._request("odd id", method, params, id, may_be_null=type(id) is int)

    def _unknown_method(self) -> BadInput:
        names = [
            "",
            " ",
            "tools/cal",
            "rpc.discover",
            "notifications/initialized",
            "a\n\x1b[2Jb",
            "x" * 5000,
            "\u202e",
            "__init__",
        ]
        return self._request("unknown method", self._random.choice(names), {})

    def _wrong_params(self) -> BadInput:
        fields = ["name", "uri", "cursor", "arguments", "ref", "level", "_meta", "protocolVersion", "clientInfo", "x"]
        chosen = self._random.sample(fields, self._random.randint(1, 4))
        method = self._random.choice(METHODS)
        return self._request("wrong params", method, {field: self._nasty() for field in chosen})

    def _wrong_call(self) -> BadInput:
        names: list[Any] = [None, 5, [], {}, True, "", *self._tools]
        arguments = self._random.choice([5, "x", [], [1], True, "{}"])
        return self._call("wrong call", self._random.choice(names), arguments)

    def _unknown_tool(self) -> BadInput:
        tool = self._random.choice(self._tools)
        names = [
            f"{tool} ",
            f"{tool}\x00",
            f"{tool}\n",
            tool.upper(),
            f"x__{tool}",
            "evil\ntool",
            "\x1b[2J",
            "x" * 5000,
            "\u200b",
        ]
        return self._call("unknown tool", self._random.choice(names), {"a": self._nasty()})

    def _wrong_arguments(self) -> BadInput:
        """Return a call with a field that no tool has, so that none of them does anything."""
        fields = ["name", "id", "goal", "path", "content", "page", "storeId", "query", "prompt", "pattern", "ids"]
        chosen = self._random.sample(fields, self._random.randint(0, 4))
        arguments = {field: self._nasty() for field in chosen} | {"noSuchField": self._nasty()}
        return self._call("wrong arguments", self._random.choice(self._tools), arguments)

    def _wrong_meta(self) -> BadInput:
        names: list[Any] = ["", " ", "a\x9b", "a\u200b", "\u202e", "a\nb", "x" * 201, "x" * 100_000, None, 5, [], {}]
        key = self._random.choice(["madang/sessionId", "madang/assistantId", "progressToken"])
        params = {"name": "get_current_state", "arguments": {}, "_meta": {key: self._random.choice(names)}}
        return self._request("wrong meta", "tools/call", params)

    def _unasked(self) -> BadInput:
        """Return a notification, or an answer to nothing: neither is answered."""
        messages: list[dict[str, Any]] = [
            {
                "method": "notifications/cancelled",
                "params": {"requestId": self._random.choice(["none", -5, None, [], {}])},
            },
            {"method": "notifications/progress", "params": {"progressToken": self._nasty(), "progress": self._nasty()}},
            {"method": "notifications/roots/list_changed"},
            {"method": "no/such\n\x1b[2J", "params": {"x": self._nasty()}},
            {"id": self._next_id(), "result": {"x": self._nasty()}},
            {"id": f"none {self._next_id()}", "error": {"code": 1, "message": "\x1b[2J"}},
        ]
        line = json.dumps({"jsonrpc": "2.0", **self._random.choice(messages)})
        return BadInput("unasked", line.encode(), is_answered=False)


def check_answers(inputs: list[BadInput], answers: Sequence[Mapping[str, Any]]) -> None:
    """Check that each input got one answer, under its id, or under none where the id need not have been read."""
    for answer in answers:
        assert answer["jsonrpc"] == "2.0", answer
        assert ("result" in answer) != ("error" in answer), answer
        text = json.dumps(answer)
        assert "Traceback" not in text, text[:2000]
        assert "Internal error" not in text, text[:2000]
    due = [one for one in inputs if one.is_answered]
    by_id = Counter(answer["id"] for answer in answers if answer["id"] is not None)
    unanswered = [one for one in due if not _took(by_id, one.id)]
    assert +by_id == Counter(), "answers to what was not asked"
    silent = [one for one in unanswered if one.id is not None and not one.may_be_null]
    assert silent == [], silent[:3]
    assert len(unanswered) == sum(answer["id"] is None for answer in answers)


def _took(by_id: Counter[Id], id: Id | None) -> bool:
    if id is None or not by_id[id]:
        return False
    by_id[id] -= 1
    return True
