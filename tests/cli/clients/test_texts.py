"""Editing configuration files as text: what was put in comes out again, and nothing else moves."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from madang.cli.clients import json_text, toml_text, yaml_text
from madang.cli.clients.json_text import Malformed

ENTRY = {"command": "/opt/마당/madang", "args": ["mcp", "--locale", "ko", 'a "b" \\ c']}
PATH = ("mcpServers", "madang")

JSON_TEXTS = {
    "empty object": "{}",
    "spread empty object": "{\n}\n",
    "another server": '{\n  "mcpServers": {\n    "x": {"command": "y"}\n  }\n}\n',
    "empty servers": '{\n\t"a": 1,\n\t"mcpServers": {}\n}',
    "spread empty servers": '{\r\n  "mcpServers": {\r\n  },\r\n  "b": [1, 2]\r\n}\r\n',
    "one line": '{"a": [1, {"b": null}], "mcpServers": {"x": {}}}',
    "comments": '// top\n{ // here\n  /* "mcpServers": {} */\n  "a": "// none", // trailing\n  "b": "{"\n}\n// end\n',
    "trailing commas": '{\n  "mcpServers": {\n    "x": {"args": [1,],},\n  },\n}\n',
    "byte order mark": '\ufeff{\n  "a": "한글"\n}\n',
    "escapes": '{"\\u006dcpServers": {"x\\"": 1}, "k": "\\\\"}',
}


@pytest.mark.parametrize("text", JSON_TEXTS.values(), ids=JSON_TEXTS)
def test_an_entry_of_json_is_put_in_replaced_and_taken_out(text: str) -> None:
    before = json_text.parse(text)

    with_entry = json_text.put(text, PATH, ENTRY)
    assert json_text.parse(with_entry) == {**before, "mcpServers": {**before.get("mcpServers", {}), "madang": ENTRY}}
    replaced = json_text.put(with_entry, PATH, {"command": "other"})
    assert json_text.parse(replaced)["mcpServers"]["madang"] == {"command": "other"}
    assert json_text.put(replaced, PATH, ENTRY) == with_entry

    without = json_text.remove(with_entry, PATH)
    assert json_text.parse(without) == {"mcpServers": {}} | before
    if before.get("mcpServers"):
        assert without == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"s": {"a": 1, "madang": 2}}', '{"s": {"a": 1}}'),
        ('{"s": {"madang": 2, "a": 1}}', '{"s": {"a": 1}}'),
        ('{"s": {"a": 1, "madang": 2, "b": 3}}', '{"s": {"a": 1, "b": 3}}'),
        ('{"s": {\n  "a": 1, // one\n  "madang": 2\n}}', '{"s": {\n  "a": 1 // one\n}}'),
        ('{"s": {\n  "a": 1,\n  "madang": {\n    "x": 2\n  },\n}}', '{"s": {\n  "a": 1,\n}}'),
        ('{"s": {\n  // ours\n  "madang": 2, // it\n  "b": 3\n}}', '{"s": {\n  // ours // it\n  "b": 3\n}}'),
    ],
)
def test_an_entry_in_any_place_is_taken_out(text: str, expected: str) -> None:
    assert json_text.remove(text, ("s", "madang")) == expected
    json_text.parse(expected)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "nonsense",
        '{"a": }',
        '{"a" 1}',
        '{"a": 1 "b": 2}',
        '{"a": 1}}',
        '{"a": "x\ny"}',
        '{"a": 01}',
        '{"a": tru}',
        '{"a": 1, "a": 2}',
        "{'a': 1}",
        '{"a": [1 2]}',
        "{/* }",
        '{"a": ' + "[" * 5000 + "]" * 5000 + "}",
        '{"mcpServers": []}',
    ],
    ids=lambda text: text[:12],
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        json_text.put(text, PATH, ENTRY)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    before=st.dictionaries(st.text(max_size=4), _VALUES, max_size=3),
    servers=st.dictionaries(st.text(min_size=1, max_size=4), _VALUES, max_size=3),
    indent=st.sampled_from([None, 0, 1, 2, 4, "\t"]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_any_json_survives_an_entry(before: Any, servers: Any, indent: Any, newline: str) -> None:
    document = {**before, "mcpServers": servers}
    text = json.dumps(document, indent=indent, ensure_ascii=False).replace("\n", newline)

    with_entry = json_text.put(text, PATH, ENTRY)

    assert json_text.parse(with_entry) == {**document, "mcpServers": {**servers, "madang": ENTRY}}
    assert json.loads(with_entry) == json_text.parse(with_entry)
    assert json_text.parse(json_text.remove(with_entry, PATH)) == document


TOML_TEXTS = {
    "nothing": "",
    "no last newline": 'model = "x"',
    "tables": 'model = "x"\n\n[mcp_servers.other]\ncommand = "y" # keep\n\n# about\n[projects."/a b"]\ntrust = 1\n',
    "windows": 'a = 1\r\n[b]\r\nc = """\r\n[mcp_servers.madang]\r\n"""\r\n',
    "arrays of tables": "[[a]]\nb = [\n  1,\n]\n[[a]]\nb = []\n\n",
}
TOML_PATH = ("mcp_servers", "madang")


@pytest.mark.parametrize("text", TOML_TEXTS.values(), ids=TOML_TEXTS)
def test_a_table_of_toml_is_put_in_and_taken_out(text: str) -> None:
    before = tomllib.loads(text)

    with_entry = toml_text.put(text, TOML_PATH, ENTRY)
    servers = {**before.get("mcp_servers", {}), "madang": ENTRY}
    assert tomllib.loads(with_entry) == {**before, "mcp_servers": servers}
    assert toml_text.put(with_entry, TOML_PATH, ENTRY) == with_entry

    without = toml_text.remove(with_entry, TOML_PATH)
    assert tomllib.loads(without) == before
    assert without.rstrip() == text.rstrip()


def test_a_table_in_the_middle_takes_its_own_tables_along_and_no_comment_of_others() -> None:
    text = (
        '[a]\nx = 1\n\n[mcp_servers.madang]\ncommand = "m"\n\n[mcp_servers.madang.env]\nA = "b"\n\n# of b\n[b]\ny = 2\n'
    )

    assert toml_text.remove(text, TOML_PATH) == "[a]\nx = 1\n# of b\n[b]\ny = 2\n"


YAML_TEXTS = {
    "nothing": "",
    "other keys": "GOOSE_MODEL: x # mine\n",
    "no last newline": "a: 1",
    "extensions": "a: 1\nextensions:\n  # the first\n  x:\n    enabled: true\n    args:\n    - a\n\n# end\nb: [1, 2]\n",
    "empty extensions": "extensions: {}\nb: 1\n",
    "no value": "extensions:\nb: 1\n",
    "flow": "extensions: {x: {cmd: y}}\n",
    "indented by four": "extensions:\n    x:\n        cmd: y\n",
    "windows": "extensions:\r\n  x:\r\n    cmd: y\r\n",
}
YAML_PATH = ("extensions", "madang")


@pytest.mark.parametrize("text", YAML_TEXTS.values(), ids=YAML_TEXTS)
def test_an_entry_of_yaml_is_put_in(text: str) -> None:
    before = yaml.safe_load(text) or {}

    with_entry = yaml_text.put(text, YAML_PATH, ENTRY)

    extensions = {**(before.get("extensions") or {}), "madang": ENTRY}
    assert yaml.safe_load(with_entry) == {**before, "extensions": extensions}
    assert set(text.splitlines()) - {"extensions: {}", "extensions: {x: {cmd: y}}"} <= set(with_entry.splitlines())


@pytest.mark.parametrize("name", ["extensions", "indented by four", "windows"])
def test_an_entry_of_yaml_is_taken_out(name: str) -> None:
    text = YAML_TEXTS[name]

    assert yaml_text.remove(yaml_text.put(text, YAML_PATH, ENTRY), YAML_PATH) == text


@pytest.mark.parametrize("text", ["a: [", "- a\n- b\n", "just text", "extensions: [1]", "a: b: c", "extensions: text"])
def test_what_is_no_mapping_of_yaml_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        yaml_text.put(text, YAML_PATH, ENTRY)


def test_a_table_without_lines_is_replaced() -> None:
    assert toml_text.put("[mcpServers.madang]\n\n[a]\n", PATH, {"x": {}}) == "[a]\n\n[mcpServers.madang]\nx = {}\n"


def test_an_entry_that_others_refer_to_is_refused() -> None:
    text = "mcpServers:\n  madang: &m\n    a: 1\n  b: *m\n"

    with pytest.raises(Malformed, match="other places"):
        yaml_text.put(text, PATH, ENTRY)
