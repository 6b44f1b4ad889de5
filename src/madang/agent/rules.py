"""Approval rules of the person's for a run, from a file: for cron and CI, where nobody is there to ask.

A rule allows what the person would be asked for, or denies what would be allowed. It never allows what the policy
denies, and nothing is allowed by default: what no rule names is asked for, and the run waits.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import dataclass

from pydantic import Field, ValidationError

from madang.core.arguments import invalid_arguments
from madang.core.documents import Document
from madang.core.errors import SetupError
from madang.core.phrases import Phrase, layout, say
from madang.core.suggestions import did_you_mean

MAX_RULES_BYTES = 256 * 1024
QUALIFIER = "__"
AGENT_TOOLS = frozenset({"save_as_playbook", "search_messages"})
"""The tools of the agent's own service, which no list of built-in ones has."""


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Names of tools that the person has decided of beforehand."""

    allow: frozenset[str] = frozenset()
    deny: frozenset[str] = frozenset()
    allow_untrusted: frozenset[str] = frozenset()
    """Allowed also once the session has read something that cannot be trusted."""


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
    rules = ApprovalRules(*(frozenset(_bare(name, path, known) for name in names) for names in lists))
    if both := sorted((rules.allow | rules.allow_untrusted) & rules.deny):
        raise _refused(path, say("'{tool}' is both allowed and denied", tool=both[0]))
    return rules


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
        hint=did_you_mean(name, known) or say("'madang tools' lists them."),
    )


def _refused(path: str, reason: Phrase) -> SetupError:
    return SetupError(
        say("The rules {path} cannot be used: {reason}.", path=path, reason=reason),
        hint=say('A file of rules has: allow = ["TOOL", …] and deny = ["TOOL", …]'),
    )
