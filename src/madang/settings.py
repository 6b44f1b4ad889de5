"""Settings: the only reader of the environment and of `config.toml`, and the one home of defaults."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from madang.core.arguments import invalid_arguments
from madang.core.calls import LOCALES, Locale, PageMode
from madang.core.documents import Document
from madang.core.errors import SetupError
from madang.core.ids import (
    LOCAL_USER,
    AssistantId,
    SessionId,
    UserId,
    hidden_character,
    is_name,
    is_raw_name,
    normalised_name,
)
from madang.core.limits import MAX_NAME_CHARS
from madang.core.phrases import layout, say

if TYPE_CHECKING:
    from madang.core.model_config import ModelConfig

UiChoice = Literal["auto", "linked", "embedded", "off"]
AskChoice = Literal["auto", "elicit"]
ASK_CHOICES: tuple[AskChoice, ...] = ("auto", "elicit")
UI_CHOICES: tuple[UiChoice, ...] = ("auto", "linked", "embedded", "off")

ChoiceT = TypeVar("ChoiceT", bound=str)

DEFAULT_NAME = "default"
DEFAULT_ASSISTANT = AssistantId(DEFAULT_NAME)
DEFAULT_SESSION = SessionId(DEFAULT_NAME)
CONFIG_FILE = "config.toml"
MIN_TOKEN_CHARS = 16
EVENTS_DAYS = 30
AUDIT_DAYS = 365
COPIES_DAYS = 30
MAX_RETENTION_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one process. Command-line options win over the environment, which wins over `config.toml`."""

    data_dir: Path
    assistant: AssistantId = DEFAULT_ASSISTANT
    session: SessionId = DEFAULT_SESSION
    user: UserId = LOCAL_USER
    """Whose data. Only several people who share one database need other names than the default."""
    locale: Locale = "en"
    ui: UiChoice = "auto"
    ask: AskChoice = "auto"
    """`elicit`: questions go through the forms of every client that declares elicitation."""
    services: tuple[str, ...] = ()
    """The services to offer; empty means all."""
    database: str = field(default="", repr=False)
    """The URL of a database server, with its password; empty means a file in the data folder."""
    token: str = ""
    """The bearer token of the HTTP server; empty means a new one at each start."""
    allow_folders: tuple[Path, ...] = ()
    """Folders outside of the data folder from which files may be read, by their real paths."""
    workspace: Path | None = None
    """The folder of the person's own that the session is to work in, by its real path."""
    grants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The services each listed assistant may use: what its row is seeded with."""
    model: str = ""
    """The language model of every run, by its name, whatever an assistant says; empty means that of the assistant."""
    default_model: str = ""
    """The model of runs whose assistant has none of its own."""
    models: Mapping[str, ModelConfig] = field(default_factory=dict)
    """The models that have a name in `config.toml`."""
    events_days: int = EVENTS_DAYS
    """How long the log of what happened in a session is kept."""
    audit_days: int = AUDIT_DAYS
    """How long the audit trail is kept."""
    copies_days: int = COPIES_DAYS
    """How long copies of files are kept that a run changed, counted from its last change."""

    @property
    def page_override(self) -> PageMode | None:
        return None if self.ui == "auto" else self.ui

    @property
    def database_path(self) -> Path:
        return self.data_dir / "madang.db"

    @property
    def config_path(self) -> Path:
        return self.data_dir / CONFIG_FILE

    @property
    def trust_dir(self) -> Path:
        """Where it is kept which folders' AGENTS.md a user has agreed to."""
        return self.data_dir / "trust"

    @property
    def token_path(self) -> Path:
        """Where `madang token` keeps the token of the HTTP server."""
        return self.data_dir / "token"

    @property
    def browser_token_path(self) -> Path:
        """Where the web host keeps the token of its tabs."""
        return self.data_dir / "browser-token"


