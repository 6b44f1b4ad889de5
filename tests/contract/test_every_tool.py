"""What every tool of every built-in service promises, whatever it does."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from madang.client import unwrap
from madang.core.calls import Locale
from madang.core.results import Reply
from madang.core.tools import Tool
from madang.server.mapping import call_result, listed_tool
from madang.services import builtin_services, prebuilt_schemas
from madang.storage.sqlite import SqliteDatabase
from tests.asking import NO_FOLDERS, Asker, open_asker

TOOLS = {tool.name: tool for service in builtin_services(SqliteDatabase(None), NO_FOLDERS) for tool in service.tools}

SERVICE_OF = {
    tool.name: service.metadata.name
    for service in builtin_services(SqliteDatabase(None), NO_FOLDERS)
    for tool in service.tools
}

PAUSING = {"show_playbooks", "get_playbook_page", "prompt_user", "wait_for_user"}
PERSON = {"get_playbook_page", "reply_prompt", "resume_from_wait"}
SHOWING = PAUSING | {"reply_prompt", "resume_from_wait", "visualize_data", "export_file", "export_zip"}

READING = ("list", "show", "get", "export", "visualize", "read", "search", "grep", "keyword")
"""The verbs of tools that change nothing."""

STEP = {"description": "Look", "action": {"toolName": "grep", "purpose": "find"}, "requiredData": ["a"]}
GOAL = "Ship it 배포"
FILE = "notes/메모.md"


@dataclass(frozen=True)
class Ids:
    """What there is to work on."""

    playbook: str
    prompt: str
    wait: str
    store: str
    content: str
    outside: str
    """A file in a folder that the person allowed."""


Arguments = Callable[[Ids], dict[str, Any]]
GOOD: dict[str, Arguments] = {
    "create_playbook": lambda _: {"goal": GOAL, "workflow": [STEP], "successCriteria": {"description": "done"}},
    "list_playbooks": lambda _: {},
    "show_playbooks": lambda _: {"pageSize": 5},
    "get_playbook_page": lambda _: {"page": 1},
    "get_playbook": lambda ids: {"id": ids.playbook},
    "select_playbook": lambda ids: {"id": ids.playbook},
    "update_playbook": lambda ids: {"id": ids.playbook, "playbook": {"initialCommand": "go"}},
    "delete_playbook": lambda ids: {"id": ids.playbook},
    "list_playbook_runs": lambda _: {},
    "export_playbooks": lambda _: {},
    "import_playbooks": lambda _: {"document": "madangPlaybooks: 1\nplaybooks:\n- goal: New\n  workflow: []\n"},
    "create_goal": lambda _: {"goal": "New goal"},
    "clear_goal": lambda _: {},
    "add_todo": lambda _: {"name": "New todo"},
    "mark_todo": lambda _: {"id": 1, "summary": "well"},
    "clear_todos": lambda _: {"ids": [1]},
    "add_observation": lambda _: {"observation": "New"},
    "clear_session": lambda _: {},
    "get_current_state": lambda _: {},
    "prompt_user": lambda _: {"prompt": "Which one?", "type": "select", "options": ["One", "둘"]},
    "reply_prompt": lambda ids: {"messageId": ids.prompt, "answer": ["One"]},
    "get_prompt": lambda ids: {"messageId": ids.prompt},
    "list_prompts": lambda _: {},
    "wait_for_user": lambda _: {"message": "Plug it in", "resumeInstruction": "Look again"},
    "resume_from_wait": lambda ids: {"waitId": ids.wait},
    "visualize_data": lambda _: {
        "type": "bar",
        "data": [{"label": "하나", "value": 1}, {"label": "Two", "value": 2.5}],
    },
    "create_store": lambda _: {"metadata": {"name": "Papers 논문", "description": "To read"}},
    "list_stores": lambda _: {},
    "add_content": lambda _: {"content": "New text 새 글", "metadata": {"filename": "new.txt"}},
    "list_content": lambda ids: {"storeId": ids.store},
    "read_content": lambda ids: {"contentId": ids.content, "lineRange": {"fromLine": 2, "toLine": 2}},
    "keyword_similarity_search": lambda _: {"query": "second 둘째", "options": {"topN": 3}},
    "delete_content": lambda ids: {"contentId": ids.content},
    "delete_store": lambda ids: {"storeId": ids.store},
    "read_file": lambda _: {"path": FILE},
    "write_file": lambda _: {"path": "new/메모.md", "content": "# 새\n"},
    "edit_file": lambda _: {"path": FILE, "edits": [{"oldText": "needle", "newText": "바늘"}]},
    "list_directory": lambda _: {},
    "search_files": lambda _: {"pattern": "*.md"},
    "grep": lambda _: {"pattern": "needle"},
    "move_file": lambda _: {"source": FILE, "target": "moved.md"},
    "delete_file": lambda _: {"path": FILE},
    "import_file": lambda ids: {"source": ids.outside},
    "export_file": lambda _: {"path": FILE, "displayName": "보고서", "description": "Figures"},
    "export_zip": lambda _: {"files": ["notes", "missing.txt"]},
}
"""Arguments that work, given what there is. A new tool needs a line here: see the first test."""

BAD: dict[str, dict[str, Any]] = {
    "get_playbook": {"id": "nothing"},
    "select_playbook": {"id": "nothing"},
    "update_playbook": {"id": "nothing", "playbook": {}},
    "delete_playbook": {"id": "nothing"},
    "mark_todo": {"id": 99},
    "prompt_user": {"prompt": "Which one?", "type": "select"},
    "reply_prompt": {"messageId": "nothing", "answer": "One"},
    "get_prompt": {"messageId": "nothing"},
    "resume_from_wait": {"waitId": "nothing"},
    "add_content": {"content": "Text", "fileUrl": "data:,Text"},
    "list_content": {"storeId": "nothing"},
    "read_content": {"contentId": "nothing"},
    "keyword_similarity_search": {"query": "?!"},
    "delete_content": {"contentId": "nothing"},
    "delete_store": {"storeId": "nothing"},
    "read_file": {"path": "nothing.txt"},
    "write_file": {"path": "../out.txt", "content": "x"},
    "edit_file": {"path": FILE, "edits": [{"oldText": "nothing like it", "newText": "x"}]},
    "list_directory": {"path": "nothing"},
    "search_files": {"pattern": "*", "path": "/etc"},
    "grep": {"pattern": "("},
    "move_file": {"source": "nothing.txt", "target": "b.txt"},
    "delete_file": {"path": "nothing.txt"},
    "import_file": {"source": "/etc/passwd"},
}
"""Arguments that fit the schema and still do not work; for all others an unknown argument will do."""


@pytest.fixture(params=["en", "ko"])
def locale(request: pytest.FixtureRequest) -> Locale:
    found: Locale = request.param
    return found


@pytest.fixture
async def busy(locale: Locale) -> AsyncIterator[tuple[Asker, Ids]]:
    """Somebody with a playbook, a run, a plan, an open question, a wait and a text."""
    async with open_asker() as asker:
        asker = asker.with_call(locale=locale)
        yield asker, await given_some_of_everything(asker)


async def given_some_of_everything(asker: Asker) -> Ids:
    playbook = (await asker.done("create_playbook", goal=GOAL, workflow=[STEP])).data["playbook"]["id"]
    await asker.done("select_playbook", id=playbook)
    await asker.done("create_goal", goal="Goal of the session")
    await asker.done("add_todo", name="First todo")
    await asker.done("add_observation", observation="Seen")
    asked = await asker.done("prompt_user", prompt="Which ones?", type="multiselect", options=["One", "Two"])
    waiting = await asker.done("wait_for_user", message="Open the door")
    added = await asker.done("add_content", content="First line\nSecond line 둘째 줄\n")
    await asker.done("write_file", path=FILE, content="One\nA needle 바늘\n")
    return Ids(
        playbook=playbook,
        prompt=asked.data["messageId"],
        wait=waiting.data["waitId"],
        store=added.data["storeId"],
        content=added.data["contentId"],
        outside=outside_file(asker, "Outside\n"),
    )


def outside_file(asker: Asker, content: str) -> str:
    """Return the path of a file in the folder that the person allowed."""
    path = asker.folders.allowed[0] / "outside.txt"
    path.write_text(content, encoding="utf-8")
    return str(path)


def test_the_schemas_that_come_with_the_package_are_those_of_the_code() -> None:
    made = {name: {"input": tool.input_schema, "output": tool.output_schema} for name, tool in TOOLS.items()}

    assert prebuilt_schemas() == json.loads(json.dumps(made)), "scripts/generate writes them anew"


def test_every_tool_has_an_example_here() -> None:
    assert set(GOOD) == set(TOOLS)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_tool_is_named_and_described_for_a_model(tool: Tool) -> None:
    # `grep` is a name that every model knows; two words would not say more.
    assert re.fullmatch(r"[a-z]+(_[a-z]+)+|grep", tool.name)
    assert tool.description.endswith(".")
    assert 15 <= len(tool.description) <= 250
    assert "\n" not in tool.description


@pytest.mark.parametrize("name", TOOLS)
def test_schemas_are_flat_and_closed(name: str) -> None:
    tool = TOOLS[name]

    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "properties" in schema
        for keyword in ("$ref", "$defs", "oneOf", "allOf", "title"):
            assert keyword not in set(keywords(schema)), keyword
        # A text or a list of texts can be said in no other way that all clients take.
        is_answer = name == "reply_prompt" and schema is tool.input_schema
        assert list(keywords(schema)).count("anyOf") == (1 if is_answer else 0)
        assert "anyOf" not in schema
    assert tool.input_schema["additionalProperties"] is False
    assert all(re.fullmatch(r"[a-z][A-Za-z]*", field) for field in fields(tool.input_schema))
    assert all(re.fullmatch(r"[a-z][A-Za-z0-9]*", field) for field in fields(tool.output_schema))


@pytest.mark.parametrize("name", TOOLS)
def test_annotations_follow_from_the_effect(name: str) -> None:
    tool = TOOLS[name]

    assert listed_tool(tool, "off")["annotations"] == {
        "readOnlyHint": tool.effect == "read",
        "destructiveHint": tool.effect == "destroy",
        "idempotentHint": tool.idempotent,
        "openWorldHint": False,
    }
    assert tool.idempotent or tool.effect != "read"
    assert (tool.effect == "destroy") == (name.split("_")[0] in ("delete", "clear"))
    reads = name.split("_")[0] in READING and name not in ("export_file", "export_zip")
    assert (tool.effect == "read") == reads


def test_only_the_tools_of_the_contract_pause_show_and_are_for_the_person() -> None:
    assert {tool.name for tool in TOOLS.values() if tool.audience == "person"} == PERSON
    assert {tool.name for tool in TOOLS.values() if tool.page} == SHOWING


@pytest.mark.parametrize("name", TOOLS)
async def test_a_good_answer_keeps_the_form(busy: tuple[Asker, Ids], name: str) -> None:
    asker, ids = busy

    reply = await asker.done(name, **GOOD[name](ids))

    jsonschema.validate(reply.data, TOOLS[name].output_schema)
    assert reply.text.startswith(f"[{name}] ")
    assert (reply.pause is not None) == (name in PAUSING)
    assert (reply.page is not None) == (name in SHOWING)
    assert_ids_are_in_the_text(reply)
    assert len(reply.text.encode()) < 8.5 * 1024
    assert call_result(reply)["isError"] is False


@pytest.mark.parametrize("name", TOOLS)
async def test_a_program_reads_an_answer_back_into_its_type(busy: tuple[Asker, Ids], name: str) -> None:
    asker, ids = busy

    reply = await asker.done(name, **GOOD[name](ids))

    document = unwrap(call_result(reply), TOOLS[name].output_model)
    assert document.model_dump(mode="json", by_alias=True) == reply.data


@pytest.mark.parametrize("name", TOOLS)
async def test_an_error_keeps_the_form(busy: tuple[Asker, Ids], name: str) -> None:
    asker, _ = busy

    reply = await asker.ask(name, **BAD.get(name, {"surprise": 1}))

    error = reply.data["error"]
    assert list(reply.data) == ["error"]
    assert set(error) == {"code", "message", "hint"}
    assert re.fullmatch(r"[a-z_]+", error["code"])
    assert error["message"]
    assert error["hint"]
    first, second = reply.text.split("\n")
    assert first.startswith(f"[{name}] ")
    assert first.endswith(error["message"])
    assert second.endswith(error["hint"])
    assert "Traceback" not in reply.text
    assert (reply.page, reply.pause) == (None, None)
    assert call_result(reply)["isError"] is True


@pytest.mark.parametrize("name", TOOLS)
async def test_the_language_changes_words_and_nothing_else(name: str) -> None:
    replies: dict[Locale, Reply] = {}
    for locale in ("en", "ko"):
        async with open_asker() as opened:
            asker = opened.with_call(locale=locale)
            ids = await given_some_of_everything(asker)
            replies[locale] = await asker.done(name, **GOOD[name](ids))

    english, korean = replies["en"], replies["ko"]
    assert names_of_tools(korean.text) == names_of_tools(english.text)
    assert english.text != korean.text
    assert shape(korean.data) == shape(english.data)
    if korean.page and english.page:
        assert 'lang="ko"' in korean.page.document
        hooks = r'class="(?:select-pb|delete-pb|nav-page)-btn"'
        assert re.findall(hooks, korean.page.fragment) == re.findall(hooks, english.page.fragment)


@pytest.mark.parametrize("name", TOOLS)
async def test_hints_name_tools_that_exist(name: str) -> None:
    async with open_asker() as asker:
        reply = await asker.done(name, **GOOD[name](await given_some_of_everything(asker)))
        error = await asker.ask(name, **BAD.get(name, {"surprise": 1}))

    quoted = re.findall(r"'([a-z]+_[a-z_]+)'", reply.text + error.text)
    assert set(quoted) <= set(TOOLS)


@pytest.mark.parametrize("name", TOOLS)
async def test_the_largest_answer_is_still_about_eight_kilobytes(name: str) -> None:
    """A model pays for every byte, whatever others have written."""
    step = {**STEP, "description": "가" * 1000, "requiredData": ["나" * 200] * 20}
    criteria = {"description": "기" * 4000, "requiredArtifacts": ["물" * 500] * 20}
    async with open_asker() as asker:
        large = await asker.done(
            "create_playbook",
            goal="목" * 2000,
            initialCommand="명" * 4000,
            workflow=[step] * 5,
            successCriteria=criteria,
        )
        await asker.done("select_playbook", id=large.data["playbook"]["id"])
        options = [f"{number} " + "선" * 490 for number in range(100)]
        asked = await asker.done("prompt_user", prompt="질" * 4000, type="multiselect", options=options)
        waiting = await asker.done("wait_for_user", message="기" * 4000, resumeInstruction="다" * 4000)
        for _ in range(20):
            await asker.done("prompt_user", prompt="문" * 4000, type="text")
        store = content = ""
        # The words of long texts take a while to find: only for the tools that have to do with them.
        for number in range(30 if SERVICE_OF[name] == "content" else 0):
            added = await asker.done(
                "add_content",
                content=f"{number} " + "글월 " * 5_000 + "글월\n" * 5_000,
                metadata={"filename": f"{number} " + "이" * 250},
            )
            store, content = added.data["storeId"], added.data["contentId"]
            await asker.done("create_store", metadata={"name": "이" * 200, "description": "설" * 2000})
        ids = Ids(
            playbook=large.data["playbook"]["id"],
            prompt=asked.data["messageId"],
            wait=waiting.data["waitId"],
            store=store,
            content=content,
            outside=outside_file(asker, "밖" * 100_000),
        )
        await asker.done("write_file", path=FILE, content=("줄" * 900 + " needle\n") * 60)
        for number in range(60 if SERVICE_OF[name] == "workspace" else 0):
            await asker.done("write_file", path=f"{number}{'긴' * 70}.md", content="x")
        for number in range(1, 11):
            await asker.done("add_observation", observation="관" * 2000)
            await asker.done("add_todo", name="할" * 1000)
            await asker.done("mark_todo", id=number, summary="요" * 2000)
        for number in range(60 if name == "export_zip" else 0):
            asker.keep_file("notes/" + "긴" * 80 + str(number))
        for goal in ("옛" * 2000, "새" * 2000):
            await asker.done("create_goal", goal=goal)
        large_arguments: dict[str, dict[str, Any]] = {
            "add_observation": {"observation": "새" * 2000},
            "create_store": {"metadata": {"name": "이" * 200, "description": "설" * 2000}},
            "list_content": {"pagination": {"limit": 50}},
            "read_content": {"contentId": ids.content},
            "keyword_similarity_search": {"query": "글월" * 1000, "options": {"topN": 50}},
            "edit_file": {"path": FILE, "edits": [{"oldText": "needle", "newText": "바" * 900, "replaceAll": True}]},
            "grep": {"pattern": "needle", "context": 10, "limit": 500},
            "prompt_user": {"prompt": "질" * 4000, "type": "select", "options": options},
            "reply_prompt": {"messageId": ids.prompt, "answer": options},
            "wait_for_user": {"message": "기" * 4000, "resumeInstruction": "다" * 4000},
            "export_file": {"path": FILE, "displayName": "이" * 500, "description": "설" * 2000},
            "export_zip": {"files": ["notes", *("없" * 80 + str(n) for n in range(500))], "description": "설" * 2000},
            "visualize_data": {
                "type": "line",
                "title": "제" * 200,
                "series": [
                    {"name": f"{number} " + "이" * 190, "data": [{"label": "라" * 200, "value": number}] * 50}
                    for number in range(20)
                ],
            },
        }

        reply = await asker.done(name, **large_arguments.get(name) or GOOD[name](ids))
        prompt = await asker.provider.build_tool_prompt(asker.call)

    assert len(reply.text.encode()) < 9 * 1024
    assert len(prompt.encode()) < 3 * 9 * 1024


def assert_ids_are_in_the_text(reply: Reply) -> None:
    """The data is never the only place of an id."""
    for key, value in pairs(reply.data):
        if key in ("id", "playbookId", "messageId", "waitId", "storeId", "contentId", "chunkId") and isinstance(
            value, str
        ):
            assert value in reply.text
        if key == "ids":
            assert all(id in reply.text for id in value)
    for todo in reply.data.get("todos", []):
        assert f"ID:{todo['id']} " in reply.text


def names_of_tools(text: str) -> list[str]:
    return sorted(re.findall("|".join(rf"\b{name}\b" for name in sorted(TOOLS, key=len, reverse=True)), text))


def shape(value: Any) -> Any:
    """Return the data without what differs from run to run."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return type(value).__name__


def pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from pairs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from pairs(inner)


def keywords(schema: Any) -> Iterator[str]:
    """Yield the keywords of a schema: names of properties are data."""
    if isinstance(schema, dict):
        for key, inner in schema.items():
            yield key
            if key == "properties":
                for part in inner.values():
                    yield from keywords(part)
            else:
                yield from keywords(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from keywords(inner)


def fields(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for key, inner in schema.items():
            if key == "properties":
                yield from inner
                for part in inner.values():
                    yield from fields(part)
            else:
                yield from fields(inner)
