"""Schemas as every client takes them."""

from __future__ import annotations

from typing import Annotated, Literal

from inline_snapshot import snapshot
from pydantic import Field

from madang.core.documents import Document
from madang.core.schemas import flat_schema, outline


class Inner(Document):
    """Told to people who read the code."""

    title: str
    count: Annotated[int, Field(ge=1, description="how many")] = 1


class Outer(Document):
    """The same."""

    inner: Inner
    more: list[Inner] = Field(default_factory=list, max_length=3)
    maybe: Inner | None = None
    kind: Literal["a", "b"] = "b"
    flag: bool = False
    snake_case: str


class Nothing(Document):
    """Has no fields."""


def test_references_unions_with_null_and_titles_are_gone() -> None:
    inner = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string"},
            "count": {"default": 1, "description": "how many", "minimum": 1, "type": "integer"},
        },
        "required": ["title"],
    }

    assert flat_schema(Outer) == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "inner": inner,
            "more": {"type": "array", "items": inner, "maxItems": 3},
            "maybe": inner,
            "kind": {"type": "string", "enum": ["a", "b"], "default": "b"},
            "flag": {"type": "boolean"},
            "snakeCase": {"type": "string"},
        },
        "required": ["inner", "snakeCase"],
    }


def test_no_fields_is_still_an_object() -> None:
    assert flat_schema(Nothing) == {"type": "object", "additionalProperties": False, "properties": {}}


def test_an_outline_keeps_the_shape_of_the_first_levels() -> None:
    assert outline(flat_schema(Outer, mode="serialization")) == snapshot(
        {
            "type": "object",
            "properties": {
                "inner": {
                    "type": "object",
                    "properties": {"title": {"type": "string"}, "count": {"type": "integer"}},
                    "required": ["title", "count"],
                },
                "more": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"title": {"type": "string"}, "count": {"type": "integer"}},
                        "required": ["title", "count"],
                    },
                },
                "maybe": {
                    "type": "object",
                    "properties": {"title": {"type": "string"}, "count": {"type": "integer"}},
                    "required": ["title", "count"],
                },
                "kind": {"type": "string", "enum": ["a", "b"]},
                "flag": {"type": "boolean"},
                "snakeCase": {"type": "string"},
            },
            "required": ["inner", "more", "maybe", "kind", "flag", "snakeCase"],
        }
    )
