"""The tools that keep, read, select, change and delete playbooks."""

from __future__ import annotations

import re
from typing import Any

import pytest

from madang.core.ids import AssistantId, UserId
from madang.services.playbook.domain import MAX_PLAYBOOK_BYTES, MAX_STEPS
from tests.asking import Asker
from tests.services.playbook.playbooks import STEP, given, goals

BY_ID: list[tuple[str, dict[str, Any]]] = [
    ("get_playbook", {}),
    ("select_playbook", {}),
    ("update_playbook", {"playbook": {"goal": "Taken over"}}),
    ("delete_playbook", {}),
    ("restore_playbook", {}),
]
ISO_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def created(asker: Asker, **arguments: Any) -> dict[str, Any]:
    reply = await asker.done("create_playbook", **{"goal": "Ship it", "workflow": [STEP], **arguments})
    playbook: dict[str, Any] = reply.data["playbook"]
    return playbook


# Keeping


async def test_a_new_playbook_is_confirmed_with_its_id_and_the_next_tools(asker: Asker) -> None:
    reply = await asker.done("create_playbook", goal="Ship it", workflow=[STEP])

    id = reply.data["playbook"]["id"]
    assert reply.text == (
        "[create_playbook] Successfully created new playbook.\n"
        f"ID: {id}\n"
        "Goal: Ship it\n"
        "Steps: 1\n"
        "\n"
        "The playbook is now available. Use 'list_playbooks' to see all playbooks, or 'select_playbook' with ID "
        f"{id} to execute it."
    )
    assert reply.data["success"] is True


async def test_a_new_playbook_has_every_field_it_was_given_and_those_it_gets(asker: Asker) -> None:
    playbook = await created(
        asker,
        initialCommand="ship",
        successCriteria={"description": "It is out", "requiredArtifacts": ["wheel", "tag"]},
    )

    id, created_at = playbook["id"], playbook["createdAt"]
    assert ISO_UTC.fullmatch(created_at)
    assert playbook == {
        "id": id,
        "agentId": "test-agent",
        "goal": "Ship it",
        "initialCommand": "ship",
        "workflow": [STEP],
        "successCriteria": {"description": "It is out", "requiredArtifacts": ["wheel", "tag"]},
        "createdAt": created_at,
        "updatedAt": created_at,
        "version": 1,
    }
    assert (await asker.done("get_playbook", id=id)).data["playbook"] == playbook


async def test_a_step_that_only_says_what_it_does_gets_an_id_and_empty_rest(asker: Asker) -> None:
    playbook = await created(asker, workflow=[{"description": "One"}, STEP, {"description": "Three"}])

    assert [step["stepId"] for step in playbook["workflow"]] == [
        f"{playbook['id']}-step-1",
        "build",
        f"{playbook['id']}-step-3",
    ]
    assert playbook["workflow"][0] == {
        "stepId": f"{playbook['id']}-step-1",
        "description": "One",
        "action": {"toolName": "", "purpose": ""},
        "requiredData": [],
        "outputVariable": "",
    }
    assert playbook["successCriteria"] == {"description": "", "requiredArtifacts": []}


async def test_ids_are_unique_and_in_the_order_of_creation_times(asker: Asker) -> None:
    playbooks = [await created(asker) for _ in range(20)]

    ids = [playbook["id"] for playbook in playbooks]
    assert len(set(ids)) == 20
    assert [id[:13] for id in ids] == sorted(id[:13] for id in ids)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workflow": []}, "goal: is required."),
        ({"goal": "x"}, "workflow: is required."),
        ({"goal": "", "workflow": []}, "goal: must have at least 1 character."),
        ({"goal": " \n", "workflow": []}, "goal: must not be blank."),
        ({"goal": "x" * 2001, "workflow": []}, "goal: must have at most 2000 characters."),
        ({"goal": 5, "workflow": []}, "goal: must be a string."),
        ({"goal": "x", "workflow": "steps"}, "workflow: must be a list."),
        ({"goal": "x", "workflow": None}, "workflow: must be a list."),
        ({"goal": "x", "workflow": [{}]}, "workflow.0.description: is required."),
        ({"goal": "x", "workflow": ["step"]}, "workflow.0: must be an object."),
        (
            {"goal": "x", "workflow": [{"description": "d", "steps": 1}]},
            "workflow.0.steps: is not a field of this object.",
        ),
        (
            {"goal": "x", "workflow": [{"description": "d", "action": {"toolName": 1}}]},
            "workflow.0.action.toolName: must be a string.",
        ),
        ({"goal": "x", "workflow": [{"description": "d"}] * 201}, "workflow: must have at most 200 items."),
        ({"goal": "x", "workflow": [], "initialCommand": 1}, "initialCommand: must be a string."),
        ({"goal": "x", "workflow": [], "id": "mine"}, "id: is not an argument of this tool."),
        ({"goal": "nul \x00", "workflow": []}, "A text holds a NUL character."),
        (
            {"goal": "half \ud83d", "workflow": []},
            "A text holds half of a surrogate pair, which is no character.",
        ),
    ],
)
async def test_a_playbook_that_is_none_is_refused_with_the_field(
    asker: Asker, arguments: dict[str, Any], message: str
) -> None:
    reply = await asker.ask("create_playbook", **arguments)

    assert reply.error_code == "invalid_arguments"
    assert reply.text.split("\n")[0] == f"[create_playbook] Error: {message} Nothing was changed."
    assert (await asker.done("list_playbooks")).data["page"]["totalItems"] == 0


