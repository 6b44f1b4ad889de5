"""Branches of a session, and sessions with a history that are copied, exported, imported and deleted."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.errors import InvalidArguments, NotFound
from madang.core.ids import SessionId, new_id
from madang.llm.messages import Part, TextPart
from madang.records.decisions import remember_decision
from madang.records.runs.journal import Message
from tests.agent.bench import ME, Bench, bench, tool_call
from tests.postgresql import url_in
from tests.whole_sessions import all_rows

SCRIPT: list[Sequence[Part]] = [
    [TextPart("Adding."), tool_call("add_todo", name="Buy tea")],
    [TextPart("Added.")],
    [TextPart("Second.")],
    [TextPart("Third.")],
    [TextPart("Branched.")],
    [TextPart("Branched again.")],
]


@pytest.fixture(params=["disk", "server"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_in(tmp_path) if request.param == "server" else ""


def session(name: str) -> Call:
    return replace(ME, session_id=SessionId(name))


async def post(b: Bench, call: Call, text: str) -> None:
    await b.runner.post(call, [TextPart(text)])
    await b.runner.wait_idle()


async def history(b: Bench, call: Call = ME) -> list[Message]:
    return await b.stores.messages.read_page(call, limit=100)


def words(messages: Sequence[Message]) -> list[tuple[str, str]]:
    return [(message.role, str(message.parts[0].get("text", ""))[:20]) for message in messages]


async def filled(b: Bench) -> list[Message]:
    await post(b, ME, "First")
    await post(b, ME, "Second, please")
    return await history(b)


async def test_a_fork_after_a_message_shows_all_up_to_it_and_goes_its_own_way(tmp_path: Path, url: str) -> None:
    async with bench(tmp_path, *SCRIPT, url=url) as b:
        messages = await filled(b)
        before = words(messages)
        fork = session("fork")

        record = await b.madang.session_operations.fork(ME, fork.session, messages[3].id)

        assert (record.parent_id, record.title) == (ME.session, "First")
        assert words(await history(b, fork)) == before[:4]
        await post(b, fork, "Another way")
        assert words(await history(b)) == before
        assert words(await history(b, fork)) == [*before[:4], ("user", "Another way"), ("assistant", "Third.")]
        sent = b.model.requests[-1].messages
        assert [message.role for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
        seqs = [event.seq for event in (await b.events.read(fork)).events]
        assert seqs == list(range(record.parent_seq + 1, record.parent_seq + 1 + len(seqs)))
        # What the services keep came along.
        state = await b.madang.provider.execute_tool(fork, "get_current_state", {})
        assert "Buy tea" in state.text


async def test_a_message_is_edited_and_asked_again_as_a_branch(tmp_path: Path, url: str) -> None:
    async with bench(tmp_path, *SCRIPT, url=url) as b:
        messages = await filled(b)
        fork = session("fork")
        second = next(message for message in messages if "Second" in str(message.parts))

        record = await b.madang.session_operations.fork(ME, fork.session, second.id, before=True)
        await post(b, fork, "Second, but green")

        assert words(await history(b, fork))[-2:] == [("user", "Second, but green"), ("assistant", "Third.")]
        assert "Second, please" not in str(b.model.requests[-1].messages)
        # The end of the run before it belongs to what is shown.
        ends = [event.seq for event in (await b.events.read(ME)).events if event.kind == "RUN_FINISHED"]
        assert record.parent_seq == ends[0]


async def test_a_fork_at_a_call_takes_its_result_along(tmp_path: Path) -> None:
    async with bench(tmp_path, *SCRIPT) as b:
        messages = await filled(b)
        asking = next(message for message in messages if message.role == "assistant")

        await b.madang.session_operations.fork(ME, SessionId("fork"), asking.id)

        assert [message.role for message in await history(b, session("fork"))] == ["user", "assistant", "tool"]


async def test_the_first_message_can_be_written_anew_and_others_are_refused(tmp_path: Path) -> None:
    async with bench(tmp_path, *SCRIPT) as b:
        messages = await filled(b)
        operations = b.madang.session_operations
        await operations.fork(ME, SessionId("empty"), messages[0].id, before=True)
        assert await history(b, session("empty")) == []
        with pytest.raises(InvalidArguments):
            await operations.fork(ME, SessionId("x"), messages[1].id, before=True)
        with pytest.raises(NotFound):
            await operations.fork(ME, SessionId("x"), new_id())
        assert await b.madang.sessions.get(session("x")) is None


async def test_deleting_a_parent_gives_each_fork_its_own_copy(tmp_path: Path, url: str) -> None:
    async with bench(tmp_path, *SCRIPT, url=url) as b:
        messages = await filled(b)
        operations = b.madang.session_operations
        one, two, grandchild = session("one"), session("two"), session("grandchild")
        await operations.fork(ME, one.session, messages[3].id)
        await operations.fork(ME, two.session, messages[-1].id)
        await post(b, one, "Only in one")
        own = await history(b, one)
        await operations.fork(one, grandchild.session, own[-1].id)
        before = [words(await history(b, call)) for call in (one, two, grandchild)]

        await operations.forget(ME)

        assert [words(await history(b, call)) for call in (one, two, grandchild)] == before
        assert await history(b) == []
        found = {hit.session_id for hit in await b.search.search(ME, "first")}
        assert found == {"one", "two"}
        await operations.forget(one)
        assert words(await history(b, grandchild)) == before[2]
        await post(b, grandchild, "Still going")
        assert words(await history(b, grandchild))[-1][0] == "assistant"


async def test_an_exported_session_comes_back_with_its_history_under_new_ids(tmp_path: Path, url: str) -> None:
    async with bench(tmp_path, *SCRIPT, url=url) as b:
        await filled(b)
        operations = b.madang.session_operations
        await operations.export(ME, tmp_path / "tea.zip")
        target = session("imported")

        await operations.import_(target, tmp_path / "tea.zip")

        assert words(await history(b, target)) == words(await history(b))
        events, copied = (await b.events.read(ME)).events, (await b.events.read(target)).events
        assert [(event.seq, event.kind) for event in events] == [(event.seq, event.kind) for event in copied]
        runs = {event.run_id for event in events}
        new_runs = {event.run_id for event in copied}
        assert len(runs) == len(new_runs) == 2
        assert not runs & new_runs
        assert not any(old in json.dumps(dict(event.payload)) for event in copied for old in runs)
        for id in new_runs:
            run = await b.stores.runs.get(ME.user_id, id)
            assert run is not None
            assert (run.session_id, run.state) == ("imported", "finished")
        calls = [call for id in new_runs for call in await b.stores.calls.list_by_run(ME.user_id, id)]
        assert [(call.tool, call.outcome) for call in calls] == [("add_todo", "ok")]
        await post(b, target, "Go on")
        assert [message.role for message in b.model.requests[-1].messages][-2:] == ["assistant", "user"]
        assert {hit.session_id for hit in await b.search.search(ME, "first")} == {"tea", "imported"}


async def test_a_copy_has_its_own_history_and_a_fork_leaves_whole(tmp_path: Path, url: str) -> None:
    async with bench(tmp_path, *SCRIPT, url=url) as b:
        messages = await filled(b)
        operations = b.madang.session_operations
        await operations.fork(ME, SessionId("fork"), messages[-1].id)
        await post(b, session("fork"), "Only here")
        whole = words(await history(b, session("fork")))

        await operations.copy(session("fork"), SessionId("copy"))
        await operations.export(session("fork"), tmp_path / "fork.zip")
        await operations.forget(session("fork"))
        await operations.forget(ME)
        await operations.import_(session("imported"), tmp_path / "fork.zip")

        assert words(await history(b, session("copy"))) == whole
        assert words(await history(b, session("imported"))) == whole


async def test_nothing_is_left_of_a_session_with_runs_but_stripped_audit_rows(tmp_path: Path, url: str) -> None:
    script: list[Sequence[Part]] = [
        [
            tool_call("prompt_user", "c1", prompt="Which quokka?", type="text"),
            tool_call("add_todo", "c2", name="quokka"),
        ],
        [TextPart("A quokka was here.")],
    ]
    victim = session("victim quokka")
    async with bench(tmp_path, *script, url=url) as b:
        run = await b.runner.post(victim, [TextPart("Tell me of the quokka")])
        assert run is not None
        [pause] = await b.open_pauses(run)
        await b.madang.provider.execute_tool(victim, "reply_prompt", {"messageId": pause.id, "answer": "quokka"})
        assert (await b.ended(run)).state == "finished"
        await b.madang.database.write(lambda tx: remember_decision(tx, victim, "session", "x"), user_id=ME.user_id)
        rows = await all_rows(b.madang.database)
        assert {"decision", "message", "message_number", "run", "run_call", "usage"} <= {table for table, _ in rows}

        await b.madang.session_operations.forget(victim)

        left = await all_rows(b.madang.database)
        assert [row for row in left if "quokka" in row[1] or run.id in row[1]] == []
        assert {table for table, _ in left} <= {"account", "audit", "calibration", "migration", "notice", "process"}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("messages.jsonl", {"seq": 1}),
        ("messages.jsonl", {"id": "same"}),
        ("runs.jsonl", {"state": "running"}),
        ("calls.jsonl", {"runId": "nobody"}),
    ],
)
async def test_a_history_that_contradicts_itself_is_refused(tmp_path: Path, name: str, line: dict[str, object]) -> None:
    async with bench(tmp_path, *SCRIPT) as b:
        await filled(b)
        await b.madang.session_operations.export(ME, tmp_path / "tea.zip")
        with (
            zipfile.ZipFile(tmp_path / "tea.zip") as source,
            zipfile.ZipFile(tmp_path / "bad.zip", "w") as target,
        ):
            for entry in source.namelist():
                data = source.read(entry)
                if entry == name:
                    changed = [json.dumps(json.loads(row) | line) for row in data.decode().splitlines()]
                    data = "\n".join(changed).encode()
                target.writestr(entry, data)

        with pytest.raises(InvalidArguments):
            await b.madang.session_operations.import_(session("bad"), tmp_path / "bad.zip")

        assert await b.madang.sessions.get(session("bad")) is None
        assert await history(b, session("bad")) == []
