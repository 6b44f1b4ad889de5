"""What a service is: metadata, tools, and what the model should know of its state each turn."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from madang.core.archives import ArchiveReader, ArchiveWriter
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import Unavailable
from madang.core.ids import AssistantId, SessionId
from madang.core.operations import Operation
from madang.core.pauses import PauseAnswer, PauseForm, PauseRecord, plain_form
from madang.core.phrases import Phrase, Text, say
from madang.core.resources import Resource, ResourceList, ResourceTemplate
from madang.core.results import ToolResult
from madang.core.tools import Tool
from madang.core.trust import Origin
from madang.core.uploads import AcceptedUpload, UploadedFile


@dataclass(frozen=True, slots=True)
class ServiceMetadata:
    """Who a service is, for status lists and prompts."""

    name: str
    title: Phrase
    description: Phrase
    version: str
    instructions: str = ""
    """For models that connect: when to use which of its tools. In English, as the descriptions of tools are."""
    run_instructions: str = ""
    """For the models of our own runs, where something else is true."""
    needs_posix: bool = False
    """It uses descriptors of folders, `flock` or process groups, which Windows does not have."""
    runs_code: bool = False
    """It runs programs that a model wrote. Such a service, and one that `reaches_out`, is for assistants it is given to
    by name; all others are for every assistant that is not told otherwise."""
    reaches_out: bool = False
    """It speaks to other machines."""
    former_names: tuple[str, ...] = ()
    """Services that had these tools before. A grant, a setting or a qualified tool name (`ui__visualize_data`) that
    was written for one of them holds for this service too."""

    def instructions_for(self, call: Call) -> str:
        """Return the instructions for the model behind a call."""
        if call.actor != "model":
            return self.instructions
        # No host stands between a run's model and our tools, so none of them can be mistaken for the host's.
        return (self.run_instructions or self.instructions).replace("Madang's ", "")

    @property
    def is_supported(self) -> bool:
        """Whether this service can run on this platform."""
        return not (self.needs_posix and sys.platform == "win32")

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the former names."""
        return self.name, *self.former_names


class NoState(Document):
    """The state of a service that has none to show: an empty object."""


class FailedState(Document):
    """The state of a service that could not be read, in place of its own document."""

    error: str


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """The state of a service in one session: for the model as a text, for panels as data."""

    context_prompt: Text | str
    structured_state: Document = field(default_factory=NoState)
    """A document of the service's `state_type`, or `FailedState`."""
    origins: tuple[Origin, ...] = ()
    """Where untrusted words in the text came from: names that somebody else may have chosen."""
    summary: Phrase | None = None
    """One sentence for the text of another service: how much there is, and the tool that lists it."""


@dataclass(frozen=True, slots=True)
class RowQuery:
    """Which rows of a list in a service's state are wanted: where there may be many, the state has the first alone."""

    name: str
    """The list's field in the state, as it is spelled there."""
    under: str = ""
    """What the rows belong to: a folder, a playbook. Empty: all that the list is of."""
    page: int = 1
    page_size: int = 100

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.page_size


@dataclass(frozen=True, slots=True)
class StateRows:
    """Rows of a list in a service's state, of the same type as there, and how many the list has in all."""

    rows: Sequence[Document]
    total: int


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


class PauseOwner(Protocol):
    """What has pauses of its own: a service, or a part of the agent."""

    async def read_pauses(self, call: Call, pauses: Sequence[PauseRecord]) -> Sequence[PauseForm]:
        """Return the forms of its pauses, which may be of several sessions, in their order. Nothing is written."""

    async def settle_pause(self, call: Call, pause: PauseRecord, answer: PauseAnswer) -> PauseRecord:
        """Settle a pause and return it as it then is; the call is in its session.

        The first answer counts, by compare-and-set; the same one again changes nothing.

        Raises:
            InvalidArguments: the answer does not fit, and the pause stays open.
            Conflict, Expired: it was settled otherwise, or is over.
            Denied: it is not for the call's actor to settle.
        """


