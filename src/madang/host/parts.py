"""What the host is made of: the parts of an open agent, handed over by the composition root."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from starlette.requests import Request

from madang.agent.inbox import Inbox
from madang.agent.models import OpenModels
from madang.agent.runner import Runner
from madang.agent.stores import RunStores
from madang.core.calls import LOCALES, Call, Locale
from madang.core.errors import NotFound
from madang.core.executor import Executor
from madang.core.ids import AssistantId, SessionId, is_name
from madang.core.phrases import say
from madang.database.port import Database
from madang.files.folders import Folders
from madang.host.ending import HostEnding
from madang.host.model_catalogue import ModelCatalogue
from madang.host.recent_log import RecentLog
from madang.provider.provider import Provider
from madang.provider.sessions import SessionOperations
from madang.records.assistants import AssistantStore
from madang.records.audit import AuditLog
from madang.records.decisions import DecisionStore
from madang.records.egress import EgressLog
from madang.records.events import EventLog
from madang.records.image_uploads import ImageUploads
from madang.records.runs.message_search import MessageSearch
from madang.records.sessions import SessionRecord, SessionStore
from madang.records.views import ViewStore

ENCODED = "~"
"""What a segment begins with that spells the name of a session."""


@dataclass(frozen=True)
class HostParts:
    """All that routes need. `call` is whose host it is: user, default assistant and language, without a session."""

    call: Call
    database: Database
    provider: Provider
    executor: Executor
    folders: Folders
    sessions: SessionStore
    operations: SessionOperations
    assistants: AssistantStore
    audit: AuditLog
    runner: Runner
    stores: RunStores
    events: EventLog
    search: MessageSearch
    inbox: Inbox
    views: ViewStore
    images: ImageUploads
    decisions: DecisionStore
    catalogue: ModelCatalogue
    open_models: OpenModels
    local_ports: Mapping[str, int]
    """Where servers of models are looked for on this computer, when the person asks."""
    egress: EgressLog
    ending: HostEnding
    export_everything: Callable[[Path], Awaitable[object]] | None
    """Writes all sessions and playbooks to a new ZIP file."""
    is_on_server: bool
    """The database is on a server, not in the data folder."""
    config_assistants: frozenset[str]
    """The assistants that `config.toml` names."""
    recent_log: RecentLog
    own_services: frozenset[str]
    """Those that ship with Madang: their names are nobody's content."""
    data_dir: str
    host_origin: str
    content_origin: str

    @property
    def model(self) -> str:
        """The model of runs whose assistant has none of its own, or that of every run."""
        return self.catalogue.fixed or self.catalogue.default

    @property
    def models(self) -> Mapping[str, str]:
        """The models that can be chosen, by name, with how they are called."""
        return self.catalogue.names

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
        session = await self.sessions.get(call) if is_name(id) else None
        if session is None or session.state == "filling":
            raise NotFound(say("There is no such session."))
        return self.in_session(call, session), session

    def in_session(self, call: Call, session: SessionRecord) -> Call:
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
