"""`madang chat`: at a terminal, and with its lines from a pipe."""

from __future__ import annotations

import io
import json
import signal
import sys
from pathlib import Path

import pytest

from madang.cli import chat, main
from madang.cli.conversation import Conversation
from madang.cli.line_input import PipedLines
from madang.records.runs.records import Run
from tests.agent.bench import eventually
from tests.cli.talking import (
    TAINT,
    Hold,
    Terminal,
    call_step,
    live_runs,
    madang,
    open_ids,
    rows,
    started,
    wait_for,
    write_script,
)
from tests.cli.test_models import Served
from tests.model_server import answers as scripted
from tests.model_wires import Ask, Say

TEXT = call_step("prompt_user", prompt="Which tea?", type="text")
SELECT = call_step("prompt_user", prompt="Colour?", type="select", options=["red", "blue"])
SEVERAL = call_step("prompt_user", prompt="Colours?", type="multiselect", options=["red", "blue", "green"])
DELETE = call_step("delete_playbook", id="one")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def state(folder: Path) -> str:
    return str(rows(folder, "SELECT state FROM run ORDER BY no DESC LIMIT 1")[0][0])


def answers(folder: Path) -> list[object]:
    found = rows(folder, "SELECT settled_with FROM pause WHERE status <> 'open' ORDER BY id")
    return [json.loads(settled)["arguments"] for (settled,) in found]


def test_lines_of_a_pipe_are_messages_and_answers_in_their_turn(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, ["Hello.", TEXT], [SELECT], [SEVERAL], ["{last}"], ["Bye."])

    result = madang(folder, "chat", "--model", model, stdin="Hi\n녹차\n2\nred, 3\nThanks\n")

    assert result.returncode == 0, result.stderr
    given = [one["answer"] for one in answers(folder) if isinstance(one, dict)]
    assert given == ["녹차", "blue", ["red", "green"]]
    out, err = result.stdout.decode(), result.stderr.decode()
    assert out.endswith("[scripted model] Bye.\n")
    assert out.index("[scripted model] Hello.") < out.index("│ Which tea?") < out.index("│ Colour?")
    assert [sign for sign in out + err if not sign.isprintable() and sign != "\n"] == []


