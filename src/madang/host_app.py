"""Puts the web host together: an open agent, its routes behind the gate, and MCP in the same process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from starlette.types import ASGIApp

from madang.agent.models import ModelOpener
from madang.agent.rules import NO_RULES, ApprovalRules
from madang.agent_app import Agent, open_agent
from madang.app import Madang
from madang.core.model_config import ModelConfig
from madang.core.service import Service
from madang.files.config_file import ConfigFile
from madang.host.address import HostAddress
from madang.host.api import Operation
from madang.host.archives import SessionArchives
from madang.host.assistant_answers import AssistantAnswers
from madang.host.assistants import AssistantApi
from madang.host.calls import HostCalls
from madang.host.clients import ClientApi
from madang.host.data import DataApi
from madang.host.decisions import DecisionApi
from madang.host.ending import HostEnding
from madang.host.files import Files
from madang.host.inbox import InboxApi
from madang.host.launch import LaunchCodes, launch_operations
from madang.host.live import LiveReaders
from madang.host.manual import ManualApi, PersonTurns
from madang.host.me import MeApi, ModelChoices
from madang.host.message_list import MessageListApi
from madang.host.messages import MessageApi
from madang.host.model_catalogue import ModelCatalogue
from madang.host.models import ModelApi
from madang.host.overview import OverviewFeed
from madang.host.page_policy import PageRights, rights_of
from madang.host.panels import PanelApi
from madang.host.problems import OwnServices, ProblemApi
from madang.host.receiving import Receiver
from madang.host.recent_log import RecentLog
from madang.host.routes import api_routes
from madang.host.service_modes import ServiceModes
from madang.host.session_list import SessionListApi
from madang.host.sessions import SessionApi
from madang.host.static_files import StaticFiles
from madang.host.stream import EventStreams
from madang.host.tools import ToolApi
from madang.host.uploads import Uploads
from madang.host.views import ViewApi
from madang.host.working_runs import WorkingRuns
from madang.llm.discovery import USUAL_PORTS
from madang.llm.keys import KeyStore
from madang.records.client_calls import ClientCalls
from madang.records.image_uploads import ImageUploads
from madang.records.runs.deltas import DeltaStore
from madang.records.views import ViewStore
from madang.server.gate import PolicyRoute
from madang.server.health import Readiness, health_routes
from madang.server.http import http_app
from madang.server.mcp import McpServer
from madang.settings import Settings

Exporter = Callable[[Madang, Path], Awaitable[object]]
"""Writes everything that the user has to a new ZIP file."""


@dataclass(frozen=True)
class WebHost:
    """An open host, which is to be served at its address."""

    app: ASGIApp
    address: HostAddress
    agent: Agent
    readers: LiveReaders
    codes: LaunchCodes
    has_front_end: bool
    ending: HostEnding

    def launch_url(self) -> str:
        """Return an address that lets one tab in, once, within a minute."""
        return f"{self.address.origin}/#launch={self.codes.make()}"


class ApiPart(Protocol):
    """A part of the API."""

    def operations(self) -> list[Operation]: ...


class HostApi:
    """The API of a host over an open agent: gives each part of it what that part uses."""

    def __init__(self, settings: Settings, agent: Agent, catalogue: ModelCatalogue) -> None:
        madang = agent.madang
        self._settings = settings
        self._agent = agent
        self._madang = madang
        self._catalogue = catalogue
        self.calls = HostCalls(replace(madang.call("host", pages="linked"), session_id=None), madang.sessions)
        self._views = ViewStore(madang.database)
        self._images = ImageUploads(madang.database)
        self._clients = ClientCalls(madang.database, madang.audit)
        receiver = Receiver(madang.executor, madang.folders)
        self._uploads = Uploads(self.calls, receiver, provider=madang.provider, images=self._images)
        self._files = Files(
            self.calls, receiver, provider=madang.provider, executor=madang.executor, folders=madang.folders
        )
        self._archives = SessionArchives(self.calls, madang.session_operations, settings.data_dir)

    async def open(self) -> None:
        """Make the tables that the API alone uses."""
        await self._views.open()
        await self._images.open()
        await self._agent.inbox.open()

    def operations(
        self, address: HostAddress, ending: HostEnding, log: RecentLog, export: Exporter | None
    ) -> list[Operation]:
        """Return every operation but those of tabs that are being let in."""
        parts = [
            self._me(address.content_origin),
            *self._sessions(),
            *self._messages(),
            *self._shown(),
            *self._assistants(),
            self._models(),
            self._data(ending, export),
            ClientApi(self.calls, self._madang.sessions, clients=self._clients, egress=self._agent.egress),
            PanelApi(self.calls, self._madang.provider),
            self._problems(log),
            self._files,
            self._archives,
        ]
        return [operation for part in parts for operation in part.operations()]

    def routes(self, host: str, operations: Sequence[Operation], readers: LiveReaders) -> list[PolicyRoute]:
        """Return the routes of operations, and those of what comes and goes as a stream."""
        agent, provider = self._agent, self._madang.provider
        streams = EventStreams(self.calls, agent.events, agent.stores.runs, provider=provider, readers=readers)
        return api_routes(
            host,
            self.calls.call.locale,
            operations=operations,
            uploads=[self._uploads.operation, self._files.upload_operation, self._archives.import_operation],
            streams=streams.endpoints(),
        )

    async def find_rights(self, view_id: str) -> PageRights:
        """Return what a view may do."""
        return rights_of(await self._views.get(self.calls.call.user_id, view_id) if view_id else None)

    def _me(self, content_origin: str) -> ApiPart:
        return MeApi(
            self.calls.call,
            self._madang.assistants,
            ModelChoices(self._catalogue, self._agent.models, self._agent.stores.usage),
            provider=self._madang.provider,
            data_dir=self._settings.data_dir,
            content_origin=content_origin,
        )

    def _sessions(self) -> list[ApiPart]:
        madang, agent = self._madang, self._agent
        sessions = SessionListApi(
            self.calls,
            madang.sessions,
            database=madang.database,
            messages=agent.stores.messages,
            search=agent.search,
            clients=self._clients,
        )
        session = SessionApi(
            self.calls,
            madang.sessions,
            database=madang.database,
            assistants=madang.assistants,
            operations=madang.session_operations,
            runner=agent.runner,
        )
        return [sessions, session]

    def _messages(self) -> list[ApiPart]:
        madang, agent = self._madang, self._agent
        return [
            MessageListApi(
                self.calls,
                agent.stores.messages,
                database=madang.database,
                events=agent.events,
                views=self._views,
            ),
            MessageApi(self.calls, agent.runner, stores=agent.stores, images=self._images, catalogue=self._catalogue),
            InboxApi(self.calls, agent.inbox, sessions=madang.sessions, database=madang.database),
            ManualApi(
                self.calls,
                PersonTurns(madang.database, agent.runner, agent.stores),
                inbox=agent.inbox,
                assistants=madang.assistants,
                catalogue=self._catalogue,
            ),
        ]

    def _shown(self) -> list[ApiPart]:
        madang = self._madang
        return [
            ToolApi(self.calls, madang.provider, self._views),
            ViewApi(
                self.calls,
                self._views,
                sessions=madang.sessions,
                provider=madang.provider,
                inbox=self._agent.inbox,
                audit=madang.audit,
            ),
        ]

    def _assistants(self) -> list[ApiPart]:
        madang, decisions = self._madang, self._agent.decisions
        services, config_names = ServiceModes(madang.provider), frozenset(self._settings.grants)
        return [
            AssistantApi(
                self.calls,
                madang.assistants,
                AssistantAnswers(madang.sessions, decisions, services, config_names=config_names),
                services=services,
                catalogue=self._catalogue,
            ),
            DecisionApi(self.calls, decisions, madang.sessions),
        ]

    def _models(self) -> ApiPart:
        return ModelApi(
            self.calls,
            self._catalogue,
            self._agent.models,
            data_dir=self._settings.data_dir,
            local_ports=USUAL_PORTS,
        )

    def _data(self, ending: HostEnding, export: Exporter | None) -> ApiPart:
        return DataApi(
            self.calls,
            self._madang.sessions,
            folder=self._settings.data_dir,
            is_on_server=bool(self._settings.database),
            ending=ending,
            export_everything=partial(export, self._madang) if export is not None else None,
        )

    def _problems(self, log: RecentLog) -> ApiPart:
        return ProblemApi(
            self.calls,
            log,
            database=self._madang.database,
            audit=self._madang.audit,
            services=OwnServices(self._madang.provider),
            catalogue=self._catalogue,
        )


@asynccontextmanager
async def open_web_host(
    settings: Settings,
    open_model: ModelOpener,
    port: int,
    *,
    client_token: str,
    browser_token: str,
    rules: ApprovalRules = NO_RULES,
    files: StaticFiles | None = None,
    configs: MutableMapping[str, ModelConfig] | None = None,
    keys: KeyStore | None = None,
    export: Exporter | None = None,
    services: Sequence[Service] = (),
) -> AsyncIterator[WebHost]:
    """Open everything that the host needs. Runs of other processes that can go on are taken over from now on.

    `configs` are the models of the settings, shared with `open_model`: those that are added in the browser go there.
    `export` writes everything that the user has to a file. `services` are further ones, as for `open_madang`.

    Raises:
        SetupError: the data folder cannot be used, or the settings name an unknown service.
    """
    address = HostAddress(port)
    catalogue = _catalogue(settings, configs, keys)
    # Downloads are on the content's name: what is in a file must not be at the chat's origin, whatever a browser does.
    async with open_agent(
        settings,
        open_model,
        rules=rules,
        base_url=address.content_origin,
        default_model=lambda: catalogue.default,
        services=services,
    ) as agent:
        api = HostApi(settings, agent, catalogue)
        await api.open()
        readers = LiveReaders(agent.runner, agent.madang.provider)
        codes, ending, log = LaunchCodes(), HostEnding(), RecentLog()
        files = files or StaticFiles(address.origin, address.content_origin)
        operations = [
            *launch_operations(codes, browser_token, address.origin),
            *api.operations(address, ending, log, export),
        ]
        routes = [
            *api.routes(address.host, operations, readers),
            *health_routes(Readiness(agent.madang.database, agent.madang.provider), frozenset({address.host})),
            *files.routes(address.host, address.content_host, api.find_rights),
        ]
        mcp, access = _mcp_server(settings, agent), address.access(client_token, browser_token)
        app = http_app(mcp.server, access, agent.madang.downloads, routes, mcp_hosts=frozenset({address.host}))
        _watch(agent, api.calls, readers)
        log.open()
        try:
            yield WebHost(app, address, agent, readers, codes, files.are_built, ending)
        finally:
            log.close()
            await readers.close()


def _catalogue(
    settings: Settings, configs: MutableMapping[str, ModelConfig] | None, keys: KeyStore | None
) -> ModelCatalogue:
    return ModelCatalogue(
        dict(settings.models) if configs is None else configs,
        ConfigFile(settings.config_path),
        keys or KeyStore(settings.data_dir),
        fixed=settings.model,
        default=settings.default_model,
    )


def _mcp_server(settings: Settings, agent: Agent) -> McpServer:
    return McpServer(
        agent.madang.provider,
        agent.madang.call("mcp-http"),
        settings.page_override,
        always_elicit=settings.ask == "elicit",
        pauses=agent.stores.pauses,
    )


def _watch(agent: Agent, calls: HostCalls, readers: LiveReaders) -> None:
    """Tell readers what changes in any process, from now on."""
    database, background = agent.madang.database, agent.madang.background
    working = WorkingRuns(calls.call.user_id, agent.stores.runs, DeltaStore(database), readers)
    overview = OverviewFeed(calls.call, database, agent.inbox, readers=readers, working=working)
    background.keep(overview.watch, "overview")
    background.keep(working.read_words, "words of runs elsewhere")
