"""The ids of the calls of one answer, whatever its server makes of them."""

from __future__ import annotations

from collections.abc import Iterable

from madang.core.ids import new_id
from madang.core.phrases import say
from madang.llm.base import ModelRequest
from madang.llm.errors import AnswerTooLarge
from madang.llm.messages import CallPart


class CallIds:
    """Gives each call an id: the server's, but where one is missing or taken. So many calls and no more."""

    def __init__(self, used: Iterable[str] = (), max_calls: int = 256) -> None:
        self._used = set(used)
        self._max = max_calls
        self._count = 0

    def claim(self, wire_id: str) -> str:
        """Return the id of a call that begins.

        Raises:
            AnswerTooLarge: there are too many calls.
        """
        self._count += 1
        if self._count > self._max:
            raise AnswerTooLarge(say("The model asked for more than {max} calls at once.", max=self._max))
        # A missing id, or one that is taken, would give the result of one call to another.
        id = wire_id if wire_id and wire_id not in self._used else f"call_{new_id()}"
        self._used.add(id)
        return id


def used_ids(request: ModelRequest) -> set[str]:
    """Return the ids that calls of a request's history have."""
    return {part.id for message in request.messages for part in message.parts if isinstance(part, CallPart)}
