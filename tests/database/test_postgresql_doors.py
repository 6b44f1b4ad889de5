"""Ways to a server that do not work, or only by half: what stands before it, and what it is, is told at once."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

import pytest
from anyio import fail_after

from madang.agent_app import open_agent
from madang.cli import main
from madang.core.errors import SetupError
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.llm.opening import OpenedModel
from madang.llm.scripted import ScriptedModel
from madang.settings import Settings
from tests.backends import NUMBERS, insert, numbers
from tests.postgresql import USER, Server, _account, _run, server, url_in

PGBOUNCER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
BOUNCED = "direct=HOST:PORT&statement_cache_size=0"

needs_pgbouncer = pytest.mark.skipif(PGBOUNCER is None, reason="scripts/system-packages installs pgbouncer")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def pooler(mode: str) -> Iterator[int]:
    """Run pgbouncer before the session's server, and give its port."""
    folder, port = Path(tempfile.mkdtemp(prefix="madang-pool-")), free_port()
    (folder / "users").write_text(f'"{USER}" ""\n')
    (folder / "settings").write_text(
        f"[databases]\n* = host={server().folder}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"auth_type = trust\nauth_file = {folder}/users\nunix_socket_dir =\npool_mode = {mode}\n"
        f"ignore_startup_parameters = extra_float_digits\n"
    )
    account = _account() if os.geteuid() == 0 else None
    if account is not None:
        for path in (folder, *folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)
    assert PGBOUNCER is not None
    process = subprocess.Popen(
        [PGBOUNCER, "--quiet", str(folder / "settings")],
        user=account.pw_uid if account else None,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(600):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def through(port: int, url: str, more: str = "") -> str:
    """Return the URL of a database through a port of this machine."""
    return f"postgresql://{USER}@127.0.0.1:{port}{urlsplit(url).path}" + (f"?{more}" if more else "")


def socket_folder(url: str) -> str:
    return dict(parse_qsl(urlsplit(url).query))["host"]


async def refusal(url: str) -> SetupError:
    database = PostgresDatabase(parse_database_url(url))
    with fail_after(60), pytest.raises(SetupError) as caught:
        await database.check_for_agents()
    return caught.value


@needs_pgbouncer
@pytest.mark.parametrize("more", ["", "statement_cache_size=0"], ids=["prepared", "not prepared"])
async def test_an_agent_does_not_start_behind_a_pooler_that_shares_connections(tmp_path: Path, more: str) -> None:
    with pooler("transaction") as port:
        url = through(port, url_in(tmp_path), more)
        assert BOUNCED in str((await refusal(url)).hint)

        settings = Settings(data_dir=tmp_path / "data", database=url)
        with fail_after(60), pytest.raises(SetupError) as caught:
            async with open_agent(settings, lambda _: OpenedModel(ScriptedModel([]))):
                pass
        assert "pooler" in str(caught.value.message) or "statement_cache_size=0" in str(caught.value.hint)


@needs_pgbouncer
def test_doctor_says_what_to_do_about_a_pooler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pooler("transaction") as port:
        url = through(port, url_in(tmp_path), "statement_cache_size=0")
        code = main(["doctor", "--data-dir", str(tmp_path / "data"), "--database", url])

    output = capsys.readouterr().out
    assert code == 1
    assert "shares connections between its clients" in output
    assert BOUNCED in output


@needs_pgbouncer
async def test_a_pooler_with_the_server_behind_it_and_one_of_sessions_are_usable(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    with pooler("transaction") as port:
        more = f"statement_cache_size=0&direct={socket_folder(url)}"
        await PostgresDatabase(parse_database_url(through(port, url, more))).check_for_agents()
    with pooler("session") as port:
        await PostgresDatabase(parse_database_url(through(port, url))).check_for_agents()


async def test_a_server_itself_is_usable(tmp_path: Path) -> None:
    await PostgresDatabase(parse_database_url(url_in(tmp_path))).check_for_agents()


async def test_a_database_that_is_set_read_only_is_told(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    server().sql(f"ALTER DATABASE {urlsplit(url).path.strip('/')} SET default_transaction_read_only = on")

    error = await refusal(url)

    assert "can only be read" in str(error.message)
    assert "target_session_attrs=read-write" in str(error.hint)


async def test_a_replica_is_told(tmp_path: Path) -> None:
    folder = Path(tempfile.mkdtemp(prefix="madang-pg-"))
    account = _account() if os.geteuid() == 0 else None
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
    replica = Server(server().programs, folder)
    _run(replica.programs / "initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
    try:
        replica.start()
        replica.sql(f"CREATE ROLE {USER} LOGIN")
        url = replica.new_database("replicated")
        replica.stop()
        (folder / "data" / "standby.signal").touch()
        replica.start()

        assert "can only be read" in str((await refusal(url)).message)
    finally:
        replica.stop("immediate")
        shutil.rmtree(folder)


async def test_of_several_servers_the_one_that_answers_is_used(tmp_path: Path) -> None:
    url = url_in(tmp_path)
    hosts = f"127.0.0.1:{free_port()},{quote(socket_folder(url), safe='')}"
    several = f"postgresql://{USER}@{hosts}{urlsplit(url).path}?target_session_attrs=read-write"
    address = parse_database_url(several)
    assert address.url == several
    assert address.place.endswith(f"@127.0.0.1,{socket_folder(url)}")

    database = PostgresDatabase(address)
    await database.prepare(NUMBERS)
    await insert(database, 1)
    assert await numbers(database) == [1]
    await database.check_for_agents()
    await database.close()
