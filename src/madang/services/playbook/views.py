"""Playbooks as results: what the model reads, the data, and the page for the person. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.paging import ALL, Page
from madang.core.phrases import Block, Line, Phrase, Rows, Text, layout, say
from madang.core.resources import Resource, ResourceTemplate
from madang.core.results import Pause, ToolResult, UiPage
from madang.core.texts import one_line
from madang.services.playbook.domain import Playbook, PlaybookRun, PlaybookSummary, Step

PAGE = "playbooks/list"
PLAYBOOKS, RUNS = say("playbooks"), say("runs")
MAX_GOAL_IN_ROW_CHARS = 100
MAX_SKILL_DESCRIPTION_CHARS = 1024


class PlaybookChanged(Document):
    success: bool
    playbook: Playbook


class PlaybookDetails(Document):
    playbook: Playbook


class PlaybookDeleted(Document):
    success: bool
    id: str


class PlaybookListing(Document):
    page: Page[PlaybookSummary]
    formatted_text: str


class RunListing(Document):
    page: Page[PlaybookRun]


class PlaybooksExported(Document):
    format: str
    count: int
    document: str


class PlaybooksImported(Document):
    success: bool
    count: int
    ids: list[str]


def created(playbook: Playbook) -> ToolResult[PlaybookChanged]:
    text: Text = [
        say("Successfully created new playbook."),
        say("ID: {id}", id=playbook.id),
        say("Goal: {goal}", goal=playbook.goal),
        say("Steps: {steps}", steps=len(playbook.workflow)),
        "",
        say(
            "The playbook is now available. Use 'list_playbooks' to see all playbooks, or 'select_playbook' with ID "
            "{id} to execute it.",
            id=playbook.id,
        ),
    ]
    return ToolResult(text, PlaybookChanged.model_construct(success=True, playbook=playbook))


def listed(call: Call, page: Page[PlaybookSummary], query: str) -> ToolResult[PlaybookListing]:
    if page.total_items == 0:
        return _none(call, page, query)
    found = say("Found {total} playbook(s) for agent {agent}.", total=page.total_items, agent=call.assistant)
    if query:
        found = say(
            'Found {total} playbook(s) matching "{query}" for agent {agent}.',
            total=page.total_items,
            query=query,
            agent=call.assistant,
        )
    lines = _lines(page)
    text: list[Line | Rows] = [
        found,
        say(
            "Showing page {page} of {pages} ({count} items on this page):",
            page=page.page,
            pages=page.total_pages,
            count=len(page.items),
        ),
        *_cut_note(page),
        "",
        _rows(lines),
        "",
        say("Note: Use 'get_playbook' to view details or 'select_playbook' to execute a playbook."),
    ]
    return ToolResult(text, _listing(page, lines))


def shown(call: Call, page: Page[PlaybookSummary]) -> ToolResult[PlaybookListing]:
    if page.total_items == 0:
        return _none(call, page)
    lines = _lines(page)
    text: list[Line | Rows] = [
        say("Displaying {total} playbook(s) in interactive UI.", total=page.total_items),
        say("Current page: {page} of {pages}", page=page.page, pages=page.total_pages),
        *_cut_note(page),
        "",
        say("Playbooks on this page:"),
        _rows(lines),
    ]
    return ToolResult(text, _listing(page, lines), page=_page(page), pause=_PAUSE)


def navigated(call: Call, page: Page[PlaybookSummary], asked_page: int) -> ToolResult[PlaybookListing]:
    if page.total_items == 0:
        return _none(call, page)
    lines = _lines(page)
    text: list[Line | Rows] = [
        say("Navigated to page {page} of {pages}.", page=page.page, pages=page.total_pages),
    ]
    if page.page != asked_page:
        text.append(say("Page {page} does not exist; this is the last page.", page=asked_page))
    text += [
        *_cut_note(page),
        say("Displaying {count} of {total} total playbook(s):", count=len(page.items), total=page.total_items),
        "",
        _rows(lines),
    ]
    return ToolResult(text, _listing(page, lines), page=_page(page), pause=_PAUSE)


def retrieved(playbook: Playbook, from_step: int) -> ToolResult[PlaybookDetails]:
    text: Text = [
        say("Retrieved playbook details for ID: {id}", id=playbook.id),
        "",
        *_details(playbook, from_step),
        "",
        say("Note: Use 'select_playbook' to execute this playbook, or 'update_playbook' to modify it."),
    ]
    return ToolResult(text, PlaybookDetails.model_construct(playbook=playbook))


def selected(playbook: Playbook) -> ToolResult[PlaybookDetails]:
    text: Text = [
        say(
            'Playbook "{goal}" (ID: {id}) has been selected for execution.',
            goal=playbook.goal,
            id=playbook.id,
        ),
        "",
        say("Playbook Details:"),
        "---",
        *_details(playbook),
        "---",
        "",
        say("Instructions:"),
        say("1. Review the workflow steps and success criteria above"),
        say("2. Establish todos based on the workflow steps (use 'add_todo')"),
        say("3. Begin executing the tasks according to the defined steps"),
        say("4. Track progress (use 'mark_todo') and verify against success criteria"),
        "",
        say("You may now proceed with execution."),
    ]
    return ToolResult(text, PlaybookDetails.model_construct(playbook=playbook))


def updated(playbook: Playbook) -> ToolResult[PlaybookChanged]:
    text: Text = [
        say("Successfully updated playbook ID: {id}", id=playbook.id),
        "",
        say("Updated Details:"),
        *_details(playbook),
        "",
        say(
            "The playbook has been modified. Changes are immediately available. Use 'get_playbook' to read it, or "
            "'update_playbook' with expectedVersion {version} to go on changing this version.",
            version=playbook.version,
        ),
    ]
    return ToolResult(text, PlaybookChanged.model_construct(success=True, playbook=playbook))


def deleted(playbook: Playbook) -> ToolResult[PlaybookDeleted]:
    text: Text = [
        say("Successfully deleted playbook ID: {id}", id=playbook.id),
        "",
        say("Deleted Playbook:"),
        say("Goal: {goal}", goal=playbook.goal),
        say("Steps: {steps}", steps=len(playbook.workflow)),
        "",
        say("This playbook is no longer available. Use 'list_playbooks' to see remaining playbooks."),
    ]
    return ToolResult(text, PlaybookDeleted(success=True, id=playbook.id))


def runs_listed(page: Page[PlaybookRun]) -> ToolResult[RunListing]:
    data = RunListing.model_construct(page=page)
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
            id=run.id,
            playbook=run.playbook_id,
            goal=one_line(run.goal, MAX_GOAL_IN_ROW_CHARS),
            version=run.version,
            session=run.session_id,
            at=run.selected_at,
        )
        for number, run in enumerate(page.items, start=_first(page))
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


def exported(document: str, format: str, count: int, left_out: int) -> ToolResult[PlaybooksExported]:
    text: list[Line | Rows] = [say("Exported {count} playbook(s) as {format}.", count=count, format=format.upper())]
    if left_out:
        text.append(say("{count} more were left out: name them with 'ids'.", count=left_out))
    text += [
        "",
        Rows(
            # Only at \n: the other line ends that Python knows are data inside a JSON text.
            [Block(line, margin="") for line in document.removesuffix("\n").split("\n")],
            say(
                "… {left_out} more line(s): the text ends here, the document does not. It is whole in the structured "
                "result; to read it here, export fewer playbooks at a time with 'ids'."
            ),
        ),
        "",
        say("Note: Use 'import_playbooks' with the whole document to add these playbooks to another assistant."),
    ]
    data = PlaybooksExported.model_construct(format=format, count=count, document=document)
    return ToolResult(text, data)


def imported(playbooks: Sequence[Playbook]) -> ToolResult[PlaybooksImported]:
    rows = [
        layout('{number}. id:{id} goal:"{goal}"', number=number, id=p.id, goal=one_line(p.goal, MAX_GOAL_IN_ROW_CHARS))
        for number, p in enumerate(playbooks, start=1)
    ]
    text: Text = [
        say("Successfully imported {count} playbook(s).", count=len(playbooks)),
        "",
        Rows(rows, say("… {left_out} more. Use 'list_playbooks' to see them.")),
        "",
        say("Note: Use 'list_playbooks' to see all playbooks, or 'select_playbook' to execute one."),
    ]
    data = PlaybooksImported.model_construct(success=True, count=len(playbooks), ids=[p.id for p in playbooks])
    return ToolResult(text, data)


def skill(playbook: Playbook) -> Resource:
    """Return a playbook as a skill: the same steps, for clients that know skills."""
    name = f"{_SKILL_PREFIX}{playbook.id}"
    description = "".join(c for c in " ".join(playbook.goal.split()) if c.isprintable())[:MAX_SKILL_DESCRIPTION_CHARS]
    return Resource(
        uri=skill_uri(playbook.id),
        name=name,
        title=description,
        body=["", f"# {description}", "", *_details(playbook)],
        frontmatter={"name": name, "description": description or name},
    )


def skill_uri(id: str) -> str:
    return f"skill://{_SKILL_PREFIX}{id}/SKILL.md"


def skill_playbook_id(uri: str) -> str:
    """Return the id of the playbook that is served under `uri`, or an empty text."""
    prefix, suffix = f"skill://{_SKILL_PREFIX}", "/SKILL.md"
    return uri[len(prefix) : -len(suffix)] if uri.startswith(prefix) and uri.endswith(suffix) else ""


_SKILL_PREFIX = "playbook-"

SKILL_TEMPLATE = ResourceTemplate(uri_template=skill_uri("{id}"), name="playbook", title="A playbook as a skill")

_PAUSE = Pause(
    kind="choice",
    on_page=say("Select/Delete/Navigate buttons available"),
    without_page=say(
        "this client shows no page: ask the person which playbook to use, then call 'select_playbook' with its id"
    ),
)


def _none(call: Call, page: Page[PlaybookSummary], query: str = "") -> ToolResult[PlaybookListing]:
    if query:
        said = say('No playbooks matching "{query}" found for agent {agent}.', query=query, agent=call.assistant)
        return ToolResult([said, say("Note: Use 'list_playbooks' without a query to see all.")], _listing(page, []))
    said = say("No playbooks found for agent {agent}.", agent=call.assistant)
    return ToolResult([said, say("Note: Use 'create_playbook' to make one.")], _listing(page, []))


def _listing(page: Page[PlaybookSummary], lines: Sequence[Phrase]) -> PlaybookListing:
    return PlaybookListing.model_construct(page=page, formatted_text="\n".join(map(str, lines)))


def _page(page: Page[PlaybookSummary]) -> UiPage:
    return UiPage(name=PAGE, title=say("Playbooks"), template="playbook/playbooks.html", context={"page": page})


def _cut_note(page: Page[PlaybookSummary]) -> list[Phrase]:
    """Say so when everything was asked for and it was more than one answer holds."""
    if page.page_size == ALL or page.total_items <= page.page_size or page.page_size < 1000:
        return []
    return [
        say(
            "One answer holds at most {limit} items: use page and pageSize for the others.",
            limit=page.page_size,
        )
    ]


def _rows(lines: Sequence[Phrase]) -> Rows:
    rest = say("… {left_out} more on this page. Use 'list_playbooks' with pageSize {shown} to read them page by page.")
    return Rows(lines, rest)


def _lines(page: Page[PlaybookSummary]) -> list[Phrase]:
    return [
        layout(
            '{number}. id:{id} goal:"{goal}" initial:"{command}" steps:{steps} createdAt:{at}',
            number=number,
            id=item.id,
            goal=one_line(item.goal, MAX_GOAL_IN_ROW_CHARS),
            command=one_line(item.initial_command, MAX_GOAL_IN_ROW_CHARS),
            steps=item.steps,
            at=item.created_at,
        )
        for number, item in enumerate(page.items, start=_first(page))
    ]


def _first(page: Page[PlaybookSummary] | Page[PlaybookRun]) -> int:
    return 1 if page.page_size == ALL else (page.page - 1) * page.page_size + 1


def _details(playbook: Playbook, from_step: int = 1) -> list[Line | Rows]:
    steps = [_step(number, step) for number, step in enumerate(playbook.workflow, start=1)]
    lines: list[Line | Rows] = [
        say("ID: {id}", id=playbook.id),
        say("Goal: {goal}", goal=playbook.goal),
    ]
    if playbook.initial_command:
        lines.append(say("Initial command: {command}", command=playbook.initial_command))
    if playbook.workflow:
        lines.append(say("Workflow ({count} steps):", count=len(playbook.workflow)))
        if from_step > 1:
            lines.append(say("  (from step {first})", first=from_step))
        rest = say(
            "  … {left_out} more step(s). Use 'get_playbook' with id {id} and a later fromStep to read them.",
            id=playbook.id,
        )
        lines.append(Rows(steps[from_step - 1 :], rest))
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


def _step(number: int, step: Step) -> Phrase:
    """Return a step as one row, with the parts it has."""
    row = say("  {number}. {description}", number=number, description=step.description)
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
