"""`madang doctor`: checks what the product needs, and says how to mend each problem."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import stat
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import apsw

from madang.app import open_madang
from madang.cli.terminal import show
from madang.core.calls import LOCALES
from madang.core.errors import MadangError
from madang.core.texts import one_line
from madang.rendering import pages
from madang.rendering.catalogue import translator
from madang.settings import Settings, prepare_data_dir
from madang.storage.postgresql.address import parse_database_url
from madang.storage.sqlite import MIN_SQLITE_VERSION

MIN_FREE_BYTES = 100 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; a `remedy` makes it a failure."""

    subject: str
    result: str
    remedy: str = ""


def check(_: argparse.Namespace, settings: Settings) -> int:
    """Print the findings; the exit code is 1 if a check failed."""
    return asyncio.run(_check(settings))


async def _check(settings: Settings) -> int:
    failures = 0
    async for finding in _findings(settings):
        failures += bool(finding.remedy)
        show(f"{'FAIL' if finding.remedy else 'ok  '}  {one_line(f'{finding.subject}: {finding.result}')}")
        if finding.remedy:
            show(f"      {one_line(finding.remedy)}")
    show(f"{failures} check(s) failed." if failures else "All checks passed.")
    return 1 if failures else 0


async def _findings(settings: Settings) -> AsyncIterator[Finding]:
    yield Finding("Python", sys.version.split()[0])
    yield _sqlite()
    try:
        prepare_data_dir(settings.data_dir)
    except MadangError as error:
        yield Finding("Data folder", str(error), str(error.hint))
        return
    yield _privacy("Data folder", settings.data_dir, 0o700)
    yield _disk(settings)
    async with open_madang(settings) as madang:
        await madang.provider.open_all()
        for name, status in madang.provider.status.items():
            metadata = madang.provider.get_service_metadata(name)
            # A service that this platform does not have yet is no fault of the installation.
            is_expected = status.state == "ready" or (metadata is not None and not metadata.is_supported)
            remedy = "" if is_expected else "See the reason; 'madang call' with one of its tools tells more."
            yield Finding(f"Service {name}", f"{status.state} {status.reason}".strip(), remedy)
    if settings.database:
        yield await _server(settings)
    else:
        yield _database(settings)
        if settings.database_path.exists():
            yield _privacy("Database file", settings.database_path, 0o600)
    yield _ripgrep()
    yield _catalogue()
    yield _pages()


def _sqlite() -> Finding:
    version = apsw.sqlite_lib_version()
    is_new_enough = tuple(map(int, version.split("."))) >= MIN_SQLITE_VERSION
    return Finding("SQLite", version, "" if is_new_enough else "Install a newer apsw: pip install -U apsw")


def _privacy(subject: str, path: Path, private_mode: int) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    # Windows has access control lists instead: a profile's folders are private to their user by default.
    if sys.platform != "win32" and mode & 0o077:
        return Finding(subject, f"{path} can be read by others (mode {mode:o})", f"chmod {private_mode:o} '{path}'")
    return Finding(subject, str(path))


def _disk(settings: Settings) -> Finding:
    free = shutil.disk_usage(settings.data_dir).free
    remedy = "" if free >= MIN_FREE_BYTES else "Free some space: Madang refuses to write on a full disk."
    return Finding("Free disk space", f"{free // 1024**2} MiB", remedy)


async def _server(settings: Settings) -> Finding:
    from madang.storage.postgresql.database import PostgresDatabase

    try:
        return Finding("Database server", await PostgresDatabase(parse_database_url(settings.database)).describe())
    except MadangError as error:
        return Finding("Database server", str(error), str(error.hint or "See the reason."))


def _database(settings: Settings) -> Finding:
    try:
        connection = apsw.Connection(str(settings.database_path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            result = str(connection.execute("PRAGMA quick_check(1)").get)
        finally:
            connection.close()
    except apsw.Error as error:
        result = str(error)
    remedy = f"Stop all Madang processes and restore {settings.database_path} from a backup."
    return Finding("Database", result, "" if result == "ok" else remedy)


def _ripgrep() -> Finding:
    from madang.services.workspace.engine.searching import find_ripgrep

    try:
        return Finding("ripgrep", find_ripgrep())
    except MadangError as error:
        return Finding("ripgrep", str(error), "Install it, for 'grep': pip install ripgrep")


def _catalogue() -> Finding:
    try:
        for locale in LOCALES:
            translator(locale)("")
    except OSError as error:
        return Finding("Languages", str(error), "Install Madang again: its message catalogue is missing.")
    return Finding("Languages", ", ".join(LOCALES))


def _pages() -> Finding:
    try:
        size = len(pages.render_page("", title="Madang", lang="en").encode())
    except Exception as error:
        return Finding("Pages", f"{type(error).__name__}: {error}", "Install Madang again: its page files are missing.")
    return Finding("Pages", f"can be drawn ({size} bytes before any content)")
