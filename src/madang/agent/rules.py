"""Approval rules of the person's for a run, from a file: for cron and CI, where nobody is there to ask.

A rule allows what the person would be asked for, or denies what would be allowed: a tool, or a tool with a pattern of
paths (`TOOL:PATTERN`). It never allows what the policy denies, and nothing is allowed by default: what no rule names is
asked for, and the run waits. A tool without a pattern is not allowed the paths for which the person is asked.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection
from dataclasses import dataclass

from pydantic import Field, ValidationError

from madang.core.arguments import invalid_arguments
from madang.core.documents import Document
from madang.core.errors import SetupError
from madang.core.phrases import Phrase, layout, say
from madang.core.suggestions import did_you_mean_tool
from madang.core.tools import Tool

MAX_RULES_BYTES = 256 * 1024
QUALIFIER = "__"
AGENT_TOOLS = frozenset({"find_tools", "save_as_playbook", "search_messages"})
"""The tools of the agent's own service, which no list of built-in ones has. Not `use_tool`: a call by it is judged as
the tool it names, so that a rule for it would hold nothing back."""


PathEntry = tuple[str, str]
"""A tool, and a pattern of paths as `.gitignore` has them."""


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Names of tools, and of paths for tools, that the person has decided of beforehand."""

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    allow_untrusted: frozenset[str] = frozenset()
    """Allowed also once the session has read something that cannot be trusted."""
    allow_paths: frozenset[PathEntry] = frozenset()
    deny_paths: frozenset[PathEntry] = frozenset()
    allow_untrusted_paths: frozenset[PathEntry] = frozenset()

    @property
    def path_tools(self) -> frozenset[str]:
        """The tools that are named with a pattern of paths."""
        entries = self.allow_paths | self.deny_paths | self.allow_untrusted_paths
        return frozenset(tool for tool, _ in entries)


NO_RULES = ApprovalRules()


class _RulesFile(Document):
    allow: list[str] = Field(default_factory=list, max_length=1000)
    deny: list[str] = Field(default_factory=list, max_length=1000)
    allow_untrusted: list[str] = Field(default_factory=list, max_length=1000)


def parse_rules(data: bytes, path: str, known: Collection[str]) -> ApprovalRules:
    """Return the rules of a TOML file; `known` are the names of the tools there are.

    Raises:
        SetupError: it is no such file, or names a tool that there is not: a slip in `deny` would allow it.
    """
    if len(data) > MAX_RULES_BYTES:
        raise _refused(path, say("it is larger than {max} KB", max=MAX_RULES_BYTES // 1024))
    try:
        file = _RulesFile.model_validate(tomllib.loads(data.decode("utf-8")))
    except ValidationError as error:
        raise _refused(path, invalid_arguments(error).message) from None
    except ValueError as error:
        raise _refused(path, layout("{reason}", reason=str(error).rstrip("."))) from None
    lists = (file.allow, file.deny, file.allow_untrusted)
    tools = [frozenset(_bare(entry, path, known) for entry in entries if ":" not in entry) for entries in lists]
    paths = [frozenset(_with_path(entry, path, known) for entry in entries if ":" in entry) for entries in lists]
    rules = ApprovalRules(tools[0], tools[1], tools[2], paths[0], paths[1], paths[2])
    both = sorted((rules.allow | rules.allow_untrusted) & rules.deny)
    both += [":".join(one) for one in sorted((rules.allow_paths | rules.allow_untrusted_paths) & rules.deny_paths)]
    if both:
        raise _refused(path, say("'{tool}' is both allowed and denied", tool=both[0]))
    return rules


def check_path_rules(rules: ApprovalRules, find_tool: Callable[[str], Tool | None]) -> None:
    """Check that tools which rules give paths to take some.

    Raises:
        SetupError: one does not: a rule that never holds would be taken for one that does.
    """
    for name in sorted(rules.path_tools):
        tool = find_tool(name)
        if tool is not None and not tool.paths:
            raise SetupError(
                say("A rule gives paths to '{tool}', which takes none.", tool=name[:200]),
                hint=say("'read_file' in deny stands for every tool that reads a path, 'write_file' for every change."),
            )


def _with_path(entry: str, path: str, known: Collection[str]) -> PathEntry:
    name, _, pattern = entry.partition(":")
    if not pattern.strip("/ ") or ".." in pattern.split("/") or pattern.startswith("!"):
        raise _refused(path, say("'{rule}' has no pattern of paths that can be used", rule=entry[:200]))
    return _bare(name, path, known), pattern


def _bare(name: str, path: str, known: Collection[str]) -> str:
    """Return a tool's name as the policy sees it; one of another server's, which is always `server__tool`, as it is."""
    service, qualifier, bare = name.rpartition(QUALIFIER)
    if name in known:
        return name
    if bare in known and service:
        return bare
    if qualifier and service and bare:
        return name
    raise SetupError(
        say("The rules {path} name a tool that there is not: '{tool}'.", path=path, tool=name[:200]),
        hint=did_you_mean_tool(name, known) or say("'madang tools' lists them."),
    )


def _refused(path: str, reason: Phrase) -> SetupError:
    return SetupError(
        say("The rules {path} cannot be used: {reason}.", path=path, reason=reason),
        hint=say('A file of rules has: allow = ["TOOL", …] and deny = ["TOOL:PATH", …]'),
    )
