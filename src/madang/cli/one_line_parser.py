"""How an argument that is wrong is told: on one line, with a guess at what was meant."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from madang.core.phrases import Phrase, Translate, say
from madang.core.suggestions import did_you_mean
from madang.core.texts import one_line


class Parser(argparse.ArgumentParser):
    """A parser whose errors stay on one line, and offer what the person may have meant."""

    translate: Translate = staticmethod(lambda template: template)
    also: Sequence[str] = ()
    """Words that may stand for a command and are none."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))

    def say(self, phrase: Phrase) -> str:
        return phrase.render(self.translate)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            message = self.say(say("These arguments are not known: {arguments}.", arguments=" ".join(unknown)))
            suggestion = did_you_mean(unknown[0].partition("=")[0], sorted(set(_option_names(self))))
            self.error(f"{message} {self.say(suggestion)}" if suggestion else message)
        return options

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            hint = did_you_mean(value, [*action.choices, *self.also]) or say(
                "There are: {names}.", names=", ".join(map(str, action.choices))
            )
            message = say("There is no command '{name}'.", name=value)
            self.error(f"{self.say(message)} {self.say(hint)}")
        super()._check_value(action, value)


def subparsers(parser: argparse.ArgumentParser) -> Iterable[tuple[str, argparse.ArgumentParser]]:
    """Yield the commands of a parser with their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def _option_names(parser: argparse.ArgumentParser) -> Iterable[str]:
    for action in parser._actions:
        yield from action.option_strings
    for _, inner in subparsers(parser):
        yield from _option_names(inner)
