"""The whole product on a database server: the same answers as on a file, and what the person who sets it up sees."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from madang.app import Madang, open_madang
from madang.cli import main
from madang.core.errors import SetupError
from madang.core.results import Reply
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.settings import Settings, read_settings
from tests.backends import NUMBERS
from tests.postgresql import database_in, server, url_in

STEP = {"description": "Boil water", "action": {"toolName": "kettle"}}


async def story(madang: Madang) -> list[Reply]:
    """Use every kind of statement the stores have."""
    replies: list[Reply] = []

    async def ask(tool: str, **arguments: Any) -> Reply:
        replies.append(await madang.provider.execute_tool(madang.call("python", "embedded"), tool, arguments))
        return replies[-1]

    for number in range(12):
        made = await ask("create_playbook", goal=f"Plan {'가나다라'[number % 4]} {number} 100%_", workflow=[STEP])
    id = made.data["playbook"]["id"]
    await ask("list_playbooks", page=2, pageSize=5, sortBy="goal", sortOrder="desc")
    await ask("list_playbooks", page=1, pageSize=5, sortBy="updatedAt")
    await ask("list_playbooks", query="나 plan 0%_")
    await ask("list_playbooks", page=9, pageSize=5)
    await ask("show_playbooks", pageSize=4)
    await ask("get_playbook_page", page=99)
    await ask("get_playbook", id="nowhere")
    await ask("update_playbook", id=id, playbook={"goal": "Brew tea"}, expectedVersion=1)
    await ask("update_playbook", id=id, playbook={"goal": "Brew coffee"}, expectedVersion=1)
    await ask("select_playbook", id=id)
    await ask("list_playbook_runs")
    exported = await ask("export_playbooks", ids=[id])
    await ask("import_playbooks", document=exported.data["document"])
    await ask("delete_playbook", id=id)
    await ask("delete_playbook", id=id)
    await ask("create_goal", goal="Serve tea")
    await ask("add_todo", name="Boil water")
    await ask("mark_todo", id=1, summary="done")
    await ask("add_observation", observation="It is hot")
    await ask("get_current_state")
    return replies


def normal(replies: list[Reply]) -> list[object]:
    """Return what the replies say, without what is new each time."""
    names: dict[str, str] = {}

    def plain(match: re.Match[str]) -> str:
        return names.setdefault(match[0], f"id-{len(names)}")

    def cleaned(value: object) -> str:
        text = re.sub(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", plain, repr(value))
        return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "AT", text)

    return [(cleaned(reply.text), cleaned(reply.data), reply.error_code) for reply in replies]


async def test_every_tool_answers_as_it_does_on_a_file(tmp_path: Path) -> None:
    async with open_madang(Settings(tmp_path / "file")) as madang:
        on_a_file = await story(madang)
    async with open_madang(Settings(tmp_path / "server", database=url_in(tmp_path))) as madang:
        on_a_server = await story(madang)
        contexts = await madang.provider.service_contexts(madang.call("python"))

    assert normal(on_a_server) == normal(on_a_file)
    assert [reply.error_code for reply in on_a_server if reply.error_code] == [
        "out_of_range",
        "not_found",
        "conflict",
        "not_found",
    ]
    assert contexts["playbook"].structured_state.model_dump()["total"] == 12
    assert not (tmp_path / "server" / "madang.db").exists()


async def test_what_was_kept_is_there_after_a_restart_and_calls_are_written_down(tmp_path: Path) -> None:
    settings = Settings(tmp_path, database=url_in(tmp_path))
    for _ in range(2):
        async with open_madang(settings) as madang:
            await madang.provider.execute_tool(madang.call("python"), "add_todo", {"name": "Boil water"})
            reply = await madang.provider.execute_tool(madang.call("python"), "get_current_state", {})

    assert len(reply.data["todos"]) == 2
    name = parse_database_url(url_in(tmp_path)).place.partition("@")[0]
    assert server().sql("SELECT tool, count(*) FROM audit GROUP BY 1 ORDER BY 1", name).split() == [
        "add_todo|2",
        "get_current_state|2",
    ]


def test_doctor_looks_at_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MADANG_DATABASE", url_in(tmp_path))
    assert main(["doctor", "--data-dir", str(tmp_path)]) == 0
    assert "ok    Database server: PostgreSQL " in capsys.readouterr().out

    assert main(["doctor", "--data-dir", str(tmp_path), "--database", "postgresql://a:s3cret@127.0.0.1:1/x"]) == 1
    printed = capsys.readouterr()
    assert "FAIL  Database server: The database x@127.0.0.1 cannot be opened" in printed.out
    assert "s3cret" not in printed.out + printed.err


def test_without_asyncpg_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    for name in ("database", "errors", "listener"):
        monkeypatch.delitem(sys.modules, f"madang.database.postgresql.{name}", raising=False)

    assert main(["tools", "--data-dir", str(tmp_path), "--database", "postgresql:///x"]) == 2

    assert capsys.readouterr().err == (
        "madang: PostgreSQL needs asyncpg, which is not installed. Install it: pip install 'madang[postgresql]'\n"
    )


def test_the_option_wins_over_the_variable_and_neither_is_shown(tmp_path: Path) -> None:
    environment = {"MADANG_DATABASE": "postgresql://a:s3cret@h/x"}

    from_variable = read_settings(environment, data_dir=str(tmp_path))
    from_option = read_settings(environment, data_dir=str(tmp_path), database="postgresql:///y")

    assert from_variable.database == "postgresql://a:s3cret@h/x"
    assert from_option.database == "postgresql:///y"
    assert "s3cret" not in repr(from_variable)
    assert "s3cret" not in repr(parse_database_url(from_variable.database))


@pytest.mark.parametrize(
    ("url", "given", "place"),
    [
        (
            "postgresql://ann:pw@db.example:5433/madang",
            "postgresql://ann:pw@db.example:5433/madang",
            "madang@db.example",
        ),
        ("postgres://ann@h/m?sslmode=require&pool_size=3", "postgres://ann@h/m?sslmode=require", "m@h"),
        ("postgresql:///m?host=/run/pg", "postgresql:///m?host=%2Frun%2Fpg", "m@/run/pg"),
        ("postgresql:///m?statement_cache_size=0", "postgresql:///m", "m@localhost"),
    ],
)
def test_a_url_is_taken_apart_without_losing_anything(url: str, given: str, place: str) -> None:
    address = parse_database_url(url)

    assert (address.url, address.place, address.direct_url) == (given, place, given)


@pytest.mark.parametrize(
    ("url", "direct_url"),
    [
        ("postgresql://ann:pw@pool:6432/m?direct=db.example:5433", "postgresql://ann:pw@/m?host=db.example&port=5433"),
        ("postgresql://ann@pool/m?sslmode=require&direct=db", "postgresql://ann@/m?sslmode=require&host=db"),
        ("postgresql:///m?host=/run/pool&port=6432&direct=/run/pg", "postgresql:///m?host=%2Frun%2Fpg"),
    ],
)
def test_the_server_behind_a_pooler_has_an_address_of_its_own(url: str, direct_url: str) -> None:
    address = parse_database_url(url)

    assert address.direct_url == direct_url
    assert "direct" not in address.url


async def test_locks_and_notices_go_to_the_server_itself(tmp_path: Path) -> None:
    parts = urlsplit(url_in(tmp_path))
    folder = dict(parse_qsl(parts.query))["host"]
    database = PostgresDatabase(parse_database_url(f"postgresql://madang@127.0.0.1:1{parts.path}?direct={folder}"))

    assert "ms away" in await database.describe()
    with pytest.raises(SetupError):
        await database.prepare(NUMBERS)
    await database.close()


@pytest.mark.parametrize(
    "url",
    [
        "mysql://h/m",
        "madang.db",
        "postgresql://ann:s3/cret@h/m",
        "postgresql://ann:s3cret@h:99999/m",
        "postgresql://h/m?pool_size=0",
        "postgresql://h/m?pool_size=many",
        "postgresql://h/m?statement_cache_size=-1",
        "postgresql://ann:s3cret#x@h/m",
    ],
)
def test_what_is_no_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(SetupError) as caught:
        parse_database_url(url)

    assert "s3" not in f"{caught.value} {caught.value.hint}"


async def test_a_database_that_was_never_opened_closes(tmp_path: Path) -> None:
    database = database_in(tmp_path)

    await database.close()
    await database.close()
