"""History that fits the model's window: what it counts, what a summary stands for, and what stays known."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from madang.agent.compaction import HEADING, NOT_SUMMARISED, Compaction, keep_record, plan_compaction
from madang.agent.history import Window, calibrate, estimate_tokens, learn_window, shorten_results, visible
from madang.core.phrases import say
from madang.llm.base import ModelRequest
from madang.llm.chat_request import chat_body
from madang.llm.errors import RequestRefused, Unreachable
from madang.llm.messages import CallPart, Message, Part, ResultPart, TextPart
from madang.records.runs.journal import Message as StoredMessage
from madang.records.runs.journal import Role
from madang.records.runs.usage import Calibration
from tests.agent.bench import ME, Bench, bench, tool_call
from tests.agent.talker import Talker
from tests.postgresql import url_in

LONG = "Tell me more of oolong, sencha and rooibos, please. " * 20
WINDOW = 12_500


def chat(request: ModelRequest, number: int) -> Sequence[Part]:
    return [TextPart(f"Answer {number}. {LONG}")]


@pytest.fixture(params=["disk", "server"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_in(tmp_path) if request.param == "server" else ""


def text_of(request: ModelRequest) -> str:
    texts = [part.text for message in request.messages for part in message.parts if hasattr(part, "text")]
    return "\n".join(texts)


def roles(request: ModelRequest) -> list[str]:
    return [message.role for message in request.messages]


async def talk(b: Bench, count: int) -> None:
    for number in range(count):
        run = await b.say(f"Question {number}. {LONG}")
        assert run is not None
        assert run.state == "finished", run.error


# Flows


async def test_a_history_that_no_longer_fits_is_compacted_and_goes_on(tmp_path: Path, url: str) -> None:
    model = Talker(chat)
    async with bench(tmp_path, script=model, window_tokens=WINDOW, url=url) as b:
        await talk(b, 12)

        assert model.summaries
        assert "Question 0." in text_of(model.summaries[0])
        last = model.requests[-1]
        assert roles(last)[:2] == ["summary", "user"]
        assert last.messages[0].text.startswith(str(HEADING))
        assert "The person likes tea." in last.messages[0].text
        assert "Question 11." in text_of(last)
        assert "Question 0." not in text_of(last)
        assert all(model.tokens(request) <= WINDOW for request in model.requests)
        compacted = [event for event in (await b.events.read(ME)).events if event.payload.get("name")]
        assert "madang/compacted" in {event.payload["name"] for event in compacted}
        # Everything is still there for the person.
        page = await b.stores.messages.read_page(ME, limit=100)
        assert sum(message.role == "user" for message in page) == 12


async def test_13_after_compaction_did_you_export_the_file_is_answerable_from_the_models_input(
    tmp_path: Path, url: str
) -> None:
    def reply(request: ModelRequest, number: int) -> Sequence[Part]:
        if number == 1:
            return [tool_call("write_file", path="tea.txt", content="Oolong")]
        if number == 2:
            return [tool_call("export_file", "c2", path="tea.txt")]
        return chat(request, number)

    model = Talker(reply, summary="We talked.")  # the model's words say nothing of it
    async with bench(tmp_path, script=model, window_tokens=WINDOW, url=url) as b:
        await b.say("Export tea.txt")
        await talk(b, 24)
        await b.say("Did you export the file?")

        assert len(model.summaries) >= 2
        last = model.requests[-1]
        assert not any(isinstance(part, CallPart) for message in last.messages for part in message.parts)
        [line] = [line for line in last.messages[0].text.splitlines() if line.startswith("- export_file")]
        assert "tea.txt" in line
        assert ": ok." in line


async def test_a_run_of_many_calls_is_compacted_between_turns_and_keeps_the_request(tmp_path: Path) -> None:
    def reply(request: ModelRequest, number: int) -> Sequence[Part]:
        if number > 30:
            return [TextPart("Done.")]
        return [tool_call("add_todo", f"c{number}", name=f"Todo {number} {LONG[:400]}")]

    model = Talker(reply)
    async with bench(tmp_path, script=model, window_tokens=WINDOW) as b:
        run = await b.say("Add thirty to-dos")

        assert run is not None
        assert (run.state, run.calls) == ("finished", 30)
        assert len(model.summaries) >= 2
        for request in model.requests:
            open_ids: set[str] = set()
            for message in request.messages:
                results = {part.call_id for part in message.parts if isinstance(part, ResultPart)}
                assert results == open_ids, "a call and its result are apart"
                open_ids = {part.id for part in message.parts if isinstance(part, CallPart)}
            assert not open_ids
            assert "Add thirty to-dos" in text_of(request)
        summary = model.requests[-1].messages[0].text
        assert "earlier ones are not listed" in summary
        listed = [int(number) for number in re.findall(r"Todo (\d+) ", summary)]
        assert sorted(set(listed)) == list(range(listed[0], listed[-1] + 1)), "the newest of them, without a gap"
        assert listed[-1] > 15


async def test_a_model_with_a_far_smaller_window_still_learns_what_was_done(tmp_path: Path) -> None:
    def reply(request: ModelRequest, number: int) -> Sequence[Part]:
        if number == 1:
            return [tool_call("write_file", path="tea.txt", content="Oolong")]
        return chat(request, number)

    model = Talker(reply)
    async with bench(tmp_path, script=model) as b:
        await b.say("Write tea.txt")
        await talk(b, 30)
        assert not model.summaries
    async with bench(tmp_path, script=model, window_tokens=10_000) as b:
        await b.say("And now?")

        last = model.requests[-1]
        assert model.tokens(last) <= 10_000
        assert "- write_file" in last.messages[0].text
        assert "older entries are left out" in last.messages[0].text
        assert all(model.tokens(request) <= 10_000 for request in model.summaries)


async def test_a_model_that_cannot_summarise_is_told_that_something_is_left_out(tmp_path: Path) -> None:
    model = Talker(chat, summary=RequestRefused(say("No.")))
    async with bench(tmp_path, script=model, window_tokens=WINDOW) as b:
        await talk(b, 12)

        assert str(NOT_SUMMARISED) in model.requests[-1].messages[0].text


async def test_a_model_that_cannot_be_reached_costs_no_history(tmp_path: Path) -> None:
    model = Talker(chat, summary=Unreachable(say("Gone."), retry_after_s=1e6))
    async with bench(tmp_path, script=model, window_tokens=WINDOW) as b:
        for number in range(12):
            run = await b.say(f"Question {number}. {LONG}")
        assert run is not None
        assert (run.state, run.error_code) == ("failed", "unreachable")
        assert not [one for one in await b.stores.messages.read_page(ME, limit=100) if one.role == "summary"]

        model.summary = "The person likes tea."
        run = await b.say("Again")
        assert run is not None
        assert run.state == "finished"


async def test_a_request_that_the_model_refuses_as_too_long_is_compacted_and_made_again_once(tmp_path: Path) -> None:
    model = Talker(chat)
    async with bench(tmp_path, script=model) as b:  # nothing is known of its window
        await talk(b, 6)
        model.takes_tokens = model.tokens(model.requests[-1])
        await talk(b, 1)

        assert model.refused == 1
        assert len(model.summaries) == 1
        known = await b.stores.usage.get_calibration(ME.user_id, model.label)
        assert 0 < known.window_tokens < model.takes_tokens
        await talk(b, 6)
        assert model.refused == 1, "what was learnt is kept"


async def test_a_model_that_counts_more_tokens_than_we_do_is_sent_less(tmp_path: Path) -> None:
    model = Talker(chat, factor=1.6)
    async with bench(tmp_path, script=model, window_tokens=20_000) as b:
        await talk(b, 12)
        assert all(model.tokens(request) <= 20_000 for request in model.requests[1:])
        known = await b.stores.usage.get_calibration(ME.user_id, model.label)
        assert known.factor == pytest.approx(1.6, rel=0.05)
    async with bench(tmp_path, script=model, window_tokens=20_000) as b:  # a restart knows it
        assert (await b.stores.usage.get_calibration(ME.user_id, model.label)).factor == known.factor


async def test_a_result_that_is_larger_than_the_window_is_shortened_in_the_request(tmp_path: Path) -> None:
    def reply(request: ModelRequest, number: int) -> Sequence[Part]:
        if number == 1:
            return [tool_call("write_file", path="big.txt", content="line of tea\n" * 4_000)]
        if number == 2:
            return [tool_call("read_file", f"r{line}", path="big.txt", startLine=line) for line in (1, 500, 1000, 1500)]
        return [TextPart("Read.")]

    model = Talker(reply)
    async with bench(tmp_path, script=model, window_tokens=9_000) as b:
        run = await b.say("Read it")

        assert run is not None
        assert run.state == "finished", run.error
        assert "characters are left out here" in text_of(model.requests[-1])
        assert all(model.tokens(request) <= 9_000 for request in model.requests[2:])


async def test_12_the_prefix_is_byte_identical_up_to_the_last_stored_message(tmp_path: Path) -> None:
    def reply(request: ModelRequest, number: int) -> Sequence[Part]:
        if number % 2:
            return [TextPart("One moment."), tool_call("add_todo", f"c{number}", name=f"차 {number} 사기")]
        return [TextPart("Done.")]

    model = Talker(reply)
    async with bench(tmp_path, script=model) as b:
        for number in range(4):
            await b.say(f"Once more, {number}번째")

    assert len(model.requests) == 8
    assert all(request.state for request in model.requests)
    for before, after in itertools.pairwise(model.requests):
        history, end = before.parted()
        prefix = chat_body("compatible", "m", replace(before, messages=history, state="")).removesuffix(b"]}")
        assert chat_body("compatible", "m", before).startswith(prefix)
        assert chat_body("compatible", "m", after).startswith(prefix)
        assert len(before.messages) - len(history) == (before.messages[-1].role == "user")
        assert end[0].text.startswith(before.state)


# Pure


def test_a_call_of_a_stopped_run_is_in_the_record() -> None:
    call = {"type": "call", "id": "c1", "tool": "export_file", "arguments": '{"path": "tea.txt"}'}
    messages = [
        stored(1, "user"),
        StoredMessage("m2", 2, "assistant", (call,), 10, 1, ""),
        stored(3, "user"),
        stored(4, "assistant"),
    ]
    record = keep_record(Compaction(messages, ()), {(2, "c1"): "cancelled"}, lambda tool: True, 1_000, str)
    assert list(record.effects) == [
        'export_file {"path": "tea.txt"}: cancelled. The run was stopped; it may have been done.'
    ]
    assert record.request == "m3"


def stored(seq: int, role: Role, tokens: int = 100, covers: int = 0) -> StoredMessage:
    return StoredMessage(f"m{seq}", seq, role, ({"type": "text", "text": f"m{seq}"},), tokens, 0, "", covers)


def test_a_summary_stands_before_what_it_does_not_cover() -> None:
    messages = [
        stored(1, "user"), stored(2, "assistant"), stored(3, "user"), stored(4, "assistant"),
        stored(5, "summary", covers=2), stored(6, "user"),
    ]  # fmt: skip
    assert [message.seq for message in visible(messages)] == [5, 3, 4, 6]


def test_reading_stops_at_what_a_summary_covers_or_at_twice_the_budget() -> None:
    newest_first = [stored(6, "user"), stored(5, "summary", covers=2), stored(4, "assistant"), stored(3, "user")]
    assert not Window(1_000).is_full(newest_first)
    assert Window(1_000).is_full([*newest_first, stored(2, "assistant")])
    assert Window(100).is_full(newest_first)


@pytest.mark.parametrize("budget", [0, 150, 400, 700, 5_000])
def test_a_plan_never_parts_a_call_from_its_result_and_keeps_the_newest_turn(budget: int) -> None:
    messages = [stored(1, "user")]
    for turn in range(5):
        messages += [stored(2 + 2 * turn, "assistant"), stored(3 + 2 * turn, "tool")]
    plan = plan_compaction(messages, budget)
    assert plan is not None
    assert [*plan.covered, *plan.kept] == messages
    assert plan.kept[0].role != "tool"
    assert [message.role for message in plan.kept[-2:]] == ["assistant", "tool"]


def test_one_turn_cannot_be_compacted() -> None:
    assert plan_compaction([stored(1, "user")], 10) is None
    assert plan_compaction([stored(5, "summary", covers=4), stored(6, "user")], 10) is None


def test_calibration_is_bounded_and_moves_slowly() -> None:
    known = calibrate(Calibration("m"), 1_000, 1_500)
    assert known == Calibration("m", 1.5)
    moved = calibrate(known, 1_000, 3_000)
    assert moved is not None
    assert 1.5 < moved.factor < 2.1
    assert calibrate(Calibration("m"), 1_000, 10**9) == Calibration("m", 4.0)
    assert calibrate(Calibration("m"), 1_000, 1) == Calibration("m", 0.25)
    assert calibrate(Calibration("m"), 1_000, None) is calibrate(Calibration("m"), 10, 500) is None
    assert learn_window(Calibration("m", 2.0), 10_000).window_tokens == 15_000
    assert learn_window(Calibration("m", 2.0, 8_000), 10_000).window_tokens == 8_000


def test_only_results_are_shortened() -> None:
    text = "tea " * 10_000
    messages = [Message("user", (TextPart(text),)), Message("tool", (ResultPart("c", "t", text),))]
    [user, tool] = shorten_results(messages, estimate_tokens(text) + 500, str)
    assert user == messages[0]
    [part] = tool.parts
    assert isinstance(part, ResultPart)
    assert len(part.text) < 2_000


async def test_in_a_korean_session_the_frame_of_a_summary_is_korean(tmp_path: Path) -> None:
    script = [*([TextPart(f"{number}번 답. " + "차 " * 300)] for number in range(4)), [TextPart("요약한 말.")]]
    async with bench(tmp_path, *script, window_tokens=2_000, locale="ko") as b:
        for number in range(6):
            await b.say(f"{number}번 질문")
        summaries = [message.text for request in b.model.requests for message in request.messages[:1]]

    framed = [text for text in summaries if text.startswith("[이 대화의 앞부분을 요약한 것입니다.")]
    assert framed
    assert not any(re.search("[A-Za-z]{3}", text) for text in framed)
