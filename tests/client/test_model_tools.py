"""Tools in the formats of models, and what models call, there and back."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, get_args

import mcp_types as types
import pytest
from inline_snapshot import snapshot
from mcp.server import Server
from mcp.server.context import ServerRequestContext

from madang.client import ModelTools, ServerProxy, connect
from madang.client.model_tools import ModelApi
from tests.asking import Asker

APIS: tuple[ModelApi, ...] = get_args(ModelApi)
FITTING = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")


def call_of(api: ModelApi, name: str, arguments: str = "{}", parsed: Any = None) -> dict[str, Any]:
    """A tool call as a model of this API writes it."""
    match api:
        case "openai-chat":
            return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}
        case "openai-responses":
            return {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": name, "arguments": arguments}
        case "anthropic":
            return {"type": "tool_use", "id": "c1", "name": name, "input": {} if parsed is None else parsed}


def server_of(*tools: types.Tool, answer: types.CallToolResult | None = None) -> Server[Any]:
    async def listed(*_: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=list(tools))

    async def called(_: ServerRequestContext[Any, Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        text = types.TextContent(type="text", text=f"{params.name} {params.arguments}")
        return answer or types.CallToolResult(content=[text])

    return Server("foreign", on_list_tools=listed, on_call_tool=called)


def named(name: str, **options: Any) -> types.Tool:
    return types.Tool(name=name, input_schema={"type": "object"}, **options)


async def run(server: Server[Any], name: str, arguments: str = "{}") -> Any:
    async with connect(server) as proxy:
        return await ModelTools(proxy).run(call_of("openai-chat", name, arguments))


async def test_one_tool_in_each_format() -> None:
    tool = types.Tool(
        name="get_weather",
        description="Tell the weather.",
        input_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    )
    async with connect(server_of(tool, named("now"))) as server:
        definitions = {api: ModelTools(server, api).definitions for api in APIS}

    parameters = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    assert definitions == {
        "openai-chat": [
            {
                "type": "function",
                "function": {"name": "get_weather", "description": "Tell the weather.", "parameters": parameters},
            },
            {
                "type": "function",
                "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}},
            },
        ],
        "openai-responses": [
            {
                "type": "function",
                "name": "get_weather",
                "description": "Tell the weather.",
                "parameters": parameters,
                "strict": False,
            },
            {
                "type": "function",
                "name": "now",
                "description": "",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            },
        ],
        "anthropic": [
            {"name": "get_weather", "description": "Tell the weather.", "input_schema": parameters},
            {"name": "now", "description": "", "input_schema": {"type": "object", "properties": {}}},
        ],
    }


async def test_a_tool_that_its_server_shows_on_pages_alone_is_left_out() -> None:
    hidden = named("press", _meta={"ui": {"visibility": ["app"]}})
    both = named("look", _meta={"ui": {"visibility": ["model", "app"]}})
    async with connect(server_of(hidden, both)) as server:
        assert [tool["name"] for tool in ModelTools(server, "anthropic").definitions] == ["look"]


@pytest.mark.parametrize("backwards", [False, True])
async def test_every_name_fits_and_leads_back_to_its_tool(backwards: bool) -> None:
    odd = ["get weather", "get.weather", "get_weather", "날씨", "x" * 80, "x" * 81, "files/read", "read-file"]
    tools = [named(name) for name in (reversed(odd) if backwards else odd)]
    async with connect(server_of(*tools)) as server:
        model_tools = ModelTools(server, "anthropic")
        names = sorted(tool["name"] for tool in model_tools.definitions)
        answers = {name: (await model_tools.run(call_of("anthropic", name))).text for name in names}

    assert all(map(FITTING.match, names))
    assert len(set(names)) == len(odd)
    assert sorted(text.removesuffix(" {}") for text in answers.values()) == sorted(odd)
    assert (answers["get_weather"], answers["files_read"]) == ("get_weather {}", "files/read {}")
    assert [name for name in names if name.startswith("get_weather")] == snapshot(
        ["get_weather", "get_weather_dce3870e", "get_weather_f65d4328"]
    )


async def test_a_tool_that_is_named_like_the_new_name_of_another_keeps_its_own() -> None:
    odd = ["get weather", "get_weather", "get_weather_f65d4328", "get_weather_dce3870e"]
    async with connect(server_of(*map(named, odd))) as server:
        names = [tool["name"] for tool in ModelTools(server, "anthropic").definitions]

    assert names[1:] == odd[1:]
    assert len(set(names)) == 4


async def test_an_answer_is_a_message_in_each_format(asker: Asker) -> None:
    async with connect(asker.provider, asker.call) as server:
        messages = [
            (
                await ModelTools(server, api).run(call_of(api, "create_goal", '{"goal": "Ship"}', {"goal": "Ship"}))
            ).message
            for api in APIS
        ]

    text = messages[0]["content"]
    assert text.startswith("[create_goal] ")
    assert messages == [
        {"role": "tool", "tool_call_id": "c1", "content": text},
        {"type": "function_call_output", "call_id": "c1", "output": messages[1]["output"]},
        {"type": "tool_result", "tool_use_id": "c1", "content": messages[2]["content"]},
    ]


async def test_an_error_is_a_text_for_the_model_and_marked_where_the_format_can(asker: Asker) -> None:
    async with connect(asker.provider, asker.call) as server:
        answered = [
            await ModelTools(server, api).run(call_of(api, "get_playbook", '{"id": "nobody"}', {"id": "nobody"}))
            for api in APIS
        ]

    assert [call.is_error for call in answered] == [True, True, True]
    assert answered[0].text.startswith("[get_playbook] Error: Playbook nobody not found.\nHint: ")
    assert {call.text for call in answered} == {answered[0].text}
    assert answered[2].message == {
        "type": "tool_result",
        "tool_use_id": "c1",
        "content": answered[0].text,
        "is_error": True,
    }


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("loook", "{}", "Error: There is no tool 'loook'.\nHint: Did you mean 'look'?"),
        ("xyzzy", "{}", "Error: There is no tool 'xyzzy'."),
        ("look", "[1]", "Error: The arguments must be a JSON object."),
        ("look", '{"a": NaN}', "Error: The arguments are not JSON: NaN is not JSON."),
        ("look", '{"a": ', "Error: The arguments are not JSON: Expecting value: line 1 column 6 (char 5)."),
        ("look", "[" * 100_000, "Error: The arguments are not JSON: maximum recursion depth exceeded"),
    ],
)
async def test_what_a_model_got_wrong_is_told_to_it(name: str, arguments: str, text: str) -> None:
    answered = await run(server_of(named("look")), name, arguments)

    assert answered.text.startswith(text)
    assert (answered.is_error, answered.answer, answered.pause) == (True, None, None)


async def test_a_call_without_arguments_and_one_of_an_object_are_taken() -> None:
    async with connect(server_of(named("look"))) as server:
        tools = ModelTools(server)
        written: list[Any] = ["", "  ", None, "{}", {}]
        for arguments in written:
            function = SimpleNamespace(name="look", arguments=arguments)
            answered = await tools.run(SimpleNamespace(id="c1", type="function", function=function))
            assert (answered.text, answered.message["tool_call_id"]) == ("look {}", "c1")
        with pytest.raises(TypeError, match="not a tool call of openai-chat"):
            await tools.run({"type": "tool_use", "id": "c1", "name": "look"})


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data="", mime_type="image/png")


def resource(text: str, **options: Any) -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri="file:///a.md", text=text)
    return types.EmbeddedResource(type="resource", resource=contents, **options)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (types.CallToolResult(content=[], structured_content={"a": "가"}), '{"a":"가"}'),
        (types.CallToolResult(content=[]), "The tool answered without a text."),
        (types.CallToolResult(content=[image()]), "[image/png: not a text, left out]"),
        (types.CallToolResult(content=[resource("# A")]), "# A"),
        (
            types.CallToolResult(
                content=[
                    types.TextContent(type="text", text="Read it."),
                    resource("<p>", annotations=types.Annotations(audience=["user"])),
                    types.ResourceLink(type="resource_link", name="a", uri="file:///a.md"),
                ]
            ),
            "Read it.\nfile:///a.md",
        ),
        (types.CallToolResult(content=[], is_error=True), "Error: The tool failed without a message."),
    ],
)
async def test_what_a_model_reads_of_another_servers_answer(answer: types.CallToolResult, text: str) -> None:
    assert (await run(server_of(named("look"), answer=answer), "look")).text == text


async def test_a_proxy_of_nothing_gives_no_tools() -> None:
    class Nothing:
        async def tools(self) -> list[Any]:
            return []

        async def call(self, tool: str, arguments: dict[str, Any], on_progress: Any = None) -> Any:
            raise AssertionError

    assert ModelTools(ServerProxy(Nothing())).definitions == []
