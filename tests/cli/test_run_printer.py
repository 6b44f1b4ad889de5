"""The lines that a person sees of a run: all of its text, once, however it comes in."""

from __future__ import annotations

import io

import pytest

from madang.cli.run_printer import RunPrinter
from madang.cli.screen import Screen
from madang.core.ids import AssistantId, SessionId, UserId
from madang.llm.base import ModelDelta
from madang.records.events import Event
from madang.records.runs.records import Run

RUN = Run(
    1, "r", UserId("u"), SessionId("s"), AssistantId("a"), "", "running", 1, "", 0, 0, 0, 0, 0.0, False, "", "", "", "",
    "", "",
)  # fmt: skip


class FakeTerminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def out(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    monkeypatch.setenv("TERM", "xterm")
    return FakeTerminal()


def stored(text: str) -> list[Event]:
    named = {"messageId": "m", "role": "assistant"}
    return [
        Event(1, "r", "", "TEXT_MESSAGE_START", named),
        Event(2, "r", "", "TEXT_MESSAGE_CONTENT", {**named, "delta": text}),
        Event(3, "r", "", "TEXT_MESSAGE_END", named),
        Event(4, "r", "", "CUSTOM", {"name": "madang/answered", "value": {}}),
    ]


@pytest.mark.parametrize("text", ["One.", "One.\n\n\nTwo.", "\n\nOne.\n", "a\nb\nc\n\n", "하나\n둘", "x" * 300])
@pytest.mark.parametrize("step", [1, 2, 3, 1000])
def test_a_text_is_shown_once_whatever_its_pieces(text: str, step: int, out: FakeTerminal) -> None:
    printer = RunPrinter(Screen(out, FakeTerminal()), lambda template: template)
    printer.begin("r")

    for start in range(0, len(text), step):
        printer.hear(RUN, 1, start, ModelDelta("text", text[start : start + step]))
    for event in stored(text):
        printer.print(event)

    assert out.getvalue().rstrip("\n") == text.rstrip("\n")


def test_an_image_in_an_answer_leaves_a_line(out: FakeTerminal) -> None:
    notes = FakeTerminal()
    printer = RunPrinter(Screen(out, notes), lambda template: template)
    printer.begin("r")

    printer.print(Event(1, "r", "", "CUSTOM", {"name": "madang/answered", "value": {"images": 2}}))

    assert "The answer has 2 image(s)" in notes.getvalue()


def test_another_model_is_told(out: FakeTerminal) -> None:
    notes = FakeTerminal()
    printer = RunPrinter(Screen(out, notes), lambda template: template)
    printer.begin("r")

    printer.print(
        Event(1, "r", "", "CUSTOM", {"name": "madang/model", "value": {"text": "Switched to b.\nIt is away."}})
    )

    assert "Switched to b. It is away." in " ".join(notes.getvalue().split())


def test_an_answer_that_is_begun_anew_is_shown_whole(out: FakeTerminal) -> None:
    notes = FakeTerminal()
    printer = RunPrinter(Screen(out, notes), lambda template: template)
    printer.begin("r")

    printer.hear(RUN, 1, 0, ModelDelta("text", "Half\nof "))
    retry = {"name": "madang/retry", "value": {"code": "cut_short", "afterS": 1.0}}
    printer.print(Event(1, "r", "", "CUSTOM", retry))
    printer.hear(RUN, 1, 0, ModelDelta("text", "All\nof it"))
    for event in stored("All\nof it"):
        printer.print(event)

    assert out.getvalue() == "Half\nAll\nof it\n"
    assert "Trying again in 1 s." in notes.getvalue()


def test_the_next_answer_waits_for_the_results_before_it(out: FakeTerminal) -> None:
    """Deltas come at once, stored events a little later: what is shown keeps their order."""
    printer = RunPrinter(Screen(out, out), lambda template: template)
    printer.begin("r")
    call = {"toolCallId": "c", "toolCallName": "add_todo"}
    printer.print(Event(1, "r", "", "TOOL_CALL_START", call))
    for event in stored("First."):
        printer.print(event)

    printer.hear(RUN, 2, 0, ModelDelta("text", "Second.\n"))
    assert "Second." not in out.getvalue()
    result = {"toolCallId": "c", "content": "[add_todo] Added", "metadata": {"outcome": "ok"}}
    printer.print(Event(5, "r", "", "TOOL_CALL_RESULT", result))
    printer.print(Event(6, "r", "", "CUSTOM", {"name": "madang/results", "value": {}}))

    assert out.getvalue() == "First.\n← add_todo: Added\nSecond.\n"
