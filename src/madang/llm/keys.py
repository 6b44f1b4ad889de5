"""Keys of models: from the environment, the system's keyring where that extra is installed, else a file.

They are in no database, log, repr or export, and what is taken from the environment is gone from it: programs that we
start inherit none.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, MutableMapping
from pathlib import Path
from typing import Any, Literal

from pydantic import SecretStr

from madang.core.errors import SetupError
from madang.core.phrases import Phrase, say
from madang.files.part_files import replace_file

KEYRING_SERVICE = "madang"
FILE_NAME = "keys.json"
MAX_FILE_BYTES = 256 * 1024
MAX_KEY_CHARS = 8192

Place = Literal["environment", "keyring", "file"]


class KeyStore:
    """Where keys are. It blocks while a keyring asks the person to unlock it: call it in a thread of its own."""

    def __init__(self, folder: Path, environment: MutableMapping[str, str] | None = None) -> None:
        self._path = folder / FILE_NAME
        self._environment = environment if environment is not None else {}
        self._taken: dict[str, SecretStr] = {}

    def resolve(self, reference: str) -> SecretStr | None:
        """Return the secret that `env:NAME` or `keyring:NAME` names; None if it is not there.

        Raises:
            SetupError: it names no place, or the place cannot be read.
        """
        kind, _, name = reference.partition(":")
        if not name or kind not in ("env", "keyring"):
            # Not the words: they may be the key itself.
            raise SetupError(say("A key is named as 'env:NAME' or 'keyring:NAME', and never written itself."))
        return self._from_environment(name) if kind == "env" else self._kept(name)[0]

    def find(self, name: str, variables: Iterable[str] = ()) -> tuple[SecretStr | None, Place | None]:
        """Return the key of a provider and where it is: in one of these variables, or kept under its name."""
        for variable in variables:
            key = self._from_environment(variable)
            if key is not None:
                return key, "environment"
        return self._kept(name)

    def destination(self) -> Place:
        """Return where a key is kept that is saved now."""
        return "file" if _keyring() is None else "keyring"

    def save(self, name: str, key: SecretStr) -> Phrase:
        """Keep a key, and return the sentence that tells where.

        Raises:
            SetupError: it cannot be kept, or is none.
        """
        value = key.get_secret_value()
        if not 0 < len(value) <= MAX_KEY_CHARS or not value.isascii() or not value.isprintable() or " " in value:
            raise SetupError(say("This is not a key: it is empty, or has spaces or other characters that no key has."))
        keyring = _keyring()
        if keyring is not None:
            try:
                keyring.set_password(KEYRING_SERVICE, name, value)
            except Exception as error:  # each back end has its own errors
                raise _keyring_failed(error) from None
            return say("The key '{name}' is in the system's keyring.", name=name)
        self._write({**self._read(), name: value})
        return say(
            "The key '{name}' is in {path}, which only you can read but which is not encrypted. "
            "With 'madang[keyring]' installed, keys go to the system's keyring, where there is one.",
            name=name,
            path=str(self._path),
        )

    def delete(self, name: str) -> bool:
        """Forget a kept key; False if there is none."""
        was_kept = self._kept(name)[0] is not None
        keyring = _keyring()
        if keyring is not None and was_kept:
            try:
                keyring.delete_password(KEYRING_SERVICE, name)
            except Exception as error:
                if type(error).__name__ != "PasswordDeleteError":  # it is in the file
                    raise _keyring_failed(error) from None
        kept = self._read()
        if name in kept:
            self._write({other: value for other, value in kept.items() if other != name})
        return was_kept

    def _from_environment(self, variable: str) -> SecretStr | None:
        if variable not in self._taken:
            value = self._environment.get(variable, "").strip()
            if not value:
                return None
            self._taken[variable] = SecretStr(value)
            # The shell of a sandbox, a server that we start: all of them would get it.
            self._environment.pop(variable, None)
        return self._taken[variable]

    def _kept(self, name: str) -> tuple[SecretStr | None, Place | None]:
        keyring = _keyring()
        if keyring is not None:
            try:
                value = keyring.get_password(KEYRING_SERVICE, name)
            except Exception as error:
                raise _keyring_failed(error) from None
            if value:
                return SecretStr(value), "keyring"
        value = self._read().get(name)
        return (SecretStr(value), "file") if value else (None, None)

    def _read(self) -> dict[str, str]:
        try:
            descriptor = os.open(self._path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None
        try:
            self._check(os.fstat(descriptor))
            keys = json.loads(os.read(descriptor, MAX_FILE_BYTES))
        except ValueError:
            raise self._unusable("it is not JSON") from None
        finally:
            os.close(descriptor)
        if not isinstance(keys, dict):
            raise self._unusable("it is not an object")
        return {name: key for name, key in keys.items() if isinstance(key, str)}

    def _check(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise self._unusable("it is not a file")
        if os.name == "posix" and status.st_mode & 0o077:
            raise SetupError(
                say("{path} holds keys and can be read by others.", path=str(self._path)),
                hint=say("Make it yours alone: chmod 600 '{path}'", path=str(self._path)),
            )

    def _write(self, keys: dict[str, str]) -> None:
        try:
            replace_file(self._path, json.dumps(keys, indent=2).encode())
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None

    def _unusable(self, reason: str) -> SetupError:
        return SetupError(say("{path} cannot be used: {reason}", path=str(self._path), reason=reason))


def _keyring() -> Any:
    """Return the keyring package; None if it is not installed or finds no keyring on this system."""
    try:
        import keyring
        from keyring.backends import fail, null
    except ImportError:
        return None
    return None if isinstance(keyring.get_keyring(), fail.Keyring | null.Keyring) else keyring


def _keyring_failed(error: Exception) -> SetupError:
    # Only the kind of the error: its words are not ours to show.
    return SetupError(
        say("The system's keyring cannot be used: {reason}.", reason=type(error).__name__),
        hint=say("Unlock it, or set the key in a variable."),
    )
