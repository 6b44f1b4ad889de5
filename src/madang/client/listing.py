"""What a server lists, within bounds: its tools and schemas are kept and walked here, and a stranger wrote them.

No schema is ever evaluated: it may hold a regular expression or a cycle of references that takes for ever. `unwrap`
into a type of one's own is the check of an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from madang.core.errors import SetupError
from madang.core.phrases import Phrase, say

MAX_LIST_S = 120.0
MAX_LIST_PAGES = 1_000
MAX_TOOLS = 10_000
MAX_TOOL_CHARS = 1_000_000
"""Of the description and the schemas of one tool, names and values counted alike."""
MAX_LIST_CHARS = 16_000_000
MAX_SCHEMA_DEPTH = 100


class ListedTool(Protocol):
    """A tool as a server lists it: one of ours, or the MCP SDK's."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def input_schema(self) -> dict[str, Any]: ...
    @property
    def output_schema(self) -> dict[str, Any] | None: ...


class ToolListBudget:
    """Counts what a server lists, page by page, so that a list without end is refused while it comes in."""

    def __init__(self) -> None:
        self._tools = 0
        self._chars = 0
        self._cursors: set[str] = set()

    def add(self, tools: Iterable[ListedTool], next_cursor: str | None) -> None:
        """Count one page of the list.

        Raises:
            SetupError: the list is too large, a schema too deep, or a cursor leads back.
        """
        for tool in tools:
            self._tools += 1
            self._chars += _checked_size(tool)
            if self._tools > MAX_TOOLS:
                raise unusable_list(say("it has more than {max} tools", max=MAX_TOOLS))
            if self._chars > MAX_LIST_CHARS:
                raise unusable_list(say("it is longer than {max} characters", max=MAX_LIST_CHARS))
        if next_cursor:
            if next_cursor in self._cursors or len(self._cursors) >= MAX_LIST_PAGES:
                raise unusable_list(say("its pages do not end"))
            self._cursors.add(next_cursor)


def unusable_list(reason: Phrase) -> SetupError:
    """Return the one error for a list that cannot be used."""
    return SetupError(
        say("The server's tool list cannot be used: {reason}.", reason=reason),
        hint=say("The fault is the server's: report it to its makers."),
    )


def _checked_size(tool: ListedTool) -> int:
    size = len(tool.name) + len(tool.description or "")
    # A stack of our own: a walk by recursion would be what a deep schema breaks.
    pending: list[tuple[Any, int]] = [(tool.input_schema, 1), (tool.output_schema, 1)]
    while pending and size <= MAX_TOOL_CHARS:
        value, depth = pending.pop()
        if depth > MAX_SCHEMA_DEPTH:
            reason = say(
                "a schema of '{tool}' is more than {max} levels deep", tool=tool.name[:100], max=MAX_SCHEMA_DEPTH
            )
            raise unusable_list(reason)
        if isinstance(value, Mapping):
            size += sum(len(name) for name in value) + len(value)
            pending += [(part, depth + 1) for part in value.values()]
        elif isinstance(value, list):
            size += len(value)
            pending += [(part, depth + 1) for part in value]
        else:
            size += len(value) if isinstance(value, str) else 1
    if size > MAX_TOOL_CHARS:
        reason = say("its entry for '{tool}' is longer than {max} characters", tool=tool.name[:100], max=MAX_TOOL_CHARS)
        raise unusable_list(reason)
    return size
