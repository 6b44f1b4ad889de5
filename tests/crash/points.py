"""Moments of a process that are counted, at one of which it is killed."""

from __future__ import annotations

import os
import signal


class Points:
    """Counts moments, and kills the process at one of them."""

    def __init__(self, fatal: int) -> None:
        self.passed = 0
        self.is_counting = False
        self._fatal = fatal

    def __call__(self) -> None:
        if self.is_counting:
            self.passed += 1
            if self.passed == self._fatal:
                os.kill(os.getpid(), signal.SIGKILL)
