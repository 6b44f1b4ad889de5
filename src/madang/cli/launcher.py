"""How this very Madang is started by somebody else: a client, or a person who is told what to type."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

UV_CACHE_FOLDERS = ("archive-v0", "environments-v2", "builds-v0")
"""Where `uvx` keeps what it runs. It is cleared at times, so no client may be given a path into it."""


def launch_command() -> list[str]:
    """Return the command that starts this Madang from any folder, whatever is on the PATH of those who run it."""
    called = Path(sys.argv[0])
    if _is_madang(called) and os.sep in sys.argv[0]:
        return [str(called.absolute())]
    on_path = shutil.which(sys.argv[0]) if _is_command_name(called) else None
    if on_path:
        return [str(Path(on_path).absolute())]
    beside = Path(sys.executable).with_name("madang.exe" if sys.platform == "win32" else "madang")
    return [str(beside)] if _is_madang(beside) else [sys.executable, "-m", "madang"]


def typed_command(*words: str) -> str:
    """Return a command of this Madang as a person types it: by its name where the PATH leads to it."""
    command = launch_command()
    is_on_path = len(command) == 1 and shutil.which(Path(command[0]).stem) == command[0]
    return shell_line([Path(command[0]).stem if is_on_path else command[0], *command[1:], *words])


def uvx_command() -> list[str]:
    """Return the command by which uv fetches and starts Madang: by the path of `uvx`, if there is one here."""
    return [shutil.which("uvx") or "uvx", "madang"]


def runs_from_uv_cache() -> bool:
    """Tell whether `uvx` started this process."""
    return not set(UV_CACHE_FOLDERS).isdisjoint(Path(sys.prefix).parts)


def shell_line(command: list[str]) -> str:
    """Return a command as a person types it."""
    return subprocess.list2cmdline(command) if sys.platform == "win32" else shlex.join(command)


def _is_command_name(path: Path) -> bool:
    return path.name.lower() in ("madang", "madang.exe")


def _is_madang(path: Path) -> bool:
    return _is_command_name(path) and path.is_file() and os.access(path, os.X_OK)
