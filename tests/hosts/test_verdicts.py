"""`make hosts` can fail: each way in which a model was once served badly has a verdict of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hosts import pipe
from hosts.script import STEPS
from hosts.transcript import Answer, read_transcript
from hosts.verdicts import FAILING_STEPS, TEXT_AND_DATA, TOO_LARGE, TWICE, Limit, Verdict, judge

PAUSED = "Status: Agent paused for user interaction (ask, then call 'select_playbook' or 'reply_prompt')."
TEXT = f'[tool] It says "this".\n\n{PAUSED}'
DATA: dict[str, Any] = {
    "goal": "Bake",
    "next": "Paused: ask, then call 'select_playbook'.",
    "pause": {"kind": "choice"},
}


def verdict_of(
    title: str, given: str, *, data: dict[str, Any] | None = None, limits: tuple[Limit, ...] = ()
) -> Verdict:
    """Judge a whole run in which the step `title` gave the model `given`, and each other step our text."""
    answers = [Answer(step.tool, TEXT, data, blocks=1) for step in STEPS]
    texts = [given if step.title == title else TEXT for step in STEPS]
    return next(verdict for verdict in judge(texts, answers, limits) if verdict.step == title)


@pytest.mark.parametrize(
    "given",
    [TEXT, json.dumps({"output": TEXT}), json.dumps(json.dumps(TEXT)), f"Wall time: 1 s\nOutput:\n{TEXT}"],
)
def test_our_text_once_is_right_however_it_is_wrapped(given: str) -> None:
    verdict = verdict_of("show 20", given)

    assert (verdict.form, verdict.problems) == ("text", ())


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (TEXT + TEXT, TWICE),
        (TEXT + json.dumps(DATA), TEXT_AND_DATA),
        (TEXT + "<!doctype html><p>", "HTML"),
        (TEXT + "The person sees a form.", "says “person sees”"),
        (TEXT + "x" * 4000, TOO_LARGE),
        (TEXT + "x" * 500, "500 bytes beside our text"),
        (f"A part of it: {PAUSED}", "neither our text nor our data"),
        (TEXT.replace("select_playbook", "a tool"), "does not name select_playbook"),
        ("[tool]", "does not say that it is paused"),
    ],
)
def test_a_model_served_badly_is_a_problem(given: str, problem: str) -> None:
    assert problem in verdict_of("show 20", given, data=DATA).problems


def test_a_link_is_no_empty_promise_where_its_address_follows() -> None:
    promise = TEXT + " It can be downloaded from the link below."

    assert verdict_of("export", promise).problems == ("says “link below”",)
    assert verdict_of("export", f"{promise}\nDownload: http://127.0.0.1:8321/exports/x").problems == ()


def test_data_alone_is_right_where_it_says_what_to_do() -> None:
    without_next = {"goal": "Bake"}

    assert verdict_of("show 20", json.dumps(DATA), data=DATA).problems == ()
    assert "data without `next`" in verdict_of("create", json.dumps(without_next), data=without_next).problems


def test_what_a_program_does_itself_is_told_and_no_failure() -> None:
    doubles_errors = Limit(TWICE, "puts an error into its message twice", FAILING_STEPS)

    error = verdict_of("unknown id", TEXT + TEXT, limits=(doubles_errors,))
    result = verdict_of("create", TEXT + TEXT, limits=(doubles_errors,))

    assert (error.problems, error.limits) == ((), (doubles_errors,))
    assert result.problems == (TWICE,)


def test_a_step_that_was_not_reached_or_not_called_fails() -> None:
    verdicts = judge([TEXT], [])

    assert verdicts[0].problems == ("the host did not call the tool",)
    assert verdicts[1].problems == ("was not reached",)


def test_the_pipe_changes_nothing_and_records_both_sides(tmp_path: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_playbook"}}
    result = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": TEXT}]}}
    server = f"input(); print({json.dumps(result)!r})"
    record = tmp_path / "messages.txt"

    command = [sys.executable, pipe.__file__, str(record), sys.executable, "-c", server]
    done = subprocess.run(command, input=json.dumps(call) + "\n", capture_output=True, text=True, timeout=60)

    assert json.loads(done.stdout) == result
    assert read_transcript(record).answers == [Answer("get_playbook", TEXT, None, blocks=1)]


def test_a_request_for_input_is_no_answer(tmp_path: Path) -> None:
    call = {"id": 1, "method": "tools/call", "params": {"name": "prompt_user"}}
    asked = {"id": 1, "result": {"resultType": "input_required", "inputRequests": {}}}
    again = call | {"id": 2}
    answer = {"id": 2, "result": {"content": [{"type": "text", "text": TEXT}]}}
    record = tmp_path / "messages.txt"
    messages = [("client", call), ("server", asked), ("client", again), ("server", answer)]
    record.write_text("".join(f"{sender} {json.dumps(message)}\n" for sender, message in messages))

    assert read_transcript(record).answers == [Answer("prompt_user", TEXT, None, blocks=1)]
