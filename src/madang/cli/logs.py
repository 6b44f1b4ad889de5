"""The log on standard error. Text from outside cannot begin a line of it or carry controls to a terminal."""

from __future__ import annotations

import logging
import sys
from typing import Any

from madang.core.texts import block, one_line

TRACEBACK_MARGIN = "    "


class InertFormatter(logging.Formatter):
    """Writes each record on one line; a traceback follows with every line indented."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return block(super().formatException(ei), TRACEBACK_MARGIN)


def configure_logging(*, is_verbose: bool) -> None:
    """Log to standard error: standard output belongs to the protocol."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(InertFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if is_verbose else logging.WARNING, handlers=[handler])
    # The SDK logs the ids of sessions, which are credentials: not even the person's own log needs them.
    logging.getLogger("mcp").setLevel(logging.WARNING)
