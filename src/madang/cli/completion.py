"""`madang completion SHELL`: a script that completes commands, options and names of tools. It is made of the parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from madang.cli.one_line_parser import subparsers
from madang.cli.parser import make_parser
from madang.cli.terminal import show
from madang.services import prebuilt_schemas
from madang.settings import Settings

TOOL_COMMANDS = ("call", "tools")
FOLDER_OPTIONS = ("--data-dir", "--allow-folder")


@dataclass(frozen=True, slots=True)
class _Place:
    """What may come after the commands typed so far."""

    path: str
    words: tuple[str, ...]


def run(options: argparse.Namespace, _: Settings) -> int:
    """Print the script for one shell."""
    show(completion_script(options.shell))
    return 0


def completion_script(shell: str) -> str:
    """Return the script for bash, zsh or fish."""
    parser = make_parser(lambda _: lambda *_: 0)
    places = list(_places(parser, ""))
    match shell:
        case "fish":
            return _fish(places)
        case "zsh":
            return "#compdef madang\nautoload -U +X bashcompinit && bashcompinit\n" + _bash(places)
        case _:
            return _bash(places)


def _places(parser: argparse.ArgumentParser, path: str) -> Iterator[_Place]:
    words = [name for name, _ in subparsers(parser)]
    if path in TOOL_COMMANDS:
        words += prebuilt_schemas()
    for action in parser._actions:
        words += [name for name in action.option_strings if name.startswith("--")]
        if action.choices and not isinstance(action, argparse._SubParsersAction):
            words += map(str, action.choices)
    yield _Place(path, tuple(words))
    for name, inner in subparsers(parser):
        yield from _places(inner, f"{path} {name}".strip())


def _bash(places: list[_Place]) -> str:
    commands = [place.path for place in places if place.path]
    cases = "\n".join(f'        "{place.path}") words="{" ".join(place.words)}" ;;' for place in places)
    return f"""\
_madang() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" path="" word words
    case "$previous" in
        {"|".join(FOLDER_OPTIONS)}) COMPREPLY=($(compgen -d -- "$current")); return ;;
        --locale) COMPREPLY=($(compgen -W "en ko" -- "$current")); return ;;
        --file) COMPREPLY=($(compgen -f -- "$current")); return ;;
    esac
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "${{path:+$path }}$word" in
            {"|".join(f'"{command}"' for command in commands)}) path="${{path:+$path }}$word" ;;
        esac
    done
    case "$path" in
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    [[ ${{#COMPREPLY[@]}} -gt 0 ]] || COMPREPLY=($(compgen -f -- "$current"))
}}
complete -F _madang madang"""


def _fish(places: list[_Place]) -> str:
    lines = ["complete -c madang -f"]
    first = [place.path for place in places if place.path and " " not in place.path]
    for place in places:
        typed = place.path.split()
        if not typed:
            condition = f"not __fish_seen_subcommand_from {' '.join(first)}"
        else:
            condition = " && ".join(f"__fish_seen_subcommand_from {word}" for word in typed)
        lines.append(f"complete -c madang -n '{condition}' -a '{' '.join(place.words)}'")
    return "\n".join(lines)
