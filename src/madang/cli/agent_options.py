"""The options of the commands that talk with the agent."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from madang.core.phrases import Phrase, say

Words = Callable[[Phrase], str]
"""Returns a phrase in the person's language, as argparse takes it."""


def _add_run(parser: argparse.ArgumentParser, words: Words) -> None:
    message = say("what it should do; standard input is added to it")
    parser.add_argument("message", nargs="?", metavar="MESSAGE", help=words(message))
    _add_conversation(parser, words)
    parser.add_argument("--playbook", metavar="ID", help=words(say("have it follow this playbook")))
    file = say("give it a file; may be given several times")
    parser.add_argument("--file", metavar="PATH", action="append", help=words(file))
    parser.add_argument(
        "--json", action="store_true", help=words(say("print the events of the run, a line of JSON each"))
    )


def _add_answer(parser: argparse.ArgumentParser, words: Words) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help=words(say("what is answered; without: list")))
    text = say("a text, or numbers or words of a choice; - reads it from standard input")
    parser.add_argument("words", nargs="*", metavar="TEXT|N", help=words(text))
    how = parser.add_mutually_exclusive_group()
    for option, help in (
        ("--decline", say("give no answer")),
        ("--allow", say("allow the call this once")),
        ("--allow-session", say("allow the tool in this session from now on")),
        ("--deny", say("do not allow the call")),
    ):
        how.add_argument(option, action="store_true", help=words(help))


def _add_conversation(parser: argparse.ArgumentParser, words: Words) -> None:
    parser._option_string_actions["--session"].help = words(say("which session (default: a new one)"))
    _add_model(parser, words, argparse.SUPPRESS)
    last = say("go on with the last session")
    parser.add_argument("--continue", dest="resume", action="store_true", help=words(last))
    rules = say("a file that says which tools are allowed or denied without asking")
    parser.add_argument("--rules", metavar="FILE", help=words(rules))


def add_web_options(parser: argparse.ArgumentParser, words: Words, default: str | None) -> None:
    """Add what `madang web` takes, which may be given to plain `madang` as well: there the default is None."""
    port = say("the port of the chat (default: 8321, or the next free one if another program has it)")
    parser.add_argument("--port", type=int, metavar="PORT", default=default, help=words(port))
    no_open = say("print the address of the chat, and open no browser")
    parser.add_argument("--no-open", action="store_true", default=default or False, help=words(no_open))
    _add_model(parser, words, default)


def add_workspace_actions(add: Callable[[str, Phrase], argparse.ArgumentParser], words: Words) -> None:
    """Add the actions of `madang workspace`."""
    add("list", say("list the folders whose AGENTS.md you have decided on"))
    trust = add("trust", say("have runs in a folder follow its AGENTS.md, as it is now"))
    distrust = add("distrust", say("have them follow it no longer"))
    for action in (trust, distrust):
        action.add_argument("folder", metavar="DIR", help=words(say("the folder")))


def _add_web(parser: argparse.ArgumentParser, words: Words) -> None:
    add_web_options(parser, words, argparse.SUPPRESS)


def _add_model(parser: argparse.ArgumentParser, words: Words, default: str | None) -> None:
    model = say("the language model (default: MADANG_MODEL, then the assistant's own)")
    parser.add_argument("--model", metavar="MODEL", default=default, help=words(model))


AGENT_COMMANDS: tuple[tuple[str, Phrase, Callable[[argparse.ArgumentParser, Words], None]], ...] = (
    ("run", say("give the agent a message, and print its answer"), _add_run),
    ("chat", say("talk with the agent in a terminal"), _add_conversation),
    ("web", say("open the chat in the browser"), _add_web),
    ("answer", say("answer what waits for you, or list it"), _add_answer),
)
