"""The playbooks in the database. The owner is always the call's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from madang.core.calls import Call
from madang.core.errors import Conflict
from madang.core.ids import AssistantId, is_made_by, new_id
from madang.core.operations import Operation
from madang.core.paging import Page, Span
from madang.core.pauses import PauseRecord
from madang.core.phrases import say
from madang.database.port import Database, Row, Transaction
from madang.database.subscriptions import parse_topic
from madang.records.operations import OPERATION_MIGRATIONS, mark_undone, not_undone
from madang.records.pauses import PauseStore
from madang.services.playbook.domain import (
    Playbook,
    PlaybookChange,
    PlaybookContent,
    PlaybookPatch,
    PlaybookSummary,
    Revision,
    Selection,
    check_playbook_size,
    content_of,
    merge,
)
from madang.services.playbook.store.changes import (
    BY_ID,
    checked,
    delete_playbook,
    find_change,
    get_playbook,
    mark_deletion_undone,
    playbook_topic,
    record_change,
    replace_content,
    restore_deleted,
    take_back,
)
from madang.services.playbook.store.choices import find_choice, open_choice, settle_choice
from madang.services.playbook.store.pages import PageRequest, find_page, summaries
from madang.services.playbook.store.rows import WHOLE_COLUMNS, columns_of, new_playbook, parse_playbook
from madang.services.playbook.store.selections import find_last_selections, find_selections
from madang.services.playbook.store.tables import MIGRATIONS
from madang.system.clock import timestamp

_OWNER = "SELECT no, total FROM playbook_owner WHERE user_id = ?1 AND assistant_id = ?2"


class PlaybookStore:
    """Playbooks in the database. Every change is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await PauseStore(self._database).open()
        await self._database.prepare(MIGRATIONS)
        await self._database.prepare(OPERATION_MIGRATIONS)

    async def add(self, call: Call, contents: Sequence[PlaybookContent]) -> list[Playbook]:
        """Store new playbooks, all or none."""
        for content in contents:
            check_playbook_size(content)
        # Built before the transaction: while it runs, the other writers wait.
        added = [new_playbook(call, content) for content in contents]
        columns = [columns_of(*pair) for pair in zip(added, contents, strict=True)]

        async def work(tx: Transaction) -> list[Playbook]:
            done = await find_change(tx, call)
            if done is not None:
                return [revision.playbook for revision in done]
            owner_no = await ensure_owner(tx, call)
            for playbook, values in zip(added, columns, strict=True):
                await insert_playbook(tx, call, owner_no, playbook, values)
            if added:
                await record_change(tx, call, [Revision(after=playbook) for playbook in added])
            return added

        return await self._database.write(work, user_id=call.user_id)

    async def get(self, call: Call, id: str) -> Playbook:
        """Return one playbook.

        Raises:
            NotFound, Denied: it is not there, or belongs to another assistant.
        """
        rows = await self._database.find(BY_ID, call.user_id, id, user_id=call.user_id)
        return checked(call, id, rows[0] if rows else None)

    async def get_many(self, call: Call, ids: Sequence[str]) -> list[Playbook]:
        """Return these playbooks in the order of `ids`."""

        async def work(tx: Transaction) -> list[Playbook]:
            return [await get_playbook(tx, call, id) for id in ids]

        return await self._database.read(work, user_id=call.user_id)

    async def total(self, call: Call) -> int:
        rows = await self._database.find(_OWNER, call.user_id, call.assistant, user_id=call.user_id)
        return rows[0][1] if rows else 0

    async def list_page(self, call: Call, request: PageRequest) -> Page[PlaybookSummary]:
        """Return one page: filtered first, then cut."""

        async def work(tx: Transaction) -> tuple[Span, list[Row]]:
            return await find_page(tx, call, *await _known_owner(tx, call), request)

        place, rows = await self._database.read(work, user_id=call.user_id, brief=request.is_brief)
        return place.fill(summaries(call.assistant, rows))

    async def list_after(self, call: Call, after: int, limit: int) -> list[tuple[int, Playbook]]:
        """Return up to `limit` whole playbooks, oldest first, each with its number; only numbers above `after`."""

        async def work(tx: Transaction) -> list[tuple[int, Playbook]]:
            owner_no, _ = await _known_owner(tx, call)
            rows = await tx.all(
                f"SELECT seq, id, {WHOLE_COLUMNS} FROM playbook WHERE user_id = ?1 AND owner_no = ?2 AND seq > ?3 "
                "ORDER BY seq LIMIT ?4",
                call.user_id,
                owner_no,
                after,
                limit,
            )
            return [(row[0], parse_playbook(row[1], call.assistant, row[2:])) for row in rows]

        return await self._database.read(work, user_id=call.user_id)

    async def all_ids(self, call: Call, limit: int) -> list[str]:
        """Return the ids of the oldest `limit` playbooks."""

        async def work(tx: Transaction) -> list[str]:
            owner_no, _ = await _known_owner(tx, call)
            rows = await tx.all(
                "SELECT id FROM playbook WHERE user_id = ?1 AND owner_no = ?2 ORDER BY seq LIMIT ?3",
                call.user_id,
                owner_no,
                limit,
            )
            return [row[0] for row in rows]

        return await self._database.read(work, user_id=call.user_id)

    async def update(self, call: Call, id: str, patch: PlaybookPatch, expected_version: int | None) -> Playbook:
        """Apply a merge patch.

        Raises:
            Conflict: the playbook is no longer at `expected_version`; nothing is changed.
            ValidationError: the patched playbook would not be one.
        """

        async def work(tx: Transaction) -> Playbook:
            done = await find_change(tx, call)
            if done is not None:
                return done[0].playbook
            playbook = await get_playbook(tx, call, id)
            if expected_version is not None and expected_version != playbook.version:
                raise Conflict(
                    say(
                        "Playbook {id} is at version {version}, not {expected}.",
                        id=id,
                        version=playbook.version,
                        expected=expected_version,
                    ),
                    hint=say(
                        "Call 'get_playbook' with id {id} to read it again, then 'update_playbook' with "
                        "expectedVersion {version}.",
                        id=id,
                        version=playbook.version,
                    ),
                )
            content = merge(content_of(playbook), patch)
            check_playbook_size(content)
            updated = await replace_content(tx, call, playbook, content)
            await record_change(tx, call, [Revision(before=playbook, after=updated)])
            return updated

        return await self._database.write(work, user_id=call.user_id)

    async def delete(self, call: Call, id: str) -> Playbook:
        """Remove a playbook and return what it was. Its selections stay: they are history."""

        async def work(tx: Transaction) -> Playbook:
            done = await find_change(tx, call)
            if done is not None:
                return done[0].playbook
            deleted = await delete_playbook(tx, call, id)
            await record_change(tx, call, [deleted])
            return deleted.playbook

        return await self._database.write(work, user_id=call.user_id)

    async def restore(self, call: Call, id: str) -> Playbook:
        """Take a deletion back and return the playbook; one that is there stays as it is.

        Raises:
            NotFound, Denied: it is not there, was deleted too long ago, or belongs to another assistant.
        """

        async def work(tx: Transaction) -> Playbook:
            done = await find_change(tx, call)
            if done is not None:
                return done[0].playbook
            restored = await restore_deleted(tx, call, id)
            if restored is None:
                return await get_playbook(tx, call, id)
            await mark_deletion_undone(tx, call, id)
            await record_change(tx, call, [restored])
            return restored.playbook

        return await self._database.write(work, user_id=call.user_id)

    async def undo(self, call: Call, operation: Operation) -> Operation:
        """Take back what an operation changed, as an operation of its own.

        Raises:
            Conflict: it was taken back already, its time is over, or a playbook was changed since.
            NotFound: what it brought was deleted since.
        """
        revisions = PlaybookChange.model_validate_json(operation.change).revisions
        # The session's assistant may be another now.
        own = replace(call, assistant_id=AssistantId(revisions[0].playbook.agent_id))

        async def work(tx: Transaction) -> Operation:
            if not await mark_undone(tx, operation):
                raise not_undone()
            return await record_change(tx, own, await take_back(tx, own, revisions))

        return await self._database.write(work, user_id=call.user_id)

    async def open_choice(self, call: Call) -> PauseRecord:
        """Open a choice among the playbooks, in the place of the one that the same asker has open.

        Raises:
            Unavailable: the database is locked. Without a run, selecting needs no choice, and this does not wait long.
        """

        async def work(tx: Transaction) -> PauseRecord:
            return await open_choice(tx, call)

        return await self._database.write(work, user_id=call.user_id, is_optional=not call.run_id)

    async def get_choice(self, call: Call, pause_id: str) -> PauseRecord | None:
        """Return the choice that is named, however it stands, else the one that the asker has open."""

        async def work(tx: Transaction) -> PauseRecord | None:
            return await find_choice(tx, call, pause_id)

        return await self._database.read(work, user_id=call.user_id, brief=True)

    async def list_first(self, calls: Sequence[Call], limit: int) -> dict[AssistantId, Page[PlaybookSummary]]:
        """Return the first playbooks of each call's assistant, up to `limit`; the calls are of one user."""
        request = PageRequest(1, limit)

        async def work(tx: Transaction) -> list[tuple[Span, list[Row]]]:
            return [await find_page(tx, call, *await _known_owner(tx, call), request) for call in calls]

        pages = await self._database.read(work, user_id=calls[0].user_id, brief=True) if calls else []
        return {
            call.assistant: place.fill(summaries(call.assistant, rows))
            for call, (place, rows) in zip(calls, pages, strict=True)
        }

    async def select(
        self, call: Call, id: str, pause_id: str = "", *, must_settle: bool = False
    ) -> tuple[Playbook, PauseRecord | None]:
        """Record that a playbook was selected for execution, and return it with the choice that this settled.

        One that `must_settle` the choice that is named records nothing where that is over.

        Raises:
            NotFound, Denied: there is no such playbook of this assistant.
            Denied, Conflict, Expired: the choice cannot be settled by this call; nothing is recorded.
        """

        async def work(tx: Transaction) -> tuple[Playbook, PauseRecord | None]:
            playbook = await get_playbook(tx, call, id)
            choice, is_new = await settle_choice(tx, call, id, playbook.goal, pause_id, must_settle=must_settle)
            if (choice is not None and not is_new) or await _was_selected(tx, call):
                return playbook, choice
            await tx.run(
                "INSERT INTO playbook_run (id, user_id, owner_no, playbook_id, goal, version, session_id, selected_at) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                new_id(call.operation_id),
                call.user_id,
                await ensure_owner(tx, call),
                id,
                playbook.goal,
                playbook.version,
                call.session_id or "",
                timestamp(),
            )
            await tx.notify(playbook_topic(call, id))
            return playbook, choice

        return await self._database.write(work, user_id=call.user_id)

    async def was_selected(self, call: Call) -> bool:
        """Tell whether the call's operation has selected a playbook."""
        return await self._database.read(lambda tx: _was_selected(tx, call), user_id=call.user_id, brief=True)

    async def selections(self, call: Call, page: int, page_size: int, playbook_id: str = "") -> Page[Selection]:
        """Return one page of the selections, newest first."""

        async def work(tx: Transaction) -> Page[Selection]:
            owner_no, _ = await _known_owner(tx, call)
            return await find_selections(tx, call, owner_no, page, page_size, playbook_id)

        return await self._database.read(work, user_id=call.user_id)

    async def last_selections(self, call: Call, ids: Sequence[str]) -> dict[str, str]:
        """Return when each of these playbooks was selected last, by its id."""

        async def work(tx: Transaction) -> dict[str, str]:
            owner_no, _ = await _known_owner(tx, call)
            return await find_last_selections(tx, call, owner_no, ids)

        return await self._database.read(work, user_id=call.user_id, brief=True) if ids else {}

    def changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        """Yield the topics of each change of this owner's playbooks; the first value is empty."""
        return self._database.changes(playbook_topic(call))

    async def changed_ids(self, call: Call) -> AsyncIterator[list[str]]:
        """Yield the ids of the playbooks in each change; none are named when too much changed to tell."""
        async for topics in self.changes(call):
            yield [id for topic in topics for id in parse_topic(topic)[3:]]


