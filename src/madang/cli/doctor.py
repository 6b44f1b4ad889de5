"""`madang doctor`: checks what the product needs, and says how to mend each problem."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import stat
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import apsw

from madang import __version__
from madang.app import open_madang
from madang.cli.launcher import launch_command, shell_line
from madang.cli.terminal import show, show_json
from madang.core.calls import LOCALES
from madang.core.errors import MadangError
from madang.core.phrases import Phrase, Translate, layout, say
from madang.core.texts import one_line
from madang.database.postgresql.address import parse_database_url
from madang.database.sqlite.database import MIN_SQLITE_VERSION
from madang.rendering import pages
from madang.rendering.catalogue import translator
from madang.settings import Settings, prepare_data_dir

MIN_FREE_BYTES = 100 * 1024 * 1024
START_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; a `remedy` makes it a failure."""

    check: str
    """Its name in JSON, the same in every language."""
    subject: Phrase
    result: Phrase
    remedy: Phrase | None = None


def check(options: argparse.Namespace, settings: Settings) -> int:
    """Print the findings; the exit code is 1 if a check failed."""
    return asyncio.run(_check(settings, as_json=options.json))


async def _check(settings: Settings, *, as_json: bool) -> int:
    translate = translator(settings.locale)
    findings = []
    async for finding in _findings(settings):
        findings.append(finding)
        if not as_json:
            _show(finding, translate)
    failures = sum(finding.remedy is not None for finding in findings)
    if as_json:
        show_json(
            {"version": __version__, "ok": not failures, "checks": [_document(one, translate) for one in findings]}
        )
    else:
        failed = say("{count} check(s) failed.", count=failures)
        show((failed if failures else say("All checks passed.")).render(translate))
    return 1 if failures else 0


def _show(finding: Finding, translate: Translate) -> None:
    result = f"{finding.subject.render(translate)}: {finding.result.render(translate)}"
    show(f"{'FAIL' if finding.remedy else 'ok  '}  {one_line(result)}")
    if finding.remedy:
        show(f"      {one_line(finding.remedy.render(translate))}")


def _document(finding: Finding, translate: Translate) -> dict[str, object]:
    return {
        "check": finding.check,
        "ok": finding.remedy is None,
        "subject": finding.subject.render(translate),
        "result": finding.result.render(translate),
        "remedy": finding.remedy.render(translate) if finding.remedy else "",
    }


async def _findings(settings: Settings) -> AsyncIterator[Finding]:
    yield Finding("madang", layout("Madang"), say("{version} (MCP SDK {sdk})", version=__version__, sdk=version("mcp")))
    yield Finding("python", layout("Python"), layout("{version}", version=sys.version.split()[0]))
    yield _sqlite()
    yield _settings(settings)
    yield _command()
    try:
        prepare_data_dir(settings.data_dir)
    except MadangError as error:
        yield _failure("data-folder", say("Data folder"), error)
        return
    yield _privacy("data-folder", say("Data folder"), settings.data_dir, 0o700)
    yield _disk(settings)
    is_usable = True
    async for finding in _database(settings):
        is_usable = is_usable and finding.remedy is None
        yield finding
    if is_usable:
        # One cause, one finding: of a database that cannot be used, each service would say the same.
        async for finding in _services(settings):
            yield finding
    if not settings.database and settings.database_path.exists():
        yield _privacy("database-file", say("Database file"), settings.database_path, 0o600)
    yield _ripgrep()
    yield _catalogue()
    yield _pages()
    yield await _start(settings)


def _sqlite() -> Finding:
    number = apsw.sqlite_lib_version()
    is_new_enough = tuple(map(int, number.split("."))) >= MIN_SQLITE_VERSION
    remedy = None if is_new_enough else say("Install a newer apsw: pip install -U apsw")
    return Finding("sqlite", layout("SQLite"), layout("{number}", number=number), remedy)


def _settings(settings: Settings) -> Finding:
    result = say(
        "language {locale}, assistant {assistant}, session {session}, user {user}, services {services}; {config}",
        locale=settings.locale,
        assistant=settings.assistant,
        session=settings.session,
        user=settings.user,
        services=", ".join(settings.services) if settings.services else say("all"),
        config=say("from {path} too", path=str(settings.config_path))
        if settings.config_path.exists()
        else say("there is no config.toml"),
    )
    return Finding("settings", say("Settings"), result)


def _command() -> Finding:
    command = shell_line(launch_command())
    if shutil.which("madang"):
        return Finding("command", say("Command"), layout("{command}", command=command))
    result = say(
        "{command} ('madang' alone is not on the PATH; 'madang install' writes the whole path)", command=command
    )
    return Finding("command", say("Command"), result)


def _failure(check: str, subject: Phrase, error: MadangError) -> Finding:
    return Finding(check, subject, error.message, error.hint or say("See the reason."))


