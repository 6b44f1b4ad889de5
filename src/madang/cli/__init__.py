"""The `madang` command. An error becomes one line and an exit code."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from madang.cli.language import argparse_language, command_locale
from madang.cli.logs import configure_logging, log_uncaught_errors
from madang.cli.one_line_parser import Parser
from madang.cli.parser import DEFAULT_ADDRESS, Command, make_parser
from madang.cli.streams import OutputFailed, discard_output, prepare_streams
from madang.cli.terminal import show_error
from madang.core.calls import Locale
from madang.core.errors import MadangError
from madang.core.phrases import say
from madang.rendering.catalogue import translator
from madang.settings import Settings, default_data_dir, read_settings

COMMANDS = {
    "mcp": "serve:mcp",
    "call": "tools:call",
    "tools": "tools:listing",
    "run": "run:run",
    "chat": "chat:run",
    "web": "web:run",
    "answer": "answer:run",
    "doctor": "doctor:check",
    "sessions": "sessions:run",
    "undo": "undo:run",
    "assistants": "assistants:run",
    "workspace": "workspace:run",
    "models": "models:run",
    "install": "install:install",
    "uninstall": "install:uninstall",
    "backup": "data:backup",
    "restore": "data:restore",
    "export": "data:export",
    "import": "data:import_",
    "delete": "data:delete",
    "token": "tokens:run",
    "completion": "completion:run",
}
"""The module of each command here, and its function."""
TELLING = ("call", "doctor")
"""Commands that answer with the reason why a service cannot be used: their log need not say it before them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 a tool or check failed, 2 wrong use or set-up.

    It is 1 also where the output cannot be written, whatever was done by then; a reader that went away has enough.
    """
    prepare_streams(is_own_process=arguments is None)
    if arguments is None:
        log_uncaught_errors()
    words = sys.argv[1:] if arguments is None else list(arguments)
    locale: Locale = command_locale(words, os.environ)
    try:
        try:
            return _run(words, locale)
        finally:
            sys.stdout.flush()  # here, where a failure can still be told; also after --help, which ends by itself
    except OutputFailed as error:
        discard_output()
        if error.is_reader_gone:
            return 0
        message = say("The output cannot be written: {reason}.", reason=str(error))
        show_error(message.render(translator(locale)))
        return 1
    except KeyboardInterrupt:
        return 130


def _run(words: list[str], locale: Locale) -> int:
    options = _parse(words, locale)
    name = options.command_name
    configure_logging(is_verbose=options.verbose, tells_reasons=name in TELLING, tells_outages=name in ("run", "chat"))
    try:
        settings = _settings(options)
        locale = settings.locale
        code: int = options.command(options, settings)
        return code
    except MadangError as error:
        translate = translator(locale)
        hint = f" {error.hint.render(translate)}" if error.hint else ""
        show_error(f"{error.message.render(translate)}{hint}")
        return 2


def _parse(words: list[str], locale: Locale) -> argparse.Namespace:
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    with argparse_language(locale):
        options: argparse.Namespace = _parser(words, locale).parse_args(words)
    # An option may stand before the command too; of those that may be repeated, both places count.
    folders = [*(options.allow_folder_first or ()), *(getattr(options, "allow_folder", None) or ())]
    options.allow_folder = folders or None
    if options.command is None:
        options.command = _lazily(_plain_command(options))
    return options


def _plain_command(options: argparse.Namespace) -> str:
    """Return what plain `madang` starts: the chat for a person, and MCP for a program.

    A service (its standard input is /dev/null) has neither a person nor a pipe: it serves MCP over HTTP. That takes no
    browser and prints no launch code into a log; `madang web --no-open` is the chat as a service.
    """
    if options.http is not None:
        return "mcp"
    if options.port is not None or options.no_open or os.isatty(0):
        return "web"
    if not _is_started_by_a_client():
        options.http = DEFAULT_ADDRESS
    return "mcp"


def _settings(options: argparse.Namespace) -> Settings:
    return read_settings(
        os.environ,
        data_dir=options.data_dir,
        assistant=options.assistant,
        session=options.session,
        user=options.user,
        locale=options.locale,
        ui=options.ui,
        ask=options.ask,
        services=options.services,
        database=options.database,
        allow_folders=options.allow_folder,
        workspace=options.workspace,
    )


def _is_started_by_a_client() -> bool:
    """Tell whether standard input is a pipe, a socket (as Node makes them) or a file: then MCP is spoken over it."""
    try:
        return not stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:  # it is closed
        return False


def _parser(wanted: Sequence[str] | None = None, locale: Locale = "en") -> Parser:
    try:
        folder = str(default_data_dir(os.environ))
    except MadangError:  # told later, if it is needed
        folder = ""
    return make_parser(_lazily, locale, wanted, folder)


def _lazily(name: str) -> Command:
    """Return a command that is imported when it runs: `madang mcp` needs none of the others."""

    def run(options: argparse.Namespace, settings: Any) -> int:
        module, _, function = COMMANDS[name].partition(":")
        code: int = getattr(import_module(f"madang.cli.{module}"), function)(options, settings)
        return code

    return run
