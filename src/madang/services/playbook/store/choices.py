"""The choice among the playbooks that were shown: a pause of kind choice, at most one open per session and asker."""

from __future__ import annotations

from datetime import timedelta

from madang.core.calls import Call
from madang.core.errors import Conflict, Expired
from madang.core.ids import new_id
from madang.core.pauses import PauseRecord, no_longer_open
from madang.core.phrases import say
from madang.database.port import Transaction
from madang.records.pauses import check_relayed, find_own_open, find_pause, open_pause, settle_pause, supersede
from madang.services.playbook.domain import SERVICE, chosen_id
from madang.system.clock import format_timestamp, parse_timestamp, timestamp

CHOICE_TIMEOUT = timedelta(days=30)

TITLE = say("Choose a playbook")
"""Kept in English; whoever shows it looks it up in the catalogue."""


async def open_choice(tx: Transaction, call: Call) -> PauseRecord:
    """Open a choice, in the place of the one that the same asker has open; once per operation."""
    now = timestamp()
    choice, is_new = await open_pause(
        tx,
        call,
        id=new_id(),
        kind="choice",
        service=SERVICE,
        tool="show_playbooks",
        title=TITLE.template,
        opened_at=now,
        expires_at=format_timestamp(parse_timestamp(now) + CHOICE_TIMEOUT),
    )
    if is_new:
        await supersede(tx, call, "choice", tool="show_playbooks", keep=choice.id)
    return choice


async def find_choice(tx: Transaction, call: Call, pause_id: str) -> PauseRecord | None:
    """Return the choice of the call's session that is named, else the one that its asker has open."""
    if not pause_id:
        return await find_own_open(tx, call, "choice")
    pause = await find_pause(tx, call.user_id, pause_id)
    if pause is None or (pause.kind, pause.service) != ("choice", SERVICE):
        return None
    return pause if pause.session_id == (call.session_id or "") else None


async def settle_choice(
    tx: Transaction, call: Call, playbook_id: str, goal: str, pause_id: str, *, must_settle: bool = False
) -> tuple[PauseRecord | None, bool]:
    """Settle the choice that is named, else the asker's own, and return it with whether it is settled by this call.

    A page stays on screen after the choice: there, where no run waits, the person may select once more, and that
    settles none, unless it `must_settle` one.

    Raises:
        Denied: it is relayed, and another has asked.
        Conflict, Expired: it was settled otherwise, or nobody waits for it any more.
    """
    choice = await find_choice(tx, call, pause_id)
    if choice is None:
        if must_settle:
            raise no_longer_open(None)
        return None, False
    check_relayed(call, choice)
    if choice.status == "superseded" and not choice.run_id and choice.asker == call.asker:
        # An older list is still on screen: selecting in it answers the newer one, which shows the same playbooks.
        choice = await find_own_open(tx, call, "choice") or choice
    # With its goal: what was chosen is told by that, also after it was changed or deleted.
    arguments = {"id": playbook_id, "goal": goal}
    settled = await settle_pause(tx, call, choice.id, status="answered", tool="select_playbook", arguments=arguments)
    if settled is not None:
        return settled, True
    choice = await find_pause(tx, call.user_id, choice.id)
    if choice is None or not (choice.run_id or must_settle):
        return None, False
    if choice.status == "answered" and chosen_id(choice) == playbook_id:
        return choice, False
    error = Conflict if choice.status in ("answered", "superseded") else Expired
    raise error(
        say("Choice {id} was settled already.", id=choice.id),
        hint=say("Leave pauseId out to select a playbook without answering a choice."),
    )
