"""Approval rules: they decide what the person would be asked, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from madang.agent.found_tools import USE_TOOL
from madang.agent.policy import AgentPolicy
from madang.agent.rules import AGENT_TOOLS, ApprovalRules, parse_rules
from madang.agent.service import AgentService, AgentTools
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.tools import Tool
from madang.core.trust import Origin
from madang.database.sqlite.database import SqliteDatabase
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from tests.agent.outside import Outside

MODEL = Call(AssistantId("a"), SessionId("s"), actor="model", door="agent", run_id="r")


@dataclass
class FakeSession:
    is_tainted: bool
    origins: tuple[Origin, ...] = ()


@dataclass
class FakeSessions:
    is_tainted: bool = False

    async def get(self, call: Call) -> Any:
        return FakeSession(self.is_tainted)


class NoDecisions:
    async def is_allowed(self, call: Call, tool: str) -> bool:
        return False


class NoAssistants:
    async def get(self, user_id: UserId, assistant_id: AssistantId) -> None:
        return None


def tool(name: str) -> Tool:
    provider = Provider(AuditLog(SqliteDatabase(None)))
    provider.register(Outside())
    found = provider.find_tool(name)
    assert found is not None
    return found


ALLOW, DENY = ApprovalRules(allow=frozenset({"erase", "send"})), ApprovalRules(deny=frozenset({"erase", "fetch"}))
UNTRUSTED = ApprovalRules(allow_untrusted=frozenset({"erase", "send"}))


@pytest.mark.parametrize(
    ("name", "rules", "is_tainted", "verdict"),
    [
        ("erase", ApprovalRules(), False, "ask"),
        ("erase", ALLOW, False, "allow"),
        ("erase", ALLOW, True, "ask"),
        ("erase", UNTRUSTED, True, "allow"),
        ("erase", UNTRUSTED, False, "allow"),
        ("erase", DENY, False, "deny"),
        ("fetch", DENY, False, "deny"),
        ("fetch", ApprovalRules(), True, "allow"),
        ("send", ALLOW, False, "allow"),
        ("send", ALLOW, True, "ask"),
        ("send", UNTRUSTED, True, "allow"),
    ],
)
async def test_what_rules_decide(name: str, rules: ApprovalRules, is_tainted: bool, verdict: str) -> None:
    policy = AgentPolicy(rules)
    policy.connect(NoDecisions(), FakeSessions(is_tainted), NoAssistants(), lambda name: "")

    assert (await policy.decide(MODEL, tool(name), {})).verdict == verdict


async def test_rules_are_about_the_model_alone() -> None:
    policy = AgentPolicy(ApprovalRules(deny=frozenset({"send"})))
    policy.connect(NoDecisions(), FakeSessions(), NoAssistants(), lambda name: "")

    person = Call(AssistantId("a"), SessionId("s"), actor="person", door="command")
    assert (await policy.decide(person, tool("send"), {})).verdict == "allow"


def test_tools_of_other_servers_are_taken_as_they_are_named() -> None:
    rules = parse_rules(b'allow = ["github__delete_issue", "ui__prompt_user"]', "r", {"prompt_user"})

    assert rules == ApprovalRules(allow=frozenset({"github__delete_issue", "prompt_user"}))


def test_the_tools_of_the_agent_itself_can_be_named_but_not_the_one_that_stands_for_others() -> None:
    nothing: Any = None

    tools = AgentService(AgentTools(nothing, nothing, nothing, nothing, nothing)).tools
    assert {tool.name for tool in tools} - AGENT_TOOLS == {USE_TOOL}
    assert {tool.name for tool in tools} > AGENT_TOOLS
