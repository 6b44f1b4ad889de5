"""What a service is: metadata, tools, and what the model should know of its state each turn."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import Phrase, Text
from madang.core.resources import Resource, ResourceList, ResourceTemplate
from madang.core.tools import Tool


@dataclass(frozen=True, slots=True)
class ServiceMetadata:
    """Who a service is, for status lists and prompts."""

    name: str
    title: Phrase
    description: Phrase
    version: str
    instructions: str = ""
    """For models that connect: when to use which of its tools. In English, as the descriptions of tools are."""
    needs_posix: bool = False
    """It uses descriptors of folders, `flock` or process groups, which Windows does not have."""
    former_names: tuple[str, ...] = ()
    """Services that had these tools before. A grant, a setting or a qualified tool name (`ui__visualize_data`) that
    was written for one of them holds for this service too."""

    @property
    def is_supported(self) -> bool:
        """Whether this service can run on this platform."""
        return not (self.needs_posix and sys.platform == "win32")

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the former names."""
        return self.name, *self.former_names


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """The state of a service in one session: for the model as a text, for panels as data."""

    context_prompt: Text | str
    structured_state: dict[str, Any] = field(default_factory=dict)
    summary: Phrase | None = None
    """One sentence for the text of another service: how much there is, and the tool that lists it."""


@dataclass(frozen=True, slots=True)
class ActiveSession:
    """The assistant and session that the person is in now: what `switch_context` tells the services."""

    assistant_id: AssistantId | None
    session_id: SessionId | None


StatusName = Literal["loading", "ready", "error"]


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """How a service is doing, and why."""

    state: StatusName
    reason: str = ""


class Service(Protocol):
    """A capability. It declares what it offers and is never handed the provider or the server."""

    @property
    def metadata(self) -> ServiceMetadata: ...

    @property
    def tools(self) -> Sequence[Tool]: ...


# The rest of a service's life is optional: a service has the methods that mean something for it.


@runtime_checkable
class Loads(Service, Protocol):
    """A service that has to be opened before its first use."""

    async def load(self) -> None: ...


@runtime_checkable
class Unloads(Service, Protocol):
    """A service that has something to close at the end."""

    async def unload(self) -> None: ...


@runtime_checkable
class SwitchesContext(Service, Protocol):
    """A service that prepares something when the person moves to another session. It never deletes state."""

    async def switch_context(self, active: ActiveSession | None) -> None: ...


@runtime_checkable
class TellsContext(Service, Protocol):
    """A service with a state that the model and the panels should see."""

    async def get_service_context(self, call: Call) -> ServiceContext | str: ...


@runtime_checkable
class TellsChanges(Service, Protocol):
    """A service that notices when the state it tells has changed, in whatever process."""

    def changes(self, call: Call) -> AsyncIterator[object]: ...


@runtime_checkable
class OffersResources(Service, Protocol):
    """A service whose state can also be read as documents, by address."""

    @property
    def resource_templates(self) -> Sequence[ResourceTemplate]: ...

    async def list_resources(self, call: Call, after: str, limit: int) -> ResourceList:
        """Return up to `limit` resources, beginning after the place that an earlier list named."""

    async def read_resource(self, call: Call, uri: str) -> Resource | None:
        """Return one resource, or None when the address is none of this service's or nothing is there.

        Raises:
            ToolError: it is there, and cannot be read this way.
        """

    def resource_changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then the addresses of what changed."""
