"""Which services an assistant may use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from madang.core.calls import Call
from madang.core.service import ServiceMetadata


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


def is_granted(metadata: ServiceMetadata, services: frozenset[str] | None) -> bool:
    """Tell whether a grant includes a service. A name that the service had before counts too."""
    return not services.isdisjoint(metadata.names) if services is not None else True
