"""The last lines of the log, without content: to be read and handed on by a person who reports a problem.

What a program logs may quote anything. So only what our own code wrote is repeated: the words of a record before its
values are filled in, numbers and reference codes, kinds of errors, and places in our own files.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections import deque
from datetime import UTC, datetime
from pathlib import Path

import madang
from madang.core.errors import MadangError

MAX_LINES = 500
MAX_FRAMES = 12
LEFT_OUT = "…"

_PACKAGE = Path(madang.__file__).parent
_OWN = ("madang", "madang.")
_VALUE = re.compile(r"%[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")
_REFERENCE = re.compile(r"[0-9a-f]{8}")


class RecentLog(logging.Handler):
    """Keeps what was logged last, as lines that hold no content."""

    def __init__(self, max_lines: int = MAX_LINES) -> None:
        super().__init__(logging.WARNING)
        self._lines: deque[str] = deque(maxlen=max_lines)

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.extend(inert_lines(record))

    def read(self, count: int) -> list[str]:
        """Return the last lines, oldest first."""
        return list(self._lines)[-count:]

    def open(self) -> None:
        logging.getLogger().addHandler(self)

    def close(self) -> None:
        logging.getLogger().removeHandler(self)
        super().close()


def inert_lines(record: logging.LogRecord) -> list[str]:
    """Return a record as lines without content."""
    at = datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    is_own = record.name == _OWN[0] or record.name.startswith(_OWN[1])
    # Other libraries put their values into the words themselves, or name loggers after what they serve.
    name = record.name if is_own else record.name.partition(".")[0][:30]
    words = _words(record) if is_own and isinstance(record.msg, str) else LEFT_OUT
    lines = [f"{at} {record.levelname} {name}: {words}"]
    if record.exc_info and record.exc_info[1] is not None:
        lines += _error_lines(record.exc_info[1])
    return lines


def _words(record: logging.LogRecord) -> str:
    """Return the words of a record, with those of its values that cannot be content."""
    values = record.args if isinstance(record.args, tuple) else ()
    rest = iter(values)
    text = _VALUE.sub(lambda _: _shown(next(rest, None)), str(record.msg))
    return " ".join(text.split())


def _shown(value: object) -> str:
    match value:
        case MadangError():
            return value.code
        case BaseException():
            return type(value).__name__
        case bool() | int() | float():
            return str(value)
        case str() if _REFERENCE.fullmatch(value):
            return value
        case _:
            return LEFT_OUT


def _error_lines(error: BaseException) -> list[str]:
    code = f" ({error.code})" if isinstance(error, MadangError) else ""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    places = [f"    {_place(frame.filename)}:{frame.lineno}" for frame in frames]
    return [f"  {type(error).__module__}.{type(error).__qualname__}{code}", *places]


def _place(filename: str) -> str:
    """Return where a frame is: a file of ours by its path in the package, of others only that it is one."""
    try:
        return (Path("madang") / Path(filename).relative_to(_PACKAGE)).as_posix()
    except ValueError:
        return LEFT_OUT
