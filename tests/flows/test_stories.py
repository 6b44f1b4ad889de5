"""Whole stories through every door: what a person and an agent do with Madang from beginning to end."""

from __future__ import annotations

import re

from tests.doors import Doors

STEP = {
    "description": "Run the tests",
    "action": {"toolName": "execute_shell", "purpose": "see that all is well"},
    "requiredData": ["branch"],
    "outputVariable": "report",
}


async def test_a_playbook_is_kept_found_and_selected(doors: Doors) -> None:
    async with doors.open(assistant="release") as door:
        created = await door.done("create_playbook", goal="Ship it", initialCommand="ship", workflow=[STEP])
        id = created.data["playbook"]["id"]
        listed = await door.done("list_playbooks")
        read = await door.done("get_playbook", id=id)
        selected = await door.done("select_playbook", id=id)
        runs = await door.done("list_playbook_runs")

    assert f"ID: {id}" in created.text
    assert f'1. id:{id} goal:"Ship it" initial:"ship" steps:1 createdAt:' in listed.text
    assert (listed.page, listed.pause) == ("", None)
    assert read.data["playbook"] == selected.data["playbook"]
    assert read.data["playbook"] == created.data["playbook"]
    assert selected.text.startswith(f'[select_playbook] Playbook "Ship it" (ID: {id}) has been selected for execution.')
    assert [run["playbookId"] for run in runs.data["page"]["items"]] == [id]


async def test_a_plan_survives_a_restart(doors: Doors) -> None:
    async with doors.open(session="monday") as door:
        await door.done("create_goal", goal="Move house")
        await door.done("add_todo", name="Find boxes")
        await door.done("add_todo", name="Call a van")
        await door.done("mark_todo", id=1, summary="twelve boxes")
        before = await door.done("add_observation", observation="The lift is broken")

    async with doors.open(session="monday") as door:
        after = await door.done("get_current_state")
        added = await door.done("add_todo", name="Tell the neighbours")
    async with doors.open(session="tuesday") as door:
        other = await door.done("get_current_state")

    state = {key: after.data[key] for key in ("goal", "lastClearedGoal", "todos", "observations")}
    assert state == {key: before.data[key] for key in state}
    assert state == {
        "goal": "Move house",
        "lastClearedGoal": "",
        "todos": [
            {"id": 1, "name": "Find boxes", "status": "completed", "summary": "twelve boxes"},
            {"id": 2, "name": "Call a van", "status": "pending", "summary": ""},
        ],
        "observations": ["The lift is broken"],
    }
    assert added.data["todo"]["id"] == 3
    assert other.data["goal"] == ""


async def test_the_person_turns_the_page_and_deletes_and_the_list_is_right_afterwards(doors: Doors) -> None:
    async with doors.open() as door:
        ids = [
            (await door.done("create_playbook", goal=f"Goal {number}", workflow=[])).data["playbook"]["id"]
            for number in range(5)
        ]
        shown = await door.done("show_playbooks", pageSize=2)
        turned = await door.done("get_playbook_page", page=3, pageSize=2)
        deleted = await door.done("delete_playbook", id=ids[4])
        refreshed = await door.done("get_playbook_page", page=3, pageSize=2)
        listed = await door.done("list_playbooks")

    assert shown.pause == turned.pause == refreshed.pause == "choice"
    assert "Page 1 of 3 (5 total)" in shown.page
    assert "Page 3 of 3 (5 total)" in turned.page
    assert _buttons(turned.page) == [ids[4]]
    assert (deleted.data["success"], deleted.data["id"]) == (True, ids[4])
    assert (deleted.page, deleted.pause) == ("", None)
    assert "Page 2 of 2 (4 total)" in refreshed.page
    assert _buttons(refreshed.page) == ids[2:4]
    assert [item["id"] for item in listed.data["page"]["items"]] == ids[:4]


