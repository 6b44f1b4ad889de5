"""Answers as objects."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime

import pytest

from madang.client import Answer, OpenPause, unwrap

DATA = {
    "storeId": "s",
    "page": {"totalItems": 2, "items": [{"createdAt": "now"}, {"createdAt": "then"}]},
    "text": "of the data",
    "http_status": 200,
}
SCHEMA = {
    "type": "object",
    "properties": {"nextCursor": {"type": "string"}, "page": {"properties": {"hasNextPage": {"type": "boolean"}}}},
}


def answer() -> Answer:
    return Answer("[tool] What a model reads", DATA, SCHEMA)


def test_fields_are_attributes_and_items_in_both_spellings() -> None:
    view = answer()

    assert (view.store_id, view.storeId, view["storeId"], view["store_id"]) == ("s", "s", "s", "s")
    assert (view.http_status, view.httpStatus) == (200, 200)
    assert [item.created_at for item in view.page.items] == ["now", "then"]
    assert view["page"]["items"][1].createdAt == "then"


def test_the_text_is_what_a_model_reads_and_a_field_of_that_name_is_an_item() -> None:
    assert (answer().text, str(answer())) == ("[tool] What a model reads", "[tool] What a model reads")
    assert answer()["text"] == "of the data"


def test_a_declared_field_that_was_left_out_is_none() -> None:
    assert answer().next_cursor is None
    assert answer().page.has_next_page is None


def test_references_of_a_schema_are_followed() -> None:
    """As they are for arguments."""
    schema = {"properties": {"page": {"$ref": "#/$defs/Page"}}, "$defs": {"Page": SCHEMA["properties"]["page"]}}  # type: ignore[index]

    assert Answer("", DATA, schema).page.has_next_page is None


def test_a_field_that_is_not_there_names_near_ones() -> None:
    with pytest.raises(AttributeError, match=r"no field 'stor_id'\. Did you mean 'store_id'\?"):
        _ = answer().stor_id
    with pytest.raises(KeyError, match="nothing"):
        answer()["nothing"]
    assert ("store_id" in answer(), "nothing" in answer()) == (True, False)


def test_of_two_fields_that_differ_in_spelling_alone_each_has_its_own_name() -> None:
    view = Answer("", {"pageSize": 1, "page_size": 2})

    assert (view.pageSize, view.page_size) == (1, 2)


def test_a_list_and_a_text_are_answers_too() -> None:
    rows = Answer("", [{"noteId": 1}, {"noteId": 2}])
    assert ([row.note_id for row in rows], len(rows), rows[1].note_id) == ([1, 2], 2, 2)

    assert bool(rows)
    assert not Answer("", [])

    words = Answer("hello", "hello")
    assert (words.text, unwrap(words), "hell" in words) == ("hello", "hello", True)
    with pytest.raises(AttributeError, match="it is a str"):
        _ = words.contents


def test_answers_compare_and_copy_as_their_data() -> None:
    assert answer() == DATA
    assert answer().page == DATA["page"]
    assert copy.deepcopy(answer()) == DATA
    assert pickle.loads(pickle.dumps(answer())).text == answer().text
    assert unwrap(answer()) is DATA
    assert (list(answer()), repr(answer().page.items[0])) == (list(DATA), "JsonView({'createdAt': 'now'})")
    assert {"store_id", "page", "next_cursor"} <= set(dir(answer()))


ENVELOPE = {"type": "object", "properties": {"next": {"type": "string"}, "pause": {"type": "object"}}}


def test_a_pause_and_the_next_step_are_small_values() -> None:
    details = {"kind": "prompt", "id": "m1", "status": "waiting", "expiresAt": "2026-01-02T03:04:05Z"}
    paused = Answer("", {"next": "Ask the person.", "pause": details}, ENVELOPE)

    assert paused.pause == OpenPause("prompt", "m1", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert paused.next == "Ask the person."
    assert paused["pause"]["status"] == "waiting"


def test_an_answer_without_them_has_none_and_no_text() -> None:
    for plain in (Answer("", {}, ENVELOPE), Answer("", "It rains."), Answer("", [1]), Answer("", None, ENVELOPE)):
        assert (plain.pause, plain.next) == (None, "")


def test_what_another_server_means_by_these_names_is_not_taken_for_ours() -> None:
    """A cursor and a number of seconds: nothing to stop an agent for."""
    schema = {"properties": {"next": {"type": "string"}}}
    for foreign in (Answer("", {"next": "cursor", "pause": {"kind": "wait"}}, schema), Answer("", {"pause": 3})):
        assert (foreign.pause, foreign.next) == (None, "")
        assert foreign["pause"] in ({"kind": "wait"}, 3)


def test_a_pause_that_is_declared_beside_the_data_needs_no_schema() -> None:
    assert Answer("", {}, None, "choice").pause == OpenPause("choice")
    assert Answer("", "text alone", None, "wait").pause == OpenPause("wait")


def test_details_of_a_pause_that_make_no_sense_are_left_out() -> None:
    paused = Answer("", {"pause": {"kind": "wait", "id": 7, "expiresAt": "soon"}, "next": ["a"]}, ENVELOPE)

    assert (paused.pause, paused.next) == (OpenPause("wait"), "")
