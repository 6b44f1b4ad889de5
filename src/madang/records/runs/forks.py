"""Where a fork of a session begins: after a message, or before one that is to be written anew."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.errors import InvalidArguments, NotFound
from madang.core.phrases import say
from madang.database.port import Database, Row, Transaction
from madang.records.runs.journal import parse_parts
from madang.records.runs.segments import Segment, find_segments

_BY_ID = "SELECT seq, role, parts FROM message WHERE user_id = ?1 AND session_no = ?2 AND id = ?3 AND seq <= ?4"
_BEFORE = (
    "SELECT seq, role, parts FROM message WHERE user_id = ?1 AND session_no = ?2 AND seq <= ?3 "
    "AND role <> 'summary' ORDER BY seq DESC LIMIT 1"
)
_AFTER = (
    "SELECT seq, role FROM message WHERE user_id = ?1 AND session_no = ?2 AND seq > ?3 AND seq <= ?4 "
    "AND role <> 'summary' ORDER BY seq LIMIT 1"
)
_RUN_END = (
    "SELECT max(seq) FROM event WHERE user_id = ?1 AND session_no = ?2 AND seq > ?3 AND seq < ?4 "
    "AND kind IN ('RUN_FINISHED', 'RUN_ERROR')"
)


async def find_fork_seq(database: Database, call: Call, message_id: str, *, before: bool = False) -> int:
    """Return up to which number a fork shows the call's session, so that no call is without its result.

    It is after a message, or, with `before`, before one of the person's; 0 if nothing is before that.

    Raises:
        NotFound: the session shows no such message.
        InvalidArguments: what is to be written anew is no message of the person's.
    """

    async def work(tx: Transaction) -> int:
        segments = await find_segments(tx, call.user_id, call.session)
        seq, role = await _find(tx, call, segments, message_id)
        if before and role != "user":
            raise InvalidArguments(say("Only a message of the person's can be written anew."))
        last = await _last_message(tx, call, segments, seq - 1 if before else seq)
        if last is None:
            return 0
        segment, end = last
        following = await tx.one(_AFTER, call.user_id, segment.session_no, end, segment.up_to)
        row = await tx.one(
            _RUN_END, call.user_id, segment.session_no, end, following[0] if following else segment.up_to + 1
        )
        return int(row[0]) if row is not None and row[0] else end

    return await database.read(work, user_id=call.user_id)


async def _find(tx: Transaction, call: Call, segments: list[Segment], message_id: str) -> tuple[int, str]:
    for segment in segments:
        row = await tx.one(_BY_ID, call.user_id, segment.session_no, message_id, segment.up_to)
        if row is not None:
            return row[0], row[1]
    raise NotFound(
        say("There is no message '{id}' in the session '{session}'.", id=message_id, session=call.session),
        hint=say("'madang sessions show' lists its messages with their ids."),
    )


async def _last_message(tx: Transaction, call: Call, segments: list[Segment], up_to: int) -> tuple[Segment, int] | None:
    """Return the last message up to a number after which a model can go on, and where it is."""
    for segment in segments:
        end = min(segment.up_to, up_to)
        while (row := await tx.one(_BEFORE, call.user_id, segment.session_no, end)) is not None:
            if not _asks(row):
                return segment, row[0]
            results = await tx.one(_AFTER, call.user_id, segment.session_no, row[0], segment.up_to)
            if results is not None and results[1] == "tool":
                return segment, results[0]
            end = row[0] - 1
    return None


def _asks(row: Row) -> bool:
    """Tell whether a message has calls."""
    return row[1] == "assistant" and any(part.get("type") == "call" for part in parse_parts(row[2]))
