"""`ServerProxy`: a server whose tools are methods, in Python's spelling."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Concatenate, Never, ParamSpec, TypeVar, get_args, get_type_hints

from pydantic_core import to_jsonable_python

from madang.client.answers import Answer, JsonView, wire_data
from madang.client.backends import Backend, ProgressCallback
from madang.client.listing import ListedTool
from madang.client.reading import parse_answer, unwrap
from madang.client.schemas import SchemaReader, match_name, snake_case, suggestion
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.results import ToolResult
from madang.core.texts import one_line

SHOWN_TOOLS = 3

P = ParamSpec("P")
DocumentT = TypeVar("DocumentT", bound=Document)


class ToolMethod:
    """One tool, to be called with keyword arguments in either spelling."""

    def __init__(self, backend: Backend, tool: ListedTool, on_progress: ProgressCallback | None = None) -> None:
        self._backend = backend
        self._tool = tool
        self._on_progress = on_progress
        self.__name__ = tool.name
        self.__doc__ = tool.description

    async def __call__(self, /, *positional: Never, **arguments: Any) -> Answer:
        """Call the tool.

        Raises:
            ToolError: the tool answered with an error; `NotFound` and the like where the code is one of ours.
            RequestError: the server did not take the request.
            TypeError: an argument came without its name, in two spellings, or with no form in JSON.
        """
        if positional:
            # The order of properties in a schema means nothing, so a position cannot stand for a name.
            raise TypeError(f"Arguments go by keyword: {self!r}")
        wire_arguments = _to_wire(self._tool.input_schema, arguments)
        answer = parse_answer(await self._backend.call(self._tool.name, wire_arguments, self._on_progress))
        return Answer(answer.text, answer.data, self._tool.output_schema, answer.pause, answer.images)

    def with_progress(self, on_progress: ProgressCallback) -> ToolMethod:
        """Return the same tool; its calls tell `on_progress` how far they are, if the server says so."""
        return ToolMethod(self._backend, self._tool, on_progress)

    def __repr__(self) -> str:
        return f"<tool {self._tool.name}({', '.join(map(snake_case, SchemaReader(self._tool.input_schema).fields))})>"


class ServerProxy:
    """A server whose tools are methods: `await server.list_playbooks(page_size=10)`.

    It lives as long as its connection. A tool whose name is no Python identifier, or one of the few names here, is at
    `server["its-name"]`.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._methods: dict[str, ToolMethod] = {}
        self._tools: dict[str, ListedTool] = {}

    def __repr__(self) -> str:
        names = [*self._tools][:SHOWN_TOOLS] + ["…"] * (len(self._tools) > SHOWN_TOOLS)
        return one_line(f"<server with {len(self._tools)} tools: {', '.join(names)}>")

    @property
    def tools(self) -> Mapping[str, ListedTool]:
        """The tools by name, as they were listed when the connection was opened or at the last `refresh`."""
        return MappingProxyType(self._tools)

    async def refresh(self) -> None:
        """List the tools again."""
        self._tools = {tool.name: tool for tool in await self._backend.tools()}
        self._methods = {name: ToolMethod(self._backend, tool) for name, tool in self._tools.items()}

    async def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, on_progress: ProgressCallback | None = None
    ) -> Any:
        """Call a tool by its name, with arguments as they go on the wire, and return the response for `unwrap`.

        An error of the tool is a response too. `on_progress` is told how far the call is, if the server says so.

        Raises:
            RequestError: the server did not take the request.
        """
        return await self._backend.call(tool, dict(arguments or {}), on_progress)

    def typed(
        self, method: Callable[Concatenate[Any, Call, P], Awaitable[ToolResult[DocumentT]]]
    ) -> Callable[P, Coroutine[Any, Any, DocumentT]]:
        """Return one of our own tools with the types of the method it is: `typed(PlaybookTools.list_playbooks)`.

        A type checker knows its arguments and the document it answers with. It raises as a `ToolMethod` does, and
        `pydantic.ValidationError` when the server is of another version and answers otherwise.
        """
        signature = inspect.signature(method)
        (document,) = get_args(get_type_hints(method)["return"])
        name = method.__name__

        async def ask(*values: P.args, **named: P.kwargs) -> DocumentT:
            # The first two parameters, the tools object and the call, are the provider's to fill in.
            bound = list(signature.bind(None, None, *values, **named).arguments.items())[2:]
            # To our tools None means left out.
            arguments = {argument: value for argument, value in bound if value is not None}
            # Tools for the person may be missing from the list; our servers take Python's spelling too.
            schema = self._tools[name].input_schema if name in self._tools else {}
            answer: DocumentT = unwrap(await self._backend.call(name, _to_wire(schema, arguments)), document)
            return answer

        return ask

    def __getattr__(self, name: str) -> ToolMethod:
        if name.startswith("_"):
            raise AttributeError(name)
        tool = match_name(name, self._methods)
        if tool is None:
            raise AttributeError(f"The server has no tool {name!r}.{suggestion(name, self._tools)}")
        return self._methods[tool]

    def __getitem__(self, name: str) -> ToolMethod:
        return self._methods[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *map(snake_case, self._tools)})


def _to_wire(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    spelled: dict[str, Any] = SchemaReader(schema).spell(
        to_jsonable_python(arguments, by_alias=True, fallback=_json_of_view)
    )
    return spelled


def _json_of_view(value: Any) -> Any:
    """Return the JSON of a part of an earlier answer, so that it can be sent on."""
    if isinstance(value, JsonView):
        return wire_data(value)
    raise TypeError(f"A {type(value).__name__} cannot be sent to a tool: it has no form in JSON.")
