"""Stores as results."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.documents import Document
from madang.core.phrases import Line, Phrase, Rows, Text, say
from madang.core.results import ToolResult
from madang.core.texts import one_line
from madang.services.content.domain.contents import DELETED_DAYS, OWN_STORE, UNTITLED_STORE, ContentChange, Store

MAX_DESCRIPTION_IN_ROW_CHARS = 200
"""Of a description within a text; the data has it whole."""


MAX_DESCRIBED_STORES = 10
"""In one answer. Of more stores, only names and ids are shown."""


MAX_BRIEF_NAME_CHARS = 20
MAX_CHANGED_NAME_CHARS = 60


class StoreDetails(Document):
    store_id: str
    name: str
    description: str
    is_default: bool
    content_count: int
    created_at: str


class StoreList(Document):
    stores: list[StoreDetails]
    total: int


class StoreDeleted(Document):
    success: bool
    store_id: str
    deleted_contents: int


def store_created(store: Store) -> ToolResult[StoreDetails]:
    text: list[Line | Rows] = [
        say('Created store "{name}".', name=store_name(store)),
        say("Store ID: {id}", id=store.key.id),
    ]
    if store.description:
        text.append(say("Description: {description}", description=store.description))
    note = say("Note: Use 'add_content' with storeId {id} to put texts and files into it.", id=store.key.id)
    return ToolResult(text, _store(store), next=[note])


def stores_listed(stores: Sequence[Store]) -> ToolResult[StoreList]:
    data = StoreList.model_construct(stores=[_store(store) for store in stores], total=len(stores))
    if not stores:
        note = say("Note: Use 'add_content' to add to the session's own store, or 'create_store' to make another.")
        return ToolResult([say("This session has no stores yet.")], data, next=[note], origins=())
    row = _store_row if len(stores) <= MAX_DESCRIBED_STORES else _brief_store_row
    text: Text = [
        say("Found {total} store(s) in this session.", total=len(stores)),
        "",
        Rows(
            [row(number, store) for number, store in enumerate(stores, start=1)],
            say("  … {left_out} more, too long to show here."),
        ),
    ]
    return ToolResult(text, data, next=[say("Note: Use 'list_content' with a storeId to see what is in a store.")])


def store_deleted(store: Store) -> ToolResult[StoreDeleted]:
    text: Text = [
        say('Deleted store "{name}" with {count} content(s).', name=store_name(store), count=store.contents),
        say("Store ID: {id}", id=store.key.id),
    ]
    note = say(
        "Nothing of it can be read or found any more. Use 'list_stores' to see what remains. For {days} days the "
        "person can take it back: 'madang sessions undo NAME --operation' lists what can be.",
        days=DELETED_DAYS,
    )
    data = StoreDeleted(success=True, store_id=store.key.id, deleted_contents=store.contents)
    return ToolResult(text, data, next=[note])


def changed(change: ContentChange) -> Phrase:
    """Return what an operation did to a content or a store, in one line."""
    if change.content is not None:
        name = one_line(change.content.filename, MAX_CHANGED_NAME_CHARS)
        phrases = {
            "added": say("content added: {name}", name=name),
            "deleted": say("content deleted: {name}", name=name),
            "restored": say("content restored: {name}", name=name),
        }
        return phrases[change.kind]
    store = store_name(change.store, MAX_CHANGED_NAME_CHARS) if change.store else change.key.id
    phrases = {
        "added": say("store created: {name}", name=store),
        "deleted": say("store deleted: {name}", name=store),
        "restored": say("store restored: {name}", name=store),
    }
    return phrases[change.kind]


def store_name(store: Store, max_chars: int | None = None) -> Phrase | str:
    """Return the name of a store; one that nobody chose is in the reader's language."""
    if store.is_own and store.name == OWN_STORE:
        return say("Session store")
    if store.name == UNTITLED_STORE:
        return say("Untitled store")
    return one_line(store.name, max_chars)


def _store(store: Store) -> StoreDetails:
    return StoreDetails.model_construct(
        store_id=store.key.id,
        name=store.name,
        description=store.description,
        is_default=store.is_own,
        content_count=store.contents,
        created_at=store.created_at,
    )


def _store_row(number: int, store: Store) -> Phrase:
    row = say(
        "{number}. {name} ({count} content(s))\n   Store ID: {id} | Created: {at}",
        number=number,
        name=store_name(store),
        count=store.contents,
        id=store.key.id,
        at=store.created_at,
    )
    if store.is_own:
        row = say("{row}\n   The session's own: used when storeId is left out", row=row)
    if store.description:
        row = say(
            "{row}\n   Description: {description}",
            row=row,
            description=one_line(store.description, MAX_DESCRIPTION_IN_ROW_CHARS),
        )
    return row


def _brief_store_row(number: int, store: Store) -> Phrase:
    """Return a store on one line, so that the ids of all stores of a session fit into one answer."""
    return say(
        "{number}. {name} ({count} content(s)), Store ID: {id}",
        number=number,
        name=store_name(store, MAX_BRIEF_NAME_CHARS),
        count=store.contents,
        id=store.key.id,
    )
