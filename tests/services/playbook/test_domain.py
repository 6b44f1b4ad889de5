"""The rules of playbooks: step ids, merge patches, sizes, and how texts are compared."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from madang.core.errors import LimitExceeded
from madang.services.playbook.domain import (
    MAX_PLAYBOOK_BYTES,
    Playbook,
    PlaybookContent,
    PlaybookPatch,
    StepInput,
    SuccessCriteria,
    check_playbook_size,
    content_of,
    fold,
    merge,
    sort_key,
    with_step_ids,
)

CONTENT = PlaybookContent(
    goal="Ship it",
    initial_command="ship",
    workflow=[StepInput(description="One"), StepInput(description="Two", step_id="two")],
    success_criteria=SuccessCriteria(description="Out", required_artifacts=["wheel"]),
)


def kept(id: str) -> Playbook:
    return Playbook(
        id=id,
        agent_id="a",
        goal=CONTENT.goal,
        initial_command=CONTENT.initial_command,
        workflow=with_step_ids(id, CONTENT.workflow),
        success_criteria=CONTENT.success_criteria,
        created_at="2026-01-01T00:00:00.000Z",
        updated_at="2026-01-01T00:00:00.000Z",
        version=1,
    )


def test_a_step_without_an_id_gets_one_from_its_place() -> None:
    assert [step.step_id for step in with_step_ids("p", CONTENT.workflow)] == ["p-step-1", "two"]


def test_default_step_ids_stay_behind_when_a_playbook_is_taken_out() -> None:
    assert content_of(kept("p")) == CONTENT
    assert content_of(kept("q")) == content_of(kept("p"))


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"goal": "New"}, CONTENT.model_copy(update={"goal": "New"})),
        ({"initialCommand": None}, CONTENT.model_copy(update={"initial_command": ""})),
        ({"workflow": []}, CONTENT.model_copy(update={"workflow": []})),
        ({"successCriteria": None}, CONTENT.model_copy(update={"success_criteria": SuccessCriteria()})),
        (
            {"successCriteria": {"description": None}},
            CONTENT.model_copy(update={"success_criteria": SuccessCriteria(required_artifacts=["wheel"])}),
        ),
        (
            {"success_criteria": {"required_artifacts": []}},
            CONTENT.model_copy(update={"success_criteria": SuccessCriteria(description="Out")}),
        ),
    ],
)
def test_a_merge_patch(patch: dict[str, object], expected: PlaybookContent) -> None:
    assert merge(CONTENT, PlaybookPatch.model_validate(patch)) == expected


@pytest.mark.parametrize("field", ["goal", "workflow"])
def test_what_every_playbook_has_cannot_be_taken_away(field: str) -> None:
    with pytest.raises(ValidationError):
        merge(CONTENT, PlaybookPatch.model_validate({field: None}))


def test_size_is_counted_in_bytes() -> None:
    def of_size(size: int) -> PlaybookContent:
        empty = len(PlaybookContent(goal="x", workflow=[]).model_dump_json().encode())
        return PlaybookContent.model_construct(
            goal="x" * (size - empty + 1), initial_command="", workflow=[], success_criteria=SuccessCriteria()
        )

    check_playbook_size(of_size(MAX_PLAYBOOK_BYTES))
    with pytest.raises(LimitExceeded, match="The playbook has 262145 bytes; at most 262144 are kept"):
        check_playbook_size(of_size(MAX_PLAYBOOK_BYTES + 1))


@given(st.text(max_size=30))
def test_texts_compare_however_they_are_composed_and_in_whatever_case(text: str) -> None:
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(("one", "other"), [("STRASSE", "straße"), ("배포", unicodedata.normalize("NFD", "배포"))])
def test_texts_that_are_found_by_each_other(one: str, other: str) -> None:
    assert fold(one) == fold(other)


def test_a_sort_key_is_bounded() -> None:
    assert len(sort_key("x" * 2000)) == 100
