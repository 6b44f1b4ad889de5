"""What a tool is. `@tool` makes one of a method: its signature is the schema, its docstring the description."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import ValidationError, create_model
from pydantic.alias_generators import to_camel

from madang.core.arguments import check_shape, coerced, invalid_arguments, without_empty
from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import ToolError
from madang.core.results import Reply, ToolResult
from madang.core.schemas import flat_schema, output_schema
from madang.core.trust import Origin

Effect = Literal["read", "write", "destroy"]
"""What a tool does to what is kept: nothing, add or change, or take away."""

Audience = Literal["model", "person", "panel"]
"""Whom a tool is for. `person`: for buttons on pages; kept from the model wherever the page can be shown. `panel`: for
the panels of our own chat; no client lists it, and no model or foreign program may call it."""

AUDIENCE_KEY = "madang/audience"
"""Where the `_meta` of a listed tool says that it is for the person, to programs that choose their model's tools."""

Reach = Literal["session", "assistant"]
"""How far what a tool changes can be noticed: in its session alone, or by all sessions of its assistant."""

PathUse = Literal["read", "walk", "write", "edit", "take", "put", "source"]
"""What a tool does with a path of the workspace that an argument names: reads it, or all below it; looks at what is
below it; changes it without telling what was there, or telling it; moves it away; puts something there, under the name
that it had if that is a folder; reads a file that may also be outside of the workspace, by its path or address."""

DEFAULT_TIME_LIMIT_S = 30.0
"""How long a call may take. A tool that waits gives up earlier, so that it can say what it waited for."""

Handler = Callable[..., Awaitable[ToolResult[Any]]]
P = ParamSpec("P")
MethodT = TypeVar("MethodT", bound=Callable[..., Awaitable[ToolResult[Any]]])

_DECLARATION = "_madang_tool"
_REFUSALS = frozenset({"denied", "approval_required"})
"""Codes of errors that are said before a tool runs, and so quote nothing that it read."""


