"""The provider: the one door to the services.

It finds a tool, checks the assistant's grant, the audience and the policy, runs the tool under its time limit, logs and
audits it, and is the only place for each of these. Doors translate and decide nothing; services know nothing of one
another.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from madang.core.calls import Call, assistant_missing
from madang.core.errors import (
    Denied,
    MadangError,
    NotFound,
    NotGranted,
    StoreUnavailable,
    ToolError,
    Unavailable,
    UnknownTool,
)
from madang.core.executor import Executor
from madang.core.operations import Operation
from madang.core.pauses import PauseAnswer, PauseForm, PauseRecord
from madang.core.phrases import Phrase, Translate, layout, say
from madang.core.resources import Resource, ResourceList, ResourceTemplate
from madang.core.results import Reply, ToolResult
from madang.core.service import (
    ActiveSession,
    RowQuery,
    Service,
    ServiceContext,
    ServiceMetadata,
    ServiceStatus,
    StateRows,
)
from madang.core.suggestions import did_you_mean_tool
from madang.core.texts import one_line
from madang.core.tools import DEFAULT_TIME_LIMIT_S, Tool, ToolSchemas
from madang.core.trust import Origin
from madang.core.uploads import AcceptedUpload, UploadedFile
from madang.provider.actions import NO_LISTENERS, CallListeners
from madang.provider.contexts import Contexts
from madang.provider.failures import internal_error, left_unchanged, not_granted, timed_out
from madang.provider.grants import FixedGrants, Grants, is_granted
from madang.provider.hooks import HOOK_LIMIT_S, bounded
from madang.provider.id_kinds import name_wrong_id
from madang.provider.lifecycle import Lifecycle
from madang.provider.pauses import NO_OWNERS, PauseOwners, Pauses
from madang.provider.policy import AllowAll, Decision, Policy, check_audience, is_offered, refusal
from madang.provider.registry import Registry
from madang.provider.resources import list_resource_page
from madang.provider.streams import ValueT, merge_streams
from madang.provider.uploads import FileUploads
from madang.records.audit import AuditEntry, AuditLog
from madang.records.sessions import SessionStore
from madang.rendering.readers import reader_words, without_tools
from madang.rendering.replies import error_reply, render_text, reply

MAX_TOOL_NAME_CHARS = 100
UNDO = "undo"
"""In the audit log, in the place of a tool."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StatePrompt:
    """What the model is told of the state of the services, and where untrusted words in it came from."""

    text: str
    origins: tuple[Origin, ...] = ()


