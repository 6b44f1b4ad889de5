"""`madang token`: the token of the HTTP server, kept in a file of the data folder that only its owner can read."""

from __future__ import annotations

import argparse
import os
import secrets
from pathlib import Path

from madang.cli.terminal import show
from madang.core.errors import SetupError
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.settings import Settings, is_token, prepare_data_dir

MAX_TOKEN_FILE_BYTES = 4096


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Print the token that the server takes from now on; it is made if there is none, or if a new one is wanted."""
    if settings.token and options.new:
        raise SetupError(
            say("MADANG_TOKEN is set, and wins over a token that is kept."), hint=say("Unset it, or change it.")
        )
    token = "" if options.new else settings.token or kept_token(settings)
    if not token:
        prepare_data_dir(settings.data_dir)
        token = secrets.token_urlsafe(32)
        _keep(settings.token_path, token)
    show(token)
    return 0


def kept_token(settings: Settings) -> str:
    """Return the token that is kept in the data folder; empty if none is.

    Raises:
        SetupError: the file cannot be used.
    """
    try:
        with settings.token_path.open("rb") as file:
            token = file.read(MAX_TOKEN_FILE_BYTES).decode("ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError) as error:
        raise _unusable(settings.token_path, getattr(error, "strerror", None) or say("it is not a token")) from None
    if not is_token(token):
        raise _unusable(settings.token_path, say("it is not a token"))
    return token


def _keep(path: Path, token: str) -> None:
    draft = path.with_name(f".token.{new_id()}.part")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(f"{token}\n")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise _unusable(path, error.strerror or str(error)) from None


def _unusable(path: Path, reason: object) -> SetupError:
    return SetupError(
        say("{path} cannot be used: {reason}", path=str(path), reason=reason),
        hint=say("'madang token --new' makes a new one."),
    )
