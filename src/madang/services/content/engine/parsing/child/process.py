"""Start, confinement, one question, one answer, end.

Frames both ways: the length of a header in four bytes, the header as JSON, then as many bytes as its `size` says.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from madang.system.confinement import confine_process, end_with_parent

from .document import DocumentText
from .refused import Refused

Work = Callable[[bytes], tuple[dict[str, object], bytes]]

_LENGTH = struct.Struct(">I")
_M_TRIM_THRESHOLD, _M_TOP_PAD = -1, -2


def main() -> None:
    """Answer the one question that comes in, and end. With `ready` every parser is loaded before it comes."""
    parent, memory_bytes, cpu_s, ready = (int(argument) for argument in sys.argv[1:5])
    end_with_parent(parent)
    _keep_freed_memory()
    if ready:
        for kind in ("html", "archive", "pdf"):
            _reader(kind)
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    header = _header(questions)
    work = _work(header)
    confine_process(memory_bytes, cpu_s)
    _answer(answers, work, questions.read(header["size"]))
    answers.flush()
    # Skips the tidying up of libraries, in which a broken document could still go wrong.
    os._exit(0)


def _keep_freed_memory() -> None:
    """Let the heap keep what is freed: page after page it would go back to the system and be asked for again.

    That is a fifth of the time for a PDF. Other C libraries than glibc have no such switch, and no such habit.
    """
    with suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, 1 << 30)
        mallopt(_M_TOP_PAD, 16 << 20)


def _work(question: dict[str, Any]) -> Work:
    """Return what makes the answer to a question, its header and its bytes, with all that it will import."""
    if question["kind"] == "page":
        from .page_image import render_page

        return lambda data: render_page(data, question["page"])
    read = _reader(question["kind"])

    def read_text(data: bytes) -> tuple[dict[str, object], bytes]:
        document = read(data)
        text = document.end().encode()
        return {"mime_type": document.mime_type, "page_lines": document.page_lines}, text

    return read_text


def _reader(kind: str) -> Callable[[bytes], DocumentText]:
    """Return what reads a kind of document, with all that it will import."""
    if kind == "pdf":
        from .pdf import read_pdf

        return read_pdf
    if kind == "html":
        from .html import read_html

        return read_html
    from .office import read_archive

    return read_archive


def _header(stream: BinaryIO) -> dict[str, Any]:
    start = stream.read(_LENGTH.size)
    if len(start) < _LENGTH.size:
        # Madang closed, or needs no spare any more.
        os._exit(0)
    header: dict[str, Any] = json.loads(stream.read(_LENGTH.unpack(start)[0]))
    return header


def _answer(stream: BinaryIO, work: Work, data: bytes) -> None:
    body = b""
    header: dict[str, object]
    try:
        header, body = work(data)
    except Refused as refused:
        header = {"refused": refused.reason, "count": refused.count}
    except MemoryError:
        header = {"refused": "memory"}
    # A panic of a Rust library is no Exception. Whatever a parser stumbles over, the document is what made it.
    except BaseException as error:
        header = {"refused": "broken", "detail": f"{type(error).__name__}: {error}"[:500]}
    encoded = json.dumps({**header, "size": len(body)}).encode()
    stream.write(_LENGTH.pack(len(encoded)) + encoded)
    stream.write(body)
