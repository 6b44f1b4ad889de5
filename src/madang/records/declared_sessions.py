"""Forgetting, copying, exporting and importing what a store has declared of its tables, on either database."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from madang.core.archives import ArchiveReader, ArchiveWriter
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.executor import Executor
from madang.core.ids import SessionId, new_ids
from madang.core.service import Service
from madang.database.port import Database, Row, Transaction
from madang.records.declarations import (
    Column,
    Companions,
    DocumentT,
    Fields,
    Generated,
    Id,
    Left,
    Number,
    Reference,
    Saved,
    Session,
    SessionDeclaration,
    SessionFile,
    SessionTable,
    User,
    Whole,
)

Ids = Mapping[str, str]
Lines = list[tuple[SessionFile, Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class SavedSession:
    """What a store keeps of one session, as an archive has it."""

    lines: Lines
    companions: Sequence[tuple[Companions, Sequence[Any]]]


class DeclaredSessions:
    """The declared rows of whole sessions."""

    def __init__(self, database: Database, declaration: SessionDeclaration, executor: Executor | None = None) -> None:
        self._database = database
        self._lane = (executor or Executor()).native
        self._declaration = declaration

    async def forget(self, call: Call) -> None:
        """Delete what is kept of the call's session, in one unit of work."""

        async def work(tx: Transaction) -> None:
            for file in self._declaration.files:
                await delete_rows(tx, call, file.table)

        await self._database.write(work, user_id=call.user_id)

    async def copy(self, call: Call, target: Call) -> None:
        await self._restore(target, await self._read(call))

    async def export(self, call: Call, archive: ArchiveWriter) -> None:
        saved = await self._read(call)

        def write() -> None:
            for companions, documents in saved.companions:
                archive.add_all(companions.name, documents)
            for file, lines in saved.lines:
                if not file.is_single:
                    archive.add_all(file.name, lines)
                elif lines:
                    archive.add(file.name, lines[0])

        await self._lane.run_to_end(call, lambda _: write())

    async def import_(self, call: Call, archive: ArchiveReader) -> None:
        """Take what `export` wrote into the call's session, which is new.

        Raises:
            ToolError: a line is not of its kind, or a check refuses it.
        """

        def read() -> SavedSession:
            return SavedSession(
                [(file, _read_file(archive, file)) for file in self._declaration.files],
                [(one, list(archive.read_all(one.name, one.kind))) for one in self._declaration.companions],
            )

        await self._restore(call, await self._lane.run_to_end(call, lambda _: read()))

    async def _read(self, call: Call) -> SavedSession:
        async def work(tx: Transaction) -> SavedSession:
            return SavedSession(
                [(file, await _read_lines(tx, call, file)) for file in self._declaration.files],
                [(one, await one.read(tx, call)) for one in self._declaration.companions],
            )

        return await self._database.read(work, user_id=call.user_id)

    async def _restore(self, call: Call, saved: SavedSession) -> None:
        """Write what was saved into the call's session, in one unit of work and under new ids in the same order.

        Of two lines of the same id one is written. What belongs to others is added only for rows that name it.
        """
        lines = [(file, _unique(file, filter(file.admits, found))) for file, found in saved.lines]
        checks = [(one.check, found) for one, found in saved.companions] + [
            (file.check, found) for file, found in lines
        ]
        for check, documents in checks:
            for document in documents:
                check(document)

        async def work(tx: Transaction) -> None:
            ids: dict[str, str] = {}
            rows = [(file, _with_ids(file, found, ids)) for file, found in lines]
            for one, documents in saved.companions:
                for document in documents:
                    ids[document.id] = await one.find_or_add(tx, call, document, ids.values())
            for file, found in rows:
                for name, table in file.tables.items():
                    documents = [(id, file.rows_of(line)[name]) for id, line in found if name in file.rows_of(line)]
                    await _insert(tx, call, table, documents, ids)

        if any(found for _, found in lines):
            await self._database.write(work, user_id=call.user_id)


class DeclaredService(Service):
    """A service that keeps of a session what it declares, and nothing else."""

    @property
    @abstractmethod
    def sessions(self) -> DeclaredSessions:
        """What it declares. It is imported on use: a server that starts needs none of it."""

    async def forget_session(self, call: Call) -> None:
        await self.sessions.forget(call)

    async def copy_session(self, call: Call, target: SessionId) -> None:
        await self.sessions.copy(call, replace(call, session_id=target))

    async def export_session(self, call: Call, archive: ArchiveWriter) -> None:
        await self.sessions.export(call, archive)

    async def import_session(self, call: Call, archive: ArchiveReader) -> None:
        await self.sessions.import_(call, archive)


