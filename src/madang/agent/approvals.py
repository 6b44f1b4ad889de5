"""Asking the person whether a call may be made: a pause of the run, settled once, from any process.

No tool leads here: an approval is settled where the person is, in our own chat and at a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Literal

from madang.agent.path_policy import is_asked_each_time
from madang.core.calls import Call
from madang.core.errors import Denied
from madang.core.ids import new_id
from madang.core.pauses import (
    ApprovalScope,
    Decline,
    PauseAnswer,
    PauseForm,
    PauseRecord,
    Permission,
    no_longer_open,
    wrong_answer,
)
from madang.core.phrases import Phrase, say
from madang.database.port import Database, Transaction
from madang.records.decisions import remember_decision
from madang.records.pauses import PauseStore, find_pause, open_pause, settle_pause
from madang.records.runs.calls import find_asked_calls
from madang.records.runs.journal import RunCall, write_reason
from madang.records.runs.records import Run
from madang.system.clock import format_timestamp, parse_timestamp, timestamp

SERVICE = "agent"
DECIDE = "decide"

APPROVAL_TIMEOUT = timedelta(days=7)
"""What nobody decided until then counts as declined."""


class Approvals:
    """The pauses that ask for approval."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, run: Run, call: RunCall, operation_id: str, reason: Phrase | None) -> PauseRecord:
        """Open the pause of a call, once however often this is done, and keep why it is asked."""
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
            if reason is not None:
                await write_reason(tx, run, call, reason)
            return pause

        return await self._database.write(work, user_id=run.user_id)

    async def read_pauses(self, call: Call, pauses: Sequence[PauseRecord]) -> Sequence[PauseForm]:
        """Return each with the arguments of its call, all of them, and why it is asked for."""
        asked = await find_asked_calls(self._database, call.user_id, pauses)
        forms: list[PauseForm] = []
        for pause in pauses:
            arguments, reason = asked.get(pause.id, ("", None))
            scopes = possible_scopes(reason)
            forms.append(PauseForm(pause, "approval", arguments, pause.heading, reason=reason, scopes=scopes))
        return forms

    async def settle_pause(self, call: Call, pause: PauseRecord, answer: PauseAnswer) -> PauseRecord:
        """Decide over a call of a run."""
        match answer:
            case Permission(allow, scope):
                return await self.decide(call, pause.id, allow=allow, scope=scope)
            case Decline():
                return await self.decide(call, pause.id, allow=False)
            case _:
                raise wrong_answer(pause, answer)

    async def decide(self, call: Call, pause_id: str, *, allow: bool, scope: ApprovalScope = "once") -> PauseRecord:
        """Settle an approval. The first decision counts. What is asked each time is allowed once, whatever the scope.

        Raises:
            Denied: it is not for the call's actor to decide.
            Conflict, Expired: it is not open.
        """
        _check_decider(call, allow=allow)
        if scope != "once" and scope not in await self._possible_scopes(call, pause_id):
            scope = "once"

        async def work(tx: Transaction) -> PauseRecord:
            arguments = {"allow": allow, "scope": scope}
            status: Literal["answered", "cancelled"] = "answered" if allow else "cancelled"
            pause = await settle_pause(tx, call, pause_id, status=status, tool=DECIDE, arguments=arguments)
            if pause is None:
                raise no_longer_open(await find_pause(tx, call.user_id, pause_id))
            if allow and scope != "once":
                decided = replace(call, assistant_id=pause.assistant_id or None)
                await remember_decision(tx, decided, scope, pause.tool)
            return pause

        return await self._database.write(work, user_id=call.user_id)

    async def _possible_scopes(self, call: Call, pause_id: str) -> Sequence[ApprovalScope]:
        pause = await PauseStore(self._database).get(call, pause_id)
        asked = await find_asked_calls(self._database, call.user_id, [pause] if pause is not None else [])
        _, reason = asked.get(pause_id, ("", None))
        return possible_scopes(reason)


def possible_scopes(reason: Phrase | None) -> tuple[ApprovalScope, ...]:
    """Return for how long a call may be allowed that is asked for a reason."""
    return ("once",) if is_asked_each_time(reason) else ("once", "session", "assistant")


def _check_decider(call: Call, *, allow: bool) -> None:
    """Check that a decision comes from the person: a program may be what a run has started, and would allow itself
    whatever it likes. To deny harms nobody, so any command may.

    Raises:
        Denied: it does not.
    """
    if call.door not in ("host", "command"):
        raise Denied(say("Only the person decides this."), hint=say("Wait for their decision."))
    if call.actor != "person" and (allow or call.door != "command"):
        raise Denied(
            say("Only a person decides this, and there is no terminal here."),
            hint=say("Run it in a terminal; for runs without one, write a file of rules."),
        )
