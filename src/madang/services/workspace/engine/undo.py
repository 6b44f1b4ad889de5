"""Taking back what a run changed in the files of its session: for the person and for programs, never for a model."""

from __future__ import annotations

from collections.abc import Collection

from madang.core.calls import Call
from madang.core.errors import Conflict, Denied, NotFound
from madang.core.executor import Executor
from madang.core.phrases import say
from madang.database.port import Database, Transaction
from madang.files.folders import Folders
from madang.files.folders.undo import ChangedFile, ChangedRun, FileHistory, TakenBack
from madang.records.pauses import PauseStore
from madang.services.workspace.domain.topics import files_topic

MAX_NAMED_PATHS = 20
"""In the notice of an undo; one of more says that all may have changed."""


class FileUndo:
    """What runs changed in the files of sessions, and the way back."""

    def __init__(self, folders: Folders, database: Database, executor: Executor) -> None:
        self._history = FileHistory(folders)
        self._database = database
        self._executor = executor

    async def runs(self, call: Call) -> list[ChangedRun]:
        """Return the runs of the call's session that changed files, the newest first."""
        return await self._executor.reads.run(call, self._history.runs, call)

    async def newest(self, call: Call) -> str:
        """Return the last run of the call's session that changed files and is not an undo.

        Raises:
            NotFound: there is none.
        """
        for run in await self.runs(call):
            if not run.undoes:
                return run.run_id
        raise NotFound(say("Nothing is kept of files that a run of the session '{id}' changed.", id=call.session))

    async def changes(self, call: Call, run_id: str) -> list[ChangedFile]:
        """Return what a run changed, in its order, with the sizes before and after.

        Raises:
            NotFound: no copies are kept of such a run.
            Unavailable: the folder of the session is not there.
        """
        return await self._executor.slow.run(call, self._history.changes, call, run_id)

    async def take_back(
        self, call: Call, run_id: str, paths: Collection[str] | None = None, *, force: bool = False
    ) -> TakenBack:
        """Bring all that a run changed to what it was before, or only what is at or below `paths`.

        What somebody else changed since is told and stays, unless `force`. The undo can be taken back by its own id.

        Raises:
            Denied: a model or another program's client asks.
            Conflict: the run is at work.
            NotFound: no copies are kept of such a run, or it changed nothing at one of `paths`.
            Unavailable: the folder of the session is not there. Nothing is changed then.
        """
        _check_actor(call)
        await self._check_not_running(call, run_id)
        taken = await self._executor.native.run_to_end(
            call, lambda _: self._history.take_back(call, run_id, paths, force=force)
        )
        if taken.restored:
            named = taken.restored if len(taken.restored) <= MAX_NAMED_PATHS else ()
            await self._publish(call, *named)
        return taken

    async def forget(self, call: Call, run_id: str | None = None) -> int:
        """Delete the copies of a run, or of all runs of the call's session; return of how many runs.

        Raises:
            Denied: a model or another program's client asks.
            NotFound: no copies are kept of such a run.
        """
        _check_actor(call)
        return await self._executor.native.run_to_end(call, lambda _: self._history.forget(call, run_id))

    async def _check_not_running(self, call: Call, run_id: str) -> None:
        await PauseStore(self._database).open()
        rows = await self._database.find(
            "SELECT state FROM run WHERE user_id = ?1 AND id = ?2", call.user_id, run_id, user_id=call.user_id
        )
        if rows and rows[0][0] == "running":
            raise Conflict(
                say("The run {id} is at work.", id=run_id),
                hint=say("Wait until it ends or asks something, or stop it."),
            )

    async def _publish(self, call: Call, *paths: str) -> None:
        async def work(tx: Transaction) -> None:
            await tx.notify(files_topic(call, *paths))

        await self._database.write(work, user_id=call.user_id)


def _check_actor(call: Call) -> None:
    if call.actor in ("model", "foreign"):
        raise Denied(say("What a run changed is for the person to take back."))
