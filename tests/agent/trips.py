"""A service that pauses, as nobody else knows it: the person chooses among trips, or is waited for."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import InvalidArguments
from madang.core.ids import new_id
from madang.core.pauses import Answer, Decline, PauseAnswer, PauseForm, PauseOption, PauseRecord, wrong_answer
from madang.core.phrases import say
from madang.core.results import Pause, ToolResult
from madang.core.service import Service, ServiceMetadata
from madang.core.tools import tool, tools_of
from madang.database.port import Database, Transaction
from madang.records.pauses import PauseStore, open_pause

TRIPS = {"hallasan": "Up the mountain", "udo": "Over to the island"}


class Offered(Document):
    id: str


class TripTools:
    def __init__(self) -> None:
        self.database: Database | None = None

    @tool(effect="write", once_per_operation=True)
    async def offer_trips(self, call: Call) -> ToolResult[Offered]:
        """Let the person choose a trip."""

        async def work(tx: Transaction) -> PauseRecord:
            pause, _ = await open_pause(
                tx,
                call,
                id=new_id(),
                kind="choice",
                service="trips",
                tool="offer_trips",
                title="Which trip?",
                expires_at="",
            )
            return pause

        assert self.database is not None
        pause = await self.database.write(work, user_id=call.user_id)
        waits = say("the person chooses a trip")
        return ToolResult([say("Offered.")], Offered(id=pause.id), pause=Pause("choice", waits, waits, pause.id))


class Trips(Service):
    """Its database is given by the test that registers it."""

    def __init__(self) -> None:
        self.holder = TripTools()
        self.metadata = ServiceMetadata("trips", say("Trips"), say("Offers trips."), "1")
        self.tools = tools_of(self.holder)

    async def outcome(self, call: Call, pause: PauseRecord) -> ToolResult[Offered]:
        chosen = pause.settled_with.get("arguments", {}).get("trip", "none")
        return ToolResult([say("Trip: {trip}", trip=chosen)], Offered(id=pause.id))

    async def read_pause(self, call: Call, pause: PauseRecord) -> PauseForm:
        options = tuple(PauseOption(value, label) for value, label in TRIPS.items())
        return PauseForm(pause, "choice", pause.heading, pause.heading, options)

    async def settle_pause(self, call: Call, pause: PauseRecord, answer: PauseAnswer) -> PauseRecord:
        assert self.holder.database is not None
        pauses = PauseStore(self.holder.database)
        match answer:
            case Answer(str(trip)):
                if trip not in TRIPS:
                    raise InvalidArguments(say("There is no trip '{trip}'.", trip=trip))
                arguments = {"trip": trip}
                return await pauses.settle(call, pause.id, status="answered", tool="choose", arguments=arguments)
            case Decline():
                return await pauses.settle(call, pause.id, status="cancelled", tool="choose", arguments={})
            case _:
                raise wrong_answer(pause, answer)
