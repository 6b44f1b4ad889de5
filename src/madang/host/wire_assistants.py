"""Shapes of assistants as they cross between browser and host."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from madang.agent.limits import RunLimits
from madang.agent.model_options import OwnOptions
from madang.core.documents import Document
from madang.core.limits import MAX_MODEL_CHARS, MAX_NAME_CHARS
from madang.core.service import StatusName
from madang.records.assistants import MAX_ASSISTANT_CHARS
from madang.records.decisions import DecisionScope

MAX_SERVICES = 200

ServiceMode = Literal["on", "ask", "off"]
"""`ask`: the person is asked before anything is changed. `off`: its tools are neither seen nor called."""


class ServiceAnswer(Document):
    """A service as it is set for one assistant."""

    name: str
    title: str
    description: str
    mode: ServiceMode
    status: StatusName
    tool_count: int
    tokens: int
    """About how much of every request its tools take."""
    runs_code: bool
    reaches_out: bool


class DecisionAnswer(Document):
    """A tool that the person has allowed for more than one call."""

    scope: DecisionScope
    scope_id: str
    session_title: str
    assistant_id: str
    tool: str
    decided_at: str


class AssistantSummary(Document):
    id: str
    name: str
    model: str
    session_count: int
    is_default: bool
    updated_at: str
    """Empty: nothing was ever set for it."""


class AssistantsAnswer(Document):
    assistants: list[AssistantSummary]


class AssistantDetails(Document):
    id: str
    name: str
    instructions: str
    model: str
    """Empty: the model that all have who name none."""
    options: OwnOptions
    limits: RunLimits
    """As they hold: with the usual ones where the assistant sets none."""
    default_limits: RunLimits
    services: list[ServiceAnswer]
    decisions: list[DecisionAnswer]
    session_count: int
    is_default: bool
    is_in_config: bool
    """`config.toml` names it: if it is deleted, the next start makes it anew."""
    version: int
    """Of what was read; a change names it. 0: nothing was ever set."""
    updated_at: str


class NewAssistantBody(Document):
    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS)
    copy_of: str = Field(default="", max_length=MAX_NAME_CHARS)


class AssistantPatch(Document):
    """What is given is changed; `version` is that of what was read."""

    version: int = Field(ge=0)
    name: str | None = Field(default=None, max_length=MAX_NAME_CHARS)
    instructions: str | None = Field(default=None, max_length=MAX_ASSISTANT_CHARS)
    model: str | None = Field(default=None, max_length=MAX_MODEL_CHARS)
    options: OwnOptions | None = None
    limits: RunLimits | None = None
    services: dict[str, ServiceMode] | None = Field(default=None, max_length=MAX_SERVICES)
    """The modes of the services that are named; the others stay as they are."""


class DeleteAssistantQuery(Document):
    version: int = Field(ge=0)
    """Of what the person read before they confirmed."""


class DeletedAssistantAnswer(Document):
    successor_id: str
    """The assistant that its sessions go on with."""
    session_count: int


class DecisionsAnswer(Document):
    decisions: list[DecisionAnswer]


class ForgetDecisionQuery(Document):
    scope: DecisionScope
    scope_id: str = Field(max_length=MAX_NAME_CHARS)
    tool: str = Field(max_length=200)
