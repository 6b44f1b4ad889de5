"""Single playbooks and portable documents as results: what the model reads, and the data. Pure."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import Field

from madang.core.documents import Document
from madang.core.errors import OutOfRange
from madang.core.pauses import PauseRecord, PauseStatus, SettledBy
from madang.core.phrases import Block, Line, Phrase, Rows, Text, layout, say
from madang.core.results import ToolResult, UiPage
from madang.core.texts import one_line
from madang.services.playbook.domain import DELETED_DAYS, Playbook, PlaybookChange, Step, chosen_id, default_step_id
from madang.services.playbook.views import MAX_ROW_VALUE_CHARS

STEPS_PAGE = "playbooks/steps"
MAX_SHOWN_STEPS = 50
MAX_CHANGED_GOALS = 3
MAX_CHANGED_GOAL_CHARS = 60


class PlaybookChanged(Document):
    success: bool
    playbook: Playbook


class PlaybookDetails(Document):
    playbook: Playbook


class PlaybookSelected(Document):
    """A selected playbook; without `by` if that answered no choice."""

    playbook: Playbook
    by: SettledBy = Field("", exclude_if=operator.not_)


class ChoiceEnded(Document):
    """A choice that has led to no playbook, or not yet."""

    pause_id: str
    status: PauseStatus


class PlaybookDeleted(Document):
    success: bool
    id: str


class PlaybooksExported(Document):
    format: str
    count: int
    document: str


class PlaybooksImported(Document):
    success: bool
    count: int
    ids: list[str]


def playbook_created(playbook: Playbook) -> ToolResult[PlaybookChanged]:
    text: Text = [
        say("Successfully created new playbook."),
        say("ID: {id}", id=playbook.id),
        say("Goal: {goal}", goal=playbook.goal),
        say("Steps: {steps}", steps=len(playbook.workflow)),
    ]
    following = say(
        "The playbook is now available. Use 'list_playbooks' to see all playbooks, or 'select_playbook' with ID {id} "
        "to execute it.",
        id=playbook.id,
    )
    data = PlaybookChanged.model_construct(success=True, playbook=playbook)
    return ToolResult(text, data, next=[following], origins=())


def playbook_read(playbook: Playbook, from_step: int) -> ToolResult[PlaybookDetails]:
    text: Text = [
        say("Retrieved playbook details for ID: {id} (only read, not started)", id=playbook.id),
        "",
        *details(playbook, from_step),
    ]
    following = say("Note: Use 'select_playbook' to execute this playbook, or 'update_playbook' to modify it.")
    data = PlaybookDetails.model_construct(playbook=playbook)
    return ToolResult(text, data, next=[following], refill=_steps(playbook))


def no_such_step(playbook: Playbook, number: int) -> OutOfRange:
    return OutOfRange(
        say(
            "fromStep: there {count|is|are} {count} {count|step|steps}, no step {step}.",
            count=len(playbook.workflow),
            step=number,
        ),
        hint=say("Leave fromStep out to read from the first step."),
    )


def playbook_selected(playbook: Playbook, choice: PauseRecord | None = None) -> ToolResult[PlaybookSelected]:
    """Return the playbook and how to proceed; `choice` is what this selection answered."""
    by = choice.settled_by if choice else ""
    text: Text = [
        say(
            'Playbook "{goal}" (ID: {id}) has been selected for execution.',
            goal=playbook.goal,
            id=playbook.id,
        ),
        *([say("Relayed: the client's model told this choice in the person's name.")] if by == "relayed" else []),
        "",
        say("Playbook Details:"),
        "---",
        *details(playbook),
        "---",
    ]
    first = say(
        "You may now proceed with execution, without asking the person. Call 'add_todo' for the first step now."
    )
    if not playbook.workflow:
        first = say(
            "You may now proceed with execution, without asking the person. This playbook has no steps: call "
            "'add_todo' for the first one of your own now."
        )
    following = [
        say("Instructions:"),
        say("1. Review the workflow steps and success criteria above"),
        say("2. Establish todos based on the workflow steps (use 'add_todo')"),
        say("3. Begin executing the tasks according to the defined steps"),
        say("4. Track progress (use 'mark_todo') and verify against success criteria"),
        layout(""),
        first,
    ]
    data = PlaybookSelected.model_construct(playbook=playbook, by=by)
    return ToolResult(text, data, next=following, settles=choice.id if choice else "")


def choice_outcome(choice: PauseRecord, playbook: Playbook | None) -> ToolResult[Any]:
    """Return what the run that showed the playbooks is told when it goes on; `playbook` is the one that was chosen."""
    if choice.status == "answered":
        if playbook is not None:
            return replace(playbook_selected(playbook, choice), settles="")
        line = say("The person selected playbook {id}, which has been deleted since.", id=chosen_id(choice))
        following = say("Tell the person, or let them choose another with 'show_playbooks'.")
    elif choice.is_open:
        line = say("The person has not chosen a playbook yet.")
        following = say(
            "The choice stays open, and you will be told which playbook the person chose. Do not show the playbooks "
            "again: go on without one, or end your turn."
        )
    else:
        line = _ended(choice)
        following = say("No playbook was chosen. Do not show them again: tell the person, or go on without one.")
        if choice.status == "superseded":
            following = say("Wait for the choice that was asked last; call nothing for this one.")
    data = ChoiceEnded(pause_id=choice.id, status=choice.status)
    return ToolResult([line, say("Choice ID: {id}", id=choice.id)], data, next=[following])


def _ended(choice: PauseRecord) -> Phrase:
    match choice.status:
        case "superseded":
            return say("The choice {id} was superseded: the playbooks were shown again.", id=choice.id)
        case "withdrawn":
            return say(
                "The choice {id} was withdrawn: the run that asked was stopped, or this session is a copy.",
                id=choice.id,
            )
        case "cancelled":
            return say("The person cancelled the choice {id} without choosing a playbook.", id=choice.id)
        case _:
            return say(
                "The choice {id} expired at {at}: the person chose no playbook.", id=choice.id, at=choice.expires_at
            )


def playbook_updated(playbook: Playbook) -> ToolResult[PlaybookChanged]:
    text: Text = [
        say('Successfully updated playbook ID: {id} ("{goal}")', id=playbook.id, goal=_named(playbook)),
        "",
        say("Updated Details:"),
        *details(playbook),
    ]
    following = say(
        "The playbook has been modified. Changes are immediately available. Use 'get_playbook' to read it, or "
        "'update_playbook' with expectedVersion {version} to go on changing this version.",
        version=playbook.version,
    )
    data = PlaybookChanged.model_construct(success=True, playbook=playbook)
    return ToolResult(text, data, next=[following], origins=())


def playbook_deleted(playbook: Playbook) -> ToolResult[PlaybookDeleted]:
    text: Text = [
        say('Successfully deleted playbook ID: {id} ("{goal}")', id=playbook.id, goal=_named(playbook)),
        "",
        say("Deleted Playbook:"),
        say("Goal: {goal}", goal=playbook.goal),
        say("Steps: {steps}", steps=len(playbook.workflow)),
    ]
    following = say(
        "This playbook is no longer available. Use 'list_playbooks' to see remaining playbooks. For {days} days the "
        "person can take it back ('restore_playbook').",
        days=DELETED_DAYS,
    )
    return ToolResult(text, PlaybookDeleted(success=True, id=playbook.id), next=[following])


def playbook_restored(playbook: Playbook) -> ToolResult[PlaybookChanged]:
    text: Text = [
        say('Successfully restored playbook ID: {id} ("{goal}")', id=playbook.id, goal=_named(playbook)),
        say("Goal: {goal}", goal=playbook.goal),
        say("Steps: {steps}", steps=len(playbook.workflow)),
    ]
    following = say("The playbook is listed again. Use 'list_playbooks' to see all playbooks.")
    data = PlaybookChanged.model_construct(success=True, playbook=playbook)
    return ToolResult(text, data, next=[following], origins=())


def changed(change: PlaybookChange) -> Phrase:
    """Return what an operation did to playbooks, in one line."""
    goals = [one_line(revision.playbook.goal, MAX_CHANGED_GOAL_CHARS) for revision in change.revisions]
    listed = ", ".join(goals[:MAX_CHANGED_GOALS]) + (", …" if len(goals) > MAX_CHANGED_GOALS else "")
    if all(revision.after is None for revision in change.revisions):
        return say("{count} playbook(s) deleted: {goals}", count=len(goals), goals=listed)
    if all(revision.before is None for revision in change.revisions):
        return say("{count} playbook(s) added: {goals}", count=len(goals), goals=listed)
    return say("{count} playbook(s) changed: {goals}", count=len(goals), goals=listed)


def playbooks_exported(document: str, format: str, count: int, left_out: int) -> ToolResult[PlaybooksExported]:
    text: list[Line | Rows] = [say("Exported {count} playbook(s) as {format}.", count=count, format=format.upper())]
    if left_out:
        text.append(say("{count} more {count|was|were} left out: name {count|it|them} with 'ids'.", count=left_out))
    text += [
        "",
        Rows(
            # Split at \n alone: the other line ends that Python knows are data inside a JSON text. No margin, so that
            # the document can be copied: YAML indents the lines of a text, and JSON has them on one line.
            [Block(line, margin="") for line in document.removesuffix("\n").split("\n")],
            say(
                "… {left_out} more line(s): the text ends here, the document does not. It is whole in the structured "
                "result; to read it here, export fewer playbooks at a time with 'ids'."
            ),
        ),
    ]
    data = PlaybooksExported.model_construct(format=format, count=count, document=document)
    following = say("Note: Use 'import_playbooks' with the whole document to add these playbooks to another assistant.")
    return ToolResult(text, data, next=[following])


def playbooks_imported(playbooks: Sequence[Playbook]) -> ToolResult[PlaybooksImported]:
    rows = [
        layout(
            '{number}. id:{id} goal:"{goal}"',
            number=number,
            id=playbook.id,
            goal=one_line(playbook.goal, MAX_ROW_VALUE_CHARS),
        )
        for number, playbook in enumerate(playbooks, start=1)
    ]
    text: Text = [
        say("Successfully imported {count} playbook(s).", count=len(playbooks)),
        Rows(rows, say("… {left_out} more. 'list_playbooks' with sortOrder desc lists the newest first.")),
    ]
    data = PlaybooksImported.model_construct(
        success=True, count=len(playbooks), ids=[playbook.id for playbook in playbooks]
    )
    following = say("Note: Use 'list_playbooks' to see all playbooks, or 'select_playbook' to execute one.")
    return ToolResult(text, data, next=[following])


def _named(playbook: Playbook) -> str:
    # In the first line: what is done beside a run is told to its model by that line.
    return one_line(playbook.goal, MAX_ROW_VALUE_CHARS)


def details(playbook: Playbook, from_step: int = 1) -> list[Line | Rows]:
    """Return a playbook in words, its steps from `from_step` on."""
    steps = [_step(playbook.id, number, step) for number, step in enumerate(playbook.workflow, start=1)]
    lines: list[Line | Rows] = [
        say("ID: {id}", id=playbook.id),
        say("Goal: {goal}", goal=playbook.goal),
    ]
    if playbook.initial_command:
        lines.append(say("Initial command: {command}", command=playbook.initial_command))
    if playbook.workflow:
        lines.append(say("Workflow ({count} {count|step|steps}):", count=len(playbook.workflow)))
        if from_step > 1:
            lines.append(say("  (from step {first})", first=from_step))
        rest = say(
            "  … {left_out} more step(s). Next: 'get_playbook' with id {id}, fromStep {next}.",
            id=playbook.id,
        )
        lines.append(Rows(steps[from_step - 1 :], rest, offset=from_step))
    else:
        lines.append(say("Workflow: no steps"))
    criteria = playbook.success_criteria
    if criteria.description or criteria.required_artifacts:
        lines.append(say("Success criteria: {description}", description=criteria.description))
    if criteria.required_artifacts:
        lines.append(say("Required artifacts: {artifacts}", artifacts=", ".join(criteria.required_artifacts)))
    lines.append(
        say(
            "Created: {created} | Updated: {updated} | Version: {version}",
            created=playbook.created_at,
            updated=playbook.updated_at,
            version=playbook.version,
        )
    )
    return lines


def _steps(playbook: Playbook) -> UiPage:
    """Return what a row of the list shows when it is opened."""
    context = {
        "steps": playbook.workflow[:MAX_SHOWN_STEPS],
        "more_steps": max(0, len(playbook.workflow) - MAX_SHOWN_STEPS),
        "criteria": playbook.success_criteria,
    }
    return UiPage(name=STEPS_PAGE, title=say("Steps"), template="playbook/steps.html", context=context)


def _step(playbook_id: str, number: int, step: Step) -> Phrase:
    """Return a step as one row, with the parts it has. Its id is one of them only where its author gave it one."""
    row = say("  {number}. {description}", number=number, description=step.description)
    if step.step_id != default_step_id(playbook_id, number):
        row = say("{row} | id: {id}", row=row, id=step.step_id)
    if step.action.tool_name:
        tool, purpose = step.action.tool_name, step.action.purpose
        row = say("{row} | tool: {tool}", row=row, tool=f"{tool} ({purpose})" if purpose else tool)
    elif step.action.purpose:
        row = say("{row} | purpose: {purpose}", row=row, purpose=step.action.purpose)
    if step.required_data:
        row = say("{row} | needs: {data}", row=row, data=", ".join(step.required_data))
    if step.output_variable:
        row = say("{row} | gives: {variable}", row=row, variable=step.output_variable)
    return row
