"""Manual mode over the API: the person in the model's place, in the same machine that a model's calls go through."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

from madang.agent.inbox import Inbox
from madang.agent.runner import Runner
from madang.agent.stores import RunStores
from madang.core.calls import Call
from madang.core.errors import Conflict, InvalidArguments, Unavailable
from madang.core.ids import new_id
from madang.core.pauses import ModelTurn, PauseRecord
from madang.core.phrases import say
from madang.database.port import Database
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.model_catalogue import ModelCatalogue
from madang.host.wire import ManualCall, TurnAnswer, TurnBody
from madang.llm.messages import CallPart, Part, TextPart, dump_parts
from madang.records.assistants import AssistantStore
from madang.records.runs.records import Run, run_topic

TURN_WAIT_S = 5.0


class PersonTurns:
    """The pauses in which it is the person's turn. A run that has come to none yet is waited for, for some seconds."""

    def __init__(self, database: Database, runner: Runner, stores: RunStores) -> None:
        self._database = database
        self._runner = runner
        self._stores = stores

    async def await_turn(self, call: Call) -> PauseRecord:
        """Return the pause in which it is the person's turn: of the live run, or of one that begins for it.

        Raises:
            Conflict: the run waits for something else first.
            Unavailable: it does not come to that.
        """
        try:
            async with asyncio.timeout(TURN_WAIT_S):
                while True:
                    run = await self._stores.runs.get_live(call) or await self._runner.begin(call)
                    if turn := await self._turn_of(run):
                        return turn
        except TimeoutError:
            raise Unavailable(say("The run is busy."), hint=say("Try again in a moment.")) from None

    async def _turn_of(self, run: Run) -> PauseRecord | None:
        """Return the pause of the person's turn when the run has come to it; None if it is over before.

        Raises:
            Conflict: the run waits for something else first.
        """
        async with aclosing(self._database.changes(run_topic(run))) as changes:
            async for _ in changes:
                now = await self._stores.runs.get(run.user_id, run.id)
                if now is None or now.state not in ("running", "waiting"):
                    return None
                pauses = await self._stores.pauses.list_by_run(run.user_id, run.id)
                is_open = [pause for pause in pauses if pause.is_open]
                if turn := next((pause for pause in is_open if pause.is_turn), None):
                    return turn
                if now.state == "waiting" and is_open:
                    raise Conflict(
                        say("The run waits for an answer first."), hint=say("Answer it, or write a message.")
                    )
        return None


class ManualApi:
    """The operation by which the person takes the turn of a model that there is none of."""

    def __init__(
        self,
        calls: HostCalls,
        turns: PersonTurns,
        *,
        inbox: Inbox,
        assistants: AssistantStore,
        catalogue: ModelCatalogue,
    ) -> None:
        self._calls = calls
        self._turns = turns
        self._inbox = inbox
        self._assistants = assistants
        self._catalogue = catalogue

    def operations(self) -> list[Operation]:
        return [Operation("POST", "/api/sessions/{id}/turns", self.take_turn, TurnAnswer, TurnBody, status=202)]

    async def take_turn(self, request: ApiRequest) -> TurnAnswer:
        """Take the turn of the model: what comes of its calls is told by the stream, as it is of a model's."""
        body: TurnBody = request.body
        call, session = await self._calls.session_of(request.request, request.path("id"))
        assistant = await self._assistants.get(call.user_id, session.assistant_id)
        if self._catalogue.model or (assistant is not None and assistant.model):
            raise Conflict(say("This session has a model."), hint=say("Write a message, or call a tool yourself."))
        parts = turn_parts(body.say, body.calls)
        if not parts:
            raise InvalidArguments(say("A turn has a text, or calls."))
        pause = await self._turns.await_turn(call)
        await self._inbox.settle(call, pause, ModelTurn(dump_parts(parts)))
        return TurnAnswer(run_id=pause.run_id, call_ids=[part.id for part in parts if isinstance(part, CallPart)])


def turn_parts(text: str, calls: list[ManualCall]) -> list[Part]:
    """Return the turn of a person in the model's place as the parts of an answer."""
    parts: list[Part] = [TextPart(text)] if text else []
    parts += [CallPart(f"manual-{new_id()}", one.tool, json.dumps(one.arguments, ensure_ascii=False)) for one in calls]
    return parts
