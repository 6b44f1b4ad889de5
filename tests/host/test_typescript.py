"""The wire types of the front end, made from the Python ones."""

from __future__ import annotations

from madang.host.openapi import wire_schema
from madang.host.typescript import declarations


def test_a_type_has_a_comment_unions_and_fields_that_may_be_left_out() -> None:
    schema = {
        "description": "How tea is made.\n\nIn two lines.",
        "type": "object",
        "properties": {
            "kind": {"enum": ["green", "홍차"]},
            "notes": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            "cup": {"anyOf": [{"$ref": "#/$defs/Cup"}, {"type": "null"}]},
            "left": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            "rest": {"type": "object", "additionalProperties": {"type": "number"}},
        },
        "required": ["kind", "notes", "cup", "rest"],
    }
    empty = {"type": "object", "properties": {}}
    either = {"oneOf": [{"$ref": "#/$defs/Tea"}, {"$ref": "#/$defs/Cup"}]}
    assert declarations({"Tea": schema, "Cup": empty, "Any": either}) == (
        "export type Any =\n  | Tea\n  | Cup\n\n"
        "export type Cup = Record<string, never>\n\n"
        "/**\n * How tea is made.\n *\n * In two lines.\n */\n"
        "export interface Tea {\n"
        '  kind: "green" | "홍차"\n'
        "  notes: (string | null)[]\n"
        "  cup: Cup | null\n"
        "  left?: number\n"
        "  rest: Record<string, number>\n"
        "}\n"
    )


def test_what_is_sent_may_leave_out_what_is_told_may_not() -> None:
    types = wire_schema()["$defs"]
    assert "attachments" not in types["MessageBody"]["required"]
    assert set(types["MessagesAnswer"]["required"]) == set(types["MessagesAnswer"]["properties"])
    assert set(types["CallAnswer"]["required"]) == set(types["CallAnswer"]["properties"])
    assert "StreamEvent" in types
