"""What services tell of their state: all of it now, and afterwards what changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

from madang.core.calls import Call
from madang.core.errors import ContextMissing, MadangError
from madang.core.phrases import say
from madang.core.service import FailedState, Service, ServiceContext
from madang.core.texts import one_line
from madang.provider.hooks import abandon, bounded
from madang.provider.lifecycle import Lifecycle

COALESCE_S = 0.02
"""How long after a change others are awaited, so that ten at once are told once."""
RETRY_S = 1.0
MAX_RETRY_S = 30.0

BACK_OFF, MAX_BACK_OFF = 2, 60
"""Times the limit, after which a service that was late is asked again; doubled each time it is late anew."""

logger = logging.getLogger(__name__)

Place = tuple[str, str, str | None, str | None]
"""A service, and whose state of it: one session's may hang on a folder that no other has."""


class Contexts:
    """Reads and watches the states of services. One that fails or hangs delays and breaks no other."""

    def __init__(self, lifecycle: Lifecycle, hook_limit_s: float) -> None:
        self._lifecycle = lifecycle
        self._hook_limit_s = hook_limit_s
        self._late: dict[Place, asyncio.Task[None]] = {}
        """States that were late once, each with the task that tries it again: nobody waits for them meanwhile."""
        self._watching: set[_Changes] = set()

    def forget(self, name: str) -> None:
        """Stop trying the states of a service that goes."""
        for place in [place for place in self._late if place[0] == name]:
            abandon(self._late.pop(place))

    def close(self) -> None:
        """Stop trying what was late."""
        while self._late:
            abandon(self._late.popitem()[1])

    async def read(self, call: Call, services: Sequence[Service]) -> dict[str, ServiceContext]:
        """Return what each of these services tells, in their order. One that fails gets a text that says so."""
        contexts = await asyncio.gather(*(self._context(service, call) for service in services))
        names = [service.metadata.name for service in services]
        return {name: context for name, context in zip(names, contexts, strict=True) if context is not None}

    async def watch(self, call: Call, services: Sequence[Service]) -> AsyncGenerator[dict[str, ServiceContext], None]:
        """Yield what all services tell, then, as often as something changes, what those tell that have changed."""
        watched = _Changes(self._lifecycle, call, services, self._hook_limit_s)
        async with watched.watched() as changes, self._told_of_recovery(watched):
            # Watched before it is read, so that no change is missed.
            told = await self.read(call, services)
            yield dict(told)
            async for names in changes:
                changed = await self.read(call, [service for service in services if service.metadata.name in names])
                news = {name: context for name, context in changed.items() if told.get(name) != context}
                if news:
                    told |= news
                    yield news

    @asynccontextmanager
    async def _told_of_recovery(self, changes: _Changes) -> AsyncIterator[None]:
        self._watching.add(changes)
        try:
            yield
        finally:
            self._watching.discard(changes)

    async def _context(self, service: Service, call: Call) -> ServiceContext | None:
        name = service.metadata.name
        if _place(service, call) in self._late:
            return _failed(name, "timed out")
        try:
            if not await self._lifecycle.open_soon(service):
                return _failed(name, self._lifecycle.status[name].reason) if service.metadata.is_supported else None
            context = await bounded(service.get_service_context(call), self._hook_limit_s)
        except ContextMissing:
            return None  # a call without a session has no state to tell, and that is no failure
        except TimeoutError:
            logger.error("%s takes longer than %g s to tell its state", name, self._hook_limit_s)
            self._back_off(service, replace(call, progress=None))
            return _failed(name, "timed out")
        except Exception as error:
            if isinstance(error, MadangError):
                return _failed(name, str(error))
            logger.exception("get_service_context failed for %s", name)
            return _failed(name, "internal")
        return ServiceContext(context) if isinstance(context, str) else context

    def _back_off(self, service: Service, call: Call) -> None:
        place = _place(service, call)
        if place not in self._late:
            self._late[place] = asyncio.create_task(self._recover(service, call), name=f"state of {place[0]}")

    async def _recover(self, service: Service, call: Call) -> None:
        """Try a state again, ever more seldom, until it is told within the limit, or fails in another way."""
        factor = BACK_OFF
        while True:
            await asyncio.sleep(factor * self._hook_limit_s)
            try:
                await bounded(service.get_service_context(call), self._hook_limit_s)
            except TimeoutError:
                factor = min(2 * factor, MAX_BACK_OFF)
                continue
            except Exception:
                logger.debug("%s fails to tell its state, and no longer hangs", service.metadata.name, exc_info=True)
            self._late.pop(_place(service, call), None)
            for changes in self._watching:
                changes.note(service.metadata.name)
            return


class _Changes:
    """The names of services whose state has changed, gathered until they are asked for."""

    def __init__(self, lifecycle: Lifecycle, call: Call, services: Sequence[Service], hook_limit_s: float) -> None:
        self._lifecycle = lifecycle
        self._call = call
        self._services = services
        self._hook_limit_s = hook_limit_s
        self._changed: set[str] = set()
        self._wake = asyncio.Event()
        self._awaited = {service.metadata.name for service in services}
        self._all_begun = asyncio.Event()
        self._running = len(services)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[AsyncIterator[frozenset[str]]]:
        """Watch all services, but wait for none of them longer than the limit."""
        tasks = [asyncio.create_task(self._watch(service)) for service in self._services]
        try:
            if tasks:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._hook_limit_s):
                        await self._all_begun.wait()
            self._changed.clear()
            yield self._names()
        finally:
            for task in tasks:
                abandon(task)

    async def _names(self) -> AsyncIterator[frozenset[str]]:
        while True:
            await self._wake.wait()
            await asyncio.sleep(COALESCE_S)
            self._wake.clear()
            names, self._changed = frozenset(self._changed), set()
            if names:
                yield names
            elif not self._running:
                return  # the state of these services cannot change any more

    def note(self, name: str) -> None:
        """Note that the state of a service has changed, if it is one of those that are watched."""
        self._changed.add(name)
        self._wake.set()

    async def _watch(self, service: Service) -> None:
        try:
            await self._note_changes(service)
        finally:
            self._running -= 1
            self._wake.set()

    async def _note_changes(self, service: Service) -> None:
        """Note the changes of one service; after a failure, which is logged, they are watched anew."""
        name, delay_s = service.metadata.name, RETRY_S
        while True:
            try:
                await self._lifecycle.open(service)
                async for _ in service.changes(self._call):
                    self._begin(name)
                    delay_s = RETRY_S
                    self.note(name)
                return
            except ContextMissing:
                return
            except Exception as error:
                exc_info = not isinstance(error, MadangError)
                logger.error("%s cannot be watched: %s", name, one_line(str(error)), exc_info=exc_info)
            finally:
                self._begin(name)
            await asyncio.sleep(delay_s)
            delay_s = min(2 * delay_s, MAX_RETRY_S)

    def _begin(self, name: str) -> None:
        self._awaited.discard(name)
        if not self._awaited:
            self._all_begun.set()


def _place(service: Service, call: Call) -> Place:
    return service.metadata.name, call.user_id, call.assistant_id, call.session_id


def _failed(name: str, reason: str) -> ServiceContext:
    return ServiceContext([say("# {service}: its state cannot be read now.", service=name)], FailedState(error=reason))