def _privacy(check: str, subject: Phrase, path: Path, private_mode: int) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    # Windows has access control lists instead: a profile's folders are private to their user by default.
    if sys.platform != "win32" and mode & 0o077:
        result = say("{path} can be read by others (mode {mode})", path=str(path), mode=f"{mode:o}")
        return Finding(
            check, subject, result, layout("chmod {mode} '{path}'", mode=f"{private_mode:o}", path=str(path))
        )
    return Finding(check, subject, layout("{path}", path=str(path)))


def _disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(settings.data_dir).free
    remedy = None if free >= MIN_FREE_BYTES else say("Free some space: Madang refuses to write on a full disk.")
    return Finding("disk", say("Free disk space"), layout("{size} MiB", size=free // 1024**2), remedy)


async def _database(settings: Settings) -> AsyncIterator[Finding]:
    if settings.database:
        yield await _server(settings)
    elif settings.database_path.exists():
        yield _file(settings)
    else:
        yield Finding("database", say("Database"), say("none yet: the first call makes it"))


async def _server(settings: Settings) -> Finding:
    try:
        address = parse_database_url(settings.database)
        from madang.database.postgresql.database import PostgresDatabase
    except MadangError as error:
        return _failure("database", say("Database server"), error)
    except ModuleNotFoundError:
        remedy = say("Install it: pip install 'madang[postgresql]'")
        return Finding(
            "database", say("Database server"), say("PostgreSQL needs asyncpg, which is not installed."), remedy
        )
    try:
        database = PostgresDatabase(address)
        described = await database.describe()
        await database.check_for_agents()
        return Finding("database", say("Database server"), layout("{described}", described=described))
    except MadangError as error:
        return _failure("database", say("Database server"), error)


def _file(settings: Settings) -> Finding:
    try:
        connection = apsw.Connection(str(settings.database_path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            result = str(connection.execute("PRAGMA quick_check(1)").get)
        finally:
            connection.close()
    except apsw.Error as error:
        result = str(error)
    remedy = say(
        "Stop all Madang processes, move {path} away, and restore a backup: madang restore FILE",
        path=str(settings.database_path),
    )
    return Finding("database", say("Database"), layout("{result}", result=result), None if result == "ok" else remedy)


async def _services(settings: Settings) -> AsyncIterator[Finding]:
    try:
        async with open_madang(settings) as madang:
            await madang.provider.open_all()
            for name, status in madang.provider.status.items():
                metadata = madang.provider.get_service_metadata(name)
                # A service that this platform does not have yet is no fault of the installation.
                is_expected = status.state == "ready" or (metadata is not None and not metadata.is_supported)
                yield Finding(
                    f"service-{name}",
                    say("Service {name}", name=name),
                    say("ready")
                    if status.state == "ready"
                    else layout("{state} {reason}", state=status.state, reason=status.reason),
                    None if is_expected else say("See the reason; 'madang call' with one of its tools tells more."),
                )
    except MadangError as error:
        yield _failure("services", say("Services"), error)


def _ripgrep() -> Finding:
    from madang.services.workspace.engine.ripgrep import find_ripgrep

    try:
        return Finding("ripgrep", layout("ripgrep"), layout("{path}", path=find_ripgrep()))
    except MadangError as error:
        return Finding("ripgrep", layout("ripgrep"), error.message, say("Install it, for 'grep': pip install ripgrep"))


def _catalogue() -> Finding:
    try:
        for locale in LOCALES:
            translator(locale)("")
    except OSError as error:
        remedy = say("Install Madang again: its message catalogue is missing.")
        return Finding("languages", say("Languages"), layout("{error}", error=str(error)), remedy)
    return Finding("languages", say("Languages"), layout("{locales}", locales=", ".join(LOCALES)))


def _pages() -> Finding:
    try:
        size = len(pages.render_page("", title="Madang", lang="en").encode())
    except Exception as error:
        remedy = say("Install Madang again: its page files are missing.")
        return Finding(
            "pages", say("Pages of tools"), layout("{error}", error=f"{type(error).__name__}: {error}"), remedy
        )
    return Finding("pages", say("Pages of tools"), say("can be drawn ({size} bytes before any content)", size=size))


async def _start(settings: Settings) -> Finding:
    """Start Madang as a client does, and shake hands with it."""
    command = [*launch_command(), "mcp", "--data-dir", str(settings.data_dir)]
    client = {"name": "madang-doctor", "version": __version__}
    greeting = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client},
    }
    subject, shown = say("Start by a client"), shell_line(command[:-2])
    remedy = say("Run it in a terminal to see why: {command}", command=shown)
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError as error:
        return Finding("start", subject, layout("{reason}", reason=error.strerror or str(error)), remedy)
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(greeting)}\n".encode())
        answer = await asyncio.wait_for(process.stdout.readline(), START_LIMIT_S)
        name = json.loads(answer)["result"]["serverInfo"]["name"]
        process.stdin.close()
        await asyncio.wait_for(process.wait(), START_LIMIT_S)
        return Finding("start", subject, say("answers as {name}: {command}", name=name, command=shown))
    except (TimeoutError, ValueError, KeyError, TypeError, OSError):
        return Finding("start", subject, say("no answer"), remedy)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
