"""Whose host it is, and the calls of the requests that come to it: in whose name, language and session each is."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace

from starlette.requests import Request

from madang.core.calls import LOCALES, Call, Locale
from madang.core.errors import NotFound
from madang.core.ids import AssistantId, SessionId, is_name
from madang.core.phrases import say
from madang.records.session_rows import SessionRecord
from madang.records.sessions import SessionStore

ENCODED = "~"
"""What a segment begins with that spells the name of a session."""


class HostCalls:
    """Makes the calls of requests. `call` is the host's own: user, default assistant and language, and no session."""

    def __init__(self, call: Call, sessions: SessionStore) -> None:
        self.call = call
        self._sessions = sessions

    def call_of(self, request: Request) -> Call:
        """Return the call of a request outside of sessions, in the language that the browser asks for."""
        return replace(self.call, locale=accepted_locale(request, self.call.locale))

    async def session_of(self, request: Request, id: str) -> tuple[Call, SessionRecord]:
        """Return the call of a request in a session, and the session: with its assistant and its language.

        Raises:
            NotFound: the user has no such session; another user's is none.
        """
        id = session_of_segment(id)
        call = replace(self.call_of(request), session_id=SessionId(id))
        session = await self._sessions.get(call) if is_name(id) else None
        if session is None or session.state == "filling":
            raise NotFound(say("There is no such session."))
        return in_session(call, session), session


def in_session(call: Call, session: SessionRecord) -> Call:
    """Return a call as it is in a session."""
    return replace(
        call,
        session_id=session.id,
        assistant_id=AssistantId(session.assistant_id) if session.assistant_id else call.assistant_id,
        locale=session.locale or call.locale,
    )


def session_of_segment(segment: str) -> str:
    """Return the session that a segment of a path names; empty if it names none.

    Programs give sessions any name, and one with a slash or of dots alone is no segment: such a name is written as `~`
    and the base64url of its UTF-8.
    """
    if not segment.startswith(ENCODED):
        return segment
    encoded = segment.removeprefix(ENCODED)
    try:
        return base64.b64decode(f"{encoded}{'=' * (-len(encoded) % 4)}", b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        return ""


def accepted_locale(request: Request, default: Locale) -> Locale:
    """Return the language that a request asks for, if it is one of ours."""
    languages = request.headers.get("accept-language", "").split(",")
    first = languages[0].strip()[:2].lower()
    return next((locale for locale in LOCALES if locale == first), default)
