"""Playbook views: domain in, results out, compared as whole values."""

from __future__ import annotations

import re
import textwrap
from dataclasses import replace
from typing import Any

import pytest
from inline_snapshot import snapshot

from madang.core.calls import LOCALES, Locale, PageMode
from madang.core.ids import AssistantId, SessionId
from madang.core.paging import Page, span
from madang.core.pauses import PauseRecord, PauseStatus
from madang.core.phrases import Rows, chosen, layout, say
from madang.core.results import ToolResult
from madang.rendering.catalogue import translator
from madang.rendering.replies import render_text, reply
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
CHOICE = PauseRecord(
    id="choice-1",
    kind="choice",
    service="playbook",
    tool="show_playbooks",
    title="Choose a playbook",
    session_id=SessionId("test-session"),
    assistant_id=AssistantId("test-agent"),
    asker="door:python",
    opened_at=AT,
    expires_at="2026-02-01T03:04:05.678Z",
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


def folded(text: str, over: int = 85) -> str:
    """Return `text` with its long lines folded, to fit into a snapshot in either language."""
    return "\n".join(line if len(line) <= over else textwrap.fill(line, 58) for line in text.split("\n"))


def words(result: ToolResult[Any], locale: Locale = "en", *, shows_page: bool = False) -> str:
    """Return the text of a result with what to do next, for a reader who sees the page or not."""
    text = chosen([*result.text, "", *result.next], shows_page=shows_page)
    return render_text(text, translator(locale))


def test_a_listing_is_rows_with_their_number_in_the_whole() -> None:
    page = page_of(2, 2, 5)
    row = '{number}. id:{id} goal:"{goal}" initial:"{command}" steps:{steps} createdAt:{at}'
    rows = [layout(row, number=n, id=f"pb-{n}", goal=f"Goal {n}", command="go", steps=n, at=AT) for n in (3, 4)]

    result = listings.playbooks_listed(CALL, page, "")

    assert result == ToolResult(
        text=[
            say("Found {total} playbook(s) for agent {agent}.", total=5, agent="test-agent"),
            say("Showing page {page} of {pages} ({count} {count|item|items} on this page):", page=2, pages=3, count=2),
            "",
            Rows(
                rows,
                say(
                    "… {left_out} more on this page. Next: 'list_playbooks' with page {next_page}, "
                    "pageSize {shown}{others}.",
                    others="",
                ),
                offset=2,
            ),
        ],
        data=listings.PlaybookListing(page=page, formatted_text="\n".join(map(str, rows))),
        next=[
            say(
                "Next page: '{tool}' with page {page}, pageSize {size}{others}.",
                tool="list_playbooks",
                page=3,
                size=2,
                others="",
            ),
            say("Note: Use 'get_playbook' to view details or 'select_playbook' to execute a playbook."),
        ],
    )


def test_showing_and_turning_declare_the_same_page_and_pause() -> None:
    page = page_of(2, 2, 5)

    shown, turned = listings.playbooks_shown(page, page, CHOICE), listings.page_turned(page, page, 2, CHOICE)

    assert shown.page == turned.page
    assert shown.pause == turned.pause
    assert shown.data == turned.data
    assert shown.data.page == listings.playbooks_listed(CALL, page, "").data.page
    assert shown.page is not None
    assert (shown.page.name, shown.page.context) == (
        "playbooks/list",
        {
            "page": page,
            "query": "",
            "last_runs": {},
            "within": {"pauseId": "choice-1"},
            "state": "open",
            "chosen": "",
        },
    )


@pytest.mark.parametrize(
    "result",
    [
        listings.playbooks_listed(CALL, NOTHING, ""),
        listings.nothing_shown(CALL, NOTHING),
    ],
)
def test_nothing_has_no_page_and_no_pause(result: ToolResult[listings.PlaybookListing]) -> None:
    assert replace(result, refill=None) == ToolResult(
        text=[say("No playbooks found for agent {agent}.", agent="test-agent")],
        data=listings.PlaybookListing(page=NOTHING, formatted_text=""),
        next=[say("Note: Use 'create_playbook' to make one.")],
        origins=(),
    )


def test_a_page_that_is_open_already_says_that_there_are_none() -> None:
    shown = reply("playbook", "show_playbooks", replace(CALL, pages="linked"), listings.nothing_shown(CALL, NOTHING))

    assert (shown.page, shown.pause) == (None, None)
    assert "There are no playbooks yet." in shown.refill


@pytest.mark.parametrize(
    ("status", "run_id", "state", "note"),
    [
        ("open", "", "open", ""),
        ("answered", "", "answered", ""),
        ("superseded", "", "open", ""),
        ("superseded", "r", "superseded", "A newer list is open: choose there."),
        ("expired", "r", "expired", "Nobody waits for this choice any more."),
        ("withdrawn", "r", "withdrawn", "Nobody waits for this choice any more."),
    ],
)
def test_a_choice_that_is_over_cannot_be_made_again(status: PauseStatus, run_id: str, state: str, note: str) -> None:
    settled = {"arguments": {"id": "pb-3"}} if status == "answered" else {}
    choice = replace(CHOICE, status=status, run_id=run_id, settled_with=settled)
    page = page_of(2, 2, 5)
    turned = listings.page_turned(page, page, 2, choice)
    fragment = reply("playbook", "get_playbook_page", replace(CALL, pages="linked"), turned).page

    assert turned.page is not None
    assert turned.page.context["state"] == state
    assert turned.pause is not None
    assert turned.pause.id == (choice.id if status == "open" else "")
    assert fragment is not None
    assert note in fragment.fragment
    assert fragment.fragment.count('<button class="select-pb-btn"') == (1 if status == "answered" else 2)
    assert ('aria-current="true"' in fragment.fragment) == (status == "answered")
    assert len(re.findall(r"<button class=.select-pb-btn.[^>]* disabled>", fragment.fragment)) == (
        0 if state == "open" else 1 if status == "answered" else 2
    )


def test_the_words_of_changes() -> None:
    created, updated, deleted = [
        words(result)
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
        'Successfully updated playbook ID: pb-1 ("배포하기")\n\n'
        "Updated Details:\nID: pb-1\nGoal: 배포하기\n"
        f"Workflow (1 step):\n  1. Look\nCreated: {AT} | Updated: {AT} | Version: 3\n\n"
        "The playbook has been modified. Changes are immediately available. Use 'get_playbook' to read it, or "
        "'update_playbook' with expectedVersion 3 to go on changing this version."
    )
    assert deleted == (
        'Successfully deleted playbook ID: pb-1 ("배포하기")\n\n'
        "Deleted Playbook:\nGoal: 배포하기\nSteps: 1\n\n"
        "This playbook is no longer available. Use 'list_playbooks' to see remaining playbooks. For 30 days the person "
        "can take it back ('restore_playbook')."
    )


def test_a_page_turned_after_its_choice_is_over_has_no_choice_to_send() -> None:
    turned = listings.page_turned(page_of(2, 2, 5), page_of(2, 2, 5), 2, None)

    assert turned.page is not None
    assert turned.page.context["within"] == {}
    assert turned.pause is not None
    assert (turned.pause.kind, turned.pause.id) == ("choice", "")


def test_a_selection_says_which_choice_it_settled() -> None:
    settled = replace(CHOICE, status="answered", settled_by="relayed")

    answering, standalone = playbooks.playbook_selected(PLAYBOOK, settled), playbooks.playbook_selected(PLAYBOOK)

    assert (answering.settles, answering.data.by) == ("choice-1", "relayed")
    assert "Relayed: the client's model told this choice in the person's name." in words(answering)
    assert (standalone.settles, standalone.data.by) == ("", "")
    assert "Relayed" not in words(standalone)


def test_the_outcome_of_a_choice_is_what_the_selection_told() -> None:
    chosen = replace(CHOICE, status="answered", settled_with={"tool": "select_playbook", "arguments": {"id": "pb-1"}})

    outcome = playbooks.choice_outcome(chosen, PLAYBOOK)

    assert words(outcome) == words(playbooks.playbook_selected(PLAYBOOK))
    assert outcome.settles == ""
    assert words(playbooks.choice_outcome(chosen, None)).startswith("The person selected playbook pb-1, which has been")


@pytest.mark.parametrize("locale", LOCALES)
def test_the_outcomes_of_a_choice_without_a_playbook(locale: Locale) -> None:
    statuses: list[PauseStatus] = ["open", "cancelled", "expired", "withdrawn", "superseded"]
    results = [playbooks.choice_outcome(replace(CHOICE, status=status), None) for status in statuses]

    texts = [folded(reply("playbook", "show_playbooks", replace(CALL, locale=locale), one).text, 60) for one in results]

    if locale == "en":
        assert texts == snapshot(
            [
                """\
[show_playbooks] The person has not chosen a playbook yet.
Choice ID: choice-1

The choice stays open, and you will be told which playbook
the person chose. Do not show the playbooks again: go on
without one, or end your turn.\
""",
                """\
[show_playbooks] The person cancelled the choice choice-1
without choosing a playbook.
Choice ID: choice-1

No playbook was chosen. Do not show them again: tell the
person, or go on without one.\
""",
                """\
[show_playbooks] The choice choice-1 expired at
2026-02-01T03:04:05.678Z: the person chose no playbook.
Choice ID: choice-1

No playbook was chosen. Do not show them again: tell the
person, or go on without one.\
""",
                """\
[show_playbooks] The choice choice-1 was withdrawn: the
run that asked was stopped, or this session is a copy.
Choice ID: choice-1

No playbook was chosen. Do not show them again: tell the
person, or go on without one.\
""",
                """\
[show_playbooks] The choice choice-1 was superseded: the
playbooks were shown again.
Choice ID: choice-1

Wait for the choice that was asked last; call nothing for
this one.\
""",
            ]
        )
    else:
        assert texts == snapshot(
            [
                """\
[show_playbooks] 사용자가 아직 플레이북을 고르지 않았습니다.
선택 요청 ID: choice-1

선택 요청은 열려 있으며, 사용자가 플레이북을 고르면 알려 줍니다. 플레이북을 다시 보여 주지 마세요:
플레이북 없이 진행하거나 차례를 마치세요.\
""",
                """\
[show_playbooks] 사용자가 플레이북을 고르지 않고 선택 요청 choice-1을 취소했습니다.
선택 요청 ID: choice-1

고른 플레이북이 없습니다. 다시 보여 주지 마세요: 사용자에게 알리거나 플레이북 없이 진행하세요.\
""",
                """\
[show_playbooks] 선택 요청 choice-1은 2026-02-01T03:04:05.678Z에
만료되었습니다: 사용자가 플레이북을 고르지 않았습니다.
선택 요청 ID: choice-1

고른 플레이북이 없습니다. 다시 보여 주지 마세요: 사용자에게 알리거나 플레이북 없이 진행하세요.\
""",
                """\
[show_playbooks] 선택 요청 choice-1은 거두어졌습니다: 요청한 실행이 중지되었거나 이
세션이 사본입니다.
선택 요청 ID: choice-1

고른 플레이북이 없습니다. 다시 보여 주지 마세요: 사용자에게 알리거나 플레이북 없이 진행하세요.\
""",
                """\
[show_playbooks] 선택 요청 choice-1은 대체되었습니다: 플레이북을 다시 보여 주었습니다.
선택 요청 ID: choice-1

마지막으로 요청한 선택을 기다리세요. 이 요청에 대해서는 아무것도 호출하지 마세요.\
""",
            ]
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

    assert words(listings.selections_listed(page)) == snapshot("""\
Found 1 run(s), newest first.
Showing page 1 of 1 (1 item on this page):

1. run:run-1 playbook:pb-1 goal:"배포" version:2 session:s selectedAt:2026-01-02T03:04:05.678Z

Note: Use 'get_playbook' to view a playbook as it is now.\
""")


def test_views_do_not_know_how_the_client_shows_pages() -> None:
    page = page_of(1, 2, 5)

    assert listings.playbooks_listed(replace(CALL, pages="off"), page) == listings.playbooks_listed(CALL, page)


@pytest.mark.parametrize("pages", ["linked", "off"])
def test_a_choice_in_either_language_for_either_reader(pages: PageMode) -> None:
    page = page_of(2, 2, 5)

    texts = {
        locale: [
            folded(reply("playbook", tool, replace(CALL, pages=pages, locale=locale), result).text)
            for tool, result in (
                ("show_playbooks", listings.playbooks_shown(page, page, CHOICE)),
                ("get_playbook_page", listings.page_turned(page, page, 9, CHOICE)),
            )
        ]
        for locale in LOCALES
    }

    if pages == "linked":
        assert texts == snapshot(
            {
                "en": [
                    """\
[show_playbooks] Displaying 5 playbook(s) in interactive UI.
Current page: 2 of 3

Playbooks on this page:
3. id:pb-3 goal:"Goal 3" steps:3 createdAt:2026-01-02
4. id:pb-4 goal:"Goal 4" steps:4 createdAt:2026-01-02

Choice ID: choice-1
Expires: 2026-02-01T03:04:05.678Z

Status: Agent paused for user interaction
(Select/Delete/Navigate buttons available; call no tool
now, end your turn and wait for the person).\
""",
                    """\
[get_playbook_page] Navigated to page 2 of 3.
Page 9 does not exist; this is the last page.
Displaying 2 of 5 total playbook(s):

3. id:pb-3 goal:"Goal 3" steps:3 createdAt:2026-01-02
4. id:pb-4 goal:"Goal 4" steps:4 createdAt:2026-01-02

Choice ID: choice-1
Expires: 2026-02-01T03:04:05.678Z

Status: Agent paused for user interaction
(Select/Delete/Navigate buttons available; call no tool
now, end your turn and wait for the person).\
""",
                ],
                "ko": [
                    """\
[show_playbooks] 플레이북 5개를 대화형 화면에 표시합니다.
현재 페이지: 2/3

이 쪽의 플레이북:
3. id:pb-3 goal:"Goal 3" steps:3 createdAt:2026-01-02
4. id:pb-4 goal:"Goal 4" steps:4 createdAt:2026-01-02

선택 요청 ID: choice-1
만료: 2026-02-01T03:04:05.678Z

상태: 사용자 상호작용을 위해 에이전트가 일시 중지되었습니다 (선택/삭제/이동 버튼 사용 가능; 지금은
도구를 호출하지 말고 차례를 마친 뒤 사용자를 기다리세요).\
""",
                    """\
[get_playbook_page] 3쪽 중 2쪽으로 이동했습니다.
9쪽은 없습니다. 이것이 마지막 쪽입니다.
전체 5개 중 플레이북 2개를 표시합니다:

3. id:pb-3 goal:"Goal 3" steps:3 createdAt:2026-01-02
4. id:pb-4 goal:"Goal 4" steps:4 createdAt:2026-01-02

선택 요청 ID: choice-1
만료: 2026-02-01T03:04:05.678Z

상태: 사용자 상호작용을 위해 에이전트가 일시 중지되었습니다 (선택/삭제/이동 버튼 사용 가능; 지금은
도구를 호출하지 말고 차례를 마친 뒤 사용자를 기다리세요).\
""",
                ],
            }
        )
    else:
        assert texts == snapshot(
            {
                "en": [
                    """\
[show_playbooks] There are 5 playbook(s).
Current page: 2 of 3

Playbooks on this page:
3. id:pb-3 goal:"Goal 3" steps:3 createdAt:2026-01-02
4. id:pb-4 goal:"Goal 4" steps:4 createdAt:2026-01-02

Choice ID: choice-1
Expires: 2026-02-01T03:04:05.678Z

Status: Agent paused for user interaction (do not go on:
the person has not chosen yet. This client shows no page,
so tell the person these playbooks, ask which one to use
and end your turn; never choose for them. After they
reply: 'select_playbook' with its id).\
""",
                    """\
[get_playbook_page] Navigated to page 2 of 3.
Page 9 does not exist; this is the last page.
2 of 5 total playbook(s):

3. id:pb-3 goal:"Goal 3" steps:3 createdAt:2026-01-02
4. id:pb-4 goal:"Goal 4" steps:4 createdAt:2026-01-02

Choice ID: choice-1
Expires: 2026-02-01T03:04:05.678Z

Status: Agent paused for user interaction (do not go on:
the person has not chosen yet. This client shows no page,
so tell the person these playbooks, ask which one to use
and end your turn; never choose for them. After they
reply: 'select_playbook' with its id).\
""",
                ],
                "ko": [
                    """\
[show_playbooks] 플레이북이 5개 있습니다.
현재 페이지: 2/3

이 쪽의 플레이북:
3. id:pb-3 goal:"Goal 3" steps:3 createdAt:2026-01-02
4. id:pb-4 goal:"Goal 4" steps:4 createdAt:2026-01-02

선택 요청 ID: choice-1
만료: 2026-02-01T03:04:05.678Z

상태: 사용자 상호작용을 위해 에이전트가 일시 중지되었습니다 (계속하지 마세요. 사용자가 아직 고르지
않았습니다. 이 클라이언트는 화면을 보여 주지 않으니 사용자에게 이 플레이북들을 알려 주고 어느 것을
쓸지 물은 뒤 차례를 마치세요. 대신 고르지 마세요. 답을 받으면 그 ID로
'select_playbook'을 호출하세요).\
""",
                    """\
[get_playbook_page] 3쪽 중 2쪽으로 이동했습니다.
9쪽은 없습니다. 이것이 마지막 쪽입니다.
전체 플레이북 5개 중 2개:

3. id:pb-3 goal:"Goal 3" steps:3 createdAt:2026-01-02
4. id:pb-4 goal:"Goal 4" steps:4 createdAt:2026-01-02

선택 요청 ID: choice-1
만료: 2026-02-01T03:04:05.678Z

상태: 사용자 상호작용을 위해 에이전트가 일시 중지되었습니다 (계속하지 마세요. 사용자가 아직 고르지
않았습니다. 이 클라이언트는 화면을 보여 주지 않으니 사용자에게 이 플레이북들을 알려 주고 어느 것을
쓸지 물은 뒤 차례를 마치세요. 대신 고르지 마세요. 답을 받으면 그 ID로
'select_playbook'을 호출하세요).\
""",
                ],
            }
        )


def test_the_words_of_results_in_korean() -> None:
    page = page_of(2, 2, 5)
    custom = PLAYBOOK.model_copy(update={"workflow": [Step(description="Look", step_id="look")]})
    results = (
        listings.playbooks_listed(CALL, page, "goal"),
        listings.playbooks_listed(CALL, NOTHING, ""),
        playbooks.playbook_created(PLAYBOOK),
        playbooks.playbook_read(custom, 1),
        playbooks.playbook_selected(PLAYBOOK),
        playbooks.playbook_updated(PLAYBOOK),
        playbooks.playbook_deleted(PLAYBOOK),
        playbooks.playbooks_imported([PLAYBOOK]),
    )

    assert [folded(words(result, "ko")) for result in results] == snapshot(
        [
            """\
에이전트 test-agent의 플레이북 중 "goal"에 맞는 5개를 찾았습니다.
3쪽 중 2쪽 (이 쪽에 2개):

3. id:pb-3 goal:"Goal 3" initial:"go" steps:3 createdAt:2026-01-02T03:04:05.678Z
4. id:pb-4 goal:"Goal 4" initial:"go" steps:4 createdAt:2026-01-02T03:04:05.678Z

다음 쪽: 'list_playbooks' (page 3, pageSize 2, query "goal").
참고: 자세히 보려면 'get_playbook', 실행하려면 'select_playbook'을 사용하세요.\
""",
            """\
에이전트 test-agent의 플레이북이 없습니다.

참고: 'create_playbook'으로 만들 수 있습니다.\
""",
            """\
새 플레이북을 만들었습니다.
ID: pb-1
목표: 배포하기
단계: 1

이제 플레이북을 쓸 수 있습니다. 모두 보려면 'list_playbooks', 실행하려면 ID pb-1로 'select_playbook'을 사용하세요.\
""",
            """\
플레이북 상세를 가져왔습니다. ID: pb-1 (읽기만 했고 시작하지 않음)

ID: pb-1
목표: 배포하기
작업 단계 (1개):
  1. Look | ID: look
생성: 2026-01-02T03:04:05.678Z | 수정: 2026-01-02T03:04:05.678Z | 버전: 3

참고: 실행하려면 'select_playbook', 고치려면 'update_playbook'을 사용하세요.\
""",
            """\
플레이북 "배포하기" (ID: pb-1)가 실행 대상으로 선택되었습니다.

플레이북 상세:
---
ID: pb-1
목표: 배포하기
작업 단계 (1개):
  1. Look
생성: 2026-01-02T03:04:05.678Z | 수정: 2026-01-02T03:04:05.678Z | 버전: 3
---

지침:
1. 위의 작업 단계와 성공 기준을 검토하세요
2. 작업 단계에 따라 할 일을 만드세요 ('add_todo' 사용)
3. 정해진 단계에 따라 작업을 시작하세요
4. 진행 상황을 기록하고('mark_todo' 사용) 성공 기준과 대조하세요

이제 사용자에게 묻지 말고 실행을 진행하세요. 지금 첫 단계를 'add_todo'로 추가하세요.\
""",
            """\
플레이북을 수정했습니다. ID: pb-1 ("배포하기")

수정된 내용:
ID: pb-1
목표: 배포하기
작업 단계 (1개):
  1. Look
생성: 2026-01-02T03:04:05.678Z | 수정: 2026-01-02T03:04:05.678Z | 버전: 3

플레이북이 수정되어 바로 쓸 수 있습니다. 읽으려면 'get_playbook', 이 버전을 이어서
고치려면 expectedVersion 3으로 'update_playbook'을 사용하세요.\
""",
            """\
플레이북을 삭제했습니다. ID: pb-1 ("배포하기")

삭제된 플레이북:
목표: 배포하기
단계: 1

이 플레이북은 더 이상 사용할 수 없습니다. 'list_playbooks'로 남은 플레이북을 볼 수
있습니다. 30일 동안은 사용자가 되돌릴 수 있습니다('restore_playbook').\
""",
            """\
플레이북 1개를 가져왔습니다.
1. id:pb-1 goal:"배포하기"

참고: 모두 보려면 'list_playbooks', 실행하려면 'select_playbook'을 사용하세요.\
""",
        ]
    )
