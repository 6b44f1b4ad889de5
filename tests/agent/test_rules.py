"""Approval rules: they decide what the person would be asked, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from madang.agent.policy import AgentPolicy
from madang.agent.rules import ApprovalRules, parse_rules
from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.core.tools import Tool
from madang.provider.provider import Provider
from madang.services import builtin_services
from madang.storage.audit import AuditLog
from madang.storage.folders import Folders
from madang.storage.sqlite import SqliteDatabase

MODEL = Call(AssistantId("a"), SessionId("s"), actor="model", door="agent", run_id="r")


@dataclass
class FakeSession:
    is_tainted: bool


@dataclass
class FakeSessions:
    is_tainted: bool = False

    async def get(self, call: Call) -> Any:
        return FakeSession(self.is_tainted)


class NoDecisions:
    async def is_allowed(self, call: Call, tool: str) -> bool:
        return False


def tool(name: str) -> Tool:
    database = SqliteDatabase(None)
    provider = Provider(AuditLog(database))
    for service in builtin_services(database, Folders(Path("nowhere"))):
        provider.register(service)
    found = provider.find_tool(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "rules", "is_tainted", "verdict"),
    [
        ("delete_playbook", ApprovalRules(), False, "ask"),
        ("delete_playbook", ApprovalRules(allow=frozenset({"delete_playbook"})), False, "allow"),
        ("delete_playbook", ApprovalRules(allow=frozenset({"delete_playbook"})), True, "ask"),
        ("delete_playbook", ApprovalRules(deny=frozenset({"delete_playbook"})), False, "deny"),
        ("add_todo", ApprovalRules(deny=frozenset({"add_todo"})), False, "deny"),
        ("list_playbooks", ApprovalRules(deny=frozenset({"list_playbooks"})), False, "deny"),
        ("list_playbooks", ApprovalRules(), True, "allow"),
    ],
)
async def test_what_rules_decide(name: str, rules: ApprovalRules, is_tainted: bool, verdict: str) -> None:
    policy = AgentPolicy(rules)
    policy.connect(NoDecisions(), FakeSessions(is_tainted))

    assert (await policy.decide(MODEL, tool(name), {})).verdict == verdict


async def test_rules_are_about_the_model_alone() -> None:
    policy = AgentPolicy(ApprovalRules(deny=frozenset({"add_todo"})))
    policy.connect(NoDecisions(), FakeSessions())

    person = Call(AssistantId("a"), SessionId("s"), actor="person", door="command")
    assert (await policy.decide(person, tool("add_todo"), {})).verdict == "allow"


def test_tools_of_other_servers_are_taken_as_they_are_named() -> None:
    rules = parse_rules(b'allow = ["github__delete_issue", "ui__prompt_user"]', "r", {"prompt_user"})

    assert rules == ApprovalRules(allow=frozenset({"github__delete_issue", "prompt_user"}))
