"""Listings as results: rows for the model, the data, and the page for the person. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.paging import ALL, MAX_PAGE_ITEMS, Page
from madang.core.phrases import Line, Phrase, Rows, Text, layout, say
from madang.core.results import Pause, ToolResult, UiPage
from madang.core.texts import one_line
from madang.services.playbook.domain import PlaybookSummary, Selection
from madang.services.playbook.views import MAX_ROW_VALUE_CHARS

PLAYBOOKS_PAGE = "playbooks/list"
PLAYBOOKS, SELECTIONS = say("playbooks"), say("runs")


class PlaybookListing(Document):
    page: Page[PlaybookSummary]
    formatted_text: str


class SelectionListing(Document):
    page: Page[Selection]


def playbooks_listed(call: Call, page: Page[PlaybookSummary], query: str) -> ToolResult[PlaybookListing]:
    if page.total_items == 0:
        return _nothing_listed(call, page, query)
    headline = say("Found {total} playbook(s) for agent {agent}.", total=page.total_items, agent=call.assistant)
    if query:
        headline = say(
            'Found {total} playbook(s) matching "{query}" for agent {agent}.',
            total=page.total_items,
            query=query,
            agent=call.assistant,
        )
    rows = _rows(page)
    text: list[Line | Rows] = [
        headline,
        say(
            "Showing page {page} of {pages} ({count} items on this page):",
            page=page.page,
            pages=page.total_pages,
            count=len(page.items),
        ),
        *_limit_note(page),
        "",
        _list(rows),
        "",
        say("Note: Use 'get_playbook' to view details or 'select_playbook' to execute a playbook."),
    ]
    return ToolResult(text, _listing(page, rows))


def playbooks_shown(call: Call, page: Page[PlaybookSummary]) -> ToolResult[PlaybookListing]:
    if page.total_items == 0:
        return _nothing_listed(call, page)
    rows = _rows(page)
    text: list[Line | Rows] = [
        say("Displaying {total} playbook(s) in interactive UI.", total=page.total_items),
        say("Current page: {page} of {pages}", page=page.page, pages=page.total_pages),
        *_limit_note(page),
        "",
        say("Playbooks on this page:"),
        _list(rows),
    ]
    return ToolResult(text, _listing(page, rows), page=_page(page), pause=_PAUSE)


def page_turned(call: Call, page: Page[PlaybookSummary], asked_page: int) -> ToolResult[PlaybookListing]:
    if page.total_items == 0:
        return _nothing_listed(call, page)
    rows = _rows(page)
    text: list[Line | Rows] = [
        say("Navigated to page {page} of {pages}.", page=page.page, pages=page.total_pages),
    ]
    if page.page != asked_page:
        text.append(say("Page {page} does not exist; this is the last page.", page=asked_page))
    text += [
        *_limit_note(page),
        say("Displaying {count} of {total} total playbook(s):", count=len(page.items), total=page.total_items),
        "",
        _list(rows),
    ]
    return ToolResult(text, _listing(page, rows), page=_page(page), pause=_PAUSE)


def selections_listed(page: Page[Selection]) -> ToolResult[SelectionListing]:
    data = SelectionListing.model_construct(page=page)
    if page.total_items == 0:
        return ToolResult(
            [
                say("No playbook has been selected yet."),
                say("Note: Use 'select_playbook' to execute a playbook."),
            ],
            data,
        )
    rows = [
        layout(
            '{number}. run:{id} playbook:{playbook} goal:"{goal}" version:{version} session:{session} selectedAt:{at}',
            number=number,
            id=selection.id,
            playbook=selection.playbook_id,
            goal=one_line(selection.goal, MAX_ROW_VALUE_CHARS),
            version=selection.version,
            session=selection.session_id,
            at=selection.selected_at,
        )
        for number, selection in enumerate(page.items, start=_first_number(page))
    ]
    text: Text = [
        say("Found {total} run(s), newest first.", total=page.total_items),
        say(
            "Showing page {page} of {pages} ({count} items on this page):",
            page=page.page,
            pages=page.total_pages,
            count=len(page.items),
        ),
        "",
        Rows(
            rows,
            say("… {left_out} more on this page. Use 'list_playbook_runs' with a smaller pageSize to see them."),
        ),
        "",
        say("Note: Use 'get_playbook' to view a playbook as it is now."),
    ]
    return ToolResult(text, data)


_PAUSE = Pause(
    kind="choice",
    on_page=say("Select/Delete/Navigate buttons available"),
    without_page=say(
        "this client shows no page: ask the person which playbook to use, then call 'select_playbook' with its id"
    ),
)


def _nothing_listed(call: Call, page: Page[PlaybookSummary], query: str = "") -> ToolResult[PlaybookListing]:
    if query:
        headline = say('No playbooks matching "{query}" found for agent {agent}.', query=query, agent=call.assistant)
        note = say("Note: Use 'list_playbooks' without a query to see all.")
    else:
        headline = say("No playbooks found for agent {agent}.", agent=call.assistant)
        note = say("Note: Use 'create_playbook' to make one.")
    return ToolResult([headline, note], _listing(page, []))


def _listing(page: Page[PlaybookSummary], rows: Sequence[Phrase]) -> PlaybookListing:
    return PlaybookListing.model_construct(page=page, formatted_text="\n".join(map(str, rows)))


def _page(page: Page[PlaybookSummary]) -> UiPage:
    return UiPage(
        name=PLAYBOOKS_PAGE, title=say("Playbooks"), template="playbook/playbooks.html", context={"page": page}
    )


def _limit_note(page: Page[PlaybookSummary]) -> list[Phrase]:
    """Say so when everything was asked for and one answer cannot hold it."""
    if page.page_size == ALL or page.total_items <= page.page_size or page.page_size < MAX_PAGE_ITEMS:
        return []
    return [
        say(
            "One answer holds at most {limit} items: use page and pageSize for the others.",
            limit=page.page_size,
        )
    ]


def _list(rows: Sequence[Phrase]) -> Rows:
    rest = say("… {left_out} more on this page. Use 'list_playbooks' with pageSize {shown} to read them page by page.")
    return Rows(rows, rest)


def _rows(page: Page[PlaybookSummary]) -> list[Phrase]:
    return [
        layout(
            '{number}. id:{id} goal:"{goal}" initial:"{command}" steps:{steps} createdAt:{at}',
            number=number,
            id=item.id,
            goal=one_line(item.goal, MAX_ROW_VALUE_CHARS),
            command=one_line(item.initial_command, MAX_ROW_VALUE_CHARS),
            steps=item.steps,
            at=item.created_at,
        )
        for number, item in enumerate(page.items, start=_first_number(page))
    ]


def _first_number(page: Page[PlaybookSummary] | Page[Selection]) -> int:
    return 1 if page.page_size == ALL else (page.page - 1) * page.page_size + 1