async def test_an_unknown_argument_is_named_as_it_was_written(asker: Asker) -> None:
    reply = await asker.ask("list_playbooks", Page=1)

    assert reply.text.startswith("[list_playbooks] Error: Page: is not an argument of this tool.")


async def test_a_long_unknown_argument_does_not_make_a_long_answer(asker: Asker) -> None:
    reply = await asker.ask("list_playbooks", **{"x" * 100_000: 1})

    assert reply.error_code == "invalid_arguments"
    assert len(reply.text) < 1000


async def test_the_largest_playbooks_are_kept_and_larger_ones_refused(asker: Asker) -> None:
    largest = [{"description": "x" * 1100}] * MAX_STEPS
    playbook = await created(asker, goal="목" * 2000, workflow=largest)

    refused = await asker.ask("create_playbook", goal="x", workflow=[{"description": "x" * 1400}] * MAX_STEPS)

    assert len(playbook["workflow"]) == MAX_STEPS
    assert refused.error_code == "limit_exceeded"
    assert f"at most {MAX_PLAYBOOK_BYTES} are kept" in refused.text
    assert (await asker.done("list_playbooks")).data["page"]["totalItems"] == 1


@pytest.mark.parametrize(
    "goal", ["배포하기 🚀", "e\u0301 and é", "  spaces  ", "tab\tand\nline", "\u202eright to left"]
)
async def test_what_was_written_comes_back_as_it_was(asker: Asker, goal: str) -> None:
    playbook = await created(asker, goal=goal, initialCommand=goal)

    read = (await asker.done("get_playbook", id=playbook["id"])).data["playbook"]
    assert (read["goal"], read["initialCommand"]) == (goal, goal)


# Reading and selecting


async def test_a_playbook_is_read_with_everything_in_it(asker: Asker) -> None:
    playbook = await created(
        asker,
        initialCommand="ship",
        workflow=[STEP, {"description": "Rest", "action": {"purpose": "calm down"}}],
        successCriteria={"description": "It is out", "requiredArtifacts": ["wheel", "tag"]},
    )

    reply = await asker.done("get_playbook", id=playbook["id"])

    assert reply.text == (
        f"[get_playbook] Retrieved playbook details for ID: {playbook['id']} (only read, not started)\n"
        "\n"
        f"ID: {playbook['id']}\n"
        "Goal: Ship it\n"
        "Initial command: ship\n"
        "Workflow (2 steps):\n"
        "  1. Build the wheel | id: build | tool: execute_shell (make it) | needs: version | gives: wheel\n"
        "  2. Rest | purpose: calm down\n"
        "Success criteria: It is out\n"
        "Required artifacts: wheel, tag\n"
        f"Created: {playbook['createdAt']} | Updated: {playbook['createdAt']} | Version: 1\n"
        "\n"
        "Note: Use 'select_playbook' to execute this playbook, or 'update_playbook' to modify it."
    )
    assert (reply.page, reply.pause) == (None, None)


async def test_a_long_workflow_can_be_read_from_a_later_step(asker: Asker) -> None:
    playbook = await created(asker, workflow=[{"description": f"Step number {n}"} for n in range(1, 121)])

    first = await asker.done("get_playbook", id=playbook["id"])
    second = await asker.done("get_playbook", id=playbook["id"], fromStep=51)

    assert "  50. Step number 50\n" in first.text
    assert "Step number 51" not in first.text
    assert f"\n  … 70 more step(s). Next: 'get_playbook' with id {playbook['id']}, fromStep 51.\n" in first.text
    assert "  51. Step number 51\n" in second.text
    assert "  100. Step number 100\n" in second.text
    assert f"\n  … 20 more step(s). Next: 'get_playbook' with id {playbook['id']}, fromStep 101.\n" in second.text
    assert len(second.data["playbook"]["workflow"]) == 120


