"""A server as an object: its tools are methods, in Python's spelling."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic_core import to_jsonable_python

from madang.client.answers import Answer, Fields, plain
from madang.client.backends import Backend, Described
from madang.client.names import arguments_for, near, snake, spelled
from madang.client.reading import read


class ToolMethod:
    """One tool, to be called with keyword arguments in either spelling."""

    def __init__(self, backend: Backend, tool: Described) -> None:
        self._backend = backend
        self._tool = tool
        self.__name__ = tool.name
        self.__doc__ = tool.description

    async def __call__(self, /, **arguments: Any) -> Answer:
        """Call the tool.

        Raises:
            ToolError: the tool answered with an error; `NotFound` and the like where the code is one of ours.
            RequestError: the server did not take the request.
        """
        given = to_jsonable_python(arguments, by_alias=True, fallback=_plain)
        response = await self._backend.call(self._tool.name, arguments_for(self._tool.input_schema, given))
        reading = read(response)
        return Answer(reading.text, reading.data, self._tool.output_schema)

    def __repr__(self) -> str:
        return f"<tool {self._tool.name}({', '.join(map(snake, self._tool.input_schema.get('properties') or ()))})>"


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


def _plain(value: Any) -> Any:
    """Return a part of an earlier answer as it was on the wire, so that it can be sent on."""
    if isinstance(value, Fields):
        return plain(value)
    raise TypeError(f"A {type(value).__name__} cannot be sent to a tool: it has no form in JSON.")
