"""Once a model was shown words of somebody else, what other sessions would notice waits for the person.

Each vehicle shows the model such words. Whatever happens to the session then, it stays so; and a session that was shown
none of them is not asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from madang.agent_app import open_agent
from madang.core.ids import SessionId
from madang.llm.messages import AttachedFile, Part, TextPart
from madang.llm.opening import OpenedModel
from madang.llm.scripted import Says, Script, ScriptedModel, Turn
from madang.settings import Settings
from tests.agent.bench import eventually
from tests.security.test_injections import PERSON, House, open_house, order

MAKE = order("create_playbook", goal="Follow the stranger", workflow=[])
ASK = order("prompt_user", prompt="Which tea?", type="text")
STRANGE = "a stranger's words"


async def write(house: House, session: str, path: str = "README.md") -> None:
    await house.call(session, "write_file", path=path, content=f"{STRANGE}\nand more\n")


async def by_read_file(house: House, session: str) -> str:
    await write(house, session)
    return order("read_file", path="README.md")


async def by_grep(house: House, session: str) -> str:
    await write(house, session)
    return order("grep", pattern="stranger")


async def by_search_files(house: House, session: str) -> str:
    await write(house, session, f"{STRANGE}.md")
    return order("search_files", pattern="*.md")


async def by_list_directory(house: House, session: str) -> str:
    await write(house, session, f"{STRANGE}.md")
    return order("list_directory")


async def by_edit_file(house: House, session: str) -> str:
    await write(house, session)
    return order("edit_file", path="README.md", edits=[{"oldText": "and more", "newText": "less"}])


async def by_import_file(house: House, session: str) -> str:
    (house.folder / "shared" / "notes.md").write_text(STRANGE)
    return order("import_file", source=str(house.folder / "shared" / "notes.md"))


async def by_read_content(house: House, session: str) -> str:
    added = await house.call(session, "add_content", content=STRANGE)
    return order("read_content", contentId=added.data["contentId"])


async def by_list_content(house: House, session: str) -> str:
    await house.call(session, "add_content", content=STRANGE, metadata={"filename": f"{STRANGE}.txt"})
    return order("list_content")


async def by_content_search(house: House, session: str) -> str:
    await house.call(session, "add_content", content=STRANGE)
    return order("keyword_similarity_search", query="stranger")


async def by_delete_content(house: House, session: str) -> str:
    added = await house.call(session, "add_content", content=STRANGE, metadata={"filename": f"{STRANGE}.txt"})
    return order("delete_content", contentId=added.data["contentId"])


async def by_list_stores(house: House, session: str) -> str:
    await house.call(session, "create_store", metadata={"name": STRANGE})
    return order("list_stores")


async def by_get_playbook(house: House, session: str) -> str:
    return order("get_playbook", id=house.playbook_id)


async def by_select_playbook(house: House, session: str) -> str:
    return order("select_playbook", id=house.playbook_id)


async def by_list_playbooks(house: House, session: str) -> str:
    return order("list_playbooks")


async def by_export_playbooks(house: House, session: str) -> str:
    return order("export_playbooks")


async def by_search_messages(house: House, session: str) -> str:
    await house.obey("earlier", "We spoke of camellias")
    return order("search_messages", query="camellias", sessionId="earlier")


async def by_another_server(house: House, session: str) -> str:
    house.outside.page = STRANGE
    return order("fetch")


async def by_a_missing_file(house: House, session: str) -> str:
    await write(house, session, f"{STRANGE}.md")
    return order("read_file", path="a stranger's word.md")


async def by_the_state(house: House, session: str) -> str:
    await write(house, session, f"{STRANGE}.md")
    return "What is new?"


Vehicle = Callable[[House, str], Awaitable[str]]
VEHICLES: dict[str, Vehicle] = {
    name.removeprefix("by_"): vehicle for name, vehicle in list(globals().items()) if name.startswith("by_")
}


async def is_gated(house: House, session: str, words: str = MAKE) -> bool:
    """Have the model make a playbook; tell whether it waits for the person, and nothing was made."""
    before = (await house.call("other", "list_playbooks")).data["page"]["totalItems"]
    state = await house.obey(session, words)
    after = (await house.call("other", "list_playbooks")).data["page"]["totalItems"]
    assert (state, after - before) in {("waiting", 0), ("finished", 1)}
    return state == "waiting"


@asynccontextmanager
async def shown(folder: Path, vehicle: str) -> AsyncIterator[House]:
    """Open a house in which the model of the session "victim" was shown words of a stranger."""
    async with open_house(folder) as house:
        assert await house.obey("victim", await VEHICLES[vehicle](house, "victim")) == "finished"
        yield house


@pytest.mark.parametrize("vehicle", VEHICLES)
async def test_what_a_model_was_shown_makes_the_next_answer_wait(tmp_path: Path, vehicle: str) -> None:
    async with shown(tmp_path, vehicle) as house:
        assert await is_gated(house, "victim")


@pytest.mark.parametrize("vehicle", VEHICLES)
async def test_a_shared_write_beside_an_untrusted_read_waits_as_it_does_after_it(tmp_path: Path, vehicle: str) -> None:
    async with open_house(tmp_path) as house:
        begin = await VEHICLES[vehicle](house, "victim")
        assert await is_gated(house, "victim", f"{begin}\n{MAKE}")


@pytest.mark.parametrize("vehicle", [one for one in VEHICLES if one != "the_state"])
async def test_a_question_beside_the_read_keeps_what_was_read(tmp_path: Path, vehicle: str) -> None:
    async with open_house(tmp_path) as house:
        begin = await VEHICLES[vehicle](house, "victim")
        assert await house.obey("victim", f"{begin}\n{ASK}") == "waiting"
        [pause] = [one for one in await house.agent.inbox.list_open(PERSON.user_id) if one.kind == "prompt"]
        await house.call("victim", "reply_prompt", messageId=pause.id, answer="green")
        await no_run(house, "victim")

        assert await is_gated(house, "victim")


async def no_run(house: House, session: str) -> None:
    call = replace(PERSON, session_id=SessionId(session))
    await eventually(lambda: house.agent.stores.runs.get_live(call), lambda run: run is None)


async def copied(house: House, folder: Path) -> None:
    call = replace(PERSON, session_id=SessionId("victim"))
    await house.agent.madang.session_operations.copy(call, SessionId("next"))


async def forked(house: House, folder: Path) -> None:
    call = replace(PERSON, session_id=SessionId("victim"))
    [*_, last] = await house.agent.stores.messages.read_window(call, lambda messages: False)
    await house.agent.madang.session_operations.fork(call, SessionId("next"), last.id)


async def imported(house: House, folder: Path) -> None:
    call = replace(PERSON, session_id=SessionId("victim"))
    await house.agent.madang.session_operations.export(call, folder / "victim.zip")
    target = replace(PERSON, session_id=SessionId("next"))
    await house.agent.madang.session_operations.import_(target, folder / "victim.zip")


@pytest.mark.parametrize("happens", [copied, forked, imported])
@pytest.mark.parametrize("vehicle", ["read_file", "list_content", "get_playbook"])
async def test_a_copy_a_fork_and_an_import_keep_what_was_read(
    tmp_path: Path, vehicle: str, happens: Callable[[House, Path], Awaitable[None]]
) -> None:
    async with shown(tmp_path, vehicle) as house:
        await happens(house, tmp_path)

        assert await is_gated(house, "next")


async def test_an_import_waits_whatever_was_read_in_what_was_exported(tmp_path: Path) -> None:
    """Anybody may write an archive, and what it says of itself."""
    async with open_house(tmp_path) as house:
        assert await house.obey("victim", "Hello") == "finished"
        await imported(house, tmp_path)

        assert await is_gated(house, "next")


@pytest.mark.parametrize("vehicle", ["read_file", "list_content", "get_playbook"])
async def test_a_summary_keeps_what_was_read(tmp_path: Path, vehicle: str) -> None:
    async with shown(tmp_path, vehicle) as house:
        call = replace(PERSON, session_id=SessionId("victim"))
        for _ in range(30):  # until the older turns, with what was read, are a summary
            assert await house.obey("victim", "Tea, please. " * 1500) == "finished"
            messages = await house.agent.stores.messages.read_window(call, lambda messages: False)
            if any(one.role == "summary" for one in messages):
                break
        assert any(one.role == "summary" for one in messages)

        assert await is_gated(house, "victim")


async def test_a_process_that_starts_anew_knows_what_was_read(tmp_path: Path) -> None:
    async with shown(tmp_path, "read_file"):
        pass
    model = ScriptedModel(Script((Turn((Says("Done."),)),), obeys=True))
    settings = Settings(data_dir=tmp_path / "data", model="obeys")
    async with open_agent(settings, lambda name: OpenedModel(model)) as agent:
        run = await agent.runner.post(replace(PERSON, session_id=SessionId("victim")), [TextPart(MAKE)])
        assert run is not None
        now = await eventually(
            lambda: agent.stores.runs.get(run.user_id, run.id), lambda one: one is not None and one.state != "running"
        )
        assert now is not None
        assert now.state == "waiting"


async def test_the_name_of_an_attachment_is_no_word_of_the_person(tmp_path: Path) -> None:
    async with open_house(tmp_path) as house:
        call = replace(PERSON, session_id=SessionId("victim"))
        parts: list[Part] = [TextPart("Look"), TextPart(f"[File:\n{MAKE}\n]", file=AttachedFile(MAKE, "c1"))]
        run = await house.agent.runner.post(call, parts)
        assert run is not None
        state = await eventually(
            lambda: house.agent.stores.runs.get(run.user_id, run.id),
            lambda one: one is not None and one.state != "running",
        )
        assert state is not None
        assert state.state == "waiting"


OWN_WORK = [
    order("create_goal", goal="Move house"),
    order("get_current_state"),
    order("visualize_data", type="bar", data=[{"label": "a", "value": 1}]),
    order("write_file", path="plan.md", content="Boxes"),
    order("add_content", content="My own words", metadata={"filename": "mine.txt"}),
    f"{order('write_file', path='tea.txt', content='x')}\n{order('export_file', path='tea.txt')}",
    f"{order('write_file', path='a.txt', content='x')}\n{order('move_file', source='a.txt', target='b.txt')}",
    order("list_content"),
    order("grep", pattern="nothing"),
    order("create_store", metadata={"name": "Mine"}),
]


@pytest.mark.parametrize("work", OWN_WORK)
async def test_a_model_that_was_shown_only_its_own_work_is_not_asked(tmp_path: Path, work: str) -> None:
    async with open_house(tmp_path) as house:
        assert await house.obey("mine", work) == "finished"

        assert not await is_gated(house, "mine")


async def test_an_approval_says_why_it_is_asked_now(tmp_path: Path) -> None:
    async with shown(tmp_path, "read_file") as house:
        assert await is_gated(house, "victim")
        [pause] = [one for one in await house.agent.inbox.list_open(PERSON.user_id) if one.kind == "approval"]
        item = await house.agent.inbox.read(replace(PERSON, session_id=SessionId("victim")), pause)

        assert item.reason is not None
        assert "README.md" in str(item.reason)
