"""Export and import: one portable document, exact to the byte, and what is not such a document changes nothing."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from madang.core.errors import InvalidArguments, LimitExceeded
from madang.core.executor import StopSignal, WorkStopped
from madang.core.ids import AssistantId
from madang.services.playbook import engine
from madang.services.playbook.domain import Action, PlaybookContent, StepInput, SuccessCriteria
from tests.asking import Asker, open_asker
from tests.services.playbook.playbooks import STEP, goals

YAML_LOOKING = [
    "yes",
    "null",
    "~",
    "1.0",
    "0x1F",
    "- a",
    "key: value",
    "# no",
    "| ",
    "&a",
    "*a",
    "!!python/x",
    "2024-01-01",
]
ODD = [
    "배포하기",
    "🚀👩‍👩‍👧",
    " lead",
    "trail ",
    "a\tb",
    "a\r\nb",
    "\x85\u2028\u2029",
    "\ufeff",
    "\x1b[0m",
    "e\u0301",
    "\\n",
    "'\"",
]

texts = st.one_of(
    st.sampled_from([*YAML_LOOKING, *ODD]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40),
    st.text("가힣ㄱ-:#'\"\n \t", max_size=20),
)
goal_texts = texts.filter(lambda text: bool(text.strip()))
steps = st.builds(
    StepInput,
    description=texts,
    step_id=texts,
    action=st.builds(Action, tool_name=texts, purpose=texts),
    required_data=st.lists(texts, max_size=3),
    output_variable=texts,
)
contents = st.builds(
    PlaybookContent,
    goal=goal_texts,
    initial_command=texts,
    workflow=st.lists(steps, max_size=3),
    success_criteria=st.builds(SuccessCriteria, description=texts, required_artifacts=st.lists(texts, max_size=3)),
)
formats = st.sampled_from(["yaml", "json"])


@given(st.lists(contents, max_size=3), formats)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_document_reads_back_as_what_was_written(written: list[PlaybookContent], format: engine.Format) -> None:
    document = engine.write_document(written, format)

    assert engine.read_document(document) == written
    assert engine.write_document(engine.read_document(document), format) == document


@given(st.lists(contents, min_size=1, max_size=3), formats)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_exporting_importing_and_exporting_again_gives_the_same_bytes(
    written: list[PlaybookContent], format: engine.Format
) -> None:
    async def there_and_back() -> tuple[str, str, str]:
        async with open_asker() as asker:
            other = asker.with_call(assistant_id=AssistantId("other"))
            for content in written:
                await asker.done("create_playbook", **content.model_dump(by_alias=True))
            first = await asker.done("export_playbooks", format=format)
            await other.done("import_playbooks", document=first.data["document"])
            again = await other.done("export_playbooks", format=format)
            return first.data["document"], again.data["document"], engine.write_document(written, format)

    first, again, direct = asyncio.run(there_and_back())
    assert first.encode() == again.encode() == direct.encode()


def test_a_document_holds_what_people_write_and_nothing_else() -> None:
    content = PlaybookContent(
        goal="배포: 하기",
        workflow=[StepInput(description="One\nTwo", action=Action(tool_name="t")), StepInput(description="yes")],
    )

    assert engine.write_document([content], "yaml") == snapshot("""\
madangPlaybooks: 1
playbooks:
- goal: '배포: 하기'
  workflow:
  - description: |-
      One
      Two
    action:
      toolName: t
  - description: 'yes'
