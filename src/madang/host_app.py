"""Puts the web host together: an open agent, its routes behind the gate, and MCP in the same process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from starlette.types import ASGIApp

from madang.agent.models import ModelOpener
from madang.agent.rules import NO_RULES, ApprovalRules
from madang.agent_app import Agent, open_agent
from madang.app import Madang
from madang.core.model_config import ModelConfig
from madang.core.service import Service
from madang.files.config_file import ConfigFile
from madang.host.app import HostAddress, host_app
from madang.host.calls import HostCalls
from madang.host.ending import HostEnding
from madang.host.launch import LaunchCodes
from madang.host.live import LiveReaders
from madang.host.model_catalogue import ModelCatalogue
from madang.host.overview import OverviewFeed
from madang.host.parts import HostParts
from madang.host.recent_log import RecentLog
from madang.host.static_files import StaticFiles
from madang.host.working_runs import WorkingRuns
from madang.llm.discovery import USUAL_PORTS
from madang.llm.keys import KeyStore
from madang.records.image_uploads import ImageUploads
from madang.records.runs.deltas import DeltaStore
from madang.records.views import ViewStore
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
    parts: HostParts

    def launch_url(self) -> str:
        """Return an address that lets one tab in, once, within a minute."""
        return f"{self.address.origin}/#launch={self.codes.make()}"


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
    # Downloads are on the content's name: what is in a file must not be at the chat's origin, whatever a browser does.
    catalogue = ModelCatalogue(
        dict(settings.models) if configs is None else configs,
        ConfigFile(settings.config_path),
        keys or KeyStore(settings.data_dir),
        fixed=settings.model,
        default=settings.default_model,
    )
    ending = HostEnding()
    async with open_agent(
        settings,
        open_model,
        rules=rules,
        base_url=address.content_origin,
        default_model=lambda: catalogue.default,
        services=services,
    ) as agent:
        parts = await _host_parts(settings, agent, address, catalogue, ending, export)
        readers = LiveReaders(agent.runner, agent.madang.provider)
        mcp = McpServer(
            agent.madang.provider,
            agent.madang.call("mcp-http"),
            settings.page_override,
            always_elicit=settings.ask == "elicit",
            pauses=agent.stores.pauses,
        )
        codes = LaunchCodes()
        files = files or StaticFiles(address.origin, address.content_origin)
        access = address.access(client_token, browser_token)
        app = host_app(parts, address, access, codes, readers, mcp.server, agent.madang.downloads, files)
        working = WorkingRuns(settings.user, agent.stores.runs, DeltaStore(agent.madang.database), readers)
        overview = OverviewFeed(parts.calls.call, parts.database, parts.inbox, readers=readers, working=working)
        agent.madang.background.keep(overview.watch, "overview")
        agent.madang.background.keep(working.read_words, "words of runs elsewhere")
        parts.recent_log.open()
        try:
            yield WebHost(app, address, agent, readers, codes, files.are_built, ending, parts)
        finally:
            parts.recent_log.close()
            await readers.close()


async def _host_parts(
    settings: Settings,
    agent: Agent,
    address: HostAddress,
    catalogue: ModelCatalogue,
    ending: HostEnding,
    export: Exporter | None,
) -> HostParts:
    madang = agent.madang
    views = ViewStore(madang.database)
    await views.open()
    images = ImageUploads(madang.database)
    await images.open()
    await agent.inbox.open()
    return HostParts(
        calls=HostCalls(replace(madang.call("host", pages="linked"), session_id=None), madang.sessions),
        database=madang.database,
        provider=madang.provider,
        executor=madang.executor,
        folders=madang.folders,
        sessions=madang.sessions,
        operations=madang.session_operations,
        assistants=madang.assistants,
        audit=madang.audit,
        runner=agent.runner,
        stores=agent.stores,
        events=agent.events,
        search=agent.search,
        inbox=agent.inbox,
        views=views,
        images=images,
        decisions=agent.decisions,
        config_assistants=frozenset(settings.grants),
        catalogue=catalogue,
        open_models=agent.models,
        local_ports=USUAL_PORTS,
        egress=agent.egress,
        ending=ending,
        export_everything=partial(export, madang) if export is not None else None,
        is_on_server=bool(settings.database),
        recent_log=RecentLog(),
        own_services=frozenset(madang.provider.status),
        data_dir=settings.data_dir,
        host_origin=address.origin,
        content_origin=address.content_origin,
    )