async def test_selecting_gives_instructions_to_proceed(asker: Asker) -> None:
    playbook = await created(asker)

    reply = await asker.done("select_playbook", id=playbook["id"])

    assert reply.text == (
        f'[select_playbook] Playbook "Ship it" (ID: {playbook["id"]}) has been selected for execution.\n'
        "\n"
        "Playbook Details:\n"
        "---\n"
        f"ID: {playbook['id']}\n"
        "Goal: Ship it\n"
        "Workflow (1 step):\n"
        "  1. Build the wheel | id: build | tool: execute_shell (make it) | needs: version | gives: wheel\n"
        f"Created: {playbook['createdAt']} | Updated: {playbook['createdAt']} | Version: 1\n"
        "---\n"
        "\n"
        "Instructions:\n"
        "1. Review the workflow steps and success criteria above\n"
        "2. Establish todos based on the workflow steps (use 'add_todo')\n"
        "3. Begin executing the tasks according to the defined steps\n"
        "4. Track progress (use 'mark_todo') and verify against success criteria\n"
        "\n"
        "You may now proceed with execution, without asking the person. Call 'add_todo' for the first step now."
    )
    assert reply.data == {"playbook": playbook, "next": reply.text[reply.text.index("Instructions:") :]}
    assert (reply.page, reply.pause) == (None, None)


async def test_only_step_ids_that_an_author_gave_are_shown(asker: Asker) -> None:
    playbook = await created(asker, workflow=[{"description": "One"}, {"stepId": "two", "description": "Two"}])

    for tool in ("get_playbook", "select_playbook"):
        text = (await asker.done(tool, id=playbook["id"])).text
        assert "\n  1. One\n  2. Two | id: two\n" in text


async def test_a_playbook_without_steps_leaves_the_first_one_to_the_agent(asker: Asker) -> None:
    playbook = await created(asker, workflow=[])

    reply = await asker.done("select_playbook", id=playbook["id"])

    assert reply.text.endswith(
        "\nYou may now proceed with execution, without asking the person. This playbook has no steps: call 'add_todo' "
        "for the first one of your own now."
    )


async def test_each_selection_is_a_run_with_the_version_of_that_moment(asker: Asker) -> None:
    first = await created(asker, goal="First")
    second = await created(asker, goal="Second")
    await asker.done("select_playbook", id=first["id"])
    await asker.done("update_playbook", id=first["id"], playbook={"goal": "First, better"})
    await asker.done("select_playbook", id=first["id"])
    await asker.done("select_playbook", id=second["id"])
    await asker.done("delete_playbook", id=second["id"])

    all_runs = await asker.done("list_playbook_runs")
    of_first = await asker.done("list_playbook_runs", id=first["id"], pageSize=1)
    other = await asker.with_call(assistant_id=AssistantId("other")).done("list_playbook_runs")

    runs = all_runs.data["page"]["items"]
    assert [(run["goal"], run["version"], run["sessionId"]) for run in runs] == [
        ("Second", 1, "test-session"),
        ("First, better", 2, "test-session"),
        ("First", 1, "test-session"),
    ]
    assert all(run["id"] in all_runs.text and run["playbookId"] in all_runs.text for run in runs)
    assert all_runs.text.startswith("[list_playbook_runs] Found 3 run(s), newest first.\n")
    assert [run["version"] for run in of_first.data["page"]["items"]] == [2]
    assert of_first.data["page"]["totalPages"] == 2
    assert other.text.startswith("[list_playbook_runs] No playbook has been selected yet.")


# Changing


async def test_an_update_is_confirmed_and_counts_the_version(asker: Asker) -> None:
    playbook = await created(asker)

    reply = await asker.done("update_playbook", id=playbook["id"], playbook={"goal": "Ship it twice"})

    updated = reply.data["playbook"]
    assert reply.text.startswith(f"[update_playbook] Successfully updated playbook ID: {playbook['id']} (")
    assert "Updated Details:" in reply.text
    assert "Goal: Ship it twice" in reply.text
    assert "Changes are immediately available." in reply.text
    assert updated == {**playbook, "goal": "Ship it twice", "version": 2, "updatedAt": updated["updatedAt"]}
    assert updated["updatedAt"] >= playbook["updatedAt"]
    assert (await asker.done("get_playbook", id=playbook["id"])).data["playbook"] == updated


