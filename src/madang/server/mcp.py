"""An MCP server on top of the provider, in both protocol eras, over stdio and over HTTP."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from madang import __version__
from madang.core.calls import Call, PageMode
from madang.core.errors import RequestError, ToolError
from madang.core.ids import AssistantId, SessionId, hidden_character, is_name, normalised_name
from madang.core.limits import MAX_NAME_CHARS
from madang.core.resources import Resource, ResourceList
from madang.core.results import Reply, page_uri
from madang.core.tools import MethodTool, Tool
from madang.provider.provider import Provider
from madang.records.pauses import PauseStore
from madang.rendering.catalogue import translator
from madang.rendering.replies import document, error_reply, page_document
from madang.server import mapping
from madang.server.change_streams import ChangeStreams
from madang.server.clients import Delivery, delivery, elicits
from madang.server.connections import Connections, client_name
from madang.server.elicitation import Elicitation
from madang.server.progress import ProgressReporter
from madang.server.sdk import RequestContext, SdkServer
from madang.server.stdio import stdio_streams

ASSISTANT_KEY = "madang/assistantId"
SESSION_KEY = "madang/sessionId"

MAX_KEPT_LISTS = 64
"""Of tools, as they were listed: one for each set of tools and kind of client."""

INTRODUCTION = "Madang keeps its state through restarts."
SHARED_NAMES = re.compile(
    r"\b(read_file|write_file|edit_file|list_directory|grep|search_files|move_file|delete_file)\b"
)
"""Tools that hosts have under the same names, for other folders."""
NOT_THE_HOSTS = "Where the host has tools of the same names, Madang's are meant here."


class McpServer:
    """Serves one provider. Requests that name no assistant or session get those of `call`; `ui` overrides what clients
    declare of pages.

    With `always_elicit`, questions go through the forms of every client that declares elicitation. `pauses` tell
    whether one was answered elsewhere meanwhile.
    """

    def __init__(
        self,
        provider: Provider,
        call: Call,
        ui: PageMode | None = None,
        *,
        always_elicit: bool = False,
        pauses: PauseStore | None = None,
    ) -> None:
        self._provider = provider
        # Whoever opened the server: behind this door is a model or a person, and we cannot know which.
        self._call = replace(call, actor="foreign")
        self._ui = ui
        self._always_elicit = always_elicit
        self._elicitation = Elicitation(provider, pauses)
        self._changes = ChangeStreams(provider)
        self._listed_tools: dict[tuple[Delivery, tuple[str, ...]], tuple[list[Tool], list[dict[str, Any]]]] = {}
        self._has_one_connection = False
        self._settled: Delivery | None = None
        self.server = SdkServer(
            "madang",
            version=__version__,
            title="Madang",
            instructions=_instructions(provider.instructions(self._call)),
            lifespan=self._track_connections,
            get_tool_input_schema=self._input_schema,
            on_subscribe_resource=self._changes.subscribe,
            on_unsubscribe_resource=self._changes.unsubscribe,
            on_subscriptions_listen=self._listen,
        )
        self.server.on_read = self._changes.reading
        # Added rather than passed above: these return the dicts of the wire, which cost less than the SDK's models.
        add = self.server.add_request_handler
        add("tools/list", types.PaginatedRequestParams, self._list_tools)
        add("tools/call", types.CallToolRequestParams, self._call_tool)
        add("prompts/list", types.PaginatedRequestParams, self._list_prompts)
        add("resources/list", types.PaginatedRequestParams, self._list_resources)
        add("resources/templates/list", types.PaginatedRequestParams, self._list_templates)
        add("resources/read", types.ReadResourceRequestParams, self._read_resource)
        add("skills/list", types.PaginatedRequestParams, self._list_skills)
        add("skills/get", types.ReadResourceRequestParams, self._get_skill)
        self.server.add_notification_handler("notifications/initialized", types.NotificationParams, self._initialized)
        self.server.extensions = {mapping.UI_EXTENSION: {}, mapping.SKILLS_EXTENSION: {}}

    async def serve_stdio(self, on_end: Callable[[], object] = lambda: None) -> None:
        """Serve the client that started this process, until it closes our standard input or output.

        `on_end` is called, from another thread, as soon as it does: answers may still be under way then.
        """
        with stdio_streams(on_end) as (reader, writer):
            await self.serve_connection(reader, writer)

    async def serve_connection(self, reader: Any, writer: Any) -> None:
        """Serve one client over a pair of message streams, and nobody else: what it has listed decides what it is sent.

        Since 2026-07-28 each request names its client by itself, or does not; over one connection the first list or
        call settles it for all that follow.
        """
        self._has_one_connection = True
        await self.server.run(reader, writer, self.server.create_initialization_options())

    def _track_connections(self, _: Server[Any]) -> AbstractAsyncContextManager[Connections]:
        """Return the connections of one transport, which the SDK opens with it and hands to each request."""
        return Connections(self._provider).opened()

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        tool = self._provider.find_tool(name)
        return tool.input_schema if tool else None

    async def _list_tools(self, context: RequestContext, _: types.PaginatedRequestParams) -> dict[str, Any]:
        reached = self._settle(context)
        tools = await self._provider.available_tools(self._call_of(context))
        key = reached, tuple(tool.name for tool in tools)
        listed_from, listed = self._listed_tools.get(key, ([], []))
        if not all(map(operator.is_, tools, listed_from)) or not listed:
            # Not listed before, or tools were replaced by others of the same names, which may have new schemas.
            listed = mapping.listed_tools(tools, reached.pages, with_data=reached.sends_data)
            if len(self._listed_tools) >= MAX_KEPT_LISTS:
                self._listed_tools.clear()
            self._listed_tools[key] = tools, listed
        # Our own tools stay as they are while this process runs; those of other servers change when they like.
        is_fixed = all(isinstance(tool, MethodTool) for tool in tools)
        return mapping.cacheable({"tools": listed}, ttl_ms=mapping.LIST_TTL_MS if is_fixed else 0)

    async def _call_tool(self, context: RequestContext, params: types.CallToolRequestParams) -> dict[str, Any]:
        sends_data = self._settle(context).sends_data
        try:
            outcome = await self._outcome(context, params)
        except RequestError as error:
            raise self._protocol_error(error) from None
        return mapping.call_result(outcome, with_data=sends_data) if isinstance(outcome, Reply) else outcome

    async def _outcome(self, context: RequestContext, params: types.CallToolRequestParams) -> Reply | dict[str, Any]:
        """Return the reply to a call, or the request for input that comes before it."""
        call = self._call_of(context)
        if params.request_state is not None:
            return await self._resume(call, params)
        progress = ProgressReporter(context.session, call.locale)
        try:
            reply = await self._provider.execute_tool(
                replace(call, progress=progress), params.name, params.arguments or {}
            )
        finally:
            progress.close()
        if reply.form is not None and elicits(context.session, always=self._always_elicit):
            return await self._elicitation.ask(context, call, reply, reply.form)
        return reply

    async def _resume(self, call: Call, params: types.CallToolRequestParams) -> Reply:
        tool = self._provider.find_tool(params.name)
        if tool is None:
            raise self._provider.unknown_tool(call, params.name)
        return await self._elicitation.resume(call, tool, params)

    async def _list_prompts(self, _: RequestContext, __: types.PaginatedRequestParams) -> dict[str, Any]:
        """Return no prompts. The capability is not declared, but some clients ask without looking."""
        return mapping.cacheable({"prompts": []})

    async def _list_resources(self, context: RequestContext, params: types.PaginatedRequestParams) -> dict[str, Any]:
        call = self._call_of(context)
        page = await self._resources(call, params)
        listed = [mapping.listed_resource(resource) for resource in page.resources]
        if not params.cursor:
            listed = [
                *(
                    mapping.page_resource(name)
                    for name in mapping.page_tools(await self._provider.available_tools(call))
                ),
                *listed,
            ]
        return mapping.cacheable({"resources": listed}, page.after, ttl_ms=0)

    async def _list_templates(self, context: RequestContext, _: types.PaginatedRequestParams) -> dict[str, Any]:
        templates = await self._provider.resource_templates(self._call_of(context))
        return mapping.cacheable({"resourceTemplates": [mapping.listed_template(template) for template in templates]})

    async def _read_resource(self, context: RequestContext, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        call = self._call_of(context)
        for name, tool in mapping.page_tools(await self._provider.available_tools(call)).items():
            if params.uri == page_uri(name):
                refresh_tool, refresh_args = (tool.name, mapping.arguments_of(tool)) if tool else ("", "")
                html = page_document(call, refresh_tool=refresh_tool, refresh_args=refresh_args)
                return mapping.cacheable({"contents": [mapping.page_contents(name, html)]})
        resource = await self._resource(call, params.uri)
        return mapping.cacheable({"contents": [mapping.resource_contents(resource, call)]}, ttl_ms=0)

    async def _list_skills(self, context: RequestContext, params: types.PaginatedRequestParams) -> dict[str, Any]:
        call = self._call_of(context)
        page = await self._resources(call, params)
        skills = [mapping.skill_entry(skill, document(skill, call)) for skill in page.resources if skill.frontmatter]
        return mapping.cacheable({"skills": skills}, page.after, ttl_ms=0)

    async def _get_skill(self, context: RequestContext, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        call = self._call_of(context)
        skill = await self._resource(call, params.uri, is_skill=True)
        return mapping.cacheable({"skill": mapping.skill_entry(skill, document(skill, call))}, ttl_ms=0)

    async def _listen(
        self, context: RequestContext, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        return await self._changes.listen(context, params, self._call_of(context))

    async def _initialized(self, context: RequestContext, _: types.NotificationParams) -> None:
        await self._changes.notify_connection(context, self._call_of(context))

    async def _resources(self, call: Call, params: types.PaginatedRequestParams) -> ResourceList:
        try:
            return await self._provider.list_resources(call, params.cursor or "")
        except RequestError as error:
            raise self._protocol_error(error) from None

    async def _resource(self, call: Call, uri: str, *, is_skill: bool = False) -> Resource:
        try:
            resource = await self._provider.read_resource(call, uri)
        except ToolError as error:
            # A JSON-RPC error has no place for a hint of its own, and clients show only the message.
            details = error_reply("", "", call, error).data["error"]
            message = " ".join(part for part in (details["message"], details["hint"]) if part)
            raise MCPError(code=types.INVALID_PARAMS, message=message, data={"code": error.code}) from None
        if resource is None or (is_skill and not resource.frontmatter):
            raise MCPError(code=types.INVALID_PARAMS, message="Resource not found", data={"uri": uri[:200]})
        return resource

    def _delivery(self, context: RequestContext) -> Delivery:
        return self._settled or delivery(context.session, self._ui)

    def _settle(self, context: RequestContext) -> Delivery:
        """Return how results reach this client; where there is one connection, it stays so from now on."""
        reached = self._delivery(context)
        if self._has_one_connection:
            self._settled = reached
        return reached

    def _call_of(self, context: RequestContext) -> Call:
        """Return the call of a request: its assistant and session from `_meta`, else the server's own.

        Where that is another session than the client's last one, the services are told, and not waited for.
        """
        connections: Connections = context.lifespan_context
        meta: Mapping[str, Any] = context.meta or {}
        pages = self._delivery(context).pages
        call = replace(
            self._call,
            assistant_id=AssistantId(_name(meta, ASSISTANT_KEY)) if ASSISTANT_KEY in meta else self._call.assistant_id,
            session_id=SessionId(_name(meta, SESSION_KEY)) if SESSION_KEY in meta else self._call.session_id,
            pages=pages,
            client_id=connections.client_id(context),
            client_name=client_name(context),
            relays=pages == "off" and not elicits(context.session, always=self._always_elicit),
        )
        connections.note(context, call)
        return call

    def _protocol_error(self, error: RequestError) -> MCPError:
        # A JSON-RPC error has no place for a hint of its own, and clients show only the message.
        parts = [part.render(translator(self._call.locale)) for part in (error.message, error.hint) if part]
        return MCPError(code=types.INVALID_PARAMS, message=" ".join(parts), data={"code": error.code})


def _instructions(services: str) -> str:
    parts = [INTRODUCTION, services, NOT_THE_HOSTS if SHARED_NAMES.search(services) else ""]
    return " ".join(filter(None, parts))


def _name(meta: Mapping[str, Any], key: str) -> str:
    value = meta[key]
    name = normalised_name(value) if isinstance(value, str) else ""
    if not is_name(name):
        hidden = hidden_character(name)
        reason = f"holds {hidden}, which is not seen" if hidden else ""
        message = f"_meta {key} {reason or f'must have 1 to {MAX_NAME_CHARS} printable characters'}"
        raise MCPError(code=types.INVALID_PARAMS, message=message, data={"key": key})
    return name
