"""Messages as rows: there and back, also what a newer build wrote."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from madang.llm.messages import (
    CallPart,
    Extra,
    ImagePart,
    Message,
    Part,
    ResultPart,
    TextPart,
    ThinkingPart,
    UnknownPart,
    dump_message,
    dump_parts,
    parse_message,
    parse_parts,
)

EXTRA = Extra("anthropic", "stub", {"signature": "signed", "nested": {"a": [1, None]}})


def test_a_message_comes_back_from_json_as_it_was() -> None:
    image = ImagePart(b"\x00\xff", "image/png", "a dot")
    message = Message(
        "assistant",
        (
            ThinkingPart("hm", EXTRA),
            TextPart("한글"),
            CallPart("one", "add_todo", '{"broken": ', EXTRA),
            image,
            ResultPart("one", "add_todo", "no", is_error=True, images=(image,)),
        ),
    )

    assert parse_message(json.loads(json.dumps(dump_message(message)))) == message


def test_a_part_of_a_newer_build_is_kept_as_it_is() -> None:
    newer: list[dict[str, Any]] = [
        {"type": "video", "frames": [1]},
        {"type": "text", "text": ["not", "a", "text"]},
        {"type": "text"},
        {},
    ]

    parts = parse_parts(newer)

    assert parts == tuple(UnknownPart(value) for value in newer)
    assert dump_parts(parts) == newer


def test_a_role_of_a_newer_build_is_not_the_models_own_voice() -> None:
    assert parse_message({"role": "oracle", "parts": [{"type": "text", "text": "hi"}]}).role == "user"


JSON = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.text(max_size=3), max_size=2)
EXTRAS = st.none() | st.builds(Extra, st.text(), st.text(), st.dictionaries(st.text(), JSON, max_size=3))
IMAGES = st.builds(ImagePart, st.binary(max_size=20), st.text(), st.text())
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(TextPart, st.text(), EXTRAS),
    st.builds(ThinkingPart, st.text(), EXTRAS),
    st.builds(CallPart, st.text(), st.text(), st.text(), EXTRAS),
    IMAGES,
    st.builds(ResultPart, st.text(), st.text(), st.text(), st.booleans(), st.lists(IMAGES, max_size=2).map(tuple)),
)


@given(st.lists(PARTS, max_size=5).map(tuple))
def test_any_parts_come_back_from_json(parts: tuple[Part, ...]) -> None:
    assert parse_parts(json.loads(json.dumps(dump_parts(parts)))) == parts


KINDS = st.sampled_from(["text", "thinking", "call", "image", "result", "video"])
FIELDS = ["text", "id", "tool", "arguments", "extra", "data", "mimeType", "images", "callId"]


@given(KINDS, st.dictionaries(st.sampled_from(FIELDS), JSON | st.dictionaries(st.sampled_from(FIELDS), JSON)))
def test_whatever_a_row_holds_is_read(kind: str, fields: dict[str, object]) -> None:
    assert len(parse_parts([{**fields, "type": kind}])) == 1
