"""What an agent, or a person on a page, can do with playbooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import Unavailable
from madang.core.executor import Executor
from madang.core.paging import ALL, MAX_PAGE_ITEMS, Page, PageNumber, PageSize, check_page
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.services.playbook import engine
from madang.services.playbook.domain import (
    Command,
    PlaybookContent,
    PlaybookGoal,
    PlaybookPatch,
    PlaybookSummary,
    SuccessCriteria,
    Workflow,
    content_of,
)
from madang.services.playbook.store import PageRequest, PlaybookStore, SortBy, SortOrder
from madang.services.playbook.views import listings, playbooks

PlaybookId = Annotated[str, Field(min_length=1, max_length=100)]
PauseId = Annotated[str, Field(max_length=100)]
Version = Annotated[int, Field(ge=1, le=10**9)]
StepNumber = Annotated[int, Field(ge=1, le=200)]
# Room for decomposed Hangul: up to three characters a syllable.
PlaybookQuery = Annotated[str, Field(max_length=600)]

DEFAULT_PAGE_ITEMS = 10
EXPORT_BATCH_PLAYBOOKS = 50


class ChosenPlaybook(Document):
    """What answers a choice."""

    id: PlaybookId


class PlaybookTools:
    """The tools of the playbook service."""

    def __init__(self, store: PlaybookStore, executor: Executor | None = None) -> None:
        self._store = store
        self._executor = executor or Executor()

    @tool(effect="write", reach="assistant", restorable=True, once_per_operation=True)
    async def create_playbook(
        self,
        call: Call,
        goal: PlaybookGoal,
        workflow: Workflow,
        initial_command: Command = "",
        success_criteria: SuccessCriteria | None = None,
    ) -> ToolResult[playbooks.PlaybookChanged]:
        """Keep a reusable workflow for this assistant, when a way of working should be repeatable. A step is an object:
        {description*, action: {toolName, purpose}, requiredData[], outputVariable}."""
        content = PlaybookContent.model_construct(
            goal=goal,
            initial_command=initial_command,
            workflow=workflow,
            success_criteria=success_criteria or SuccessCriteria(),
        )
        (playbook,) = await self._store.add(call, [content])
        return playbooks.playbook_created(playbook)

    @tool(effect="read")
    async def list_playbooks(
        self,
        call: Call,
        page: PageNumber = 1,
        page_size: PageSize = ALL,
        query: PlaybookQuery = "",
        sort_by: SortBy = "createdAt",
        sort_order: SortOrder = "asc",
    ) -> ToolResult[listings.PlaybookListing]:
        """List this assistant's playbooks as text, without pausing. All words of a query must be in goal or command."""
        query = query.strip()
        request = PageRequest(page, page_size, query, sort_by, sort_order)
        listed = await self._store.list_page(call, request)
        check_page(page, listed, listings.PLAYBOOKS, "list_playbooks")
        return listings.playbooks_listed(call, listed, query, sort_by, sort_order)

    @tool(effect="write", page=listings.PLAYBOOKS_PAGE, once_per_operation=True)
    async def show_playbooks(
        self, call: Call, page: PageNumber = 1, page_size: PageSize = ALL
    ) -> ToolResult[listings.PlaybookListing]:
        """Let the person choose a playbook. Pauses: end your turn."""
        listed = await self._store.list_page(call, PageRequest(page, page_size))
        check_page(page, listed, listings.PLAYBOOKS, "show_playbooks")
        if listed.total_items == 0:
            return listings.nothing_shown(call, listed)
        screen = await self._screen(call, listed)
        last_runs = await self._last_runs(call, screen)
        try:
            choice = await self._store.open_choice(call)
        except Unavailable:
            if call.run_id:
                raise  # a run waits for the choice: it has to be kept
            choice = None
        return listings.playbooks_shown(listed, screen, choice, last_runs)

    @tool(effect="read", audience="person", page=listings.PLAYBOOKS_PAGE)
    async def get_playbook_page(
        self,
        call: Call,
        page: PageNumber,
        page_size: PageSize = DEFAULT_PAGE_ITEMS,
        pause_id: PauseId = "",
        query: PlaybookQuery = "",
    ) -> ToolResult[listings.PlaybookListing]:
        """For the buttons of show_playbooks."""
        query = query.strip()
        listed = await self._store.list_page(call, PageRequest(page, page_size, query))
        if listed.total_items == 0:
            return listings.nothing_shown(call, listed, query)
        screen = await self._screen(call, listed, query)
        choice = await self._store.get_choice(call, pause_id)
        return listings.page_turned(listed, screen, page, choice, await self._last_runs(call, screen), query)

    @tool(effect="read")
    async def get_playbook(
        self, call: Call, id: PlaybookId, from_step: StepNumber = 1
    ) -> ToolResult[playbooks.PlaybookDetails]:
        """Read one playbook with its steps and success criteria."""
        playbook = await self._store.get(call, id)
        if from_step > max(1, len(playbook.workflow)):
            raise playbooks.no_such_step(playbook, from_step)
        return playbooks.playbook_read(playbook, from_step)

    @tool(effect="write", answers_pause=True, buttons_on=(listings.PLAYBOOKS_PAGE,), once_per_operation=True)
    async def select_playbook(
        self, call: Call, id: PlaybookId, pause_id: PauseId = ""
    ) -> ToolResult[playbooks.PlaybookSelected]:
        """Select a playbook for execution: returns its steps and how to proceed."""
        return playbooks.playbook_selected(*await self._store.select(call, id, pause_id))

    @tool(effect="write", reach="assistant", restorable=True, once_per_operation=True)
    async def update_playbook(
        self, call: Call, id: PlaybookId, playbook: PlaybookPatch, expected_version: Version | None = None
    ) -> ToolResult[playbooks.PlaybookChanged]:
        """Change a playbook: given fields ({goal, initialCommand, workflow, successCriteria}) replace the old, workflow
        as a whole. expectedVersion avoids races."""
        return playbooks.playbook_updated(await self._store.update(call, id, playbook, expected_version))

    @tool(
        effect="destroy",
        idempotent=True,
        reach="assistant",
        restorable=True,
        once_per_operation=True,
        buttons_on=(listings.PLAYBOOKS_PAGE,),
    )
    async def delete_playbook(self, call: Call, id: PlaybookId) -> ToolResult[playbooks.PlaybookDeleted]:
        """Delete a playbook. Its past runs stay listed."""
        return playbooks.playbook_deleted(await self._store.delete(call, id))

    @tool(effect="write", audience="person", idempotent=True, restorable=True, once_per_operation=True)
    async def restore_playbook(self, call: Call, id: PlaybookId) -> ToolResult[playbooks.PlaybookChanged]:
        """Take back a delete_playbook."""
        return playbooks.playbook_restored(await self._store.restore(call, id))

    @tool(effect="read")
    async def list_playbook_runs(
        self, call: Call, id: PlaybookId | None = None, page: PageNumber = 1, page_size: PageSize = ALL
    ) -> ToolResult[listings.SelectionListing]:
        """List when playbooks were selected, newest first; of one if id is given."""
        selections = await self._store.selections(call, page, page_size, id or "")
        check_page(page, selections, listings.SELECTIONS, "list_playbook_runs")
        return listings.selections_listed(selections, id or "")

    @tool(effect="read")
    async def export_playbooks(
        self,
        call: Call,
        ids: Annotated[list[PlaybookId], Field(min_length=1, max_length=MAX_PAGE_ITEMS)] | None = None,
        format: engine.Format = "yaml",
    ) -> ToolResult[playbooks.PlaybooksExported]:
        """Write playbooks (all, or those named) as one document for import_playbooks."""
        total = await self._store.total(call) if ids is None else len(ids)
        contents = await self._exportable(call, ids or await self._store.all_ids(call, MAX_PAGE_ITEMS))
        document, count = await self._executor.native.run_stoppable(
            call, lambda stop: engine.write_importable(contents, format, stop)
        )
        return playbooks.playbooks_exported(document, format, count, total - count)

    @tool(effect="write", reach="assistant", restorable=True, once_per_operation=True)
    async def import_playbooks(
        self, call: Call, document: Annotated[str, Field(min_length=1, max_length=engine.MAX_IMPORT_CHARS)]
    ) -> ToolResult[playbooks.PlaybooksImported]:
        """Add the playbooks of a document made by export_playbooks, all or none."""
        lane = self._executor.native if engine.needs_child(document) else self._executor.slow
        contents = await lane.run_stoppable(call, lambda stop: engine.read_document(document, stop))
        return playbooks.playbooks_imported(await self._store.add(call, contents))

    async def _screen(self, call: Call, listed: Page[PlaybookSummary], query: str = "") -> Page[PlaybookSummary]:
        """Return what the person sees of a listing: the page on screen that holds its first row."""
        if len(listed.items) <= listings.MAX_SCREEN_ROWS and listed.page_size <= listings.MAX_SCREEN_ROWS:
            return listed
        first = 0 if listed.page_size == ALL else (listed.page - 1) * listed.page_size
        number = first // listings.MAX_SCREEN_ROWS + 1
        return await self._store.list_page(call, PageRequest(number, listings.MAX_SCREEN_ROWS, query))

    async def _last_runs(self, call: Call, screen: Page[PlaybookSummary]) -> dict[str, str]:
        """Return when the playbooks on screen were selected last, for clients that show it."""
        if call.pages == "off":
            return {}
        return await self._store.last_selections(call, [item.id for item in screen.items])

    async def _exportable(self, call: Call, ids: Sequence[str]) -> list[PlaybookContent]:
        """Return the playbooks that may fit into one document. As JSON without indents they are at their shortest."""
        contents: list[PlaybookContent] = []
        size = 0
        for first in range(0, len(ids), EXPORT_BATCH_PLAYBOOKS):
            for playbook in await self._store.get_many(call, ids[first : first + EXPORT_BATCH_PLAYBOOKS]):
                content = content_of(playbook)
                size += len(content.model_dump_json(by_alias=True, exclude_defaults=True))
                if size > engine.MAX_IMPORT_CHARS and contents:
                    return contents
                contents.append(content)
        return contents
