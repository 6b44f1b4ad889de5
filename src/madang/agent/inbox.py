"""What waits for the person, of whatever client and session: reading it in full, and settling it.

It needs no model and no run of this process: a settled pause wakes its run wherever one is looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from madang.agent.approvals import Approvals, Scope
from madang.agent.manual import ManualTurns
from madang.core.calls import Call
from madang.core.errors import Conflict, Denied, InvalidArguments
from madang.core.ids import UserId
from madang.core.pauses import PauseRecord
from madang.core.phrases import Phrase, say
from madang.core.results import Reply
from madang.llm.messages import Part
from madang.provider.provider import Provider
from madang.storage.database import Database, Transaction
from madang.storage.decisions import DecisionStore
from madang.storage.pauses import PauseStore, settle_pause
from madang.storage.runs.calls import CallStore
from madang.storage.runs.journal_tables import JOURNAL_MIGRATIONS
from madang.storage.runs.records import Run
from madang.storage.runs.rows import find_awaited
from madang.storage.runs.store import RunStore

MAX_PLAYBOOKS = 50
DECLINE = "decline"

ItemType = Literal["text", "select", "multiselect", "choice", "wait", "approval", "model"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of what the person can choose: its value for the tool, and how it is shown."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class InboxItem:
    """A pause with all that the person needs to settle it."""

    pause: PauseRecord
    type: ItemType
    text: str = ""
    """The question; of an approval, the arguments of the call as the model wrote them."""
    choices: tuple[Choice, ...] = ()
    left_out: int = 0
    """How many more there are to choose from."""
    hint: str = ""
    """What a text may look like; what happens after a wait."""
    reason: Phrase | None = None
    """Why an approval is asked for."""

    @property
    def id(self) -> str:
        return self.pause.id


class Inbox:
    """The open pauses of a user."""

    def __init__(self, database: Database, provider: Provider) -> None:
        self._database = database
        self._provider = provider
        self._pauses = PauseStore(database)
        self._calls = CallStore(database)
        self._runs = RunStore(database, database.new_liveness())
        self._approvals = Approvals(database)
        self._manual = ManualTurns(database)

    async def open(self) -> None:
        """Make the tables, those of runs among them; this process owns none."""
        await self._pauses.open()
        await self._database.prepare(JOURNAL_MIGRATIONS)
        await DecisionStore(self._database).open()

    async def list_open(self, user_id: UserId, limit: int = 100, after: str = "") -> list[PauseRecord]:
        """Return what is open, newest first: up to `limit`, older than the id `after`."""
        return await self._pauses.list_open(user_id, limit, after)

    async def list_by_run(self, run: Run) -> list[PauseRecord]:
        """Return all that a run has asked, oldest first."""
        return await self._pauses.list_by_run(run.user_id, run.id)

    async def list_awaited(self, run: Run) -> list[PauseRecord]:
        """Return what a run waits for now, oldest first. It may have more open, which it goes on without."""
        return await self._database.read(lambda tx: find_awaited(tx, run), user_id=run.user_id, brief=True)

    async def get(self, call: Call, id: str) -> PauseRecord | None:
        """Return a pause of the call's user as it is now."""
        return await self._pauses.get(call, id)

    async def read(self, call: Call, pause: PauseRecord) -> InboxItem:
        """Return a pause with all that the person needs to settle it."""
        at = _at(call, pause)
        match pause.kind:
            case "approval":
                return await self._approval(at, pause)
            case "choice":
                return await self._choice(at, pause)
            case "model":
                return InboxItem(pause, "model")
            case _:
                return await self._question(at, pause)

    async def answer(self, call: Call, item: InboxItem, answer: str | list[str]) -> Reply:
        """Settle a question, a choice or a wait with what the person said. The reply may be an error."""
        at = _at(call, item.pause)
        match item.type:
            case "choice":
                return await self._provider.execute_tool(at, "select_playbook", {"id": answer, "pauseId": item.id})
            case "wait":
                return await self._provider.execute_tool(at, "resume_from_wait", {"waitId": item.id})
            case "text" | "select" | "multiselect":
                arguments = {"messageId": item.id, "answer": answer}
                return await self._provider.execute_tool(at, "reply_prompt", arguments)
        raise ValueError(item.type)

    async def decline(self, call: Call, item: InboxItem) -> Reply | None:
        """Settle something without an answer: its asker is told so. An approval that is declined is denied.

        Raises:
            InvalidArguments: it cannot be declined.
            Conflict: it is not open any more.
        """
        at = _at(call, item.pause)
        match item.type:
            case "approval":
                await self.decide(call, item, allow=False)
                return None
            case "choice":
                await self._cancel(at, item.pause)
                return None
            case "text" | "select" | "multiselect":
                return await self._provider.execute_tool(at, "reply_prompt", {"messageId": item.id, "cancelled": True})
        raise InvalidArguments(
            say("This cannot be declined: it only waits until you are ready."),
            hint=say("Stop the run instead, or let it wait."),
        )

    async def decide(self, call: Call, item: InboxItem, *, allow: bool, scope: Scope = "once") -> PauseRecord:
        """Decide whether a call of a run may be made.

        Raises:
            Denied: it is no person who decides.
            Conflict: it was decided already.
        """
        if call.actor != "person":
            # A program may be what a run has started: it would allow itself whatever it likes.
            raise Denied(
                say("Only a person decides this, and there is no terminal here."),
                hint=say("Run it in a terminal; for runs without one, write a file of rules."),
            )
        return await self._approvals.decide(_at(call, item.pause), item.id, allow=allow, scope=scope)

    async def act(self, call: Call, item: InboxItem, parts: Sequence[Part]) -> PauseRecord:
        """Take the turn of the model, where the person is it.

        Raises:
            Conflict: the turn is over.
        """
        return await self._manual.act(_at(call, item.pause), item.id, parts)

    async def _question(self, at: Call, pause: PauseRecord) -> InboxItem:
        reply = await self._provider.execute_tool(at, "get_prompt", {"messageId": pause.id})
        if reply.is_error:
            return InboxItem(pause, "wait" if pause.kind == "wait" else "text", pause.title)
        data = reply.data
        choices = tuple(Choice(option, option) for option in data.get("options", ()))
        hint = data.get("resumeInstruction") or data.get("placeholder") or ""
        return InboxItem(pause, data["type"], data["prompt"], choices, hint=hint)

    async def _choice(self, at: Call, pause: PauseRecord) -> InboxItem:
        reply = await self._provider.execute_tool(at, "list_playbooks", {"pageSize": MAX_PLAYBOOKS})
        page = {} if reply.is_error else reply.data["page"]
        items = page.get("items", [])
        choices = tuple(Choice(item["id"], item["goal"]) for item in items)
        return InboxItem(pause, "choice", pause.title, choices, page.get("totalItems", 0) - len(choices))

    async def _approval(self, at: Call, pause: PauseRecord) -> InboxItem:
        run = await self._runs.get(at.user_id, pause.run_id)
        calls = [] if run is None else await self._calls.list_by_turn(run)
        # By the call: its row has the pause a moment later, with the step that ends the turn.
        asking = next((one for one in calls if one.call_id == pause.call_id), None)
        return InboxItem(
            pause, "approval", asking.arguments if asking else "", reason=asking.reason if asking else None
        )

    async def _cancel(self, at: Call, pause: PauseRecord) -> None:
        async def work(tx: Transaction) -> PauseRecord | None:
            return await settle_pause(tx, at, pause.id, status="cancelled", tool=DECLINE, arguments={})

        if await self._database.write(work, user_id=at.user_id) is None:
            raise Conflict(say("This was decided already, or is over."), hint=say("Look at what is open now."))


def _at(call: Call, pause: PauseRecord) -> Call:
    """Return the call in the place of a pause."""
    return replace(call, session_id=pause.session_id, assistant_id=pause.assistant_id or call.assistant_id)
