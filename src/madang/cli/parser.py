"""The words of the command line: commands, options, and their help in the person's language."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from madang import __version__
from madang.cli.agent_options import AGENT_COMMANDS, add_web_options, add_workspace_actions
from madang.cli.one_line_parser import Parser
from madang.cli.session_options import add_session_actions
from madang.cli.terminal import text_width
from madang.core.calls import Locale
from madang.core.phrases import Phrase, say
from madang.core.texts import one_line
from madang.rendering.catalogue import translator

DEFAULT_ADDRESS = "127.0.0.1:8321"
SHELLS = ("bash", "zsh", "fish")

Command = Callable[[argparse.Namespace, Any], int]


def make_parser(
    run: Callable[[str], Command], locale: Locale = "en", wanted: Sequence[str] | None = None, data_dir: str = ""
) -> Parser:
    """Return the parser. `run` gives the function of a command; its options hold it as `command`.

    Only commands among the words `wanted` get their options, by default all: a client waits for the start of
    `madang mcp`, which needs no others.
    """
    return _Builder(run, locale, wanted, data_dir).parser()


class _Builder:
    def __init__(
        self, run: Callable[[str], Command], locale: Locale, wanted: Sequence[str] | None, data_dir: str
    ) -> None:
        self._run = run
        self._translate = translator(locale)
        self._wanted = wanted
        self._data_dir = data_dir

    def parser(self) -> Parser:
        parser = self._parser(
            prog="madang",
            usage="madang [OPTION …] [COMMAND …]",
            description=self._say(say("A workbench that a person and an agent share: an MCP server and its tools.")),
            epilog=self._epilog(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.also = ("help",)
        parser.set_defaults(command=None, command_name="")
        version = self._say(say("print the version"))
        parser.add_argument("--version", action="version", version=f"madang {__version__}", help=version)
        self._add_shared(parser, None)
        self._add_serving(parser, None)
        add_web_options(parser, self._say, None)
        commands = parser.add_subparsers(
            title=self._say(say("commands")),
            description=self._say(say("'madang COMMAND --help' says more; options stand before or after it.")),
            metavar="COMMAND",
            parser_class=self._parser_class,
            prog="madang",
        )
        self._add_everyday(commands)
        self._add_agent(commands)
        self._add_setup(commands)
        self._add_data(commands)
        return parser

    def _say(self, phrase: Phrase) -> str:
        # argparse takes a percent sign for the beginning of a value; a data folder may have one in its name.
        return phrase.render(self._translate).replace("%", "%%")

    @property
    def _parser_class(self) -> Any:
        # argparse calls it and nothing else, whatever its types ask for.
        return self._parser

    def _parser(self, **options: Any) -> Parser:
        parser = Parser(add_help=False, **options)
        parser.translate = self._translate
        help = self._say(say("print this help"))
        parser.add_argument("-h", "--help", action="help", default=argparse.SUPPRESS, help=help)
        return parser

    def _epilog(self) -> str:
        rows = [
            (
                self._say(say("without a command")),
                self._say(say("in a terminal the chat in the browser, as 'madang web';")),
            ),
            ("", self._say(say("MCP for a program that started it, over its pipe"))),
            ("madang install claude-desktop", self._say(say("connect a client"))),
            ("madang tools add_todo", self._say(say("what a tool does and takes"))),
            ('madang call add_todo \'{"name": "…"}\'', self._say(say("call a tool"))),
            (self._say(say("data folder")), one_line(self._data_dir)),
            (self._say(say("variables")), "MADANG_DATA_DIR, MADANG_LOCALE, MADANG_DATABASE, MADANG_TOKEN, …"),
        ]
        return "\n".join(f"  {left}{' ' * (38 - text_width(left))}{right}".rstrip() for left, right in rows)

    # Options that several commands have

    def _add_shared(self, parser: argparse.ArgumentParser, default: str | None) -> None:
        """Add what every command takes, which may stand before it as well: there the default is None."""

        def add(name: str, metavar: str, help: Phrase, **more: Any) -> None:
            parser.add_argument(name, metavar=metavar, default=default, help=self._say(help), **more)

        add("--data-dir", "DIR", say("where everything is kept (default: {folder})", folder=self._data_dir))
        add(
            "--database",
            "URL",
            say(
                "a PostgreSQL server instead of a file there; with a password, better in MADANG_DATABASE: others on "
                "this machine can see the command line"
            ),
        )
        add("--assistant", "NAME", say("whose playbooks (default: default)"))
        add("--session", "NAME", say("which session's plan (default: default)"))
        add("--user", "NAME", say("whose data, where several people share a database (default: local)"))
        add("--locale", "en|ko", say("the language of texts (default: that of the terminal, by LC_ALL or LANG)"))
        add(
            "--allow-folder",
            "DIR",
            say("a folder that files may be imported from; may be given several times (default: none)"),
            action="append",
            dest="allow_folder" if default else "allow_folder_first",
        )
        add(
            "--workspace",
            "DIR",
            say(
                "your own folder for the session of mcp, web, chat, run or call to work in, from now on (default: one "
                "of its own)"
            ),
        )
        add("--services", "A,B", say("offer only these services (default: all)"))

    def _add_serving(self, parser: argparse.ArgumentParser, default: str | None) -> None:
        parser.add_argument(
            "--http",
            metavar="HOST:PORT",
            nargs="?",
            const=DEFAULT_ADDRESS,
            default=default,
            help=self._say(say("serve over HTTP, here (default: {address})", address=DEFAULT_ADDRESS)),
        )
        parser.add_argument(
            "--ui",
            metavar="auto|linked|embedded|off",
            default=default,
            help=self._say(say("how pages reach the client (default: auto)")),
        )
        parser.add_argument(
            "--ask",
            metavar="auto|elicit",
            default=default,
            help=self._say(say("elicit: ask through the client's own forms")),
        )
        parser.add_argument(
            "--verbose",
            action="store_true",
            default=default or False,
            help=self._say(say("log every call to standard error")),
        )

    # Commands

    def _add_everyday(self, commands: Any) -> None:
        mcp = self._command(commands, "mcp", say("serve MCP over stdio, or over HTTP"))
        if mcp:
            self._add_serving(mcp, argparse.SUPPRESS)
        call = self._command(commands, "call", say("call one tool and print its answer"))
        if call:
            call.add_argument("tool", metavar="TOOL", help=self._say(say("its name; 'madang tools' lists them")))
            call.add_argument(
                "arguments", nargs="?", default="{}", metavar="JSON", help=self._say(say("an object, or - to read it"))
            )
            self._add_json(call, say("print the structured result"))
        tools = self._command(commands, "tools", say("list the tools and what their schemas cost, or explain one"))
        if tools:
            tools.add_argument("tool", nargs="?", metavar="NAME", help=self._say(say("explain this tool")))
            self._add_json(tools, say("print JSON, with the schemas"))
        doctor = self._command(commands, "doctor", say("check what Madang needs, and say what to do"))
        if doctor:
            self._add_json(doctor, say("print JSON, for a report"))
        self._group(
            commands, "sessions", say("list, search, branch, copy, export and delete sessions"), self._session_actions
        )
        self._group(
            commands, "assistants", say("list assistants, and choose what each may use"), self._assistant_actions
        )
        folders = say("say whether runs in a folder of yours follow its AGENTS.md")
        self._group(commands, "workspace", folders, self._workspace_actions)
        models = self._command(commands, "models", say("list the models that can be used, and try one"))
        if models:
            models.add_argument("model", nargs="*", metavar="[try] MODEL", help=self._say(say("try this model")))
            models.add_argument(
                "--stories",
                action="store_true",
                help=self._say(say("try it with twelve tasks, in a folder of their own, and judge what it did")),
            )
            models.add_argument("--key", metavar="NAME", help=self._say(say("keep a key, from standard input")))
            models.add_argument("--forget", metavar="NAME", help=self._say(say("forget a key that was kept")))
            self._add_json(models, say("print JSON"))

    def _add_agent(self, commands: Any) -> None:
        for name, help, add_options in AGENT_COMMANDS:
            command = self._command(commands, name, help)
            if command:
                add_options(command, self._say)

    def _add_setup(self, commands: Any) -> None:
        install = self._command(commands, "install", say("connect a client: put Madang into its configuration"))
        if install:
            self._add_client(install)
            self._add_serving(install, argparse.SUPPRESS)
            install.add_argument(
                "--uvx", action="store_true", help=self._say(say("have the client start it with uvx, not by its path"))
            )
        uninstall = self._command(commands, "uninstall", say("take Madang out of a client's configuration again"))
        if uninstall:
            self._add_client(uninstall)
        token = self._command(commands, "token", say("print the token of the HTTP server, and keep it from now on"))
        if token:
            token.add_argument("--new", action="store_true", help=self._say(say("make a new one: the old one ends")))
        completion = self._command(commands, "completion", say("print a script that completes commands in your shell"))
        if completion:
            completion.add_argument("shell", choices=SHELLS, metavar="|".join(SHELLS))

    def _add_client(self, parser: Parser) -> None:
        which = say("claude-desktop, claude-code, vscode, cursor, codex, … (without one: list them)")
        parser.add_argument("client", nargs="?", metavar="CLIENT", help=self._say(which))
        parser.add_argument("--dry-run", action="store_true", help=self._say(say("only show what would be changed")))
        parser.add_argument(
            "--name", default="madang", metavar="NAME", help=self._say(say("the name of the server (default: madang)"))
        )
        parser.add_argument(
            "--file", metavar="FILE", help=self._say(say("the client's file (default: that of this user)"))
        )

    def _add_data(self, commands: Any) -> None:
        """Add what handles all data at once."""
        backup = self._command(commands, "backup", say("back up the data folder to one file, also while it is used"))
        restore = self._command(commands, "restore", say("fill an empty data folder from a backup"))
        export = self._command(commands, "export", say("write everything to a ZIP file that people can read"))
        imports = self._command(commands, "import", say("add everything of such a file"))
        files = (
            (backup, say("the file to write")),
            (restore, say("a file that 'madang backup' wrote")),
            (export, say("the ZIP file to write")),
            (imports, say("a file that 'madang export --all' wrote")),
        )
        for command, help in files:
            if command:
                command.add_argument("file", metavar="FILE", help=self._say(help))
        if imports:
            self._add_trust(imports)
        delete = self._command(commands, "delete", say("delete everything in the data folder"))
        if delete:
            delete.add_argument("--yes", action="store_true", help=self._say(say("do not ask")))
        for command in filter(None, (export, delete)):
            command.add_argument("--all", action="store_true", required=True, help=self._say(say("of all sessions")))

    def _add_json(self, parser: argparse.ArgumentParser, help: Phrase) -> None:
        parser.add_argument("--json", action="store_true", help=self._say(help))

    def _command(self, commands: Any, name: str, help: Phrase) -> Parser | None:
        """Add a command; without its options, and None, if nobody asks for it now."""
        parser: Parser = commands.add_parser(name, help=self._say(help), description=self._sentence(help))
        if self._wanted is not None and name not in self._wanted:
            return None
        self._add_shared(parser, argparse.SUPPRESS)
        parser.set_defaults(command=self._run(name), command_name=name)
        return parser

    def _group(self, commands: Any, name: str, help: Phrase, add_actions: Callable[[Any], None]) -> None:
        parser: Parser = commands.add_parser(name, help=self._say(help), description=self._sentence(help))
        if self._wanted is not None and name not in self._wanted:
            return
        self._add_shared(parser, argparse.SUPPRESS)
        parser.set_defaults(command=self._run(name), action="list")
        actions = parser.add_subparsers(
            title=self._say(say("actions (without one: list)")), metavar="ACTION", parser_class=self._parser_class
        )
        add_actions(actions)

    def _sentence(self, help: Phrase) -> str:
        text = self._say(help)
        return f"{text[:1].upper()}{text[1:]}."

    def _action(self, actions: Any, group: str, name: str, help: Phrase) -> Parser:
        parser: Parser = actions.add_parser(name, help=self._say(help), description=self._sentence(help))
        self._add_shared(parser, argparse.SUPPRESS)
        parser.set_defaults(command=self._run(group), action=name)
        return parser

    def _session_actions(self, actions: Any) -> None:
        add_session_actions(
            lambda name, help: self._action(actions, "sessions", name, help), self._say, self._add_trust
        )
        self._add_undo(self._action(actions, "undo", "undo", say("take back what a run did")))

    def _add_undo(self, undo: Parser) -> None:
        undo.add_argument("name", metavar="NAME", help=self._say(say("the session")))
        which = say("the run (default: the last one that changed something)")
        undo.add_argument("run", nargs="?", metavar="RUN", help=self._say(which))
        what = undo.add_mutually_exclusive_group()
        listing = say("only list the runs, or what RUN changed")
        what.add_argument("--list", action="store_true", help=self._say(listing))
        forget = say("delete the copies, of RUN or of all runs: nothing can be taken back then")
        what.add_argument("--forget", action="store_true", help=self._say(forget))
        operation = say("take back one operation, as a change of the plan or a deletion; without ID, list them")
        what.add_argument("--operation", nargs="?", const="", metavar="ID", help=self._say(operation))
        some = say("only this file or folder; may be given several times")
        undo.add_argument("--file", action="append", dest="files", metavar="PATH", help=self._say(some))
        force = say("also replace what was changed after the run")
        undo.add_argument("--force", action="store_true", help=self._say(force))
        self._add_json(undo, say("print JSON"))

    def _add_trust(self, parser: argparse.ArgumentParser) -> None:
        trust = say("take it however large it is: only if you made it")
        parser.add_argument("--trust", action="store_true", help=self._say(trust))

    def _workspace_actions(self, actions: Any) -> None:
        add_workspace_actions(lambda name, help: self._action(actions, "workspace", name, help), self._say)

    def _assistant_actions(self, actions: Any) -> None:
        def add(name: str, help: Phrase) -> Parser:
            return self._action(actions, "assistants", name, help)

        add("list", say("list the assistants that were set up"))
        show = add("show", say("show one assistant"))
        grant = add("grant", say("let an assistant use these services and no others"))
        setup = add("set", say("say how an assistant works: its model, instructions, limits"))
        for action in (show, grant, setup):
            action.add_argument("id", metavar="ID", help=self._say(say("the assistant")))
        setup.add_argument(
            "--model",
            metavar="NAME",
            dest="own_model",
            help=self._say(say("its language model; '' is none of its own")),
        )
        instructions = say("a file with what its model is told beside the rest; - is standard input")
        setup.add_argument("--instructions", metavar="FILE", help=self._say(instructions))
        ask = say("services for which you are asked before anything is changed; 'none' for no service")
        setup.add_argument("--ask-first", metavar="SERVICE", nargs="+", help=self._say(ask))
        limit = say("turns, calls, tokens, cost or unattended_minutes of a run, such as turns=50; turns= takes it away")
        setup.add_argument("--limit", metavar="NAME=VALUE", nargs="+", help=self._say(limit))
        chosen = grant.add_mutually_exclusive_group(required=True)
        chosen.add_argument("granted", metavar="SERVICE", nargs="*", default=[])
        default = say("all services that neither run code nor reach out")
        chosen.add_argument("--default", action="store_true", help=self._say(default))
