"""The words of messages as rows: one index of an embedded database, a table of words on a server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from madang.core.ids import UserId
from madang.database.port import Dialect, Transaction


@dataclass(frozen=True, slots=True)
class MessageWords:
    """The words by which a message is found, and the name of what made them: empty if they are still to be made."""

    analysis: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NumberedMessage:
    """A message by its number in the index, which is the order of writing."""

    user_id: UserId
    no: int
    session_no: int


async def write_words(
    tx: Transaction, dialect: Dialect, user_id: UserId, session_no: int, seq: int, words: MessageWords
) -> None:
    """Write the words of a message, in the unit that stores it."""
    row = await tx.one(
        "INSERT INTO message_number (user_id, session_no, seq, analysis) VALUES (?1, ?2, ?3, ?4) RETURNING no",
        user_id,
        session_no,
        seq,
        words.analysis,
    )
    assert row is not None
    await _insert(tx, dialect, NumberedMessage(user_id, row[0], session_no), words)


async def rewrite_words(tx: Transaction, dialect: Dialect, message: NumberedMessage, words: MessageWords) -> None:
    """Write the words of a message in place of those it has; of one that is gone, nothing."""
    if not await tx.run(
        "UPDATE message_number SET analysis = ?3 WHERE user_id = ?1 AND no = ?2",
        message.user_id,
        message.no,
        words.analysis,
    ):
        return
    if dialect == "postgresql":
        await tx.run("DELETE FROM message_word WHERE user_id = ?1 AND no = ?2", message.user_id, message.no)
    else:
        await tx.run("DELETE FROM message_word WHERE rowid = ?1", message.no)
    await _insert(tx, dialect, message, words)


async def _insert(tx: Transaction, dialect: Dialect, message: NumberedMessage, words: MessageWords) -> None:
    if dialect == "postgresql":
        await tx.run(
            "INSERT INTO message_word (user_id, word, no) "
            "SELECT ?1, word, ?2 FROM unnest(CAST(?3 AS text[])) AS word ON CONFLICT DO NOTHING",
            message.user_id,
            message.no,
            list(words.words),
        )
        return
    marks = (user_mark(message.user_id), session_mark(message.session_no))
    text = " ".join((*marks, *map(encode_word, words.words)))
    await tx.run("INSERT INTO message_word (rowid, words) VALUES (?1, ?2)", message.no, text)


def encode_word(word: str) -> str:
    """Return a token as the index of an embedded database keeps it, which would cut one at ASCII signs."""
    if all(not char.isascii() or char.isalnum() for char in word):
        return word
    return "x" + word.encode().hex()


def user_mark(user_id: UserId) -> str:
    """Return the word that all messages of a user have, so that those of others are not read."""
    return "u" + hashlib.sha256(user_id.encode()).hexdigest()[:16]


def session_mark(session_no: int) -> str:
    """Return the word that all messages of a session have."""
    return f"s{session_no}x"


def match_expression(words: Iterable[str], marks: Iterable[str], sessions: Sequence[str]) -> str:
    """Return the expression by which the index of an embedded database finds messages that have all words."""
    terms = [f'"{word}"' for word in (*marks, *map(encode_word, words))]
    if sessions:
        terms.append("(" + " OR ".join(f'"{mark}"' for mark in sessions) + ")")
    return " AND ".join(terms)
