"""What a playbook is, and its rules. Pure: no I/O."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from madang.core.documents import DOCUMENT_CONFIG, NOT_BLANK, Document
from madang.core.errors import LimitExceeded
from madang.core.pauses import PauseRecord
from madang.core.phrases import say

SERVICE = "playbook"
"""Whose operations and choices they are."""

MAX_PLAYBOOK_BYTES = 256 * 1024
MAX_STEPS = 200
MAX_SORT_KEY_CHARS = 100
DELETED_DAYS = 30
"""How long a deleted playbook can be restored."""

PlaybookGoal = Annotated[str, Field(min_length=1, max_length=2_000), NOT_BLANK]
Command = Annotated[str, Field(max_length=4_000)]
ShortText = Annotated[str, Field(max_length=200)]
LongText = Annotated[str, Field(max_length=4_000)]
Artifact = Annotated[str, Field(max_length=500)]


class Action(Document):
    """The tool a step would use, and what for."""

    tool_name: ShortText = ""
    purpose: LongText = ""


class StepInput(Document):
    """A step as a caller writes it: only what it does is needed."""

    description: LongText
    step_id: ShortText = ""
    action: Action = Action()
    required_data: list[ShortText] = Field(default_factory=list, max_length=50)
    output_variable: ShortText = ""


class Step(StepInput):
    """A step of a stored playbook: it has an id."""


class SuccessCriteria(Document):
    """How to tell that the goal is reached."""

    description: LongText = ""
    required_artifacts: list[Artifact] = Field(default_factory=list, max_length=50)


Workflow = Annotated[list[StepInput], Field(max_length=MAX_STEPS)]


class PlaybookContent(Document):
    """What a person or agent writes; the store adds the rest of a playbook."""

    goal: PlaybookGoal
    initial_command: Command = ""
    workflow: Workflow
    success_criteria: SuccessCriteria = SuccessCriteria()


@dataclass(slots=True)
class PlaybookSummary:
    """A playbook as a listing shows it."""

    __pydantic_config__: ClassVar[ConfigDict] = DOCUMENT_CONFIG

    id: str
    agent_id: str
    goal: str
    initial_command: str
    steps: int
    created_at: str
    updated_at: str
    version: int


class Playbook(Document):
    """A stored playbook."""

    id: str
    agent_id: str
    goal: str
    initial_command: str
    workflow: list[Step]
    success_criteria: SuccessCriteria
    created_at: str
    updated_at: str
    version: int


class Revision(Document):
    """A playbook before and after an operation; None where it was not there."""

    before: Playbook | None = None
    after: Playbook | None = None

    @property
    def playbook(self) -> Playbook:
        """The playbook as it is since, or as it was before it was deleted."""
        playbook = self.after or self.before
        assert playbook is not None
        return playbook

    @property
    def id(self) -> str:
        return self.playbook.id

    def without_steps(self) -> Revision:
        """Return it with what tells which playbook it is."""
        return Revision(
            before=self.before and self.before.model_copy(update={"workflow": []}),
            after=self.after and self.after.model_copy(update={"workflow": []}),
        )


class PlaybookChange(Document):
    """What an operation did to playbooks: several of them were added, or several deleted, or one was changed."""

    revisions: list[Revision]


class Selection(Document):
    """One selection of a playbook for execution."""

    id: str
    playbook_id: str
    goal: str
    version: int
    session_id: str
    selected_at: str


class PlaybookPatch(Document):
    """A merge patch (RFC 7396): fields that are present replace, null removes what is optional, the rest stays."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    goal: PlaybookGoal | None = None
    initial_command: Command | None = None
    workflow: Workflow | None = None
    success_criteria: CriteriaPatch | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("empty_patch", "must name at least one field to change")
        return self

    @field_validator("goal", "workflow", mode="after")
    @classmethod
    def _is_required(cls, value: object) -> object:
        if value is None:
            raise PydanticCustomError("not_removable", "cannot be removed")
        return value


class CriteriaPatch(Document):
    """A merge patch of the success criteria."""

    description: LongText | None = None
    required_artifacts: Annotated[list[Artifact], Field(max_length=50)] | None = None


PlaybookPatch.model_rebuild()


def default_step_id(playbook_id: str, number: int) -> str:
    return f"{playbook_id}-step-{number}"


def with_step_ids(playbook_id: str, workflow: list[StepInput]) -> list[Step]:
    """Give each step without an id its default one."""
    # Validated again: pydantic does that in a third of the time that `model_construct` takes.
    return [
        Step.model_validate({**step.__dict__, "step_id": step.step_id or default_step_id(playbook_id, number)})
        for number, step in enumerate(workflow, start=1)
    ]


def content_of(playbook: Playbook) -> PlaybookContent:
    """Return what a caller wrote of a playbook, without default step ids."""
    workflow = [
        StepInput.model_construct(
            **{
                **dict(step),
                "step_id": "" if step.step_id == default_step_id(playbook.id, number) else step.step_id,
            }
        )
        for number, step in enumerate(playbook.workflow, start=1)
    ]
    return PlaybookContent(
        goal=playbook.goal,
        initial_command=playbook.initial_command,
        workflow=workflow,
        success_criteria=playbook.success_criteria,
    )


def merge(content: PlaybookContent, patch: PlaybookPatch) -> PlaybookContent:
    """Return `content` with `patch` applied, by the rules of RFC 7396."""
    merged: dict[str, Any] = dict(content)
    for name in patch.model_fields_set:
        value = getattr(patch, name)
        if name == "success_criteria" and value is not None:
            criteria = dict(content.success_criteria)
            criteria.update({part: getattr(value, part) for part in value.model_fields_set})
            value = SuccessCriteria(**{part: text for part, text in criteria.items() if text is not None})
        if value is None:
            merged.pop(name)
        else:
            merged[name] = value
    return PlaybookContent(**merged)


def check_playbook_size(content: PlaybookContent) -> None:
    """Refuse a playbook that is too large.

    Raises:
        LimitExceeded: with the sizes.
    """
    size = len(content.model_dump_json().encode())
    if size > MAX_PLAYBOOK_BYTES:
        raise LimitExceeded(
            say("The playbook has {size} bytes; at most {limit} are kept.", size=size, limit=MAX_PLAYBOOK_BYTES),
            hint=say("Shorten the steps, or split it into several playbooks."),
        )


def chosen_id(choice: PauseRecord) -> str:
    """Return the id of the playbook that settled a choice, or nothing."""
    arguments = choice.settled_with.get("arguments", {})
    return str(arguments.get("id", ""))


def fold(text: str) -> str:
    """Return `text` for comparison: NFC (macOS sends Hangul decomposed) and case-folded."""
    return unicodedata.normalize("NFC", text).casefold()


def sort_key(goal: str) -> str:
    return fold(goal)[:MAX_SORT_KEY_CHARS]


def search_text(content: PlaybookContent) -> str:
    return fold(f"{content.goal}\n{content.initial_command}")
