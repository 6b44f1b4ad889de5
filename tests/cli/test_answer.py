"""`madang answer`: whatever waits for the person is answered from here, whether or not a process works on its run."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from madang import app
from madang.cli import main
from madang.services import builtin_services
from tests.agent.outside import Outside
from tests.cli.talking import TAINT, Terminal, call_step, madang, open_ids, rows, started, wait_for, write_script


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = tmp_path / "data"
    monkeypatch.setenv("MADANG_DATA_DIR", str(data))
    monkeypatch.setenv("MADANG_LOCALE", "en")
    monkeypatch.delenv("MADANG_MODEL", raising=False)
    # Nobody is there who would take it up, and every answer looks for that.
    monkeypatch.setattr("madang.cli.answer.TAKEN_UP_WITHIN_S", 0.0)
    return data


def ask(folder: Path, tmp_path: Path, *steps: dict[str, Any]) -> list[str]:
    """Let a run ask, and return the ids of what is open then."""
    first = [[TAINT]] if any(step["call"] == "delete_playbook" for step in steps) else []
    model = write_script(tmp_path, *first, list(steps), ["So: {last}"])
    assert main(["run", "Go", "--session", "s", "--model", model]) == 3
    return open_ids(folder)


def go_on(capsys: pytest.CaptureFixture[str]) -> str:
    """Go on with the run to its end, and return what the model read of the results."""
    capsys.readouterr()
    assert main(["run", "--session", "s"]) == 0
    return capsys.readouterr().out


def question(type: str, *options: str) -> dict[str, Any]:
    return call_step("prompt_user", prompt="Which?", type=type, **({"options": list(options)} if options else {}))


@pytest.mark.parametrize(
    ("step", "words", "answer"),
    [
        (question("text"), ["green", "tea"], "Answer: green tea"),
        (question("text"), ["1"], "Answer: 1"),
        (question("text"), ["녹차 한 잔"], "Answer: 녹차 한 잔"),
        (question("text"), ["--decline"], "cancelled"),
        (question("select", "red", "blue"), ["2"], "Answer: blue"),
        (question("select", "red", "blue"), ["Blue"], "Answer: blue"),
        (question("select", "two words", "blue"), ["two", "words"], "Answer: two words"),
        (question("select", "2", "1"), ["#1"], "Answer: 2"),
        (question("select", "2", "1"), ["=1"], "Answer: 1"),
        (question("select", "red", "blue"), ["--decline"], "cancelled"),
        (question("multiselect", "red", "blue", "green"), ["1", "green"], "Answer: red, green"),
        (question("multiselect", "red", "blue", "green"), ["3,1"], "Answer: green, red"),
        (question("multiselect", "a, b", "c"), ["a, b"], "Answer: a, b"),
        (question("multiselect", "red", "blue"), ["0"], "none of the options"),
        (call_step("wait_for_user", message="Plug it in", resumeInstruction="Look"), ["continue"], "Look"),
    ],
    ids=str,
)
def test_an_answer_is_what_the_run_goes_on_with(
    folder: Path,
    tmp_path: Path,
    step: dict[str, Any],
    words: list[str],
    answer: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    [id] = ask(folder, tmp_path, step)
    capsys.readouterr()

    assert main(["answer", id, *words]) == 0

    out = capsys.readouterr().out
    assert out.startswith("Done.\nNo process works on the run. Go on with: madang run --session s\n")
    assert answer in go_on(capsys)


@pytest.mark.parametrize(
    ("step", "words", "error"),
    [
        (question("select", "red", "blue"), ["3"], "'3' is none of what can be chosen. Choose by number, 1 to 2"),
        (question("select", "red", "blue"), ["blu"], "'blu' is none of what can be chosen. Did you mean 'blue'?"),
        (question("select", "2", "1"), ["1"], "'1' is the number of one and the name of another."),
        (question("multiselect", "red", "blue"), ["1", "x"], "'x' is none of what can be chosen."),
        (question("text"), ["--allow"], "This is a question, not a call to allow."),
        (call_step("wait_for_user", message="Plug it in"), ["no"], "To go on, answer with: continue"),
        (call_step("wait_for_user", message="Plug it in"), ["--decline"], "This cannot be declined"),
        (call_step("delete_playbook", id="x"), ["yes"], "Use --allow, --allow-session or --deny."),
        (call_step("delete_playbook", id="x"), ["--allow"], "there is no terminal here"),
        (call_step("read_file", path=".env"), ["yes"], "Use --allow or --deny."),
        (call_step("read_file", path=".env"), ["--allow-session"], "This call is asked for each time. Answer with: "),
    ],
    ids=str,
)
def test_what_does_not_fit_is_one_line_and_2_and_leaves_it_open(
    folder: Path,
    tmp_path: Path,
    step: dict[str, Any],
    words: list[str],
    error: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    [id] = ask(folder, tmp_path, step)
    capsys.readouterr()

    assert main(["answer", id, *words]) == 2

    streams = capsys.readouterr()
    assert streams.out == ""
    assert error in streams.err
    assert streams.err.count("\n") == 1
    assert open_ids(folder) == [id]


def test_several_are_answered_one_after_another(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = ask(folder, tmp_path, question("text"), {**question("select", "x", "y"), "id": "c2"})
    capsys.readouterr()

    assert main(["answer", second, "1"]) == 0
    assert capsys.readouterr().out == f"Done.\nThe run still waits for: {first}\n"
    assert main(["answer", first, "tea"]) == 0

    read = go_on(capsys)
    assert "Answer: tea" in read
    assert "Answer: x" in read


def test_answering_twice(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [id] = ask(folder, tmp_path, question("text"))
    assert main(["answer", id, "tea"]) == 0
    assert main(["answer", id, "tea"]) == 0
    capsys.readouterr()

    assert main(["answer", id, "coffee"]) == 1
    assert capsys.readouterr().err == "madang: It was answered already.\n"
    assert main(["answer", id]) == 1


def test_without_an_answer_the_question_is_printed(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [id] = ask(folder, tmp_path, question("select", "red\x1b[2J", "blue"))
    capsys.readouterr()

    assert main(["answer", id]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["│ Which?", "  1. red\\u001b[2J", "  2. blue"]
    assert lines[-1] == f"Answer with: madang answer {id} N | --decline"


def test_a_choice_is_answered_with_a_number_and_can_be_declined(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for goal in ("Brew tea", "청소"):
        assert main(["call", "create_playbook", json.dumps({"goal": goal, "workflow": []})]) == 0
    [id] = ask(folder, tmp_path, call_step("show_playbooks"))
    capsys.readouterr()

    assert main(["answer", id]) == 0
    assert "  1. Brew tea\n  2. 청소\n" in capsys.readouterr().out
    assert main(["answer", id, "2"]) == 0
    assert '"청소"' in go_on(capsys)

    assert main(["run", "Again", "--session", "t", "--model", f"scripted:{tmp_path}/script.json"]) == 3
    [other] = open_ids(folder)
    assert main(["answer", other, "--decline"]) == 0
    capsys.readouterr()
    assert main(["run", "--session", "t"]) == 0
    assert "cancelled the choice" in capsys.readouterr().out


def test_an_approval_is_given_at_a_terminal(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [id] = ask(folder, tmp_path, call_step("delete_playbook", id="nope"))
    with Terminal(folder, "answer", id) as terminal:
        shown = terminal.expect("--deny")
        assert '"id": "nope"' in shown
        assert "changes what other sessions use" in shown
    with Terminal(folder, "answer", id, "--allow") as terminal:
        terminal.expect("Done")
        assert terminal.end() == 0

    assert "Playbook nope not found" in go_on(capsys)


@pytest.mark.parametrize(("option", "code"), [("--allow", 3), ("--allow-session", 0)])
def test_what_is_allowed_for_the_session_is_not_asked_again(
    folder: Path, tmp_path: Path, option: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = Outside()
    monkeypatch.setattr(app, "builtin_services", lambda *given, **named: [*builtin_services(*given, **named), outside])
    monkeypatch.setattr(app, "_command_actor", lambda: "person")
    model = write_script(
        tmp_path, [call_step("erase", name="a")], ["So."], [{**call_step("erase", name="b"), "id": "c2"}], ["So."]
    )
    assert main(["run", "Erase it", "--session", "s", "--model", model]) == 3
    [id] = open_ids(folder)

    assert main(["answer", id, option]) == 0
    assert main(["run", "--session", "s"]) == 0
    assert main(["run", "Another", "--session", "s", "--model", model]) == code


def test_a_denied_call_is_not_made_and_the_first_decision_counts(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [id] = ask(folder, tmp_path, call_step("delete_playbook", id="nope"))
    capsys.readouterr()
    monkeypatch.setattr("madang.app._command_actor", lambda: "person")

    assert main(["answer", id, "--deny"]) == 0
    capsys.readouterr()
    assert main(["answer", id, "--allow"]) == 1

    assert "decided already" in capsys.readouterr().err
    assert "The person did not allow this call." in go_on(capsys)


@pytest.mark.parametrize("option", ["--deny", "--decline"])
def test_a_program_may_deny_what_it_must_not_allow(
    folder: Path, tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    [id] = ask(folder, tmp_path, call_step("delete_playbook", id="nope"))
    assert main(["answer", id, "--allow"]) == 2

    assert main(["answer", id, option]) == 0

    assert "The person did not allow this call." in go_on(capsys)


def test_all_that_is_open_is_listed_also_of_other_clients(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["answer"]) == 0
    assert capsys.readouterr().out == "Nothing waits for you.\n"
    [mine] = ask(folder, tmp_path, question("text"))
    asked = {"prompt": "빨강\n파랑?", "type": "text"}
    assert main(["call", "prompt_user", json.dumps(asked), "--session", "other"]) == 0
    capsys.readouterr()

    assert main(["answer"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1:3] for line in lines[1:3]] == [["question", "other"], ["question", "s"]]
    assert lines[1].endswith("빨강 파랑?")
    other = next(id for id in open_ids(folder) if id != mine)
    assert main(["answer", other, "파랑"]) == 0
    assert capsys.readouterr().out == "Done.\n"


def test_an_answer_comes_from_standard_input(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [id] = ask(folder, tmp_path, question("text"))
    monkeypatch.setattr("sys.stdin", io.StringIO("two\nlines\n"))

    assert main(["answer", id, "-"]) == 0

    [(settled,)] = rows(folder, "SELECT settled_with FROM pause")
    assert json.loads(settled)["arguments"]["answer"] == "two\nlines"


def test_an_id_that_is_none_is_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["answer", "nope\x1b[2J", "x"]) == 2

    assert capsys.readouterr().err.startswith("madang: Nothing waits under the id 'nope\\u001b[2J'.")


def test_the_command_to_answer_names_the_data_it_is_about(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / "a b")
    model = write_script(tmp_path, [question("text")])

    assert main(["run", "Go", "--model", model, "--data-dir", place]) == 3

    assert f"Answer with: madang answer '--data-dir={place}' " in capsys.readouterr().out


def test_a_process_that_waits_goes_on_with_an_answer_from_another(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [question("text")], ["So: {last}"])
    with started(folder, "chat", "--session", "s", "--model", model, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("Go\n")
        process.stdin.flush()
        [id] = wait_for(lambda: open_ids(folder))

        assert main(["answer", id, "from elsewhere"]) == 0

        assert any("Answer: from elsewhere" in line for line in process.stdout)
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_turn_of_the_model_is_taken_where_there_is_none(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert madang(folder, "chat", "--session", "s", stdin="Remember tea\n").returncode == 3
    [id] = open_ids(folder)

    assert main(["answer", id, "/call add_todo [1]"]) == 2
    assert main(["answer", id, '/call add_todo {"name": "tea"}']) == 0
    result = madang(folder, "chat", "--session", "s", stdin="All is noted.\n")

    out = result.stdout.decode()
    assert "Todo added: ID:1 tea" in out
    assert out.endswith("All is noted.\n")
    assert result.returncode == 0
