"""The call of a request: in whose session it is, and in which language."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starlette.requests import Request

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.host.calls import accepted_locale, in_session, session_of_segment
from madang.records.session_rows import SessionRecord

SESSION = SessionRecord(SessionId("tea"), AssistantId(""), "Tea", None, SessionId(""), 0, False, 0, "", "")


@pytest.mark.parametrize(
    ("header", "locale"), [("ko", "ko"), ("KO-kr,en;q=0.5", "ko"), ("de, ko", "en"), ("", "en"), ("en-GB", "en")]
)
def test_a_request_is_answered_in_the_first_language_that_it_asks_for(header: str, locale: str) -> None:
    request = Request({"type": "http", "headers": [(b"accept-language", header.encode())]})
    assert accepted_locale(request, "en") == locale


def test_a_call_in_a_session_has_what_the_session_says() -> None:
    call = Call(assistant_id=AssistantId("default"), locale="en")
    plain = replace(call, session_id=SessionId("tea"))
    assert in_session(call, SESSION) == plain
    own = replace(SESSION, assistant_id=AssistantId("cook"), locale="ko")
    assert in_session(call, own) == replace(plain, assistant_id=AssistantId("cook"), locale="ko")


@pytest.mark.parametrize(("segment", "name"), [("tea", "tea"), ("~YS9i", "a/b"), ("~Lg", "."), ("~!", ""), ("~_w", "")])
def test_a_segment_spells_a_name_that_is_none(segment: str, name: str) -> None:
    assert session_of_segment(segment) == name
