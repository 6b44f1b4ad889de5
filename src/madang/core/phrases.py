"""Texts before they are in a language.

A `Phrase` is an English template with values; it becomes a text only where the reader's locale is known. So errors
raised deep in a store, and views that know no locale, can be read in every language of the catalogue. The catalogue
itself is a file and lives in `rendering`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from madang.core.particles import particle, split_at_particles
from madang.core.texts import block, one_line

Translate = Callable[[str], str]
"""Looks a template up in the catalogue of one locale."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A template of the catalogue and the values for its placeholders. Make one with `say`.

    Values are data from outside until proved otherwise: each is shown on one line, with its controls escaped. Only
    another `Phrase` or a `Block` may bring lines of its own. `{count|line|lines}` is the first word where `count` is 1,
    else the second; a language without plurals leaves it out. `{을}` in a Korean translation is 을 or 를, by the sound
    of what stands before it.
    """

    template: str
    values: Mapping[str, object] = field(default_factory=dict)

    def render(self, translate: Translate) -> str:
        """Return the text in the language of `translate`."""
        template = translate(self.template)
        if not self.values:
            return template
        values = _Values({name: _rendered(value, translate) for name, value in self.values.items()})
        head, *rest = split_at_particles(template)
        text = head.format_map(values)
        for named, part in zip(rest[::2], rest[1::2], strict=True):
            text += particle(named, before=text) + part.format_map(values)
        return text

    def __str__(self) -> str:
        return self.render(lambda template: template)


class _Values(dict[str, object]):
    """The values of a phrase by their names, and what depends on their number."""

    def __missing__(self, key: str) -> object:
        name, separator, words = key.partition("|")
        if not separator:
            raise KeyError(key)
        one, _, other = words.partition("|")
        return one if self[name] == 1 else other


def say(template: str, /, **values: object) -> Phrase:
    """Return the phrase `template`; the catalogue is extracted from the calls of this function."""
    return Phrase(template, values)


def layout(template: str, /, **values: object) -> Phrase:
    """Return a phrase of signs and values alone. It reads the same in every language, so no catalogue has it."""
    return Phrase(template, values)


def dump_phrase(phrase: Phrase) -> str:
    """Return a phrase as JSON, to be kept until its reader's language is known."""
    return json.dumps(_plain(phrase), ensure_ascii=False)


def parse_phrase(text: str) -> Phrase:
    """Return what `dump_phrase` kept."""
    return _phrase(json.loads(text))


def _plain(phrase: Phrase) -> list[object]:
    values = {name: _plain(one) if isinstance(one, Phrase) else one for name, one in phrase.values.items()}
    return [phrase.template, values]


def _phrase(plain: list[Any]) -> Phrase:
    template, values = plain
    return Phrase(template, {name: _phrase(one) if isinstance(one, list) else one for name, one in values.items()})


BLOCK_MARGIN = "> "


@dataclass(frozen=True, slots=True)
class Block:
    """The body that was asked for: a file's lines, an excerpt, a diff. The one thing that keeps its own lines.

    Every line stands behind `margin`, so that none can be mistaken for a line of ours. It is empty only where each line
    has a mark of its own already (a line number, the sign of a diff).
    """

    text: str
    margin: str = BLOCK_MARGIN

    def __str__(self) -> str:
        return block(self.text, self.margin)


def _rendered(value: object, translate: Translate) -> object:
    # Most values are texts and numbers, and a listing has hundreds of them.
    if isinstance(value, str):
        return value if value.isprintable() else one_line(value)
    if isinstance(value, (int, float, Decimal)):
        return value  # for format specifications such as {limit:g}
    if isinstance(value, Phrase):
        return value.render(translate)
    return str(value) if isinstance(value, Block) else one_line(str(value))


@dataclass(frozen=True, slots=True)
class ByPage:
    """A line that depends on whether this reader's person sees the page of the result. Either half may be left out.

    A text is true for the reader it goes to: "they see the chart" is for clients that show it.
    """

    shown: Phrase | None = None
    hidden: Phrase | None = None


@dataclass(frozen=True, slots=True)
class OutsideRuns:
    """Lines that the model of a run of ours does not get: it is told the same as part of the state. `in_run` is for it.

    For any other reader the result is all there is.
    """

    lines: Sequence[str | Phrase | Block | ByPage | Rows]
    in_run: Phrase | None = None


Line = str | Phrase | Block | ByPage
"""A line of a text: data, which is shown on one line; a phrase to be translated; a block of several lines; or a choice
between two phrases."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A list inside a text. It is shown as far as it fits; `rest` then says how to get what was left out.

    `lines` may themselves be a part, which begins at `offset` of `total` rows: what comes after them is left out too.
    `rest` may use the placeholders {shown}, {left_out}, {next} (where the rows that were left out begin) and
    {next_page} (the first page of {shown} rows that holds one of them).
    """

    lines: Sequence[Phrase | Block]
    rest: Phrase
    offset: int = 0
    total: int | None = None

    def left_out_after(self, shown: int) -> int:
        """Return how many rows come after the first `shown` lines."""
        total = self.offset + len(self.lines) if self.total is None else self.total
        return max(total - self.offset - shown, 0)

    def rest_after(self, shown: int) -> Phrase:
        """Return `rest` for a text that ends after the first `shown` lines."""
        values = {
            "shown": shown,
            "left_out": self.left_out_after(shown),
            "next": self.offset + shown,
            # A page that begins in the middle of the shown rows repeats some of them; a later one would skip some.
            "next_page": self.offset // max(shown, 1) + 2,
        }
        return Phrase(self.rest.template, {**self.rest.values, **values})


Text = Sequence[Line | Rows | OutsideRuns]
"""What a tool says, block by block; `rendering` puts it into words, within bounds."""


def chosen(text: Text, *, shows_page: bool, in_run: bool = False) -> list[str | Phrase | Block | Rows]:
    """Return `text` for a reader who sees the result's page, or for one who does not; in a run, or elsewhere."""
    lines: list[str | Phrase | Block | Rows] = []
    for line in text:
        match line:
            case OutsideRuns() if in_run:
                lines += [line.in_run] if line.in_run else []
            case OutsideRuns():
                lines += chosen(line.lines, shows_page=shows_page)
            case ByPage():
                one = line.shown if shows_page else line.hidden
                lines += [one] if one is not None else []
            case _:
                lines.append(line)
    return lines


def render_line(line: str | Phrase | Block, translate: Translate) -> str:
    """Return one line of a text, or the lines of a block; data cannot break out of its line."""
    match line:
        case Phrase():
            return line.render(translate)
        case Block():
            return str(line)
        case _:
            return one_line(line)
