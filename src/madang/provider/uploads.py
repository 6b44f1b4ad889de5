"""Files that the person hands to a service: granted, bounded, audited once, and told to the session's run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from madang.core.calls import Call
from madang.core.errors import Denied, MadangError, NotFound, NotGranted
from madang.core.phrases import say
from madang.core.results import ToolResult
from madang.core.service import NoState, Service
from madang.core.tools import Effect
from madang.core.trust import Origin
from madang.core.uploads import UPLOAD_LIMIT_S, AcceptedUpload, UploadedFile
from madang.provider.actions import CallListeners
from madang.provider.failures import internal_error, not_granted, timed_out
from madang.provider.grants import Grants, is_granted
from madang.provider.lifecycle import Lifecycle
from madang.provider.registry import Registry
from madang.records.audit import AuditEntry
from madang.records.sessions import SessionStore
from madang.rendering.replies import reply

UPLOAD, WITHDRAW = "upload", "withdraw_upload"
"""What the audit trail calls these deeds: no tools have these names."""


class FileUploads:
    """The files that services accept."""

    def __init__(
        self,
        registry: Registry,
        lifecycle: Lifecycle,
        grants: Grants,
        record: Callable[[AuditEntry], None],
        sessions: SessionStore | None,
        listeners: CallListeners,
    ) -> None:
        self._registry = registry
        self._lifecycle = lifecycle
        self._grants = grants
        self._record = record
        self._sessions = sessions
        self._listeners = listeners

    async def count(self, call: Call, service: str) -> int:
        """Return how many files a service has of the call's session; a look, which is not audited."""
        async with self._calling(call, service) as granted:
            return await granted.count_uploads(call)

    async def accept(self, call: Call, service: str, upload: UploadedFile) -> AcceptedUpload:
        """Have a service keep a file, and tell the session's run of it."""
        recorded = self._recorded(call, UPLOAD, "write", service, upload.name)
        async with recorded, self._calling(call, service) as granted:
            if self._sessions is not None:
                await self._sessions.ensure(call)
            accepted = await granted.accept_upload(call, upload)
        await self._tell(call, service, accepted)
        return accepted

    async def withdraw(self, call: Call, service: str, accepted: AcceptedUpload) -> None:
        """Have a service take back what it accepted, if it was new."""
        if not accepted.is_new:
            return
        recorded = self._recorded(call, WITHDRAW, "destroy", service, accepted.id)
        async with recorded, self._calling(call, service) as granted:
            await granted.withdraw_upload(call, accepted)
        await self._tell(call, service, AcceptedUpload(accepted.id, accepted.tool, [WITHDRAWN]))

    @asynccontextmanager
    async def _calling(self, call: Call, name: str) -> AsyncIterator[Service]:
        service = self._registry.get(name)
        if service is None:
            raise NotFound(say("There is no service '{name}'.", name=name))
        if not is_granted(service.metadata, await self._grants.services(call)):
            raise not_granted(call, service)
        try:
            async with asyncio.timeout(UPLOAD_LIMIT_S):
                await self._lifecycle.open(service)
                yield service
        except TimeoutError:
            raise timed_out(UPLOAD_LIMIT_S) from None
        except MadangError:
            raise
        except Exception:
            raise internal_error(UPLOAD) from None

    @asynccontextmanager
    async def _recorded(self, call: Call, deed: str, effect: Effect, service: str, name: str) -> AsyncIterator[None]:
        started_s, outcome = time.perf_counter(), "cancelled"
        try:
            yield
            outcome = "ok"
        except MadangError as error:
            outcome = error.code
            raise
        finally:
            decision = "deny" if outcome in (NotGranted.code, Denied.code) else "allow"
            elapsed_ms = (time.perf_counter() - started_s) * 1000
            arguments = {"service": service, "name": name}
            self._record(AuditEntry(call, deed, effect, arguments, outcome, 0, elapsed_ms, decision))

    async def _tell(self, call: Call, service: str, accepted: AcceptedUpload) -> None:
        result = ToolResult(accepted.text, NoState())
        told = reply(service, accepted.tool, call, result)
        await self._listeners.tell_action(call, told.text, (Origin("tool", accepted.tool),))


WITHDRAWN = say("The upload was cancelled: nothing of it is kept.")
