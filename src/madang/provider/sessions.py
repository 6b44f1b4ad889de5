"""Whole sessions, over every registered service: deleting, copying, exporting and importing them.

Services come first and the session's row last, marked meanwhile: what a crash left half done is not taken for whole,
tools leave it alone, and the next of these calls finishes it (a deletion) or deletes it (a copy or an import).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ParamSpec, TypeVar

from madang.core.calls import Call
from madang.core.errors import Conflict, Denied, InvalidArguments, MadangError, NotFound, Unavailable
from madang.core.executor import Executor
from madang.core.ids import SessionId, is_name, new_id
from madang.core.limits import MAX_NAME_CHARS
from madang.core.phrases import say
from madang.core.texts import one_line
from madang.database.port import Database
from madang.provider.hooks import bounded
from madang.provider.provider import Provider
from madang.provider.saved_sessions import SESSION, SavedSession, check_format
from madang.provider.session_history import SessionHistory
from madang.records.audit import FLUSH_S, AuditLog
from madang.records.decisions import DecisionStore
from madang.records.forgetting import begin_removal, remove_notices, remove_session
from madang.records.operations import OperationStore
from madang.records.runs.forks import find_fork_seq
from madang.records.runs.store import open_run_tables
from madang.records.session_filling import SessionFilling
from madang.records.session_rows import SessionRecord
from madang.records.sessions import SessionStore
from madang.records.views import ViewStore
from madang.system.clock import timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable

    from madang.core.documents import Document
    from madang.files.archives import ArchiveLimits, ArchiveSize, ZipArchiveReader, ZipArchiveWriter

SESSION_HOOK_LIMIT_S = 1800.0
"""For one service: a workspace may have gigabytes."""
HEARTBEAT_S = 10.0
AUDIT_SETTLE_S = 2 * FLUSH_S
"""How late an audit row of another process can be."""

Rest = ParamSpec("Rest")
ResultT = TypeVar("ResultT")

logger = logging.getLogger(__name__)


class SessionOperations:
    """Deletes, copies, exports and imports sessions, for a person or a program, never for a model."""

    def __init__(
        self,
        provider: Provider,
        database: Database,
        sessions: SessionStore,
        audit: AuditLog,
        executor: Executor | None = None,
        *,
        hook_limit_s: float = SESSION_HOOK_LIMIT_S,
    ) -> None:
        self._provider = provider
        self._database = database
        self._sessions = sessions
        self._filling_sessions = SessionFilling(database)
        self._audit = audit
        self._executor = executor or Executor()
        self._history = SessionHistory(database, self._executor)
        self._hook_limit_s = hook_limit_s
        self._lock = asyncio.Lock()

    async def forget(self, call: Call) -> None:
        """Delete the call's session: nothing stays but its audit rows, without its name and arguments.

        Doing it again finishes what was interrupted, and otherwise changes nothing.

        Raises:
            Conflict: a run of it is not over.
            Unavailable: a service failed. The session stays marked as being deleted.
        """
        async with self._working(call):
            await self._finish_earlier(call, besides=call.session)
            await self._forget(call)

    async def copy(self, call: Call, target: SessionId, title: str | None = None) -> SessionRecord:
        """Copy the call's session to a new one of the same user; from then on, neither knows of the other.

        What is open in it is withdrawn in the copy, and a run that is not over is cancelled there. Its audit rows and
        what models took are not copied.

        Raises:
            NotFound: there is no such session.
            Conflict: the target is there already.
        """
        async with self._working(call):
            await self._finish_earlier(call, besides=call.session)
            source = await self._existing(call)
            copy = replace(call, session_id=target, assistant_id=source.assistant_id or call.assistant_id)
            like = replace(source, title=source.title if title is None else title, last_at=timestamp())
            async with self._filling(copy, like, parent_id=source.id):
                await self._history.copy(call, copy)
                for service in await self._provider.open_services():
                    await self._hook(service.metadata.name, service.copy_session(call, target))
                return await self._filling_sessions.finish(copy, like)

    async def fork(
        self, call: Call, target: SessionId, message_id: str, *, before: bool = False, title: str | None = None
    ) -> SessionRecord:
        """Branch off a new session after a message of the call's, or before one of the person's to write it anew.

        It shows the messages up to there without a copy of them, and has a copy of what the services keep, as it is
        now. From then on they go separate ways.

        Raises:
            NotFound: there is no such session or message.
            InvalidArguments: what is to be written anew is no message of the person's.
            Conflict: the target is there already.
        """
        async with self._working(call):
            await self._finish_earlier(call, besides=call.session)
            source = await self._existing(call)
            seq = await find_fork_seq(self._database, call, message_id, before=before)
            fork = replace(call, session_id=target, assistant_id=source.assistant_id or call.assistant_id)
            title = source.title if title is None else title
            like = replace(source, title=title, last_at=timestamp(), last_seq=seq)
            async with self._filling(fork, like, parent_id=source.id, parent_seq=seq):
                await self._history.copy_offer(call, fork)
                for service in await self._provider.open_services():
                    await self._hook(service.metadata.name, service.copy_session(call, target))
                return await self._filling_sessions.finish(fork, like)

    async def export(self, call: Call, path: Path) -> ArchiveSize:
        """Write the call's session to a new ZIP file, whole or not at all.

        Raises:
            NotFound: there is no such session.
            Conflict: there is something at the path.
            Unavailable: nothing can be written there, or a service failed.
        """
        from madang.files.archives import NewArchive  # on use: it would slow every start down

        async with self._working(call):
            session = await self._existing(call)
            archive = await self._in_thread(call, NewArchive, path)
            try:
                await self._write(call, session, archive.writer)
                return await self._in_thread(call, archive.finish)
            except BaseException:
                await asyncio.shield(self._in_thread(call, archive.discard))
                raise

    async def export_to(self, call: Call, archive: ZipArchiveWriter) -> SessionRecord:
        """Write the call's session below a folder of an archive that is being written.

        Raises:
            NotFound: there is no such session.
            Unavailable: nothing can be written there, or a service failed.
        """
        async with self._working(call):
            session = await self._existing(call)
            await self._write(call, session, archive)
            return session

    async def import_(self, call: Call, path: Path, limits: ArchiveLimits | None = None) -> SessionRecord:
        """Make a new session of an archive: the call's, or one with a new id if it names none. Nothing half remains.

        Parts of services that are not there are left out.

        Raises:
            InvalidArguments, LimitExceeded: it is no archive of a session, or too large.
            Conflict: the session is there already.
        """
        from madang.files.archives import ArchiveLimits, open_archive

        _check_actor(call)  # before anything is opened
        call = replace(call, session_id=call.session_id or SessionId(new_id()))
        async with self._entered(call, open_archive(path, limits or ArchiveLimits())) as archive:
            return await self.import_from(call, archive)

    async def import_from(self, call: Call, archive: ZipArchiveReader) -> SessionRecord:
        """Do the same with what lies below a folder of an archive that is open."""
        call = replace(call, session_id=call.session_id or SessionId(new_id()))
        async with self._working(call):
            await self._finish_earlier(call)
            saved = await self._in_thread(call, check_format, archive)
            like = saved.record(call.session)
            filled = replace(call, assistant_id=like.assistant_id or call.assistant_id)
            async with self._filling(filled, like):
                await self._history.restore(filled, archive)
                # Playbooks are the assistant's, and would stay when a later part is refused: they come last.
                for service in reversed(await self._provider.open_services()):
                    name = service.metadata.name
                    await self._hook(name, service.import_session(filled, archive.below(name)))
                return await self._filling_sessions.finish(filled, like)

    # Deleting

    async def _finish_earlier(self, call: Call, besides: SessionId | None = None) -> None:
        """Delete what earlier calls were killed over; a failure stops nobody, the next call tries again."""
        for id in await self._filling_sessions.list_unfinished(call.user_id):
            if id != besides:
                try:
                    await self._forget(replace(call, session_id=id))
                except MadangError as error:
                    logger.warning("An unfinished session could not be deleted: %s", one_line(str(error)))

    async def _forget(self, call: Call) -> None:
        await self._database.write(lambda tx: begin_removal(tx, call), user_id=call.user_id)
        marked_s = asyncio.get_running_loop().time()
        failed: list[str] = []
        for service in await self._provider.open_services():
            try:
                await self._hook(service.metadata.name, service.forget_session(call))
            except MadangError as error:
                logger.error("A session could not be deleted: %s", one_line(str(error)))
                failed.append(service.metadata.name)
        if failed:
            raise Unavailable(
                say(
                    "The session '{id}' is not wholly deleted: {services} failed.",
                    id=call.session,
                    services=", ".join(failed),
                ),
                hint=say("Delete it again: that goes on where it stopped. The log has the reason."),
            )
        await asyncio.sleep(max(0.0, marked_s + AUDIT_SETTLE_S - asyncio.get_running_loop().time()))
        await self._audit.strip_session(call)
        await self._database.write(lambda tx: remove_session(tx, call), user_id=call.user_id)
        await remove_notices(self._database, call.user_id, call.session)

    # Filling

    @asynccontextmanager
    async def _filling(
        self, call: Call, like: SessionRecord, parent_id: SessionId | None = None, parent_seq: int = 0
    ) -> AsyncIterator[None]:
        """Make a session that nobody sees, and delete it if the work fails."""
        if not is_name(call.session):
            raise InvalidArguments(
                say("The {what} must have 1 to {max} printable characters.", what="session", max=MAX_NAME_CHARS)
            )
        if await self._has_something(call):
            raise Conflict(say("There is a session '{id}' already.", id=call.session))
        await self._sessions.create(call, title=like.title, parent_id=parent_id, parent_seq=parent_seq, state="filling")
        heartbeat = asyncio.create_task(self._touch(call))
        try:
            yield
        except BaseException:
            discarding = asyncio.ensure_future(self._discard(call))
            await asyncio.shield(discarding)
            raise
        finally:
            heartbeat.cancel()
            with suppress(asyncio.CancelledError):
                await heartbeat

    async def _touch(self, call: Call) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            with suppress(MadangError):
                await self._filling_sessions.touch(call)

    async def _discard(self, call: Call) -> None:
        try:
            await self._forget(call)
        except MadangError as error:
            logger.error("What was copied or imported could not be deleted again: %s", one_line(str(error)))

    async def _write(self, call: Call, session: SessionRecord, archive: ZipArchiveWriter) -> None:
        await self._in_thread(call, archive.add, SESSION, SavedSession.of(session))
        await self._history.write(call, archive)
        for service in await self._provider.open_services():
            name = service.metadata.name
            await self._hook(name, service.export_session(call, archive.below(name)))

    # Both

    @asynccontextmanager
    async def _working(self, call: Call) -> AsyncIterator[None]:
        _check_actor(call)
        async with self._lock:
            await open_run_tables(self._database)
            await ViewStore(self._database).open()
            await DecisionStore(self._database).open()
            await OperationStore(self._database).open()
            yield

    @asynccontextmanager
    async def _entered(
        self, call: Call, archive: AbstractContextManager[ZipArchiveReader]
    ) -> AsyncIterator[ZipArchiveReader]:
        """Enter and leave what blocks, in threads."""
        reader = await self._in_thread(call, archive.__enter__)
        try:
            yield reader
        finally:
            await self._in_thread(call, archive.__exit__, None, None, None)

    async def _in_thread(
        self, call: Call, work: Callable[Rest, ResultT], *args: Rest.args, **kwargs: Rest.kwargs
    ) -> ResultT:
        return await self._executor.native.run_to_end(call, lambda _: work(*args, **kwargs))

    async def _existing(self, call: Call) -> SessionRecord:
        """Return the call's session; it may have been used before sessions had rows."""
        session = await self._sessions.get(call)
        if session is None:
            if not await self._has_something(call):
                raise NotFound(
                    say("There is no session '{id}'.", id=call.session),
                    hint=say("'madang sessions list' shows those there are."),
                )
            await self._sessions.ensure(call)
            session = await self._sessions.get(call)
            assert session is not None
        if session.state != "ready":
            raise Conflict(say("The session '{id}' is not whole: it is being deleted or filled.", id=call.session))
        return session

    async def _has_something(self, call: Call) -> bool:
        """Tell whether any service keeps something of the call's session."""
        for service in await self._provider.open_services():
            try:
                await self._hook(service.metadata.name, service.export_session(call, _Probe()))
            except _SomethingKept:
                return True
        return False

    async def _hook(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await bounded(work, self._hook_limit_s)
        except (MadangError, _SomethingKept):
            raise
        except TimeoutError:
            raise Unavailable(
                say("The service '{name}' took longer than {limit:g} s.", name=name, limit=self._hook_limit_s)
            ) from None
        except Exception as error:
            logger.exception("The service %s failed on a whole session", name)
            raise Unavailable(say("The service '{name}' failed. The log has the reason.", name=name)) from error


def _check_actor(call: Call) -> None:
    if call.actor in ("model", "foreign"):
        raise Denied(say("Whole sessions are for the person to delete, copy, export or import."))


class _SomethingKept(Exception):
    """A service wrote something into a probe."""


class _Probe:
    """An archive that only tells that something would be in it."""

    def add(self, name: str, document: Document) -> None:
        raise _SomethingKept

    def add_all(self, name: str, documents: Iterable[Document]) -> None:
        for _ in documents:
            raise _SomethingKept

    def create(self, name: str) -> AbstractContextManager[IO[bytes]]:
        raise _SomethingKept
