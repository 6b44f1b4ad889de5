"""Which tools the model of a session is listed: settled at its first request and then kept, by one row.

The list stands at the beginning of every request, and a server keeps what it has read of a beginning that stays. So it
outlives the process, and forks, copies and archives take it along.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from madang.core.calls import Call
from madang.core.documents import Document
from madang.database.port import Database, MigrationSet, Transaction, private_rows
from madang.records.sessions import ensure_session

MAX_TOOLS = 10_000
MAX_SERVICES = 1_000

Name = Annotated[str, Field(min_length=1, max_length=200)]
IdArgument = Annotated[str, Field(pattern=r"^[a-z]+Id$", max_length=50)]


class ToolOffer(Document):
    """What a session's model is listed."""

    listed: Annotated[list[Name], Field(max_length=MAX_TOOLS)] | None = None
    """The names of tools; None is all that there are, and none has to be found first."""
    behind: Annotated[list[Name], Field(max_length=MAX_SERVICES)] = Field(default_factory=list)
    """The services with tools that have to be found first."""
    hidden: Annotated[list[IdArgument], Field(max_length=100)] = Field(default_factory=list)
    """Optional arguments that say nothing in this session, as that of a store where there is but one."""


WHOLE_OFFER = ToolOffer()


def _table(number: str, end: str = "") -> str:
    return f"""
        CREATE TABLE tool_offer (
          user_id TEXT NOT NULL, session_no {number} NOT NULL, offer TEXT NOT NULL,
          PRIMARY KEY (user_id, session_no),
          FOREIGN KEY (user_id, session_no) REFERENCES session (user_id, no) ON DELETE CASCADE
        ){end};
        """


OFFER_MIGRATIONS = MigrationSet(
    "offers",
    sqlite=(_table("INTEGER", " WITHOUT ROWID"),),
    postgresql=(_table("BIGINT") + private_rows("tool_offer"),),
)

_READ = (
    "SELECT o.offer FROM tool_offer o JOIN session s ON s.user_id = o.user_id AND s.no = o.session_no "
    "WHERE s.user_id = ?1 AND s.id = ?2"
)


class OfferStore:
    """The offers of sessions. Their table is opened with those of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, call: Call) -> ToolOffer | None:
        """Return what was settled for the call's session; None before its first request."""
        if call.session_id is None:
            return None
        rows = await self._database.find(_READ, call.user_id, call.session, user_id=call.user_id)
        return ToolOffer.model_validate_json(rows[0][0]) if rows else None

    async def settle(self, call: Call, offer: ToolOffer) -> ToolOffer:
        """Keep an offer, and return the one that counts: the first of two processes has settled it."""
        if call.session_id is None:
            return offer

        async def work(tx: Transaction) -> ToolOffer:
            session_no = await ensure_session(tx, call)
            await tx.run(
                "INSERT INTO tool_offer (user_id, session_no, offer) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
                call.user_id,
                session_no,
                offer.model_dump_json(),
            )
            row = await tx.one(_READ, call.user_id, call.session)
            assert row is not None
            return ToolOffer.model_validate_json(row[0])

        return await self._database.write(work, user_id=call.user_id)

    async def copy(self, call: Call, target: Call) -> None:
        """Let the session of `target`, which is new, be listed what the call's is."""
        offer = await self.find(call)
        if offer is not None:
            await self.settle(target, offer)
