"""The agents: where each comes from, how its model is pointed at ours, and how Madang is configured in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hosts.script import SERVER
from hosts.verdicts import FAILING_STEPS, TWICE, Limit

TASK = "Play the script."
KEY = "not-a-key"
START_MS = 60_000


@dataclass(frozen=True, slots=True)
class Connection:
    """How a host reaches Madang: a command it starts, or an address with a token."""

    command: Sequence[str] = ()
    url: str = ""
    token: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def entry(self, *, url_key: str = "url", **more: Any) -> dict[str, Any]:
        """Return the configuration that most hosts share; `url_key` is the field an HTTP address goes into."""
        if self.url:
            return {url_key: self.url, "headers": self.headers, **more}
        return {"command": self.command[0], "args": list(self.command[1:]), **more}


@dataclass(frozen=True, slots=True)
class Place:
    """What one run of a host has for itself."""

    home: Path
    work: Path
    model: str
    """The base address of the scripted model."""
    madang: Connection

    def write(self, name: str, content: str | Mapping[str, Any]) -> Path:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2))
        return path


@dataclass(frozen=True, slots=True)
class Launch:
    """The arguments and variables a host is started with, and commands of its own to run before."""

    arguments: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    before: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """How a person starts a host that draws forms, and the keys that choose the first option there."""

    configure: Callable[[Place], Launch]
    keys: Sequence[str]


@dataclass(frozen=True, slots=True)
class Host:
    """One agent. Without a package it is used when its command is on the PATH."""

    title: str
    command: str
    configure: Callable[[Place], Launch]
    package: str = ""
    version: str = ""
    limits: Sequence[Limit] = ()
    form: Form | None = None


def _claude_code(place: Place) -> Launch:
    more = {"type": "http"} if place.madang.url else {}
    config = place.write("mcp.json", {"mcpServers": {SERVER: place.madang.entry(**more)}})
    options = ["--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", f"mcp__{SERVER}"]
    return Launch(
        ["-p", TASK, *options, "--output-format", "stream-json", "--verbose"],
        {
            "ANTHROPIC_BASE_URL": place.model,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
            "MCP_TIMEOUT": str(START_MS),
        },
    )


def _claude_code_terminal(place: Place) -> Launch:
    launch = _claude_code(place)
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    answered = {
        "hasCompletedOnboarding": True,
        "customApiKeyResponses": {"approved": [KEY], "rejected": []},
        "projects": {str(place.work): trusted},
    }
    place.write(".claude.json", answered)
    return Launch([TASK, *launch.arguments[2:-3]], launch.variables)


def _codex(place: Place) -> Launch:
    if place.madang.url:
        server = f'url = "{place.madang.url}"\nbearer_token_env_var = "MADANG_TOKEN"\n'
    else:
        server = f"command = {json.dumps(place.madang.command[0])}\nargs = {json.dumps(place.madang.command[1:])}\n"
    place.write(
        ".codex/config.toml",
        'model = "scripted"\nmodel_provider = "scripted"\napproval_policy = "never"\n'
        'sandbox_mode = "danger-full-access"\n\n'
        f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{place.model}/v1"\nwire_api = "responses"\n'
        'env_key = "MODEL_KEY"\n\n'
        f"[mcp_servers.{SERVER}]\n{server}startup_timeout_sec = {START_MS // 1000}\n",
    )
    return Launch(["exec", "--skip-git-repo-check", TASK], {"MODEL_KEY": KEY, "MADANG_TOKEN": place.madang.token})


def _gemini_cli(place: Place) -> Launch:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "mcpServers": {SERVER: place.madang.entry(url_key="httpUrl", trust=True, timeout=START_MS)},
    }
    place.write(".gemini/settings.json", settings)
    variables = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": place.model, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return Launch(["-y", "-m", "gemini-2.5-flash", "-p", TASK], variables)


def _opencode(place: Place) -> Launch:
    server: dict[str, Any] = {"enabled": True, "timeout": START_MS}
    if place.madang.url:
        server |= {"type": "remote", "url": place.madang.url, "headers": place.madang.headers, "oauth": False}
    else:
        server |= {"type": "local", "command": list(place.madang.command)}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{place.model}/v1", "apiKey": KEY},
        "models": {"scripted": {"name": "scripted", "tool_call": True}},
    }
    config = {
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "mcp": {SERVER: server},
        "permission": {"*": "allow"},
        "autoupdate": False,
        "share": "disabled",
    }
    place.write(".config/opencode/opencode.json", config)
    return Launch(["run", TASK], {"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"})


def _qwen_code(place: Place) -> Launch:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
        "mcpServers": {SERVER: place.madang.entry(url_key="httpUrl", trust=True, timeout=START_MS)},
    }
    place.write(".qwen/settings.json", settings)
    return Launch(["-y", "-p", TASK], _openai_variables(place))


def _copilot_cli(place: Place) -> Launch:
    kind = "http" if place.madang.url else "local"
    servers = {SERVER: place.madang.entry(type=kind, tools=["*"])}
    place.write(".copilot/mcp-config.json", {"mcpServers": servers})
    return Launch(
        ["-p", TASK, "--allow-all-tools", "--disable-builtin-mcps"],
        {
            "COPILOT_PROVIDER_BASE_URL": f"{place.model}/v1",
            "COPILOT_PROVIDER_API_KEY": KEY,
            "COPILOT_MODEL": "gpt-5.4",
            "COPILOT_OFFLINE": "true",
        },
    )


def _copilot_cli_terminal(place: Place) -> Launch:
    launch = _copilot_cli(place)
    place.write(".copilot/config.json", {"trusted_folders": [str(place.work)], "trustedFolders": [str(place.work)]})
    return Launch(["-i", *launch.arguments[1:]], launch.variables)


def _cline(place: Place) -> Launch:
    more = {"type": "streamableHttp"} if place.madang.url else {}
    servers = {"mcpServers": {SERVER: place.madang.entry(timeout=START_MS // 1000, **more)}}
    place.write(".cline/data/settings/cline_mcp_settings.json", servers)
    sign_in = ["auth", "-p", "openai", "-k", KEY, "-m", "scripted", "-b", f"{place.model}/v1"]
    return Launch(["-P", "openai", "-m", "scripted", "-k", KEY, "--json", TASK], before=[sign_in])


def _continue_cli(place: Place) -> Launch:
    server: dict[str, Any] = {"name": SERVER, "connectionTimeout": START_MS}
    if place.madang.url:
        server |= {"type": "streamable-http", "url": place.madang.url}
        server["requestOptions"] = {"headers": place.madang.headers}
    else:
        server |= {"command": place.madang.command[0], "args": list(place.madang.command[1:])}
    model = {
        "name": "scripted",
        "provider": "openai",
        "model": "scripted",
        "apiBase": f"{place.model}/v1",
        "apiKey": KEY,
        "roles": ["chat"],
        "capabilities": ["tool_use"],
    }
    # JSON is YAML too.
    settings = {"name": "hosts", "version": "1.0.0", "schema": "v1", "models": [model], "mcpServers": [server]}
    config = place.write("config.yaml", settings)
    return Launch(["--config", str(config), "--auto", "-p", TASK], {"CONTINUE_TELEMETRY_ENABLED": "0"})


def _openai_variables(place: Place) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{place.model}/v1", "OPENAI_API_KEY": KEY, "OPENAI_MODEL": "scripted"}


ERRORS_TWICE = Limit(TWICE, "puts an error into its message twice", FAILING_STEPS)

_RIGHT, _ENTER = "\x1b[C", "\r"

HOSTS = (
    Host("Claude Code", "claude", _claude_code, form=Form(_claude_code_terminal, [_RIGHT, _ENTER, _ENTER])),
    Host("Codex", "codex", _codex, "@openai/codex", "0.166.0"),
    Host("Gemini CLI", "gemini", _gemini_cli, "@google/gemini-cli", "0.61.0"),
    Host("opencode", "opencode", _opencode, "opencode-ai", "1.18.33"),
    Host("Qwen Code", "qwen", _qwen_code, "@qwen-code/qwen-code", "0.24.4", [ERRORS_TWICE]),
    Host(
        "Copilot CLI", "copilot", _copilot_cli, "@github/copilot", "1.0.102", form=Form(_copilot_cli_terminal, [_ENTER])
    ),
    Host("Cline", "cline", _cline, "cline", "3.0.65"),
    Host("Continue", "cn", _continue_cli, "@continuedev/cli", "1.5.47"),
)
