"""Searching in files with ripgrep.

The files are chosen here, in the order of their paths, and given to ripgrep in batches, so that the same search finds
the same whatever its threads do first. ripgrep only says where a line is; the line itself is read again through the
folder. So nothing outside of the folder is told, even if a symlink or a race led ripgrep there.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from typing import IO

from madang.core.calls import Call, PathFilter
from madang.core.errors import ToolError
from madang.files.folders import Entry, Folder, Folders, parse_path
from madang.services.workspace.domain.files import (
    MAX_SEARCHED_BYTES,
    GrepQuery,
    LineMatch,
    LineMatches,
    MatchCount,
    StopReason,
)
from madang.services.workspace.engine.checking import PrintedMatch, decoded_text, verify_matches
from madang.services.workspace.engine.choosing import FileChoice
from madang.services.workspace.engine.errors import cannot_search, grep_out_of_range
from madang.services.workspace.engine.globs import OutOfTime
from madang.services.workspace.engine.patterns import DECOMPOSED, in_both_encodings
from madang.services.workspace.engine.printed import MAX_COUNTED_LINES, PrintedLines, split_names
from madang.services.workspace.engine.ripgrep import LINE_OPTIONS, STDIN, Ripgrep, find_ripgrep
from madang.services.workspace.engine.suggestions import suggest_path
from madang.text import encodings

MAX_SEARCH_S = 4.8
"""With what comes before and after it, the five seconds that the answer names."""
MAX_WALK_S = 2.5
"""Of these, for finding out which files there are."""
MAX_VERIFY_S = 0.5
"""How long matches are still verified after the time to search is over."""
LARGE_FILE_BYTES = 16 << 20
"""A file of this size is searched by itself, after all others: it may need all the memory that there is."""
MAX_BATCH_FILES = 2_000
MAX_BATCH_BYTES = 128 * 1024
"""Of the paths of a batch: systems bound the arguments of a program."""
SNIFFED_BYTES = 4096


class Searcher:
    """Searches in the folders of sessions."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def grep(self, call: Call, query: GrepQuery, stop: threading.Event) -> LineMatches:
        """Return the matching lines in the order of their paths: those that are asked for, and how many there are.

        Raises:
            InvalidArguments: the pattern or the glob is invalid.
            OutOfRange: there are not so many.
            Unavailable: ripgrep is missing.
        """
        until = time.monotonic() + MAX_SEARCH_S
        top = "/".join(parse_path(query.path, may_be_root=True))
        program = find_ripgrep()
        with self._folders.reading(call) as session, ExitStack() as opened:
            folder = session.files
            with suggest_path(folder, query.path):
                kind = folder.entry(query.path).kind
            if kind not in ("file", "folder"):
                raise cannot_search(top)
            search = _Search(folder, query, Ripgrep(program, folder.fd, until, stop), call.hides)
            if kind == "file":
                search.file(top, opened.enter_context(folder.open_file(query.path)))
            else:
                search.folder()
            return search.result(top)


