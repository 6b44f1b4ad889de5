"""The priority of children: every process that works for a call gets its share of the processors here."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

NICENESS = 10
SESSION_NICENESS = 5
"""A third of the server's share. With less, a search would wait too long for the dictionary on a crowded machine."""


def lower_priority(pid: int) -> None:
    """Let the server go first where it and a child both want a processor."""
    with suppress(OSError):  # the child is gone
        os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        # Linux shares processors among sessions first (autogroups), and a child has one of its own: its niceness alone
        # would hold among its own threads.
        if sys.platform == "linux" and os.getsid(pid) == pid:
            Path(f"/proc/{pid}/autogroup").write_text(str(SESSION_NICENESS))
