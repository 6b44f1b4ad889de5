"""Listings as results: rows for the model, the data, and the page for the person. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.limits import MAX_REPLY_BYTES, MAX_REPLY_ROWS
from madang.core.paging import ALL, MAX_PAGE_ITEMS, Page
from madang.core.pauses import PauseForm, PauseOption, PauseRecord, PauseStatus
from madang.core.phrases import ByPage, Line, Phrase, Rows, layout, say
from madang.core.results import Pause, ToolResult, UiPage
from madang.core.texts import one_line
from madang.services.playbook.domain import PlaybookSummary, Selection, chosen_id
from madang.services.playbook.views import MAX_ROW_VALUE_CHARS

PLAYBOOKS_PAGE = "playbooks/list"
PLAYBOOKS, SELECTIONS = say("playbooks"), say("runs")
MAX_SCREEN_ROWS = 50
"""How many playbooks the person sees at a time, however many were asked for."""
NO_RUNS: Mapping[str, str] = MappingProxyType({})


class PlaybookListing(Document):
    page: Page[PlaybookSummary]
    formatted_text: str


class SelectionListing(Document):
    page: Page[Selection]


def playbooks_listed(
    call: Call, page: Page[PlaybookSummary], query: str = "", sort_by: str = "createdAt", sort_order: str = "asc"
) -> ToolResult[PlaybookListing]:
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
    arguments = _arguments(
        query=f'"{query}"' if query else "",
        sortBy="" if sort_by == "createdAt" else sort_by,
        sortOrder="" if sort_order == "asc" else sort_order,
    )
    rest = say(
        "… {left_out} more on this page. Next: 'list_playbooks' with page {next_page}, pageSize {shown}{others}.",
        others=arguments,
    )
    text: list[Line | Rows] = [headline, _showing(page), *_limit_note(page), "", Rows(rows, rest, _offset(page))]
    return ToolResult(
        text,
        _listing(page, rows),
        next=[
            *_next_page("list_playbooks", page, rows, arguments),
            say("Note: Use 'get_playbook' to view details or 'select_playbook' to execute a playbook."),
        ],
    )


def nothing_shown(call: Call, page: Page[PlaybookSummary], query: str = "") -> ToolResult[PlaybookListing]:
    """Return the result where there is nothing to choose from: no pause, and no page but one that is open already."""
    return replace(_nothing_listed(call, page, query), refill=_page(page, query=query))


def playbooks_shown(
    page: Page[PlaybookSummary],
    screen: Page[PlaybookSummary],
    choice: PauseRecord | None,
    last_runs: Mapping[str, str] = NO_RUNS,
) -> ToolResult[PlaybookListing]:
    """Return what the model reads of `page`, and `screen` for the person, who has this choice if it could be kept.

    `last_runs` are the moments at which playbooks on screen were selected last, by their ids.
    """
    rows = _choices(page)
    text: list[Line | Rows] = [
        ByPage(
            shown=say("Displaying {total} playbook(s) in interactive UI.", total=page.total_items),
            hidden=say("There are {total} playbook(s).", total=page.total_items),
        ),
        say("Current page: {page} of {pages}", page=page.page, pages=page.total_pages),
        *_limit_note(page),
        *_screen_note(page, screen),
        "",
        say("Playbooks on this page:"),
        Rows(rows, _REST_OF_CHOICES),
    ]
    if choice:
        text += ["", *_choice_lines(choice)]
    return ToolResult(text, _listing(page, rows), page=_page(screen, choice, last_runs), pause=_pause(choice))


def page_turned(
    page: Page[PlaybookSummary],
    screen: Page[PlaybookSummary],
    asked_page: int,
    choice: PauseRecord | None,
    last_runs: Mapping[str, str] = NO_RUNS,
    query: str = "",
) -> ToolResult[PlaybookListing]:
    """Return another page within the choice. One that is settled shows the person how, and pauses for none."""
    shown = _page(screen, choice, last_runs, query)
    if choice and not choice.is_open:
        choice = None
    rows = _choices(page)
    text: list[Line | Rows] = [
        say("Navigated to page {page} of {pages}.", page=page.page, pages=page.total_pages),
    ]
    if page.page != asked_page:
        text.append(say("Page {page} does not exist; this is the last page.", page=asked_page))
    count, total = len(page.items), page.total_items
    text += [
        *_limit_note(page),
        ByPage(
            shown=say("Displaying {count} of {total} total playbook(s):", count=count, total=total),
            hidden=say("{count} of {total} total playbook(s):", count=count, total=total),
        ),
        *_screen_note(page, screen),
        "",
        Rows(rows, _REST_OF_CHOICES),
    ]
    if choice:
        text += ["", *_choice_lines(choice)]
    return ToolResult(text, _listing(page, rows), page=shown, pause=_pause(choice))


def choice_form(choice: PauseRecord, page: Page[PlaybookSummary]) -> PauseForm:
    """Return what the person needs to choose one of the assistant's playbooks."""
    options = tuple(PauseOption(item.id, item.goal) for item in page.items)
    left_out = page.total_items - len(options)
    return PauseForm(choice, "choice", choice.heading, choice.heading, options, left_out)


