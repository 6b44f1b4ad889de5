"""Opening services on their first use and closing them in reverse order, none of them waiting long for another."""

from __future__ import annotations

import asyncio
import logging

from madang.core.errors import MadangError, Unavailable
from madang.core.phrases import say
from madang.core.service import ActiveSession, Service, ServiceStatus
from madang.core.texts import one_line
from madang.provider.hooks import abandon, bounded

CLOSE_S = 2.0
MIN_CLOSE_S = 0.05

logger = logging.getLogger(__name__)


class Lifecycle:
    """Tracks which services are open. A service that failed to open is retried at its next use.

    A service is loaded by a task of its own, once for all that want it: a caller that gives up does not interrupt it.
    """

    def __init__(self, hook_limit_s: float) -> None:
        self._hook_limit_s = hook_limit_s
        self._status: dict[str, ServiceStatus] = {}
        self._opened: list[Service] = []
        self._loading: dict[str, asyncio.Task[None]] = {}
        self._active: ActiveSession | None = None

    @property
    def status(self) -> dict[str, ServiceStatus]:
        return dict(self._status)

    def state(self, service: Service) -> str:
        return self._status[service.metadata.name].state

    def add(self, service: Service) -> None:
        name = service.metadata.name
        if service.metadata.is_supported:
            self._status[name] = ServiceStatus("loading", "waits for its first use")
        else:
            self._status[name] = ServiceStatus("error", str(_unsupported(name)))

    async def open(self, service: Service) -> None:
        """Make sure that `service` is open, however long it takes: the caller sets a limit.

        Raises:
            Unavailable: it cannot be opened; its status has the reason.
        """
        if self.state(service) != "ready":
            await asyncio.shield(self._load_task(service))

    async def open_soon(self, service: Service) -> bool:
        """Open a service if that is done within the limit, and tell whether it is open.

        One that was late once is not waited for again until it is open.
        """
        if self.state(service) == "ready":
            return True
        if not service.metadata.is_supported:
            return False
        name = service.metadata.name
        is_late = self.state(service) == "error" and name in self._loading
        task = self._load_task(service)
        done, _ = await asyncio.wait({task}, timeout=0 if is_late else self._hook_limit_s)
        if not done and not is_late:
            reason = f"is not open after {self._hook_limit_s:g} s; it goes on"
            self._status[name] = ServiceStatus("error", reason)
            logger.error("Service %s %s", name, reason)
        return self.state(service) == "ready"

    def retry(self, service: Service) -> None:
        """Start to open a service that failed, unless that is under way, and wait for nothing."""
        if self.state(service) == "error" and service.metadata.is_supported:
            self._load_task(service)

    async def remove(self, service: Service) -> None:
        """Close one service and drop its status."""
        name = service.metadata.name
        if name in self._loading:
            abandon(self._loading.pop(name))
        if service in self._opened:
            self._opened.remove(service)
            await self._close(service, CLOSE_S)
        del self._status[name]

    async def close(self) -> None:
        """Close the open services, last opened first; a failure is logged and does not keep the others open.

        All together have `CLOSE_S`: whoever ends the process waits for it.
        """
        until = asyncio.get_running_loop().time() + CLOSE_S
        while self._loading:
            abandon(self._loading.popitem()[1])
        while self._opened:
            service = self._opened.pop()
            await self._close(service, max(until - asyncio.get_running_loop().time(), MIN_CLOSE_S))
            self._status[service.metadata.name] = ServiceStatus("loading", "closed")

    def _load_task(self, service: Service) -> asyncio.Task[None]:
        name = service.metadata.name
        if not service.metadata.is_supported:
            raise _unsupported(name)
        task = self._loading.get(name)
        if task is None:
            task = self._loading[name] = asyncio.create_task(self._load(service))
            task.add_done_callback(_retrieve)
        return task

    async def switch_context(self, active: ActiveSession | None) -> None:
        """Tell the open services where the person is, and those that are opened later when they are."""
        self._active = active
        await asyncio.gather(*(self._switch(service, active) for service in self._opened))

    async def _switch(self, service: Service, active: ActiveSession | None) -> None:
        try:
            await bounded(service.switch_context(active), self._hook_limit_s)
        except Exception:
            logger.exception("switch_context failed for %s", service.metadata.name)

    async def _load(self, service: Service) -> None:
        name = service.metadata.name
        self._status[name] = ServiceStatus("loading", "is being opened")
        try:
            await service.load()
        except Exception as error:
            reason = one_line(str(error)) or type(error).__name__
            self._status[name] = ServiceStatus("error", reason)
            # Its tools are missing from every list now; only this line says why.
            is_expected = isinstance(error, MadangError)
            logger.error("Service %s cannot be opened: %s", name, reason, exc_info=not is_expected)
            raise Unavailable(
                say("The service '{name}' cannot be opened: {reason}", name=name, reason=reason),
                hint=error.hint if isinstance(error, MadangError) else None,
            ) from error
        else:
            if self._active is not None:
                await self._switch(service, self._active)
            self._status[name] = ServiceStatus("ready", "since its first use")
            self._opened.append(service)
        finally:
            self._loading.pop(name, None)

    async def _close(self, service: Service, limit_s: float) -> None:
        try:
            await bounded(service.unload(), min(limit_s, self._hook_limit_s))
        except TimeoutError:
            logger.error("Service %s did not close in time", service.metadata.name)
        except Exception:
            logger.exception("Service %s failed to close", service.metadata.name)


def _retrieve(task: asyncio.Task[None]) -> None:
    """Look at the outcome of a load that nobody waits for any more: its status and the log have it."""
    if not task.cancelled():
        task.exception()


def _unsupported(name: str) -> Unavailable:
    return Unavailable(say("The service '{name}' is not available on Windows yet.", name=name))
