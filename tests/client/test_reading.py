"""What `unwrap` makes of answers, whoever sent them and whatever carried them."""

from __future__ import annotations

import asyncio
import traceback
from datetime import UTC, datetime
from typing import Any

import mcp_types as types
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from madang.client import unwrap
from madang.core.documents import Document
from madang.core.errors import NotFound, RequestError, ToolError, UnknownTool
from madang.core.results import Reply
from tests.asking import Asker


class Note(Document):
    """What a tool might answer."""

    note_id: int
    written_at: datetime


class ResultOfVersion1(BaseModel):
    """A `CallToolResult` as version 1 of the SDK has it: attributes in camelCase, and whatever else came."""

    content: list[types.TextContent]
    structuredContent: dict[str, Any] | None = None
    isError: bool = False
    model_config = {"extra": "allow"}


NOTE = {"noteId": 7, "writtenAt": "2026-01-02T03:04:05Z"}
TYPED = Note(note_id=7, written_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))


def text(*words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": part} for part in words]}


def parts(*words: str) -> list[Any]:
    return [types.TextContent(type="text", text=part) for part in words]


@pytest.mark.parametrize(
    "response",
    [
        Reply("get_note", "notes", "[get_note] Note 7", NOTE),
        types.CallToolResult(content=parts("Note 7"), structured_content=NOTE),
        types.CallToolResult(content=parts('{"noteId": 7, "writtenAt": "2026-01-02T03:04:05Z"}')),
        ResultOfVersion1(content=parts("Note 7"), structuredContent=NOTE),
        ResultOfVersion1.model_validate({**text("Note 7"), "structuredResult": NOTE}),
        {**text("Note 7"), "structuredContent": NOTE},
        {"structuredContent": NOTE},
        {"jsonrpc": "2.0", "id": 1, "result": {**text("Note 7"), "structuredContent": NOTE}},
        {"jsonrpc": "2.0", "id": 1, "result": text("Note 7"), "structuredResult": NOTE},
        types.JSONRPCResponse(jsonrpc="2.0", id=1, result={**text("Note 7"), "structuredContent": NOTE}),
        text("Here it is:", '{"noteId": 7, "writtenAt": "2026-01-02T03:04:05Z"}'),
    ],
)
def test_the_same_data_is_read_from_every_form_of_answer(response: object) -> None:
    assert unwrap(response) == NOTE
    assert unwrap(response, Note) == TYPED


def test_what_is_structured_comes_before_what_is_in_the_text() -> None:
    answer = {**text('{"from": "text"}'), "structuredContent": {"from": "content"}}

    assert unwrap({**answer, "structuredResult": {"from": "result"}}) == {"from": "result"}
    assert unwrap({"result": answer, "structuredResult": {"from": "result"}}) == {"from": "result"}
    assert unwrap(answer) == {"from": "content"}
    assert unwrap(text('{"from": "text"}')) == {"from": "text"}
    assert unwrap(text("from text")) == "from text"


@pytest.mark.parametrize("empty", [{}, [], 0, False, ""])
def test_data_that_is_empty_is_still_the_data(empty: object) -> None:
    assert unwrap({**text('{"from": "text"}'), "structuredContent": empty}) == empty


@pytest.mark.parametrize("words", ["42", "true", "null", "{not json}", '{"a": NaN}', "[" * 100_000, ""])
def test_what_is_not_an_object_or_a_list_stays_text(words: str) -> None:
    assert unwrap(text(words)) == words


def test_objects_in_several_parts_are_a_list() -> None:
    assert unwrap(text('{"id": 1}', '{"id": 2}')) == [{"id": 1}, {"id": 2}]


def test_an_answer_with_neither_text_nor_data_is_handed_on() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}

    assert unwrap({"content": [image]}) == [image]
    assert unwrap({"content": []}) == ""


def test_a_type_says_how_a_text_is_meant() -> None:
    assert unwrap(text("42"), int) == 42
    assert unwrap(text("42"), str) == "42"
    assert unwrap(text('{"a": 1}'), str) == '{"a": 1}'
    assert unwrap(text("[1, 2]"), list[int]) == [1, 2]
    assert unwrap({"structuredContent": {"result": [1, 2]}}, TypeAdapter(list[int])) == [1, 2]


def test_data_that_does_not_fit_its_type_names_the_field() -> None:
    with pytest.raises(ValidationError, match="noteId"):
        unwrap({"structuredContent": {**NOTE, "noteId": "seven"}}, Note)


@pytest.mark.parametrize(
    "response",
    [
        Reply("get_note", "notes", "[get_note] Error: …", {"error": {"code": "not_found"}}, error_code="not_found"),
        {**text("no"), "isError": True, "structuredContent": {"error": {"code": "not_found"}}},
        {"result": {**text('{"error": {"code": "not_found"}}'), "isError": True}},
        types.CallToolResult(content=[], structured_content={"error": {"code": "not_found"}}, is_error=True),
        ResultOfVersion1(content=[], structuredContent={"error": {"code": "not_found"}}, isError=True),
    ],
)
def test_an_error_is_raised_from_every_form_of_answer(response: object) -> None:
    with pytest.raises(NotFound) as raised:
        unwrap(response)

    assert raised.value.code == "not_found"


async def test_an_error_of_ours_is_the_exception_it_was_with_its_hint(asker: Asker) -> None:
    reply = await asker.ask("get_playbook", id="nobody")

    with pytest.raises(NotFound) as raised:
        unwrap(reply)

    error = reply.data["error"]
    assert (str(raised.value), str(raised.value.hint)) == (error["message"], error["hint"])
    assert f"Hint: {error['hint']}" in "".join(traceback.format_exception(raised.value))


@pytest.mark.parametrize(
    ("answer", "code", "message"),
    [
        (text("Error executing tool x: {boom}"), "error", "Error executing tool x: {boom}"),
        (text('{"error": "quota used up"}'), "error", "quota used up"),
        (text('{"code": 429, "message": "slow down"}'), "429", "slow down"),
        (text('{"error": {"code": "quota", "message": "used up"}}'), "quota", "used up"),
        (text('{"error": null}'), "error", '{"error": null}'),
        ({"content": []}, "error", "The tool failed without a message."),
    ],
)
def test_a_foreign_error_keeps_its_own_words_and_code(answer: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(ToolError) as raised:
        unwrap({**answer, "isError": True})

    assert (type(raised.value), raised.value.code, str(raised.value)) == (ToolError, code, message)
    assert raised.value.hint is None


def test_an_error_of_the_protocol_is_one_of_the_calling_program() -> None:
    ours = {"code": -32602, "message": "There is no tool 'x'.", "data": {"code": "unknown_tool"}}
    with pytest.raises(UnknownTool, match="There is no tool 'x'"):
        unwrap({"jsonrpc": "2.0", "id": 1, "error": ours})

    error = types.ErrorData(code=-32601, message="Method not found")
    with pytest.raises(RequestError) as raised:
        unwrap(types.JSONRPCError(jsonrpc="2.0", id=1, error=error))
    assert (raised.value.code, str(raised.value)) == ("-32601", "Method not found")


@pytest.mark.parametrize("response", [None, 1, "text", b"", [], {}, {"some": "data"}, object()])
def test_what_is_no_answer_is_refused(response: object) -> None:
    with pytest.raises(TypeError, match="not the answer of a tool"):
        unwrap(response)


async def test_an_answer_that_was_not_awaited_is_refused_with_what_to_do() -> None:
    with pytest.raises(TypeError, match="await it first"):
        unwrap(asyncio.sleep(0))
