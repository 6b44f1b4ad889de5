"""Playbooks as rows, there and back."""

from __future__ import annotations

from pydantic import TypeAdapter

from madang.core.calls import Call
from madang.core.ids import new_id
from madang.database.port import Row
from madang.services.playbook.domain import (
    Playbook,
    PlaybookContent,
    Step,
    SuccessCriteria,
    search_text,
    sort_key,
    with_step_ids,
)
from madang.system.clock import timestamp

_STEPS = TypeAdapter(list[Step])
WHOLE_COLUMNS = "goal, initial_command, workflow, success_criteria, created_at, updated_at, version"


def parse_playbook(id: str, agent_id: str, row: Row) -> Playbook:
    goal, initial_command, workflow, success_criteria, created_at, updated_at, version = row
    return Playbook.model_construct(
        id=id,
        agent_id=agent_id,
        goal=goal,
        initial_command=initial_command,
        workflow=_STEPS.validate_json(workflow),
        success_criteria=SuccessCriteria.model_validate_json(success_criteria),
        created_at=created_at,
        updated_at=updated_at,
        version=version,
    )


def new_playbook(call: Call, content: PlaybookContent) -> Playbook:
    id, now = new_id(), timestamp()
    return Playbook(
        id=id,
        agent_id=call.assistant,
        goal=content.goal,
        initial_command=content.initial_command,
        workflow=with_step_ids(id, content.workflow),
        success_criteria=content.success_criteria,
        created_at=now,
        updated_at=now,
        version=1,
    )


def columns_of(playbook: Playbook, content: PlaybookContent) -> tuple[str | int, ...]:
    return (
        playbook.goal,
        playbook.initial_command,
        len(playbook.workflow),
        sort_key(playbook.goal),
        search_text(content),
        _STEPS.dump_json(playbook.workflow).decode(),
        playbook.success_criteria.model_dump_json(),
    )
