"""Pauses through the provider: reading and settling them, by whatever service opened them.

A look is no call: nothing is audited, and a service that fails leaves what the row says. An answer is a deed, and has
one row in the audit trail.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from madang.core.calls import Call
from madang.core.errors import Denied, ToolError, Unavailable
from madang.core.pauses import (
    Answer,
    Decline,
    ModelTurn,
    PauseAnswer,
    PauseForm,
    PauseRecord,
    Permission,
    plain_form,
)
from madang.core.phrases import Translate, say
from madang.core.results import PauseKind, Reply, ToolResult
from madang.core.service import PauseOwner, Service
from madang.core.texts import one_line
from madang.provider.failures import internal_error, timed_out
from madang.provider.hooks import bounded
from madang.provider.lifecycle import Lifecycle
from madang.provider.registry import Registry
from madang.records.audit import AuditEntry
from madang.records.sessions import SessionStore
from madang.rendering.replies import error_reply, reply

ANSWER = "answer"
"""What the audit trail calls the deed of settling a pause: no tool has this name."""

PauseOwners = Mapping[PauseKind, PauseOwner]
NO_OWNERS: PauseOwners = MappingProxyType({})
"""Of kinds of pauses that belong to no service."""

logger = logging.getLogger(__name__)


class Pauses:
    """The pauses of the registered services."""

    def __init__(
        self,
        registry: Registry,
        lifecycle: Lifecycle,
        record: Callable[[AuditEntry], None],
        sessions: SessionStore | None,
        words: Callable[[Call], Translate],
        *,
        time_limit_s: float,
        hook_limit_s: float,
    ) -> None:
        self._registry = registry
        self._lifecycle = lifecycle
        self._record = record
        self._sessions = sessions
        self._words = words
        self._time_limit_s = time_limit_s
        self._hook_limit_s = hook_limit_s

    async def read(self, call: Call, pauses: Sequence[PauseRecord], owners: PauseOwners) -> list[PauseForm]:
        """Return the forms of pauses of the call's user in their order, of whatever sessions."""
        groups: dict[tuple[str, PauseOwner | None], list[PauseRecord]] = {}
        for pause in pauses:
            owner = owners.get(pause.kind) or self._registry.get(pause.service)
            groups.setdefault((pause.service, owner), []).append(pause)
        read = await asyncio.gather(*(self._read(call, owner, group) for (_, owner), group in groups.items()))
        forms = {form.id: form for group in read for form in group}
        return [forms.get(pause.id) or plain_form(pause) for pause in pauses]

    async def settle(self, call: Call, pause: PauseRecord, answer: PauseAnswer, owners: PauseOwners) -> PauseRecord:
        """Settle a pause, and record it.

        Raises:
            ToolError: as its owner says.
        """
        started_s = time.perf_counter()
        outcome, decision = "cancelled", "allow"
        try:
            settled = await self._settle(call, pause, answer, owners)
            outcome, decision = "ok", "relayed" if call.relays else decision
            return settled
        except ToolError as error:
            outcome, decision = error.code, "deny" if isinstance(error, Denied) else decision
            raise
        finally:
            elapsed_ms = (time.perf_counter() - started_s) * 1000
            arguments = {"id": pause.id, **_arguments(answer)}
            self._record(AuditEntry(call, ANSWER, "write", arguments, outcome, 0, elapsed_ms, decision))

    async def outcome(self, call: Call, pause: PauseRecord) -> Reply:
        """Return what a pause led to, as the result of the call that opened it."""
        try:
            result = await bounded(self._outcome(call, pause), self._time_limit_s)
            return reply(pause.service, pause.tool, call, result, words=self._words(call))
        except ToolError as error:
            return error_reply(pause.service, pause.tool, call, error, words=self._words(call))
        except TimeoutError:
            return error_reply(pause.service, pause.tool, call, timed_out(self._time_limit_s))
        except Exception:
            return error_reply(pause.service, pause.tool, call, internal_error(pause.tool))

    async def _read(self, call: Call, owner: PauseOwner | None, pauses: Sequence[PauseRecord]) -> Sequence[PauseForm]:
        try:
            if isinstance(owner, Service):
                await self._lifecycle.open(owner)
            return await bounded(_forms(owner, call, pauses), self._hook_limit_s)
        except Exception as error:
            exc_info = not isinstance(error, (ToolError, TimeoutError))
            logger.error("Pauses of %s cannot be read: %s", pauses[0].service, one_line(repr(error)), exc_info=exc_info)
            return []

    async def _settle(self, call: Call, pause: PauseRecord, answer: PauseAnswer, owners: PauseOwners) -> PauseRecord:
        if call.actor == "model":
            raise Denied(say("Only the person does this."))
        owner = owners.get(pause.kind) or self._service(pause)
        try:
            async with asyncio.timeout(self._time_limit_s):
                if isinstance(owner, Service):
                    await self._lifecycle.open(owner)
                    if self._sessions is not None:
                        await self._sessions.ensure(call)  # one that is being deleted takes no answer
                return await owner.settle_pause(call, pause, answer)
        except ToolError:
            raise
        except TimeoutError:
            raise timed_out(self._time_limit_s) from None
        except Exception:
            raise internal_error(ANSWER) from None

    async def _outcome(self, call: Call, pause: PauseRecord) -> ToolResult[Any]:
        service = self._service(pause)
        await self._lifecycle.open(service)
        return await service.outcome(call, pause)

    def _service(self, pause: PauseRecord) -> Service:
        service = self._registry.get(pause.service)
        if service is None:
            raise Unavailable(say("The service '{name}' is not there any more.", name=pause.service))
        return service


async def _forms(owner: PauseOwner | None, call: Call, pauses: Sequence[PauseRecord]) -> Sequence[PauseForm]:
    return [] if owner is None else await owner.read_pauses(call, pauses)


def _arguments(answer: PauseAnswer) -> dict[str, Any]:
    match answer:
        case Answer(value):
            return {"answer": value}
        case Decline():
            return {"cancelled": True}
        case Permission(allow, scope):
            return {"allow": allow, "scope": scope}
        case ModelTurn(parts):
            return {"parts": list(parts)}
