"""Giving memory back to the operating system."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

MMAP_THRESHOLD_BYTES = 512 * 1024
TRIM_THRESHOLD_BYTES = 1024 * 1024
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


@cache
def bound_free_memory() -> None:
    """Have freed memory go back to the system from now on, where it would be kept; call it before bulk work.

    After the first large block was freed, glibc keeps up to 64 MiB at the end of each thread's memory, where
    `release_memory` does not reach. With thresholds of our own it does not.
    """
    mallopt = _libc_function("mallopt")
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)
        mallopt(_M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES)


def release_memory() -> None:
    """Return freed memory to the system. It blocks for some milliseconds, and does nothing where there is no need.

    glibc keeps what was freed for the thread that had it. Bulk work runs in many threads, so that after it each would
    keep as much as its largest piece of work took.
    """
    trim = _libc_function("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _libc_function(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
