"""The bytes between the server and its analyzer: texts one way, tokens and queries the other. Pure.

A frame is a kind, a length and as many bytes. Tokens hold no blanks, so blanks separate them: a line for each text, its
words before a tab and its weak tokens behind. The few values of a query are JSON.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence

from madang.text.search.queries import Query, Term, Tokens, TypedWord

HEAD = struct.Struct(">cI")
MAX_FRAME_BYTES = 256 << 20

TOKENS, QUERY = b"T", b"Q"
"""What is asked for: the tokens of texts, or the query of one."""
STARTED, READY, ANSWER, FAILED = b"S", b"R", b"A", b"F"
"""What comes back: that the process runs; that all is loaded, with the name of the tokenizer; an answer; a failure."""

_SIZE = struct.Struct(">I")


def frame(kind: bytes, payload: bytes) -> bytes:
    """Return a frame."""
    return HEAD.pack(kind, len(payload)) + payload


def pack_texts(texts: Sequence[str]) -> bytes:
    """Return texts as bytes, half a surrogate pair included."""
    parts: list[bytes] = []
    for text in texts:
        encoded = text.encode(errors="surrogatepass")
        parts += (_SIZE.pack(len(encoded)), encoded)
    return b"".join(parts)


def unpack_texts(payload: bytes) -> list[str]:
    """Return the texts that `pack_texts` was given."""
    texts, start = [], 0
    while start < len(payload):
        end = start + _SIZE.size + _SIZE.unpack_from(payload, start)[0]
        texts.append(payload[start + _SIZE.size : end].decode(errors="surrogatepass"))
        start = end
    return texts


def pack_tokens(tokens: Sequence[Tokens]) -> bytes:
    """Return the tokens of texts as bytes.

    Raises:
        ValueError: a token holds a blank that separates tokens.
    """
    lines = []
    for words, weak in tokens:
        line = " ".join(words) + "\t" + " ".join(weak)
        if line.count(" ") != max(len(words) - 1, 0) + max(len(weak) - 1, 0) or line.count("\t") != 1 or "\n" in line:
            raise ValueError("a token holds a blank")
        lines.append(line)
    return "\n".join(lines).encode(errors="surrogatepass")


def unpack_tokens(payload: bytes, count: int) -> list[Tokens]:
    """Return the tokens of `count` texts.

    Raises:
        ValueError: they are of another number of texts.
    """
    lines = payload.decode(errors="surrogatepass").split("\n")
    if len(lines) != count:
        raise ValueError(f"tokens of {len(lines)} texts instead of {count}")
    tokens = []
    for line in lines:
        words, _, weak = line.partition("\t")
        tokens.append(Tokens(words.split(" ") if words else [], weak.split(" ") if weak else []))
    return tokens


def pack_query(query: Query) -> bytes:
    """Return a query as bytes."""
    return json.dumps([query.terms, query.phrases, query.typed]).encode()


def unpack_query(payload: bytes) -> Query:
    """Return the query that `pack_query` was given.

    Raises:
        ValueError, TypeError: it is none.
    """
    terms, phrases, typed = json.loads(payload)
    words = tuple(TypedWord(text, token, tuple(parts)) for text, token, parts in typed)
    return Query(tuple(Term(*term) for term in terms), tuple(phrases), words)
