"""Schemas of every quality, read for the two spellings of a name."""

from __future__ import annotations

from typing import Any

import pytest

from madang.client.schemas import SchemaReader

GIVEN = {"line_range": {"from_line": 1}}


@pytest.mark.parametrize("place", ["$defs", "definitions"])
def test_references_are_followed_to_where_they_lead(place: str) -> None:
    schema = {
        "properties": {"lineRange": {"$ref": f"#/{place}/Range"}},
        place: {"Range": {"$ref": f"#/{place}/Lines"}, "Lines": {"properties": {"fromLine": {}}}},
    }

    assert SchemaReader(schema).spell(GIVEN) == {"lineRange": {"fromLine": 1}}


@pytest.mark.parametrize(
    "inner",
    [
        True,
        None,
        [],
        {"properties": []},
        {"properties": {"fromLine": True}, "$ref": 1},
        {"$ref": "#/$defs/Missing"},
        {"$ref": "#"},
        {"$ref": "#/$defs/Circle"},
        {"anyOf": 1},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"items": {"properties": {"fromLine": {}}}},
    ],
)
def test_what_a_schema_does_not_tell_stays_as_it_was_given(inner: Any) -> None:
    schema = {"properties": {"lineRange": inner}, "$defs": {"Circle": {"$ref": "#/$defs/Circle"}}}

    assert SchemaReader(schema).spell(GIVEN) == {"lineRange": {"from_line": 1}}


@pytest.mark.parametrize("schema", [{}, {"properties": None}, {"properties": []}, {"$defs": 1, "$ref": "#/$defs/A"}])
def test_without_properties_nothing_is_renamed(schema: dict[str, Any]) -> None:
    assert SchemaReader(schema).spell(GIVEN) == GIVEN