async def insert_playbook(
    tx: Transaction, call: Call, owner_no: int, playbook: Playbook, columns: Sequence[str | int]
) -> None:
    """Write a new playbook with the columns that `columns_of` made of it."""
    await tx.run(
        "INSERT INTO playbook (id, user_id, owner_no, version, created_at, updated_at, goal, "
        "initial_command, steps, sort_key, search_text, workflow, success_criteria) "
        "VALUES (?1, ?2, ?3, 1, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        playbook.id,
        call.user_id,
        owner_no,
        playbook.created_at,
        *columns,
    )
    await tx.notify(playbook_topic(call, playbook.id))


async def _was_selected(tx: Transaction, call: Call) -> bool:
    """Tell whether the same operation has selected its playbook already: it was interrupted, and is repeated."""
    if not call.operation_id:
        return False
    owner_no, _ = await _known_owner(tx, call)
    rows = await tx.all(
        "SELECT id FROM playbook_run WHERE user_id = ?1 AND owner_no = ?2 AND session_id = ?3 "
        "ORDER BY seq DESC LIMIT 20",
        call.user_id,
        owner_no,
        call.session_id or "",
    )
    return any(is_made_by(id, call.operation_id) for (id,) in rows)


async def ensure_owner(tx: Transaction, call: Call) -> int:
    """Return the owner's number; a first one is assigned."""
    key = call.user_id, call.assistant
    row = await tx.one(_OWNER, *key)
    if row is None:
        await tx.run("INSERT INTO playbook_owner (user_id, assistant_id) VALUES (?1, ?2)", *key)
        row = await tx.one(_OWNER, *key)
    assert row is not None
    no: int = row[0]
    return no


async def _known_owner(tx: Transaction, call: Call) -> tuple[int, int]:
    """Return the owner's number and total; 0, which owns nothing, for an owner without a row."""
    row = await tx.one(_OWNER, call.user_id, call.assistant)
    return (row[0], row[1]) if row else (0, 0)
