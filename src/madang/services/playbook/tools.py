"""What an agent, or a person on a page, can do with playbooks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from madang.core.calls import Call
from madang.core.errors import OutOfRange
from madang.core.paging import ALL, MAX_PAGE_ITEMS, PageNumber, PageSize, check_page
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.tools import tool
from madang.services.playbook import engine, views
from madang.services.playbook.domain import (
    Command,
    Goal,
    PlaybookContent,
    PlaybookPatch,
    SuccessCriteria,
    Workflow,
    content_of,
)
from madang.services.playbook.store import Listing, PlaybookStore, SortBy, SortOrder

PlaybookId = Annotated[str, Field(min_length=1, max_length=100)]
Version = Annotated[int, Field(ge=1, le=10**9)]
StepNumber = Annotated[int, Field(ge=1, le=200)]
# Longer than anybody types: some systems send each Hangul syllable as up to three characters.
Query = Annotated[str, Field(max_length=600)]

DEFAULT_PAGE_ITEMS = 10
EXPORTED_AT_ONCE = 50


class PlaybookTools:
    """The tools of the playbook service."""

    def __init__(self, store: PlaybookStore) -> None:
        self._store = store

    @tool(effect="write")
    async def create_playbook(
        self,
        call: Call,
        goal: Goal,
        workflow: Workflow,
        initial_command: Command = "",
        success_criteria: SuccessCriteria | None = None,
    ) -> ToolResult[views.PlaybookChanged]:
        """Keep a reusable workflow for this assistant. Use it when a way of working should be repeatable."""
        content = PlaybookContent.model_construct(
            goal=goal,
            initial_command=initial_command,
            workflow=workflow,
            success_criteria=success_criteria or SuccessCriteria(),
        )
        (playbook,) = await self._store.add(call, [content])
        return views.created(playbook)

    @tool(effect="read")
    async def list_playbooks(
        self,
        call: Call,
        page: PageNumber = 1,
        page_size: PageSize = ALL,
        query: Query = "",
        sort_by: SortBy = "createdAt",
        sort_order: SortOrder = "asc",
    ) -> ToolResult[views.PlaybookListing]:
        """List this assistant's playbooks as text, without pausing. All words of a query must be in goal or command."""
        query = query.strip()
        listing = Listing(page, page_size, query, sort_by, sort_order)
        playbooks = await self._store.list_page(call, listing)
        check_page(page, playbooks, views.PLAYBOOKS)
        return views.listed(call, playbooks, query)

    @tool(effect="read", page=views.PAGE)
    async def show_playbooks(
        self, call: Call, page: PageNumber = 1, page_size: PageSize = ALL
    ) -> ToolResult[views.PlaybookListing]:
        """Show the person an interactive page of playbooks to choose from, and pause until they have chosen."""
        playbooks = await self._store.list_page(call, Listing(page, page_size))
        check_page(page, playbooks, views.PLAYBOOKS)
        return views.shown(call, playbooks)

    @tool(effect="read", audience="person", page=views.PAGE)
    async def get_playbook_page(
        self, call: Call, page: PageNumber, page_size: PageSize = DEFAULT_PAGE_ITEMS
    ) -> ToolResult[views.PlaybookListing]:
        """Turn to another page of the playbooks shown. For the page's buttons; use list_playbooks to read."""
        return views.navigated(call, await self._store.list_page(call, Listing(page, page_size)), page)

    @tool(effect="read")
    async def get_playbook(
        self, call: Call, id: PlaybookId, from_step: StepNumber = 1
    ) -> ToolResult[views.PlaybookDetails]:
        """Read one playbook with its steps and success criteria."""
        playbook = await self._store.get(call, id)
        if from_step > max(1, len(playbook.workflow)):
            raise OutOfRange(
                say("fromStep: there are {count} steps, no step {step}.", count=len(playbook.workflow), step=from_step),
                hint=say("Leave fromStep out to read from the first step."),
            )
        return views.retrieved(playbook, from_step)

    @tool(effect="write", answers_pause=True)
    async def select_playbook(self, call: Call, id: PlaybookId) -> ToolResult[views.PlaybookDetails]:
        """Select a playbook for execution: returns its steps and how to proceed, and records the run."""
        return views.selected(await self._store.select(call, id))

    @tool(effect="write")
    async def update_playbook(
        self, call: Call, id: PlaybookId, playbook: PlaybookPatch, expected_version: Version | None = None
    ) -> ToolResult[views.PlaybookChanged]:
        """Change a playbook: given fields replace what was there, workflow as a whole. expectedVersion avoids races."""
        return views.updated(await self._store.update(call, id, playbook, expected_version))

    @tool(effect="destroy", idempotent=True)
    async def delete_playbook(self, call: Call, id: PlaybookId) -> ToolResult[views.PlaybookDeleted]:
        """Delete a playbook for good. Its past runs stay listed."""
        return views.deleted(await self._store.delete(call, id))

    @tool(effect="read")
    async def list_playbook_runs(
        self, call: Call, id: PlaybookId | None = None, page: PageNumber = 1, page_size: PageSize = ALL
    ) -> ToolResult[views.RunListing]:
        """List when playbooks were selected for execution, newest first; of one playbook if id is given."""
        runs = await self._store.runs(call, page, page_size, id or "")
        check_page(page, runs, views.RUNS)
        return views.runs_listed(runs)

    @tool(effect="read")
    async def export_playbooks(
        self,
        call: Call,
        ids: Annotated[list[PlaybookId], Field(min_length=1, max_length=MAX_PAGE_ITEMS)] | None = None,
        format: engine.Format = "yaml",
    ) -> ToolResult[views.PlaybooksExported]:
        """Write playbooks (all, or those named) as one portable document that import_playbooks reads."""
        wanted = await self._store.total(call) if ids is None else len(ids)
        contents = await self._exportable(call, ids or await self._store.all_ids(call, MAX_PAGE_ITEMS))
        # Writing a large document takes a while; in a thread the other calls go on meanwhile.
        document, count = await asyncio.to_thread(engine.write_fitting, contents, format)
        return views.exported(document, format, count, wanted - count)

    @tool(effect="write")
    async def import_playbooks(
        self, call: Call, document: Annotated[str, Field(min_length=1, max_length=engine.MAX_IMPORT_BYTES)]
    ) -> ToolResult[views.PlaybooksImported]:
        """Add the playbooks of a YAML or JSON document made by export_playbooks, all or none."""
        contents = await asyncio.to_thread(engine.read, document)
        return views.imported(await self._store.add(call, contents))

    async def _exportable(self, call: Call, ids: Sequence[str]) -> list[PlaybookContent]:
        """Return the playbooks, as far as one document could hold them; written out they are longer still."""
        contents: list[PlaybookContent] = []
        size = 0
        for first in range(0, len(ids), EXPORTED_AT_ONCE):
            for playbook in await self._store.get_many(call, ids[first : first + EXPORTED_AT_ONCE]):
                content = content_of(playbook)
                size += len(content.model_dump_json(by_alias=True, exclude_defaults=True))
                if size > engine.MAX_IMPORT_BYTES and contents:
                    return contents
                contents.append(content)
        return contents