async def test_after_the_last_playbook_is_deleted_nothing_can_be_picked_and_nothing_pauses(quick_doors: Doors) -> None:
    async with quick_doors.open() as door:
        created = await door.done("create_playbook", goal="The only one", workflow=[])
        await door.done("show_playbooks")
        await door.done("delete_playbook", id=created.data["playbook"]["id"])
        turned = await door.done("get_playbook_page", page=1)

    assert turned.text.startswith("[get_playbook_page] No playbooks found for agent default.")
    assert "select-pb-btn" not in turned.page
    assert (turned.pause, turned.content) == (None, ("text",))


async def test_a_portable_document_goes_from_one_assistant_to_another_byte_for_byte(quick_doors: Doors) -> None:
    goal = '배포 🚀 "quoted"\n- not: a list'
    async with quick_doors.open(assistant="one") as door:
        await door.done("create_playbook", goal=goal, initialCommand="  yes ", workflow=[STEP])
        exported = await door.done("export_playbooks")
    async with quick_doors.open(assistant="two") as door:
        await door.done("import_playbooks", document=exported.data["document"])
        again = await door.done("export_playbooks")
        listed = await door.done("list_playbooks")

    assert again.data["document"] == exported.data["document"]
    assert [item["goal"] for item in listed.data["page"]["items"]] == [goal]


async def test_mistakes_are_answered_with_what_to_do_and_change_nothing(quick_doors: Doors) -> None:
    async with quick_doors.open(assistant="one") as door:
        created = await door.done("create_playbook", goal="Mine", workflow=[])
        id = created.data["playbook"]["id"]
        stale = await door.call("update_playbook", id=id, playbook={"goal": "New"}, expectedVersion=7)
        wrong = await door.call("list_playbooks", page=0)
        past = await door.call("list_playbooks", page=9, pageSize=10)
        missing = await door.call("get_playbook", id="nothing")
        kept = await door.done("get_playbook", id=id)
    async with quick_doors.open(assistant="two") as door:
        foreign = await door.call("delete_playbook", id=id)

    assert [outcome.code for outcome in (stale, wrong, past, missing, foreign)] == [
        "conflict",
        "invalid_arguments",
        "out_of_range",
        "not_found",
        "denied",
    ]
    assert wrong.text.startswith("[list_playbooks] Error: page: must be at least 1.\nHint: ")
    assert past.text.startswith("[list_playbooks] Error: Page 9 does not exist: there is only page 1 (playbooks: 1).")
    assert missing.text.startswith("[get_playbook] Error: Playbook nothing not found.\nHint: ")
    assert f"Playbook {id} does not belong to the current assistant (two)." in foreign.text
    assert kept.data["playbook"] == created.data["playbook"]


async def test_two_processes_on_one_data_folder_see_each_others_changes(doors: Doors) -> None:
    async with doors.open() as one, doors.open() as two:
        created = await one.done("create_playbook", goal="From one", workflow=[])
        id = created.data["playbook"]["id"]
        await two.done("update_playbook", id=id, playbook={"goal": "Changed by two"})
        read = await one.done("get_playbook", id=id)
        await one.done("add_todo", name="first")
        await two.done("add_todo", name="second")
        plan = await one.done("get_current_state")
        await one.done("delete_playbook", id=id)
        listed = await two.done("list_playbooks")

    assert read.data["playbook"]["goal"] == "Changed by two"
    assert read.data["playbook"]["version"] == 2
    assert [todo["name"] for todo in plan.data["todos"]] == ["first", "second"]
    assert listed.data["page"]["totalItems"] == 0


async def test_korean_texts_keep_names_and_ids(doors: Doors) -> None:
    async with doors.open(locale="ko") as door:
        created = await door.done("create_playbook", goal="배포하기", workflow=[STEP])
        id = created.data["playbook"]["id"]
        shown = await door.done("show_playbooks")
        error = await door.call("get_playbook", id="없음")

    assert created.text.startswith("[create_playbook] ")
    assert id in created.text
    assert "'select_playbook'" in created.text
    assert "배포하기" in shown.page
    for outcome in (created, shown, error):
        assert re.search("[가-힣]", outcome.text.replace("배포하기", "").replace("없음", "")), outcome.text


def _buttons(page: str) -> list[str]:
    return re.findall(r'class="select-pb-btn" data-pbid="([^"]+)"', page)