@pytest.mark.parametrize(
    ("patch", "changed"),
    [
        ({"initialCommand": "go"}, {"initialCommand": "go"}),
        ({"initialCommand": None}, {"initialCommand": ""}),
        ({"workflow": []}, {"workflow": []}),
        (
            {"successCriteria": {"description": "Better"}},
            {"successCriteria": {"description": "Better", "requiredArtifacts": ["wheel"]}},
        ),
        (
            {"successCriteria": {"requiredArtifacts": None}},
            {"successCriteria": {"description": "Out", "requiredArtifacts": []}},
        ),
        ({"successCriteria": None}, {"successCriteria": {"description": "", "requiredArtifacts": []}}),
        (
            {"successCriteria": {"description": None, "requiredArtifacts": ["tag"]}},
            {"successCriteria": {"description": "", "requiredArtifacts": ["tag"]}},
        ),
    ],
)
async def test_a_patch_replaces_what_it_names_and_null_takes_away(
    asker: Asker, patch: dict[str, Any], changed: dict[str, Any]
) -> None:
    playbook = await created(
        asker, initialCommand="ship", successCriteria={"description": "Out", "requiredArtifacts": ["wheel"]}
    )

    reply = await asker.done("update_playbook", id=playbook["id"], playbook=patch)

    updated = reply.data["playbook"]
    assert updated == {**playbook, **changed, "version": 2, "updatedAt": updated["updatedAt"]}


async def test_a_patched_workflow_is_replaced_as_a_whole(asker: Asker) -> None:
    playbook = await created(asker, workflow=[STEP, {"description": "Two"}])

    reply = await asker.done("update_playbook", id=playbook["id"], playbook={"workflow": [{"description": "Only"}]})

    (step,) = reply.data["playbook"]["workflow"]
    assert (step["description"], step["stepId"]) == ("Only", f"{playbook['id']}-step-1")


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"id": "other"}, "playbook.id: is not a field of this object."),
        ({"agentId": "other"}, "playbook.agentId: is not a field of this object."),
        ({"createdAt": "2020-01-01"}, "playbook.createdAt: is not a field of this object."),
        ({"version": 9}, "playbook.version: is not a field of this object."),
        ({"goal": None}, "playbook.goal: cannot be removed."),
        ({"workflow": None}, "playbook.workflow: cannot be removed."),
        ({"goal": " "}, "playbook.goal: must not be blank."),
        ({"workflow": [{"description": 1}]}, "playbook.workflow.0.description: must be a string."),
    ],
)
async def test_a_patch_that_would_break_a_playbook_changes_nothing(
    asker: Asker, patch: dict[str, Any], message: str
) -> None:
    playbook = await created(asker)

    reply = await asker.ask("update_playbook", id=playbook["id"], playbook={"initialCommand": "new", **patch})

    assert reply.error_code == "invalid_arguments"
    assert reply.text.split("\n")[0] == f"[update_playbook] Error: {message} Nothing was changed."
    assert (await asker.done("get_playbook", id=playbook["id"])).data["playbook"] == playbook


async def test_a_patch_may_not_make_a_playbook_too_large(asker: Asker) -> None:
    playbook = await created(asker)

    reply = await asker.ask(
        "update_playbook", id=playbook["id"], playbook={"workflow": [{"description": "x" * 1400}] * MAX_STEPS}
    )

    assert reply.error_code == "limit_exceeded"
    assert (await asker.done("get_playbook", id=playbook["id"])).data["playbook"] == playbook


async def test_a_stale_version_is_a_conflict_and_changes_nothing(asker: Asker) -> None:
    playbook = await created(asker)
    first = await asker.done("update_playbook", id=playbook["id"], playbook={"goal": "A"}, expectedVersion=1)

    second = await asker.ask("update_playbook", id=playbook["id"], playbook={"goal": "B"}, expectedVersion=1)

    assert second.text == (
        f"[update_playbook] Error: Playbook {playbook['id']} is at version 2, not 1. Nothing was changed.\n"
        f"Hint: Call 'get_playbook' with id {playbook['id']} to read it again, then 'update_playbook' with "
        "expectedVersion 2."
    )
    assert second.data["error"]["code"] == "conflict"
    assert (await asker.done("get_playbook", id=playbook["id"])).data["playbook"] == first.data["playbook"]


