"""The routes of the host behind the one gate, with MCP beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from madang.files.downloads import Downloads
from madang.host.api import API_HEADERS, Endpoint, Operation
from madang.host.archives import SessionArchives
from madang.host.assistant_answers import AssistantAnswers
from madang.host.assistants import AssistantApi
from madang.host.clients import ClientApi
from madang.host.data import DataApi
from madang.host.decisions import DecisionApi
from madang.host.files import Files
from madang.host.inbox import InboxApi
from madang.host.launch import LaunchCodes, launch_operations
from madang.host.live import LiveReaders
from madang.host.manual import ManualApi, PersonTurns
from madang.host.me import MeApi, ModelChoices
from madang.host.message_list import MessageListApi
from madang.host.messages import MessageApi
from madang.host.models import ModelApi
from madang.host.openapi import openapi_document
from madang.host.page_policy import PageRights, rights_of
from madang.host.panels import PanelApi
from madang.host.parts import HostParts
from madang.host.problems import OwnServices, ProblemApi
from madang.host.receiving import Receiver, upload_route
from madang.host.service_modes import ServiceModes
from madang.host.session_list import SessionListApi
from madang.host.sessions import SessionApi
from madang.host.static_files import StaticFiles
from madang.host.stream import EventStreams
from madang.host.tools import ToolApi
from madang.host.uploads import Uploads
from madang.host.views import ViewApi
from madang.records.client_calls import ClientCalls
from madang.server.gate import EVENT_STREAM, JSON_API, AccessPolicy, PolicyMount, PolicyRoute
from madang.server.health import Readiness, health_routes
from madang.server.http import http_app
from madang.server.sdk import SdkServer

HOST_NAME = "127.0.0.1"
CONTENT_NAME = "localhost"


@dataclass(frozen=True, slots=True)
class HostAddress:
    """The two names of the host, which differ by site, on one port."""

    port: int

    @property
    def host(self) -> str:
        return f"{HOST_NAME}:{self.port}"

    @property
    def content_host(self) -> str:
        return f"{CONTENT_NAME}:{self.port}"

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    @property
    def content_origin(self) -> str:
        return f"http://{self.content_host}"

    def access(self, client_token: str, browser_token: str) -> AccessPolicy:
        """Return who may come in. The content origin is none of the origins: nothing there may ask for anything."""
        hosts = frozenset({self.host, self.content_host})
        return AccessPolicy(client_token, hosts, frozenset({self.origin}), browser_token)


class AsgiEndpoint:
    """A method as an ASGI application: Starlette would take it for a function of a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def host_operations(parts: HostParts, codes: LaunchCodes, browser_token: str) -> list[Operation]:
    """Return every operation of the JSON API."""
    calls, clients, services = parts.calls, ClientCalls(parts.database, parts.audit), ServiceModes(parts.provider)
    return [
        *launch_operations(codes, browser_token, parts.host_origin),
        *MeApi(
            calls.call,
            parts.assistants,
            ModelChoices(parts.catalogue, parts.open_models, parts.stores.usage),
            provider=parts.provider,
            data_dir=parts.data_dir,
            content_origin=parts.content_origin,
        ).operations(),
        *SessionListApi(
            calls,
            parts.sessions,
            database=parts.database,
            messages=parts.stores.messages,
            search=parts.search,
            clients=clients,
        ).operations(),
        *SessionApi(
            calls,
            parts.sessions,
            database=parts.database,
            assistants=parts.assistants,
            operations=parts.operations,
            runner=parts.runner,
        ).operations(),
        *MessageListApi(
            calls, parts.stores.messages, database=parts.database, events=parts.events, views=parts.views
        ).operations(),
        *MessageApi(
            calls, parts.runner, stores=parts.stores, images=parts.images, catalogue=parts.catalogue
        ).operations(),
        *InboxApi(calls, parts.inbox, parts.sessions, parts.database).operations(),
        *ManualApi(
            calls,
            PersonTurns(parts.database, parts.runner, parts.stores),
            inbox=parts.inbox,
            assistants=parts.assistants,
            catalogue=parts.catalogue,
        ).operations(),
        *ToolApi(calls, parts.provider, parts.views).operations(),
        *ViewApi(
            calls,
            parts.views,
            sessions=parts.sessions,
            provider=parts.provider,
            inbox=parts.inbox,
            audit=parts.audit,
        ).operations(),
        *AssistantApi(
            calls,
            parts.assistants,
            AssistantAnswers(parts.sessions, parts.decisions, services, config_names=parts.config_assistants),
            services=services,
            catalogue=parts.catalogue,
        ).operations(),
        *DecisionApi(calls, parts.decisions, parts.sessions).operations(),
        *ModelApi(
            calls,
            parts.catalogue,
            parts.open_models,
            data_dir=parts.data_dir,
            local_ports=parts.local_ports,
        ).operations(),
        *DataApi(
            calls,
            parts.sessions,
            folder=parts.data_dir,
            is_on_server=parts.is_on_server,
            ending=parts.ending,
            export_everything=parts.export_everything,
        ).operations(),
        *ClientApi(calls, parts.sessions, clients, parts.egress).operations(),
        *PanelApi(calls, parts.provider).operations(),
        *ProblemApi(
            calls,
            parts.recent_log,
            database=parts.database,
            audit=parts.audit,
            services=OwnServices(parts.provider),
            catalogue=parts.catalogue,
        ).operations(),
    ]


