"""What a database server adds to the contract: users kept apart, collisions, restarts, and set-up in plain words."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import anyio
import asyncpg
import pytest

from madang.core.calls import Call
from madang.core.errors import NotFound, SetupError, Unavailable
from madang.core.ids import AssistantId, SessionId, UserId, new_id
from madang.database.port import MigrationSet, Row, Transaction
from madang.database.postgresql.address import parse_database_url
from madang.database.postgresql.database import PostgresDatabase
from madang.records.accounts import ACCOUNT_MIGRATIONS
from madang.records.audit import AUDIT_MIGRATIONS, AuditEntry, AuditLog
from madang.records.operations import OPERATION_MIGRATIONS
from madang.records.pause_rows import PAUSE_MIGRATIONS
from madang.records.run_journal_tables import JOURNAL_MIGRATIONS
from madang.records.run_tables import RUN_MIGRATIONS
from madang.records.session_tables import SESSION_MIGRATIONS
from madang.services.planning import store as planning
from madang.services.playbook import store as playbook
from madang.services.playbook.domain import PlaybookContent, PlaybookPatch, StepInput
from madang.services.playbook.store import PageRequest, PlaybookStore
from tests.postgresql import Server, database_in, server, url_in

ANN = Call(AssistantId("default"), SessionId("default"), UserId("ann"))
BOB = Call(AssistantId("default"), SessionId("default"), UserId("bob"))
CONTENT = PlaybookContent(goal="Brew tea", workflow=[StepInput(description="Boil water")])
SETS = (
    SESSION_MIGRATIONS,
    RUN_MIGRATIONS,
    JOURNAL_MIGRATIONS,
    PAUSE_MIGRATIONS,
    OPERATION_MIGRATIONS,
    playbook.MIGRATIONS,
    planning.MIGRATIONS,
    AUDIT_MIGRATIONS,
    ACCOUNT_MIGRATIONS,
)
CLIENTS = int(os.environ.get("MADANG_TEST_CLIENTS", "20"))
UPDATES = int(os.environ.get("MADANG_TEST_UPDATES", "4"))
WITHIN_S = 60
SHARED = ("account",)
"""Tables of all users, without content: who there is."""
OF_RUNS = (
    "session",
    "run",
    "run_live",
    "run_delta",
    "run_call",
    "message",
    "message_number",
    "message_word",
    "queued_message",
)
"""Made because pauses ask them. Whose rows they are is tried in tests/records/runs."""


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[PostgresDatabase]:
    database = database_in(tmp_path)
    for migrations in SETS:
        await database.prepare(migrations)
    yield database
    await database.close()


@pytest.fixture
def store(database: PostgresDatabase) -> PlaybookStore:
    return PlaybookStore(database)


async def rows(database: PostgresDatabase, sql: str, *parameters: object, user: UserId | None = None) -> list[Row]:
    async def work(tx: Transaction) -> list[Row]:
        return await tx.all(sql, *parameters)

    return await database.read(work, user_id=user)


async def tables(database: PostgresDatabase) -> list[str]:
    names = await rows(database, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
    return [row[0] for row in names if row[0] != "migration"]


async def fill(database: PostgresDatabase, store: PlaybookStore) -> str:
    """Give Ann a row in every table, and return the id of her playbook."""
    kept, deleted = await store.add(ANN, [CONTENT, CONTENT])
    await store.delete(ANN, deleted.id)
    await store.open_choice(ANN)
    await store.select(ANN, kept.id)
    await planning.PlanStore(database).change(ANN, lambda plan: (plan, None))
    audit = AuditLog(database)
    audit.record(AuditEntry(ANN, "create_playbook", "write", {}, "ok", 0, 1.0))
    await audit.close()
    return kept.id


# Users kept apart


async def test_every_table_is_walled_for_its_owner_too(database: PostgresDatabase) -> None:
    open_ones = await rows(
        database,
        "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
        "AND NOT (relrowsecurity AND relforcerowsecurity)",
    )

    assert sorted(open_ones) == [("account",), ("migration",)]


async def test_without_a_user_nobodys_rows_are_seen(
    database: PostgresDatabase, store: PlaybookStore, tmp_path: Path
) -> None:
    await fill(database, store)
    names = [name for name in (*await tables(database), "playbook_owner") if name not in (*SHARED, *OF_RUNS)]
    plain = await asyncpg.connect(url_in(tmp_path))

    for name in names:
        count = f"SELECT count(*) FROM {name}"
        assert (await rows(database, count, user=ANN.user_id))[0][0] > 0, name
        assert await rows(database, count, user=BOB.user_id) == [(0,)], name
        assert await rows(database, count) == [(0,)], name
        assert await plain.fetchval(count) == 0, name
    await plain.close()


async def test_nothing_can_be_written_for_another_user(database: PostgresDatabase, store: PlaybookStore) -> None:
    await fill(database, store)

    async def forge(tx: Transaction) -> None:
        await tx.run("INSERT INTO plan VALUES (?1, 's', '{}')", ANN.user_id)

    async def destroy(tx: Transaction) -> list[int]:
        return [await tx.run(f"DELETE FROM {name}") for name in ("playbook", "plan", "audit", "playbook_owner_row")]

    for user in (BOB.user_id, None):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await database.write(forge, user_id=user)
        assert await database.write(destroy, user_id=user) == [0, 0, 0, 0]
    assert await store.total(ANN) == 1


async def test_a_connection_that_is_used_again_after_an_exception_has_no_user_left(tmp_path: Path) -> None:
    database = database_in(tmp_path, pool_size=1)
    for migrations in SETS:
        await database.prepare(migrations)
    await fill(database, PlaybookStore(database))
    state = "SELECT pg_backend_pid(), current_setting('madang.user_id', true), (SELECT count(*) FROM playbook)"
    ((pid, *_),) = await rows(database, state)

    async def raising(tx: Transaction) -> None:
        await tx.one("SELECT 1")
        raise LookupError

    async def failing(tx: Transaction) -> None:
        await tx.one("SELECT 1 / 0")

    async def endless(tx: Transaction) -> None:
        await tx.one("SELECT pg_sleep(600)")

    for use in (database.read, database.write):
        with pytest.raises(LookupError):
            await use(raising, user_id=ANN.user_id)
        assert await rows(database, state) == [(pid, "", 0)]
        with pytest.raises(asyncpg.DivisionByZeroError):
            await use(failing, user_id=ANN.user_id)
        assert await rows(database, state) == [(pid, "", 0)]
        with anyio.move_on_after(0.2):
            await use(endless, user_id=ANN.user_id)
        with anyio.fail_after(WITHIN_S):
            ((_, user, count),) = await rows(database, state)
        assert (user, count) == ("", 0)
    await database.close()


async def test_a_single_statement_sees_its_users_rows_and_leaves_no_user_behind(tmp_path: Path) -> None:
    database = database_in(tmp_path, pool_size=1)
    for migrations in SETS:
        await database.prepare(migrations)
    await fill(database, PlaybookStore(database))
    state = "SELECT pg_backend_pid(), current_setting('madang.user_id', true), (SELECT count(*) FROM playbook)"
    ((pid, *_),) = await rows(database, state)
    # More often than the five times after which the server may keep one plan for all of them.
    for _ in range(10):
        assert await database.find(state, user_id=ANN.user_id) == [(pid, "ann", 1)]
        assert await rows(database, state) == [(pid, "", 0)]
        assert await database.find(state) == [(pid, "", 0)]
        assert await database.find(state, user_id=BOB.user_id) == [(pid, "bob", 0)]

    with pytest.raises(asyncpg.DivisionByZeroError):
        await database.find("SELECT 1 / 0", user_id=ANN.user_id)
    assert await rows(database, state) == [(pid, "", 0)]
    with anyio.move_on_after(0.2):
        await database.find("SELECT pg_sleep(600)", user_id=ANN.user_id)
    with anyio.fail_after(WITHIN_S):
        ((_, user, count),) = await rows(database, state)
    assert (user, count) == ("", 0)
    with pytest.raises(asyncpg.PostgresError):
        await database.find("DELETE FROM playbook RETURNING id", user_id=ANN.user_id)
    await database.close()


async def test_every_page_near_the_start_is_found_with_one_statement_and_without(store: PlaybookStore) -> None:
    kept = [one.id for one in await store.add(ANN, [CONTENT] * 25)]

    for order, ids in (("asc", kept), ("desc", kept[::-1])):
        for page in (1, 2, 3):
            listing = PageRequest(page, 10, sort_order=order)  # type: ignore[arg-type]  # of the tuples above
            listed = await store.list_page(ANN, listing)
            assert [item.id for item in listed.items] == ids[(page - 1) * 10 : page * 10]
            assert (listed.total_items, listed.total_pages) == (25, 3)
    assert (await store.list_page(ANN, PageRequest(4, 10))).page == 3
    assert (await store.list_page(BOB, PageRequest(1, 10))).total_items == 0


async def test_names_of_users_cannot_break_out_of_their_place(database: PostgresDatabase) -> None:
    for name in ("'; DROP TABLE plan; --", "\\x00", "한글 $1 ?1", '"', "\\"):
        call = Call(AssistantId("default"), SessionId(name), UserId(name))
        plan, _ = await planning.PlanStore(database).change(call, lambda plan: (plan, None))
        assert await planning.PlanStore(database).get(call) == plan
        assert await rows(database, "SELECT user_id FROM plan", user=UserId(name)) == [(name,)]


async def test_ten_thousand_guesses_of_ids_tell_nothing(database: PostgresDatabase, store: PlaybookStore) -> None:
    """Half of them are right. The statement has forgotten every condition: only the server is left to refuse."""
    ids = [kept.id for kept in await store.add(ANN, [CONTENT] * 50)]
    guesses = [random.choice(ids) if number % 2 else new_id() for number in range(10_000)]

    async def probe(tx: Transaction) -> list[str]:
        return [id for id in guesses if await tx.one("SELECT 1 FROM playbook WHERE id = ?1", id)]

    assert await database.read(probe, user_id=BOB.user_id) == []
    answers = set()
    for id in [*ids[:20], *(new_id() for _ in range(20))]:
        with pytest.raises(NotFound) as caught:
            await store.get(BOB, id)
        answers.add(str(caught.value).replace(id, "ID"))
    assert answers == {"Playbook ID not found."}


# Collisions


@pytest.mark.parametrize(("kind", "clients", "rounds"), [("plain", 25, 3), ("versioned", CLIENTS // 4, UPDATES)])
async def test_t54_no_update_of_four_processes_is_lost(
    store: PlaybookStore, tmp_path: Path, kind: str, clients: int, rounds: int
) -> None:
    (kept,) = await store.add(ANN, [CONTENT])
    words = [sys.executable, "-m", "tests.stores.clients", kept.id, str(clients), str(rounds), kind]
    environment = os.environ | {"MADANG_DATABASE": url_in(tmp_path)}

    with anyio.fail_after(60 + CLIENTS * UPDATES / 5):
        answers = await asyncio.gather(
            *(anyio.run_process(words, env=environment, stderr=subprocess.STDOUT) for _ in range(4))
        )

    acknowledged = sum(int(answer.stdout) for answer in answers)
    assert acknowledged == 4 * clients * rounds
    assert (await store.get(ANN, kept.id)).version == 1 + acknowledged


async def test_first_changes_of_one_plan_at_once_are_all_kept(database: PostgresDatabase) -> None:
    """There is no row yet that could be locked."""
    plans = planning.PlanStore(database)

    await asyncio.gather(*(plans.change(ANN, lambda plan: (plan.with_todo("x"), None)) for _ in range(40)))

    assert [todo.id for todo in (await plans.get(ANN)).state.todos] == list(range(1, 41))


async def test_counts_stay_exact_while_many_add_and_delete(database: PostgresDatabase, store: PlaybookStore) -> None:
    async def client(number: int) -> None:
        for _ in range(10):
            kept = await store.add(ANN, [CONTENT] * 5)
            await asyncio.gather(*(store.delete(ANN, one.id) for one in kept[: number % 5]))

    await asyncio.gather(*(client(number) for number in range(20)))

    expected = sum(10 * (5 - number % 5) for number in range(20))
    assert await store.total(ANN) == expected
    assert await rows(database, "SELECT count(*)::int FROM playbook", user=ANN.user_id) == [(expected,)]


async def test_pages_by_number_are_the_whole_listing_cut(database: PostgresDatabase, store: PlaybookStore) -> None:
    """With holes and other owners in between."""
    await store.add(ANN, [CONTENT])
    await store.add(BOB, [CONTENT])

    async def many(tx: Transaction) -> None:
        await tx.run(
            "INSERT INTO playbook (id, owner_no, version, created_at, updated_at, goal, initial_command, steps, "
            "sort_key, search_text, workflow, success_criteria) SELECT gen_random_uuid()::text, no, 1, '', "
            "to_char(n * 7919 % 4001, '0000'), 'g', '', 0, md5(n::text), 'g', '[]', '{}' "
            "FROM playbook_owner, generate_series(1, 4000) n"
        )
        await tx.run("DELETE FROM playbook WHERE seq % 7 = 0 OR seq BETWEEN 3000 AND 4100")

    await database.write(many, user_id=ANN.user_id)
    await database.write(many, user_id=BOB.user_id)
    await database.write(many, user_id=ANN.user_id)

    ((total,),) = await rows(database, "SELECT count(*) FROM playbook", user=ANN.user_id)
    for sort_by, column in (("createdAt", "seq"), ("updatedAt", "updated_at"), ("goal", "sort_key")):
        for order in ("asc", "desc"):
            whole = await rows(
                database, f"SELECT id FROM playbook ORDER BY {column} {order}, seq {order}", user=ANN.user_id
            )
            for page in (1, 2, 11, 21, -(-total // 200)):
                listed = await store.list_page(ANN, PageRequest(page, 200, sort_by=sort_by, sort_order=order))  # type: ignore[arg-type]  # of the tuples above
                assert [(item.id,) for item in listed.items] == whole[(page - 1) * 200 : page * 200]
                assert listed.total_items == total


# Losses


async def test_a_server_that_crashes_under_load_loses_nothing_acknowledged(store: PlaybookStore) -> None:
    (kept,) = await store.add(ANN, [CONTENT])
    acknowledged = attempts = 0
    over = asyncio.Event()
    more = asyncio.Condition()

    async def client() -> None:
        nonlocal acknowledged, attempts
        while not over.is_set():
            attempts += 1
            try:
                await store.update(ANN, kept.id, PlaybookPatch(goal=f"{attempts}"), None)
            except Unavailable:
                await asyncio.sleep(0.02)
            else:
                acknowledged += 1
                async with more:
                    more.notify_all()

    async def further(count: int) -> None:
        goal = acknowledged + count
        with anyio.fail_after(WITHIN_S):
            async with more:
                await more.wait_for(lambda: acknowledged >= goal)

    clients = [asyncio.create_task(client()) for _ in range(15)]
    await further(50)
    for mode in ("immediate", "fast"):
        await asyncio.to_thread(server().stop, mode)
        before = acknowledged
        await asyncio.sleep(0.2)
        assert acknowledged == before
        await asyncio.to_thread(server().start)
        await further(50)
    over.set()
    await asyncio.gather(*clients)

    version = (await store.get(ANN, kept.id)).version
    assert acknowledged <= version - 1 <= attempts


async def test_while_the_server_is_away_calls_say_so_and_afterwards_they_work(store: PlaybookStore) -> None:
    await store.add(ANN, [CONTENT])
    await asyncio.to_thread(server().stop)
    try:
        for _ in range(2):
            with pytest.raises(Unavailable, match="cannot be used now"):
                await store.total(ANN)
    finally:
        await asyncio.to_thread(server().start)

    assert await store.total(ANN) == 1


async def test_changes_of_other_processes_are_told(
    database: PostgresDatabase, store: PlaybookStore, tmp_path: Path
) -> None:
    other = database_in(tmp_path)
    await other.prepare(playbook.MIGRATIONS)
    topic = playbook.playbook_topic(ANN)
    changes = other.changes(topic, "quiet")
    async with aclosing(changes):
        assert await anext(changes) == frozenset()
        for _ in range(3):
            (kept,) = await store.add(ANN, [CONTENT])
            with anyio.fail_after(60):
                assert await anext(changes) == {playbook.playbook_topic(ANN, kept.id)}
    await other.close()


async def test_after_the_listening_connection_was_lost_everybody_is_told_to_look(
    database: PostgresDatabase, store: PlaybookStore
) -> None:
    topic = playbook.playbook_topic(ANN)
    changes = database.changes(topic, "quiet")
    async with aclosing(changes):
        assert await anext(changes) == frozenset()
        server().sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'madang'")
        with anyio.fail_after(60):
            assert await anext(changes) == {topic, "quiet"}
        (kept,) = await store.add(ANN, [CONTENT])
        with anyio.fail_after(60):
            assert await anext(changes) == {playbook.playbook_topic(ANN, kept.id)}


# Set-up


async def test_several_processes_that_make_the_tables_at_once_make_them_once(tmp_path: Path) -> None:
    databases = [database_in(tmp_path) for _ in range(6)]

    await asyncio.gather(*(database.prepare(one) for database in databases for one in SETS))

    ((steps,),) = await rows(databases[0], "SELECT count(*) FROM migration")
    assert steps == sum(len(one.postgresql) for one in SETS)
    for database in databases:
        await database.close()


async def test_a_database_of_a_newer_version_is_refused_and_nothing_is_changed(database: PostgresDatabase) -> None:
    steps = ("CREATE TABLE a (x INTEGER)", "CREATE TABLE b (x INTEGER)")
    await database.prepare(MigrationSet("set", sqlite=steps, postgresql=steps))
    await database.close()

    with pytest.raises(SetupError, match="newer Madang"):
        await database.prepare(MigrationSet("set", sqlite=steps[:1], postgresql=steps[:1]))


async def test_a_step_that_fails_leaves_nothing(database: PostgresDatabase) -> None:
    steps = ("CREATE TABLE a (x INTEGER)", "CREATE TABLE b (x INTEGER); INSERT INTO nowhere VALUES (1)")

    with pytest.raises(asyncpg.UndefinedTableError, match="nowhere"):
        await database.prepare(MigrationSet("set", sqlite=steps, postgresql=steps))
    await database.prepare(MigrationSet("set", sqlite=steps[:1], postgresql=steps[:1]))

    assert await rows(database, "SELECT count(*) FROM a") == [(0,)]


async def test_a_set_without_tables_for_a_server_is_refused(database: PostgresDatabase) -> None:
    with pytest.raises(SetupError, match="'notes' has no tables for a database server"):
        await database.prepare(MigrationSet("notes", sqlite=("CREATE TABLE note (x)",)))


async def refusal(url: str) -> SetupError:
    database = PostgresDatabase(parse_database_url(url))
    with pytest.raises(SetupError) as caught:
        await database.prepare(AUDIT_MIGRATIONS)
    await database.close()
    return caught.value


async def test_a_server_that_cannot_be_used_is_refused_with_what_to_do(postgresql: Server, tmp_path: Path) -> None:
    url_in(tmp_path)
    postgresql.new_database("latin", "--encoding=LATIN1", "--template=template0")
    postgresql.new_database("foreign", "--owner=postgres")
    postgresql.sql("CREATE ROLE allseeing LOGIN BYPASSRLS")

    refusals = {
        "Connect call failed": ("postgresql://ann:s3cret@127.0.0.1:1/x", "Check that the server runs"),
        "No such file": ("postgresql://ann:s3cret@/x?host=/nowhere", "Check that the server runs"),
        'database "missing" does not exist': (postgresql.url("missing"), "Create it first: createdb"),
        'role "nobody" does not exist': (postgresql.url("latin", "nobody"), "Check user and password"),
        "kept in LATIN1": (postgresql.url("latin"), "Create one in Unicode"),
        "'postgres' may see every row": (postgresql.url("postgres", "postgres"), "Give Madang one of its own"),
        "'allseeing' may see every row": (postgresql.url("foreign", "allseeing"), "Give Madang one of its own"),
        "permission denied for schema": (postgresql.url("foreign"), "must own the database"),
    }
    for reason, (url, hint) in refusals.items():
        error = await refusal(url)
        assert reason in str(error)
        assert hint in str(error.hint)
        assert "s3cret" not in f"{error!r} {error} {error.hint}"


@pytest.mark.parametrize("parameters", [{"statement_cache_size": 0}, {"pool_size": 2, "statement_cache_size": 5}])
async def test_the_url_says_how_many_connections_and_statements_are_kept(
    tmp_path: Path, parameters: dict[str, object]
) -> None:
    database = database_in(tmp_path, **parameters)
    store = PlaybookStore(database)
    await store.open()

    await asyncio.gather(*(store.add(ANN, [CONTENT]) for _ in range(20)))

    assert await store.total(ANN) == 20
    ((prepared,),) = await rows(database, "SELECT count(*) FROM pg_prepared_statements")
    assert prepared <= int(str(parameters["statement_cache_size"])) + 1
    await database.close()


async def test_the_server_is_described_without_the_password(database: PostgresDatabase) -> None:
    text = await database.describe()

    assert text.startswith("PostgreSQL ")
    assert "ms away" in text


async def test_a_unit_that_is_cancelled_at_any_moment_leaves_a_clean_connection(tmp_path: Path) -> None:
    database = database_in(tmp_path, pool_size=1)
    store = PlaybookStore(database)
    await store.open()
    (kept,) = await store.add(ANN, [CONTENT])
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))

    for steps in range(40):
        unit = asyncio.create_task(store.update(ANN, kept.id, PlaybookPatch(goal="Brew"), None))
        for _ in range(steps):
            await asyncio.sleep(0)
        unit.cancel()
        await asyncio.wait([unit])
        assert await rows(database, "SELECT count(*) FROM playbook") == [(0,)]

    assert complaints == []
    await database.close()
