"""Changes to `config.toml` that keep what a person wrote there: comments, order and spelling.

Only lines are added, replaced or taken out. What comes of it is read again before it is written: if it says anything
else than what was to be said, the file is left alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from madang.core.errors import Conflict, NotFound, Unavailable
from madang.core.phrases import say
from madang.files.part_files import replace_file

MAX_CONFIG_BYTES = 1024 * 1024
_HEADER = re.compile(r"^\s*\[", re.MULTILINE)
_MODEL_LINE = re.compile(r"^model[ \t]*=.*\n?", re.MULTILINE)

ConfigValue = str | int | float | bool


class ConfigFile:
    """The `config.toml` of a data folder. It blocks."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def set_default_model(self, name: str) -> None:
        """Name the model of assistants that have none of their own; an empty name takes the line away.

        Raises:
            Conflict: the file is written in a way that cannot be changed here.
            Unavailable: it cannot be read or written.
        """

        def say_so(config: dict[str, Any]) -> None:
            config.pop("model", None)
            if name:
                config["model"] = name

        self._change(lambda text: _with_default_model(text, name), say_so)

    def add_model(self, name: str, values: Mapping[str, ConfigValue], *, as_default: bool = False) -> None:
        """Add a model under a name of its own; with `as_default` it is the default one, too, unless the file names one.

        Raises:
            Conflict: there is one of this name, or the file cannot be changed here.
            Unavailable: it cannot be read or written.
        """
        lines = [f"[models.{_text(name)}]", *(f"{field} = {_value(value)}" for field, value in values.items())]

        def edit(text: str) -> str:
            added = "\n".join([text.rstrip(), "", *lines, ""]).lstrip("\n")
            is_default = as_default and not tomllib.loads(text).get("model")
            return _with_default_model(added, name) if is_default else added

        def say_so(config: dict[str, Any]) -> None:
            models = config.setdefault("models", {})
            if name in models:
                raise Conflict(say("There is a model '{name}' already.", name=name))
            models[name] = dict(values)
            if as_default and not config.get("model"):
                config["model"] = name

        self._change(edit, say_so)

    def remove_model(self, name: str) -> None:
        """Take out a model.

        Raises:
            NotFound: there is none of this name.
            Conflict: the file cannot be changed here.
            Unavailable: it cannot be read or written.
        """

        def edit(text: str) -> str:
            kept: list[str] = []
            is_inside = False
            for line in text.splitlines(keepends=True):
                if _HEADER.match(line):
                    is_inside = _table_name(line) == ("models", name)
                if not is_inside:
                    kept.append(line)
            return "".join(kept)

        def say_so(config: dict[str, Any]) -> None:
            models = config.get("models", {})
            if name not in models:
                raise NotFound(say("There is no model '{name}'.", name=name[:200]))
            del models[name]
            if not models:
                config.pop("models")

        self._change(edit, say_so)

    def _change(self, edit: Callable[[str], str], say_so: Callable[[dict[str, Any]], None]) -> None:
        """Write what `edit` makes of the text, if that says what `say_so` makes of the values."""
        text = self._read()
        try:
            wanted = tomllib.loads(text)
            say_so(wanted)
            edited = edit(text)
            is_right = tomllib.loads(edited) == wanted
        except tomllib.TOMLDecodeError:
            is_right = False
        if not is_right:
            raise Conflict(
                say("{path} is written in a way that cannot be changed here.", path=str(self._path)),
                hint=say("Change it by hand, and start Madang again."),
            )
        self._write(edited)

    def _read(self) -> str:
        try:
            with self._path.open("rb") as file:
                return file.read(MAX_CONFIG_BYTES).decode("utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise self._unusable(error) from None

    def _write(self, text: str) -> None:
        # A file that is kept elsewhere, as people with dotfiles do, stays a link.
        target = self._path.resolve()
        try:
            mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
            replace_file(target, text.encode(), mode)
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: Exception) -> Unavailable:
        reason = getattr(error, "strerror", None) or str(error)
        return Unavailable(say("{path} cannot be used: {reason}", path=str(self._path), reason=reason))


def _with_default_model(text: str, name: str) -> str:
    line = f"model = {_text(name)}\n" if name else ""
    header = _HEADER.search(text)
    head, tables = (text[: header.start()], text[header.start() :]) if header else (text, "")
    if _MODEL_LINE.search(head):
        return _MODEL_LINE.sub(lambda _: line, head, count=1) + tables
    return line + text


def _table_name(line: str) -> tuple[str, ...]:
    """Return the parts of a table's name, by the one who reads TOML: quotes and spaces may stand in many ways."""
    try:
        value: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    names = []
    while isinstance(value, dict) and value:
        [(name, value)] = value.items()
        names.append(name)
    return tuple(names)


def _text(text: str) -> str:
    # A basic string of TOML is a string of JSON, but for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: ConfigValue) -> str:
    return _text(value) if isinstance(value, str) else json.dumps(value)
