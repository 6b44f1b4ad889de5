"""A server as an object: its tools are methods, in Python's spelling."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Concatenate, Never, ParamSpec, TypeVar, get_args, get_type_hints

from pydantic_core import to_jsonable_python

from madang.client.answers import Answer, Fields, plain
from madang.client.backends import Backend, Described
from madang.client.names import arguments_for, near, properties_of, snake, spelled
from madang.client.reading import read, unwrap
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.results import ToolResult

P = ParamSpec("P")
DocumentT = TypeVar("DocumentT", bound=Document)


class ToolMethod:
    """One tool, to be called with keyword arguments in either spelling."""

    def __init__(self, backend: Backend, tool: Described) -> None:
        self._backend = backend
        self._tool = tool
        self.__name__ = tool.name
        self.__doc__ = tool.description

    async def __call__(self, /, *misplaced: Never, **arguments: Any) -> Answer:
        """Call the tool.

        Raises:
            ToolError: the tool answered with an error; `NotFound` and the like where the code is one of ours.
            RequestError: the server did not take the request.
            TypeError: an argument came without its name, in two spellings, or with no form in JSON.
        """
        if misplaced:
            # The order in a schema promises nothing, so a place cannot stand for a name.
            raise TypeError(f"Arguments go by keyword: {self!r}")
        response = await self._backend.call(self._tool.name, _sent(self._tool.input_schema, arguments))
        reading = read(response)
        return Answer(reading.text, reading.data, self._tool.output_schema)

    def __repr__(self) -> str:
        return f"<tool {self._tool.name}({', '.join(map(snake, properties_of(self._tool.input_schema)))})>"


class ServerProxy:
    """A server whose tools are methods: `await server.list_playbooks(page_size=10)`.

    It lives as long as the connection it was made for. A tool whose name is no Python name, or one of the few names
    here, is at `server["its-name"]`.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._methods: dict[str, ToolMethod] = {}
        self._tools: dict[str, Described] = {}

    @property
    def tools(self) -> Mapping[str, Described]:
        """The tools by name, as they were listed when the connection was opened or at the last `refresh`."""
        return MappingProxyType(self._tools)

    async def refresh(self) -> None:
        """List the tools again."""
        self._tools = {tool.name: tool for tool in await self._backend.tools()}
        self._methods = {name: ToolMethod(self._backend, tool) for name, tool in self._tools.items()}

    async def call(self, tool: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call a tool by its name, with arguments as they go on the wire, and return the response for `unwrap`.

        An error of the tool is a response too.

        Raises:
            RequestError: the server did not take the request.
        """
        return await self._backend.call(tool, dict(arguments or {}))

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
            # Two places for what the provider fills in: the tools object and the call.
            given = list(signature.bind(None, None, *values, **named).arguments.items())[2:]
            # To our tools None means left out, and a null is refused.
            arguments = {argument: value for argument, value in given if value is not None}
            # Tools for the person may be missing in the list; ours take Python's spelling too.
            schema = self._tools[name].input_schema if name in self._tools else {}
            answer: DocumentT = unwrap(await self._backend.call(name, _sent(schema, arguments)), document)
            return answer

        return ask

    def __getattr__(self, name: str) -> ToolMethod:
        if name.startswith("_"):
            raise AttributeError(name)
        found = spelled(name, self._methods)
        if found is None:
            raise AttributeError(f"The server has no tool {name!r}.{near(name, self._tools)}")
        return self._methods[found]

    def __getitem__(self, name: str) -> ToolMethod:
        return self._methods[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *map(snake, self._tools)})


def _sent(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    return arguments_for(schema, to_jsonable_python(arguments, by_alias=True, fallback=_plain))


def _plain(value: Any) -> Any:
    """Return a part of an earlier answer as it was on the wire, so that it can be sent on."""
    if isinstance(value, Fields):
        return plain(value)
    raise TypeError(f"A {type(value).__name__} cannot be sent to a tool: it has no form in JSON.")
