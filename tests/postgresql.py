"""A PostgreSQL server of the tests' own: started when the first test asks for it, gone with the session.

`database_in(folder)` has the shape of a back end of the contract suite: the same folder is the same database.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from madang.storage.postgresql.address import parse_database_url
from madang.storage.postgresql.database import PostgresDatabase

USER = "madang"
OPTIONS = "-c listen_addresses='' -c max_connections=200 -c unix_socket_directories={folder}"
UNSAFE = "-c fsync=off -c full_page_writes=off -c autovacuum=off"
"""For a server of hundreds of small databases: the machine does not crash, and nobody has to look after old rows."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server. Only this machine's Unix socket in `folder` leads to it."""

    programs: Path
    folder: Path
    fsync: bool = False
    """Off, a crash of the machine would lose what was written; a crash of the server, which is what tests do, not.
    On, it is a server as people have it, for benchmarks and for tests of flushes."""

    def url(self, database: str, user: str = USER) -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def new_database(self, name: str, *options: str) -> str:
        """Make an empty database that Madang owns, unless it is there, and return its URL."""
        words = (f"--host={self.folder}", f"--owner={USER}", *options, name)
        _run(self.programs / "createdb", *words, ignores=f'database "{name}" already exists')
        return self.url(name)

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Run a statement as the superuser and return what it answers."""
        words = ("--no-psqlrc", "--tuples-only", "--no-align", "--quiet", "--command", statement)
        return _run(self.programs / "psql", f"--host={self.folder}", *words, database)

    def start(self) -> None:
        options = OPTIONS.format(folder=self.folder) + ("" if self.fsync else f" {UNSAFE}")
        self._control("start", "-w", "-l", str(self.folder / "log"), "-o", options)

    def stop(self, mode: str = "fast") -> None:
        """Stop it; "immediate" is a crash."""
        self._control("stop", "-w", "-m", mode)

    def _control(self, *words: str) -> None:
        _run(self.programs / "pg_ctl", "-s", "-D", str(self.folder / "data"), *words)


_servers: list[Server] = []


@atexit.register
def pytest_sessionfinish() -> None:
    """Stop the servers. Benchmarks do so at exit; a worker of several is killed if that takes long."""
    while _servers:
        _remove(_servers.pop())


@cache
def server(*, fsync: bool = False) -> Server:
    """Return the session's server. PostgreSQL is there: scripts/system-packages installs it."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else "")
    if not initdb:
        raise RuntimeError("PostgreSQL is not installed: run scripts/system-packages")
    # A short path: the name of a Unix socket has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="madang-pg-"))
    if os.geteuid() == 0:
        account = _account()
        os.chown(folder, account.pw_uid, account.pw_gid)
    started = Server(Path(initdb).resolve().parent, folder, fsync)
    _servers.append(started)
    _run(initdb, "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    started.start()
    started.sql(f"CREATE ROLE {USER} LOGIN")
    return started


def database_in(folder: Path, **parameters: object) -> PostgresDatabase:
    """Return a database that belongs to `folder`."""
    return PostgresDatabase(parse_database_url(url_in(folder, **parameters)))


def url_in(folder: Path, **parameters: object) -> str:
    """Return the URL of the database that belongs to `folder`, with further parameters."""
    name = "t" + hashlib.sha256(str(folder).encode()).hexdigest()[:20]
    return server().new_database(name) + "".join(f"&{key}={value}" for key, value in parameters.items())


@pytest.fixture(scope="session")
def postgresql() -> Server:
    """The session's server."""
    return server()


def _account() -> pwd.struct_passwd:
    """Who runs the server when the tests run as root, which it refuses to."""
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _run(program: Path | str, *words: str, ignores: str = "") -> str:
    """Run a program and return what it says. It has to succeed, or to fail with what is to be ignored."""
    account = _account() if os.geteuid() == 0 else None
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    # A file, not a pipe: the server that pg_ctl starts would hold the pipe open for as long as it lives.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            [str(program), *words],
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            env=environment | {"PGUSER": "postgres"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
        output.seek(0)
        text = output.read().decode(errors="replace").strip()
    assert done.returncode == 0 or (ignores and ignores in text), f"{program} {words}: {text}"
    return text


def _remove(started: Server) -> None:
    if (started.folder / "data" / "postmaster.pid").exists():
        started.stop("immediate")
    shutil.rmtree(started.folder, ignore_errors=True)
