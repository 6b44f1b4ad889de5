"""The person's browser: whether there is one here, opening it without a secret in a command line, and the way to it
from another computer."""

from __future__ import annotations

import getpass
import html
import os
import sys
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

LAUNCH_FILE = "open.html"
SSH_PORT = "22"


def has_screen(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Tell whether a browser that is opened from here is one that the person sees.

    Without a screen, Python would take a browser for terminals, which fills this one; over SSH it would open one in
    front of nobody.
    """
    if "SSH_CONNECTION" in environment:
        return False
    if platform in ("win32", "darwin", "cygwin"):
        return True
    return any(environment.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))


def open_browser(data_dir: Path, url: str) -> bool:
    """Open an address, and tell whether that worked. The address stands in a file that only its owner can read:
    other users of this machine can see command lines."""
    path = data_dir / LAUNCH_FILE
    page = f'<!doctype html><meta http-equiv="refresh" content="0;url={html.escape(url)}"><title>Madang</title>'
    try:
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(page)
        return webbrowser.open(path.absolute().as_uri())
    except (OSError, webbrowser.Error):
        return False


def remove_launch_file(data_dir: Path) -> None:
    (data_dir / LAUNCH_FILE).unlink(missing_ok=True)


def forward_command(environment: Mapping[str, str], port: int) -> list[str]:
    """Return what a person types on the computer where their browser is, to reach a port of this one.

    The port is the same on both sides: the chat takes no other name than 127.0.0.1 with its own port.
    """
    # The client's address and port, then ours, as the client knows them.
    words = environment.get("SSH_CONNECTION", "").split()
    address, ssh_port = words[2:4] if len(words) == 4 else ("THIS-COMPUTER", SSH_PORT)
    user = "USER"
    with suppress(OSError, KeyError, ImportError):  # no name is known for the account, as in some containers
        user = getpass.getuser()
    at_port = [] if ssh_port == SSH_PORT else ["-p", ssh_port]
    return ["ssh", "-N", "-L", f"{port}:127.0.0.1:{port}", *at_port, f"{user}@{address}"]