""")
    assert json.loads(engine.write_document([content], "json")) == yaml.safe_load(
        engine.write_document([content], "yaml")
    )


async def test_the_text_of_an_export_is_the_document(asker: Asker) -> None:
    await asker.done("create_playbook", goal="Line\u2028separator \x0b and\x85more", workflow=[STEP])

    for format in ("yaml", "json"):
        reply = await asker.done("export_playbooks", format=format)

        first, _, rest = reply.text.partition("\n\n")
        document, _, note = rest.rpartition("\n\n")
        assert first == f"[export_playbooks] Exported 1 playbook(s) as {format.upper()}."
        # Controls are escaped in the text, which both formats read as the same characters.
        assert engine.read_document(document) == engine.read_document(reply.data["document"])
        assert not re.search("[\u2028\x0b\x85]", document)
        assert note.startswith("Note: Use 'import_playbooks' with the whole document")


async def test_a_long_export_says_that_the_text_is_cut_and_the_data_whole(asker: Asker) -> None:
    await asker.done("create_playbook", goal="Long", workflow=[{"description": f"Step {n}"} for n in range(100)])

    reply = await asker.done("export_playbooks")

    assert "more line(s): the text ends here, the document does not." in reply.text
    assert len(engine.read_document(reply.data["document"])[0].workflow) == 100


async def test_named_playbooks_are_exported_in_the_order_of_their_names(asker: Asker) -> None:
    ids = [
        (await asker.done("create_playbook", goal=goal, workflow=[])).data["playbook"]["id"] for goal in ("A", "B", "C")
    ]

    reply = await asker.done("export_playbooks", ids=[ids[2], ids[0]])

    assert [content.goal for content in engine.read_document(reply.data["document"])] == ["C", "A"]
    assert reply.data["count"] == 2


async def test_nothing_to_export_is_an_empty_document_that_can_be_imported(asker: Asker) -> None:
    exported = await asker.done("export_playbooks")
    imported = await asker.done("import_playbooks", document=exported.data["document"])

    assert (exported.data["count"], imported.data["count"], imported.data["ids"]) == (0, 0, [])


async def test_importing_lists_the_new_ids(asker: Asker) -> None:
    document = engine.write_document(
        [PlaybookContent(goal="A", workflow=[]), PlaybookContent(goal="B", workflow=[])], "yaml"
    )

    reply = await asker.done("import_playbooks", document=document)

    first, second = reply.data["ids"]
    assert reply.text == (
        "[import_playbooks] Successfully imported 2 playbook(s).\n"
        f'1. id:{first} goal:"A"\n'
        f'2. id:{second} goal:"B"\n'
        "\n"
        "Note: Use 'list_playbooks' to see all playbooks, or 'select_playbook' to execute one."
    )
    assert goals(await asker.done("list_playbooks")) == ["A", "B"]


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    return "\n".join(lines)


def good_then(bad: str) -> str:
    return f"madangPlaybooks: 1\nplaybooks:\n- goal: Good\n  workflow: []\n{bad}"


HOSTILE: list[tuple[str, str, str]] = [
    ("a bomb of aliases", bomb(), "aliases are not allowed"),
    (
        "aliases that are wide",
        "a: &a [" + "x," * 50_000 + "]\nb: [" + "*a," * 50_000 + "]",
        "aliases are not allowed",
    ),
    ("deep lists in YAML", "[" * 5000, "cannot be read"),
    ("deep blocks in YAML", "- " * 900 + "x", "nested deeper than 64"),
    ("deep lists in JSON", '{"a":' + "[" * 50_000, "cannot be read"),
    ("deep but whole", '{"madangPlaybooks":1,"playbooks":' + "[" * 100 + "]" * 100 + "}", "nested deeper than 64"),
    ("a tag that would run code", "!!python/object/apply:os.system ['true']", "cannot be read"),
    ("a tag in its place", good_then("- goal: !!python/name:os.system\n  workflow: []"), "cannot be read"),
    ("no outline", "just a text", "it is not an object with 'madangPlaybooks'"),
    ("a list", "[]", "it is not an object"),
    ("two documents", "a: 1\n---\nb: 2", "cannot be read"),
    ("no version", "playbooks: []", "madangPlaybooks: is required."),
    ("another version", "madangPlaybooks: 2\nplaybooks: []", "madangPlaybooks: must be one of 1."),
    ("no playbooks", "madangPlaybooks: 1", "playbooks: is required."),
    ("playbooks that are none", "madangPlaybooks: 1\nplaybooks: text", "playbooks: must be a list."),
    ("a second that is none", good_then("- workflow: []"), "playbooks.1.goal: is required."),
    ("a wrong type", good_then("- goal: 5\n  workflow: []"), "playbooks.1.goal: must be a string."),
    ("a date for a goal", good_then("- goal: 2024-01-01\n  workflow: []"), "playbooks.1.goal: must be a string."),
    ("a bare yes", good_then("- goal: yes\n  workflow: []"), "playbooks.1.goal: must be a string."),
    (
        "too many fields",
        good_then("- goal: x\n  workflow: []\n  id: mine"),
        "playbooks.1.id: is not a field of this object.",
    ),
    ("a key that is no text", good_then("- goal: x\n  workflow: []\n  1: 2"), "playbooks.1"),
    ("broken JSON", '{"madangPlaybooks": 1,', "cannot be read"),
    ("half a character", '{"madangPlaybooks":1,"playbooks":[{"goal":"\\ud83d","workflow":[]}]}', "surrogate"),
    ("a NUL", '{"madangPlaybooks":1,"playbooks":[{"goal":"\\u0000","workflow":[]}]}', "NUL"),
    ("a huge number", "madangPlaybooks: 1" + "0" * 5000 + "\nplaybooks: []", ""),
]


@pytest.mark.parametrize(("document", "message"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
async def test_a_hostile_document_gets_a_clear_error_and_nothing_is_written(
    asker: Asker, document: str, message: str
) -> None:
    reply = await asker.ask("import_playbooks", document=document)

    assert reply.error_code in ("invalid_arguments", "limit_exceeded"), reply.text
    assert message in reply.text
    assert len(reply.text) < 1000
    assert (await asker.done("list_playbooks")).data["page"]["totalItems"] == 0


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("playbooks: []", "document.madangPlaybooks: is required."),
        ("madangPlaybooks: 1\nplaybooks: []\npage: 2", "document.page: is not a field of this object."),
        (good_then("- goal: x\n  workflow: [{}]"), "document.playbooks.1.workflow.0.description: is required."),
    ],
)
async def test_what_a_document_lacks_is_told_as_part_of_it_not_as_an_argument(
    asker: Asker, document: str, message: str
) -> None:
    english = await asker.ask("import_playbooks", document=document)
    korean = await asker.with_call(locale="ko").ask("import_playbooks", document=document)

    assert english.text == (
        f"[import_playbooks] Error: {message} Nothing was changed.\n"
        "Hint: The document needs: madangPlaybooks: 1, playbooks. A playbook needs goal and workflow, a step of "
        "workflow needs description."
    )
    assert korean.data["error"]["hint"] == (
        "문서에 필요한 것: madangPlaybooks: 1, playbooks. 플레이북에는 goal과 workflow가, workflow의 단계에는 "
        "description이 필요합니다."
    )


async def test_one_playbook_that_is_too_large_keeps_out_all(asker: Asker) -> None:
    steps = [{"description": "x" * 3000}] * 100
    document = json.dumps(
        {"madangPlaybooks": 1, "playbooks": [{"goal": "Small", "workflow": []}, {"goal": "Large", "workflow": steps}]}
    )

    reply = await asker.ask("import_playbooks", document=document)

    assert reply.error_code == "limit_exceeded"
    assert (await asker.done("list_playbooks")).data["page"]["totalItems"] == 0


async def test_a_document_in_a_wrapping_that_editors_add_is_still_read(asker: Asker) -> None:
    document = engine.write_document([PlaybookContent(goal="A", workflow=[])], "json")

    for wrapped in (f"\ufeff{document}", f"\n  {document}", document.replace("\n", "\r\n")):
        assert (await asker.done("import_playbooks", document=wrapped)).data["count"] == 1


json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=10,
)


@given(st.one_of(st.text(max_size=60), json_values.map(json.dumps), json_values.map(yaml.safe_dump)))
@settings(max_examples=150, deadline=None)
def test_whatever_is_handed_in_is_read_or_refused_in_words(document: str) -> None:
    with suppress(InvalidArguments, LimitExceeded):
        engine.read_document(document)


@pytest.mark.parametrize("format", ["yaml", "json"])
def test_a_document_holds_only_as_much_as_can_be_imported_again(format: engine.Format) -> None:
    step = {"description": "x" * 4_000}
    large = [PlaybookContent.model_validate({"goal": str(n), "workflow": [step] * 60}) for n in range(12)]

    document, count = engine.write_importable(large, format)

    assert 1 < count < len(large)
    assert len(document) <= engine.MAX_IMPORT_CHARS
    assert engine.read_document(document) == large[:count]


LONG = [
    PlaybookContent.model_validate({"goal": f"배포 {n}", "workflow": [{"description": "x\n\ty: 1\u2028"}] * 200})
    for n in range(8)
]


def test_a_long_document_is_written_in_a_child_as_a_short_one_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    in_child = engine.write_document(LONG, "yaml")
    monkeypatch.setattr(engine, "INLINE_YAML_MAX_CHARS", 2**31)
    monkeypatch.setattr(engine, "ask_child", None)

    assert engine.write_document(LONG, "yaml") == in_child


def test_writing_a_long_document_ends_with_its_call() -> None:
    stop = StopSignal()
    stop.set()

    with pytest.raises(WorkStopped):
        engine.write_importable(LONG, "yaml", stop)


def test_a_document_that_takes_too_long_to_write_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MAX_WRITE_S", 0.0)

    with pytest.raises(LimitExceeded, match="too much for one YAML document"):
        engine.write_document(LONG, "yaml")
