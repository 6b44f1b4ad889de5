"""Which services an assistant may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from madang.core.calls import Call
from madang.core.errors import MadangError, ToolError, Unavailable
from madang.core.ids import UserId
from madang.core.service import ServiceMetadata
from madang.records.assistants import AssistantStore

MAX_SEEDED_USERS = 10_000


class Grants(Protocol):
    """Looks up what the call's assistant may use: names of services, or None for the default grant."""

    async def services(self, call: Call) -> frozenset[str] | None:
        """Return the grant as it is now.

        Raises:
            Unavailable: it cannot be looked up.
        """

    def known_services(self, call: Call) -> frozenset[str] | None:
        """Return the grant as far as it is known without asking the database: for texts that decide nothing."""


class FixedGrants:
    """Grants that never change; an assistant that is not listed has the default grant."""

    def __init__(self, services_by_assistant: Mapping[str, Sequence[str]]) -> None:
        self._grants = {assistant: frozenset(names) for assistant, names in services_by_assistant.items()}

    async def services(self, call: Call) -> frozenset[str] | None:
        return self.known_services(call)

    def known_services(self, call: Call) -> frozenset[str] | None:
        return self._grants.get(call.assistant_id or "")


class AssistantGrants:
    """The grants that assistants have in the database; what `config.toml` says of them is taken over at first use."""

    def __init__(self, assistants: AssistantStore, seeds: Mapping[str, Sequence[str]]) -> None:
        self._assistants = assistants
        self._seeds = seeds
        self._seeded_users: set[UserId] = set()

    async def services(self, call: Call) -> frozenset[str] | None:
        if call.assistant_id is None:
            return None
        try:
            if call.user_id not in self._seeded_users:
                await self._assistants.seed(call.user_id, self._seeds)
                if len(self._seeded_users) >= MAX_SEEDED_USERS:
                    self._seeded_users.clear()  # to seed again is to look whether anything is new
                self._seeded_users.add(call.user_id)
            return await self._assistants.services(call)
        except ToolError:
            raise
        except MadangError as error:
            raise Unavailable(error.message, hint=error.hint) from error

    def known_services(self, call: Call) -> frozenset[str] | None:
        if call.assistant_id is None:
            return None
        try:
            return self._assistants.known_services(call)
        except KeyError:
            seed = self._seeds.get(call.assistant_id)
            return None if seed is None else frozenset(seed)


def is_granted(metadata: ServiceMetadata, services: frozenset[str] | None) -> bool:
    """Tell whether a grant includes a service. A name that the service had before counts too.

    The default grant is what an assistant can do no harm with that nobody thought about.
    """
    if services is None:
        return not (metadata.runs_code or metadata.reaches_out)
    return not services.isdisjoint(metadata.names)