async def test_deleting_is_confirmed(asker: Asker) -> None:
    first, second = await given(asker, 2)

    reply = await asker.done("delete_playbook", id=first)
    again = await asker.ask("delete_playbook", id=first)

    assert reply.text == (
        f'[delete_playbook] Successfully deleted playbook ID: {first} ("Goal 0")\n'
        "\n"
        "Deleted Playbook:\n"
        "Goal: Goal 0\n"
        "Steps: 0\n"
        "\n"
        "This playbook is no longer available. Use 'list_playbooks' to see remaining playbooks. For 30 days the person "
        "can take it back ('restore_playbook')."
    )
    assert (reply.data["success"], reply.data["id"]) == (True, first)
    assert again.error_code == "not_found"
    assert goals(await asker.done("list_playbooks")) == ["Goal 1"]
    assert (await asker.done("get_playbook", id=second)).data["playbook"]["goal"] == "Goal 1"


# Whose it is


@pytest.mark.parametrize(("tool", "arguments"), BY_ID)
async def test_another_assistants_playbook_is_refused(asker: Asker, tool: str, arguments: dict[str, Any]) -> None:
    playbook = await created(asker)
    other = asker.with_call(assistant_id=AssistantId("other"))

    reply = await other.ask(tool, id=playbook["id"], **arguments)

    unchanged = "" if tool == "get_playbook" else " Nothing was changed."
    assert reply.text == (
        f"[{tool}] Error: Playbook {playbook['id']} does not belong to the current assistant (other).{unchanged}\n"
        "Hint: Call 'list_playbooks' to see the playbooks of this assistant."
    )
    assert reply.data["error"]["code"] == "denied"
    assert (await asker.done("get_playbook", id=playbook["id"])).data["playbook"] == playbook
    assert (await other.done("list_playbook_runs")).data["page"]["totalItems"] == 0


@pytest.mark.parametrize(("tool", "arguments"), BY_ID)
async def test_another_users_playbook_is_answered_like_one_that_is_not_there(
    asker: Asker, tool: str, arguments: dict[str, Any]
) -> None:
    playbook = await created(asker)
    stranger = asker.with_call(user_id=UserId("somebody"))

    theirs = await stranger.ask(tool, id=playbook["id"], **arguments)
    missing = await stranger.ask(tool, id="nothing", **arguments)

    unchanged = "" if tool == "get_playbook" else " Nothing was changed."
    assert theirs.text == (
        f"[{tool}] Error: Playbook {playbook['id']} not found.{unchanged}\n"
        "Hint: Call 'list_playbooks' to see the ids there are."
    )
    assert theirs.text == missing.text.replace("nothing", playbook["id"])
    assert theirs.data["error"]["code"] == "not_found"
    assert (await asker.done("get_playbook", id=playbook["id"])).data["playbook"] == playbook


async def test_exporting_anothers_playbook_is_refused_in_the_same_words(asker: Asker) -> None:
    playbook = await created(asker)
    other = await asker.with_call(assistant_id=AssistantId("other")).ask("export_playbooks", ids=[playbook["id"]])
    stranger = await asker.with_call(user_id=UserId("somebody")).ask("export_playbooks", ids=[playbook["id"]])

    assert f"Playbook {playbook['id']} does not belong to the current assistant (other)." in other.text
    assert f"Playbook {playbook['id']} not found." in stranger.text


@pytest.mark.parametrize(("tool", "arguments"), BY_ID)
@pytest.mark.parametrize("id", ["", "x" * 101, 7, None, True, ["a"]])
async def test_an_id_that_can_be_none_is_refused_by_name(
    asker: Asker, tool: str, arguments: dict[str, Any], id: Any
) -> None:
    reply = await asker.ask(tool, id=id, **arguments)

    assert reply.error_code == "invalid_arguments"
    assert reply.text.startswith(f"[{tool}] Error: id: must ")


async def test_an_odd_id_is_only_an_id(asker: Asker) -> None:
    reply = await asker.ask("get_playbook", id="' OR '1'='1")

    assert reply.text.startswith("[get_playbook] Error: Playbook ' OR '1'='1 not found.")


async def test_an_empty_patch_is_refused_and_changes_nothing(asker: Asker) -> None:
    playbook = await created(asker)

    reply = await asker.ask("update_playbook", id=playbook["id"], playbook={})

    assert reply.error_code == "invalid_arguments"
    assert "playbook: must name at least one field to change." in reply.text
    assert (await asker.done("get_playbook", id=playbook["id"])).data["playbook"] == playbook


async def test_reading_from_a_step_that_is_not_there_says_how_many_there_are(asker: Asker) -> None:
    playbook = await created(asker)

    reply = await asker.ask("get_playbook", id=playbook["id"], fromStep=7)

    assert reply.error_code == "out_of_range"
    assert len(playbook["workflow"]) == 1
    assert "there is 1 step, no step 7" in reply.text
