"""What each client is given: one table, by what was seen in the programs themselves.

A row is added or changed by what a program really did with our results, with the version it was seen in. Clients
without a row are taken at their word: pages if they declare MCP Apps, and both halves of every result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from madang.core.calls import PageMode
from madang.server.mapping import APP_MIME_TYPE, UI_EXTENSION

ModelReads = Literal["text", "data", "both"]
"""What a client gives its model of a result that has a text and structured content."""


@dataclass(frozen=True, slots=True)
class KnownClient:
    """A program we know by the name it sends, which begins with `prefix`.

    `pages` overrides what it declares; `draws_forms` says that a person was seen to get its elicitation form.
    """

    prefix: str
    seen_in: str
    model_reads: ModelReads = "text"
    pages: PageMode | None = None
    draws_forms: bool = False


KNOWN_CLIENTS: Sequence[KnownClient] = (
    # Replaces the text by the JSON of the structured content, if there is any; of errors it passes the text. Draws
    # forms at a terminal; headless it cancels them at once.
    KnownClient("claude-code", "Claude Code 2.1.325", model_reads="data", draws_forms=True),
    # The same, for errors too.
    KnownClient("codex-mcp-client", "Codex CLI 0.166.0", model_reads="data"),
    # The text of results, but text and structured content of errors.
    KnownClient("gemini-cli-mcp-client", "Gemini CLI 0.61.0", model_reads="both"),
    KnownClient("opencode", "opencode 1.18.33"),
    # All parts one after the other; HTML for the person too, as text. Draws forms at a terminal; headless it declines
    # them at once.
    KnownClient("copilot-cli", "Copilot CLI 1.0.102", model_reads="both", draws_forms=True),
    KnownClient("kimi-code", "Kimi Code 2.1.0", model_reads="both"),
    # The whole result as JSON, with the middle cut out of it at 8 KB.
    KnownClient("@cline/core", "Cline CLI 3.0.65", model_reads="both"),
    # `content` as JSON.
    KnownClient("continue-cli-client", "Continue CLI 1.5.47"),
    # Ends in the name that the person gave the server. 0.24 declares MCP Apps, and shows no page in a terminal.
    KnownClient("qwen-cli-mcp-client", "Qwen Code 0.15.10 and 0.24.4", model_reads="both", pages="off"),
    # The whole result as a dict: text and structured content.
    KnownClient("google-adk", "google-adk 2.13.0", model_reads="both"),
    # The default of the Python SDK, so of LangChain and other frameworks, and of programs that read the data.
    KnownClient("mcp", "Python SDK 1.30.0"),
    KnownClient("visual studio code", "Visual Studio Code", draws_forms=True),
)

UNKNOWN_CLIENT = KnownClient("", "")


@dataclass(frozen=True, slots=True)
class Delivery:
    """How results reach one client: its pages, and whether structured content goes with the text."""

    pages: PageMode
    sends_data: bool


def known_client(session: Any) -> KnownClient:
    """Return the row of the client behind an MCP session: the one with the longest prefix of its name."""
    params = session.client_params
    name = params.client_info.name.lower() if params is not None else ""
    rows = [client for client in KNOWN_CLIENTS if name.startswith(client.prefix)]
    return max(rows, key=lambda client: len(client.prefix), default=UNKNOWN_CLIENT)


def delivery(session: Any, ui: PageMode | None = None) -> Delivery:
    """Return how results reach the client behind an MCP session; `ui` overrides its pages.

    A client whose model reads the data, or both, gets neither output schemas nor structured content, so that the text
    arrives once and word for word.
    """
    client = known_client(session)
    pages = ui or client.pages or ("linked" if _declares_pages(session) else "off")
    return Delivery(pages, sends_data=client.model_reads == "text")


def elicits(session: Any, *, always: bool) -> bool:
    """Tell whether questions go through the client's own forms: where it declares them, and draws them if not `always`.

    Others declare elicitation and draw nothing, and a question would be lost there: for them it is asked on our page
    or in the chat.
    """
    capabilities = session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return False
    return always or known_client(session).draws_forms


def _declares_pages(session: Any) -> bool:
    capabilities = session.client_capabilities
    extensions = (capabilities.extensions if capabilities else None) or {}
    settings = extensions.get(UI_EXTENSION)
    mime_types = settings.get("mimeTypes") if isinstance(settings, dict) else None
    return isinstance(mime_types, list) and APP_MIME_TYPE in mime_types
