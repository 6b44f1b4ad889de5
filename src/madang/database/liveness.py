"""Which processes are alive: each holds a lock that the operating system or the database server drops when it dies.

No clock is asked: one that is wrong, or a process that was stopped for an hour, makes nobody look dead. A run is owned
by the process whose id its row has.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from madang.core.errors import Unavailable
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.system.locks import LOCK_RETRY_S, is_at, try_lock

LOCK_S = 5.0
HEARTBEAT_S = 5.0
"""How often each looks who is still there: one that dies tells nobody."""


class Liveness(ABC):
    """This process as an owner, and the way to learn that another one died. Ids are never used again."""

    def __init__(self) -> None:
        self.me = new_id()
        """The id of this process, for what it owns once this is open."""
        self.place = ""
        """Where this process has the files of sessions (`files.place`), for others to know once this is open."""
        self._present: frozenset[str] = frozenset()
        self._places: frozenset[str] | None = None
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Hear, a heartbeat later at most, that a process has gone; call what is returned to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def is_inhabited(self, place: str) -> bool:
        """Tell whether a process that has its files at a place was alive at the last heartbeat, as far as is known."""
        return self._places is None or place in self._places

    def _note_present(self, ids: Iterable[str]) -> None:
        """Tell who listens if one of those that were there is not any more, whoever has cleared it away."""
        before, self._present = self._present, frozenset(ids) - {self.me}
        if before - self._present:
            for listener in list(self._listeners):
                listener()

    @abstractmethod
    async def open(self) -> None:
        """Take the lock: from now on this process is alive to others. Opening twice is harmless.

        Raises:
            Unavailable: it cannot be taken.
        """

    @abstractmethod
    async def find_dead(self, owners: Collection[str]) -> frozenset[str]:
        """Return which of these died. One that cannot be looked for is not among them."""

    async def is_alive(self, owner: str) -> bool:
        return not await self.find_dead([owner])

    @abstractmethod
    async def close(self) -> None:
        """Release the lock, which makes what this process still owns free for others. Closing twice is harmless."""


class SingleProcess(Liveness):
    """Liveness beside a database in memory, which no other process can reach: whoever else owned something is gone."""

    async def open(self) -> None:
        pass

    async def find_dead(self, owners: Collection[str]) -> frozenset[str]:
        return frozenset(owners) - {self.me}

    async def close(self) -> None:
        pass


class FileLiveness(Liveness):
    """Liveness by locked files, one for each process, in a folder beside an embedded database.

    The descriptor is not inherited by programs that this process starts: they may outlive it.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self._fd: int | None = None
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        if self._fd is not None:
            return
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._fd = await self._lock_own()
            # Those that died owning nothing are not asked for by anybody.
            await self._beat()
        except OSError as error:
            raise Unavailable(
                say("The data folder {folder} cannot be used: {reason}.", folder=str(self._folder), reason=str(error)),
                hint=say("Check that the data folder exists, is yours and can be written, or name another one."),
            ) from error
        self._task = asyncio.create_task(self._look())

    async def find_dead(self, owners: Collection[str]) -> frozenset[str]:
        return frozenset(owner for owner in owners if owner != self.me and self._is_dead(owner))

    async def close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        fd, self._fd = self._fd, None
        if fd is not None:
            # The other way round than one would: Windows removes no file that is open.
            os.close(fd)
            with suppress(OSError):
                os.unlink(self._folder / self.me)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            with suppress(OSError):
                await self._beat()

    async def _beat(self) -> None:
        names = {path.name for path in self._folder.iterdir()}
        self._note_present(names - await self.find_dead(names))

    async def _lock_own(self) -> int:
        path, until = self._folder / self.me, time.monotonic() + LOCK_S
        while time.monotonic() < until:
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            # Between the two lines, another process may have found the file without a lock, and removed it.
            if try_lock(fd) and is_at(fd, path):
                return fd
            os.close(fd)
            await asyncio.sleep(LOCK_RETRY_S)
        raise TimeoutError(f"{path} cannot be locked")

    def _is_dead(self, owner: str) -> bool:
        path = self._folder / owner
        try:
            fd = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        try:
            # Shared, so that two processes that look at once do not take each other for the owner.
            is_dead = try_lock(fd, shared=True)
            if is_dead and os.name == "posix" and try_lock(fd) and is_at(fd, path):
                # Only under the exclusive lock of the file that is there: another may have removed it, and an owner
                # that is just starting may have made it anew.
                os.unlink(path)
        finally:
            os.close(fd)
        if is_dead and os.name != "posix":
            with suppress(OSError):  # Windows removes a file only after it was closed, and none that another has open
                os.unlink(path)
        return is_dead
