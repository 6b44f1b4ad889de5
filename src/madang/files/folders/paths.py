"""Which texts are paths inside a folder. Pure; that a path really stays inside is for the kernel to say."""

from __future__ import annotations

import re
from urllib.parse import unquote

from madang.core.errors import InvalidPath
from madang.core.path_patterns import folded_name
from madang.core.phrases import Phrase, say

MAX_PATH_CHARS = 4_000
MAX_NAME_BYTES = 255
"""In bytes, as file systems count."""

GIT = ".git"
"""What Git keeps of a folder is in one of this name: thousands of names of no interest, and programs among them."""

_GIT_SHORT_NAME = re.compile(r"git~\d+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_DRIVE = re.compile(r"[A-Za-z]:")


def parse_path(text: str, *, may_be_root: bool = False) -> tuple[str, ...]:
    """Return the names along a relative path; `.` and the empty text are the folder itself where that makes sense.

    What only looks like a way out is refused too, before any file system sees it: a backslash or `%2e%2e` may be one
    in the next program that gets the name.

    Raises:
        InvalidPath: it is absolute, goes up, or is no path.
    """
    if len(text) > MAX_PATH_CHARS:
        raise _invalid(text, say("it has more than {most} characters", most=MAX_PATH_CHARS))
    if _CONTROLS.search(text):
        raise _invalid(text, say("it holds control characters"))
    if not _is_unicode(text):
        raise _invalid(text, say("it is not valid Unicode"))
    if text.startswith(("/", "~", "file:")) or _DRIVE.match(text):
        raise _invalid(text, say("it does not start in the workspace"))
    if "\\" in text:
        raise _invalid(text, say("it holds a backslash"))
    names = tuple(name for name in text.split("/") if name not in ("", "."))
    for name in names:
        decoded = unquote(name, errors="replace")
        if name == ".." or decoded == ".." or (decoded != name and ("/" in decoded or "\\" in decoded)):
            raise _invalid(text, say("it leads out of the workspace"))
        if len(name.encode()) > MAX_NAME_BYTES:
            raise _invalid(text, say("a name in it has more than {most} bytes", most=MAX_NAME_BYTES))
    if not names and not may_be_root:
        raise _invalid(text, say("it names no file"))
    return names


def is_git(name: str) -> bool:
    """Tell whether some file system takes a name for `.git`: where case does not count, nor what nobody sees."""
    folded = folded_name(name)
    return folded == GIT or _GIT_SHORT_NAME.fullmatch(folded) is not None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _invalid(text: str, reason: Phrase) -> InvalidPath:
    excerpt = _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text[:100]).encode(errors="replace").decode()
    return InvalidPath(
        say("The path '{path}' cannot be used: {reason}.", path=excerpt, reason=reason),
        hint=say(
            "Give a path relative to the workspace, such as 'notes/today.md'; "
            "Madang's 'list_directory' shows what is there."
        ),
    )
