"""What an archive says of a session itself, beside the parts of the services."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from madang.core.archives import ArchiveReader
from madang.core.calls import LOCALES
from madang.core.documents import Document
from madang.core.errors import InvalidArguments
from madang.core.ids import AssistantId, SessionId, is_raw_name
from madang.core.phrases import say
from madang.core.trust import Origin
from madang.records.events import MAX_KIND_CHARS, Event
from madang.records.session_rows import SessionRecord
from madang.records.sessions import MAX_TITLE_CHARS
from madang.system.clock import Timestamp

FORMAT = 1
SESSION = "session.json"
EVENTS = "events.jsonl"
EVENTS_PER_BATCH = 200

Number = Annotated[int, Field(ge=0, le=2**53)]


class ArchiveFormat(Document):
    """The one field that every version of the format has."""

    model_config = ConfigDict(extra="ignore")

    format: int


class SavedSession(Document):
    """A session's row. Of its parent nothing is told: that is elsewhere."""

    format: int = FORMAT
    id: str
    assistant_id: str
    title: Annotated[str, Field(max_length=MAX_TITLE_CHARS)]
    locale: str
    is_tainted: bool
    last_seq: Number
    created_at: Timestamp
    last_at: Timestamp

    @classmethod
    def of(cls, session: SessionRecord) -> SavedSession:
        return cls(
            id=session.id,
            assistant_id=session.assistant_id,
            title=session.title,
            locale=session.locale or "",
            is_tainted=session.is_tainted,
            last_seq=session.last_seq,
            created_at=session.created_at,
            last_at=session.last_at,
        )

    def record(self, id: SessionId) -> SessionRecord:
        """Return it as the row of another session, which is tainted whatever the archive says: anybody may write one.

        Raises:
            InvalidArguments: it has no time, or an assistant without a name.
        """
        if not self.created_at or not self.last_at or (self.assistant_id and not is_raw_name(self.assistant_id)):
            raise InvalidArguments(say("The archive does not say when its session was used, or by whom."))
        locale = next((one for one in LOCALES if one == self.locale), None)
        return SessionRecord(
            id,
            AssistantId(self.assistant_id),
            self.title,
            locale,
            SessionId(""),
            0,
            True,
            self.last_seq,
            self.created_at,
            self.last_at,
            origins=(Origin("archive"),),
        )


class SavedEvent(Document):
    """One event of the session's log."""

    seq: Annotated[int, Field(ge=1, le=2**53)]
    run_id: str
    at: Timestamp
    kind: Annotated[str, Field(min_length=1, max_length=MAX_KIND_CHARS)]
    payload: dict[str, Any]

    def event(self) -> Event:
        return Event(self.seq, self.run_id, self.at, self.kind, self.payload)


def check_format(archive: ArchiveReader) -> SavedSession:
    """Return what an archive says of its session.

    Raises:
        InvalidArguments: it is none, or a newer Madang made it.
    """
    format = archive.read(SESSION, ArchiveFormat)
    if format is None:
        raise InvalidArguments(say("This is no archive of a session: it has no '{name}'.", name=SESSION))
    if format.format != FORMAT:
        raise InvalidArguments(
            say("The archive has format {format}, and this Madang reads {known}.", format=format.format, known=FORMAT),
            hint=say("Import it with the version of Madang that made it, or a newer one."),
        )
    session = archive.read(SESSION, SavedSession)
    assert session is not None
    return session
