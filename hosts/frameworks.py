"""The frameworks: what is installed for each, and the adapter that plays the script through it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hosts.verdicts import FAILING_STEPS, TEXT_AND_DATA, TOO_LARGE, TWICE, Limit


@dataclass(frozen=True, slots=True)
class Framework:
    """One framework; `module` is its adapter in `hosts.adapters`, which runs in the framework's own environment."""

    title: str
    module: str
    version: str
    requirements: Sequence[str]
    limits: Sequence[Limit] = ()


_UNNAMED = "sends the name of the Python SDK, as programs do that read the data"

FRAMEWORKS = (
    Framework("LangChain adapters", "langchain", "0.3.2", ["langchain-mcp-adapters==0.3.2"]),
    Framework("pydantic-ai", "pydantic_ai", "2.66.0", ["pydantic-ai-slim[mcp]==2.66.0"], [Limit(TOO_LARGE, _UNNAMED)]),
    Framework("openai-agents", "openai_agents", "0.24.0", ["openai-agents==0.24.0"]),
    Framework(
        "LlamaIndex",
        "llama_index",
        "0.6.0",
        ["llama-index-tools-mcp==0.6.0"],
        [Limit(TEXT_AND_DATA, _UNNAMED), Limit(TOO_LARGE, _UNNAMED)],
    ),
    Framework("google-adk", "google_adk", "2.13.0", ["google-adk[mcp]==2.13.0"]),
    Framework("strands", "strands_agents", "1.62.0", ["strands-agents==1.62.0"]),
    Framework(
        "mcp-use",
        "mcp_use_agents",
        "1.7.1",
        ["mcp-use==1.7.1"],
        [Limit(TWICE, "adds a traceback to an error", FAILING_STEPS)],
    ),
    # Its MCP client imports a name that version 2 of the SDK no longer has.
    Framework("smolagents", "smol_agents", "1.26.0", ["smolagents[mcp]==1.26.0", "mcp<2"]),
)
