"""Views over the API: a page that was shown, from what is stored of it, and the calls that it makes.

What a view may call is decided here, from its row: the tools of the service that made it which are for people,
refill its page or have a button there, in its own session; and it reads and settles no pause but its own. The frame has
no say in it (T24, T27).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from madang.agent.inbox import Inbox
from madang.core.calls import Call
from madang.core.errors import Denied, NotFound
from madang.core.ids import SessionId
from madang.core.pauses import PauseRecord, PauseStatus
from madang.core.phrases import say
from madang.core.results import Reply, ShownPage, page_uri
from madang.core.tools import Tool
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls, in_session
from madang.host.wire import Done, NoBody
from madang.host.wire_views import ViewAnswer, ViewCallAnswer, ViewCallBody, ViewPause, ViewReadAnswer, ViewReadBody
from madang.provider.provider import Provider
from madang.records.audit import AuditEntry, AuditLog
from madang.records.sessions import SessionStore
from madang.records.views import View, ViewStore
from madang.rendering.replies import page_document
from madang.server.mapping import arguments_of, call_result, page_tools, resource_contents

PAUSE_ARGUMENTS = ("messageId", "waitId", "pauseId")
"""In which a tool is told what it settles."""
MAX_AUDITED_NAME_CHARS = 100
ENDED: tuple[PauseStatus, ...] = ("answered", "cancelled", "expired", "withdrawn", "superseded")


class ViewApi:
    """The operations on views."""

    def __init__(
        self,
        calls: HostCalls,
        views: ViewStore,
        *,
        sessions: SessionStore,
        provider: Provider,
        inbox: Inbox,
        audit: AuditLog,
    ) -> None:
        self._calls = calls
        self._views = views
        self._sessions = sessions
        self._provider = provider
        self._inbox = inbox
        self._audit = audit

    def operations(self) -> list[Operation]:
        return [
            Operation("GET", "/api/views/{id}", self.get, ViewAnswer),
            Operation("POST", "/api/views/{id}/tools", self.call, ViewCallAnswer, ViewCallBody),
            Operation("POST", "/api/views/{id}/scripts", self.let_run_scripts, body=NoBody),
            Operation("POST", "/api/views/{id}/resources", self.read, ViewReadAnswer, ViewReadBody),
        ]

    async def get(self, request: ApiRequest) -> ViewAnswer:
        """Return a page as it is shown: its template, what it was made of, and how its question stands."""
        view, call = await self._find(request)
        pause = await self._inbox.get(call, view.pause_id) if view.pause_id else None
        return ViewAnswer(
            id=view.id,
            uri=page_uri(view.page),
            html=await self._template(call, view) if view.foreign is None else view.foreign.html,
            tool=view.tool,
            service=view.service,
            server=view.service if view.foreign is not None else "",
            may_run_scripts=view.may_run_scripts,
            session_id=view.session_id,
            tool_input=dict(view.arguments),
            tool_result=await self._result(call, view),
            pause=_pause(view, pause),
        )

    async def call(self, request: ApiRequest) -> ViewCallAnswer:
        """Make a call that the page asks for, if it was given it."""
        body: ViewCallBody = request.body
        view, call = await self._find(request)
        # A name means a tool of the server that made the page, also where another one has it too.
        find_tool = self._provider.find_tool
        tool = find_tool(f"{view.service}__{body.name}") or find_tool(body.name)
        if tool is None or not self._is_granted(view, tool, body.arguments):
            name = body.name[:MAX_AUDITED_NAME_CHARS]
            effect = tool.effect if tool is not None else ""
            self._audit.record(AuditEntry(call, name, effect, body.arguments, Denied.code, 0, 0.0, "deny"))
            raise Denied(say("This page may not call '{tool}'.", tool=name))
        reply = await self._provider.execute_tool(call, tool.name, body.arguments)
        return ViewCallAnswer(result=call_result(reply) if reply.raw is None else dict(reply.raw))

    async def let_run_scripts(self, request: ApiRequest) -> Done:
        """Let a page run its scripts that may be what a model wrote: the person asked for it."""
        view, call = await self._find(request)
        await self._views.let_run_scripts(call.user_id, view.id)
        return Done()

    async def read(self, request: ApiRequest) -> ViewReadAnswer:
        """Read what the page's own result links to, and nothing else."""
        body: ViewReadBody = request.body
        view, call = await self._find(request)
        if view.is_inert or body.uri not in [link.uri for link in view.links]:
            raise Denied(say("This page may not read '{uri}'.", uri=body.uri[:MAX_AUDITED_NAME_CHARS]))
        resource = await self._provider.read_resource(call, body.uri)
        if resource is None:
            raise NotFound(say("It is not there any more."))
        return ViewReadAnswer(contents=[resource_contents(resource, call)])

    async def _find(self, request: ApiRequest) -> tuple[View, Call]:
        call = self._calls.call_of(request.request)
        view = await self._views.get(call.user_id, request.path("id"))
        session = None
        if view is not None:
            session = await self._sessions.get(replace(call, session_id=SessionId(view.session_id)))
        if view is None or session is None:
            raise NotFound(say("There is no such page."))
        return view, replace(in_session(call, session), pages="linked")

    def _is_granted(self, view: View, tool: Tool, arguments: dict[str, Any]) -> bool:
        if view.is_inert or self._provider.find_service_name(tool.name) != view.service:
            return False
        is_reader = tool.effect == "read" and view.page in (tool.page, *tool.refills)
        if tool.audience != "person" and not is_reader and view.page not in tool.buttons_on:
            return False
        # By the names of the schema alone: a tool takes another spelling of them too, which would name another pause.
        if view.foreign is not None:
            return not tool.answers_pause
        if not set(arguments) <= set(tool.input_schema.get("properties", {})):
            return False
        return all(arguments[name] in ("", view.pause_id) for name in PAUSE_ARGUMENTS if name in arguments)

    async def _template(self, call: Call, view: View) -> str:
        tool = await self._reader(call, view)
        refresh_tool, refresh_args = (tool.name, arguments_of(tool)) if tool else ("", "")
        return page_document(call, refresh_tool=refresh_tool, refresh_args=refresh_args)

    async def _result(self, call: Call, view: View) -> dict[str, Any]:
        """Return the result of a view. A page that asks is read anew: its question may be answered since."""
        if view.foreign is not None and view.raw is not None:
            return dict(view.raw)
        tool = await self._reader(call, view) if view.pause_id else None
        if tool is not None:
            arguments = _arguments(view, tool)
            reply = await self._provider.execute_tool(call, tool.name, arguments)
            if not reply.is_error and (reply.page is not None or reply.refill):
                return call_result(replace(reply, tool=view.tool))
        page = ShownPage(view.page, view.fragment)
        return call_result(Reply(view.tool, view.service, view.text, view.data, page, links=view.links))

    async def _reader(self, call: Call, view: View) -> Tool | None:
        """Return the tool that reads what a page shows, if there is one."""
        return page_tools(await self._provider.available_tools(call)).get(view.page)


def _pause(view: View, pause: PauseRecord | None) -> ViewPause | None:
    """Return how the question of a page stands. One that is not there any more is over, however it ended."""
    if pause is not None:
        return ViewPause(
            id=pause.id,
            status=pause.status,
            settled_by=pause.settled_by,
            settled_at=pause.settled_at,
            settler=pause.settler_name,
            answer=pause.answer,
        )
    if not view.pause_id:
        return None
    ended: PauseStatus = next((one for one in ENDED if one == view.pause_status), "withdrawn")
    return ViewPause(id=view.pause_id, status=ended, settled_by="", settled_at="", settler="", answer="")


def _arguments(view: View, tool: Tool) -> dict[str, Any]:
    """Return what a page's reader is called with: what the page showed, and the pause that it is for."""
    listing = view.data.get("page")
    values: dict[str, Any] = {"page": 1, **view.data, **(listing if isinstance(listing, dict) else {})}
    values |= dict.fromkeys(PAUSE_ARGUMENTS, view.pause_id)
    return {name: values[name] for name in tool.input_schema.get("properties", {}) if name in values}
