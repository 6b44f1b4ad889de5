"""The `madang` command. An error becomes one line and an exit code."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from madang import __version__
from madang.cli import serve
from madang.cli.logs import configure_logging, log_uncaught_errors
from madang.cli.terminal import show_error
from madang.core.errors import MadangError
from madang.core.texts import one_line
from madang.rendering.catalogue import translator
from madang.settings import ASK_CHOICES, UI_CHOICES, Settings, read_settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0 done, 1 a tool or check failed, 2 wrong use or set-up."""
    _configure_streams()
    if arguments is None:  # the process is ours
        log_uncaught_errors()
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        # Until there is a web host, plain `madang` starts what it will be built on.
        options = parser.parse_args(["mcp", "--http"])
    configure_logging(is_verbose=options.verbose)
    locale = options.locale or os.environ.get("MADANG_LOCALE")
    try:
        settings = read_settings(
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
        )
        locale = settings.locale
        code: int = options.command(options, settings)
        sys.stdout.flush()  # here, where a closed pipe can still be handled
        return code
    except MadangError as error:
        translate = translator("ko" if locale == "ko" else "en")
        hint = f" {error.hint.render(translate)}" if error.hint else ""
        show_error(f"{error.message.render(translate)}{hint}")
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output closed it; without this, Python's flush at exit would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _configure_streams() -> None:
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if sys.platform == "win32" and not stream.isatty():
                # Pipes and files have the ANSI code page there, which cannot hold most of our texts.
                stream.reconfigure(encoding="utf-8")
            # A terminal that cannot show Korean gets escapes: the command has done its work by then.
            stream.reconfigure(errors="backslashreplace")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors, which quote the command line, stay on one line."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message))


# Each command imports what it needs when it runs: a client waits for the start of `madang mcp`, which needs none of it.


def _call(options: argparse.Namespace, settings: Settings) -> int:
    from madang.cli import tools

    return tools.call(options, settings)


def _listing(options: argparse.Namespace, settings: Settings) -> int:
    from madang.cli import tools

    return tools.listing(options, settings)


def _check(options: argparse.Namespace, settings: Settings) -> int:
    from madang.cli import doctor

    return doctor.check(options, settings)


def _sessions(options: argparse.Namespace, settings: Settings) -> int:
    from madang.cli import sessions

    return sessions.run(options, settings)


def _assistants(options: argparse.Namespace, settings: Settings) -> int:
    from madang.cli import assistants

    return assistants.run(options, settings)


def _parser() -> argparse.ArgumentParser:
    shared = _Parser(add_help=False)
    shared.add_argument("--data-dir", metavar="DIR", help="where everything is kept")
    shared.add_argument(
        "--database",
        metavar="URL",
        help="a PostgreSQL server instead of a file there; with a password, better in MADANG_DATABASE: others on this "
        "machine can see the command line",
    )
    shared.add_argument("--assistant", metavar="NAME", help="whose playbooks (default: default)")
    shared.add_argument("--session", metavar="NAME", help="which session's plan (default: default)")
    shared.add_argument(
        "--user", metavar="NAME", help="whose data, where several people share a database (default: local)"
    )
    shared.add_argument("--locale", metavar="en|ko", help="the language of texts (default: en)")
    shared.add_argument(
        "--allow-folder",
        metavar="DIR",
        action="append",
        help="a folder that files may be imported from; may be given several times (default: none)",
    )
    shared.add_argument("--services", metavar="A,B", help="offer only these services (default: all)")

    parser = _Parser(prog="madang", description="A workbench that a person and an agent share.")
    parser.add_argument("--version", action="version", version=f"madang {__version__}")
    parser.set_defaults(command=None, ui=None, ask=None, verbose=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    mcp = commands.add_parser("mcp", parents=[shared], help="serve MCP over stdio, or over HTTP")
    mcp.add_argument(
        "--http", metavar="HOST:PORT", nargs="?", const=serve.DEFAULT_ADDRESS, help="serve over HTTP, here"
    )
    mcp.add_argument("--ui", metavar="|".join(UI_CHOICES), help="how pages reach the client (default: auto)")
    mcp.add_argument("--ask", metavar="|".join(ASK_CHOICES), help="elicit: ask through the client's own forms")
    mcp.add_argument("--verbose", action="store_true", help="log every call to standard error")
    mcp.set_defaults(command=serve.mcp)

    call = commands.add_parser("call", parents=[shared], help="call one tool and print its answer")
    call.add_argument("tool")
    call.add_argument("arguments", nargs="?", default="{}", metavar="JSON", help="an object, or - to read it")
    call.add_argument("--json", action="store_true", help="print the structured result")
    call.set_defaults(command=_call)

    listing = commands.add_parser("tools", parents=[shared], help="list the tools and what their schemas cost")
    listing.set_defaults(command=_listing)

    check = commands.add_parser("doctor", parents=[shared], help="check what Madang needs, and say what to do")
    check.set_defaults(command=_check)

    sessions = commands.add_parser("sessions", help="list, rename, delete, copy, export and import sessions")
    _add_session_actions(sessions.add_subparsers(title="actions", metavar="ACTION", required=True), shared)
    assistants = commands.add_parser("assistants", help="list assistants, and choose what each may use")
    _add_assistant_actions(assistants.add_subparsers(title="actions", metavar="ACTION", required=True), shared)
    return parser


def _add_session_actions(actions: argparse._SubParsersAction[_Parser], shared: _Parser) -> None:
    def add(name: str, help: str) -> argparse.ArgumentParser:
        action = actions.add_parser(name, parents=[shared], help=help)
        action.set_defaults(command=_sessions, action=name)
        return action

    add("list", "list the sessions, newest first")
    rename = add("rename", "give a session a title; an empty one takes it away")
    delete = add("delete", "delete a session with everything in it")
    copy = add("copy", "copy a session to a new one")
    export = add("export", "write a session to a ZIP file")
    for action in (rename, delete, copy, export):
        action.add_argument("name", metavar="NAME", help="the session")
    rename.add_argument("title", metavar="TITLE")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    copy.add_argument("target", metavar="NEW", help="the name of the copy")
    copy.add_argument("--title", metavar="TITLE", help="its title (default: that of the session)")
    export.add_argument("file", metavar="FILE")
    imports = add("import", "make a new session of such a file; --session names it (default: a new name)")
    imports.add_argument("file", metavar="FILE")
    imports.add_argument("--trust", action="store_true", help="take it however large it is: only if you made it")


def _add_assistant_actions(actions: argparse._SubParsersAction[_Parser], shared: _Parser) -> None:
    def add(name: str, help: str) -> argparse.ArgumentParser:
        action = actions.add_parser(name, parents=[shared], help=help)
        action.set_defaults(command=_assistants, action=name)
        return action

    add("list", "list the assistants that were set up")
    show = add("show", "show one assistant")
    grant = add("grant", "let an assistant use these services and no others")
    for action in (show, grant):
        action.add_argument("id", metavar="ID", help="the assistant")
    chosen = grant.add_mutually_exclusive_group(required=True)
    chosen.add_argument("granted", metavar="SERVICE", nargs="*", default=[])
    chosen.add_argument("--default", action="store_true", help="all services that neither run code nor reach out")
