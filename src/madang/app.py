"""The composition root: builds every part once and hands it its dependencies."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from madang.core.background import Background
from madang.core.calls import Actor, Call, Door, PageMode
from madang.core.errors import SetupError, ToolError
from madang.core.executor import Executor
from madang.core.phrases import say
from madang.core.results import Reply
from madang.core.service import Service, ServiceMetadata
from madang.core.trust import Origin
from madang.database.port import Database
from madang.database.postgresql.address import parse_database_url
from madang.database.sqlite.database import SqliteDatabase
from madang.files.downloads import Downloads
from madang.files.folders import Folders
from madang.provider.actions import ActionListener, CallListeners, PageListener
from madang.provider.grants import AssistantGrants
from madang.provider.policy import Policy
from madang.provider.provider import Provider
from madang.records.assistants import AssistantStore
from madang.records.audit import AuditLog
from madang.records.operations import OperationStore
from madang.records.pauses import PauseStore
from madang.records.sessions import SessionStore
from madang.services import builtin_services, prebuilt_schemas
from madang.settings import Settings, prepare_data_dir

if TYPE_CHECKING:
    from madang.files.folders.agents_file import FolderTrust
    from madang.provider.sessions import SessionOperations
    from madang.records.runs.actions import ActionStore
    from madang.records.views import ViewStore
    from madang.services.workspace.engine.undo import FileUndo

RETENTION_DELAY_S = 1.0

ACTORS: Mapping[Door, Actor] = {
    "python": "program",
    "mcp-stdio": "foreign",
    "mcp-http": "foreign",
    "host": "person",
    "agent": "model",
}
"""Who acts, by the door that a call comes in through. On the command line the terminal decides."""


@dataclass(frozen=True)
class Madang:
    """An open Madang: the provider, and what it was built with."""

    settings: Settings
    database: Database
    provider: Provider
    sessions: SessionStore
    audit: AuditLog
    assistants: AssistantStore
    executor: Executor
    folders: Folders
    background: Background
    """Owns what runs beside the calls, and ends it before anything is closed."""
    downloads: Downloads | None = None
    """Where files can be fetched over HTTP, if that is served."""

    @cached_property
    def pauses(self) -> PauseStore:
        """What waits for the person, to be read."""
        return PauseStore(self.database)

    @cached_property
    def operations(self) -> OperationStore:
        """What services changed, to be taken back by `provider.undo`."""
        return OperationStore(self.database)

    @cached_property
    def session_operations(self) -> SessionOperations:
        """For a person or a program that deletes, copies, exports or imports whole sessions."""
        from madang.provider.sessions import SessionOperations  # on use: a server that starts needs none of it

        return SessionOperations(self.provider, self.database, self.sessions, self.audit, self.executor)

    @cached_property
    def file_undo(self) -> FileUndo:
        """For a person or a program that takes back what a run changed in the files of a session."""
        from madang.services.workspace.engine.undo import FileUndo  # on use, as above

        return FileUndo(self.folders, self.database, self.executor)

    @cached_property
    def folder_trust(self) -> FolderTrust:
        """Which folders' AGENTS.md the person has agreed to."""
        from madang.files.folders.agents_file import FolderTrust  # on use, as above

        return FolderTrust(self.settings.trust_dir)

    async def use_workspace(self, call: Call) -> None:
        """Let the call's session work in the folder that the settings name, if they do. Every process sees it.

        Raises:
            SetupError: the session has files already, or works in another folder.
        """
        if self.settings.workspace is None:
            return
        try:
            await self.sessions.ensure(call)
            await self.executor.writes.run(call, self.folders.bind, call, self.settings.workspace)
        except ToolError as error:
            raise SetupError(error.message, hint=error.hint) from None

    def call(self, door: Door, pages: PageMode = "off") -> Call:
        """Return a call with the assistant, session, user and locale of the settings; the door says who acts."""
        settings = self.settings
        return Call(
            assistant_id=settings.assistant,
            session_id=settings.session,
            user_id=settings.user,
            locale=settings.locale,
            pages=pages,
            door=door,
            actor=_command_actor() if door == "command" else ACTORS[door],
        )


