"""The words of messages as rows: one index of an embedded database, a table of words on a server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from madang.core.ids import UserId
from madang.storage.database import Dialect, Transaction


@dataclass(frozen=True, slots=True)
class MessageWords:
    """The words by which a message is found, and the name of what made them: empty if they are still to be made."""

    analysis: str
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """Where a message is."""

    user_id: UserId
    session_no: int
    seq: int


async def write_words(tx: Transaction, dialect: Dialect, place: MessagePlace, words: MessageWords) -> None:
    """Write the words of a message, in the unit that stores it or later, in place of those it has."""
    key = (place.user_id, place.session_no, place.seq)
    await tx.run("DELETE FROM message_number WHERE user_id = ?1 AND session_no = ?2 AND seq = ?3", *key)
    row = await tx.one(
        "INSERT INTO message_number (user_id, session_no, seq, analysis) VALUES (?1, ?2, ?3, ?4) RETURNING no",
        *key,
        words.analysis,
    )
    assert row is not None
    if dialect == "postgresql":
        await tx.run(
            "INSERT INTO message_word (user_id, word, no) "
            "SELECT ?1, word, ?2 FROM unnest(CAST(?3 AS text[])) AS word ON CONFLICT DO NOTHING",
            place.user_id,
            row[0],
            list(words.words),
        )
    else:
        marks = (user_mark(place.user_id), session_mark(place.session_no))
        text = " ".join((*marks, *map(encode_word, words.words)))
        await tx.run("INSERT INTO message_word (rowid, words) VALUES (?1, ?2)", row[0], text)


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
