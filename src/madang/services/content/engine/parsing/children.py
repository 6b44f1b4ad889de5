"""One process for one document, and the frames that go to it and back.

Once the process has the document, its answers are not trusted: they are bounded and checked like a stranger's.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import madang
from madang.core.errors import ToolError
from madang.services.content.engine.parsing.child.document import MAX_DOCUMENT_PAGES, MAX_EXTRACTED_BYTES
from madang.services.content.engine.parsing.child.pixels import CHANNELS, MAX_PIXELS
from madang.services.content.engine.parsing.detection import DocumentKind
from madang.services.content.engine.parsing.parsed import PageImage, Parsed
from madang.services.content.engine.parsing.refusals import reader_stopped, reading_timed_out, refusal_error
from madang.system.child_process import kill_group, start_python

MEMORY_MB = 512

AnswerT = TypeVar("AnswerT")

logger = logging.getLogger(__name__)

# `-m` would import all of Madang on the way to the package: this imports it alone, and of Madang only the modules that
# it asks for. The two folders are on the path for that long.
_START = (
    "import sys; sys.path[:0] = sys.argv[1:3]; del sys.argv[1:3]; "
    "from child.process import main; del sys.path[:2]; main()"
)
_FOLDERS = (str(Path(__file__).parent), str(Path(madang.__file__).parents[1]))
_LENGTH = struct.Struct(">I")
_MAX_HEADER_BYTES = 1 << 20


class Child:
    """A process that reads one document. Start it in a thread that lives as long as the process should.

    Its owner either asks for an `answer` or calls `end`; both leave no process behind.
    """

    def __init__(self, *, cpu_s: int, is_spare: bool = False) -> None:
        self._cpu_s = cpu_s
        limits = (os.getpid(), MEMORY_MB << 20, cpu_s, int(is_spare))
        self._process = start_python(_START, *_FOLDERS, *limits)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Stop it at once, with all that it may have started. Does not wait."""
        kill_group(self._process)

    def end(self) -> None:
        """Stop it and wait until it is gone."""
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            # What was not written yet cannot be any more.
            with suppress(OSError):
                if stream:
                    stream.close()

    def answer(self, kind: DocumentKind, data: bytes, filename: str) -> Parsed:
        """Hand over the document and wait for its text. The process is gone afterwards.

        Raises:
            ToolError: when the document is refused, or the process ended without an answer.
        """
        return self._ask({"kind": kind}, data, filename, _read_text)

    def render(self, data: bytes, filename: str, page: int) -> PageImage:
        """Hand over a PDF and wait for the picture of a page. The process is gone afterwards.

        Raises:
            ToolError: as `answer`; NotFound: it has no such page.
        """
        return self._ask({"kind": "page", "page": page}, data, filename, _read_image)

    def _ask(
        self,
        question: Mapping[str, object],
        data: bytes,
        filename: str,
        read: Callable[[Mapping[str, Any], IO[bytes]], AnswerT],
    ) -> AnswerT:
        try:
            return self._exchange(question, data, filename, read)
        except (EOFError, BrokenPipeError) as error:
            raise self._why_it_ended(filename) from error
        finally:
            self.end()

    def _exchange(
        self,
        question: Mapping[str, object],
        data: bytes,
        filename: str,
        read: Callable[[Mapping[str, Any], IO[bytes]], AnswerT],
    ) -> AnswerT:
        questions, answers = self._process.stdin, self._process.stdout
        assert questions is not None
        assert answers is not None
        encoded = json.dumps({**question, "size": len(data)}).encode()
        questions.write(_LENGTH.pack(len(encoded)) + encoded)
        questions.write(data)
        questions.flush()
        (length,) = _LENGTH.unpack(_exactly(answers, _LENGTH.size))
        if length > _MAX_HEADER_BYTES:
            raise refusal_error("broken", filename)
        try:
            header = json.loads(_exactly(answers, length))
            if "refused" in header:
                raise self._refusal(header, filename)
            return read(header, answers)
        # Only a process that its document has taken over answers like this.
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            logger.warning("A reader of documents sent a malformed answer: %s", type(error).__name__)
            raise refusal_error("broken", filename) from error

    def _refusal(self, header: Mapping[str, object], filename: str) -> ToolError:
        if "detail" in header:
            logger.info("A document could not be read: %.500r", header["detail"])
        count = header.get("count", 0)
        return refusal_error(
            str(header["refused"]), filename, count=count if isinstance(count, int) else 0, memory_mb=MEMORY_MB
        )

    def _why_it_ended(self, filename: str) -> ToolError:
        code = self._process.wait()
        if code == -signal.SIGKILL:
            return reader_stopped(filename)
        if code == -signal.SIGXCPU:
            return reading_timed_out(filename, self._cpu_s)
        # What libraries do when an allocation fails that they did not expect to.
        aborted = code in (-signal.SIGABRT, -signal.SIGTRAP, -signal.SIGILL)
        return refusal_error("memory" if aborted else "broken", filename, memory_mb=MEMORY_MB)


def _read_text(header: Mapping[str, Any], answers: IO[bytes]) -> Parsed:
    text = _exactly(answers, _bounded(header["size"], MAX_EXTRACTED_BYTES)).decode()
    pages = header["page_lines"]
    lines = text.count("\n") + 1
    if len(pages) > MAX_DOCUMENT_PAGES or pages != sorted(pages):
        raise ValueError("pages out of order")
    return Parsed(text, str(header["mime_type"]), "", tuple(_bounded(line, lines) for line in pages))


def _read_image(header: Mapping[str, Any], answers: IO[bytes]) -> PageImage:
    width, height = (_bounded(header[side], MAX_PIXELS) for side in ("width", "height"))
    pages = _bounded(header["pages"], MAX_DOCUMENT_PAGES)
    size = _bounded(header["size"], MAX_PIXELS * CHANNELS)
    if not 0 < size == width * height * CHANNELS:
        raise ValueError("more or fewer pixels than the picture has")
    return PageImage(width, height, pages, _exactly(answers, size))


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _bounded(number: object, most: int) -> int:
    if type(number) is not int or not 0 <= number <= most:
        raise ValueError("a number out of bounds")
    return number