class Provider:
    """Owns the registered services and the audit log, and closes both."""

    def __init__(
        self,
        audit: AuditLog,
        *,
        grants: Grants | None = None,
        sessions: SessionStore | None = None,
        policy: Policy | None = None,
        schemas: Mapping[str, ToolSchemas] | None = None,
        executor: Executor | None = None,
        listeners: CallListeners = NO_LISTENERS,
        time_limit_s: float = DEFAULT_TIME_LIMIT_S,
        hook_limit_s: float = HOOK_LIMIT_S,
    ) -> None:
        """`sessions` has a row for each session in which something was changed.

        `schemas` are prebuilt, by the name of the tool; a tool without an entry builds its own on first use.
        `listeners` hear of calls that are done.
        """
        self._audit = audit
        self._grants = grants or FixedGrants({})
        self._sessions = sessions
        self._policy = policy or AllowAll()
        self._executor = executor or Executor()
        self._listeners = listeners
        self._time_limit_s = time_limit_s
        self._hook_limit_s = hook_limit_s
        self._registry = Registry(schemas or {})
        self._lifecycle = Lifecycle(hook_limit_s)
        self._contexts = Contexts(self._lifecycle, hook_limit_s)
        self._uploads = FileUploads(self._registry, self._lifecycle, self._grants, audit.record, sessions, listeners)
        self._pauses = Pauses(
            self._registry,
            self._lifecycle,
            audit.record,
            sessions,
            self._words,
            time_limit_s=time_limit_s,
            hook_limit_s=hook_limit_s,
        )

    def register(self, service: Service) -> None:
        """Add a service. It is opened when it is first used.

        Raises:
            ValueError: its name or one of its tools is taken: names inside texts must mean one tool.
        """
        self._registry.add(service)
        self._lifecycle.add(service)

    async def unregister(self, name: str) -> None:
        """Close a service and forget it and its tools."""
        self._contexts.forget(name)
        await self._lifecycle.remove(self._registry.remove(name))

    async def open_all(self) -> None:
        """Open every service, as far as it can be done within the limit: for those who want to see their status."""
        await asyncio.gather(*(self._lifecycle.open_soon(service) for service in self._registry))

    async def open_services(self) -> list[Service]:
        """Open and return all services that this platform supports, whoever may use them, or raise Unavailable."""
        services = [service for service in self._registry if service.metadata.is_supported]
        await asyncio.gather(*(self._lifecycle.open(service) for service in services))
        return services

    async def close(self) -> None:
        """Close all services in reverse order, then the audit trail."""
        self._contexts.close()
        await self._lifecycle.close()
        await self._audit.close()

    @property
    def status(self) -> dict[str, ServiceStatus]:
        """The status of each service by name, with its reason."""
        return self._lifecycle.status

    def get_service_metadata(self, name: str) -> ServiceMetadata | None:
        service = self._registry.get(name)
        return service.metadata if service else None

    def instructions(self, call: Call) -> str:
        """Return how models use the services that the call's assistant may use, without those that cannot be opened."""
        lacking = self._registry.tool_names - self._offered_names(call)
        texts = (without_tools(one.metadata.instructions_for(call), lacking, bare=True) for one in self._named(call))
        return " ".join(filter(None, texts))

    def find_tool(self, name: str) -> Tool | None:
        """Return a tool by its bare or qualified name (`playbook__get_playbook`)."""
        entry = self._registry.find(name)
        return entry[1] if entry else None

    def find_service_name(self, tool: str) -> str:
        """Return the name of the service that a tool belongs to; empty if there is no such tool."""
        entry = self._registry.find(tool)
        return entry[0].metadata.name if entry else ""

    def list_service_tools(self, name: str) -> Sequence[Tool]:
        """Return the tools that a service declares, whoever may use them."""
        service = self._registry.get(name)
        return self._registry.tools(service) if service else ()

    async def available_tools(self, call: Call) -> list[Tool]:
        """Return the tools that the call's assistant may use and its actor may call.

        Tools are declared, so no service is opened for it, and none is waited for. One that could not be opened is left
        out, and opened once more behind the scenes. Tools for panels are listed to our own chat alone.
        """
        tools: list[Tool] = []
        for service in await self._usable(call):
            if self._lifecycle.state(service) == "error":
                self._lifecycle.retry(service)
            else:
                tools += self._registry.tools(service)
        return [
            tool
            for tool in tools
            if check_audience(call, tool).verdict == "allow" and (tool.audience != "panel" or call.door == "host")
        ]

    async def execute_tool(
        self, call: Call, name: str, arguments: Mapping[str, Any], decision: Decision | None = None
    ) -> Reply:
        """Run a tool and answer in the language and form of this call's reader. A `ToolError` becomes a reply too.

        `decision` is what `decide` said of this call, or the person; without one the policy is asked now.

        Raises:
            UnknownTool, NotGranted: there is no such tool, or this assistant may not use it.
        """
        entry = self._registry.find(name)
        if entry is None:
            self._record(call, name[:MAX_TOOL_NAME_CHARS], "", arguments, UnknownTool.code)
            raise self.unknown_tool(call, name)
        service, tool = entry
        try:
            services = await self._grants.services(call)
        except ToolError as error:
            self._record(call, tool.name, tool.effect, arguments, error.code, decision="deny")
            return error_reply(service.metadata.name, tool.name, call, error, words=self._words(call))
        if not is_granted(service.metadata, services):
            self._record(call, tool.name, tool.effect, arguments, NotGranted.code, decision="deny")
            raise not_granted(call, service)
        started_s = time.perf_counter()
        outcome, size_bytes, verdict = "cancelled", 0, ""
        try:
            decision = decision or await self.decide(call, tool, arguments)
            verdict = decision.verdict
            answer = await self._answer(call, service, tool, arguments, decision)
            outcome, size_bytes = answer.error_code or "ok", len(answer.text.encode())
            verdict = "relayed" if call.relays and answer.settles else verdict
        finally:
            elapsed_ms = (time.perf_counter() - started_s) * 1000
            self._record(call, tool.name, tool.effect, arguments, outcome, size_bytes, elapsed_ms, verdict)
        await self._listeners.tell(call, tool, arguments, answer)
        return answer

    async def decide(
        self, call: Call, tool: Tool, arguments: Mapping[str, Any], shown: Sequence[Origin] = ()
    ) -> Decision:
        """Return what is decided of a call, for `execute_tool` to be given with it.

        `shown` is where untrusted words came from that the caller was shown and no row of the session tells yet.
        """
        decision = check_audience(call, tool)
        return decision if decision.verdict == "deny" else await self._policy.decide(call, tool, arguments, shown)

    async def was_done(self, call: Call, name: str) -> bool | None:
        """Tell whether a call that was interrupted has had its effect; None if that cannot be known. It is no call.

        Raises:
            StoreUnavailable: the database is away, and knows it.
        """
        entry = self._registry.find(name)
        if entry is None:
            return None
        service, tool = entry
        try:
            async with asyncio.timeout(self._time_limit_s):
                await self._lifecycle.open(service)
                return await service.was_done(call, tool.name)
        except StoreUnavailable:
            raise
        except (ToolError, TimeoutError) as error:
            logger.error("What became of a call of %s cannot be found out: %s", name, one_line(repr(error)))
            return None

    async def outcome(self, call: Call, pause: PauseRecord) -> Reply:
        """Return what a pause led to, as the result of the call that opened it. It is no call, and not audited."""
        return await self._pauses.outcome(call, pause)

    async def read_pauses(
        self, call: Call, pauses: Sequence[PauseRecord], owners: PauseOwners = NO_OWNERS
    ) -> list[PauseForm]:
        """Return what the person needs to settle pauses, of whatever sessions, in their order. It is not audited.

        `owners` have the kinds of pauses that belong to no service.
        """
        return await self._pauses.read(call, pauses, owners)

    async def settle_pause(
        self, call: Call, pause: PauseRecord, answer: PauseAnswer, owners: PauseOwners = NO_OWNERS
    ) -> PauseRecord:
        """Settle a pause by the service that opened it, in the place of the pause, and return it as it then is.

        Raises:
            ToolError: the answer is not accepted.
        """
        return await self._pauses.settle(call, pause, answer, owners)

    async def undo(self, call: Call, operation: Operation) -> Operation:
        """Take back an operation of a service, for a person or a program; the session's run is told of it.

        Returns the operation that did it, which can be taken back as well.

        Raises:
            Denied: a model, or a program that may be one, asks for it.
            Conflict: it was taken back already, or its time is over.
            Unavailable: its service is not there.
        """
        if call.actor in ("model", "foreign"):
            raise Denied(say("What was done is for the person to take back."))
        service, outcome = self._registry.get(operation.service), "error"
        if service is None:
            raise Unavailable(say("The service '{name}' is not there any more.", name=operation.service))
        try:
            await self._lifecycle.open(service)
            taken = await bounded(service.undo(replace(call, operation_id=""), operation), self._time_limit_s)
            outcome = "ok"
        except TimeoutError:
            raise timed_out(self._time_limit_s) from None
        except ToolError as error:
            outcome = error.code
            raise
        finally:
            self._record(call, UNDO, "write", {"operation": operation.id}, outcome, decision="allow")
        deed = say("Taken back: {what}", what=service.describe(operation)).render(self._words(call))
        # The words may be anybody's: they name what was there before.
        await self._listeners.tell_action(call, f"[{UNDO}] {deed}", (Origin("tool", UNDO),))
        return taken

    def describe(self, operation: Operation) -> Phrase | None:
        """Return what an operation changed, in words; None if its service is not there."""
        service = self._registry.get(operation.service)
        return service.describe(operation) if service else None

    async def count_uploads(self, call: Call, service: str) -> int:
        """Return how many files a service has of the call's session, as its `accept_upload` counts them."""
        return await self._uploads.count(call, service)

    async def accept_upload(self, call: Call, service: str, upload: UploadedFile) -> AcceptedUpload:
        """Have a service keep a file that the person hands over.

        Raises:
            NotGranted: the call's assistant may not use the service.
            ToolError: it cannot be kept.
        """
        return await self._uploads.accept(call, service, upload)

    async def withdraw_upload(self, call: Call, service: str, accepted: AcceptedUpload) -> None:
        """Have a service take back what it has just accepted; what was there before stays."""
        await self._uploads.withdraw(call, service, accepted)

    def unknown_tool(self, call: Call, name: str) -> UnknownTool:
        """Return the error for a tool that does not exist, with the names that this call's assistant may have meant."""
        names = self._offered_names(call)
        message = say("There is no tool '{name}'.", name=name[:MAX_TOOL_NAME_CHARS])
        return UnknownTool(message, hint=did_you_mean_tool(name.rpartition("__")[2], sorted(names)))

    async def switch_context(self, active: ActiveSession | None) -> None:
        """Tell every ready service which session the person is in, and one that is opened later when it is.

        A failure is logged and affects no other service.
        """
        await self._lifecycle.switch_context(active)

    async def service_contexts(self, call: Call) -> dict[str, ServiceContext]:
        """Return each service's context in this call's session; one that fails gets a text that says so."""
        return await self._contexts.read(call, await self._usable(call))

    async def state_rows(self, call: Call, name: str, query: RowQuery) -> StateRows:
        """Return rows of a list in a service's state, for a panel that shows more of it than the state has.

        Raises:
            NotFound: the call's assistant has no such service, or its state no such list.
            ToolError: it cannot be read.
        """
        service = next((one for one in await self._usable(call) if one.metadata.name == name), None)
        rows = None
        if service is not None:
            await self._lifecycle.open(service)
            try:
                rows = await bounded(service.get_state_rows(call, query), self._hook_limit_s)
            except TimeoutError:
                raise timed_out(self._hook_limit_s) from None
        if rows is None:
            raise NotFound(say("There is no list '{list}' of '{service}'.", list=query.name, service=name))
        return rows

    async def needless_arguments(self, call: Call) -> frozenset[str]:
        """Return the optional arguments that say nothing in the call's session; a service that fails has none."""
        services = await self.watched_services(call) if call.session_id is not None else []
        found = await asyncio.gather(*(self._needless_arguments(service, call) for service in services))
        return frozenset[str]().union(*found)

    async def _needless_arguments(self, service: Service, call: Call) -> frozenset[str]:
        if type(service).needless_arguments is Service.needless_arguments:
            return frozenset()
        try:
            await self._lifecycle.open(service)
            return await bounded(service.needless_arguments(call), self._hook_limit_s)
        except (MadangError, TimeoutError) as error:
            logger.warning("Arguments of %s cannot be told: %s", service.metadata.name, one_line(str(error)))
            return frozenset()

    async def watched_services(self, call: Call) -> list[Service]:
        """Return the services whose states `watch_contexts` tells to this call, in their order."""
        return [service for service in await self._usable(call) if service.metadata.is_supported]

    async def watch_contexts(self, call: Call) -> AsyncGenerator[dict[str, ServiceContext], None]:
        """Yield the contexts of all services, then, after changes in any process, the contexts that changed.

        Changes at the same moment are coalesced, and a context that is as it was is not told again.
        """
        async for contexts in self._contexts.watch(call, await self._usable(call)):
            yield contexts

    async def list_resources(self, call: Call, cursor: str = "") -> ResourceList:
        """Return one page of the resources of all services; its `after` is the cursor of the next page.

        Raises:
            InvalidCursor: the cursor is not one that an earlier page gave.
        """
        return await list_resource_page(call, await self._offering(call), cursor)

    async def resource_templates(self, call: Call) -> list[ResourceTemplate]:
        return [template for service in await self._offering(call) for template in service.resource_templates]

    async def read_resource(self, call: Call, uri: str) -> Resource | None:
        """Return the resource at `uri`, or None; another owner's resource is None too."""
        for service in await self._offering(call):
            resource = await service.read_resource(call, uri)
            if resource is not None:
                return resource
        return None

    async def watch_resources(self, call: Call) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then the URIs of changed resources, in any process."""
        services = await self._offering(call)
        async for changes in merge_streams([_watched(one, one.resource_changes, call) for one in services]):
            yield frozenset(uri for uris in changes for uri in uris)

    async def build_tool_prompt(self, call: Call) -> str:
        """Return what the model should know this turn: the instructions, which stay the same, then the state.

        In this order, because a model's server caches the longest beginning that did not change.
        """
        return "\n\n".join(filter(None, [self.instructions(call), (await self.build_state_prompt(call)).text]))

    async def build_state_prompt(self, call: Call) -> StatePrompt:
        """Return the state of each service in a fixed order. It changes from turn to turn: no history keeps it.

        A run's model has its tools beside it, so there the state names none.
        """
        is_run = call.actor == "model"
        translate = reader_words(call.locale, frozenset(), has_others=False) if is_run else self._words(call)
        contexts = (await self.service_contexts(call)).values()
        prompts = [context.context_prompt for context in contexts]
        texts = (prompt if isinstance(prompt, str) else render_text(prompt, translate) for prompt in prompts)
        origins = dict.fromkeys(origin for context in contexts for origin in context.origins)
        return StatePrompt("\n\n".join(filter(None, texts)), tuple(origins))

    async def _usable(self, call: Call) -> list[Service]:
        try:
            services = await self._grants.services(call)
        except ToolError as error:
            # A list that is empty would say nothing; each call says why it fails.
            logger.error("The grants of an assistant cannot be read: %s", one_line(str(error)))
            services = self._grants.known_services(call)
        return self._granted(services)

    def _named(self, call: Call) -> list[Service]:
        """Return the services that texts may name to this call's reader, without asking the database."""
        usable = self._granted(self._grants.known_services(call))
        return [service for service in usable if self._lifecycle.state(service) != "error"]

    def _offered_names(self, call: Call) -> frozenset[str]:
        tools = (tool for service in self._named(call) for tool in self._registry.tools(service))
        return frozenset(tool.name for tool in tools if is_offered(call, tool))

    def _words(self, call: Call) -> Translate:
        """Return the words of this call's reader, in which no hint names a tool that the reader has not got."""
        return reader_words(call.locale, self._offered_names(call), has_others=call.actor != "model")

    def _granted(self, services: frozenset[str] | None) -> list[Service]:
        return [service for service in self._registry if is_granted(service.metadata, services)]

    async def _offering(self, call: Call) -> list[Service]:
        """Return the services with resources, as far as they are open."""
        usable = [service for service in await self._usable(call) if service.resource_templates]
        await asyncio.gather(*(self._lifecycle.open_soon(service) for service in usable))
        return [service for service in usable if self._lifecycle.state(service) == "ready"]

    def _record(
        self,
        call: Call,
        tool: str,
        effect: str,
        arguments: Mapping[str, Any],
        outcome: str,
        size_bytes: int = 0,
        elapsed_ms: float = 0.0,
        decision: str = "",
    ) -> None:
        """Record a call and its outcome: one line in the log, one row in the audit log."""
        session = one_line(call.session_id or "")
        logger.info("%s %s %.1f ms (%s, %s)", one_line(tool), outcome, elapsed_ms, call.door, session)
        self._audit.record(AuditEntry(call, tool, effect, arguments, outcome, size_bytes, elapsed_ms, decision))

    async def _answer(
        self, call: Call, service: Service, tool: Tool, arguments: Mapping[str, Any], decision: Decision
    ) -> Reply:
        try:
            if decision.verdict != "allow":
                raise refusal(tool, decision)
            hides = await self._policy.find_hidden(call, tool, arguments)
            result = await self._run(replace(call, hides=hides) if hides else call, service, tool, arguments)
            if tool.joins_contexts and call.door in ("mcp-stdio", "mcp-http"):
                result = replace(result, next=[*result.next, *await self._summaries(call, besides=service)])
            words = self._words(call)  # not before: the call may have opened its service
            if result.page is not None and call.pages != "off":
                # In a thread: a page with thousands of points would hold the event loop while it is drawn.
                return await self._executor.slow.run_stoppable(
                    call,
                    lambda stop: reply(service.metadata.name, tool.name, call, result, stop.checkpoint, words=words),
                )
            return reply(service.metadata.name, tool.name, call, result, words=words)
        except ToolError as error:
            if isinstance(error, NotFound):
                error = await self._name_wrong_id(call, tool, arguments, error)
            unchanged = left_unchanged(tool, error)
            return error_reply(
                service.metadata.name, tool.name, call, error, words=self._words(call), is_unchanged=unchanged
            )
        except Exception:
            return error_reply(service.metadata.name, tool.name, call, internal_error(tool.name))

    async def _name_wrong_id(self, call: Call, tool: Tool, arguments: Mapping[str, Any], error: NotFound) -> NotFound:
        services = [service for service in await self._usable(call) if service.metadata.is_supported]
        return await name_wrong_id(call, tool, arguments, error, services, self._lifecycle.open, self._hook_limit_s)

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
                if self._sessions is not None and tool.effect != "read" and not call.run_id:
                    await self._sessions.ensure(call)  # a run's has a row since before the run
                return await tool.run(call, arguments)
        except TimeoutError:
            raise timed_out(limit_s) from None


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
