"""Playbook views: domain in, results out, compared as whole values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from madang.core.paging import Page, span
from madang.core.phrases import Rows, layout, say
from madang.core.results import ToolResult
from madang.rendering.catalogue import translator
from madang.rendering.replies import render_text
from madang.services.playbook.domain import Playbook, PlaybookSummary, Selection, Step, SuccessCriteria
from madang.services.playbook.views import listings, playbooks
from tests.asking import CALL

AT = "2026-01-02T03:04:05.678Z"
PLAYBOOK = Playbook(
    id="pb-1",
    agent_id="test-agent",
    goal="배포하기",
    initial_command="",
    workflow=[Step(description="Look", step_id="pb-1-step-1")],
    success_criteria=SuccessCriteria(),
    created_at=AT,
    updated_at=AT,
    version=3,
)
NOTHING: Page[PlaybookSummary] = span(1, -1, 0).fill([])


def summary(number: int) -> PlaybookSummary:
    return PlaybookSummary(
        id=f"pb-{number}",
        agent_id="test-agent",
        goal=f"Goal {number}",
        initial_command="go",
        steps=number,
        created_at=AT,
        updated_at=AT,
        version=1,
    )


def page_of(number: int, page_size: int, total: int) -> Page[PlaybookSummary]:
    place = span(number, page_size, total)
    last = min(place.offset + place.limit, total)
    return place.fill([summary(n) for n in range(place.offset + 1, last + 1)])


def test_a_listing_is_rows_with_their_number_in_the_whole() -> None:
    page = page_of(2, 2, 5)
    row = '{number}. id:{id} goal:"{goal}" initial:"{command}" steps:{steps} createdAt:{at}'
    rows = [layout(row, number=n, id=f"pb-{n}", goal=f"Goal {n}", command="go", steps=n, at=AT) for n in (3, 4)]

    result = listings.playbooks_listed(CALL, page, "")

    assert result == ToolResult(
        text=[
            say("Found {total} playbook(s) for agent {agent}.", total=5, agent="test-agent"),
            say("Showing page {page} of {pages} ({count} items on this page):", page=2, pages=3, count=2),
            "",
            Rows(
                rows,
                say(
                    "… {left_out} more on this page. "
                    "Use 'list_playbooks' with pageSize {shown} to read them page by page."
                ),
            ),
            "",
            say("Note: Use 'get_playbook' to view details or 'select_playbook' to execute a playbook."),
        ],
        data=listings.PlaybookListing(page=page, formatted_text="\n".join(map(str, rows))),
    )


def test_showing_and_turning_declare_the_same_page_and_pause() -> None:
    page = page_of(2, 2, 5)

    shown, turned = listings.playbooks_shown(CALL, page), listings.page_turned(CALL, page, 2)

    assert shown.page == turned.page
    assert shown.pause == turned.pause
    assert shown.data == turned.data == listings.playbooks_listed(CALL, page, "").data
    assert shown.page is not None
    assert (shown.page.name, shown.page.context) == ("playbooks/list", {"page": page})


@pytest.mark.parametrize(
    "result",
    [
        listings.playbooks_listed(CALL, NOTHING, ""),
        listings.playbooks_shown(CALL, NOTHING),
        listings.page_turned(CALL, NOTHING, 1),
    ],
)
def test_nothing_has_no_page_and_no_pause(result: ToolResult[listings.PlaybookListing]) -> None:
    assert result == ToolResult(
        text=[
            say("No playbooks found for agent {agent}.", agent="test-agent"),
            say("Note: Use 'create_playbook' to make one."),
        ],
        data=listings.PlaybookListing(page=NOTHING, formatted_text=""),
    )


def test_the_words_of_changes() -> None:
    created, updated, deleted = [
        render_text(result.text, translator("en"))
        for result in (
            playbooks.playbook_created(PLAYBOOK),
            playbooks.playbook_updated(PLAYBOOK),
            playbooks.playbook_deleted(PLAYBOOK),
        )
    ]

    assert created == (
        "Successfully created new playbook.\nID: pb-1\nGoal: 배포하기\nSteps: 1\n\n"
        "The playbook is now available. Use 'list_playbooks' to see all playbooks, or 'select_playbook' with ID pb-1 "
        "to execute it."
    )
    assert updated == (
        "Successfully updated playbook ID: pb-1\n\nUpdated Details:\nID: pb-1\nGoal: 배포하기\n"
        f"Workflow (1 steps):\n  1. Look\nCreated: {AT} | Updated: {AT} | Version: 3\n\n"
        "The playbook has been modified. Changes are immediately available. Use 'get_playbook' to read it, or "
        "'update_playbook' with expectedVersion 3 to go on changing this version."
    )
    assert deleted == (
        "Successfully deleted playbook ID: pb-1\n\nDeleted Playbook:\nGoal: 배포하기\nSteps: 1\n\n"
        "This playbook is no longer available. Use 'list_playbooks' to see remaining playbooks."
    )


def test_a_playbook_without_steps_says_so() -> None:
    text = render_text(
        playbooks.playbook_read(PLAYBOOK.model_copy(update={"workflow": []}), 1).text,
        translator("en"),
    )

    assert "Workflow: no steps\n" in text


def test_selections_are_rows_too() -> None:
    selection = Selection(id="run-1", playbook_id="pb-1", goal="배포", version=2, session_id="s", selected_at=AT)
    page = span(1, -1, 1).fill([selection])

    assert render_text(listings.selections_listed(page).text, translator("en")) == snapshot("""\
Found 1 run(s), newest first.
Showing page 1 of 1 (1 items on this page):

1. run:run-1 playbook:pb-1 goal:"배포" version:2 session:s selectedAt:2026-01-02T03:04:05.678Z

Note: Use 'get_playbook' to view a playbook as it is now.\
""")


def test_views_do_not_know_how_the_client_shows_pages() -> None:
    page = page_of(1, 2, 5)

    assert listings.playbooks_shown(replace(CALL, pages="off"), page) == listings.playbooks_shown(CALL, page)