def test_a_chat_in_a_pipe_sleeps_while_the_model_is_silent(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in looks at the run, whose number must not grow with the time that passes."""
    looks = 0
    live = Conversation.live

    async def counted(talk: Conversation) -> Run | None:
        nonlocal looks
        looks += 1
        return await live(talk)

    monkeypatch.setattr(Conversation, "live", counted)
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hi\n녹차\nThanks\n"))
    model = write_script(tmp_path, [{"wait": 1}, TEXT], [{"wait": 1}, "{last}"], ["Bye."])

    assert main(["chat", "--data-dir", str(folder), "--locale", "en", "--model", model]) == 0

    assert looks < 200, "it looks again and again at a run that nothing has happened in"
    assert rows(folder, "SELECT state FROM run ORDER BY no") == [("finished",), ("finished",)]


def test_a_run_that_ends_between_two_looks_of_who_leaves_is_finished(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = Conversation.stopped

    async def late(talk: Conversation, run: Run) -> Run | None:
        return await eventually(lambda: stopped(talk, run), lambda now: now is not None)

    monkeypatch.setattr(Conversation, "stopped", late)
    model = write_script(tmp_path, [{"wait": 0.2}, "Done."])
    monkeypatch.setattr(chat, "open_input", lambda _: PipedLines(is_typed=True))  # its end does not wait for the model
    monkeypatch.setattr(sys, "stdin", io.StringIO("Hi\n"))

    assert main(["chat", "--data-dir", str(folder), "--locale", "en", "--model", model]) == 0
    assert state(folder) == "finished"


def test_what_is_not_answered_stays_open_and_is_3(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [TEXT], ["Fine: {last}"])

    result = madang(folder, "chat", "--model", model, stdin="Hi\n/later\n")
    assert result.returncode == 3
    [id] = open_ids(folder)
    assert f"madang answer {id} or /open" in result.stderr.decode()

    again = madang(folder, "chat", "--continue", stdin="green\n")
    assert again.returncode == 0, again.stderr
    assert "Answer: green" in again.stdout.decode()


def test_a_message_in_place_of_an_answer_and_a_cancelled_question(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [TEXT], ["First {last}", SELECT], ["Second {last}"])

    result = madang(folder, "chat", "--model", model, stdin="Hi\n/say Coffee\n/cancel\n")

    assert result.returncode == 0, result.stderr
    out = result.stdout.decode()
    assert "First Coffee" in out
    assert "cancelled" in out


def test_a_wrong_answer_is_told_and_the_question_stays(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [SELECT], ["{last}"])

    result = madang(folder, "chat", "--model", model, stdin="Hi\ngreen\n9\nBLUE\n")

    assert result.returncode == 0
    assert result.stderr.decode().count("is none of what can be chosen") == 2
    assert "Answer: blue" in result.stdout.decode()


def test_without_a_terminal_nothing_is_allowed(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [TAINT], [DELETE], ["{last}"])

    result = madang(folder, "chat", "--model", model, stdin="Hi\ny\ns\n\nlater\n")

    assert result.returncode == 3
    assert result.stderr.decode().count("there is no terminal here") == 2
    assert len(open_ids(folder)) == 1


def test_manual_mode_calls_tools_and_reads_what_an_agent_would(folder: Path) -> None:
    lines = [
        "Remember tea",
        '/call add_tod {"name": "tea"}',
        "/call add_todo {",
        "/call add_todo [1]",
        '/call add_todo {"name": "tea"}',
        "/state",
        "It is noted.",
        "/call get_current_state",
        "Fine.",
        "/toolz",
    ]

    result = madang(folder, "chat", stdin="\n".join(lines) + "\n")

    assert result.returncode == 0, result.stderr
    out, err = result.stdout.decode(), result.stderr.decode()
    assert "There is no tool 'add_tod'. Did you mean 'add_todo'?" in err
    assert "The arguments are not JSON" in err
    assert "The arguments must be a JSON object." in err
    assert "There is no command '/toolz'. Did you mean '/tools'?" in err
    assert "│ [add_todo] Todo added: ID:1 tea" in out
    assert "Todos: 0 completed, 1 pending" in out
    assert out.endswith("Fine.\n")
    assert rows(folder, "SELECT state, turn FROM run ORDER BY no") == [("finished", 2), ("finished", 2)]


def test_the_tools_of_manual_mode_are_those_of_a_model(folder: Path) -> None:
    result = madang(folder, "chat", stdin="/tools\n/tools add_todo\n/help\n")

    out = result.stdout.decode()
    assert "\nadd_todo " in out
    assert "reply_prompt" not in out
    assert "madang call add_todo" in out
    assert "/withdraw" in out


def test_a_run_of_another_process_is_refused(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [{"wait": 120}, "Late."])
    with started(folder, "run", "Go", "--session", "s", "--model", model):
        wait_for(lambda: live_runs(folder))

        result = madang(folder, "chat", "--session", "s", "--model", model, stdin="Hi\n")

    assert result.returncode == 2


def test_a_bad_model_is_2(folder: Path) -> None:
    assert madang(folder, "chat", "--model", "nix", stdin="Hi\n").returncode == 2


def test_it_speaks_korean(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [TAINT], [DELETE])

    result = madang(folder, "chat", "--model", model, "--locale", "ko", stdin="안녕\n")

    assert "이 호출을 허용할까요? delete_playbook" in result.stdout.decode()
    assert "세션: " in result.stderr.decode()


def test_at_a_terminal_approvals_are_asked_one_after_another_and_enter_allows_nothing(
    folder: Path, tmp_path: Path
) -> None:
    second = {**call_step("delete_playbook", id="two\x1b[2J"), "id": "c2"}
    model = write_script(tmp_path, [TAINT], [DELETE, second], ["Done."])
    with Terminal(folder, "chat", "--model", model) as terminal:
        terminal.expect("> ")
        terminal.type("Delete both\n")
        shown = terminal.expect('"id": "one".*Enter does nothing')
        assert "changes what other sessions use" in shown
        terminal.expect("y/n> ")
        terminal.type("\n\n  \nmaybe\n")
        terminal.expect("Enter does nothing")
        assert len(open_ids(folder)) == 1  # the second call waits for what becomes of the first
        terminal.type("y\n")
        assert "\x1b[2J" not in terminal.expect('"id": "two.*Enter does nothing')
        terminal.expect("y/n> ")
        terminal.type("n\n")
        shown = terminal.expect(r"\[scripted model\] Done\.")
        assert "The person did not allow this call." in shown
        terminal.type("\x04")
        assert terminal.end() == 0
    assert [one["allow"] for one in answers(folder) if isinstance(one, dict)] == [True, False]


def test_what_is_asked_each_time_is_not_offered_for_the_session(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [call_step("read_file", path=".env")], ["Done."])
    with Terminal(folder, "chat", "--model", model) as terminal:
        terminal.expect("> ")
        terminal.type("Read it\n")
        assert "s in this session" not in terminal.expect("asked each time.*Enter does nothing")
        terminal.expect("y/n> ")
        terminal.type("s\n")
        terminal.expect("y allows it once, n does not")
        assert len(open_ids(folder)) == 1
        terminal.type("n\n")
        terminal.expect(r"\[scripted model\] Done\.")
        terminal.type("\x04")
        assert terminal.end() == 0


def test_at_a_terminal_it_shows_that_it_works_and_calls_the_person(folder: Path) -> None:
    hold = Hold(Ask("prompt_user", '{"prompt": "Which tea?", "type": "text"}'))
    with (
        Served(hold, scripted(Say("Thanks."))) as server,
        Terminal(folder, "chat", "--model", f"{server.url}/v1#m") as terminal,
    ):
        terminal.expect("> ")
        terminal.type("Hi\n")
        terminal.expect(r"\r\x1b\[K\S 1 s ")
        hold.release()
        terminal.expect("\x07\x1b\\]9;Madang waits for you: Which tea\\?\x1b\\\\")
        terminal.type("녹차\x7f차\n")
        terminal.expect("Thanks")
        wait_for(lambda: state(folder) == "finished")
        terminal.type("/quit\n")
        assert terminal.end() == 0
    [one] = answers(folder)
    assert isinstance(one, dict)
    assert one["answer"] == "녹차"


def test_what_is_typed_while_it_works_is_queued_and_can_be_taken_back(folder: Path) -> None:
    hold = Hold(Ask("get_current_state"))
    with (
        Served(hold, scripted(Say("All read."))) as server,
        Terminal(folder, "chat", "--model", f"{server.url}/v1#m") as terminal,
    ):
        terminal.expect("> ")
        terminal.type("Go\n")
        assert hold.is_reached.wait(60)
        terminal.type("not this\n")
        terminal.expect("Queued")
        terminal.type("/withdraw\n")
        terminal.expect("taken back")
        terminal.type("and milk\n")
        terminal.expect("Queued")
        hold.release()
        terminal.expect("All read")
        wait_for(lambda: state(folder) == "finished")
        terminal.type("\x04")
        assert terminal.end() == 0
    texts = rows(folder, "SELECT parts FROM message WHERE role = 'user' ORDER BY seq")
    assert [json.loads(parts)[0]["text"] for (parts,) in texts] == ["Go", "and milk"]


def test_ctrl_c_stops_the_run_and_then_leaves(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [{"wait": 120}, "Late."], ["Again."])
    with Terminal(folder, "chat", "--model", model) as terminal:
        terminal.expect("> ")
        terminal.type("Go\n")
        wait_for(lambda: live_runs(folder))
        terminal.expect(r"\S 1 s ")
        terminal.type("\x03")
        wait_for(lambda: state(folder) == "cancelled")
        terminal.expect(r"\x1b\[K> ")
        terminal.type("half a line\x03")
        terminal.type("\x03")
        assert terminal.end() == 130
    assert rows(folder, "SELECT count(*) FROM run") == [(1,)]


def test_ctrl_c_at_a_question_leaves_it_open(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [TEXT])
    with started(folder, "chat", "--model", model, stdin=-1) as process:
        assert process.stdin is not None
        process.stdin.write("Go\n")
        process.stdin.flush()
        wait_for(lambda: open_ids(folder) and state(folder) == "waiting")
        assert process.stdout is not None
        assert any("Which tea?" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    assert len(open_ids(folder)) == 1


def test_a_long_answer_is_shown_while_it_comes(folder: Path) -> None:
    hold = Hold(Say("One.\nTwo is\n three."), after=3)
    with Served(hold) as server, Terminal(folder, "run", "Go", "--model", f"{server.url}/v1#m") as terminal:
        shown = terminal.expect("Two")  # in the line that is still being written
        assert live_runs(folder)
        hold.release()
        shown += terminal.expect("three")
        assert terminal.end() == 0
    assert shown.count("One.") == 1


def test_what_a_run_had_asked_is_answered_after_its_end(folder: Path, tmp_path: Path) -> None:
    question = call_step("prompt_user", prompt="Which tea?", type="text")
    model = write_script(tmp_path, [question], ["Later, then."], ["Green it is."])
    lines = "Tea, please\n/say Tell me about coffee\n/open\ngreen\n"
    result = madang(folder, "chat", "--model", model, stdin=lines)

    assert result.returncode == 0, result.stderr
    said = result.stdout.decode()
    assert said.index("Later, then.") < said.index("Green it is.")
    assert open_ids(folder) == []