def read_settings(
    environment: Mapping[str, str],
    *,
    data_dir: str | None = None,
    assistant: str | None = None,
    session: str | None = None,
    user: str | None = None,
    locale: str | None = None,
    ui: str | None = None,
    ask: str | None = None,
    services: str | None = None,
    database: str | None = None,
    allow_folders: Sequence[str] | None = None,
    workspace: str | None = None,
) -> Settings:
    """Return the settings: options win over `MADANG_…` variables, these over `config.toml` in the data folder.

    Raises:
        SetupError: a value is not valid.
    """
    folder = _folder(data_dir or environment.get("MADANG_DATA_DIR") or str(default_data_dir(environment)))
    config = _read_config(folder / CONFIG_FILE)

    def chosen(option: str | None, name: str, default: str) -> str:
        if option is not None:
            return option
        return environment.get(f"MADANG_{name.upper()}", getattr(config, name) or default)

    name = _raw_name if environment.get("MADANG_RAW_NAMES") == "1" else _name
    token = environment.get("MADANG_TOKEN", "")
    if token and not is_token(token):
        raise SetupError(
            say("MADANG_TOKEN must be at least {length} printable characters without spaces.", length=MIN_TOKEN_CHARS),
            hint=say("Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"),
        )
    return Settings(
        data_dir=folder,
        assistant=AssistantId(name("assistant", chosen(assistant, "assistant", DEFAULT_NAME))),
        session=SessionId(name("session", chosen(session, "session", DEFAULT_NAME))),
        user=UserId(name("user", chosen(user, "user", LOCAL_USER))),
        locale=_one_of("locale", chosen(locale, "locale", environment_locale(environment)), LOCALES),
        ui=_one_of("ui", chosen(ui, "ui", "auto"), UI_CHOICES),
        ask=_one_of("ask", chosen(ask, "ask", "auto"), ASK_CHOICES),
        services=tuple(name.strip() for name in chosen(services, "services", "").split(",") if name.strip()),
        # Not from config.toml: it may hold a password.
        database=(database if database is not None else environment.get("MADANG_DATABASE", "")).strip(),
        token=token,
        allow_folders=_allowed(_wanted_folders(allow_folders, environment, config), folder),
        workspace=workspace_folder(workspace, folder) if workspace is not None else None,
        grants={name("assistant", id): tuple(assistant.services) for id, assistant in config.assistants.items()},
        model=environment.get("MADANG_MODEL", "").strip(),
        default_model=config.model.strip() if isinstance(config.model, str) else ", ".join(config.model),
        models=_models(config.models, folder / CONFIG_FILE),
        events_days=config.retention.events_days,
        audit_days=config.retention.audit_days,
        copies_days=config.retention.copies_days,
    )


def is_token(text: str) -> bool:
    """Tell whether a text may be the token of the HTTP server."""
    return len(text) >= MIN_TOKEN_CHARS and text.isascii() and text.isprintable() and " " not in text


def environment_locale(environment: Mapping[str, str]) -> Locale:
    """Return the language that a person's shell is set to, if it is one of ours."""
    spelling = next((environment[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environment.get(name)), "")
    language = re.split(r"[_.@-]", spelling)[0].lower()
    return next((locale for locale in LOCALES if locale == language), "en")


class _AssistantConfig(Document):
    services: list[str]


class _RetentionConfig(Document):
    events_days: int = Field(default=EVENTS_DAYS, ge=1, le=MAX_RETENTION_DAYS)
    audit_days: int = Field(default=AUDIT_DAYS, ge=1, le=MAX_RETENTION_DAYS)
    copies_days: int = Field(default=COPIES_DAYS, ge=1, le=MAX_RETENTION_DAYS)


class _Config(Document):
    """What `config.toml` may say. Secrets have no place in it."""

    assistant: str = ""
    session: str = ""
    user: str = ""
    locale: str = ""
    ui: str = ""
    ask: str = ""
    services: str = ""
    allow_folders: list[str] = Field(default_factory=list)
    model: str | list[str] = ""
    models: dict[str, dict[str, Any]] = Field(default_factory=dict)
    assistants: dict[str, _AssistantConfig] = Field(default_factory=dict)
    retention: _RetentionConfig = Field(default_factory=_RetentionConfig)


def _read_config(path: Path) -> _Config:
    try:
        return _Config.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        return _Config()
    except PermissionError as error:
        # Of a folder that belongs to somebody else, the file in it is not what the person has to hear about.
        if os.access(path.parent, os.X_OK):
            raise SetupError(say("{path} cannot be used: {reason}", path=str(path), reason=str(error))) from None
        raise _unusable(path.parent, error.strerror or str(error)) from None
    except ValidationError as error:
        reason = invalid_arguments(error).message
        raise SetupError(say("{path} cannot be used: {reason}", path=str(path), reason=reason)) from None
    except (OSError, ValueError) as error:
        raise SetupError(say("{path} cannot be used: {reason}", path=str(path), reason=str(error))) from None


def _models(models: Mapping[str, Mapping[str, Any]], path: Path) -> dict[str, ModelConfig]:
    if not models:
        return {}
    from madang.core.model_config import ModelConfig  # `madang mcp` mostly starts without any

    configs = {}
    for name, values in models.items():
        try:
            configs[name] = ModelConfig.model_validate(values)
        except ValidationError as error:
            reason = layout("models.{name}: {reason}", name=name, reason=invalid_arguments(error).message)
            raise SetupError(say("{path} cannot be used: {reason}", path=str(path), reason=reason)) from None
    return configs


def _wanted_folders(options: Sequence[str] | None, environment: Mapping[str, str], config: _Config) -> list[str]:
    if options:
        return list(options)
    variable = environment.get("MADANG_ALLOW_FOLDERS")
    if variable is not None:
        return [name for name in variable.split(os.pathsep) if name]
    return config.allow_folders


def _allowed(names: Sequence[str], data_dir: Path) -> tuple[Path, ...]:
    """Return the real paths of the folders that the person allowed.

    Symlinks are resolved here, once: one that is changed later allows nothing else. The data folder must not be in an
    allowed folder, nor the other way round, or a session could read the files of every other.
    """
    folders: list[Path] = []
    for name in names:
        path, reason = _outside(name, data_dir)
        if reason:
            raise SetupError(
                say("The folder {folder} cannot be allowed: {reason}.", folder=name, reason=reason.rstrip(".")),
                hint=say("Name folders that exist, with --allow-folder, MADANG_ALLOW_FOLDERS or allow_folders."),
            )
        if path not in folders:
            folders.append(path)
    return tuple(folders)


def workspace_folder(name: str, data_dir: Path) -> Path:
    """Return the real path of a folder of the person's own that a session may work in.

    Raises:
        SetupError: it is none.
    """
    path, reason = _outside(name, data_dir)
    if not reason and not str(path).isprintable():
        reason = "its name cannot be shown"
    if reason:
        raise SetupError(
            say("No session can work in the folder {folder}: {reason}.", folder=name, reason=reason.rstrip(".")),
            hint=say("Name a folder that exists, with --workspace."),
        )
    return path


def _outside(name: str, data_dir: Path) -> tuple[Path, str]:
    """Return the real path of a folder outside of the data folder, and why it is none, if it is not."""
    path = Path(name)
    try:
        path = path.expanduser().resolve(strict=True)
        reason = "" if path.is_dir() else "it is not a folder"
    except (OSError, RuntimeError, ValueError) as error:
        return path, getattr(error, "strerror", None) or str(error)
    own_folder = data_dir.resolve()
    if not reason and own_folder.is_relative_to(path):
        reason = "it contains the data folder"
    elif not reason and path.is_relative_to(own_folder):
        reason = "it is in the data folder"
    return path, reason


def default_data_dir(environment: Mapping[str, str]) -> Path:
    """Return the folder of this platform for a user's application data.

    Raises:
        SetupError: there is no home to have it in.
    """
    if sys.platform == "darwin":
        return _home(environment) / "Library" / "Application Support" / "madang"
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or _home(environment) / "AppData" / "Local") / "madang"
    return Path(environment.get("XDG_DATA_HOME") or _home(environment) / ".local" / "share") / "madang"


