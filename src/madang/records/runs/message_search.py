"""Finding messages and results of tools by their words, newest first, in all sessions of a user or in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.port import Database, Row, Transaction
from madang.records.runs.journal import MESSAGE_COLUMNS, Message, parse_message, parse_parts
from madang.records.runs.segments import Segment, find_segments
from madang.records.runs.word_rows import (
    MessageWords,
    NumberedMessage,
    match_expression,
    rewrite_words,
    session_mark,
    user_mark,
)
from madang.records.runs.words import MessageAnalysis, searchable_text
from madang.text.search.queries import Query
from madang.text.search.tokens import normalized

MAX_HITS = 50
MAX_QUERY_WORDS = 16
EXCERPT_CHARS = 240
EXCERPT_LEAD_CHARS = 60
"""Before the word that is shown."""
REANALYZED_PER_SEARCH = 200

_COLUMNS = ", ".join(f"m.{column.strip()}" for column in MESSAGE_COLUMNS.split(","))
_FROM_NUMBER = """
JOIN message m ON m.user_id = n.user_id AND m.session_no = n.session_no AND m.seq = n.seq
JOIN session s ON s.user_id = n.user_id AND s.no = n.session_no AND s.state = 'ready'
"""
_STALE = """
SELECT n.no, n.session_no, m.parts FROM message_number n
JOIN message m ON m.user_id = n.user_id AND m.session_no = n.session_no AND m.seq = n.seq
WHERE n.user_id = ?1 AND n.analysis {differs} ?2 ORDER BY n.analysis, n.no DESC LIMIT ?3
"""


@dataclass(frozen=True, slots=True)
class MessageHit:
    """A message that has all words of a query."""

    session_id: SessionId
    title: str
    message: Message
    excerpt: str


class MessageSearch:
    """Searches messages. The tables are those of `RunStore`."""

    def __init__(self, database: Database, analysis: MessageAnalysis) -> None:
        self._database = database
        self._analysis = analysis

    async def search(
        self,
        call: Call,
        text: str,
        *,
        session_id: SessionId | None = None,
        assistant_id: AssistantId | None = None,
        limit: int = 20,
    ) -> list[MessageHit]:
        """Return messages of the call's user that have all words of a query, newest first.

        `session_id` is the one whose messages are meant, with those that it shows of its parents; None is all.
        `assistant_id` leaves only sessions that this assistant used first.

        Raises:
            LimitExceeded, Unavailable: the words cannot be analyzed now.
        """
        query = await self._analysis.parse_query(call, text)
        words = (query.words or [term.text for term in query.terms])[:MAX_QUERY_WORDS]
        if not words:
            return []
        await self._analyze_stale(call)
        limit = max(1, min(limit, MAX_HITS))

        async def work(tx: Transaction) -> list[Row]:
            segments = [] if session_id is None else await find_segments(tx, call.user_id, session_id)
            if session_id is not None and not segments:
                return []
            find = _find_on_server if self._database.dialect == "postgresql" else _find_embedded
            return await find(tx, call.user_id, list(dict.fromkeys(words)), segments, assistant_id, limit)

        rows = await self._database.read(work, user_id=call.user_id)
        return [_hit(row, query) for row in rows]

    async def _analyze_stale(self, call: Call) -> None:
        """Give some of the messages their words that have none yet, or those of another version of the analysis."""
        rows: list[Row] = []
        for differs in ("<", ">"):
            sql = _STALE.format(differs=differs)
            rows += await self._database.find(
                sql, call.user_id, self._analysis.name, REANALYZED_PER_SEARCH, user_id=call.user_id
            )
        for no, session_no, parts in rows[:REANALYZED_PER_SEARCH]:
            words = await self._analysis.words(call, parse_parts(parts))
            if words.analysis:
                await self._rewrite(NumberedMessage(call.user_id, no, session_no), words)

    async def _rewrite(self, place: NumberedMessage, words: MessageWords) -> None:
        await self._database.write(
            lambda tx: rewrite_words(tx, self._database.dialect, place, words), user_id=place.user_id
        )


async def _find_embedded(
    tx: Transaction,
    user_id: UserId,
    words: Sequence[str],
    segments: Sequence[Segment],
    assistant_id: AssistantId | None,
    limit: int,
) -> list[Row]:
    sessions = [session_mark(segment.session_no) for segment in segments]
    return await tx.all(
        f"SELECT s.id, s.title, {_COLUMNS} FROM message_word "
        f"JOIN message_number n ON n.no = message_word.rowid {_FROM_NUMBER} "
        f"WHERE message_word MATCH ?2 AND n.user_id = ?1 AND (?4 = '' OR s.assistant_id = ?4)"
        f"{_within(segments)} ORDER BY message_word.rowid DESC LIMIT ?3",
        user_id,
        match_expression(words, [user_mark(user_id)], sessions),
        limit,
        assistant_id or "",
    )


async def _find_on_server(
    tx: Transaction,
    user_id: UserId,
    words: Sequence[str],
    segments: Sequence[Segment],
    assistant_id: AssistantId | None,
    limit: int,
) -> list[Row]:
    others = "".join(
        f" AND EXISTS (SELECT 1 FROM message_word o WHERE o.user_id = w.user_id AND o.word = ?{place} AND o.no = w.no)"
        for place in range(5, len(words) + 4)
    )
    return await tx.all(
        f"SELECT s.id, s.title, {_COLUMNS} FROM message_word w "
        f"JOIN message_number n ON n.user_id = w.user_id AND n.no = w.no {_FROM_NUMBER} "
        f"WHERE w.user_id = ?1 AND w.word = ?4 AND (?3 = '' OR s.assistant_id = ?3){others}{_within(segments)} "
        "ORDER BY w.no DESC LIMIT ?2",
        user_id,
        limit,
        assistant_id or "",
        *words,
    )


def _within(segments: Sequence[Segment]) -> str:
    """Return the condition that a message is one of those that a session shows."""
    if not segments:
        return ""
    parts = (f"n.session_no = {segment.session_no:d} AND n.seq <= {segment.up_to:d}" for segment in segments)
    return f" AND ({' OR '.join(parts)})"


def _hit(row: Row, query: Query) -> MessageHit:
    session_id, title, *columns = row
    message = parse_message(tuple(columns))
    return MessageHit(session_id, title, message, _excerpt(searchable_text(message.parts), query))


def _excerpt(text: str, query: Query) -> str:
    """Return the part of a text around the first word of a query that stands in it as it was typed."""
    folded = normalized(text).casefold()
    words = (word.text.casefold() for word in query.typed)
    place = min((place for word in words if (place := folded.find(word)) >= 0), default=0)
    # Normalising may change lengths; then it is only about the place.
    start = max(0, min(place, len(text)) - EXCERPT_LEAD_CHARS) if len(text) > EXCERPT_CHARS else 0
    piece = " ".join(text[start : start + EXCERPT_CHARS].split())
    return f"{'…' if start else ''}{piece}{'…' if start + EXCERPT_CHARS < len(text) else ''}"
