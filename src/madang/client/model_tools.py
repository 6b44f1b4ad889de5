"""The tools of a server in the format of a language model's API, and the model's calls of them, there and back.

Plain dicts, as the APIs have them on the wire; it needs no vendor's package and sends nothing to a model.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from madang.client.answers import Answer, OpenPause
from madang.client.listing import ListedTool
from madang.client.proxy import ServerProxy
from madang.client.reading import member, model_text, parse_answer
from madang.core.errors import ConnectionLost, InvalidArguments, MadangError, RequestError, ToolError, UnknownTool
from madang.core.phrases import say
from madang.core.results import Image
from madang.core.suggestions import did_you_mean_tool
from madang.core.tools import AUDIENCE_KEY

ModelApi = Literal["openai-chat", "openai-responses", "anthropic"]
"""Chat completions, which most servers of models speak; OpenAI's responses; Anthropic's messages."""

MAX_MODEL_NAME_CHARS = 64
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_HASH_CHARS = 8

SEEN_IMAGES: Mapping[ModelApi, frozenset[str]] = {
    "openai-chat": frozenset(),
    "openai-responses": frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"}),
    "anthropic": frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"}),
}
"""The images that an API takes in the answer to a call, by MIME type."""

NO_TEXT = "The tool answered without a text."


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A model's tool call with its answer. `message` is what goes back to the model."""

    message: dict[str, Any]
    text: str
    answer: Answer | None
    """None when the call failed; `text` then says why."""

    @property
    def is_error(self) -> bool:
        return self.answer is None

    @property
    def pause(self) -> OpenPause | None:
        """What the agent now waits for; None when it may go on."""
        return self.answer.pause if self.answer else None


class ModelTools:
    """The tools of a server for one model: those for the person are left out, and names fit the API.

    They are the tools as `server` has listed them by now: make it anew after `refresh`.
    """

    def __init__(self, server: ServerProxy, api: ModelApi = "openai-chat") -> None:
        self._server = server
        self._api = api
        tools = [tool for tool in server.tools.values() if _is_for_model(tool)]
        self._tools = dict(zip(_fitting_names([tool.name for tool in tools]), tools, strict=True))

    @property
    def definitions(self) -> list[dict[str, Any]]:
        """The tools as a request to the model has them, under `tools`."""
        return [_definition(self._api, name, tool) for name, tool in self._tools.items()]

    async def run(self, tool_call: object) -> AnsweredCall:
        """Make a model's call, given as it stands in the model's answer: a dict, or an object of a vendor's package.

        What the model can mend comes back as a message for it: an error of the tool, a name that no tool has,
        arguments that are no JSON.

        Raises:
            ConnectionLost: the server is gone.
            TypeError: `tool_call` is no tool call of this API.
        """
        name, arguments = _parse_call(self._api, tool_call)
        try:
            tool = self._find(name)
            response = await self._server.call(tool.name, _parse_arguments(arguments))
        except ConnectionLost:
            raise
        except (ToolError, RequestError) as error:
            return self._answered(tool_call, _error_text(error), None)
        text = model_text(response, SEEN_IMAGES[self._api])
        try:
            parsed = parse_answer(response)
        except ToolError as error:
            return self._answered(tool_call, text or _error_text(error), None)
        answer = Answer(parsed.text, parsed.data, tool.output_schema, parsed.pause, parsed.images)
        return self._answered(tool_call, text or NO_TEXT, answer)

    def message(
        self, tool_call: object, text: str, *, is_error: bool = False, images: Sequence[Image] = ()
    ) -> dict[str, Any]:
        """Return the message that answers a model's call with this text, such as the person's answer to a question.

        Images go with it as far as the API takes them. For Anthropic it is a block of content; the blocks of one turn
        go into one message of the user.
        """
        call_id = _call_id(self._api, tool_call)
        seen = [image for image in images if image.mime_type in SEEN_IMAGES[self._api]]
        content = [_text_part(self._api, text), *(_image_part(self._api, image) for image in seen)] if seen else text
        match self._api:
            case "openai-chat":
                return {"role": "tool", "tool_call_id": call_id, "content": text}
            case "openai-responses":
                return {"type": "function_call_output", "call_id": call_id, "output": content}
            case "anthropic":
                error = {"is_error": True} if is_error else {}
                return {"type": "tool_result", "tool_use_id": call_id, "content": content, **error}

    def _answered(self, tool_call: object, text: str, answer: Answer | None) -> AnsweredCall:
        images = answer.images if answer else ()
        return AnsweredCall(self.message(tool_call, text, is_error=answer is None, images=images), text, answer)

    def _find(self, name: str) -> ListedTool:
        if name not in self._tools:
            raise UnknownTool(
                say("There is no tool '{name}'.", name=name[:100]), hint=did_you_mean_tool(name, self._tools)
            )
        return self._tools[name]


