"""list_playbooks, show_playbooks and get_playbook_page: pages, texts, pauses and the page for the person."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from madang.core.ids import AssistantId
from madang.records.pauses import PauseStore
from madang.services.playbook.domain import PlaybookContent
from madang.services.playbook.store import PlaybookStore
from madang.services.playbook.tools import PlaybookTools
from tests.asking import Asker, open_asker
from tests.services.playbook.playbooks import STEP, document, given, goals

LISTS = ("list_playbooks", "show_playbooks", "get_playbook_page")


async def given_many(asker: Asker, count: int) -> None:
    await asker.done("list_playbooks")
    contents = [PlaybookContent(goal=f"Goal {number}", workflow=[]) for number in range(count)]
    await PlaybookStore(asker.database).add(asker.call, contents)


@pytest.mark.parametrize("tool", [*LISTS, "create_playbook"])
async def test_without_an_assistant_every_tool_asks_for_the_context(asker: Asker, tool: str) -> None:
    reply = await asker.with_call(assistant_id=None).ask(tool)

    assert reply.text == f"[{tool}] Error: Assistant ID not set. Please set context first."
    assert reply.data["error"]["code"] == "context_missing"


@pytest.mark.parametrize("tool", LISTS)
async def test_an_empty_list_has_no_page_and_no_pause(asker: Asker, tool: str) -> None:
    reply = await asker.ask(tool, page=1, pageSize=10)

    assert reply.text == (
        f"[{tool}] No playbooks found for agent test-agent.\n\nNote: Use 'create_playbook' to make one."
    )
    assert (reply.page, reply.pause, reply.is_error) == (None, None, False)
    assert reply.data == {
        "page": {
            "page": 1,
            "pageSize": 10,
            "totalItems": 0,
            "totalPages": 0,
            "hasNextPage": False,
            "hasPreviousPage": False,
            "items": [],
        },
        "formattedText": "",
        "next": "Note: Use 'create_playbook' to make one.",
    }


@pytest.mark.parametrize("tool", LISTS)
@pytest.mark.parametrize("size", [2, -1])
async def test_none_is_the_empty_page_whatever_its_number(asker: Asker, tool: str, size: int) -> None:
    reply = await asker.done(tool, page=2, pageSize=size)

    assert reply.text.startswith(f"[{tool}] No playbooks found for agent test-agent.\n")
    assert reply.data["page"]["page"] == 1


async def test_no_runs_are_the_empty_page_whatever_its_number(asker: Asker) -> None:
    reply = await asker.done("list_playbook_runs", page=2, pageSize=2)

    assert reply.text.startswith("[list_playbook_runs] No playbook has been selected yet.\n")


async def test_list_answers_with_text_alone_and_never_pauses(asker: Asker) -> None:
    (id,) = await given(asker, 1)

    reply = await asker.done("list_playbooks")

    created_at = reply.data["page"]["items"][0]["createdAt"]
    row = f'1. id:{id} goal:"Goal 0" initial:"" steps:0 createdAt:{created_at}'
    assert reply.text == (
        "[list_playbooks] Found 1 playbook(s) for agent test-agent.\n"
        "Showing page 1 of 1 (1 item on this page):\n"
        "\n"
        f"{row}\n"
        "\n"
        "Note: Use 'get_playbook' to view details or 'select_playbook' to execute a playbook."
    )
    assert (reply.page, reply.pause) == (None, None)
    assert reply.data["formattedText"] == row


async def test_show_answers_with_text_and_a_page_and_pauses(asker: Asker) -> None:
    (id,) = await given(asker, 1)

    reply = await asker.done("show_playbooks")

    day = reply.data["page"]["items"][0]["createdAt"][:10]
    assert reply.text == (
        "[show_playbooks] Displaying 1 playbook(s) in interactive UI.\n"
        "Current page: 1 of 1\n"
        "\n"
        "Playbooks on this page:\n"
        f'1. id:{id} goal:"Goal 0" steps:0 createdAt:{day}\n'
        "\n"
        f"Choice ID: {reply.pause_id}\n"
        f"Expires: {reply.data['pause']['expiresAt']}\n"
        "\n"
        "Status: Agent paused for user interaction (Select/Delete/Navigate buttons available; "
        "call no tool now, end your turn and wait for the person)."
    )
    assert reply.pause == "choice"
    assert document(reply).startswith("<!doctype html>")


@pytest.mark.parametrize("locale", ["en", "ko"])
async def test_where_no_page_is_shown_the_text_claims_none_and_says_to_ask(asker: Asker, locale: str) -> None:
    await given(asker, 3)
    terminal = asker.with_call(pages="off", locale=locale)

    replies = [await terminal.done(tool, page=1, pageSize=2) for tool in ("show_playbooks", "get_playbook_page")]

    for reply in replies:
        assert (reply.page, reply.pause) == (None, "choice")
        assert "'select_playbook'" in reply.text.rpartition("\n")[2]
        assert "'select_playbook'" in reply.data["next"]
        assert (reply.data["pause"]["kind"], reply.data["pause"]["status"]) == ("choice", "waiting")
        assert not re.search("Displaying|interactive|buttons|버튼", reply.text)


@pytest.mark.parametrize("pages", ["off", "linked"])
async def test_twenty_playbooks_to_choose_from_cost_at_most_three_kilobytes(asker: Asker, pages: str) -> None:
    for number in range(20):
        await asker.done(
            "create_playbook",
            goal=f"Publish the weekly report of team {number}",
            initialCommand="Write the report of this week and send it to everybody",
            workflow=[STEP],
        )

    reply = await asker.with_call(pages=pages).done("show_playbooks")

    assert len(reply.text.encode()) <= 3 * 1024


async def test_turning_the_page_stays_paused(asker: Asker) -> None:
    ids = await given(asker, 5)

    reply = await asker.done("get_playbook_page", page=2, pageSize=2)

    days = [item["createdAt"][:10] for item in reply.data["page"]["items"]]
    assert reply.text == (
        "[get_playbook_page] Navigated to page 2 of 3.\n"
        "Displaying 2 of 5 total playbook(s):\n"
        "\n"
        f'3. id:{ids[2]} goal:"Goal 2" steps:0 createdAt:{days[0]}\n'
        f'4. id:{ids[3]} goal:"Goal 3" steps:0 createdAt:{days[1]}\n'
        "\n"
        "Status: Agent paused for user interaction (Select/Delete/Navigate buttons available; "
        "call no tool now, end your turn and wait for the person)."
    )
    assert reply.pause == "choice"
    assert "Page 2 of 3 (5 total)" in document(reply)


async def test_only_selecting_wakes_a_paused_agent(asker: Asker) -> None:
    tools = await asker.provider.available_tools(asker.call)

    playbook_tools = [tool for tool in tools if "playbook" in tool.name]
    assert [tool.name for tool in playbook_tools if tool.answers_pause] == ["select_playbook"]


async def test_the_first_page_of_five(asker: Asker) -> None:
    await given(asker, 12)

    reply = await asker.done("list_playbooks", page=1, pageSize=5)

    page = reply.data["page"]
    assert goals(reply) == [f"Goal {number}" for number in range(5)]
    assert {name: value for name, value in page.items() if name != "items"} == {
        "page": 1,
        "pageSize": 5,
        "totalItems": 12,
        "totalPages": 3,
        "hasNextPage": True,
        "hasPreviousPage": False,
    }
    assert "Showing page 1 of 3 (5 items on this page):" in reply.text


async def test_the_pages_of_a_listing_hold_each_playbook_once(asker: Asker) -> None:
    await given(asker, 5)

    pages = [await asker.done("list_playbooks", page=number, pageSize=2) for number in (1, 2, 3)]

    assert [goals(page) for page in pages] == [["Goal 0", "Goal 1"], ["Goal 2", "Goal 3"], ["Goal 4"]]
    assert [page.data["page"]["hasNextPage"] for page in pages] == [True, True, False]
    assert [page.data["page"]["hasPreviousPage"] for page in pages] == [False, True, True]
    assert [page.data["page"]["totalPages"] for page in pages] == [3, 3, 3]


async def test_all_is_one_page_of_size_minus_one(asker: Asker) -> None:
    await given(asker, 10)

    page = (await asker.done("list_playbooks", pageSize=-1)).data["page"]

    assert len(page.pop("items")) == 10
    assert page == {
        "page": 1,
        "pageSize": -1,
        "totalItems": 10,
        "totalPages": 1,
        "hasNextPage": False,
        "hasPreviousPage": False,
    }


async def test_all_of_none_is_one_page(asker: Asker) -> None:
    reply = await asker.done("list_playbooks", pageSize=-1)

    assert (reply.data["page"]["totalItems"], reply.data["page"]["totalPages"]) == (0, 1)


@pytest.mark.parametrize("tool", LISTS)
async def test_all_of_more_than_a_thousand_is_the_first_thousand_and_says_so(asker: Asker, tool: str) -> None:
    await given_many(asker, 1001)

    reply = await asker.done(tool, page=1, pageSize=-1)

    page = reply.data["page"]
    assert len(page.pop("items")) == 1000
    assert page == {
        "page": 1,
        "pageSize": 1000,
        "totalItems": 1001,
        "totalPages": 2,
        "hasNextPage": True,
        "hasPreviousPage": False,
    }
    assert "One answer holds at most 1000 items: use page and pageSize for the others." in reply.text


async def test_all_of_exactly_a_thousand_is_still_all(asker: Asker) -> None:
    await given_many(asker, 1000)

    reply = await asker.done("list_playbooks")

    assert (reply.data["page"]["pageSize"], reply.data["page"]["totalPages"]) == (-1, 1)
    assert "One answer holds" not in reply.text


async def test_a_long_list_shows_fifty_rows_and_says_how_to_read_the_rest(asker: Asker) -> None:
    await given(asker, 60)

    reply = await asker.done("list_playbooks")
    rest = await asker.done("list_playbooks", page=2, pageSize=50)

    rows = re.findall(r"^\d+\. id:", reply.text, flags=re.MULTILINE)
    assert len(rows) == 50
    assert "\n… 10 more on this page. Next: 'list_playbooks' with page 2, pageSize 50.\n" in reply.text
    assert len(reply.text.encode()) < 8.5 * 1024
    assert len(reply.data["page"]["items"]) == 60
    assert rest.text.count(" id:") == 10
    assert "\n51. id:" in rest.text


async def test_a_list_with_more_pages_names_the_call_for_the_next_one(asker: Asker) -> None:
    for number in range(7):
        await asker.done("create_playbook", goal=f"even {2 * number}", workflow=[])

    plain = await asker.done("list_playbooks", page=2, pageSize=3)
    sorted_matches = await asker.done("list_playbooks", pageSize=3, query="even", sortBy="goal", sortOrder="desc")
    last = await asker.done("list_playbooks", page=3, pageSize=3)

    note = "Note: Use 'get_playbook' to view details or 'select_playbook' to execute a playbook."
    assert plain.text.endswith(f"\n\nNext page: 'list_playbooks' with page 3, pageSize 3.\n{note}")
    assert plain.data["next"] == f"Next page: 'list_playbooks' with page 3, pageSize 3.\n{note}"
    following = "Next page: 'list_playbooks' with page 2, pageSize 3, query \"even\", sortBy goal, sortOrder desc."
    assert following in sorted_matches.text
    assert "Next" not in last.text


async def test_runs_with_more_pages_name_the_call_for_the_next_one(asker: Asker) -> None:
    (id,) = await given(asker, 1)
    for _ in range(3):
        await asker.done("select_playbook", id=id)

    every = await asker.done("list_playbook_runs", pageSize=2)
    of_one = await asker.done("list_playbook_runs", pageSize=2, id=id)

    assert "\nNext page: 'list_playbook_runs' with page 2, pageSize 2.\n" in every.text
    assert f"\nNext page: 'list_playbook_runs' with page 2, pageSize 2, id {id}.\n" in of_one.text


@pytest.mark.parametrize(("page", "size"), [(1, -1), (1, 100), (2, 60), (2, 71), (3, 7)])
@pytest.mark.parametrize("goal", ["Goal", "주간 보고서를 써서 팀에 보내고 다음 주 계획을 정리하기 " * 3])
async def test_whoever_follows_the_next_calls_reads_every_row(asker: Asker, page: int, size: int, goal: str) -> None:
    """Long goals end a text before its fifty rows; the call that it names must skip none."""
    await asker.done("list_playbooks")
    contents = [PlaybookContent(goal=f"{number} {goal}", workflow=[]) for number in range(150)]
    await PlaybookStore(asker.database).add(asker.call, contents)
    first = 0 if size == -1 else (page - 1) * size
    rows: list[int] = []

    for _ in range(60):
        text = (await asker.done("list_playbooks", page=page, pageSize=size)).text
        rows += [int(number) for number in re.findall(r"^(\d+)\. id:", text, flags=re.MULTILINE)]
        following = re.search(r"Next(?: page)?: 'list_playbooks' with page (\d+), pageSize (\d+)\.", text)
        if following is None:
            break
        page, size = map(int, following.groups())

    assert sorted(set(rows)) == list(range(first + 1, 151))


async def test_a_choice_that_is_cut_names_no_next_page(asker: Asker) -> None:
    """The agent is paused there: it should ask, not read on."""
    await given(asker, 60)

    shown = await asker.done("show_playbooks")
    hidden = await asker.with_call(pages="off").done("show_playbooks")

    for reply in (shown, hidden):
        assert "\n… 10 more are not listed here; 'list_playbooks' with a query finds them.\n" in reply.text
        assert "Next" not in reply.text
    assert "\nThe person sees 50 of them at a time.\n" in shown.text
    assert "The person sees" not in hidden.text


@pytest.mark.parametrize("tool", LISTS)
@pytest.mark.parametrize("value", [0, -1, 1.5, 2.0, "2.5", " 2", True, math.nan, math.inf, [], 10**10])
async def test_a_page_that_is_no_page_number_is_refused_by_name(asker: Asker, tool: str, value: Any) -> None:
    reply = await asker.ask(tool, page=value)

    assert reply.error_code == "invalid_arguments"
    assert reply.text.startswith(f"[{tool}] Error: page: must ")
    assert reply.text.endswith("\nHint: Correct page and call again.")


@pytest.mark.parametrize("tool", LISTS)
@pytest.mark.parametrize("value", [0, -2, 1001, 1.5, "-1", True, math.nan])
async def test_a_page_size_that_is_none_is_refused_by_name(asker: Asker, tool: str, value: Any) -> None:
    reply = await asker.ask(tool, page=1, pageSize=value)

    assert reply.error_code == "invalid_arguments"
    assert reply.text.startswith(f"[{tool}] Error: pageSize: must ")


@pytest.mark.parametrize("value", [-1, 1, 1000])
async def test_the_page_sizes_at_the_edges_are_taken(asker: Asker, value: int) -> None:
    await given(asker, 2)

    assert (await asker.done("list_playbooks", pageSize=value)).data["page"]["pageSize"] == value


@pytest.mark.parametrize("tool", ["list_playbooks", "show_playbooks"])
async def test_a_page_past_the_end_names_the_number_of_pages(asker: Asker, tool: str) -> None:
    await given(asker, 25)

    reply = await asker.ask(tool, page=9, pageSize=10)

    assert reply.text == (
        f"[{tool}] Error: Page 9 does not exist: there are 3 pages (25 playbooks).\n"
        f"Hint: Use a page from 1 to 3: '{tool}' with page 3, pageSize 10 is the last."
    )
    assert reply.data["error"]["code"] == "out_of_range"
    assert (reply.page, reply.pause) == (None, None)


async def test_turning_past_the_end_goes_to_the_last_page_and_says_so(asker: Asker) -> None:
    await given(asker, 25)

    reply = await asker.done("get_playbook_page", page=9, pageSize=10)

    assert reply.text.startswith(
        "[get_playbook_page] Navigated to page 3 of 3.\nPage 9 does not exist; this is the last page.\n"
    )
    assert goals(reply) == [f"Goal {number}" for number in range(20, 25)]


async def test_the_buttons_of_a_page_send_its_own_page_size(asker: Asker) -> None:
    await given(asker, 9)

    shown = await asker.done("show_playbooks", page=2, pageSize=4)

    turns = re.findall(r'id="(?:previous|next)" data-tool="get_playbook_page" data-args="([^"]*)"', document(shown))
    assert [json.loads(unescape(arguments)) for arguments in turns] == [
        {"page": 1, "pageSize": 4, "pauseId": shown.pause_id},
        {"page": 3, "pageSize": 4, "pauseId": shown.pause_id},
    ]


async def test_the_buttons_of_a_page_send_the_choice_that_they_answer(asker: Asker) -> None:
    ids = await given(asker, 2)

    shown = await asker.done("show_playbooks")
    turned = await asker.with_call(actor="person", door="host").done(
        "get_playbook_page", page=1, pauseId=shown.pause_id
    )

    for reply in (shown, turned):
        html = document(reply)
        selects = re.findall(r'data-tool="select_playbook" data-args="([^"]*)"', html)
        assert [json.loads(unescape(one)) for one in selects] == [{"id": id, "pauseId": shown.pause_id} for id in ids]
        for refresh in re.findall(r'data-(?:then|stale)-args="([^"]*)"', html):
            assert json.loads(unescape(refresh))["pauseId"] == shown.pause_id
    assert turned.pause_id == shown.pause_id


async def test_pausing_again_supersedes_and_an_empty_list_opens_nothing(asker: Asker) -> None:
    pauses = PauseStore(asker.database)
    await asker.done("show_playbooks")
    assert await pauses.list_open(asker.call.user_id, 10) == []
    (id,) = await given(asker, 1)
    first, second = await asker.done("show_playbooks"), await asker.done("show_playbooks")

    assert [pause.id for pause in await pauses.list_open(asker.call.user_id, 10)] == [second.pause_id]
    selected = await asker.done("select_playbook", id=id)
    assert (selected.settles, first.pause_id != second.pause_id) == (second.pause_id, True)
    assert await pauses.list_open(asker.call.user_id, 10) == []


async def test_the_same_operation_shows_the_same_choice(asker: Asker) -> None:
    await given(asker, 2)
    run = asker.with_call(actor="model", run_id="run-1", operation_id="o")

    first, again = await run.done("show_playbooks"), await run.done("show_playbooks")

    assert again == first


async def test_without_a_page_size_a_page_has_ten_whatever_was_shown_before(asker: Asker) -> None:
    await given(asker, 11)
    await asker.done("show_playbooks", pageSize=3)

    reply = await asker.done("get_playbook_page", page=1)

    assert reply.data["page"]["pageSize"] == 10


async def test_turning_pages_writes_nothing(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    await given(asker, 3)
    tools = PlaybookTools(PlaybookStore(asker.database))
    shown = await tools.show_playbooks(asker.call, 1, 2)
    monkeypatch.setattr(asker.database, "write", None)

    turned = await tools.get_playbook_page(asker.call, 2, 2)

    assert (len(shown.data.page.items), len(turned.data.page.items)) == (2, 1)
    assert turned.pause == shown.pause


async def test_list_show_and_turn_agree_about_the_page(asker: Asker) -> None:
    await given(asker, 3)

    listed, shown, turned = [(await asker.done(tool, page=1, pageSize=2)).data for tool in LISTS]

    assert listed["page"] == shown["page"] == turned["page"]
    assert shown["formattedText"] == turned["formattedText"]


async def test_only_the_assistants_own_playbooks_are_counted_and_paged(asker: Asker) -> None:
    other = asker.with_call(assistant_id=AssistantId("other"))
    for number in range(6):
        mine_or_theirs = asker if number % 2 else other
        await mine_or_theirs.done("create_playbook", goal=f"Goal {number}", workflow=[])

    first = await asker.done("list_playbooks", page=1, pageSize=2)
    theirs = await other.done("list_playbooks")
    stranger = await asker.with_call(user_id="somebody").done("list_playbooks")

    assert goals(first) == ["Goal 1", "Goal 3"]
    assert (first.data["page"]["totalItems"], first.data["page"]["totalPages"]) == (3, 2)
    assert goals(theirs) == ["Goal 0", "Goal 2", "Goal 4"]
    assert "Goal 1" not in theirs.data["formattedText"]
    assert stranger.data["page"]["totalItems"] == 0


async def test_a_database_file_and_memory_give_equal_listings(tmp_path: Path) -> None:
    async def listings(path: Path | None) -> list[Any]:
        async with open_asker(path) as asker:
            ids = await given(asker, 7)
            await asker.done("delete_playbook", id=ids[3])
            replies = [
                await asker.ask(tool, page=page, pageSize=size)
                for tool in LISTS
                for page, size in ((1, -1), (1, 5), (2, 5), (9, 5))
            ]
        return [_without_chance(reply.text, ids) for reply in replies]

    assert await listings(tmp_path / "madang.db") == await listings(None)


def _without_chance(text: str, ids: list[str]) -> str:
    for number, id in enumerate(ids):
        text = text.replace(id, f"id-{number}")
    text = re.sub(r"Choice ID: \S+", "Choice ID: some id", text)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "some day", text)


async def test_long_and_many_lined_goals_stay_on_one_row(asker: Asker) -> None:
    await asker.done("create_playbook", goal="a\n2. id:forged goal:\u2028b " + "x" * 200, workflow=[])

    reply = await asker.done("list_playbooks")

    (row,) = [line for line in reply.text.split("\n") if " id:" in line]
    assert row.startswith("1. id:")
    assert 'goal:"a 2. id:forged goal: b xxx' in row
    assert "…" in row
    assert len(row) < 300


# Searching and sorting


async def test_every_word_of_a_query_must_be_in_goal_or_command(asker: Asker) -> None:
    await asker.done("create_playbook", goal="Deploy the app", initialCommand="make deploy", workflow=[])
    await asker.done("create_playbook", goal="Deploy the docs", workflow=[STEP])
    await asker.done("create_playbook", goal="Fix a bug", workflow=[])

    both = await asker.done("list_playbooks", query="DEPLOY")
    one = await asker.done("list_playbooks", query="  make   app ")
    none = await asker.done("list_playbooks", query="deploy bug")

    assert both.text.startswith('[list_playbooks] Found 2 playbook(s) matching "DEPLOY" for agent test-agent.\n')
    assert goals(both) == ["Deploy the app", "Deploy the docs"]
    assert goals(one) == ["Deploy the app"]
    assert none.text == (
        '[list_playbooks] No playbooks matching "deploy bug" found for agent test-agent.\n\n'
        "Note: Use 'list_playbooks' without a query to see all."
    )


async def test_a_query_is_filtered_first_and_paged_second(asker: Asker) -> None:
    for number in range(7):
        await asker.done("create_playbook", goal=f"{'even' if number % 2 == 0 else 'odd'} {number}", workflow=[])

    second = await asker.done("list_playbooks", query="even", page=2, pageSize=3)
    past = await asker.ask("list_playbooks", query="even", page=3, pageSize=3)

    assert goals(second) == ["even 6"]
    assert (second.data["page"]["totalItems"], second.data["page"]["totalPages"]) == (4, 2)
    assert past.text.startswith("[list_playbooks] Error: Page 3 does not exist: there are 2 pages (4 playbooks).")


@pytest.mark.parametrize("stored", ["NFC", "NFD"])
@pytest.mark.parametrize("asked", ["NFC", "NFD"])
async def test_hangul_is_found_however_it_is_composed(asker: Asker, stored: Any, asked: Any) -> None:
    goal = unicodedata.normalize(stored, "서비스 배포하기")
    await asker.done("create_playbook", goal=goal, workflow=[])

    reply = await asker.done("list_playbooks", query=unicodedata.normalize(asked, "배포"))

    assert goals(reply) == [goal]


@pytest.mark.parametrize(("query", "expected"), [("%", ["100% done"]), ("_", ["snake_case"]), ("\\", ["back\\slash"])])
async def test_wildcards_mean_themselves(asker: Asker, query: str, expected: list[str]) -> None:
    for goal in ("100% done", "snake_case", "back\\slash", "plain"):
        await asker.done("create_playbook", goal=goal, workflow=[])

    assert goals(await asker.done("list_playbooks", query=query)) == expected


@pytest.mark.parametrize("query", ["'; DROP TABLE playbook; --", '" OR 1=1', "a" * 200])
async def test_a_query_is_never_a_statement(asker: Asker, query: str) -> None:
    await given(asker, 1)

    assert goals(await asker.done("list_playbooks", query=query)) == []
    assert goals(await asker.done("list_playbooks")) == ["Goal 0"]


async def test_a_blank_query_finds_all(asker: Asker) -> None:
    await given(asker, 2)

    reply = await asker.done("list_playbooks", query="  ")

    assert reply.text.startswith("[list_playbooks] Found 2 playbook(s) for agent test-agent.")


@pytest.mark.parametrize(("field", "value"), [("sortBy", "name"), ("sortOrder", "up"), ("query", "x" * 601)])
async def test_an_unknown_order_or_too_long_query_is_refused_by_name(asker: Asker, field: str, value: str) -> None:
    reply = await asker.ask("list_playbooks", **{field: value})

    assert reply.error_code == "invalid_arguments"
    assert reply.text.startswith(f"[list_playbooks] Error: {field}: must ")


async def test_the_values_that_a_field_takes_are_listed_without_english_words(asker: Asker) -> None:
    reply = await asker.with_call(locale="ko").ask("list_playbooks", sortBy="size")

    assert "'createdAt', 'updatedAt', 'goal'" in reply.text.split("\n")[0]


async def test_updating_moves_a_playbook_to_the_end_of_the_order_by_update(asker: Asker) -> None:
    ids = await given(asker, 3)
    before = (await asker.done("get_playbook", id=ids[2])).data["playbook"]["updatedAt"]
    after = before
    while after <= before:  # the clock of the order counts milliseconds
        updated = await asker.done("update_playbook", id=ids[0], playbook={"initialCommand": "again"})
        after = updated.data["playbook"]["updatedAt"]

    by_update = await asker.done("list_playbooks", sortBy="updatedAt")
    newest_first = await asker.done("list_playbooks", sortBy="updatedAt", sortOrder="desc")

    assert goals(by_update) == ["Goal 1", "Goal 2", "Goal 0"]
    assert goals(newest_first) == ["Goal 0", "Goal 2", "Goal 1"]


async def test_goals_are_ordered_without_case_and_hangul_after_latin(asker: Asker) -> None:
    for goal in ("나무", "banana", "가지", "Apple", "cherry", "Banana"):
        await asker.done("create_playbook", goal=goal, workflow=[])

    reply = await asker.done("list_playbooks", sortBy="goal")

    assert goals(reply) == ["Apple", "banana", "Banana", "cherry", "가지", "나무"]


# The page for the person


async def test_the_page_has_the_hooks_that_other_programs_look_for(asker: Asker) -> None:
    ids = await given(asker, 3)

    html = document(await asker.done("show_playbooks", page=1, pageSize=2))

    for id in ids[:2]:
        assert f'class="select-pb-btn" data-pbid="{id}"' in html
        assert f'class="delete-pb-btn" data-pbid="{id}"' in html
    assert ids[2] not in html
    assert 'class="nav-page-btn"' in html
    assert "window.parent.postMessage" in html
    assert "Page 1 of 2 (3 total)" in html


async def test_the_list_and_its_items_have_the_hooks_of_a_listing(asker: Asker) -> None:
    await given(asker, 3)

    html = document(await asker.done("show_playbooks"))

    assert html.count('id="pb-list"') == 1
    assert html.count('<li class="pb-item"') == 3


@pytest.mark.parametrize(
    ("tool", "page", "size", "screen"),
    [
        ("show_playbooks", 1, -1, (1, 51)),
        ("show_playbooks", 2, 60, (51, 101)),
        ("get_playbook_page", 1, -1, (1, 51)),
        ("get_playbook_page", 2, 100, (101, 121)),
    ],
)
async def test_the_person_sees_at_most_fifty_rows_and_turns_them(
    asker: Asker, tool: str, page: int, size: int, screen: tuple[int, int]
) -> None:
    await given_many(asker, 120)

    reply = await asker.done(tool, page=page, pageSize=size)

    html = document(reply)
    within = {"pauseId": reply.pause_id} if reply.pause_id else {}
    first, end = screen
    assert re.findall(r"<h2[^>]*>Goal (\d+)</h2>", html) == [str(number - 1) for number in range(first, end)]
    number = first // 50 + 1
    assert f"Page {number} of 3 (120 total)" in html
    turns = re.findall(r'id="(?:previous|next)" data-tool="get_playbook_page" data-args="([^"]*)"( disabled)?', html)
    assert [(json.loads(unescape(arguments)), bool(disabled)) for arguments, disabled in turns] == [
        ({"page": number - 1, "pageSize": 50, **within}, number == 1),
        ({"page": number + 1, "pageSize": 50, **within}, number == 3),
    ]


async def test_previous_is_disabled_on_the_first_page(asker: Asker) -> None:
    await given(asker, 3)

    html = document(await asker.done("show_playbooks", page=1, pageSize=2))

    assert re.search(r'<button[^>]*data-page="0"[^>]*disabled[^>]*>← Previous', html)
    assert re.search(r'<button[^>]*data-page="2"[^>]*>Next →', html)
    assert not re.search(r'<button[^>]*data-page="2"[^>]*disabled[^>]*>Next →', html)


async def test_next_is_disabled_on_the_last_page(asker: Asker) -> None:
    await given(asker, 3)

    html = document(await asker.done("show_playbooks", page=2, pageSize=2))

    assert re.search(r'<button[^>]*data-page="3"[^>]*disabled[^>]*>Next →', html)
    assert re.search(r'<button[^>]*data-page="1"[^>]*>← Previous', html)
    assert not re.search(r'<button[^>]*data-page="1"[^>]*disabled[^>]*>← Previous', html)


async def test_in_the_middle_both_buttons_turn(asker: Asker) -> None:
    await given(asker, 5)

    html = document(await asker.done("get_playbook_page", page=2, pageSize=2))

    assert "Page 2 of 3 (5 total)" in html
    assert re.findall(r'data-page="(\d)" class="nav-page-btn"[^>]*?( disabled)?>', html) == [("1", ""), ("3", "")]


async def test_deleting_from_the_page_asks_for_the_same_page_again(asker: Asker) -> None:
    await given(asker, 5)

    html = document(await asker.done("get_playbook_page", page=2, pageSize=2))

    assert 'data-tool="delete_playbook" data-then="get_playbook_page"' in html
    assert 'data-then-args="{&#34;page&#34;:2,&#34;pageSize&#34;:2}"' in html


@pytest.mark.parametrize(
    ("goal", "escaped"),
    [
        ('<script>alert("xss")</script>', "&lt;script&gt;alert(&#34;xss&#34;)&lt;/script&gt;"),
        ("a & b", "a &amp; b"),
        ('"><img src=x onerror=alert(1)>', "&#34;&gt;&lt;img src=x onerror=alert(1)&gt;"),
        ("{{ 7 * 7 }}", "{{ 7 * 7 }}"),
    ],
)
async def test_what_others_wrote_is_escaped_on_the_page(asker: Asker, goal: str, escaped: str) -> None:
    await asker.done("create_playbook", goal=goal, initialCommand=goal, workflow=[])

    html = document(await asker.done("show_playbooks"))

    assert html.count(escaped) >= 2
    assert escaped == goal or goal not in html


async def test_without_playbooks_on_it_the_page_stays_under_12_kb(asker: Asker) -> None:
    await asker.done("create_playbook", goal="x", workflow=[])

    reply = await asker.done("show_playbooks")

    assert reply.page is not None
    assert len(reply.page.document.encode()) - len(reply.page.fragment.encode()) < 24 * 1024
