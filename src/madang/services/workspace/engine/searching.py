"""Searching in files with ripgrep, as a child process that is stopped at every limit.

ripgrep says where a line is; what is told is read from there again, through the folder. So nothing that it was led to
by a link or a race leaves the folder, whatever it printed.
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
from madang.core.errors import InvalidArguments, NotRegular, Unavailable
from madang.core.phrases import say
from madang.services.workspace.domain.files import GIT, MAX_MATCH_CHARS, Hit, Search, StopReason
from madang.services.workspace.engine.checking import Place, checked
from madang.services.workspace.engine.patterns import in_both_encodings
from madang.storage.confinement import start_confined
from madang.storage.folders import Folder, Folders, parse_path
from madang.storage.folders.kernel import descriptor_path

DEADLINE_S = 4.8
"""With what comes before and after it, five seconds."""
CHECKING_S = 0.5
"""What was found is still looked up for so long, after the time to search is over."""
MAX_MEMORY_BYTES = 400 << 20
"""ripgrep holds a whole line, twice, in each of its threads; a line may be as long as a file."""
MAX_CPU_S = 30
"""More than all of its threads use before the deadline: for a ripgrep whose Madang was killed."""
LOOK_S = 0.05
"""How often a search that finds nothing looks whether it should stop."""
KEPT_ERROR = 4_000
READ = 64 * 1024

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
    f"--threads={min(os.cpu_count() or 1, 4)}",  # each holds a line, and they share the memory that they may take
)


@dataclass(frozen=True, slots=True)
class Grep:
    """What is looked for, and where."""

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

    def grep(self, call: Call, wanted: Grep, stop: threading.Event) -> Search:
        """Return the lines that fit, at most `wanted.limit`, in the order of their paths.

        Raises:
            InvalidArguments: the pattern or the glob is none.
            Unavailable: there is no ripgrep.
        """
        until = time.monotonic() + DEADLINE_S
        names = parse_path(wanted.path, may_be_root=True)
        program = find_ripgrep()
        with self._folders.of(call) as session, ExitStack() as opened:
            folder = session.files
            top = "/".join(names)
            kind = folder.entry(wanted.path).kind
            if kind == "file":
                file = opened.enter_context(folder.open_file(wanted.path))
                stdin_fd, cwd_fd, where = file.fileno(), folder.fd, "-"
            elif kind == "folder":
                stdin_fd = opened.enter_context(open(os.devnull, "rb")).fileno()
                cwd_fd, where = opened.enter_context(folder.open_folder(wanted.path)), "./"
            else:
                raise NotRegular(
                    say("'{path}' is neither a file nor a folder: links are never followed.", path=top),
                    hint=say("Use 'list_directory' to see what there is."),
                )
            arguments = [program, *_OPTIONS, f"--max-count={wanted.limit + 1}"]
            arguments += ["--ignore-case"] if wanted.ignore_case else []
            if kind == "folder":
                # The last glob that fits decides. One who names the folder of Git as path searches in it.
                arguments += [f"--glob={wanted.glob}"] if wanted.glob else []
                arguments.append(f"--glob=!{GIT}/")
            arguments += ["-e", in_both_encodings(wanted.pattern), "--", where]
            process = _started(arguments, folder.fd, stdin_fd, descriptor_path(cwd_fd))
            collected = _Collected(wanted.limit, top if kind == "file" else None, top)
            _collect(process, collected, until, stop)
            return self._told(folder, wanted, top, collected, until)

    def _told(self, folder: Folder, wanted: Grep, top: str, collected: _Collected, until: float) -> Search:
        hits: list[Hit] = []
        stopped: StopReason = collected.stopped
        for path in sorted(collected.places):
            if hits and time.monotonic() > until + CHECKING_S:
                stopped = "time"
                break
            hits += checked(folder, path, sorted(collected.places[path], key=lambda one: one.line), wanted.context)
        if len(hits) > wanted.limit:
            hits, stopped = hits[: wanted.limit], "limit"
        return Search(wanted.pattern, top, tuple(hits), stopped)


class _Collected:
    """What ripgrep printed so far."""

    def __init__(self, limit: int, only: str | None, top: str) -> None:
        self.places: dict[str, list[Place]] = {}
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
            found = _OUTPUT.fullmatch(line)
            if found is None:
                continue  # a remark on a binary file
            path = self._path(found[1])
            if path is None:
                continue
            place = Place(int(found[2]), int(found[3]), int(found[4]), found[5])
            self.places.setdefault(path, []).append(place)
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
            return None  # no text could carry its name
        return f"{self._top}/{name}" if self._top else name


def _started(arguments: list[str], folder_fd: int, stdin_fd: int, cwd: str) -> subprocess.Popen[bytes]:
    try:
        return start_confined(arguments, folder_fd, stdin_fd, cwd=cwd, memory_bytes=MAX_MEMORY_BYTES, cpu_s=MAX_CPU_S)
    except OSError as error:
        raise Unavailable(
            say("The program 'rg' (ripgrep) cannot be started: {reason}.", reason=error.strerror or str(error)),
            hint=say("Ask the person to install it anew: pip install --force-reinstall ripgrep."),
        ) from error


def _collect(process: subprocess.Popen[bytes], collected: _Collected, until: float, stop: threading.Event) -> None:
    """Read what a search prints, to its end or to a limit, and leave nothing of it behind."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = process.stdout.fileno(), process.stderr.fileno()
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(out, selectors.EVENT_READ)
            selector.register(err, selectors.EVENT_READ)
            while selector.get_map() and not collected.is_full:
                left = until - time.monotonic()
                if left <= 0 or stop.is_set():
                    collected.stopped = "time"
                    break
                for key, _ in selector.select(min(left, LOOK_S)):
                    data = os.read(key.fd, READ)
                    if not data:
                        selector.unregister(key.fd)
                    elif key.fd == out:
                        collected.take(data)
                    else:
                        collected.error = (collected.error + data)[:KEPT_ERROR]
    finally:
        process.kill()
        process.stdout.close()
        process.stderr.close()
        code = process.wait()
    if code == -signal.SIGABRT:
        collected.stopped = "memory"
    if code == 2 and not collected.places:
        _refuse(collected.error.decode(errors="replace"))


