"""Work on contents that takes a while: reading a file before it is stored, bringing an index up to its rows. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from madang.core.calls import Call
from madang.core.errors import Conflict, MadangError
from madang.core.ids import new_id
from madang.core.phrases import Phrase, say
from madang.services.content.domain.contents import StoreKey
from madang.system.clock import timestamp

JobKind = Literal["reading", "indexing"]
JobState = Literal["queued", "running", "failed"]


class JobPlace(NamedTuple):
    """Whose work it is: a session's, or that of a store's index, which knows no session."""

    user_id: str
    session_id: str = ""
    store_no: int = 0

    @classmethod
    def of_session(cls, call: Call) -> JobPlace:
        return cls(call.user_id, session_id=call.session)

    @classmethod
    def of_store(cls, store: StoreKey) -> JobPlace:
        return cls(store.user_id, store_no=store.no)


@dataclass(slots=True, eq=False)
class Job:
    """One piece of work. `stop` ends it, where it can be ended: then nothing of it is kept."""

    kind: JobKind
    place: JobPlace
    name: str = ""
    """Of the file."""
    id: str = field(default_factory=new_id)
    started_at: str = field(default_factory=timestamp)
    state: JobState = "queued"
    error: Phrase | None = None
    """Why it failed."""
    ended_at: float = 0.0
    """On the loop's clock; of a failed one."""
    is_shown: bool = False
    is_stopped: bool = False
    stop: Callable[[], object] | None = None

    @property
    def can_stop(self) -> bool:
        """Whether it can be ended, or put out of sight after it failed."""
        return self.state == "failed" or self.stop is not None

    def fail(self, error: MadangError) -> None:
        self.state, self.error = "failed", error.message


def stopped_by_person(name: str) -> Conflict:
    return Conflict(
        say("The person has stopped the reading of '{name}'. Nothing of it was kept.", name=name),
        hint=say("Ask the person before you add it again."),
    )
