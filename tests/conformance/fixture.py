"""What the conformance scenarios call by fixed names, on top of the product's server.

The tools, resources and prompts here exist only for the runner. Everything else (transport, access control,
negotiation, lists, schemas, errors, subscriptions, the product's own tools and pages) stays the product's, and is what
the scenarios judge.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError

Wire = dict[str, Any]
Context = ServerRequestContext[Any, Any]
Tool = Callable[[Context, Wire], Awaitable[Wire]]

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
TEMPLATE = "test://template/{id}/data"

# The pending scenario for JSON Schema 2020-12 looks for each of these keywords in the listed tool.
WIDE_SCHEMA: Wire = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def add_fixture(server: Server[Any]) -> None:
    """Add to `server` what the scenarios call; requests for anything else go on to the handlers it had."""
    fixture = Fixture(server)
    inherited_schema = server.get_tool_input_schema
    assert inherited_schema is not None
    server.get_tool_input_schema = lambda name: fixture.schemas.get(name) or inherited_schema(name)
    server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=server.name))
    add = server.add_request_handler
    add("tools/list", types.PaginatedRequestParams, fixture.list_tools)
    add("tools/call", types.CallToolRequestParams, fixture.call_tool)
    add("resources/list", types.PaginatedRequestParams, fixture.list_resources)
    add("resources/read", types.ReadResourceRequestParams, fixture.read_resource)
    add("resources/templates/list", types.PaginatedRequestParams, fixture.list_templates)
    add("prompts/list", types.PaginatedRequestParams, fixture.list_prompts)
    add("prompts/get", types.GetPromptRequestParams, fixture.get_prompt)
    add("completion/complete", types.CompleteRequestParams, _complete)
    add("logging/setLevel", types.SetLevelRequestParams, _set_level)


class Fixture:
    """The handlers, each in front of the one the product registered for the same method."""

    def __init__(self, server: Server[Any]) -> None:
        self._inherited = {
            method: entry.handler
            for method in ("tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read")
            if (entry := server.get_request_handler(method)) is not None
        }
        self.schemas: dict[str, Wire] = {name: SCHEMAS.get(name, {"type": "object"}) for name in TOOLS}

    async def list_tools(self, context: Context, params: types.PaginatedRequestParams) -> Wire:
        own = [
            {"name": name, "description": f"Serves the scenario that calls {name}.", "inputSchema": schema}
            for name, schema in self.schemas.items()
        ]
        return await self._extended("tools/list", "tools", own, context, params)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Wire:
        tool = TOOLS.get(params.name)
        if tool is None:
            return await self._inherit("tools/call", context, params)
        return await tool(context, dict(params.arguments or {}))

    async def list_resources(self, context: Context, params: types.PaginatedRequestParams) -> Wire:
        own = [
            {"uri": uri, "name": uri, "description": "For the scenarios.", "mimeType": contents["mimeType"]}
            for uri, contents in RESOURCES.items()
        ]
        return await self._extended("resources/list", "resources", own, context, params)

    async def read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> Wire:
        contents = RESOURCES.get(params.uri) or _from_template(params.uri)
        if contents is None:
            return await self._inherit("resources/read", context, params)
        return _cacheable({"contents": [{"uri": params.uri, **contents}]})

    async def list_templates(self, context: Context, params: types.PaginatedRequestParams) -> Wire:
        own = [{"uriTemplate": TEMPLATE, "name": "template", "mimeType": "application/json"}]
        return await self._extended("resources/templates/list", "resourceTemplates", own, context, params)

    async def list_prompts(self, _: Context, __: types.PaginatedRequestParams) -> Wire:
        prompts = [
            {
                "name": name,
                "description": f"Serves the scenario that gets {name}.",
                "arguments": [{"name": argument, "required": True} for argument in arguments],
            }
            for name, arguments in PROMPTS.items()
        ]
        return _cacheable({"prompts": prompts})

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> Wire:
        if params.name == "test_input_required_result_prompt":
            context_given = _answer(context, "user_context")
            if context_given is None:
                question = "What context should the prompt use?"
                return _input_required(user_context=_elicitation(question, "context"))
            return _messages({"type": "text", "text": f"Use this: {context_given['context']}"})
        if params.name not in PROMPTS:
            raise MCPError(code=types.INVALID_PARAMS, message=f"There is no prompt {params.name!r}")
        return _prompt(params.name, params.arguments or {})

    async def _extended(
        self, method: str, key: str, own: list[Wire], context: Context, params: types.PaginatedRequestParams
    ) -> Wire:
        inherited = await self._inherit(method, context, params)
        return {**inherited, key: [*inherited[key], *own]}

    async def _inherit(self, method: str, context: Context, params: Any) -> Wire:
        result = await self._inherited[method](context, params)
        assert isinstance(result, dict)
        return result


def _content(*content: Wire, is_error: bool = False) -> Wire:
    return {"resultType": "complete", "content": list(content), "isError": is_error}


def _text(text: str) -> Wire:
    return _content({"type": "text", "text": text})


def _messages(*contents: Wire) -> Wire:
    return {"resultType": "complete", "messages": [{"role": "user", "content": content} for content in contents]}


def _cacheable(result: Wire) -> Wire:
    return {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}


def _embedded(uri: str, text: str) -> Wire:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": text}}


async def _set_level(_: Context, __: types.SetLevelRequestParams) -> Wire:
    return {}


async def _complete(_: Context, params: types.CompleteRequestParams) -> Wire:
    values = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return {"resultType": "complete", "completion": {"values": values, "total": len(values), "hasMore": False}}


# Tools that answer at once


def _answering(result: Wire) -> Tool:
    async def answer(_: Context, __: Wire) -> Wire:
        return result

    return answer


async def _log_three_times(context: Context, _: Wire) -> Wire:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await _log(context, text)
    return _text("Logged.")


async def _log_once(context: Context, _: Wire) -> Wire:
    await _log(context, "Nobody reads this who did not ask for it.")
    return _text("Logged.")


async def _log(context: Context, text: str) -> None:
    await context.session.send_log_message("info", text, related_request_id=context.request_id)


async def _report_progress(context: Context, _: Wire) -> Wire:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100, f"{done} of 100")
    return _text("Done.")


async def _need_sampling(context: Context, _: Wire) -> Wire:
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.sampling is None:
        raise MCPError(
            code=types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This tool needs sampling.",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return _text("The client can sample.")


# Tools that ask in the middle of a call: the handshake era


async def _sample(context: Context, arguments: Wire) -> Wire:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=arguments["prompt"]))
    result = await context.session.create_message([message], max_tokens=100, related_request_id=context.request_id)
    assert isinstance(result.content, types.TextContent)
    return _text(f"LLM response: {result.content.text}")


async def _elicit(context: Context, message: str, properties: Wire) -> Wire:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    result = await context.session.elicit_form(message, schema, related_request_id=context.request_id)
    return _text(f"User response: action={result.action}, content={json.dumps(result.content)}")


async def _elicit_answer(context: Context, arguments: Wire) -> Wire:
    return await _elicit(context, arguments["message"], {"username": {"type": "string"}, "email": {"type": "string"}})


async def _elicit_with_defaults(context: Context, _: Wire) -> Wire:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await _elicit(context, "Who are you?", properties)


async def _elicit_from_enums(context: Context, _: Wire) -> Wire:
    names = ["one", "two", "three"]
    titled = [{"const": name, "title": name.title()} for name in names]
    properties = {
        "untitledSingle": {"type": "string", "enum": names},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": names, "enumNames": [name.title() for name in names]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": names}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await _elicit(context, "Which ones?", properties)


# Tools that answer with what they need and are called again: 2026-07-28


def _input_required(state: str | None = None, **requests: Wire) -> Wire:
    result: Wire = {"resultType": "input_required", "inputRequests": requests}
    return result if state is None else {**result, "requestState": state}


def _elicitation(message: str, field: str, kind: str = "string") -> Wire:
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def _sampling(prompt: str) -> Wire:
    messages = [{"role": "user", "content": {"type": "text", "text": prompt}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}


def _responses(context: Context) -> Wire:
    return (context.params or {}).get("inputResponses") or {}


def _state(context: Context) -> str | None:
    return (context.params or {}).get("requestState")


def _answer(context: Context, key: str) -> Wire | None:
    """Return the fields of an accepted elicitation, if there is one under this key."""
    answer: Wire = _responses(context).get(key) or {}
    return answer.get("content") if answer.get("action") == "accept" else None


async def _ask_name(context: Context, _: Wire) -> Wire:
    answer = _answer(context, "user_name")
    if answer is None:
        return _input_required(user_name=_elicitation("What is your name?", "name"))
    return _text(f"Hello, {answer['name']}!")


async def _ask_model(context: Context, _: Wire) -> Wire:
    answer = _responses(context).get("capital_question")
    if answer is None:
        return _input_required(capital_question=_sampling("What is the capital of France?"))
    return _text(answer["content"]["text"])


async def _ask_roots(context: Context, _: Wire) -> Wire:
    answer = _responses(context).get("client_roots")
    if answer is None:
        return _input_required(client_roots={"method": "roots/list"})
    return _text(f"There are {len(answer['roots'])} roots.")


async def _ask_to_confirm(context: Context, _: Wire) -> Wire:
    if _state(context) == "asked" and _answer(context, "confirm") is not None:
        return _text("state-ok")
    return _input_required("asked", confirm=_elicitation("Go on?", "ok", "boolean"))


async def _ask_for_three(context: Context, _: Wire) -> Wire:
    requests = {
        "user_name": _elicitation("What is your name?", "name"),
        "greeting": _sampling("Greet somebody."),
        "client_roots": {"method": "roots/list"},
    }
    if requests.keys() <= _responses(context).keys():
        return _text("All three are here.")
    return _input_required("three", **requests)


async def _ask_in_two_rounds(context: Context, _: Wire) -> Wire:
    state = _state(context)
    if state == "named" and (name := _answer(context, "step1")):
        question = _elicitation("Step 2: What is your favorite color?", "color")
        return _input_required(f"coloured {name['name']}", step2=question)
    if state and state.startswith("coloured ") and (colour := _answer(context, "step2")):
        return _text(f"{state.removeprefix('coloured ')} likes {colour['color']}.")
    return _input_required("named", step1=_elicitation("Step 1: What is your name?", "name"))


async def _ask_what_the_client_can(context: Context, _: Wire) -> Wire:
    capabilities = context.session.client_capabilities
    requests = {}
    if capabilities is not None and capabilities.sampling is not None:
        requests["sample"] = _sampling("Say hello.")
    if capabilities is not None and capabilities.elicitation is not None:
        requests["ask"] = _elicitation("What is your name?", "name")
    return _input_required("as declared", **requests)


async def _echo_region(_: Context, arguments: Wire) -> Wire:
    return _text(f"region={arguments.get('region')}")


TOOLS: dict[str, Tool] = {
    "test_simple_text": _answering(_text("This is a simple text response for testing.")),
    "test_image_content": _answering(_content(IMAGE)),
    "test_audio_content": _answering(_content({"type": "audio", "data": WAV, "mimeType": "audio/wav"})),
    "test_embedded_resource": _answering(
        _content(_embedded("test://embedded-resource", "This is an embedded resource content."))
    ),
    "test_multiple_content_types": _answering(
        _content(
            {"type": "text", "text": "Multiple content types test:"},
            IMAGE,
            _embedded("test://mixed-content-resource", '{"test":"data","value":123}'),
        )
    ),
    "test_error_handling": _answering(
        _content({"type": "text", "text": "This tool intentionally returns an error for testing"}, is_error=True)
    ),
    "test_tool_with_logging": _log_three_times,
    "test_logging_tool": _log_once,
    "test_tool_with_progress": _report_progress,
    "test_missing_capability": _need_sampling,
    "test_sampling": _sample,
    "test_elicitation": _elicit_answer,
    "test_elicitation_sep1034_defaults": _elicit_with_defaults,
    "test_elicitation_sep1330_enums": _elicit_from_enums,
    "test_streaming_elicitation": _ask_name,
    "test_input_required_result_elicitation": _ask_name,
    "test_input_required_result_sampling": _ask_model,
    "test_input_required_result_list_roots": _ask_roots,
    "test_input_required_result_request_state": _ask_to_confirm,
    "test_input_required_result_tampered_state": _ask_to_confirm,
    "test_input_required_result_multiple_inputs": _ask_for_three,
    "test_input_required_result_multi_round": _ask_in_two_rounds,
    "test_input_required_result_capabilities": _ask_what_the_client_can,
    "test_x_mcp_header": _echo_region,
    "json_schema_2020_12_tool": _answering(_text("Its schema is what matters.")),
}

SCHEMAS: dict[str, Wire] = {
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    "test_x_mcp_header": {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
    "json_schema_2020_12_tool": WIDE_SCHEMA,
}

RESOURCES: dict[str, Wire] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched."},
}


def _from_template(uri: str) -> Wire | None:
    before, _, after = TEMPLATE.partition("{id}")
    if not (uri.startswith(before) and uri.endswith(after)):
        return None
    value = uri.removeprefix(before).removesuffix(after)
    text = json.dumps({"id": value, "templateTest": True, "data": f"Data for ID: {value}"})
    return {"mimeType": "application/json", "text": text}


PROMPTS: dict[str, list[str]] = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


def _prompt(name: str, arguments: Mapping[str, str]) -> Wire:
    if name == "test_prompt_with_arguments":
        text = f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
        return _messages({"type": "text", "text": text})
    if name == "test_prompt_with_embedded_resource":
        embedded = _embedded(arguments["resourceUri"], "Embedded resource content for testing.")
        return _messages(embedded, {"type": "text", "text": "Please process the embedded resource above."})
    if name == "test_prompt_with_image":
        return _messages(IMAGE, {"type": "text", "text": "Please analyze the image above."})
    return _messages({"type": "text", "text": "This is a simple prompt for testing."})
