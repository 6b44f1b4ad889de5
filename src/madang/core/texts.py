"""Makes text from outside inert: it cannot start a line of ours, move a cursor or turn the reading direction.

The one home of this rule. `Phrase` and the renderer apply it by default, so that a view that forgets about it is still
safe; HTML has its own escaping in `rendering.pages`.
"""

from __future__ import annotations

import json
import re
from typing import Any

# What a reader may take for the end of a line. Tabs count too: a value is no table.
_BREAKS = re.compile("[ ]*[\t-\r\x1c-\x1e\x85\u2028\u2029]+[\t-\r\x1c-\x1e\x85\u2028\u2029 ]*")

# Controls are obeyed by terminals, direction marks make `exe.txt` of `txt.exe`, invisible signs and tag characters hide
# text from a person that a model reads, and half a surrogate pair cannot be encoded. An allow-list of printable signs
# would also refuse the joiners (U+200C, U+200D) that several scripts and emoji are written with.
_HIDDEN = (
    "\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff"
)
_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f{_HIDDEN}]")
_NAME_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f\u00ad\u200c\u200d{_HIDDEN}]")
# Letters and marks that are drawn as nothing: the fillers of Hangul, the grapheme joiner and others.
_UNSEEN = re.compile(f"{_NAME_CONTROLS.pattern[:-1]}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]")
_TERMINAL_CONTROLS = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_HIDDEN}]")
# In the body of a file, tabs, line feeds and invisible signs are part of what was asked for; signs that reorder a line
# are not: source code could read differently from what it does.
_BLOCK_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str, max_chars: int | None = None) -> str:
    """Return `text` on one line: line breaks become a space, controls and direction marks visible escapes.

    With `max_chars` it is truncated to that length, with an ellipsis.
    """
    if not text.isprintable():
        text = _CONTROLS.sub(_escape, _BREAKS.sub(" ", text))
    if max_chars is not None and len(text) > max_chars:
        return text[: max_chars - 1] + "…"
    return text


def visible_name(name: str, max_chars: int = 300) -> str:
    """Return the name of a file so that it can be told from every other: nothing collapsed, all controls escaped.

    A long one is truncated in the middle, because names differ at their ends.
    """
    if not name.isprintable():
        name = _NAME_CONTROLS.sub(_escape, name)
    if len(name) > max_chars:
        return f"{name[: max_chars // 2]}…{name[-max_chars // 2 :]}"
    return name


def find_hidden(name: str) -> str:
    """Return the first character of a name that is not seen, or changes how others are; empty if there is none."""
    hidden = _UNSEEN.search(name)
    return hidden[0] if hidden else ""


def block(text: str, margin: str) -> str:
    """Return `text` as it is, line by line after `margin`, with the controls that a terminal obeys made visible."""
    if not text.isprintable():
        text = _BLOCK_CONTROLS.sub(_escape, text.replace("\r\n", "\n"))
    return "\n".join(margin + line for line in text.split("\n")) if margin else text


def terminal_text(text: str) -> str:
    """Return a text of several lines as a terminal may get it: of controls only line feeds and tabs are left.

    Tools make their values inert by themselves; this holds for what they forget, and for what other servers say.
    """
    if not text.isprintable():
        text = _TERMINAL_CONTROLS.sub(_escape, text.replace("\r\n", "\n"))
    return text


def inert_json(value: Any, indent: int | None = None) -> str:
    """Return JSON of exactly this value, in which controls, direction marks and invisible signs are JSON's escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


def _escape(sign: re.Match[str]) -> str:
    code = ord(sign[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
