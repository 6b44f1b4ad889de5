"""Elicitation: a question goes through the client's own form, in the way of each protocol era.

The question is a row before the client is asked, and its answer goes through the same tool as one from our page. The
state that travels through the client is only the question's id: it is valid for its own user and session alone, ends
with the question, and survives a restart.

The person may answer elsewhere meanwhile, in the inbox for example: then the form is taken back where that can be done,
and what was answered is the outcome of the call, whatever the form still says.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from contextlib import suppress
from typing import Any

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from madang.core.calls import Call
from madang.core.pauses import PauseRecord
from madang.core.results import ElicitationForm, Reply
from madang.core.tools import Tool
from madang.provider.provider import Provider
from madang.records.pauses import PauseStore
from madang.server import mapping
from madang.server.sdk import RequestContext

ANSWER = "answer"

UNSEEN_S = 1.0
"""A refusal that comes sooner is the client's: nobody reads a question and declines it in that time."""
MAX_ASKED = 100


class Elicitation:
    """Asks through the client, and takes what it brings back.

    Some clients draw forms for a person at the terminal, and decline at once where there is none. Then the question
    stays open, and the model gets the text that it gets where there are no forms.
    """

    def __init__(self, provider: Provider, pauses: PauseStore | None = None) -> None:
        self._provider = provider
        self._pauses = pauses
        self._asked: OrderedDict[tuple[Call, str], tuple[Reply, float]] = OrderedDict()

    async def ask(
        self, context: RequestContext, call: Call, reply: Reply, form: ElicitationForm
    ) -> Reply | dict[str, Any]:
        """Ask through the client: at once in the older era, by a round trip since 2026-07-28."""
        self._asked[call, form.message_id] = reply, time.monotonic()
        if len(self._asked) > MAX_ASKED:
            self._asked.popitem(last=False)
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return _input_required(form)
        result = await self._ask_form(context, call, form)
        if isinstance(result, types.ElicitResult):
            return await self._submit(call, form.reply_tool, form.message_id, result, asked_by=reply.tool)
        self._asked.pop((call, form.message_id), None)
        # Unless it is settled the question stays open, and its text says how to answer it.
        return reply if result is None else await self._provider.outcome(call, result)

    async def _ask_form(
        self, context: RequestContext, call: Call, form: ElicitationForm
    ) -> types.ElicitResult | PauseRecord | None:
        """Return what the client's form says, or the question once it is settled elsewhere; None without a form."""
        results: list[types.ElicitResult | PauseRecord | None] = []
        async with anyio.create_task_group() as group:

            async def end_with_form() -> None:
                with suppress(NoBackChannelError, MCPError, TimeoutError):
                    results.append(await context.session.elicit_form(form.message, _schema(form), context.request_id))
                group.cancel_scope.cancel()

            async def end_with_settlement(pauses: PauseStore) -> None:
                results.append(await pauses.wait_settled(call, form.message_id))
                group.cancel_scope.cancel()  # the SDK tells the client that the form is not wanted any more

            if self._pauses is not None:
                group.start_soon(end_with_settlement, self._pauses)
            group.start_soon(end_with_form)
        return results[0] if results else None

    async def resume(self, call: Call, tool: Tool, params: types.CallToolRequestParams) -> Reply:
        """Take the answer that the client brings back, as the outcome of the call that asked."""
        result = (params.input_responses or {}).get(ANSWER)
        if not isinstance(result, types.ElicitResult) or not tool.answered_by or not params.request_state:
            raise MCPError(code=types.INVALID_PARAMS, message="This call has no question to answer")
        return await self._submit(call, tool.answered_by, params.request_state, result, asked_by=tool.name)

    async def _submit(
        self, call: Call, reply_tool: str, message_id: str, result: types.ElicitResult, *, asked_by: str
    ) -> Reply:
        asked = self._asked.pop((call, message_id), None)
        if asked is not None and result.action != "accept" and time.monotonic() - asked[1] < UNSEEN_S:
            return asked[0]
        arguments: dict[str, Any] = {"messageId": message_id, "cancelled": result.action != "accept"}
        if result.action == "accept":
            arguments[ANSWER] = (result.content or {}).get(ANSWER)
        reply = await self._provider.execute_tool(call, reply_tool, arguments)
        pause = await self._pauses.get(call, message_id) if reply.is_error and self._pauses is not None else None
        if pause is not None and pause.status in ("answered", "cancelled"):
            return await self._provider.outcome(call, pause)
        return mapping.renamed(reply, asked_by)


def _input_required(form: ElicitationForm) -> dict[str, Any]:
    params = {"mode": "form", "message": form.message, "requestedSchema": _schema(form)}
    return {
        "resultType": "input_required",
        "inputRequests": {ANSWER: {"method": "elicitation/create", "params": params}},
        "requestState": form.message_id,
    }


def _schema(form: ElicitationForm) -> dict[str, Any]:
    return {"type": "object", "properties": {ANSWER: form.answer}, "required": [ANSWER]}
