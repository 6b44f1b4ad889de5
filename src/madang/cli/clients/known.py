"""The clients: the file of each on every platform, and what an entry looks like there."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

FileFormat = Literal["json", "toml", "yaml"]
Environment = Mapping[str, str]

START_S = 60
"""How long clients that ask for it wait for the start: a laptop that wakes up is slow."""


@dataclass(frozen=True, slots=True)
class Client:
    """One MCP client."""

    id: str
    title: str
    format: FileFormat
    group: str
    """The name under which its file lists servers."""
    find_file: Callable[[Environment], Path]
    make_entry: Callable[[Sequence[str]], dict[str, Any]]
    """Makes the entry that starts a command."""


def _home() -> Path:
    return Path.home()


def _application_data(environment: Environment) -> Path:
    """Return the folder for the settings of desktop programs."""
    if sys.platform == "darwin":
        return _home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(environment.get("APPDATA") or _home() / "AppData" / "Roaming")
    return _xdg_config(environment)


def _xdg_config(environment: Environment) -> Path:
    return Path(environment.get("XDG_CONFIG_HOME") or _home() / ".config")


def _claude_desktop(environment: Environment) -> Path:
    return _application_data(environment) / "Claude" / "claude_desktop_config.json"


def _claude_code(environment: Environment) -> Path:
    return Path(environment.get("CLAUDE_CONFIG_DIR") or _home()) / ".claude.json"


def _vscode(environment: Environment) -> Path:
    return _application_data(environment) / "Code" / "User" / "mcp.json"


def _cursor(_: Environment) -> Path:
    return _home() / ".cursor" / "mcp.json"


def _codex(environment: Environment) -> Path:
    return Path(environment.get("CODEX_HOME") or _home() / ".codex") / "config.toml"


def _gemini_cli(environment: Environment) -> Path:
    return Path(environment.get("GEMINI_CLI_HOME") or _home()) / ".gemini" / "settings.json"


def _copilot_cli(environment: Environment) -> Path:
    return Path(environment.get("COPILOT_HOME") or _home() / ".copilot") / "mcp-config.json"


def _opencode(environment: Environment) -> Path:
    # It follows XDG on every platform, and reads either name.
    folder = _xdg_config(environment) / "opencode"
    commented = folder / "opencode.jsonc"
    return commented if commented.exists() and not (folder / "opencode.json").exists() else folder / "opencode.json"


def _goose(environment: Environment) -> Path:
    if sys.platform == "win32":
        return _application_data(environment) / "Block" / "goose" / "config" / "config.yaml"
    return _xdg_config(environment) / "goose" / "config.yaml"


def _plain(command: Sequence[str], **more: Any) -> dict[str, Any]:
    return {**more, "command": command[0], "args": list(command[1:])}


def _goose_entry(command: Sequence[str]) -> dict[str, Any]:
    return {
        "enabled": True,
        "type": "stdio",
        "name": "madang",
        "description": "Plans, playbooks, material and files",
        "cmd": command[0],
        "args": list(command[1:]),
        "timeout": START_S,
    }


CLIENTS = (
    Client("claude-desktop", "Claude Desktop", "json", "mcpServers", _claude_desktop, _plain),
    Client(
        "claude-code", "Claude Code", "json", "mcpServers", _claude_code, lambda command: _plain(command, type="stdio")
    ),
    Client("vscode", "VS Code", "json", "servers", _vscode, lambda command: _plain(command, type="stdio")),
    Client("cursor", "Cursor", "json", "mcpServers", _cursor, _plain),
    Client(
        "codex",
        "Codex",
        "toml",
        "mcp_servers",
        _codex,
        lambda command: {**_plain(command), "startup_timeout_sec": START_S},
    ),
    Client("gemini-cli", "Gemini CLI", "json", "mcpServers", _gemini_cli, _plain),
    Client(
        "copilot-cli",
        "Copilot CLI",
        "json",
        "mcpServers",
        _copilot_cli,
        lambda command: {**_plain(command, type="local"), "tools": ["*"]},
    ),
    Client(
        "opencode",
        "opencode",
        "json",
        "mcp",
        _opencode,
        lambda command: {"type": "local", "command": list(command), "enabled": True, "timeout": START_S * 1000},
    ),
    Client("goose", "Goose", "yaml", "extensions", _goose, _goose_entry),
)
