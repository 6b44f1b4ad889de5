"""Texts before they are in a language.

A `Phrase` is an English template with values; it becomes a text only where the reader's locale is known. So errors
raised deep in a store, and views that know no locale, can be read in every language of the catalogue. The catalogue
itself is a file and lives in `rendering`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

Translate = Callable[[str], str]
"""Looks a template up in the catalogue of one locale."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A template of the catalogue and the values for its placeholders. Make one with `say`."""

    template: str
    values: Mapping[str, object] = field(default_factory=dict)

    def render(self, translate: Translate) -> str:
        """Return the text in the language of `translate`."""
        template = translate(self.template)
        if not self.values:
            return template
        return template.format_map({name: _rendered(value, translate) for name, value in self.values.items()})

    def __str__(self) -> str:
        return self.render(lambda template: template)


def say(template: str, /, **values: object) -> Phrase:
    """Return the message `template`; the catalogue is extracted from the calls of this function."""
    return Phrase(template, values)


def _rendered(value: object, translate: Translate) -> object:
    return value.render(translate) if isinstance(value, Phrase) else value


Line = str | Phrase
"""A line of a text: data as it is, or a message to be translated."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A list inside a text. It is shown as far as it fits; `rest` then says how to get what was left out.

    `rest` may use the placeholders {shown} and {left_out}.
    """

    lines: Sequence[Line]
    rest: Phrase


Text = Sequence[Line | Rows]
"""What a tool says, block by block; `rendering` puts it into words, within bounds."""
