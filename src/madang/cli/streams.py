"""The standard streams as the commands need them: there, in UTF-8, and with a failure that can be told from others."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Literal, TextIO


class OutputFailed(Exception):
    """Standard output cannot be written: the disk is full, or nobody reads it."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or str(error))
        self.is_reader_gone = isinstance(error, BrokenPipeError)
        """Who read has enough, as `head` does: that is no fault of anybody's."""


class Output(io.TextIOWrapper):
    """Standard output whose failures are `OutputFailed`: any other OSError is none of them."""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            raise OutputFailed(error) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            raise OutputFailed(error) from None


def prepare_streams(*, is_own_process: bool) -> None:
    """Make the streams usable. In a process of ours, also those that were closed before it began."""
    if is_own_process:
        _fill_descriptors()
        if isinstance(sys.stdout, io.TextIOWrapper):
            before = sys.stdout
            sys.stdout = Output(
                before.buffer, before.encoding, before.errors, line_buffering=before.line_buffering, newline=None
            )
            before.detach()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if _is_ascii(stream.encoding) or (sys.platform == "win32" and not stream.isatty()):
                # Pipes and files have the ANSI code page on Windows, and everything may be ASCII under LC_ALL=C:
                # neither holds our texts, and those who read them expect UTF-8.
                stream.reconfigure(encoding="utf-8")
            # A terminal that cannot show Korean gets escapes: the command has done its work by then.
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Let what is still in the buffer go nowhere: else Python's flush at exit would fail once more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fill_descriptors() -> None:
    """Open something in the place of each standard stream that is closed, as with `>&-`.

    Else the next file that is opened gets its number, and what a child or a library prints goes into the database.
    """
    # Output into one that can only be read fails, as into a full disk; what is lost of notes is not missed.
    for number, (name, flags) in enumerate((("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY))):
        try:
            os.fstat(number)
        except OSError as error:
            if error.errno != errno.EBADF:
                continue
            opened = os.open(os.devnull, flags)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, _text_stream(number, "r" if number == 0 else "w"))


def _text_stream(number: int, mode: Literal["r", "w"]) -> TextIO:
    return open(number, mode, encoding="utf-8", closefd=False)


def _is_ascii(encoding: str) -> bool:
    return encoding.lower().replace("_", "-") in ("ascii", "us-ascii", "ansi-x3.4-1968", "646")