def host_app(
    parts: HostParts,
    address: HostAddress,
    access: AccessPolicy,
    codes: LaunchCodes,
    readers: LiveReaders,
    mcp: SdkServer,
    downloads: Downloads | None = None,
    files: StaticFiles | None = None,
) -> ASGIApp:
    """Return the application: the chat, its API and its streams, pages, and MCP, behind one gate."""
    receiver = Receiver(parts.executor, parts.folders)
    calls, provider = parts.calls, parts.provider
    streams = EventStreams(calls, parts.events, parts.stores.runs, provider=provider, readers=readers)
    uploads = Uploads(calls, receiver, provider=provider, images=parts.images)
    session_files = Files(calls, receiver, provider=provider, executor=parts.executor, folders=parts.folders)
    archives = SessionArchives(calls, parts.operations, parts.data_dir)
    operations = [
        *host_operations(parts, codes, access.browser_token),
        *session_files.operations(),
        *archives.operations(),
    ]
    # With routes of their own, because their bodies are streams.
    received = [uploads.operation, session_files.upload_operation, archives.import_operation]
    host, locale = address.host, parts.calls.call.locale
    stream = replace(EVENT_STREAM, hosts=frozenset({host}), token="browser")

    async def find_rights(view_id: str) -> PageRights:
        return rights_of(await parts.views.get(parts.calls.call.user_id, view_id) if view_id else None)

    files = files or StaticFiles(address.origin, address.content_origin)
    routes: Sequence[PolicyRoute | PolicyMount] = [
        *(PolicyRoute(one.path, AsgiEndpoint(one.handler), policy=stream) for one in streams.endpoints()),
        *(upload_route(operation, host, locale) for operation in received),
        _openapi_route([*operations, *streams.endpoints(), *received], host),
        *(operation.route(host, locale) for operation in operations),
        *health_routes(Readiness(parts.database, parts.provider), frozenset({host})),
        *files.routes(host, address.content_host, find_rights),
    ]
    return http_app(mcp, access, downloads, routes, mcp_hosts=frozenset({host}))


def _openapi_route(operations: Sequence[Endpoint], host: str) -> PolicyRoute:
    document = openapi_document(operations)

    async def answer(request: Request) -> Response:
        return JSONResponse(document, headers=API_HEADERS)

    policy = replace(
        JSON_API,
        methods=frozenset({"GET"}),
        hosts=frozenset({host}),
        token="browser",
        content_types=frozenset(),
        max_body_bytes=0,
    )
    return PolicyRoute("/api/openapi.json", answer, policy=policy)
