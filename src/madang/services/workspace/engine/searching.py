"""Searching in files with ripgrep, as a child process that is stopped at every limit.

ripgrep only says where a line is; the line itself is read again through the folder. So nothing outside of the folder
is told, even if a symlink or a race led ripgrep there.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from madang.core.calls import Call
from madang.services.workspace.domain.files import MAX_MATCH_CHARS, LineMatch, LineMatches, StopReason
from madang.services.workspace.engine.checking import PrintedMatch, verify_matches
from madang.services.workspace.engine.errors import (
    bad_glob,
    bad_pattern,
    cannot_search,
    ripgrep_missing,
    ripgrep_not_started,
)
from madang.services.workspace.engine.patterns import in_both_encodings
from madang.services.workspace.engine.suggestions import suggest_path
from madang.storage.confinement import start_confined
from madang.storage.folders import Folder, Folders, parse_path
from madang.storage.folders.kernel import descriptor_path
from madang.storage.folders.paths import GIT

MAX_SEARCH_S = 4.8
"""With what comes before and after it, the five seconds that the answer names."""
MAX_VERIFY_S = 0.5
"""How long matches are still verified after the time to search is over."""
MAX_MEMORY_BYTES = 400 << 20
"""ripgrep holds a whole line, twice, in each of its threads; a line may be as long as a file."""
MAX_CPU_S = 30
"""More than all of its threads use before the deadline: for a ripgrep whose Madang was killed."""
STOP_POLL_S = 0.05
"""How often a search that finds nothing checks whether it was cancelled."""
MAX_STDERR_BYTES = 4_000
READ_CHUNK_BYTES = 64 * 1024

_OUTPUT = re.compile(rb"([^\x00]*)\x00(\d+):(\d+):(\d+):(.*)", re.DOTALL)
_OPTIONS = (
    "--no-config",
    "--no-ignore",
    "--hidden",
    "--no-follow",
    "--no-heading",
    "--with-filename",
    "--null",
    "--line-number",
    "--column",
    "--byte-offset",
    "--color=never",
    "--no-messages",
    f"--max-columns={MAX_MATCH_CHARS}",
    "--max-columns-preview",
    "--regex-size-limit=10M",
    "--dfa-size-limit=64M",
    f"--threads={min(os.cpu_count() or 1, 4)}",  # each holds a whole line, and they share one memory limit
)


@dataclass(frozen=True, slots=True)
class GrepQuery:
    """The arguments of one search."""

    pattern: str
    path: str = ""
    glob: str = ""
    ignore_case: bool = False
    context: int = 0
    limit: int = 50


class Searcher:
    """Searches in the folders of sessions."""

    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    def grep(self, call: Call, query: GrepQuery, stop: threading.Event) -> LineMatches:
        """Return the matching lines, at most `query.limit`, in the order of their paths.

        Raises:
            InvalidArguments: the pattern or the glob is invalid.
            Unavailable: ripgrep is missing.
        """
        until = time.monotonic() + MAX_SEARCH_S
        names = parse_path(query.path, may_be_root=True)
        program = find_ripgrep()
        with self._folders.reading(call) as session, ExitStack() as opened:
            folder = session.files
            top = "/".join(names)
            with suggest_path(folder, query.path):
                kind = folder.entry(query.path).kind
            if kind == "file":
                file = opened.enter_context(folder.open_file(query.path))
                stdin_fd, cwd_fd, where = file.fileno(), folder.fd, "-"
            elif kind == "folder":
                stdin_fd = opened.enter_context(open(os.devnull, "rb")).fileno()
                cwd_fd, where = opened.enter_context(folder.open_folder(query.path)), "./"
            else:
                raise cannot_search(top)
            arguments = [program, *_OPTIONS, f"--max-count={query.limit + 1}"]
            arguments += ["--ignore-case"] if query.ignore_case else []
            if kind == "folder":
                # The last matching glob decides. With `.git` as the path itself, its files are searched.
                arguments += [f"--glob={query.glob}"] if query.glob else []
                arguments.append(f"--glob=!{GIT}/")
            arguments += ["-e", in_both_encodings(query.pattern), "--", where]
            process = _start(arguments, folder.fd, stdin_fd, descriptor_path(cwd_fd))
            output = _Output(query.limit, top if kind == "file" else None, top)
            _collect(process, output, until, stop)
            return self._verify(folder, query, top, output, until)

    def _verify(self, folder: Folder, query: GrepQuery, top: str, output: _Output, until: float) -> LineMatches:
        matches: list[LineMatch] = []
        stopped: StopReason = output.stopped
        for path in sorted(output.matches):
            if matches and time.monotonic() > until + MAX_VERIFY_S:
                stopped = "time"
                break
            printed = sorted(output.matches[path], key=lambda match: match.line)
            matches += verify_matches(folder, path, printed, query.context)
        if len(matches) > query.limit:
            matches, stopped = matches[: query.limit], "limit"
        return LineMatches(query.pattern, top, query.limit, tuple(matches), stopped)


class _Output:
    """The matches that ripgrep has printed so far, by path."""

    def __init__(self, limit: int, only: str | None, top: str) -> None:
        self.matches: dict[str, list[PrintedMatch]] = {}
        self.stopped: StopReason = ""
        self.error = b""
        self._count = 0
        self._limit = limit
        self._only = only
        self._top = top
        self._rest = b""

    @property
    def is_full(self) -> bool:
        return self._count > self._limit

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            fields = _OUTPUT.fullmatch(line)
            if fields is None:
                continue  # a remark on a binary file
            path = self._path(fields[1])
            if path is None:
                continue
            match = PrintedMatch(int(fields[2]), int(fields[3]), int(fields[4]), fields[5])
            self.matches.setdefault(path, []).append(match)
            self._count += 1
            if self.is_full:
                self.stopped = "limit"
                return

    def _path(self, printed: bytes) -> str | None:
        if self._only is not None:
            return self._only
        try:
            name = printed.removeprefix(b"./").decode()
        except UnicodeDecodeError:
            return None  # its name is not Unicode
        return f"{self._top}/{name}" if self._top else name


def _start(arguments: list[str], folder_fd: int, stdin_fd: int, cwd: str) -> subprocess.Popen[bytes]:
    try:
        return start_confined(arguments, folder_fd, stdin_fd, cwd=cwd, memory_bytes=MAX_MEMORY_BYTES, cpu_s=MAX_CPU_S)
    except OSError as error:
        raise ripgrep_not_started(error) from error


def _collect(process: subprocess.Popen[bytes], output: _Output, until: float, stop: threading.Event) -> None:
    """Read the output of a search, to its end or to a limit; the process is gone afterwards."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.fileno(), process.stderr.fileno()
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            selector.register(err, selectors.EVENT_READ)
            while selector.get_map() and not output.is_full:
                left = until - time.monotonic()
                if left <= 0 or stop.is_set():
                    output.stopped = "time"
                    break
                for key, _ in selector.select(min(left, STOP_POLL_S)):
                    data = os.read(key.fd, READ_CHUNK_BYTES)
                    if not data:
                        selector.unregister(key.fd)
                    elif key.fd == out:
                        output.take(data)
                    else:
                        output.error = (output.error + data)[:MAX_STDERR_BYTES]
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()
        code = process.wait()
    if code == -signal.SIGABRT:
        output.stopped = "memory"
    if code == 2 and not output.matches:
        _raise_for(output.error.decode(errors="replace"))


def _raise_for(stderr: str) -> None:
    """Raise for an invalid pattern or glob; what ripgrep says about single files is no error."""
    if "error parsing glob" in stderr:
        raise bad_glob(stderr.partition("': ")[2].strip() or stderr.strip())
    reason = re.search(r"^error: (.+)", stderr, re.MULTILINE) or re.search(
        r"(compiled regex exceeds size limit|the literal .+ is not allowed in a regex)", stderr
    )
    if reason is not None:
        raise bad_pattern(reason[1])


def find_ripgrep() -> str:
    """Return the path of `rg`: beside this Python, as pip installs it, else on PATH.

    Raises:
        Unavailable: it is in neither.
    """
    beside = Path(sys.executable).with_name("rg.exe" if sys.platform == "win32" else "rg")
    program = str(beside) if beside.is_file() else shutil.which("rg")
    if not program:
        raise ripgrep_missing()
    return program
