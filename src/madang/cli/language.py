"""The language of the command line: which it is, phrases and argparse's own words in it."""

from __future__ import annotations

import gettext
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from madang.core.calls import LOCALES, Locale
from madang.core.phrases import Phrase, say
from madang.core.texts import one_line
from madang.rendering.catalogue import LOCALE_FOLDER, translator
from madang.settings import Settings, environment_locale

_ARGPARSE = (
    say("usage: "),
    say("positional arguments"),
    say("options"),
    say("show program's version number and exit"),
    say("argument %(argument_name)s: %(message)s"),
    say("%(prog)s: error: %(message)s\n"),
    say("the following arguments are required: %s"),
    say("one of the arguments %s is required"),
    say("not allowed with argument %s"),
    say("invalid choice: %(value)r (choose from %(choices)s)"),
    say("expected one argument"),
    say("expected at most one argument"),
    say("expected at least one argument"),
    say("ignored explicit argument %r"),
    say("ambiguous option: %(option)s could match %(matches)s"),
)
"""What argparse says by itself, for the catalogue."""


def command_locale(arguments: Sequence[str], environment: Mapping[str, str]) -> Locale:
    """Return the language of help and errors, before the options are parsed; a wrong `--locale` is told later."""
    told = environment.get("MADANG_LOCALE", "")
    for index, argument in enumerate(arguments):
        if argument == "--locale" and index + 1 < len(arguments):
            told = arguments[index + 1]
        elif argument.startswith("--locale="):
            told = argument.partition("=")[2]
    return next((locale for locale in LOCALES if locale == told), environment_locale(environment))


def words(settings: Settings, phrase: Phrase) -> str:
    """Return a phrase in the person's language."""
    return phrase.render(translator(settings.locale))


def line_of(settings: Settings, phrase: Phrase) -> str:
    """Return a phrase in the person's language that is safe for one line, whatever its values hold."""
    return one_line(words(settings, phrase))


@contextmanager
def argparse_language(locale: Locale) -> Iterator[None]:
    """Have argparse, which asks gettext, speak `locale` inside of the block."""
    if locale == "en":
        yield
        return
    language, domain = os.environ.get("LANGUAGE"), gettext.textdomain()
    gettext.bindtextdomain("madang", str(LOCALE_FOLDER))
    gettext.textdomain("madang")
    os.environ["LANGUAGE"] = locale
    try:
        yield
    finally:
        gettext.textdomain(domain)
        if language is None:
            del os.environ["LANGUAGE"]
        else:
            os.environ["LANGUAGE"] = language
