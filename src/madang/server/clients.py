"""How a client shows pages, by the capabilities it declares and by its name."""

from __future__ import annotations

from typing import Any

from madang.core.calls import PageMode
from madang.server.mapping import APP_MIME_TYPE, UI_EXTENSION

# Command-line agents put all of `content` into the model's context: HTML there would only cost tokens.
SHOWS_NO_PAGES = frozenset(
    {
        "aider",
        "claude-code",
        "codex-mcp-client",
        "cline",
        "crush",
        "gemini-cli-mcp-client",
        "goose-cli",
        "madang-python",  # our own client: a program reads what comes back
        "opencode",
        "qwen-code",
    }
)


def page_mode(session: Any) -> PageMode:
    """Return how the client behind an MCP session shows pages."""
    capabilities = session.client_capabilities
    extensions = (capabilities.extensions if capabilities else None) or {}
    settings = extensions.get(UI_EXTENSION)
    mime_types = settings.get("mimeTypes") if isinstance(settings, dict) else None
    if isinstance(mime_types, list) and APP_MIME_TYPE in mime_types:
        return "linked"
    client = session.client_params
    if client is not None and client.client_info.name.lower() in SHOWS_NO_PAGES:
        return "off"
    return "embedded"