async def delete_rows(tx: Transaction, call: Call, table: SessionTable[Any]) -> None:
    """Delete the rows of the call's session, with what hangs on them, and notify of them."""
    key = call.user_id, call.session
    topics = await _topics(tx, call, table)
    await tx.run(f"DELETE FROM {table.name} AS t WHERE {_in_session(table)}", *key)
    for topic in sorted(topics):
        await tx.notify(topic)


# Reading


def selected(table: SessionTable[Any]) -> str:
    """Return what is selected for `document_of` from the table under the name `t`."""
    return ", ".join(_read_value(name, table.columns[name]) for name in _read_columns(table))


def document_of(table: SessionTable[DocumentT], row: Row) -> DocumentT:
    """Return the document of a row, as it leaves."""
    return _document(table, _fields(table, row))


async def _read_lines(tx: Transaction, call: Call, file: SessionFile) -> list[Document]:
    rows = {name: await _read_rows(tx, call, table) for name, table in file.tables.items()}
    if "" in rows:
        return [line for _, line in rows[""] if file.admits(line)]
    (first, heads), *others = rows.items()
    hanging = [(name, dict(found)) for name, found in others]
    return [
        file.kind(**{first: head}, **{name: by_id[id] for name, by_id in hanging if id in by_id}) for id, head in heads
    ]


async def _read_rows(tx: Transaction, call: Call, table: SessionTable[Any]) -> list[tuple[str, Document]]:
    """Return the documents of a table's rows, each with the id of its row."""
    found = [_fields(table, row) for row in await tx.all(_select(table), call.user_id, call.session)]
    return [(row.get(table.id_column, ""), _document(table, row)) for row in found]


async def _topics(tx: Transaction, call: Call, table: SessionTable[Any]) -> set[str]:
    if table.topic is None:
        return set()
    rows = await tx.all(_select(table), call.user_id, call.session)
    return {table.topic(call, _named(table, _fields(table, row))) for row in rows}


def _fields(table: SessionTable[Any], row: Row) -> Fields:
    fields = dict(zip(_read_columns(table), row, strict=True))
    return table.leaving(fields) if table.leaving else fields


def _named(table: SessionTable[Any], row: Fields) -> Fields:
    """Return the fields of a document, given the values of its row."""
    fields: Fields = {}
    for name, column in table.columns.items():
        match column:
            case Saved(field, form) | Reference(field, form):
                fields[field or name] = form.read(row[name])
            case Number(field=field):
                fields[field] = row[name] or ""
            case Id(is_saved=True):
                fields[name] = row[name]
    return fields


def _document(table: SessionTable[DocumentT], row: Fields) -> DocumentT:
    whole = next((name for name, column in table.columns.items() if isinstance(column, Whole)), None)
    return table.kind.model_validate_json(row[whole]) if whole else table.kind(**_named(table, row))


def _read_columns(table: SessionTable[Any]) -> list[str]:
    return [name for name, column in table.columns.items() if not isinstance(column, User | Session)]


def _select(table: SessionTable[Any]) -> str:
    return f"SELECT {selected(table)} FROM {table.name} t WHERE {_in_session(table)} ORDER BY t.{table.order}"


def _read_value(name: str, column: object) -> str:
    if isinstance(column, Number):
        return (
            f"(SELECT o.{column.key} FROM {column.table} o WHERE o.user_id = t.user_id AND o.no = t.{name}) AS {name}"
        )
    return f"t.{name}"


def _in_session(table: SessionTable[Any]) -> str:
    condition = f" AND {table.condition}" if table.condition else ""
    if table.hangs_on is not None:
        rows = f"SELECT t.{table.hangs_on.id_column} FROM {table.hangs_on.name} t WHERE {_in_session(table.hangs_on)}"
        return f"t.user_id = ?1 AND t.{table.id_column} IN ({rows}){condition}"
    name = next(name for name, column in table.columns.items() if isinstance(column, Session))
    column = table.columns[name]
    is_number = isinstance(column, Session) and column.by_number
    session = "(SELECT s.no FROM session s WHERE s.user_id = ?1 AND s.id = ?2)" if is_number else "?2"
    return f"t.user_id = ?1 AND t.{name} = {session}{condition}"


# Writing


def _read_file(archive: ArchiveReader, file: SessionFile) -> list[Document]:
    if not file.is_single:
        return list(archive.read_all(file.name, file.kind))
    document = archive.read(file.name, file.kind)
    return [] if document is None else [document]


