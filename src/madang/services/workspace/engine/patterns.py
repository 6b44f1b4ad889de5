"""Patterns that also find Hangul in CP949, and which texts have to be composed before they are searched.

ripgrep searches bytes, and takes one encoding for all files. So each piece of a pattern that is beyond ASCII gets its
bytes in CP949 as an alternative: one search then finds both.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    \\.                             # an escape
    # A set: it cannot hold alternatives of two bytes, and stays as it is. A bracket that comes first is one of its
    # characters, and there may be sets in it: [[:alpha:]가], [가-힣&&[^나]].
    | \[ \^? \]? (?: \\. | \[ (?: \\. | [^\]\\] )* \] | [^\]\\] )* \]?
    | [^\x00-\x7f]+
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
DECOMPOSED = r"[\x{0300}-\x{036f}\x{1161}-\x{11ff}]"
"""Finds texts in parts (NFD), as programs on a Mac write them: the parts of Hangul, and accents of other letters."""
_QUANTIFIERS = ("*", "+", "?", "{")


def in_both_encodings(pattern: str) -> str:
    """Return a pattern of Rust's syntax that finds its text in UTF-8 and in CP949."""
    if pattern.isascii() or "(?P<" in pattern or "(?<" in pattern:  # a name of a group is no text
        return pattern
    tokens = _TOKEN.findall(pattern)
    parts = []
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if token[0] <= "\x7f":
            parts.append(token)
        elif following in _QUANTIFIERS and len(token) > 1:
            parts += [_alternatives(token[:-1]), _alternatives(token[-1])]  # it is about the last character alone
        else:
            parts.append(_alternatives(token))
    return "".join(parts)


def _alternatives(text: str) -> str:
    try:
        data = text.encode("cp949")
    except UnicodeEncodeError:
        return text
    escapes = "".join(f"\\x{byte:02x}" for byte in data)
    return f"(?:{text}|(?-u:{escapes}))"
