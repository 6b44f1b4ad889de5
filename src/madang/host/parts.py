"""What the host is made of: the parts of an open agent, handed over by the composition root."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from madang.agent.inbox import Inbox
from madang.agent.models import OpenModels
from madang.agent.runner import Runner
from madang.agent.stores import RunStores
from madang.core.executor import Executor
from madang.database.port import Database
from madang.files.folders import Folders
from madang.host.calls import HostCalls
from madang.host.ending import HostEnding
from madang.host.model_catalogue import ModelCatalogue
from madang.host.recent_log import RecentLog
from madang.provider.provider import Provider
from madang.provider.sessions import SessionOperations
from madang.records.assistants import AssistantStore
from madang.records.audit import AuditLog
from madang.records.decisions import DecisionStore
from madang.records.egress import EgressLog
from madang.records.events import EventLog
from madang.records.image_uploads import ImageUploads
from madang.records.runs.message_search import MessageSearch
from madang.records.sessions import SessionStore
from madang.records.views import ViewStore


@dataclass(frozen=True)
class HostParts:
    """All that routes need."""

    calls: HostCalls
    database: Database
    provider: Provider
    executor: Executor
    folders: Folders
    sessions: SessionStore
    operations: SessionOperations
    assistants: AssistantStore
    audit: AuditLog
    runner: Runner
    stores: RunStores
    events: EventLog
    search: MessageSearch
    inbox: Inbox
    views: ViewStore
    images: ImageUploads
    decisions: DecisionStore
    catalogue: ModelCatalogue
    open_models: OpenModels
    local_ports: Mapping[str, int]
    """Where servers of models are looked for on this computer, when the person asks."""
    egress: EgressLog
    ending: HostEnding
    export_everything: Callable[[Path], Awaitable[object]] | None
    """Writes all sessions and playbooks to a new ZIP file."""
    is_on_server: bool
    """The database is on a server, not in the data folder."""
    config_assistants: frozenset[str]
    """The assistants that `config.toml` names."""
    recent_log: RecentLog
    own_services: frozenset[str]
    """Those that ship with Madang: their names are nobody's content."""
    data_dir: Path
    host_origin: str
    content_origin: str

    @property
    def model(self) -> str:
        """The model of runs whose assistant has none of its own, or that of every run."""
        return self.catalogue.fixed or self.catalogue.default

    @property
    def models(self) -> Mapping[str, str]:
        """The models that can be chosen, by name, with how they are called."""
        return self.catalogue.names