class Service:
    """A capability. It declares what it offers and is never handed the provider or the server.

    A subclass sets `metadata` and `tools`, which are known before it is opened, and overrides the hooks that mean
    something for it. The provider gives each hook a time limit; one that raises or is late affects no other service.
    """

    metadata: ServiceMetadata
    tools: Sequence[Tool] = ()
    resource_templates: Sequence[ResourceTemplate] = ()
    state_type: type[Document] = NoState
    """The document of its state: what panels read, and the types of a front end are generated from."""

    async def load(self) -> None:
        """Open what the tools need, before their first use."""

    async def unload(self) -> None:
        """Close what `load` opened."""

    async def switch_context(self, active: ActiveSession | None) -> None:
        """Prepare for the session that the person moved to, or clean up if there is none. It never deletes state."""

    async def get_service_context(self, call: Call) -> ServiceContext | str | None:
        """Return the state that the model and the panels should see; None if this service has none to tell."""
        return None

    async def get_state_rows(self, call: Call, query: RowQuery) -> StateRows | None:
        """Return more rows of a list than its state has; None if it has no such list.

        Raises:
            ToolError: what they should belong to is not there.
        """
        return None

    async def changes(self, call: Call) -> AsyncIterator[object]:
        """Yield once watching has begun, then at each change of the state, in whatever process."""
        yield None

    async def list_resources(self, call: Call, after: str, limit: int) -> ResourceList:
        """Return up to `limit` resources, beginning after the place that an earlier list named."""
        return ResourceList([])

    async def read_resource(self, call: Call, uri: str) -> Resource | None:
        """Return one resource, or None when the address is none of this service's or nothing is there.

        Raises:
            ToolError: it is there, and cannot be read this way.
        """
        return None

    async def resource_changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then the addresses of what changed."""
        yield frozenset()

    async def outcome(self, call: Call, pause: PauseRecord) -> ToolResult[Any]:
        """Return what a pause of this service led to, in words for the model that asked: settled, expired or open.

        Any process can ask for it, long after the call that opened the pause.
        """
        raise NotImplementedError(f"{self.metadata.name} opens no pauses")

    async def was_done(self, call: Call, tool: str) -> bool | None:
        """Tell whether a call of `tool` that was interrupted has had its effect. None: that cannot be known.

        `call` is that call, with its run and its operation. Nobody asks where an operation is kept of it.
        """
        return None

    async def needless_arguments(self, call: Call) -> frozenset[str]:
        """Return optional arguments that say nothing in the call's session, such as `storeId` where there is one store.

        The models of our own runs are not told of them. They are taken all the same.
        """
        return frozenset()

    async def id_kind(self, call: Call, id: str) -> str:
        """Return the argument that an id of this service is for, such as `contentId`; empty if it is none of its own.

        Only of what the call may see. It is asked when another argument was given that id.
        """
        return ""

    async def undo(self, call: Call, operation: Operation) -> Operation:
        """Take back an operation of this service, and return the operation that does: it can be taken back as well.

        Raises:
            Conflict: it was taken back already, or its time is over.
        """
        raise NotImplementedError(f"{self.metadata.name} has no operations")

    def describe(self, operation: Operation) -> Phrase:
        """Return what an operation of this service changed, in words for the person and for the run's model."""
        raise NotImplementedError(f"{self.metadata.name} has no operations")

    # The next three make it a `PauseOwner`. They are for hosts and commands, which show and settle what waits.

    async def read_pause(self, call: Call, pause: PauseRecord) -> PauseForm:
        """Return what the person needs to settle a pause of this service, also of one that is over."""
        return plain_form(pause)

    async def read_pauses(self, call: Call, pauses: Sequence[PauseRecord]) -> Sequence[PauseForm]:
        """Return the forms of pauses of whatever sessions, in their order: for a list, so in few reads."""
        return [await self.read_pause(call, pause) for pause in pauses]

    async def settle_pause(self, call: Call, pause: PauseRecord, answer: PauseAnswer) -> PauseRecord:
        """Settle a pause with what the person said, as `PauseOwner` has it."""
        raise NotImplementedError(f"{self.metadata.name} opens no pauses")

    # A service that takes files has the next three. No tool leads to them either.

    async def count_uploads(self, call: Call) -> int:
        """Return how many files the call's session has of those that `accept_upload` takes."""
        return 0

    async def accept_upload(self, call: Call, upload: UploadedFile) -> AcceptedUpload:
        """Keep a file that the person hands over.

        Raises:
            ToolError: it cannot be kept; nothing is.
        """
        raise Unavailable(say("The service '{name}' takes no files.", name=self.metadata.name))

    async def withdraw_upload(self, call: Call, accepted: AcceptedUpload) -> None:
        """Take back what was just accepted, so that nothing of it is kept: the person has changed their mind."""

    # A service that keeps something of a session has all of the next four. No tool leads to them. A process calls one
    # at a time, and tools do not change a session that is deleted or filled meanwhile.

    async def forget_session(self, call: Call) -> None:
        """Delete all that is kept of the call's session. Doing it again changes nothing.

        What one unit of work or one rename cannot delete is out of sight first: half of it must not look whole.
        """

    async def copy_session(self, call: Call, target: SessionId) -> None:
        """Copy what is kept of the call's session to `target`, a new session of the same user, under new ids.

        What is open in it is withdrawn in the copy: the one who asked waits in the original.
        """

    async def export_session(self, call: Call, archive: ArchiveWriter) -> None:
        """Write what is kept of the call's session, without secrets. What is open is written as withdrawn."""

    async def import_session(self, call: Call, archive: ArchiveReader) -> None:
        """Take what `export_session` wrote into the call's session, which is new, under new ids; times stay.

        Raises:
            InvalidArguments: it is not what `export_session` writes.
        """
