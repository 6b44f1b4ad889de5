"""`madang token`: the token of the HTTP server, kept in a file of the data folder that only its owner can read."""

from __future__ import annotations

import argparse
import secrets
import time
from pathlib import Path

from madang.cli.terminal import show
from madang.core.errors import SetupError
from madang.core.phrases import say
from madang.files.part_files import replace_file
from madang.settings import Settings, is_token, prepare_data_dir

MAX_TOKEN_FILE_BYTES = 4096
BROWSER_TOKEN_S = 30 * 24 * 3600.0


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the token that the server takes from now on; it is made if there is none, or if a new one is wanted."""
    if settings.token and options.new:
        raise SetupError(
            say("MADANG_TOKEN is set, and wins over a token that is kept."), hint=say("Unset it, or change it.")
        )
    token = "" if options.new else settings.token or kept_token(settings)
    if not token:
        prepare_data_dir(settings.data_dir)
        token = new_token(settings.token_path)
        if options.new and settings.browser_token_path.exists():
            new_token(settings.browser_token_path)
    show(token)
    return 0


def kept_token(settings: Settings) -> str:
    """Return the token that is kept in the data folder; empty if none is.

    Raises:
        SetupError: the file cannot be used.
    """
    return _read(settings.token_path)


def kept_browser_token(settings: Settings) -> str:
    """Return the token of the tabs of the web host that is running, however old it is; empty if none is kept.

    Raises:
        SetupError: the file cannot be used.
    """
    return _read(settings.browser_token_path)


def browser_token(settings: Settings) -> str:
    """Return the token of the web host's tabs, which is kept; a new one if there is none, or it is 30 days old.

    Raises:
        SetupError: the file cannot be used.
    """
    path = settings.browser_token_path
    token = _read(path)
    try:
        is_old = bool(token) and time.time() - path.stat().st_mtime > BROWSER_TOKEN_S
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from None
    return token if token and not is_old else new_token(path)


def new_token(path: Path) -> str:
    """Make a token, and keep it in place of an earlier one.

    Raises:
        SetupError: the file cannot be written.
    """
    token = secrets.token_urlsafe(32)
    _keep(path, token)
    return token


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            token = file.read(MAX_TOKEN_FILE_BYTES).decode("ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError) as error:
        raise _unusable(path, getattr(error, "strerror", None) or say("it is not a token")) from None
    if not is_token(token):
        raise _unusable(path, say("it is not a token"))
    return token


def _keep(path: Path, token: str) -> None:
    try:
        replace_file(path, f"{token}\n".encode("ascii"))
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from None


def _unusable(path: Path, reason: object) -> SetupError:
    return SetupError(
        say("{path} cannot be used: {reason}", path=str(path), reason=reason),
        hint=say("'madang token --new' makes a new one."),
    )
