"""Whole sessions: deleted, nothing is left of one; copied, the two are apart; exported and imported, they are equal.

What is left is looked for in every table, file and index, so a new service that keeps something and has no hooks fails
here by itself. What the tools are called with is in `tests/services/NAME/promises.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from madang.core.errors import Conflict, Denied, InvalidArguments, NotFound, Unavailable
from madang.core.ids import SessionId, new_id
from madang.core.service import Service
from madang.database.port import Transaction
from madang.files.folders.sessions import folder_name
from madang.records.events import EventLog, NewEvent
from madang.records.sessions import SessionStore
from tests.promises import SERVICES
from tests.whole_sessions import House, all_files, all_rows, exported, fill, open_house, without_moments

pytestmark = pytest.mark.anyio

OF_THE_ASSISTANT = ("playbook", "playbook_deleted", "playbook_owner", "playbook_owner_row")
"""Playbooks belong to the assistant: deleting the session in which one was made does not delete it."""
NOT_OF_SESSIONS = (*OF_THE_ASSISTANT, "notice", "account", "migration")


@pytest.fixture(params=["disk", "server"])
def back_end(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def house(back_end: str, tmp_path: Path) -> AsyncIterator[House]:
    async with open_house(tmp_path, back_end, session=f"victim {new_id()}") as house:
        yield house


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_that_keeps_something_has_all_session_hooks(name: str) -> None:
    service = SERVICES[name]
    keeps_something = any(tool.effect != "read" for tool in service.tools)

    for hook in ("forget_session", "copy_session", "export_session", "import_session"):
        assert (getattr(type(service), hook) is not getattr(Service, hook)) is keeps_something, hook


async def test_nothing_is_left_of_a_forgotten_session_but_stripped_audit_rows(house: House) -> None:
    other = house.session("other")
    await fill(other, "zebra")
    await house.madang.session_operations.forget(house.session("nothing yet").call)  # it writes the queued audit rows
    rows_before, files_before = await all_rows(house.madang.database), all_files(house.data_dir)
    await fill(house, "quokka")
    rows_filled = await all_rows(house.madang.database)

    await house.madang.session_operations.forget(house.call)

    rows, files = await all_rows(house.madang.database), all_files(house.data_dir)
    traces = (house.call.session, folder_name(house.call.user_id, house.call.session)[-16:], "quokka")
    assert len({table for table, _ in rows_filled - rows_before} - set(NOT_OF_SESSIONS)) >= 10, "hardly anything filled"
    added = Counter({row: count for row, count in (rows - rows_before).items() if row[0] not in NOT_OF_SESSIONS})
    assert {table for table, _ in added} == {"audit"}
    assert added.total() > 50
    assert [row for row in rows if row[0] not in OF_THE_ASSISTANT and any(trace in row[1] for trace in traces)] == []
    assert [row for row in rows if house.call.session in row[1]] == []
    assert [row for row in rows_before - rows if row[0] not in NOT_OF_SESSIONS] == []
    assert files.keys() == files_before.keys()
    assert files == files_before | {name: data for name, data in files.items() if name.startswith("index/")}
    assert not any(trace.encode() in data for trace in traces for data in files.values())


async def test_audit_rows_keep_what_was_called_and_what_came_of_it(house: House) -> None:
    await house.asker.done("add_todo", name="quokka")
    await house.asker.ask("mark_todo", id=99)

    await house.madang.session_operations.forget(house.call)

    columns = "actor, door, tool, effect, outcome, decision, session_id, arguments, arguments_sha256, run_id, call_id"

    async def work(tx: Transaction) -> list[tuple[object, ...]]:
        return await tx.all(f"SELECT {columns} FROM audit ORDER BY seq")

    assert await house.madang.database.read(work, user_id=house.call.user_id) == [
        ("program", "python", "add_todo", "write", "ok", "allow", None, "", "", "", ""),
        ("program", "python", "mark_todo", "write", "not_found", "allow", None, "", "", "", ""),
    ]


async def test_a_session_can_be_forgotten_twice_and_used_anew(house: House) -> None:
    operations = house.madang.session_operations
    await fill(house, "quokka")

    await operations.forget(house.call)
    await operations.forget(house.call)

    assert await house.madang.sessions.get(house.call) is None
    await house.asker.done("add_todo", name="New")
    state = (await house.asker.done("get_current_state")).data
    assert [(todo["id"], todo["name"]) for todo in state["todos"]] == [(1, "New")]
    assert (await house.asker.done("list_directory")).data["entries"] == []
    assert (await house.asker.done("list_stores")).data["stores"] == []


async def test_an_imported_session_is_equal_on_the_other_back_end(house: House, back_end: str, tmp_path: Path) -> None:
    await fill(house, "quokka")
    await house.madang.sessions.rename(house.call, "A title")
    first = await exported(house, tmp_path / "first.zip")
    elsewhere = {"disk": "server", "server": "disk"}[back_end]
    async with open_house(tmp_path / "elsewhere", elsewhere) as other:
        imported = await other.madang.session_operations.import_(
            replace(other.call, session_id=None), tmp_path / "first.zip"
        )

        second = await exported(other.session(imported.id), tmp_path / "second.zip")

        assert imported.id != house.call.session
        # An archive may be anybody's, so what is imported is tainted: that is all that differs.
        assert (first["session.json"]["isTainted"], second["session.json"]["isTainted"]) == (False, True)
        second["session.json"]["isTainted"] = False
        assert second == first
        found = await other.session(imported.id).asker.done("keyword_similarity_search", query="quokka")
        assert found.data["results"]
    assert {name.partition("/")[0] for name in first} == {
        "session.json",
        "events.jsonl",
        *(name for name, service in SERVICES.items() if any(tool.effect != "read" for tool in service.tools)),
    }


async def test_a_copy_and_its_original_are_apart(house: House, tmp_path: Path) -> None:
    await fill(house, "quokka")
    original = without_moments(await exported(house, tmp_path / "1.zip"))
    copy = house.session("copy")

    record = await house.madang.session_operations.copy(house.call, copy.call.session)

    assert (record.parent_id, record.parent_seq) == (house.call.session, 0)
    assert without_moments(await exported(copy, tmp_path / "2.zip")) == original
    await fill(copy, "numbat")
    assert without_moments(await exported(house, tmp_path / "3.zip")) == original
    changed = without_moments(await exported(copy, tmp_path / "4.zip"))
    await fill(house, "bilby")
    assert without_moments(await exported(copy, tmp_path / "5.zip")) == changed
    await house.madang.session_operations.forget(house.call)
    assert without_moments(await exported(copy, tmp_path / "6.zip")) == changed
    record = await house.madang.session_operations.copy(copy.call, SessionId("again"))
    assert record.parent_id == "copy"


async def test_what_is_open_is_withdrawn_in_a_copy_and_stays_open_in_the_original(house: House) -> None:
    asked = await house.asker.done("prompt_user", prompt="Which?", type="text")
    copy = house.session("copy")

    await house.madang.session_operations.copy(house.call, copy.call.session)

    (withdrawn,) = (await copy.asker.done("list_prompts", status="withdrawn")).data["prompts"]
    assert (withdrawn["prompt"], withdrawn["messageId"] != asked.data["messageId"]) == ("Which?", True)
    assert (await copy.asker.done("list_prompts")).data["prompts"] == []
    await house.asker.done("reply_prompt", messageId=asked.data["messageId"], answer="This")


async def test_a_fork_gets_its_own_copy_of_what_it_shows(house: House) -> None:
    log = EventLog(house.madang.database)
    await log.append(house.call, *(NewEvent("SAID", {"number": number}) for number in range(1, 6)))
    fork, grandchild = house.session("fork").call, house.session("grandchild").call
    await house.madang.sessions.create(fork, parent_id=house.call.session, parent_seq=3)
    await log.append(fork, NewEvent("SAID", {"number": 40}))
    await house.madang.sessions.create(grandchild, parent_id=fork.session, parent_seq=4)

    await house.madang.session_operations.forget(house.call)

    assert [(event.seq, event.payload["number"]) for event in (await log.read(fork)).events] == [
        (1, 1),
        (2, 2),
        (3, 3),
        (4, 40),
    ]
    await house.madang.session_operations.forget(fork)
    assert [event.payload["number"] for event in (await log.read(grandchild)).events] == [1, 2, 3, 40]
    assert await log.append(grandchild, NewEvent("SAID", {"number": 5})) == 5


async def test_deleting_the_middle_of_three_leaves_the_rest_to_be_read_from_the_first(house: House) -> None:
    log = EventLog(house.madang.database)
    await log.append(house.call, *(NewEvent("SAID", {}) for _ in range(5)))
    middle, last = house.session("middle").call, house.session("last").call
    await house.madang.sessions.create(middle, parent_id=house.call.session, parent_seq=3)
    await log.append(middle, NewEvent("SAID", {}))
    await house.madang.sessions.create(last, parent_id=middle.session, parent_seq=4)

    await house.madang.session_operations.forget(middle)

    record = await house.madang.sessions.get(last)
    assert record is not None
    assert (record.parent_id, record.parent_seq) == (house.call.session, 3)
    assert [event.seq for event in (await log.read(last)).events] == [4]


async def test_a_service_that_fails_leaves_the_session_marked_and_a_repeat_finishes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(house, "quokka")
    service = type(house.madang.provider._registry.get("ui"))

    async def fail(*_: object) -> None:
        raise OSError("no disk")

    with monkeypatch.context() as patch:
        patch.setattr(service, "forget_session", fail)
        with pytest.raises(Unavailable, match="is not wholly deleted: ui failed"):
            await house.madang.session_operations.forget(house.call)

    record = await house.madang.sessions.get(house.call)
    assert record is not None
    assert record.state == "deleting"
    refused = await house.asker.ask("add_todo", name="x")
    assert refused.error_code == "conflict"
    with pytest.raises(Conflict):
        await house.madang.session_operations.copy(house.call, SessionId("copy"))
    await house.madang.session_operations.forget(house.session("another").call)  # finishes it on the way
    assert await house.madang.sessions.get(house.call) is None
    assert (await house.asker.done("list_prompts")).data["prompts"] == []


async def test_a_session_with_a_run_that_is_not_over_is_not_deleted(house: House) -> None:
    await house.asker.done("add_todo", name="Kept")
    await SessionStore(house.madang.database).open()

    async def start(tx: Transaction) -> None:
        row = await tx.one("SELECT no FROM session WHERE id = ?1", house.call.session)
        assert row is not None
        await tx.run(
            "INSERT INTO run (user_id, id, session_no, assistant_id, model, state, epoch, owner) "
            "VALUES (?1, 'r1', ?2, 'a', '', 'waiting', 1, '')",
            house.call.user_id,
            row[0],
        )

    await house.asker.done("list_prompts")  # opens the tables of pauses and runs
    await house.madang.database.write(start, user_id=house.call.user_id)

    with pytest.raises(Conflict, match="r1 of this session is not over"):
        await house.madang.session_operations.forget(house.call)

    assert len((await house.asker.done("get_current_state")).data["todos"]) == 1


async def test_only_new_names_are_filled_and_only_existing_sessions_are_read(house: House, tmp_path: Path) -> None:
    operations = house.madang.session_operations
    await house.asker.done("add_todo", name="x")
    await operations.export(house.call, tmp_path / "a.zip")

    for wrong in (
        operations.copy(house.call, house.call.session),
        operations.import_(house.call, tmp_path / "a.zip"),
        operations.export(house.call, tmp_path / "a.zip"),
    ):
        with pytest.raises(Conflict, match="already"):
            await wrong
    with pytest.raises(InvalidArguments, match="printable"):
        await operations.copy(house.call, SessionId(" \n"))
    for missing in (
        operations.copy(house.session("nobody").call, SessionId("new")),
        operations.export(house.session("nobody").call, tmp_path / "b.zip"),
    ):
        with pytest.raises(NotFound):
            await missing
    assert not (tmp_path / "b.zip").exists()
    assert list(tmp_path.glob(".*")) == []


async def test_no_model_and_no_foreign_client_gets_at_whole_sessions(house: House, tmp_path: Path) -> None:
    operations = house.madang.session_operations
    for actor in ("model", "foreign"):
        call = replace(house.call, actor=actor)
        for refused in (
            operations.forget(call),
            operations.copy(call, SessionId("x")),
            operations.export(call, tmp_path / "x.zip"),
            operations.import_(call, tmp_path / "x.zip"),
        ):
            with pytest.raises(Denied):
                await refused
