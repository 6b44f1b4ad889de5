"""What the tools of the playbook service promise."""

from __future__ import annotations

import json

import yaml

from tests.asking import Asker
from tests.promises import Arguments, Ids, Promise, ServicePromises

STEP = {"description": "Look", "action": {"toolName": "grep", "purpose": "find"}, "requiredData": ["a"]}
GOAL = "Ship it 배포"
DOCUMENT = "madangPlaybooks: 1\nplaybooks:\n- goal: New\n  workflow: []\n"
UNKNOWN = {"id": "nothing"}


async def prepare(asker: Asker) -> Ids:
    playbook = (await asker.done("create_playbook", goal=GOAL, workflow=[STEP])).data["playbook"]["id"]
    await asker.done("select_playbook", id=playbook)
    deleted = (await asker.done("create_playbook", goal="Not needed", workflow=[STEP])).data["playbook"]["id"]
    await asker.done("delete_playbook", id=deleted)
    return {"playbook": playbook, "deleted": deleted}


async def fill(asker: Asker) -> Ids:
    step = {**STEP, "description": "가" * 1000, "requiredData": ["나" * 200] * 20}
    criteria = {"description": "기" * 4000, "requiredArtifacts": ["물" * 500] * 20}
    created = await asker.done(
        "create_playbook", goal="목" * 2000, initialCommand="명" * 4000, workflow=[step] * 5, successCriteria=criteria
    )
    playbook = created.data["playbook"]["id"]
    await asker.done("select_playbook", id=playbook)
    deleted = (await asker.done("create_playbook", goal="삭" * 2000, workflow=[step])).data["playbook"]["id"]
    await asker.done("delete_playbook", id=deleted)
    return {"playbook": playbook, "deleted": deleted}


async def bring_in(asker: Asker, text: str) -> list[tuple[str, Arguments]]:
    """Import documents in either format with `text` in every field of a playbook."""
    step = {"description": text, "action": {"toolName": text, "purpose": text}, "requiredData": [text]}
    criteria = {"description": text, "requiredArtifacts": [text]}
    playbook = {"goal": text, "initialCommand": text, "workflow": [step], "successCriteria": criteria}
    document = {"madangPlaybooks": 1, "playbooks": [playbook]}
    imported = [await asker.ask("import_playbooks", document=dump(document)) for dump in (json.dumps, yaml.safe_dump)]
    ids = [id for reply in imported if not reply.is_error for id in reply.data["ids"]]
    # What cannot be imported is told of, with names and values.
    wrong = [{"madangPlaybooks": 1, text: text}, {"madangPlaybooks": text}, {"madangPlaybooks": 1, "playbooks": [text]}]
    wrong += [{"madangPlaybooks": 1, "playbooks": [{**playbook, text: text}]}]
    return [
        *(("import_playbooks", {"document": dump(part)}) for part in wrong for dump in (json.dumps, yaml.safe_dump)),
        ("import_playbooks", {"document": text}),
        ("import_playbooks", {"document": f"{text}: [{text}"}),
        *((tool, {"id": id}) for tool in ("get_playbook", "select_playbook") for id in ids),
        ("list_playbooks", {}),
        ("show_playbooks", {}),
        ("list_playbook_runs", {}),
        *(("export_playbooks", {"format": format}) for format in ("yaml", "json")),
        *(("delete_playbook", {"id": id}) for id in ids),
    ]


def by_id(ids: Ids) -> Arguments:
    return {"id": ids["playbook"]}


def by_deleted(ids: Ids) -> Arguments:
    return {"id": ids["deleted"]}


PROMISES = ServicePromises(
    {
        "create_playbook": Promise(
            "write", {"goal": GOAL, "workflow": [STEP], "successCriteria": {"description": "done"}}
        ),
        "list_playbooks": Promise("read", {}),
        "show_playbooks": Promise("write", {"pageSize": 5}, shows_page=True, pauses=True),
        "get_playbook_page": Promise("read", {"page": 1}, audience="person", shows_page=True, pauses=True),
        "get_playbook": Promise("read", by_id, refused=UNKNOWN),
        "select_playbook": Promise("write", by_id, refused=UNKNOWN),
        "update_playbook": Promise(
            "write",
            lambda ids: {**by_id(ids), "playbook": {"initialCommand": "go"}},
            refused={**UNKNOWN, "playbook": {}},
        ),
        "delete_playbook": Promise("destroy", by_id, refused=UNKNOWN),
        "restore_playbook": Promise("write", by_deleted, refused=UNKNOWN, audience="person"),
        "list_playbook_runs": Promise("read", {}),
        "export_playbooks": Promise("read", {}),
        "import_playbooks": Promise("write", {"document": DOCUMENT}),
    },
    prepare,
    fill,
    bring_in,
    internal_ids=frozenset({"agentId", "stepId"}),
)