class _Search:
    """One search: what it has found so far, and why it stopped."""

    def __init__(self, folder: Folder, query: GrepQuery, ripgrep: Ripgrep, hides: PathFilter | None) -> None:
        self._folder = folder
        self._hides = hides
        self._hidden = 0
        self._query = query
        self._ripgrep = ripgrep
        self._pattern = unicodedata.normalize("NFC", query.pattern)
        self._printed = PrintedLines()
        self._composed: set[str] = set()
        self._stopped: StopReason = ""
        self._left_out = 0
        self._unsearched = ""

    def file(self, path: str, file: IO[bytes]) -> None:
        """Search in one file, whatever its size."""
        self._printed.expect([path])
        self._search([STDIN], file.fileno(), only=path)

    def folder(self) -> None:
        """Search in the files below a folder, as many as there is room and time for."""
        files = self._files()
        self._printed.expect(entry.path for entry in files)
        with open(os.devnull, "rb") as nothing:
            # A pattern that is invalid is so where there are no files, too.
            for batch in self._batches(files) if files else [[STDIN]]:
                self._search(batch, nothing.fileno())
                if self._stopped == "time" or self._printed.is_full:
                    break
        if self._printed.is_full:
            self._stopped = self._stopped or "limit"

    def _files(self) -> list[Entry]:
        """Return the files that are searched, in the order of paths."""
        query, ripgrep = self._query, self._ripgrep
        until = min(ripgrep.until, time.monotonic() + MAX_WALK_S)

        def check_time() -> None:
            if ripgrep.stop.is_set() or time.monotonic() > until:
                raise OutOfTime

        choice = FileChoice(
            self._folder,
            query.path,
            with_ignored=query.ignored,
            glob=query.glob,
            hides=self._hides,
            check_time=check_time,
        )
        files: list[Entry] = []
        with closing(choice.files(with_status=True)) as entries:
            try:
                for entry in entries:
                    check_time()
                    if entry.kind == "file":
                        files.append(entry)
            except OutOfTime:
                self._stopped = "time"
        self._left_out, self._hidden = choice.left_out, choice.hidden.count
        return self._fitting(files)

    def _fitting(self, files: list[Entry]) -> list[Entry]:
        """Return those of the files that MAX_SEARCHED_BYTES leave room for: large ones last, and deep ones.

        What people write is nearer to the top than what programs put into a folder for them. By path alone, all of
        `node_modules` would come before `src`.
        """
        if sum(entry.size for entry in files) <= MAX_SEARCHED_BYTES:
            return files
        searched_bytes = 0
        unsearched: set[str] = set()
        for entry in sorted(files, key=lambda entry: (entry.size >= LARGE_FILE_BYTES, entry.path.count("/"))):
            if entry.size >= LARGE_FILE_BYTES and self._is_binary(entry):
                unsearched.add(entry.path)
                continue
            if searched_bytes >= MAX_SEARCHED_BYTES:
                self._stopped, self._unsearched = "size", self._unsearched or entry.path
                unsearched.add(entry.path)
            searched_bytes += entry.size
        return [entry for entry in files if entry.path not in unsearched]

    def _batches(self, files: Sequence[Entry]) -> Iterator[list[str]]:
        """Yield paths in order; each large file by itself, after the others."""
        batch: list[str] = []
        batch_bytes = 0
        for entry in files:
            if entry.size >= LARGE_FILE_BYTES:
                continue
            batch.append(entry.path)
            batch_bytes += len(entry.path.encode(errors="replace")) + 1
            if len(batch) >= MAX_BATCH_FILES or batch_bytes >= MAX_BATCH_BYTES:
                yield batch
                batch, batch_bytes = [], 0
        if batch:
            yield batch
        yield from ([entry.path] for entry in files if entry.size >= LARGE_FILE_BYTES)

    def _is_binary(self, entry: Entry) -> bool:
        """Tell of a large file whether it is no text, by its first, middle and last bytes."""
        try:
            with self._folder.open_file(entry.path) as file:
                places = (0, entry.size // 2, max(entry.size - SNIFFED_BYTES, 0))
                pieces = [os.pread(file.fileno(), SNIFFED_BYTES, place) for place in places]
        except (ToolError, OSError):
            return True
        encoding = encodings.detect_encoding(pieces[0], is_whole=False)
        if encoding in ("utf-16-le", "utf-16-be"):
            return False
        return encoding == "binary" or any(b"\x00" in piece for piece in pieces)

    def _search(self, paths: Sequence[str], stdin_fd: int, only: str | None = None) -> None:
        case = ["--ignore-case"] if self._query.ignore_case else []
        options = [*LINE_OPTIONS, f"--max-count={MAX_COUNTED_LINES + 1}", *case]
        lines = self._printed.reader(only)
        stopped = self._ripgrep.run(options, in_both_encodings(self._pattern), paths, stdin_fd, lines)
        if not self._pattern.isascii() and not stopped:
            if only is not None:
                os.lseek(stdin_fd, 0, os.SEEK_SET)
            names = bytearray()
            stopped = self._ripgrep.run(["--files-with-matches"], DECOMPOSED, paths, stdin_fd, names.extend)
            decomposed = [only] if only is not None and names else split_names(bytes(names))
            if decomposed and not stopped:
                stopped = self._search_composed(self._printed.in_order(decomposed), options)
        self._stopped = stopped or self._stopped

    def _search_composed(self, paths: Sequence[str], options: Sequence[str]) -> StopReason:
        """Search in texts that are in parts (NFD) as if they were composed: all in one stream, line by line."""
        first_lines: list[int] = []
        line = 1
        with tempfile.TemporaryFile() as stream:
            for path in paths:
                first_lines.append(line)
                text = self._composed_text(path)
                line += text.count("\n")
                stream.write(text.encode())
            stream.flush()
            stream.seek(0)
            output: dict[str, list[PrintedMatch]] = {path: [] for path in paths}

            def place(match: PrintedMatch) -> None:
                number = bisect_right(first_lines, match.line) - 1
                at = match.line - first_lines[number] + 1
                output[paths[number]].append(PrintedMatch(at, match.column, 0, match.text))

            reader = PrintedLines.parser(lambda name, match: place(match))
            stopped = self._ripgrep.run(options, self._pattern, [STDIN], stream.fileno(), reader)
        for path, matches in output.items():
            self._printed.replace(path, matches)
        self._composed.update(paths)
        return stopped

    def _composed_text(self, path: str) -> str:
        try:
            with self._folder.open_file(path) as file:
                start = os.pread(file.fileno(), SNIFFED_BYTES, 0)
                text = decoded_text(file, encodings.detect_encoding(start, is_whole=False))
        except (ToolError, OSError):
            return "\n"
        return unicodedata.normalize("NFC", text.replace("\x00", " ")).removesuffix("\n") + "\n"

    def result(self, top: str) -> LineMatches:
        """Verify what was printed, and return what was asked for."""
        query = self._query
        matches: list[LineMatch] = []
        counts: list[MatchCount] = []
        for path, printed in self._printed.by_path():
            if matches and time.monotonic() > self._ripgrep.until + MAX_VERIFY_S:
                self._stopped = "time"
                break
            verified = self._verified(path, printed, 0)
            matches += verified
            if verified:
                counts.append(MatchCount(path, len(verified)))
        rows = len(matches) if query.mode == "lines" else len(counts)
        if query.offset and query.offset >= rows and not self._stopped:
            raise grep_out_of_range(query.pattern, rows, query.mode)
        page = matches[query.offset : query.offset + query.limit] if query.mode == "lines" else []
        if query.context:
            page = self._with_context(page)
        return LineMatches(
            query, top, tuple(page), tuple(counts), self._stopped, self._left_out, self._unsearched, self._hidden
        )

    def _with_context(self, page: Sequence[LineMatch]) -> list[LineMatch]:
        """Return matches with the lines around them, which are read for those alone that are shown."""
        lines_by_path: dict[str, set[int]] = {}
        for match in page:
            lines_by_path.setdefault(match.path, set()).add(match.line)
        return [
            match
            for path, lines in lines_by_path.items()
            for match in self._verified(
                path,
                [printed for printed in self._printed.of(path) if printed.line in lines],
                self._query.context,
            )
        ]

    def _verified(self, path: str, printed: Sequence[PrintedMatch], context: int) -> list[LineMatch]:
        return verify_matches(self._folder, path, printed, context, is_composed=path in self._composed)
