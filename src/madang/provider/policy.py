"""The policy: whether a call that its assistant may make is made now, or only after the person has agreed, or never."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from madang.core.calls import Call, PathFilter
from madang.core.errors import Denied, ToolError
from madang.core.phrases import Phrase, say
from madang.core.tools import Tool
from madang.core.trust import Origin

Verdict = Literal["allow", "ask", "deny"]


class ApprovalRequired(ToolError):
    """The person has to agree first. No tool call decides that: a run opens a pause for it, others are refused."""

    code = "approval_required"


@dataclass(frozen=True, slots=True)
class Decision:
    """What the policy says to one call, and why, in words for whoever called."""

    verdict: Verdict
    reason: Phrase | None = None


ALLOWED = Decision("allow")


class Policy(Protocol):
    """Decides over calls, between the assistant's grant and the tool."""

    async def decide(
        self, call: Call, tool: Tool, arguments: Mapping[str, Any], shown: Sequence[Origin] = ()
    ) -> Decision:
        """Decide over one call. `shown` is where untrusted words came from that no row of the session tells yet."""
        ...

    async def find_hidden(self, call: Call, tool: Tool, arguments: Mapping[str, Any]) -> PathFilter | None:
        """Return which paths a call leaves out that is made now; None if none."""
        ...


class AllowAll:
    """Allows every call: the policy of doors behind which another program asks its person."""

    async def decide(
        self, call: Call, tool: Tool, arguments: Mapping[str, Any], shown: Sequence[Origin] = ()
    ) -> Decision:
        return ALLOWED

    async def find_hidden(self, call: Call, tool: Tool, arguments: Mapping[str, Any]) -> PathFilter | None:
        return None


def check_audience(call: Call, tool: Tool) -> Decision:
    """Keep our own model from the person's tools: it would answer its own questions.

    Behind MCP we cannot know who calls, so there the audience only decides which tools are listed.
    """
    if tool.only_in_runs and call.actor != "model":
        return Decision("deny", say("'{tool}' is for the models of Madang's own runs.", tool=tool.name))
    if tool.audience == "panel" and call.actor == "foreign":
        return Decision("deny", say("'{tool}' is for the panels of Madang's own chat.", tool=tool.name))
    if tool.audience != "model" and call.actor == "model":
        return Decision("deny", say("'{tool}' is for the person, not for the model.", tool=tool.name))
    return ALLOWED


def is_offered(call: Call, tool: Tool) -> bool:
    """Tell whether the reader of a call's texts can call a tool: one rule for what is listed and what hints name.

    Behind pages the person's tools are for buttons. Where there are none, the model is the one who answers a pause.
    """
    if tool.only_in_runs and call.actor != "model":
        return False
    match call.actor:
        case "model":
            return tool.audience == "model" and tool.in_runs
        case "foreign":
            return tool.audience == "model" or (
                call.pages == "off" and tool.audience == "person" and tool.answers_pause
            )
        case _:
            return tool.audience != "panel" or call.door == "host"


def refusal(tool: Tool, decision: Decision) -> ToolError:
    """Return the error of a call that was not allowed."""
    if decision.verdict == "ask":
        return ApprovalRequired(
            decision.reason or say("'{tool}' needs the person's approval first.", tool=tool.name),
            hint=say("Ask the person to approve it, and call again then."),
        )
    return Denied(
        decision.reason or say("'{tool}' is not allowed here.", tool=tool.name),
        hint=say("Go on without it, or ask the person what they want instead."),
    )
