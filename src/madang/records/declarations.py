"""How a store declares what a session keeps in its tables, column by column.

Forgetting, copying, exporting and importing are derived from it (`declared_sessions`). A column that is in a table and
not in its declaration fails a test, so none is forgotten. A document of the archive is checked by its own type: anybody
may have written it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from madang.core.calls import Call
from madang.core.documents import Document
from madang.database.port import Transaction

DocumentT = TypeVar("DocumentT", bound=Document)
Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Form:
    """How a column keeps what a document has."""

    read: Callable[[Any], Any]
    write: Callable[[Any], Any]


AS_IS = Form(lambda value: value, lambda value: value)
FLAG = Form(bool, int)
JSON = Form(json.loads, json.dumps)
JSON_OR_EMPTY = Form(lambda text: json.loads(text) if text else [], lambda value: json.dumps(value) if value else "")
JSON_OR_NONE = Form(
    lambda text: json.loads(text) if text else None, lambda value: "" if value is None else json.dumps(value)
)
OR_NULL = Form(lambda value: value or "", lambda text: text or None)
"""An empty text in the document is NULL in the table."""


@dataclass(frozen=True, slots=True)
class User:
    """Whose row it is."""


@dataclass(frozen=True, slots=True)
class Session:
    """The session that the row belongs to, by its id or by its number."""

    by_number: bool = False


@dataclass(frozen=True, slots=True)
class Id:
    """The row's own id: a copy gets a new one. One that is not saved is not in the document."""

    is_saved: bool = True


@dataclass(frozen=True, slots=True)
class Saved:
    """In the document, under the column's name or another, and in a copy as it is."""

    field: str = ""
    form: Form = AS_IS


@dataclass(frozen=True, slots=True)
class Reference:
    """The same for a value that is or holds ids of other rows: a copy names the new ones."""

    field: str = ""
    form: Form = AS_IS


@dataclass(frozen=True, slots=True)
class Number:
    """The number of a row of another table, which the document names by that row's `key`."""

    table: str
    key: str
    field: str
    ensure: Callable[[Transaction, Call, str], Awaitable[object]] | None = None
    """Adds that row if it is missing."""
    is_copied: bool = False
    """Whether that row is the session's too: a copy has the new one, or NULL if it did not come along."""


@dataclass(frozen=True, slots=True)
class Whole:
    """The document itself, as JSON."""


@dataclass(frozen=True, slots=True)
class Left:
    """Left out of the document; a copy has this value."""

    value: object = ""


@dataclass(frozen=True, slots=True)
class Generated:
    """Made by the database."""


Column = User | Session | Id | Saved | Reference | Number | Whole | Left | Generated


@dataclass(frozen=True, slots=True)
class SessionTable(Generic[DocumentT]):
    """A table with rows of sessions. It has a column for the session, or hangs on one that has by its own id."""

    name: str
    kind: type[DocumentT]
    """What a row is in an archive."""
    columns: Mapping[str, Column]
    order: str
    """By which rows are read; new ids are in the same order."""
    condition: str = ""
    """Which of the table's rows are meant, where several stores share it."""
    hangs_on: SessionTable[Any] | None = None
    """The table whose row of the same id takes it along when it is deleted (ON DELETE CASCADE)."""
    topic: Callable[[Call, Mapping[str, Any]], str] | None = None
    """Who is notified of a row that comes or goes, given its fields."""
    leaving: Callable[[Fields], Fields] | None = None
    """What a row becomes on its way out: what is open there is over in a copy."""

    @property
    def id_column(self) -> str:
        """The name of the column with the row's own id; empty if it has none."""
        return next((name for name, column in self.columns.items() if isinstance(column, Id)), "")


def _admits_all(_: Any) -> bool:
    return True


def _refuses_none(_: Any) -> None:
    pass


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file of the archive, with a line for each row of a table."""

    name: str
    kind: type[Document]
    """What a line is."""
    tables: Mapping[str, SessionTable[Any]]
    """The table under '', if a line is its row; else the field of a line for each, and the others hang on the first."""
    admits: Callable[[Any], bool] = _admits_all
    """Tells whether a line is taken along; what is not whole or says nothing is left out."""
    check: Callable[[Any], None] = _refuses_none
    """Raises a `ToolError` if a session is not to be filled because of a line."""
    is_single: bool = False
    """Whether the file is one document: a session has one row at most."""

    @property
    def table(self) -> SessionTable[Any]:
        """The table whose rows have the session."""
        return next(iter(self.tables.values()))

    def rows_of(self, line: Document) -> Mapping[str, Document]:
        """Return what a line has of each table's rows."""
        if "" in self.tables:
            return {"": line}
        rows = {name: getattr(line, name) for name in self.tables}
        return {name: row for name, row in rows.items() if row is not None}


@dataclass(frozen=True, slots=True)
class Companions:
    """A file of the archive with what rows of the session name by its id and what is not the session's."""

    name: str
    kind: type[Document]
    read: Callable[[Transaction, Call], Awaitable[Sequence[Document]]]
    find_or_add: Callable[[Transaction, Call, Any, Collection[str]], Awaitable[str]]
    """Returns the id under which one is known here, which is none of those that are taken."""
    check: Callable[[Any], None] = _refuses_none


@dataclass(frozen=True, slots=True)
class SessionDeclaration:
    """All that one store keeps of a session, in the order in which it is written."""

    files: Sequence[SessionFile]
    companions: Sequence[Companions] = ()