def selections_listed(page: Page[Selection], playbook_id: str = "") -> ToolResult[SelectionListing]:
    data = SelectionListing.model_construct(page=page)
    if page.total_items == 0:
        return ToolResult(
            [say("No playbook has been selected yet.")],
            data,
            next=[say("Note: Use 'select_playbook' to execute a playbook.")],
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
        for number, selection in enumerate(page.items, start=_offset(page) + 1)
    ]
    arguments = _arguments(id=playbook_id)
    rest = say(
        "… {left_out} more on this page. Next: 'list_playbook_runs' with page {next_page}, pageSize {shown}{others}.",
        others=arguments,
    )
    text: list[Line | Rows] = [
        say("Found {total} run(s), newest first.", total=page.total_items),
        _showing(page),
        "",
        Rows(rows, rest, _offset(page)),
    ]
    return ToolResult(
        text,
        data,
        next=[
            *_next_page("list_playbook_runs", page, rows, arguments),
            say("Note: Use 'get_playbook' to view a playbook as it is now."),
        ],
    )


def _pause(choice: PauseRecord | None) -> Pause:
    return Pause(
        kind="choice",
        on_page=say(
            "Select/Delete/Navigate buttons available; call no tool now, end your turn and wait for the person"
        ),
        without_page=say(
            "do not go on: the person has not chosen yet. This client shows no page, so tell the person these "
            "playbooks, ask which one to use and end your turn; never choose for them. After they reply: "
            "'select_playbook' with its id"
        ),
        id=choice.id if choice else "",
        expires_at=choice.expires_at if choice else "",
    )


def _choice_lines(choice: PauseRecord) -> list[Phrase]:
    return [say("Choice ID: {id}", id=choice.id), say("Expires: {at}", at=choice.expires_at)]


_REST_OF_CHOICES = say(
    "… {left_out} more {left_out|is|are} not listed here; 'list_playbooks' with a query finds {left_out|it|them}."
)


def _nothing_listed(call: Call, page: Page[PlaybookSummary], query: str = "") -> ToolResult[PlaybookListing]:
    if query:
        headline = say('No playbooks matching "{query}" found for agent {agent}.', query=query, agent=call.assistant)
        note = say("Note: Use 'list_playbooks' without a query to see all.")
    else:
        headline = say("No playbooks found for agent {agent}.", agent=call.assistant)
        note = say("Note: Use 'create_playbook' to make one.")
    return ToolResult([headline], _listing(page, []), next=[note], origins=())


def _listing(page: Page[PlaybookSummary], rows: Sequence[Phrase]) -> PlaybookListing:
    return PlaybookListing.model_construct(page=page, formatted_text="\n".join(map(str, rows)))


def _page(
    page: Page[PlaybookSummary],
    choice: PauseRecord | None = None,
    last_runs: Mapping[str, str] = NO_RUNS,
    query: str = "",
) -> UiPage:
    context = {
        "page": page,
        "query": query,
        "last_runs": last_runs,
        # What the buttons send beside their own arguments, so that they answer this choice, whoever presses them.
        "within": {"pauseId": choice.id} if choice else {},
        "state": _state(choice),
        "chosen": chosen_id(choice) if choice else "",
    }
    return UiPage(name=PLAYBOOKS_PAGE, title=say("Playbooks"), template="playbook/playbooks.html", context=context)


def _state(choice: PauseRecord | None) -> PauseStatus:
    """Return how the choice stands for the person.

    Where no run waits, a list that is out of date can still be chosen from: that answers the newest choice.
    """
    return choice.status if choice and (choice.run_id or choice.status == "answered") else "open"


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


def _showing(page: Page[PlaybookSummary] | Page[Selection]) -> Phrase:
    return say(
        "Showing page {page} of {pages} ({count} {count|item|items} on this page):",
        page=page.page,
        pages=page.total_pages,
        count=len(page.items),
    )


def _screen_note(page: Page[PlaybookSummary], screen: Page[PlaybookSummary]) -> list[ByPage]:
    """Tell the model when the person does not see at once what it reads."""
    if len(page.items) <= len(screen.items):
        return []
    return [ByPage(shown=say("The person sees {count} of them at a time.", count=screen.page_size))]


def _next_page(
    tool: str, page: Page[PlaybookSummary] | Page[Selection], rows: Sequence[Phrase], others: str
) -> list[Phrase]:
    """Return the call for the next page. A list that the text cannot hold goes on within its own page instead."""
    if not page.has_next_page or len(rows) > MAX_REPLY_ROWS:
        return []
    if sum(len(str(row).encode()) + 1 for row in rows) > MAX_REPLY_BYTES:
        return []
    return [
        say(
            "Next page: '{tool}' with page {page}, pageSize {size}{others}.",
            tool=tool,
            page=page.page + 1,
            size=page.page_size,
            others=others,
        )
    ]


def _arguments(**values: str) -> str:
    """Return the arguments that a next call repeats, so that it goes on in the same listing."""
    return "".join(f", {name} {value}" for name, value in values.items() if value)


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
        for number, item in enumerate(page.items, start=_offset(page) + 1)
    ]


def _choices(page: Page[PlaybookSummary]) -> list[Phrase]:
    """Return the rows that a person chooses from: without what they do not choose by, which costs a third more."""
    return [
        layout(
            '{number}. id:{id} goal:"{goal}" steps:{steps} createdAt:{day}',
            number=number,
            id=item.id,
            goal=one_line(item.goal, MAX_ROW_VALUE_CHARS),
            steps=item.steps,
            day=item.created_at[:10],
        )
        for number, item in enumerate(page.items, start=_offset(page) + 1)
    ]


def _offset(page: Page[PlaybookSummary] | Page[Selection]) -> int:
    return 0 if page.page_size == ALL else (page.page - 1) * page.page_size
