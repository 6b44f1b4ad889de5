"""Parts of messages that are still being written: one write for all runs of a process, whosever they are.

They are there for readers that come in the middle. They die with the message that replaces them, with the run, and on
a database server with a crash of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from madang.database.port import Database, Row, Transaction
from madang.records.runs.records import Delta, Run

_IS_OWN = "SELECT 1 FROM run WHERE user_id = ?1 AND no = ?2 AND epoch = ?3 AND state = 'running'"
_KEEP = """
INSERT INTO run_delta (user_id, run_no, message_no, at_char, epoch, text) VALUES (?1, ?2, ?4, ?5, ?3, ?6)
ON CONFLICT (user_id, run_no, message_no, at_char)
DO UPDATE SET epoch = excluded.epoch, text = excluded.text WHERE run_delta.epoch <= excluded.epoch
"""
_READ = """
SELECT at_char, text FROM run_delta JOIN run ON run.user_id = run_delta.user_id AND run.no = run_delta.run_no
WHERE run_delta.user_id = ?1 AND run_no = ?2 AND message_no = ?3 AND run_delta.epoch = run.epoch ORDER BY at_char
"""


class DeltaStore:
    """Deltas in the database. The tables are those of `RunStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def flush(self, deltas: Sequence[Delta]) -> list[Run]:
        """Write deltas of any number of runs and users in one unit, and return the runs that were lost.

        What belongs to those is not written; all else is. A delta that is there already is replaced.
        """
        # In one order: two processes that wait for each other's rows would both be sent back.
        ordered = sorted(deltas, key=lambda delta: (delta.run.user_id, delta.run.no, delta.message_no, delta.at_char))
        if not ordered:
            return []
        flush = _flush_on_server if self._database.dialect == "postgresql" else _flush_embedded
        rows = await self._database.write_across_users(lambda tx: flush(tx, ordered))
        lost = set(rows)
        return list({_key(delta): delta.run for delta in ordered if _key(delta) in lost}.values())

    async def read(self, run: Run, message_no: int) -> list[tuple[int, str]]:
        """Return what there is of a message: each part with the place of its first character."""
        rows = await self._database.find(_READ, run.user_id, run.no, message_no, user_id=run.user_id)
        return [(place, text) for place, text in rows]


async def read_written(tx: Transaction, run: Run, message_no: int) -> str:
    """Return what the owner of a run has written of a message, up to the first part that is missing."""
    rows = await tx.all(
        "SELECT at_char, text FROM run_delta WHERE user_id = ?1 AND run_no = ?2 AND message_no = ?3 AND epoch = ?4 "
        "ORDER BY at_char",
        run.user_id,
        run.no,
        message_no,
        run.epoch,
    )
    return joined_text([(place, text) for place, text in rows])


def joined_text(parts: Sequence[tuple[int, str]]) -> str:
    """Return the text of parts in order, up to the first that is missing."""
    written = ""
    for at_char, text in parts:
        if at_char > len(written):
            break
        written = written[:at_char] + text
    return written


async def delete_deltas(tx: Transaction, run: Run, message_no: int) -> None:
    """Delete the deltas of a message, in the unit that stores the message."""
    await tx.run(
        "DELETE FROM run_delta WHERE user_id = ?1 AND run_no = ?2 AND message_no = ?3", run.user_id, run.no, message_no
    )


async def _flush_embedded(tx: Transaction, deltas: Sequence[Delta]) -> list[Row]:
    own = {key: await tx.one(_IS_OWN, *key) is not None for key in dict.fromkeys(map(_key, deltas))}
    await tx.run_many(_KEEP, [_values(delta) for delta in deltas if own[_key(delta)]])
    return [key for key, is_own in own.items() if not is_own]


async def _flush_on_server(tx: Transaction, deltas: Sequence[Delta]) -> list[Row]:
    columns = zip(*(_values(delta) for delta in deltas), strict=True)
    return await tx.all("SELECT * FROM flush_deltas(?1, ?2, ?3, ?4, ?5, ?6)", *map(list, columns))


def _key(delta: Delta) -> Row:
    return delta.run.user_id, delta.run.no, delta.run.epoch


def _values(delta: Delta) -> Row:
    return *_key(delta), delta.message_no, delta.at_char, delta.text