def _old_id(file: SessionFile, line: Document) -> str | None:
    name = file.table.id_column
    column = file.table.columns.get(name)
    if not isinstance(column, Id) or not column.is_saved:
        return None
    head = next(iter(file.rows_of(line).values()))
    return str(getattr(head, name))


def _unique(file: SessionFile, lines: Any) -> list[Document]:
    by_id = {_old_id(file, line) or number: line for number, line in enumerate(lines)}
    return list(by_id.values())


def _with_ids(file: SessionFile, lines: Sequence[Document], ids: dict[str, str]) -> list[tuple[str, Document]]:
    """Return lines with new ids, and add those to `ids`."""
    new = list(zip(new_ids(len(lines)), lines, strict=True))
    ids.update((old, id) for id, line in new if (old := _old_id(file, line)) is not None)
    return new


async def _insert(
    tx: Transaction, call: Call, table: SessionTable[Any], documents: Sequence[tuple[str, Document]], ids: Ids
) -> None:
    for _, document in documents:
        for column in table.columns.values():
            if isinstance(column, Number) and column.ensure:
                await column.ensure(tx, call, getattr(document, column.field))
    rows = [row_of(table, call, id, document, ids) for id, document in documents]
    if rows:
        await tx.run_many(insert_statement(table), rows)
    if table.topic is not None:
        for topic in sorted({table.topic(call, _renewed_fields(table, document, ids)) for _, document in documents}):
            await tx.notify(topic)


def _renewed_fields(table: SessionTable[Any], document: Document, ids: Ids) -> Fields:
    """Return the fields of a document with new ids where they are declared: another text may look like one."""
    fields = dict(document)
    for name, column in table.columns.items():
        if isinstance(column, Reference):
            fields[column.field or name] = renewed(fields[column.field or name], ids)
    return fields


def row_of(table: SessionTable[DocumentT], call: Call, id: str, document: DocumentT, ids: Ids) -> Row:
    """Return the values for `insert_statement` with which a document becomes a row of the call's session.

    `id` is that of the new row, if it has one, and `ids` are the new ones of those that the document names.
    """
    values: list[object] = []
    for name, column in table.columns.items():
        match column:
            case User():
                values.append(call.user_id)
            case Session():
                values.append(call.session)
            case Id():
                values.append(id)
            case Saved(field, form):
                values.append(form.write(getattr(document, field or name)))
            case Reference(field, form):
                values.append(form.write(renewed(getattr(document, field or name), ids)))
            case Number(field=field, is_copied=is_copied):
                key = getattr(document, field)
                values.append(ids.get(key, "") if is_copied else key)
            case Whole():
                values.append(document.model_dump_json())
            case Left(value):
                values.append(value)
    return tuple(values)


def insert_statement(table: SessionTable[Any]) -> str:
    """Return the statement that adds a row of `row_of`."""
    written = [(name, column) for name, column in table.columns.items() if not isinstance(column, Generated)]
    user = next(number for number, (_, column) in enumerate(written, 1) if isinstance(column, User))
    values = [_written_value(column, user, number) for number, (_, column) in enumerate(written, 1)]
    return f"INSERT INTO {table.name} ({', '.join(name for name, _ in written)}) VALUES ({', '.join(values)})"


def _written_value(column: Column, user: int, number: int) -> str:
    match column:
        case Session(by_number=True):
            return f"(SELECT no FROM session WHERE user_id = ?{user} AND id = ?{number})"
        case Number(table, key):
            return f"(SELECT no FROM {table} WHERE user_id = ?{user} AND {key} = ?{number})"
    return f"?{number}"


def copy_statement(table: SessionTable[Any], values: Mapping[str, str], rows: str) -> str:
    """Return the statement that copies rows inside the database: `rows` is the rest of a query, with the table as `t`.

    A column has what `values` says, or else what it has in `t`; what is left out of an archive is left out here too.
    """
    written = [name for name, column in table.columns.items() if not isinstance(column, Generated)]
    copied = {name: f"t.{name}" for name in written if not isinstance(table.columns[name], Left)} | dict(values)
    return f"INSERT INTO {table.name} ({', '.join(copied)}) SELECT {', '.join(copied.values())} {rows}"


def renewed(value: Any, ids: Ids) -> Any:
    """Return a value with the new ids of the rows that it names, also inside of lists and objects."""
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, dict):
        return {key: renewed(inner, ids) for key, inner in value.items()}
    return [renewed(inner, ids) for inner in value] if isinstance(value, list) else value
