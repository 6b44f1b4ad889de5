"""The provider: finds a tool, checks the assistant's grant, runs the tool under its time limit, logs and audits it.

It is the only place for each of these. Doors translate and decide nothing; services know nothing of one another.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from madang.core.calls import Call, assistant_missing
from madang.core.errors import ContextMissing, InvalidCursor, MadangError, NotGranted, TimedOut, ToolError, UnknownTool
from madang.core.phrases import Phrase, layout, say
from madang.core.resources import Resource, ResourceList, ResourceTemplate
from madang.core.results import Reply, ToolResult
from madang.core.service import (
    ActiveSession,
    Service,
    ServiceContext,
    ServiceMetadata,
    ServiceStatus,
)
from madang.core.suggestions import did_you_mean
from madang.core.texts import one_line
from madang.core.tools import DEFAULT_TIME_LIMIT_S, MethodTool, Tool, ToolSchemas
from madang.provider.lifecycle import Lifecycle
from madang.provider.streams import ValueT, merge_streams
from madang.rendering.catalogue import translator
from madang.rendering.replies import error_reply, render_text, reply
from madang.storage.audit import AuditEntry, AuditLog

MAX_LISTED_RESOURCES = 50
MAX_TOOL_NAME_CHARS = 100

logger = logging.getLogger(__name__)


class InternalError(ToolError):
    """A bug of ours. The reply names only the reference under which the log has the traceback."""

    code = "internal"


class Provider:
    """Owns the registered services and the audit log, and closes both."""

    def __init__(
        self,
        audit: AuditLog,
        *,
        grants: Mapping[str, Sequence[str]] | None = None,
        schemas: Mapping[str, ToolSchemas] | None = None,
        time_limit_s: float = DEFAULT_TIME_LIMIT_S,
    ) -> None:
        """`grants` names the services each listed assistant may use; an assistant that is not listed may use all.

        `schemas` are prebuilt, by the name of the tool; a tool without an entry builds its own on first use.
        """
        self._audit = audit
        self._grants = {assistant: frozenset(names) for assistant, names in (grants or {}).items()}
        self._schemas = schemas or {}
        self._time_limit_s = time_limit_s
        self._services: dict[str, Service] = {}
        self._tools: dict[str, tuple[Service, Tool]] = {}
        self._lifecycle = Lifecycle()

    def register(self, service: Service) -> None:
        """Add a service. It is opened when it is first used.

        Raises:
            ValueError: its name or one of its tools is taken: names inside texts must mean one tool.
        """
        name = service.metadata.name
        duplicates = [tool.name for tool in service.tools if tool.name in self._tools]
        if duplicates:
            raise ValueError(f"Cannot register {name!r}: tools taken: {duplicates}")
        if name in self._services:
            raise ValueError(f"Cannot register {name!r}: name is taken")
        self._services[name] = service
        self._lifecycle.add(service)
        for tool in service.tools:
            if isinstance(tool, MethodTool) and tool.name in self._schemas:
                tool = replace(tool, schemas=self._schemas[tool.name])
            self._tools[tool.name] = service, tool

    async def unregister(self, name: str) -> None:
        """Close a service and forget it and its tools."""
        service = self._services.pop(name)
        for tool in service.tools:
            del self._tools[tool.name]
        await self._lifecycle.remove(service)

    async def close(self) -> None:
        """Close all services in reverse order, then the audit trail."""
        await self._lifecycle.close()
        await self._audit.close()

    @property
    def status(self) -> dict[str, ServiceStatus]:
        """The status of each service by name, with its reason."""
        return self._lifecycle.status

    def get_service_metadata(self, name: str) -> ServiceMetadata | None:
        service = self._services.get(name)
        return service.metadata if service else None

    def instructions(self, call: Call) -> str:
        """Return how models use the services that the call's assistant may use, without those that cannot be opened."""
        status = self._lifecycle.status
        usable = [service for service in self._services.values() if self._may_use(call, service)]
        texts = [one.metadata.instructions for one in usable if status[one.metadata.name].state != "error"]
        return " ".join(filter(None, texts))

    def find_tool(self, name: str) -> Tool | None:
        """Return a tool by its bare or qualified name (`playbook__get_playbook`)."""
        entry = self._find(name)
        return entry[1] if entry else None

    async def available_tools(self, call: Call) -> list[Tool]:
        """Return the tools of the services that are ready and that the call's assistant may use."""
        ready = await self._ready(call)
        return [self._tools[tool.name][1] for service in ready for tool in service.tools]

    async def execute_tool(self, call: Call, name: str, arguments: Mapping[str, Any]) -> Reply:
        """Run a tool and answer in the language and form of this call's reader. A `ToolError` becomes a reply too.

        Raises:
            UnknownTool, NotGranted: there is no such tool, or this assistant may not use it.
        """
        entry = self._find(name)
        if entry is None:
            self._record(call, name[:MAX_TOOL_NAME_CHARS], "", arguments, UnknownTool.code)
            raise self.unknown_tool(call, name)
        service, tool = entry
        if not self._may_use(call, service):
            self._record(call, tool.name, tool.effect, arguments, NotGranted.code)
            raise _not_granted(call, service)
        started_s = time.perf_counter()
        outcome, size_bytes = "cancelled", 0
        try:
            answer = await self._answer(call, service, tool, arguments)
            outcome, size_bytes = answer.error_code or "ok", len(answer.text.encode())
        finally:
            elapsed_ms = (time.perf_counter() - started_s) * 1000
            self._record(call, tool.name, tool.effect, arguments, outcome, size_bytes, elapsed_ms)
        return answer

    def unknown_tool(self, call: Call, name: str) -> UnknownTool:
        """Return the error for a tool that does not exist, with the names that this call's assistant may have meant."""
        usable = (tool.name for service, tool in self._tools.values() if self._may_use(call, service))
        message = say("There is no tool '{name}'.", name=name[:MAX_TOOL_NAME_CHARS])
        return UnknownTool(message, hint=did_you_mean(name.rpartition("__")[2], usable))

    async def switch_context(self, active: ActiveSession | None) -> None:
        """Tell every ready service which session the person is in; a failure is logged and affects no other service."""
        ready = [service for name, service in self._services.items() if self._lifecycle.status[name].state == "ready"]
        outcomes = await asyncio.gather(*(service.switch_context(active) for service in ready), return_exceptions=True)
        for service, outcome in zip(ready, outcomes, strict=True):
            if isinstance(outcome, asyncio.CancelledError):
                raise outcome
            if isinstance(outcome, BaseException):
                logger.error("switch_context failed for %s", service.metadata.name, exc_info=outcome)

    async def service_contexts(self, call: Call) -> dict[str, ServiceContext]:
        """Return each service's context in this call's session; one that fails gets a text that says so."""
        ready = await self._ready(call)
        contexts = await asyncio.gather(*(_context(service, call) for service in ready))
        names = [service.metadata.name for service in ready]
        return {name: context for name, context in zip(names, contexts, strict=True) if context is not None}

    async def watch_contexts(self, call: Call) -> AsyncGenerator[dict[str, ServiceContext], None]:
        """Yield the contexts of all services, and again after each change, in any process."""
        services = await self._ready(call)
        changes = merge_streams([_watched(service, service.changes, call) for service in services])
        await anext(changes, None)  # every service is watched from here on, so no change is missed
        yield await self.service_contexts(call)
        async for _ in changes:
            yield await self.service_contexts(call)

    async def list_resources(self, call: Call, cursor: str = "") -> ResourceList:
        """Return one page of the resources of all services; its `after` is the cursor of the next page.

        Raises:
            InvalidCursor: the cursor is not one that an earlier page gave.
        """
        services = await self._ready(call)
        name, _, after = cursor.partition(":")
        names = [service.metadata.name for service in services]
        if cursor and name not in names:
            raise InvalidCursor(say("The cursor is not one of ours."))
        # A page is filled across services: many clients never ask for a second one.
        listed: list[Resource] = []
        for service in services[names.index(name) if cursor else 0 :]:
            if len(listed) >= MAX_LISTED_RESOURCES:
                return ResourceList(listed, f"{service.metadata.name}:")
            page = await service.list_resources(call, after, MAX_LISTED_RESOURCES - len(listed))
            listed += page.resources
            if page.after:
                return ResourceList(listed, f"{service.metadata.name}:{page.after}")
            after = ""
        return ResourceList(listed)

    async def resource_templates(self, call: Call) -> list[ResourceTemplate]:
        return [template for service in await self._ready(call) for template in service.resource_templates]

    async def read_resource(self, call: Call, uri: str) -> Resource | None:
        """Return the resource at `uri`, or None; another owner's resource is None too."""
        for service in await self._ready(call):
            resource = await service.read_resource(call, uri)
            if resource is not None:
                return resource
        return None

    async def watch_resources(self, call: Call) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then the URIs of changed resources, in any process."""
        services = await self._ready(call)
        async for changes in merge_streams([_watched(one, one.resource_changes, call) for one in services]):
            yield frozenset(uri for uris in changes for uri in uris)

    async def build_tool_prompt(self, call: Call) -> str:
        """Return what the model should know this turn: the instructions, which stay the same, then the state.

        In this order, because a model's server caches the longest beginning that did not change.
        """
        return "\n\n".join(filter(None, [self.instructions(call), await self.build_state_prompt(call)]))

    async def build_state_prompt(self, call: Call) -> str:
        """Return the state of each service in a fixed order. It changes from turn to turn: no history keeps it."""
        translate = translator(call.locale)
        prompts = [context.context_prompt for context in (await self.service_contexts(call)).values()]
        return "\n\n".join(
            filter(None, (prompt if isinstance(prompt, str) else render_text(prompt, translate) for prompt in prompts))
        )

    def _find(self, name: str) -> tuple[Service, Tool] | None:
        entry = self._tools.get(name)
        if entry is None and "__" in name:
            service_name, _, tool_name = name.partition("__")
            entry = self._tools.get(tool_name)
            if entry is not None and service_name not in entry[0].metadata.names:
                return None
        return entry

    def _may_use(self, call: Call, service: Service) -> bool:
        granted = self._grants.get(call.assistant_id or "")
        return granted is None or not granted.isdisjoint(service.metadata.names)

    async def _ready(self, call: Call) -> list[Service]:
        usable = [service for service in self._services.values() if self._may_use(call, service)]
        await asyncio.gather(*(self._lifecycle.open(service) for service in usable), return_exceptions=True)
        status = self._lifecycle.status
        return [service for service in usable if status[service.metadata.name].state == "ready"]

    def _record(
        self,
        call: Call,
        tool: str,
        effect: str,
        arguments: Mapping[str, Any],
        outcome: str,
        size_bytes: int = 0,
        elapsed_ms: float = 0.0,
    ) -> None:
        """Record a call and its outcome: one line in the log, one row in the audit log."""
        session = one_line(call.session_id or "")
        logger.info("%s %s %.1f ms (%s, %s)", one_line(tool), outcome, elapsed_ms, call.door, session)
        self._audit.record(AuditEntry(call, tool, effect, arguments, outcome, size_bytes, elapsed_ms))

    async def _answer(self, call: Call, service: Service, tool: Tool, arguments: Mapping[str, Any]) -> Reply:
        try:
            result = await self._run(call, service, tool, arguments)
            if tool.joins_contexts and call.door in ("mcp-stdio", "mcp-http"):
                result = replace(result, next=[*result.next, *await self._summaries(call, besides=service)])
            if result.page is not None and call.pages != "off":
                # In a thread: a page with thousands of points would hold the event loop while it is drawn.
                return await asyncio.to_thread(reply, service.metadata.name, tool.name, call, result)
            return reply(service.metadata.name, tool.name, call, result)
        except ToolError as error:
            return error_reply(service.metadata.name, tool.name, call, error)
        except Exception:
            return error_reply(service.metadata.name, tool.name, call, _internal_error(tool.name))

    async def _summaries(self, call: Call, besides: Service) -> list[Phrase]:
        """Return one line of what the other services have, if they have anything."""
        contexts = await self.service_contexts(call)
        sentences = [
            context.summary
            for name, context in contexts.items()
            if context.summary is not None and name != besides.metadata.name
        ]
        return [reduce(_in_one_line, sentences)] if sentences else []

    async def _run(self, call: Call, service: Service, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult[Any]:
        if call.assistant_id is None:
            raise assistant_missing()
        limit_s = tool.time_limit_s or self._time_limit_s
        try:
            async with asyncio.timeout(limit_s):
                await self._lifecycle.open(service)
                return await tool.run(call, arguments)
        except TimeoutError:
            raise TimedOut(
                say("The call took longer than {limit:g} s and was given up.", limit=limit_s),
                hint=say("It may still have been done: look before you call again."),
            ) from None


def _in_one_line(first: Phrase, second: Phrase) -> Phrase:
    return layout("{first} {second}", first=first, second=second)


async def _watched(
    service: Service, changes: Callable[[Call], AsyncIterator[ValueT]], call: Call
) -> AsyncIterator[ValueT]:
    """Yield the changes of one service; a failure is logged and ends only this stream."""
    try:
        async for change in changes(call):
            yield change
    except Exception as error:
        exc_info = not isinstance(error, MadangError)
        logger.error("%s cannot be watched: %s", service.metadata.name, one_line(str(error)), exc_info=exc_info)


async def _context(service: Service, call: Call) -> ServiceContext | None:
    name = service.metadata.name
    try:
        context = await service.get_service_context(call)
    except ContextMissing:
        return ServiceContext("")  # a call without a session has no state to tell, and that is no failure
    except Exception as error:
        if not isinstance(error, MadangError):
            logger.exception("get_service_context failed for %s", name)
        text = [say("# {service}: its state cannot be read now.", service=name)]
        return ServiceContext(text, {"error": str(error) if isinstance(error, MadangError) else "internal"})
    return ServiceContext(context) if isinstance(context, str) else context


def _not_granted(call: Call, service: Service) -> NotGranted:
    return NotGranted(
        say(
            "The assistant '{assistant}' may not use the service '{service}'.",
            assistant=call.assistant_id or "",
            service=service.metadata.name,
        )
    )


def _internal_error(tool_name: str) -> InternalError:
    reference = secrets.token_hex(4)
    logger.exception("Internal error %s in %s", reference, tool_name)
    return InternalError(
        say("Internal error (reference {reference}).", reference=reference),
        hint=say("Ask the person to look for this reference in the log."),
    )