def _is_for_model(tool: ListedTool) -> bool:
    meta = getattr(tool, "meta", None)
    meta = meta if isinstance(meta, Mapping) else {}
    visibility = member(meta.get("ui"), "visibility")
    if isinstance(visibility, list) and visibility:
        return "model" in visibility  # MCP Apps' word for it
    return getattr(tool, "audience", meta.get(AUDIENCE_KEY)) not in ("person", "panel")


def _fitting_names(names: list[str]) -> Iterable[str]:
    """Return a name for each that every API takes. It depends on no order, so a model meets the same names again."""
    plain = [_UNFIT.sub("_", name) for name in names]
    taken = Counter(plain)
    for name, fitting in zip(names, plain, strict=True):
        if name == fitting and 0 < len(name) <= MAX_MODEL_NAME_CHARS:
            yield name
        elif taken[fitting] == 1 and 0 < len(fitting) <= MAX_MODEL_NAME_CHARS:
            yield fitting
        else:
            yield _hashed_name(name, fitting, taken)


def _hashed_name(name: str, fitting: str, taken: Container[str]) -> str:
    digest = name.encode(errors="surrogatepass")
    while True:
        digest = hashlib.sha256(digest).digest()
        candidate = f"{fitting[: MAX_MODEL_NAME_CHARS - _HASH_CHARS - 1]}_{digest.hex()[:_HASH_CHARS]}"
        if candidate not in taken:  # a server may name a tool so that it is
            return candidate


def _definition(api: ModelApi, name: str, tool: ListedTool) -> dict[str, Any]:
    description = tool.description or ""
    # OpenAI refuses an object without `properties`, and servers leave it out where a tool takes nothing.
    schema = {"type": "object", "properties": {}, **tool.input_schema}
    match api:
        case "openai-chat":
            return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
        case "openai-responses":
            # Strict is the default there, and refuses every schema with an optional property.
            return {
                "type": "function",
                "name": name,
                "description": description,
                "parameters": schema,
                "strict": False,
            }
        case "anthropic":
            return {"name": name, "description": description, "input_schema": schema}


def _text_part(api: ModelApi, text: str) -> dict[str, Any]:
    return {"type": "text" if api == "anthropic" else "input_text", "text": text}


def _image_part(api: ModelApi, image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode("ascii")
    if api == "anthropic":
        return {"type": "image", "source": {"type": "base64", "media_type": image.mime_type, "data": data}}
    return {"type": "input_image", "image_url": f"data:{image.mime_type};base64,{data}"}


def _parse_call(api: ModelApi, tool_call: object) -> tuple[str, Any]:
    holder = member(tool_call, "function") if api == "openai-chat" else tool_call
    name = member(holder, "name")
    if not isinstance(name, str):
        raise TypeError(f"This is not a tool call of {api}: a {type(tool_call).__name__} without a name.")
    return name, member(holder, "input" if api == "anthropic" else "arguments")


def _call_id(api: ModelApi, tool_call: object) -> str:
    return str(member(tool_call, "call_id" if api == "openai-responses" else "id") or "")


def _parse_arguments(arguments: Any) -> Mapping[str, Any]:
    """Return the arguments of a call; some servers of models send them parsed, and some an empty text for none."""
    if isinstance(arguments, str) and (arguments := arguments.strip()):
        try:
            arguments = json.loads(arguments, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            reason = str(error)[:200] or type(error).__name__
            raise InvalidArguments(say("The arguments are not JSON: {reason}.", reason=reason)) from None
    if arguments is None or arguments == "":
        return {}
    if not isinstance(arguments, Mapping):
        raise InvalidArguments(say("The arguments must be a JSON object."))
    return arguments


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _error_text(error: MadangError) -> str:
    return f"Error: {error}\nHint: {error.hint}" if error.hint else f"Error: {error}"
