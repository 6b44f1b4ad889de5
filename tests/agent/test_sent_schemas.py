"""What a run's model is sent of a tool: what its arguments mean, without what is only checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from madang.agent.history import estimate_tokens
from madang.agent.sent_schemas import sent_description, sent_schema
from madang.llm.base import OfferedTool
from madang.llm.messages import Part, TextPart
from madang.services import prebuilt_schemas
from tests.agent.bench import bench, tool_call

MAX_TOKENS = 3_200
"""Estimated: the model of the review counts 1.36 times as many, and 5,780 before."""


def _text(tools: Sequence[OfferedTool]) -> str:
    return json.dumps([[tool.name, tool.description, tool.schema] for tool in tools], ensure_ascii=False)


def test_bounds_leave_what_is_sent_and_names_stay() -> None:
    schema = {
        "type": "object",
        "title": "Search",
        "additionalProperties": False,
        "properties": {
            "pattern": {"type": "string", "minLength": 1, "pattern": "^a", "description": "a regular expression"},
            "title": {"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 3},
            "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 5}},
            "mode": {"enum": ["minimum", "maximum"], "default": "minimum"},
        },
        "required": ["pattern"],
    }

    assert sent_schema(schema) == {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "a regular expression"},
            "title": {"type": "array", "items": {"type": "string"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "mode": {"enum": ["minimum", "maximum"], "default": "minimum"},
        },
        "required": ["pattern"],
    }


def test_an_argument_that_need_not_be_told_goes_with_what_is_said_of_it_unless_it_is_required() -> None:
    schemas = prebuilt_schemas()
    adding, deleting = schemas["add_content"]["input"], schemas["delete_store"]["input"]

    assert "storeId" in sent_schema(adding)["properties"]
    assert "storeId" not in sent_schema(adding, {"storeId"})["properties"]
    assert "storeId" in sent_schema(deleting, {"storeId"})["properties"]
    said = "Keep a text (content). Without storeId: the session's store."
    assert sent_description(said, adding, {"storeId"}) == "Keep a text (content)."
    assert sent_description(said, adding) == said


def test_a_description_does_not_outline_what_the_schema_has() -> None:
    assert sent_description("Make a chart of data ([{label, value}]) or series. A step is: {a*, b}. Brief.", {}) == (
        "Make a chart of data or series. Brief."
    )


async def test_all_tools_together_are_a_third_smaller_and_what_is_not_sent_is_still_checked(tmp_path: Path) -> None:
    script: list[Sequence[Part]] = [
        [tool_call("add_todo", "c1", name="x" * 1_001)],
        [tool_call("add_todo", "c2", name="tea", colour="green")],
        [TextPart("Done.")],
    ]
    async with bench(tmp_path, *script) as b:
        await b.say("Hello")

        first, second, third, *_ = b.model.requests
        sent = _text(first.tools)
        assert estimate_tokens(sent) < MAX_TOKENS
        for word in ("maxLength", "minimum", "additionalProperties", "maxItems"):
            assert word not in sent
        assert "must have at most 1000 characters" in str(second.messages)
        assert "colour: is not an argument of this tool" in str(third.messages)
