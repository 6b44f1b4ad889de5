"""The log on standard error. Text from outside cannot begin a line of it or carry controls to a terminal."""

from __future__ import annotations

import logging
import sys
import threading
from types import TracebackType
from typing import Any

from madang.core.texts import one_line, terminal_text

TRACEBACK_MARGIN = "    "
MAX_RECORD_CHARS = 4_000
ANSWERED = ("madang.provider.lifecycle", "madang.records.audit")
"""Where it is logged that the database or a service is away: what a call of it answers as well."""
OUTAGES = ("madang.database.patience", "madang.agent.streams", "madang.core.background")
"""Where it is logged that runs wait for the database: what those who follow a run are told as well."""

logger = logging.getLogger("madang")


class InertFormatter(logging.Formatter):
    """Writes each record on one line; a traceback follows with every line indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record), MAX_RECORD_CHARS)

    def formatException(self, ei: Any) -> str:
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _indented(super().formatStack(stack_info))

    def format(self, record: logging.LogRecord) -> str:
        # A handler with another formatter may have left its own text in the record.
        record.exc_text = None
        return super().format(record)


def configure_logging(*, is_verbose: bool, tells_reasons: bool = False, tells_outages: bool = False) -> None:
    """Log to standard error: standard output belongs to the protocol.

    A command that `tells_reasons` itself logs no failure that becomes its answer, and one that `tells_outages` does not
    say of the database twice that it is away.
    """
    handler = logging.StreamHandler(sys.stderr)
    if tells_outages and not is_verbose:
        handler.addFilter(lambda record: record.name not in OUTAGES or bool(record.exc_info))
    if tells_reasons and not is_verbose:
        handler.addFilter(lambda record: record.name not in ANSWERED or bool(record.exc_info))
    handler.addFilter(_is_no_interruption)
    handler.setFormatter(InertFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if is_verbose else logging.WARNING, handlers=[handler])
    # The SDK logs the ids of sessions, which are credentials: not even the person's own log needs them.
    logging.getLogger("mcp").setLevel(logging.WARNING)


def _is_no_interruption(record: logging.LogRecord) -> bool:
    """Leave out what uvicorn logs when Ctrl-C comes while it starts: a traceback of its being cancelled."""
    return record.name != "uvicorn.error" or "CancelledError" not in record.getMessage()


def log_uncaught_errors() -> None:
    """Send what Python itself would write to standard error through the log: it may quote anything."""
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda error: _log_uncaught(error.exc_type, error.exc_value, error.exc_traceback)
    sys.unraisablehook = lambda error: _log_uncaught(error.exc_type, error.exc_value, error.exc_traceback)


def _log_uncaught(type_: type[BaseException], error: BaseException | None, traceback: TracebackType | None, /) -> None:
    if not issubclass(type_, SystemExit):
        logger.critical("Uncaught error", exc_info=(type_, error or type_(), traceback))


def _indented(text: str) -> str:
    return "\n".join(TRACEBACK_MARGIN + line for line in terminal_text(text).split("\n"))
