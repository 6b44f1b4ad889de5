"""Sessions that a copy or an import is filling, and what a process that died left of them and of deletions."""

from __future__ import annotations

from datetime import timedelta

from madang.core.calls import Call
from madang.core.errors import Conflict
from madang.core.ids import SessionId, UserId
from madang.core.phrases import say
from madang.core.trust import dump_origins
from madang.database.port import Database, Transaction
from madang.records.session_rows import SessionRecord
from madang.records.sessions import find_session, session_topic
from madang.system.clock import format_timestamp, now, timestamp

SILENT_AFTER = timedelta(minutes=1)
"""After which a session that is being filled counts as abandoned: it is touched far more often while that goes on."""


class SessionFilling:
    """The states of sessions that are not whole. The table is that of `SessionStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def touch(self, call: Call) -> None:
        """Keep that a session is still being filled."""

        async def work(tx: Transaction) -> None:
            sql = "UPDATE session SET last_at = ?3 WHERE user_id = ?1 AND id = ?2 AND state = 'filling'"
            await tx.run(sql, call.user_id, call.session, timestamp())

        await self._database.write(work, user_id=call.user_id)

    async def finish(self, call: Call, like: SessionRecord) -> SessionRecord:
        """Make a filled session one as others are, with the language, the marks and the times of `like`.

        Raises:
            Conflict: it is no longer being filled.
        """

        async def work(tx: Transaction) -> SessionRecord:
            # `created_at` has been moved to the oldest event by then.
            count = await tx.run(
                "UPDATE session SET state = 'ready', locale = ?3, tainted = ?4, origins = ?8, last_at = ?5, "
                "created_at = CASE WHEN created_at > ?6 THEN ?6 ELSE created_at END, "
                "last_seq = CASE WHEN last_seq < ?7 THEN ?7 ELSE last_seq END "
                "WHERE user_id = ?1 AND id = ?2 AND state = 'filling'",
                call.user_id,
                call.session,
                like.locale or "",
                int(like.is_tainted),
                like.last_at,
                like.created_at,
                like.last_seq,
                dump_origins(like.origins),
            )
            if not count:
                raise Conflict(say("The session '{id}' was taken away meanwhile.", id=call.session))
            await tx.notify(session_topic(call))
            return await find_session(tx, call)

        return await self._database.write(work, user_id=call.user_id)

    async def list_unfinished(self, user_id: UserId) -> list[SessionId]:
        """Return the sessions that a process began to delete, or to fill and was not heard of since."""
        rows = await self._database.find(
            "SELECT id FROM session WHERE user_id = ?1 AND state <> 'ready' "
            "AND (state = 'deleting' OR last_at < ?2) ORDER BY id",
            user_id,
            format_timestamp(now() - SILENT_AFTER),
            user_id=user_id,
        )
        return [id for (id,) in rows]
