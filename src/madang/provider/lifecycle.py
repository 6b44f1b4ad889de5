"""Opening services on their first use and closing them in reverse order."""

from __future__ import annotations

import asyncio
import logging

from madang.core.errors import MadangError, Unavailable
from madang.core.phrases import say
from madang.core.service import Service, ServiceStatus
from madang.core.texts import one_line

logger = logging.getLogger(__name__)


class Lifecycle:
    """Tracks which services are open. A service that failed to open is retried at its next use."""

    def __init__(self) -> None:
        self._status: dict[str, ServiceStatus] = {}
        self._opened: list[Service] = []
        self._locks: dict[str, asyncio.Lock] = {}

    @property
    def status(self) -> dict[str, ServiceStatus]:
        return dict(self._status)

    def add(self, service: Service) -> None:
        name = service.metadata.name
        self._locks[name] = asyncio.Lock()
        if service.metadata.is_supported:
            self._status[name] = ServiceStatus("loading", "waits for its first use")
        else:
            self._status[name] = ServiceStatus("error", str(_unsupported(name)))

    async def open(self, service: Service) -> None:
        """Make sure that `service` is open.

        Raises:
            Unavailable: it cannot be opened; its status has the reason.
        """
        name = service.metadata.name
        if not service.metadata.is_supported:
            raise _unsupported(name)
        if self._status[name].state == "ready":
            return
        async with self._locks[name]:
            if self._status[name].state == "ready":
                return
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
            self._status[name] = ServiceStatus("ready", "since its first use")
            self._opened.append(service)

    async def remove(self, service: Service) -> None:
        """Close one service and drop its status."""
        if service in self._opened:
            self._opened.remove(service)
            await self._close(service)
        del self._status[service.metadata.name], self._locks[service.metadata.name]

    async def close(self) -> None:
        """Close the open services, last opened first; a failure is logged and does not keep the others open."""
        while self._opened:
            service = self._opened.pop()
            await self._close(service)
            self._status[service.metadata.name] = ServiceStatus("loading", "closed")

    async def _close(self, service: Service) -> None:
        try:
            await service.unload()
        except Exception:
            logger.exception("Service %s failed to close", service.metadata.name)


def _unsupported(name: str) -> Unavailable:
    return Unavailable(say("The service '{name}' is not available on Windows yet.", name=name))