@asynccontextmanager
async def open_madang(
    settings: Settings, base_url: str = "", *, policy: Policy | None = None, services: Sequence[Service] = ()
) -> AsyncIterator[Madang]:
    """Build everything, and close it in reverse order at the end. Nothing on disk is opened before it is needed.

    `base_url` is where HTTP is served, if it is: then exports can be downloaded there. `policy` decides over calls;
    without one all are allowed. `services` are further ones beside the built-in: no setting and no command leads to
    them.

    Raises:
        SetupError: the data folder cannot be used, or the settings name an unknown service.
    """
    prepare_data_dir(settings.data_dir)
    database = _database(settings)
    sessions, assistants = SessionStore(database), AssistantStore(database)
    audit = AuditLog(database)
    executor = Executor()
    provider = Provider(
        audit,
        executor=executor,
        grants=AssistantGrants(assistants, settings.grants),
        sessions=sessions,
        policy=policy,
        listeners=CallListeners(_action_listener(database), _page_listener(database)),
        schemas=prebuilt_schemas(),
    )
    background = Background()
    folders = Folders(settings.data_dir / "workspaces", settings.allow_folders)
    downloads = Downloads(folders, base_url) if base_url else None
    builtin = builtin_services(database, folders, downloads, executor, index_dir=settings.data_dir / "index")
    granted = (name for names in settings.grants.values() for name in names)
    check_service_names([service.metadata for service in builtin], [*settings.services, *granted])
    for service in builtin:
        if not settings.services or not set(settings.services).isdisjoint(service.metadata.names):
            provider.register(service)
    for service in services:
        provider.register(service)
    background.start(_apply_retention(database, audit, folders, settings), "retention")
    try:
        yield Madang(
            settings, database, provider, sessions, audit, assistants, executor, folders, background, downloads
        )
    finally:
        executor.stop()
        await background.close()
        await provider.close()
        executor.close()
        await database.close()


def _page_listener(database: Database) -> PageListener:
    """Return what keeps pages of our own chat; its store is loaded with the first one."""
    store: ViewStore | None = None

    async def keep(call: Call, arguments: Mapping[str, Any], reply: Reply) -> None:
        nonlocal store
        if store is None:
            from madang.records.views import ViewStore

            store = ViewStore(database)
        await store.keep(call, arguments, reply)

    return keep


def _action_listener(database: Database) -> ActionListener:
    store: ActionStore | None = None

    async def note(call: Call, text: str, origins: tuple[Origin, ...]) -> None:
        nonlocal store
        if store is None:
            # On use: a process that starts has its first call to answer.
            from madang.records.runs.actions import ActionStore

            store = ActionStore(database)
        from madang.agent import events

        # What was done, without the state that it led to: that is told each turn anyway.
        deed = text.partition("\n\n")[0]
        await store.note(call, deed, origins, lambda id: events.noted(id, call.actor, deed.partition("\n")[0]))

    return note


async def _apply_retention(database: Database, audit: AuditLog, folders: Folders, settings: Settings) -> None:
    await asyncio.sleep(RETENTION_DELAY_S)
    # Later: a process that starts has its first call to answer.
    from madang.files.folders.undo import FileHistory
    from madang.records.retention import Retention

    await Retention(
        database,
        audit,
        events_days=settings.events_days,
        audit_days=settings.audit_days,
        copies=FileHistory(folders),
        copies_days=settings.copies_days,
    ).run()


def _command_actor() -> Actor:
    # The descriptor, not `sys.stdin`: that one may be closed, or None.
    return "person" if os.isatty(0) else "program"


def _database(settings: Settings) -> Database:
    if not settings.database:
        return SqliteDatabase(settings.database_path)
    address = parse_database_url(settings.database)
    try:
        # asyncpg is an extra: a data folder with SQLite works without it.
        from madang.database.postgresql.database import PostgresDatabase
    except ModuleNotFoundError:
        raise SetupError(
            say("PostgreSQL needs asyncpg, which is not installed."),
            hint=say("Install it: pip install 'madang[postgresql]'"),
        ) from None
    return PostgresDatabase(address)


def check_service_names(services: Sequence[ServiceMetadata], names: Iterable[str]) -> None:
    """Check that each name is that of a service, present or former.

    Raises:
        SetupError: with the names there are.
    """
    known = {name for service in services for name in service.names}
    for name in names:
        if name not in known:
            raise SetupError(
                say("There is no service '{name}'.", name=name),
                hint=say("The services are: {names}.", names=", ".join(service.name for service in services)),
            )
