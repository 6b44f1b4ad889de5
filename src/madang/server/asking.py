"""Letting the client ask: a question becomes an elicitation where the client draws those, in the way of each era.

The question is a row before anybody is asked, and its answer goes through the same tool as one from our page. What
travels through the client as state is only the question's id: it means something to its own user and session alone,
ends with the question, and survives a restart.
"""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from madang.core.calls import Call
from madang.core.results import Form, Reply
from madang.core.tools import Tool
from madang.provider.provider import Provider
from madang.server import mapping

ANSWER = "answer"

# Clients whose forms are known to reach the person. Others declare elicitation and show nothing, and a question would
# be lost there; for them it is asked on our page or in the chat, unless the person who started us says otherwise.
DRAWS_FORMS = frozenset({"visual studio code", "visual studio code - insiders"})

Context = ServerRequestContext[Any, Any]


class Asking:
    """Asks through the client. `always` asks every client that declares elicitation."""

    def __init__(self, provider: Provider, *, always: bool) -> None:
        self._provider = provider
        self._always = always

    def can_ask(self, context: Context) -> bool:
        """Tell whether questions of this client go through its own forms."""
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            return False
        client = context.session.client_params
        return self._always or (client is not None and client.client_info.name.lower() in DRAWS_FORMS)

    async def ask(self, context: Context, call: Call, reply: Reply, form: Form) -> dict[str, Any]:
        """Ask through the client: at once in the older era, by a round trip since 2026-07-28."""
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return _input_required(form)
        try:
            result = await context.session.elicit_form(form.message, _schema(form), context.request_id)
        except (NoBackChannelError, MCPError, TimeoutError):
            return mapping.call_result(reply)  # it could not be asked so: then as any other client is told
        return mapping.call_result(await self._give(call, form.reply_tool, form.message_id, result, reply.tool))

    async def resume(self, call: Call, tool: Tool, params: types.CallToolRequestParams) -> dict[str, Any]:
        """Take the answer that the client brings back, as the outcome of the call that asked."""
        result = (params.input_responses or {}).get(ANSWER)
        if not isinstance(result, types.ElicitResult) or not tool.answered_by or not params.request_state:
            raise MCPError(code=types.INVALID_PARAMS, message="This call has no question to answer")
        reply = await self._give(call, tool.answered_by, params.request_state, result, tool.name)
        return mapping.call_result(reply)

    async def _give(self, call: Call, reply_tool: str, message_id: str, result: types.ElicitResult, tool: str) -> Reply:
        arguments: dict[str, Any] = {"messageId": message_id, "cancelled": result.action != "accept"}
        if result.action == "accept":
            arguments[ANSWER] = (result.content or {}).get(ANSWER)
        return await self._provider.execute_tool(call, reply_tool, arguments, speaking_as=tool)


def _input_required(form: Form) -> dict[str, Any]:
    params = {"mode": "form", "message": form.message, "requestedSchema": _schema(form)}
    return {
        "resultType": "input_required",
        "inputRequests": {ANSWER: {"method": "elicitation/create", "params": params}},
        "requestState": form.message_id,
    }


def _schema(form: Form) -> dict[str, Any]:
    return {"type": "object", "properties": {ANSWER: form.answer}, "required": [ANSWER]}