def _home(environment: Mapping[str, str]) -> Path:
    try:
        # An empty HOME would be the root of the file system.
        home = Path.home() if environment.get("HOME") != "" or sys.platform == "win32" else None
    except RuntimeError:
        home = None
    if home is None:
        raise SetupError(
            say("There is no home folder: HOME is empty, or this user has none."),
            hint=say("Name the data folder with --data-dir or MADANG_DATA_DIR."),
        )
    return home


def prepare_data_dir(folder: Path) -> None:
    """Make the data folder, readable by its owner only.

    Raises:
        SetupError: it cannot be made or written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_usable = folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)
    except OSError as error:
        raise _unusable(folder, error.strerror or str(error)) from None
    if not is_usable:
        raise _unusable(folder, "it cannot be written")


def _folder(name: str) -> Path:
    try:
        return Path(name).expanduser().absolute()
    except (RuntimeError, OSError) as error:  # no such user, or the current folder was deleted
        raise _unusable(Path(name), str(error).rstrip(".")) from None


def _unusable(folder: Path, reason: str) -> SetupError:
    return SetupError(
        say("The data folder {folder} cannot be used: {reason}.", folder=str(folder), reason=reason),
        hint=say("Name another one with --data-dir or MADANG_DATA_DIR."),
    )


def _name(what: str, value: str) -> str:
    value = normalised_name(_raw_name(what, value))
    if not is_name(value):
        raise SetupError(
            say("The {what} holds {character}, which is not seen.", what=what, character=hidden_character(value)),
            hint=say("Leave it out. To reach data of an earlier build under this very name, set MADANG_RAW_NAMES=1."),
        )
    return value


def _raw_name(what: str, value: str) -> str:
    """Return a name as it is. Earlier builds took hidden characters; what they kept under such names is reached so."""
    if not is_raw_name(value):
        raise SetupError(say("The {what} must have 1 to {max} printable characters.", what=what, max=MAX_NAME_CHARS))
    return value


def _one_of(what: str, value: str, choices: tuple[ChoiceT, ...]) -> ChoiceT:
    for choice in choices:
        if value == choice:
            return choice
    raise SetupError(
        say("'{value}' is not a valid {what}.", what=what, value=value),
        hint=say("Use one of: {choices}.", choices=", ".join(choices)),
    )
