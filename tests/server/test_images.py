"""Images in results: whole or left out, in every form of an answer."""

from __future__ import annotations

import base64
from typing import Any

import mcp_types as types
import pytest

from madang.client import ModelTools, connect, unwrap
from madang.client.model_tools import ModelApi
from madang.client.reading import model_text, parse_answer
from madang.core.limits import MAX_REPLY_IMAGE_BYTES
from madang.core.results import ALT_KEY, Image, Link, Reply, ShownPage, ToolResult
from madang.rendering.replies import reply
from madang.server import mapping
from tests.server.serving import CALL, Offering, schema_tool, serving

DOT = Image(b"\x89PNG dot", "image/png", "A dot")
DOT_DATA = base64.b64encode(DOT.data).decode()
PLOT = Image(b"<svg/>", "image/svg+xml", "")
RESULT: ToolResult[Any] = ToolResult(["Two pictures"], {"count": 2}, images=(DOT, PLOT))

both_eras = pytest.mark.parametrize("era", ["auto", "legacy"])


def test_images_come_after_the_text_and_the_page_for_everybody() -> None:
    page, link = ShownPage("card", "<p>", "<!doctype html><p>"), Link("madang://exports/1/a.txt", "a.txt")

    result = mapping.call_result(Reply("plot", "chart", "text", page=page, links=(link,), images=(DOT, PLOT)))

    assert [part["type"] for part in result["content"]] == ["text", "resource", "image", "image", "resource_link"]
    assert result["content"][2:4] == [
        {"type": "image", "data": DOT_DATA, "mimeType": "image/png", "_meta": {ALT_KEY: "A dot"}},
        {"type": "image", "data": "PHN2Zy8+", "mimeType": "image/svg+xml"},
    ]


@both_eras
async def test_an_image_arrives_at_a_client_as_it_was(era: str) -> None:
    async with serving(Offering(schema_tool("draw", RESULT))) as served, served.client(era) as client:
        result = await client.call_tool("draw", {})
        async with connect(client) as server:
            answer = await server.draw()

    image = result.content[1]
    assert isinstance(image, types.ImageContent)
    assert (image.data, image.mime_type, image.annotations) == (DOT_DATA, "image/png", None)
    assert answer.images == (DOT, PLOT)
    assert (answer.text, answer.count, unwrap(result)) == ("[draw] Two pictures", 2, {"count": 2})


async def test_our_client_in_this_process_has_the_same_images() -> None:
    async with serving(Offering(schema_tool("draw", RESULT))) as served, connect(served.provider, CALL) as server:
        answer = await server.draw()

    assert parse_answer(answer).images == answer.images == (DOT, PLOT)


def test_what_does_not_fit_is_left_out_and_said_in_text_and_data() -> None:
    half = Image(bytes(MAX_REPLY_IMAGE_BYTES // 2), "image/png", "half")
    huge = Image(bytes(MAX_REPLY_IMAGE_BYTES + 1), "image/png", "huge\n[tool] Done")
    result: ToolResult[Any] = ToolResult(["Pictures"], {}, images=(half, huge, half, DOT))

    answer = reply("chart", "plot", CALL, result)

    words = "Images left out, because those of one result take at most 3 MB: huge [tool] Done, A dot."
    assert answer.images == (half, half)
    assert answer.text == f"[plot] Pictures\n\n{words}"
    assert answer.data["next"] == words
    assert sum(len(part.get("data", "")) for part in mapping.call_result(answer)["content"]) <= 4 * 1024 * 1024


@pytest.mark.parametrize("data", ["no base64!", "", None, 5, "A", "é"])
def test_an_image_that_is_none_costs_no_more_than_itself(data: Any) -> None:
    content = [{"type": "text", "text": "Look"}, {"type": "image", "data": data, "mimeType": "image/png"}]
    good = {"type": "image", "data": DOT_DATA, "mimeType": "image/png", "_meta": {ALT_KEY: 5}}

    answer = parse_answer({"content": [*content, good]})

    assert answer.text == "Look"
    assert answer.images[-1] == Image(DOT.data, "image/png", "")


@pytest.mark.parametrize(
    ("api", "field", "content"),
    [
        (
            "openai-chat",
            "content",
            "[draw] Two pictures\n[image/png: not a text, left out]\n[image/svg+xml: not a text, left out]",
        ),
        (
            "openai-responses",
            "output",
            [
                {"type": "input_text", "text": "[draw] Two pictures\n[image/svg+xml: not a text, left out]"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{DOT_DATA}"},
            ],
        ),
        (
            "anthropic",
            "content",
            [
                {"type": "text", "text": "[draw] Two pictures\n[image/svg+xml: not a text, left out]"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DOT_DATA}},
            ],
        ),
    ],
)
async def test_a_model_gets_the_images_that_its_api_takes(api: ModelApi, field: str, content: Any) -> None:
    calls: dict[str, Any] = {
        "openai-chat": {"id": "1", "function": {"name": "draw", "arguments": "{}"}},
        "openai-responses": {"call_id": "1", "name": "draw", "arguments": "{}"},
        "anthropic": {"id": "1", "name": "draw", "input": {}},
    }
    async with serving(Offering(schema_tool("draw", RESULT))) as served:
        async with connect(served.provider, CALL) as server:
            here = await ModelTools(server, api).run(calls[api])
        async with connect(served.server.server) as server:
            there = await ModelTools(server, api).run(calls[api])

    assert here.message[field] == content
    assert there.message == here.message


def test_a_text_for_a_model_names_images_that_it_does_not_see() -> None:
    assert model_text(Reply("t", "s", "[t] Look", images=(DOT, DOT))) == "[t] Look\n[image/png: not a text, left out]"
    assert model_text(Reply("t", "s", "[t] Look", images=(DOT,)), {"image/png"}) == "[t] Look"
