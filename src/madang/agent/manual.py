"""Manual mode: the person in the model's place. Its turn is a pause, and what the person does there is the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from madang.core.calls import Call
from madang.core.errors import Denied
from madang.core.ids import new_id
from madang.core.pauses import ModelTurn, PauseAnswer, PauseForm, PauseRecord, wrong_answer
from madang.core.phrases import say
from madang.database.port import Database, Transaction
from madang.llm.base import ModelAnswer
from madang.llm.messages import CallPart, Part, dump_parts, parse_parts
from madang.records.pauses import PauseStore, clear_awaited, open_pause, supersede
from madang.records.runs.records import Run

SERVICE = "agent"
ACT = "act"
MANUAL = "manual"
"""The name of the model that the person is."""
YOUR_TURN = say("It is the model's turn, and there is no model: you are.")
NEXT_TURN = say("What does the model do?")


class ManualTurns:
    """The pauses in which the person is the model."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def ask(self, run: Run) -> PauseRecord:
        """Open the pause of the run's next turn, once however often this is done."""
        asking = replace(run.call(), operation_id=f"{run.id}:{run.turn + 1}:model")

        async def work(tx: Transaction) -> PauseRecord:
            pause, _ = await open_pause(
                tx, asking, id=new_id(), kind="model", service=SERVICE, tool=ACT, title="", expires_at=""
            )
            return pause

        return await self._database.write(work, user_id=run.user_id)

    async def withdraw(self, run: Run) -> None:
        """Settle the open turn of a run that has a model now: the run would wait for the person beside it."""

        async def work(tx: Transaction) -> None:
            turns = await supersede(tx, run.call(), "model", tool=ACT)
            await clear_awaited(tx, run.user_id, [turn.id for turn in turns])

        await self._database.write(work, user_id=run.user_id)

    async def read_pauses(self, call: Call, pauses: Sequence[PauseRecord]) -> Sequence[PauseForm]:
        """Return each as what it is: nobody has asked anything."""
        return [PauseForm(pause, "model", YOUR_TURN, NEXT_TURN, can_decline=False) for pause in pauses]

    async def settle_pause(self, call: Call, pause: PauseRecord, answer: PauseAnswer) -> PauseRecord:
        """Take the turn of the model."""
        if not isinstance(answer, ModelTurn):
            raise wrong_answer(pause, answer)
        return await self.act(call, pause.id, parse_parts(list(answer.parts)))

    async def act(self, call: Call, pause_id: str, parts: Sequence[Part]) -> PauseRecord:
        """Give the turn of the model: a text, calls, or both. Without a call the run ends after it.

        Raises:
            Denied: a model tries to.
            Conflict, Expired: it is not the person's turn any more.
        """
        if call.actor == "model" or call.relays:
            raise Denied(say("Only the person does this."))

        arguments = {"parts": dump_parts(parts)}

        return await PauseStore(self._database).settle(call, pause_id, status="answered", tool=ACT, arguments=arguments)


def manual_answer(pause: PauseRecord) -> ModelAnswer:
    """Return what the person did in the model's place, as an answer."""
    parts = parse_parts(pause.settled_with.get("arguments", {}).get("parts"))
    has_calls = any(isinstance(part, CallPart) for part in parts)
    return ModelAnswer(parts, "tool_calls" if has_calls else "stop", model=MANUAL)
