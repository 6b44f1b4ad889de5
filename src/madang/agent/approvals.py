"""Asking the person whether a call may be made: a pause of the run, settled once, from any process."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Literal

from madang.core.calls import Call
from madang.core.errors import Conflict, Denied
from madang.core.ids import new_id
from madang.core.pauses import PauseRecord
from madang.core.phrases import say
from madang.storage.clock import format_timestamp, parse_timestamp, timestamp
from madang.storage.database import Database, Transaction
from madang.storage.decisions import remember_decision
from madang.storage.pauses import open_pause, settle_pause
from madang.storage.runs.journal import RunCall
from madang.storage.runs.records import Run

SERVICE = "agent"
DECIDE = "decide"

APPROVAL_TIMEOUT = timedelta(days=7)
"""What nobody decided until then counts as declined."""

Scope = Literal["once", "session", "assistant"]


class Approvals:
    """The pauses that ask for approval."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, run: Run, call: RunCall, operation_id: str) -> PauseRecord:
        """Open the pause of a call, once however often this is done."""
        asking = replace(run.call(call.call_id), operation_id=f"{operation_id}:approval")
        now = timestamp()

        async def work(tx: Transaction) -> PauseRecord:
            pause, _ = await open_pause(
                tx,
                asking,
                id=new_id(),
                kind="approval",
                service=SERVICE,
                tool=call.tool,
                title=call.tool,
                opened_at=now,
                expires_at=format_timestamp(parse_timestamp(now) + APPROVAL_TIMEOUT),
            )
            return pause

        return await self._database.write(work, user_id=run.user_id)

    async def decide(self, call: Call, pause_id: str, *, allow: bool, scope: Scope = "once") -> PauseRecord:
        """Settle an approval. The first decision counts.

        Raises:
            Denied: a model tries to decide for the person.
            Conflict: it is not open.
        """
        if call.actor == "model" or call.relays:
            raise Denied(say("Only the person decides this."), hint=say("Wait for their decision."))

        async def work(tx: Transaction) -> PauseRecord | None:
            arguments = {"allow": allow, "scope": scope}
            status: Literal["answered", "cancelled"] = "answered" if allow else "cancelled"
            pause = await settle_pause(tx, call, pause_id, status=status, tool=DECIDE, arguments=arguments)
            if pause is not None and allow and scope != "once":
                decided = replace(call, assistant_id=pause.assistant_id or None)
                await remember_decision(tx, decided, scope, pause.tool)
            return pause

        settled = await self._database.write(work, user_id=call.user_id)
        if settled is None:
            raise Conflict(say("This was decided already, or is over."), hint=say("Look at what is open now."))
        return settled
