"""Playbooks for tests, and what is looked for in their answers."""

from __future__ import annotations

from typing import Any

from madang.core.results import Reply
from tests.asking import Asker

STEP: dict[str, Any] = {
    "stepId": "build",
    "description": "Build the wheel",
    "action": {"toolName": "execute_shell", "purpose": "make it"},
    "requiredData": ["version"],
    "outputVariable": "wheel",
}


async def given(asker: Asker, count: int) -> list[str]:
    """Keep `count` playbooks, `Goal 0` and so on; return their ids."""
    return [
        str((await asker.done("create_playbook", goal=f"Goal {number}", workflow=[])).data["playbook"]["id"])
        for number in range(count)
    ]


def goals(reply: Reply) -> list[str]:
    return [item["goal"] for item in reply.data["page"]["items"]]


def document(reply: Reply) -> str:
    """Return the whole HTML page of an answer."""
    assert reply.page is not None
    return reply.page.document
