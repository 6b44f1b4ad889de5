"""Where what a model was shown came from.

What Madang computed and what the person typed is trusted, all else is untrusted: it may hold instructions of somebody
else. A result is untrusted unless its tool, or the result itself, says otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal, cast, get_args

from madang.core.phrases import Phrase, layout, say
from madang.core.texts import one_line

OriginKind = Literal["file", "content", "playbook", "page", "server", "tool", "name", "program", "archive"]

MAX_NAME_CHARS = 200
MAX_NAMED = 3
"""In a sentence for the person."""


@dataclass(frozen=True, slots=True)
class Origin:
    """One source of untrusted words: what it is, and its name there."""

    kind: OriginKind
    name: str = ""

    def describe(self) -> Phrase:
        """Return what it is in words for the person."""
        match self.kind:
            case "tool":
                return say("what '{tool}' returned", tool=self.name)
            case "name":
                return say("the name '{name}'", name=one_line(self.name, MAX_NAME_CHARS))
            case "program":
                return say("what the program '{name}' did", name=self.name) if self.name else say("another program")
            case "archive":
                return say("an imported session")
            case _:
                return layout("{name}", name=one_line(self.name, MAX_NAME_CHARS))


def describe_origins(origins: Sequence[Origin]) -> Phrase:
    """Return the newest origins in one phrase for the person."""
    named = [origin.describe() for origin in origins[:MAX_NAMED]]
    if len(origins) > MAX_NAMED:
        named.append(layout("…"))
    return reduce(lambda first, second: layout("{first}, {second}", first=first, second=second), named)


def dump_origins(origins: Iterable[Origin]) -> str:
    """Return origins as a column keeps them; empty if there are none."""
    listed = [f"{origin.kind}:{one_line(origin.name, MAX_NAME_CHARS)}" for origin in origins]
    return json.dumps(listed, ensure_ascii=False) if listed else ""


def parse_origins(text: str) -> tuple[Origin, ...]:
    """Return the origins of a column."""
    pairs = (item.partition(":") for item in (json.loads(text) if text else ()))
    return tuple(Origin(cast("OriginKind", kind), name) for kind, _, name in pairs if kind in get_args(OriginKind))
