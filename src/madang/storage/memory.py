"""Giving memory back to the operating system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any


def release_memory() -> None:
    """Return freed memory to the system. It blocks for some milliseconds, and does nothing where there is no need.

    glibc keeps what was freed for the thread that had it. Bulk work runs in many threads, so that after it each would
    keep as much as its largest piece of work took.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@cache
def _malloc_trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
