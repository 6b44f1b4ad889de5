"""A PostgreSQL server of the tests' own: started when the first test asks for it, gone with the session.

`database_in(folder)` has the shape of a back end of the contract suite: the same folder is the same database.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase

USER = "madang"
OPTIONS = "-c listen_addresses='' -c max_connections=200 -c unix_socket_directories={folder}"
UNSAFE = "-c fsync=off -c full_page_writes=off -c autovacuum=off"
"""For a server of hundreds of small databases: the machine does not crash, and nobody has to look after old rows."""

MAX_SPARE = 16


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

    def new_databases(self, names: Sequence[str]) -> None:
        """Make empty databases that Madang owns, in one go."""
        words = [f"--command=CREATE DATABASE {name} OWNER {USER}" for name in names]  # each is a transaction of its own
        _run(
            self.programs / "psql", f"--host={self.folder}", "--no-psqlrc", "--set=ON_ERROR_STOP=1", *words, "postgres"
        )

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

    def new_replica(self) -> Server:
        """Start a streaming replica. From now on each commit waits for it: what was acknowledged is on both."""
        replica = replace(self, folder=_new_folder())
        _servers.append(replica)
        self.sql("ALTER SYSTEM SET wal_retrieve_retry_interval = '100ms'")  # a replica is soon back, not after 5 s
        words = (f"--host={self.folder}", "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
        _run(self.programs / "pg_basebackup", *words, f"--pgdata={replica.folder / 'data'}")
        replica.start()
        # After the copy: the replica must not wait for a replica of its own once it is promoted.
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.sql("SELECT pg_reload_conf()")
        deadline_s = time.monotonic() + 60
        while self.sql("SELECT sync_state FROM pg_stat_replication") != "sync":
            assert time.monotonic() < deadline_s, (replica.folder / "log").read_text()
        return replica

    def promote(self) -> None:
        """Let a replica take over: it can be written when this returns."""
        self._control("promote", "-w")

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze all of its processes: its connections stay, new ones are made, and nothing is answered on any."""
        postmaster = (self.folder / "data" / "postmaster.pid").read_text().split()[0]
        os.kill(int(postmaster), signal.SIGSTOP)
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for pid in children:
            os.kill(int(pid), signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in (*children, postmaster):
                os.kill(int(pid), signal.SIGCONT)

    def _control(self, *words: str) -> None:
        _run(self.programs / "pg_ctl", "-s", "-D", str(self.folder / "data"), *words)


_servers: list[Server] = []
_made: list[str] = []
_spare: list[str] = []
"""Databases that belong to folders, or will: all that were made, and those that are still empty."""


@atexit.register
def pytest_sessionfinish() -> None:
    """Stop the servers. Benchmarks do so at exit; a worker of several is killed if that takes long."""
    while _servers:
        _remove(_servers.pop())


@cache
def server(*, fsync: bool = False) -> Server:
    """Return the session's server."""
    return new_server(fsync=fsync)


def new_server(*, fsync: bool = False) -> Server:
    """Start a server. PostgreSQL is there: scripts/system-packages installs it."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else "")
    if not initdb:
        raise RuntimeError("PostgreSQL is not installed: run scripts/system-packages")
    started = Server(Path(initdb).resolve().parent, _new_folder(), fsync)
    _servers.append(started)
    data = str(started.folder / "data")
    _run(initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
    started.start()
    started.sql(f"CREATE ROLE {USER} LOGIN")
    return started


@contextmanager
def two_servers() -> Iterator[tuple[Server, Server]]:
    """Run a primary and its replica, for a test that may do anything to them."""
    primary = new_server()
    replica = primary.new_replica()
    try:
        yield primary, replica
    finally:
        for each in (primary, replica):
            _servers.remove(each)
            _remove(each)


def url_of(servers: Sequence[Server], database: str, **parameters: object) -> str:
    """Return a URL that names a database on several servers."""
    hosts = ",".join(quote(str(each.folder), safe="") for each in servers)
    return f"postgresql://{USER}@{hosts}/{database}?{urlencode(parameters)}".rstrip("?")


def database_in(folder: Path, **parameters: object) -> PostgresDatabase:
    """Return a database that belongs to `folder`."""
    return PostgresDatabase(parse_database_url(url_in(folder, **parameters)))


def url_in(folder: Path, **parameters: object) -> str:
    """Return the URL of the database that belongs to `folder`, with further parameters."""
    url = server().url(_name_in(str(folder)))
    return url + "".join(f"&{key}={value}" for key, value in parameters.items())


@cache
def _name_in(folder: str) -> str:
    if not _spare:
        # Some ahead, twice as many each time: starting a program from a process of hundreds of megabytes, under another
        # account, costs as much as the database.
        count = min(MAX_SPARE, 1 + len(_made))
        names = [f"t{len(_made) + number}" for number in range(count)]
        server().new_databases(names)
        _made.extend(names)
        _spare.extend(names)
    return _spare.pop()


@pytest.fixture(scope="session")
def postgresql() -> Server:
    """The session's server."""
    return server()


def _new_folder() -> Path:
    # A short path: the name of a Unix socket has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix="madang-pg-"))
    if os.geteuid() == 0:
        account = _account()
        os.chown(folder, account.pw_uid, account.pw_gid)
    return folder


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