def _refuse(said: str) -> None:
    """Turn what ripgrep says about a pattern into an error; what it says about single files is not one."""
    if "error parsing glob" in said:
        reason = said.partition("': ")[2].strip() or said.strip()
        raise InvalidArguments(
            say("glob: {reason}.", reason=_short(reason)), hint=say("A glob is like '*.py' or 'src/**/*.ts'.")
        )
    found = re.search(r"^error: (.+)", said, re.MULTILINE) or re.search(
        r"(compiled regex exceeds size limit|the literal .+ is not allowed in a regex)", said
    )
    if found is None:
        return
    raise InvalidArguments(
        say("pattern: {reason}.", reason=_short(found[1])),
        hint=say(
            "Patterns are Rust regular expressions, line by line: no look-around, no back-references. "
            "Put a backslash before signs that are meant as they are."
        ),
    )


def _short(reason: str) -> str:
    return " ".join(reason.split())[:300].rstrip(".")


def find_ripgrep() -> str:
    """Return where `rg` is: beside this Python, as pip installs it, else on the path.

    Raises:
        Unavailable: nowhere.
    """
    beside = Path(sys.executable).with_name("rg.exe" if sys.platform == "win32" else "rg")
    found = str(beside) if beside.is_file() else shutil.which("rg")
    if not found:
        raise Unavailable(
            say("The program 'rg' (ripgrep) is not there."),
            hint=say("Ask the person to install it: pip install ripgrep. 'search_files' and 'read_file' work without."),
        )
    return found
