"""What the person, or another program, changes by a call of their own while a session's run is not over.

The run's model is told before its next request. It wakes no run: only an answer or a message does.
"""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.ids import new_id
from madang.storage.database import Database, Transaction
from madang.storage.events import EventLog
from madang.storage.runs.journal import encode_parts
from madang.storage.runs.journal_tables import JOURNAL_MIGRATIONS
from madang.storage.runs.tables import RUN_MIGRATIONS

MAX_ACTIONS = 50
"""Of one session that wait to be told. The oldest give way: the state that they led to is told anyway."""
MAX_ACTION_CHARS = 4000

FIND_LIVE_RUN = (
    "SELECT run.session_no FROM run JOIN session ON session.user_id = run.user_id AND session.no = run.session_no "
    "WHERE run.user_id = ?1 AND session.id = ?2 AND run.state IN ('running', 'waiting')"
)
_FORGET_OLD = """
DELETE FROM queued_message WHERE user_id = ?1 AND session_no = ?2 AND id IN (
  SELECT id FROM queued_message WHERE user_id = ?1 AND session_no = ?2 AND kind = 'action' ORDER BY id DESC LIMIT 1000
  OFFSET ?3
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

    async def note(self, call: Call, text: str) -> bool:
        """Keep the text of a call for the model of the session's run; False if there is no run that is not over."""
        if not self._is_open:
            await self.open()
        if not await self._database.find(FIND_LIVE_RUN, call.user_id, call.session, user_id=call.user_id):
            return False
        parts = encode_parts([{"type": "text", "text": text[:MAX_ACTION_CHARS], "by": call.actor}])

        async def work(tx: Transaction) -> bool:
            row = await tx.one(FIND_LIVE_RUN, call.user_id, call.session)
            if row is None:
                return False
            await tx.run(
                "INSERT INTO queued_message (user_id, session_no, id, kind, parts, tokens) "
                "VALUES (?1, ?2, ?3, 'action', ?4, 0)",
                call.user_id,
                row[0],
                new_id(),
                parts,
            )
            await tx.run(_FORGET_OLD, call.user_id, row[0], MAX_ACTIONS)
            return True

        return await self._database.write(work, user_id=call.user_id)
