"""What a run may do with the paths that its calls name: the person's rules first, then the table of guarded paths.

A rule that denies to read or to write a path (`read_file:PATTERN`, `write_file:PATTERN`) holds for every tool that
would do so, or a model would take the next tool. One that allows is about the tool that it names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from madang.agent.rules import ApprovalRules, PathEntry
from madang.core.calls import Call, PathFilter
from madang.core.errors import InvalidPath
from madang.core.guarded_paths import private_paths, running_paths
from madang.core.path_patterns import Names, PathPattern, PathPatterns, folded_name
from madang.core.phrases import Phrase, say
from madang.core.tools import PathUse, Tool
from madang.files.folders import parse_path

READING, WRITING = "read_file", "write_file"
"""Tools whose name in a rule that denies stands for reading and changing, by whatever tool."""

MAX_NAMED_PATHS = 3

_READS = frozenset({"read", "walk", "edit", "take", "source"})
_CHANGES = frozenset({"write", "edit", "take", "put"})


class Places(Protocol):
    """Where the files of sessions are: `Folders`."""

    def personal(self, call: Call) -> Path | None: ...

    def list_names(self, call: Call, source: str) -> list[tuple[str, ...]]: ...


@dataclass(frozen=True, slots=True)
class NamedPath:
    """A path that a call names, and what the call would do with it."""

    path: str
    use: PathUse
    spellings: tuple[Names, ...]
    """The names along it, from each root that rules may count from."""
    is_moved: bool = False
    """It may be a folder, which carries all below it to another name."""

    @property
    def is_read(self) -> bool:
        return self.use in _READS

    @property
    def is_changed(self) -> bool:
        return self.use in _CHANGES

    def is_in(self, patterns: PathPatterns) -> bool:
        return any(patterns.find(names) or (self.is_moved and patterns.find_below(names)) for names in self.spellings)

    def find_guard(self, *, is_personal: bool) -> GuardedPath | None:
        """Return why the person is asked for it, if they are."""
        tables = [private_paths()] if self.is_read else []
        tables += [running_paths()] if self.is_changed and is_personal else []
        for names in self.spellings:
            for table in tables:
                guard = table.find(names) or (table.find_below(names) if self.is_moved else None)
                if guard is not None:
                    return GuardedPath(self.path if self.use == "source" else "/".join(names), guard.reason)
        return None


class GuardedPath(NamedTuple):
    """A path for which the person is asked, and why."""

    path: str
    reason: Phrase


class PathPolicy:
    """Decides over the paths of calls."""

    def __init__(self, rules: ApprovalRules) -> None:
        self._deny = _by_tool(rules.deny_paths)
        self._allow = _by_tool(rules.allow_paths, is_exact=True)
        self._allow_untrusted = _by_tool(rules.allow_untrusted_paths, is_exact=True)
        self._places: Places | None = None

    def connect(self, places: Places) -> None:
        self._places = places

    def has_allowed(self, tool: Tool) -> bool:
        """Tell whether a rule allows the tool some paths as long as nothing untrusted was read."""
        return tool.name in self._allow

    def named(self, call: Call, tool: Tool, arguments: Mapping[str, Any]) -> list[NamedPath]:
        """Return the paths that a call names; none of what the tool itself refuses as a path."""
        if not tool.paths or self._places is None:
            return []
        named: list[NamedPath] = []
        brought = ""
        is_move = "take" in tool.paths.values()
        for use, path in tool.named_paths(arguments):
            if use == "source":
                spellings: tuple[Names, ...] = tuple(self._places.list_names(call, path)) if path else ()
            else:
                spellings = _spellings(path)
            if use in ("source", "take") and spellings:
                brought = spellings[0][-1] if spellings[0] else ""
            if use == "put" and brought:
                # A target that is a folder receives it, and one that is left out is its name.
                spellings = tuple(one for names in spellings for one in (names, (*names, brought)) if one)
            if spellings:
                named.append(NamedPath(path, use, spellings, is_moved=is_move))
        return named

    def find_denied(self, tool: Tool, named: Sequence[NamedPath]) -> NamedPath | None:
        """Return the first path that a rule denies to this tool."""
        return next((one for one in named if any(one.is_in(rules) for rules in self._denials(tool, one))), None)

    def find_guarded(
        self, call: Call, tool: Tool, named: Sequence[NamedPath], *, is_tainted: bool
    ) -> list[GuardedPath]:
        """Return the paths for which the person is asked, without those that a rule allows."""
        if not named or self._places is None:
            return []
        is_personal = self._places.personal(call) is not None
        asked = [one for one in named if not self._is_allowed(tool, one, is_tainted=is_tainted)]
        return [guard for one in asked if (guard := one.find_guard(is_personal=is_personal)) is not None]

    def are_allowed(self, tool: Tool, named: Sequence[NamedPath], *, is_tainted: bool) -> bool:
        """Tell whether rules allow the tool all paths that a call names."""
        return bool(named) and all(self._is_allowed(tool, one, is_tainted=is_tainted) for one in named)

    def find_hidden(self, tool: Tool, named: Sequence[NamedPath], *, is_tainted: bool) -> PathFilter:
        """Return which paths below those that a call names it leaves out.

        What is under a guarded path that the call names is not: the person, or a rule, has allowed that one.
        """
        denials = [rules for rules in (self._deny.get(READING), self._deny.get(tool.name)) if rules]
        granted = [_folded(names) for one in named if one.find_guard(is_personal=False) for names in one.spellings]

        def hides(path: str) -> bool:
            names = path.split("/")
            if any(rules.find(names) for rules in denials):
                return True
            if private_paths().find(names) is None:
                return False
            folded = _folded(names)
            if any(folded[: len(above)] == above for above in granted):
                return False
            return not self._is_allowed(tool, NamedPath(path, "read", (names,)), is_tainted=is_tainted)

        return hides

    def _denials(self, tool: Tool, named: NamedPath) -> Iterable[PathPatterns]:
        names = {tool.name} - {READING, WRITING}
        names |= {READING} if named.is_read else set()
        names |= {WRITING} if named.is_changed else set()
        return [self._deny[name] for name in names if name in self._deny]

    def _is_allowed(self, tool: Tool, named: NamedPath, *, is_tainted: bool) -> bool:
        lists = [self._allow_untrusted] if is_tainted else [self._allow_untrusted, self._allow]
        rules = [one[tool.name] for one in lists if tool.name in one]
        # Of what is put somewhere each place counts; of one file with several addresses any does.
        holds = all if named.use == "put" else any
        return any(holds(patterns.find(names) for names in named.spellings) for patterns in rules)


def why_asked(tool: Tool, guarded: Sequence[GuardedPath]) -> Phrase:
    """Return why the person is asked for a call: which paths it names, and what the first of them is."""
    paths = ", ".join(f"'{one.path}'" for one in guarded[:MAX_NAMED_PATHS])
    more = ", …" if len(guarded) > MAX_NAMED_PATHS else ""
    return replace(_ASKED, values={"tool": tool.name, "paths": paths + more, "reason": guarded[0].reason})


def is_asked_each_time(reason: Phrase | None) -> bool:
    """Tell whether a call is asked for because of its paths: then to allow it says nothing of the next one."""
    return reason is not None and reason.template == _ASKED.template


_ASKED = say("'{tool}' is about {paths}: {reason}. This is asked each time.")


def _spellings(path: str) -> tuple[Names, ...]:
    try:
        return (parse_path(path, may_be_root=True),)
    except InvalidPath:
        return ()  # the tool says so


def _by_tool(entries: Iterable[PathEntry], *, is_exact: bool = False) -> dict[str, PathPatterns]:
    patterns: dict[str, list[PathPattern]] = {}
    for tool, pattern in sorted(entries):
        patterns.setdefault(tool, []).append(PathPattern(pattern, is_exact=is_exact))
    return {tool: PathPatterns(ones) for tool, ones in patterns.items()}


def _folded(names: Names) -> tuple[str, ...]:
    return tuple(map(folded_name, names))
