"""Calls and thoughts that a model wrote into its text, over the wires of our own clients."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from madang.core.trust import Origin
from madang.llm.base import Model, ModelAnswer, ModelDelta, OfferedTool
from madang.llm.messages import AttachedFile, Message, ResultPart, TextPart, ThinkingPart, user_message
from madang.llm.text_calls import MAX_CALL_CHARS
from tests.llm.adapters import ADAPTERS, ADD, QUESTION, collect
from tests.model_server import ModelServer, answers, stream
from tests.model_wires import Ask, Say, Think, chunk, event

LIST = OfferedTool("list_todos", "List the to-dos.", {"type": "object", "properties": {}})
ASKED = replace(QUESTION, tools=[ADD, LIST])
CALL = '{"name": "add_todo", "arguments": {"name": "milk"}}'
MILK = ("add_todo", {"name": "milk"})


@pytest.fixture(params=["compatible", "anthropic"])
def model(request: pytest.FixtureRequest, opened: Callable[..., Model]) -> Model:
    made: Model = opened(ADAPTERS[request.param])
    return made


def made(answer: ModelAnswer) -> list[tuple[str, object]]:
    return [(call.tool, json.loads(call.arguments)) for call in answer.runnable_calls]


def shown(deltas: list[ModelDelta], kind: str = "text") -> str:
    return "".join(delta.text for delta in deltas if delta.kind == kind)


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n\n{CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"```json{CALL}```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<tool_call>{CALL}",
        f"```xml\n<tool_call>{CALL}</tool_call>\n```",
        f"[{CALL}]",
        f"[TOOL_CALLS][{CALL}]",
        f"<|python_tag|>{CALL}",
        '{"name": "add_todo", "parameters": {"name": "milk"}}',
        '{"tool": "add_todo", "args": {"name": "milk"}}',
        '{"function": "add_todo", "arguments": {"name": "milk"}}',
        '{"type": "function", "function": {"name": "add_todo", "arguments": {"name": "milk"}}}',
        '{"tool_calls": [{"id": "x", "function": {"name": "add_todo", "arguments": {"name": "milk"}}}]}',
        '{"name": "add_todo", "arguments": "{\\"name\\": \\"milk\\"}"}',
        '{"name": "add_todo", "arguments": {"name": "milk",},}',
        '{\n  "arguments": {"name": "milk"},\n  "name": "add_todo"\n}',
    ],
)
async def test_an_answer_that_is_nothing_but_a_call_is_one(server: ModelServer, model: Model, text: str) -> None:
    server.plays(answers(Say(text)))

    deltas, answer = await collect(model, ASKED)

    assert made(answer) == [MILK]
    assert answer.text == ""
    assert shown(deltas) == ""
    (call,) = answer.calls
    assert [(delta.call_id, delta.tool) for delta in deltas if delta.kind == "call"] == [(call.id, "add_todo")]
    assert json.loads(shown(deltas, "arguments")) == {"name": "milk"}
    assert answer.malformed_call is None


@pytest.mark.parametrize(
    "text",
    [
        f'{CALL}\n{{"name": "list_todos", "arguments": {{}}}}',
        f'[{CALL}, {{"name": "list_todos", "arguments": {{}}}}]',
        '{"name": "add_todo",\n"arguments": {"name":\n"milk"}}\n\n{"name": "list_todos", "arguments": {}}',
        f'{CALL}; {{"name": "list_todos", "parameters": null}}',
        f'<tool_call>{CALL}</tool_call>\n<tool_call>{{"name": "list_todos"}}</tool_call>',
        f'```json\n{CALL}\n```\n```json\n{{"name": "list_todos", "arguments": {{}}}}\n```',
    ],
)
async def test_several_are_several_calls(server: ModelServer, model: Model, text: str) -> None:
    server.plays(answers(Say(text)))

    _, answer = await collect(model, ASKED)

    assert made(answer) == [MILK, ("list_todos", {})]
    assert len({call.id for call in answer.calls}) == 2


@pytest.mark.parametrize(
    "text",
    [
        f"I add it now: {CALL}",
        "To call a tool, models write <tool_call> first.",
        "<tool_call> is a tag that models write.",
        '{"name": "Kim", "age": 3}',
        '{"result": [1, 2]}',
        '{"name": "add_todo", "description": "Add a to-do.", "arguments": {}}',
        '[{"name": "add_todo"}, {"name": "list_todos"}]',
        '{"name": "add_todo", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}}}',
        "[1] The first source.",
        "```python\nprint(1)\n```",
        "``` is a fence",
        "{name} is a placeholder",
        "<b>bold</b>",
        "  indented",
    ],
)
async def test_what_is_no_call_is_shown_as_it_is(server: ModelServer, model: Model, text: str) -> None:
    server.plays(answers(Say(text)))

    deltas, answer = await collect(model, ASKED)

    assert answer.text == shown(deltas) == text
    assert (answer.calls, answer.malformed_call) == ((), None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name": "execute_shell", "arguments": {"command": "ls"}}', "no tool 'execute_shell'"),
        ('<tool_call>{"name": "rm"}</tool_call>', "no tool 'rm'"),
        ('{"name": "create_todo", "arguments": {}}', "Did you mean 'add_todo'?"),
        ('{"name": "add_todo", "arguments": {"name": "mi', "cannot be read"),
        ('```json\n{"name": "add_todo", "arguments": {name: milk}}\n```', "cannot be read"),
        ("<tool_call>{add_todo}</tool_call>", "cannot be read"),
        ("<tool_call><function=add_todo><parameter=name>milk</parameter></function></tool_call>", "cannot be read"),
        (f"{CALL}\nI have added it for you.", "cannot be read"),
    ],
)
async def test_what_looks_like_a_call_and_is_none_says_why(
    server: ModelServer, model: Model, text: str, reason: str
) -> None:
    """Nothing is called and nothing is shown; whoever asked may ask once more with this sentence."""
    server.plays(answers(Say(text)))

    deltas, answer = await collect(model, ASKED)

    assert answer.calls == ()
    assert reason in str(answer.malformed_call)
    assert shown(deltas) == ""
    assert answer.text == text


@pytest.mark.parametrize(
    "source",
    [
        Message("tool", (ResultPart("one", "read_file", f"The file says:\n{CALL}\nEnd."),)),
        Message("user", (TextPart(CALL, file=AttachedFile("plan.json")),)),
        Message("user", (TextPart(CALL, origins=(Origin("file", "plan.json"),)),)),
    ],
    ids=["result", "attached", "from elsewhere"],
)
async def test_a_call_that_is_quoted_from_a_document_is_not_made(
    server: ModelServer, model: Model, source: Message
) -> None:
    server.plays(answers(Say(CALL)))

    _, answer = await collect(model, replace(ASKED, messages=[source, user_message("Repeat it word for word.")]))

    assert (answer.calls, answer.text) == ((), CALL)


async def test_bare_line_ends_in_several_calls(server: ModelServer, model: Model) -> None:
    one = '{"name": "add_todo", "arguments": {"name": "two\nlines"}}'
    server.plays(answers(Say(f"{one}\n{one}")))

    _, answer = await collect(model, ASKED)

    assert made(answer) == [("add_todo", {"name": "two\nlines"})] * 2


async def test_a_call_that_the_person_wrote_down_may_be_made(server: ModelServer, model: Model) -> None:
    server.plays(answers(Say(CALL)))

    _, answer = await collect(model, replace(ASKED, messages=[user_message(f"Do this: {CALL}")]))

    assert made(answer) == [MILK]


async def test_without_tools_a_text_is_a_text(server: ModelServer, model: Model) -> None:
    server.plays(answers(Say(CALL)))

    _, answer = await collect(model, replace(ASKED, tools=[]))

    assert (answer.text, answer.calls, answer.malformed_call) == (CALL, (), None)


async def test_beside_a_real_call_a_text_is_a_text(server: ModelServer, model: Model) -> None:
    server.plays(answers(Say(CALL), Ask("list_todos", "{}", "one")))

    deltas, answer = await collect(model, ASKED)

    assert made(answer) == [("list_todos", {})]
    assert answer.text == shown(deltas) == CALL


async def test_a_call_of_an_answer_that_was_cut_is_not_made(server: ModelServer, model: Model) -> None:
    server.plays(answers(Say(CALL), finish="length"))

    _, answer = await collect(model, ASKED)

    assert answer.finish == "length"
    assert answer.runnable_calls == ()


async def test_what_is_too_long_for_a_call_is_shown_while_it_comes(server: ModelServer, model: Model) -> None:
    text = '{"name": "add_todo", "arguments": {"name": "' + f"{'x' * 999} " * (MAX_CALL_CHARS // 1000 + 1) + '"}}'
    server.plays(answers(Say(text)))

    deltas, answer = await collect(model, ASKED)

    assert answer.text == shown(deltas) == text
    assert len(deltas) > 1, "it is let go before its end"
    assert answer.calls == ()


async def test_a_text_that_cannot_be_a_call_is_shown_at_its_first_word(server: ModelServer, model: Model) -> None:
    server.plays(answers(Say('{"result": 1, "of": 2}')))

    deltas, _ = await collect(model, ASKED)

    assert [delta.text for delta in deltas] == ['{"result": ', "1, ", '"of": ', "2}"]


@pytest.mark.parametrize("step", [1, 2, 5, 100])
@pytest.mark.parametrize(
    ("text", "thought", "said"),
    [
        ("<think>A plan < of\n2 > steps</think>\n\nThe answer is 4.", "A plan < of\n2 > steps", "The answer is 4."),
        ("\n<think>\n</think>\n\nFour.", "\n", "Four."),
        ("<think>one</think><think>two</think>Four.", "onetwo", "Four."),
        ("<thinking>Hm</thinking>Four.", "Hm", "Four."),
        ("[THINK]Hm[/THINK]Four.", "Hm", "Four."),
        ("<think>never closed </thin", "never closed </thin", ""),
        ("Write <think>x</think> so.", "", "Write <think>x</think> so."),
        ("<thin", "", "<thin"),
    ],
)
async def test_thoughts_between_tags_are_thoughts(
    server: ModelServer, opened: Callable[..., Model], step: int, text: str, thought: str, said: str
) -> None:
    pieces = [text[start : start + step] for start in range(0, len(text), step)]
    server.plays(stream([*(event(chunk({"content": piece})) for piece in pieces), event(chunk({}, "stop"))]))

    deltas, answer = await collect(opened(ADAPTERS["compatible"]), ASKED)

    assert (shown(deltas, "thinking"), shown(deltas)) == (thought, said)
    assert "".join(part.text for part in answer.parts if isinstance(part, ThinkingPart)) == thought
    assert answer.text == said


async def test_a_thought_whose_beginning_stood_in_the_prompt_is_told_by_its_end(
    server: ModelServer, model: Model
) -> None:
    server.plays(answers(Say("I add one and one.\nThat is two.\n</think>\n\nTwo.")))

    _, answer = await collect(model, ASKED)

    (thought, said) = answer.parts
    assert thought == ThinkingPart("I add one and one.\nThat is two.")
    assert said == TextPart("Two.")


async def test_a_call_behind_a_thought_is_one(server: ModelServer, model: Model) -> None:
    for thinking in (f"<think>I add it.</think>\n{CALL}", f"I add it.\n</think>\n{CALL}"):
        server.plays(answers(Say(thinking)))

        _, answer = await collect(model, ASKED)

        assert made(answer) == [MILK]
        assert [part.text for part in answer.parts if isinstance(part, ThinkingPart)] == ["I add it."]


async def test_a_call_beside_thoughts_of_the_wire_is_one(server: ModelServer, model: Model) -> None:
    server.plays(answers(Think("I add it."), Say(CALL)))

    _, answer = await collect(model, ASKED)

    assert made(answer) == [MILK]


async def test_thoughts_in_text_are_not_sent_back(server: ModelServer, model: Model) -> None:
    server.plays(answers(Say("<think>secret plan</think>Four.")))

    _, answer = await collect(model, ASKED)
    await collect(model, replace(ASKED, messages=[*ASKED.messages, answer.message, user_message("Sure?")]))

    assert "secret plan" not in server.requests[1].raw.decode()
    assert "Four." in server.requests[1].raw.decode()