class ToolSchemas(TypedDict):
    """The JSON Schemas of a tool's arguments and of its data."""

    input: dict[str, Any]
    output: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What the provider, the doors and the policy have to know of a tool beside its name and schemas."""

    effect: Effect
    audience: Audience = "model"
    reach: Reach = "session"
    restorable: bool = False
    """What it takes away can be brought back."""
    idempotent: bool = False
    """Doing it again changes nothing more. Every read is."""
    once_per_operation: bool = False
    """Done once for all calls with the same `Call.operation_id`, so that a call that may have happened is repeated."""
    open_world: bool = False
    """It reaches beyond what Madang keeps: other programs, other servers, the network."""
    trusted: bool = False
    """Its results say only what Madang computed or what the person typed in this session. All others may hold
    instructions of somebody else: what was downloaded, uploaded, sent, or named by another."""
    page: str = ""
    """The page that it shows, if any."""
    refills: tuple[str, ...] = ()
    """Pages that it draws anew, only where they are open."""
    buttons_on: tuple[str, ...] = ()
    """Pages with a button that calls it. Tools for the person need not say so."""
    answers_pause: bool = False
    """It wakes a paused agent."""
    answered_by: str = ""
    """The tool that takes the answer to what this one asks."""
    in_runs: bool = True
    """Offered to the models of our own runs. Not so is what a run tells anyway: the answer to a question, the state."""
    only_in_runs: bool = False
    """Means something to the models of our own runs alone: nobody else is listed it or may call it."""
    joins_contexts: bool = False
    """Over MCP its text ends with what other services have, for clients whose model is given no contexts."""
    either: tuple[str, ...] = ()
    """Arguments that exclude each other, of which an empty one counts as left out."""
    time_limit_s: float | None = None
    """For a tool that may take longer than the provider gives to others, and stops when it is cancelled."""
    paths: Mapping[str, PathUse] = field(default_factory=dict)
    """The arguments that name files or folders, one or a list, and what is done with these: rules are about paths."""


class ToolDecorator(Protocol):
    """Makes a tool of a method and leaves it as it is."""

    def __call__(self, method: MethodT, /) -> MethodT: ...


def _declares(make_traits: Callable[P, Traits]) -> Callable[P, ToolDecorator]:
    """Return the decorator that takes what makes the traits: they are written down once, with their defaults."""

    def tool(*values: P.args, **traits: P.kwargs) -> ToolDecorator:
        declared = make_traits(*values, **traits)
        declared = replace(declared, idempotent=declared.idempotent or declared.effect == "read")

        def declare(method: MethodT, /) -> MethodT:
            setattr(method, _DECLARATION, declared)
            return method

        return declare

    return tool


tool = _declares(Traits)
"""Declare a method to be a tool with these `Traits`: `@tool(effect="write")`."""


@dataclass(frozen=True, kw_only=True)
class Tool(Traits, ABC):
    """One tool of a service: how it is described, checked and run. It is known before its service is opened."""

    name: str
    description: str

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize()

    def origins(self, reply: Reply) -> tuple[Origin, ...]:
        """Return where untrusted words in one of its replies came from; none if it can be trusted."""
        if reply.error_code in _REFUSALS:
            return ()
        if reply.origins is not None:
            return reply.origins
        return () if self.trusted else (Origin("tool", self.name),)

    def named_paths(self, arguments: Mapping[str, Any]) -> list[tuple[PathUse, str]]:
        """Return the paths that a call with these arguments names; none if it would be refused."""
        return []

    @property
    @abstractmethod
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments: an object."""

    @property
    @abstractmethod
    def output_schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the data, or None where nothing is known of it."""

    @abstractmethod
    async def run(self, call: Call, arguments: Mapping[str, Any]) -> ToolResult[Any]:
        """Check the arguments and run the tool.

        Raises:
            InvalidArguments, LimitExceeded: the arguments do not fit.
        """


@dataclass(frozen=True, kw_only=True)
class MethodTool(Tool):
    """A tool that is a method of ours: its signature is the schema.

    `schemas` are prebuilt ones; without them they are built on first use, which takes 0.13 s for 45 tools.
    """

    handler: Handler
    schemas: ToolSchemas | None = None

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self.handler, include_extras=True)

    @cached_property
    def input_model(self) -> type[Document]:
        fields: dict[str, Any] = {}
        for name, parameter in inspect.signature(self.handler).parameters.items():
            if name == "call":
                continue
            # An optional parameter is one that may be left out, and `run` drops a null; so the schema stays free of
            # unions, which several clients reject.
            required = parameter.default is inspect.Parameter.empty
            fields[name] = (_without_none(self._hints[name]), ... if required else parameter.default)
        return create_model(self.name, __base__=Document, **fields)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        if self.schemas:
            return self.schemas["input"]
        schema = flat_schema(self.input_model)
        for name in self.either:
            # Clients check arguments against the schema: it has to let the empty one through that `run` drops.
            for bound in ("minLength", "minItems"):
                schema["properties"][to_camel(name)].pop(bound, None)
        return schema

    @cached_property
    def output_model(self) -> type[Document]:
        (model,) = get_args(self._hints["return"])
        return cast("type[Document]", model)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        return self.schemas["output"] if self.schemas else output_schema(self.output_model)

    async def run(self, call: Call, arguments: Mapping[str, Any]) -> ToolResult[Any]:
        check_shape(arguments)
        return await self.handler(call, **vars(self.checked(arguments)))

    def named_paths(self, arguments: Mapping[str, Any]) -> list[tuple[PathUse, str]]:
        if not self.paths:
            return []
        try:
            check_shape(arguments)
            document = self.checked(arguments)
        except ToolError:
            return []
        # As the handler gets them, not as they were sent: names have two spellings, and values are mended.
        values = ((use, getattr(document, name)) for name, use in self.paths.items())
        return [(use, path) for use, value in values for path in (value if isinstance(value, list) else [value or ""])]

    def checked(self, arguments: Mapping[str, Any]) -> Document:
        """Return the arguments as the handler takes them.

        Raises:
            InvalidArguments: they do not fit; the message names the field.
        """
        if self.either:
            arguments = without_empty(arguments, self.either)
        try:
            return self.input_model.model_validate(arguments)
        except ValidationError as error:
            meant = coerced(arguments, error, self.input_schema)
            if meant is None:
                raise invalid_arguments(error, self.input_schema) from None
        try:
            return self.input_model.model_validate(meant)
        except ValidationError as error:
            raise invalid_arguments(error, self.input_schema) from None


def tools_of(holder: object) -> tuple[MethodTool, ...]:
    """Return the tools among the methods of `holder`, in the order they are written."""
    tools = []
    for name in type(holder).__dict__:
        method = getattr(holder, name)
        traits: Traits | None = getattr(method, _DECLARATION, None)
        if traits is not None:
            description = " ".join(inspect.cleandoc(method.__doc__ or "").split())
            tools.append(MethodTool(name=name, description=description, handler=method, **vars(traits)))
    return tuple(tools)


def _without_none(hint: Any) -> Any:
    if get_origin(hint) not in (Union, UnionType):
        return hint
    types = tuple(part for part in get_args(hint) if part is not NoneType)
    return types[0] if len(types) == 1 else Union[types]  # noqa: UP007 - built from a tuple at run time
