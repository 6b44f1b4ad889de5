"""What the person, or another program, changes by a call of their own while a session's run is not over.

The run's model is told before its next request. It wakes no run: only an answer or a message does. What the person
changes between two runs is told to the next one: its model may remember how it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from madang.core.calls import Call
from madang.core.ids import new_id
from madang.core.trust import Origin, dump_origins
from madang.database.port import Database, Transaction
from madang.records.events import EventLog, NewEvent, append_events
from madang.records.run_journal_tables import JOURNAL_MIGRATIONS
from madang.records.run_tables import RUN_MIGRATIONS
from madang.records.runs.journal import encode_parts

MAX_ACTIONS = 50
"""Of one session that wait to be told. The oldest give way: the state that they led to is told anyway."""
MAX_ACTION_CHARS = 4000

FIND_LIVE_RUN = (
    "SELECT run.session_no FROM run JOIN session ON session.user_id = run.user_id AND session.no = run.session_no "
    "WHERE run.user_id = ?1 AND session.id = ?2 AND run.state IN ('running', 'waiting')"
)
_FIND_SESSION_WITH_RUNS = (
    "SELECT session.no FROM session WHERE session.user_id = ?1 AND session.id = ?2 AND EXISTS "
    "(SELECT 1 FROM run WHERE run.user_id = session.user_id AND run.session_no = session.no)"
)
_FORGET_OLD = """
DELETE FROM queued_message WHERE user_id = ?1 AND session_no = ?2 AND id IN (
  SELECT id FROM queued_message WHERE user_id = ?1 AND session_no = ?2 AND kind = 'action'
  ORDER BY seq DESC, id DESC LIMIT 1000 OFFSET ?3
)
"""


class ActionStore:
    """Keeps what is done beside a run until its model has been told."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_open = False

    async def open(self) -> None:
        """Make the tables. `note` does it too, on first use: a server that starts has its first call to answer."""
        await EventLog(self._database).open()
        await self._database.prepare(RUN_MIGRATIONS)
        await self._database.prepare(JOURNAL_MIGRATIONS)
        self._is_open = True

    async def note(self, call: Call, text: str, origins: Sequence[Origin], tell: Callable[[str], NewEvent]) -> bool:
        """Keep the text of a call for the model of the session's run; False if no model is to be told.

        `tell` makes the event that says so of the id under which it is kept.
        """
        if not self._is_open:
            await self.open()
        find_session = _FIND_SESSION_WITH_RUNS if call.actor == "person" else FIND_LIVE_RUN
        if not await self._database.find(find_session, call.user_id, call.session, user_id=call.user_id):
            return False
        id = new_id()
        part = {"type": "text", "text": text[:MAX_ACTION_CHARS], "by": call.actor, "origins": dump_origins(origins)}
        parts = encode_parts([part])

        async def work(tx: Transaction) -> bool:
            row = await tx.one(find_session, call.user_id, call.session)
            if row is None:
                return False
            await tx.run(
                "INSERT INTO queued_message (user_id, session_no, id, kind, parts, tokens, seq) "
                "VALUES (?1, ?2, ?3, 'action', ?4, 0, ?5)",
                call.user_id,
                row[0],
                id,
                parts,
                await append_events(tx, call, [tell(id)]),
            )
            await tx.run(_FORGET_OLD, call.user_id, row[0], MAX_ACTIONS)
            return True

        return await self._database.write(work, user_id=call.user_id)
