"""`madang run`: what it prints, and the exit code that says how it ended."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ag_ui.core import Event as AgUiEvent
from pydantic import TypeAdapter

from madang.cli import main
from madang.core.ids import AssistantId, UserId
from madang.database.sqlite.database import SqliteDatabase
from madang.records.assistants import AssistantRecord, AssistantStore
from tests.cli.talking import TAINT, call_step, live_runs, madang, open_ids, rows, started, wait_for, write_script
from tests.cli.test_models import Served
from tests.model_server import Exchange, answers, refuses, story
from tests.model_wires import Ask, Say

AG_UI: TypeAdapter[Any] = TypeAdapter(AgUiEvent)
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645"
    "400000000049454e44ae426082"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    data = tmp_path / "data"
    monkeypatch.setenv("MADANG_DATA_DIR", str(data))
    monkeypatch.setenv("MADANG_LOCALE", "en")
    monkeypatch.delenv("MADANG_MODEL", raising=False)
    return data


def the_state(folder: Path) -> str:
    [(state,)] = rows(folder, "SELECT state FROM run")
    return str(state)


def test_an_answer_is_printed_and_the_exit_code_is_0(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_script(tmp_path, ["One\nmoment.", call_step("add_todo", name="차")], ["Done."])

    assert main(["run", "Remember tea", "--model", model]) == 0

    streams = capsys.readouterr()
    assert streams.out == "[scripted model] One\nmoment.\n[scripted model] Done.\n"
    assert streams.err == '→ add_todo {"name": "차"}\n← add_todo: Todo added: ID:1 차\n'


def test_a_model_over_the_wire_is_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Served(story([Ask("add_todo", '{"name": "tea"}')], [Say("It is noted.")])) as server:
        assert main(["run", "Remember tea", "--model", f"{server.url}/v1#qwen3"]) == 0

    assert capsys.readouterr().out == "It is noted.\n"


def test_standard_input_is_part_of_the_message(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, ["{last}"])

    result = madang(folder, "run", "Sum this up:", "--model", model, stdin="하나\n둘\n")

    assert result.returncode == 0, result.stderr
    assert result.stdout.decode() == "[scripted model] Sum this up:\n\n하나\n둘\n"
    assert result.stderr == b""


def test_standard_input_alone_is_a_message_also_in_cp949(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, ["{last}"])
    text = "안녕하세요. 오늘 회의 내용을 세 줄로 정리해 주세요.\n"

    result = madang(folder, "run", "--model", model, stdin=text.encode("cp949"))

    assert result.stdout.decode() == f"[scripted model] {text}"


@pytest.mark.parametrize(
    ("steps", "code", "error"),
    [
        ([{"fail": "bad_credentials"}], 1, "The script lets this request fail: bad_credentials."),
        ([{"call": "get_current_state", "arguments": '{"a'}], 1, "again and again"),
    ],
)
def test_a_run_that_fails_is_one_line_and_1(
    tmp_path: Path, steps: list[Any], code: int, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "Go", "--model", write_script(tmp_path, steps)]) == code

    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("madang: ")
    assert error in last


def test_a_limit_is_4(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.mkdir()
    asyncio.run(_limit(folder, {"turns": 1}))
    model = write_script(tmp_path, [call_step("get_current_state")], ["Done."])

    assert main(["run", "Go", "--model", model]) == 4

    assert "as many as it may" in capsys.readouterr().err.splitlines()[-1]


def test_a_run_that_called_nothing_is_asked_once_whether_all_is_done_and_prints_its_answer_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Served(story([Say("I made a list.")], [Say("DONE")])) as server:
        assert main(["run", "Make a list", "--model", f"{server.url}/v1#qwen3"]) == 0

    assert rows(folder, "SELECT requests FROM usage") == [(2,)]
    assert capsys.readouterr() == ("I made a list.\n", "")


def test_a_run_that_forgot_to_call_a_tool_calls_it_when_it_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Served(story([Say("I noted it.")], [Ask("add_todo", '{"name": "tea"}')], [Say("Now it is noted.")])) as server:
        assert main(["run", "Remember tea", "--model", f"{server.url}/v1#qwen3"]) == 0

    assert rows(folder, "SELECT requests FROM usage") == [(3,)]
    assert capsys.readouterr().out == "I noted it.\nNow it is noted.\n"


def test_a_run_without_a_whole_answer_is_5_and_what_there_is_is_printed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Served(answers(Say("Green tea is"), finish="length")) as server:
        assert main(["run", "Tell me", "--model", f"{server.url}/v1#qwen3"]) == 5

    streams = capsys.readouterr()
    assert streams.out == "Green tea is\nGreen tea is\n"
    again, error = streams.err.splitlines()
    assert again == "The answer was cut off by the limit on its length. The model is asked to go on."
    assert "also when the model went on with it. Write a message to go on with it." in error


def test_an_incomplete_run_is_told_in_agui_events(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Served(answers()) as server:
        assert main(["run", "Tell me", "--json", "--model", f"{server.url}/v1#qwen3"]) == 5

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for event in events:
        AG_UI.validate_python(event)
    assert [event["name"] for event in events if event.get("name") == "madang/mend"] == ["madang/mend"]
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "incomplete")


def test_a_limit_that_cannot_be_kept_is_2(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder.mkdir()
    asyncio.run(_limit(folder, {"cost": 1.0}))
    with Served(answers(Say("Hi"))) as server:
        assert main(["run", "Go", "--model", f"{server.url}/v1#qwen3"]) == 2

    assert "what the model costs is not known" in capsys.readouterr().err


async def _limit(folder: Path, limits: dict[str, Any]) -> None:
    database = SqliteDatabase(folder / "madang.db")
    store = AssistantStore(database)
    await store.open()
    await store.save(UserId("local"), AssistantRecord(AssistantId("default"), limits=limits))
    await database.close()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["Hi"], "No model is named."),
        (["Hi", "--model", "nix"], "There is no model 'nix'."),
        (["Hi", "--model", "scripted:/nowhere.yaml"], "The script /nowhere.yaml cannot be played"),
        (["--model", "MODEL"], "There is no message, and no run of this session to go on with."),
        (["--session", "nope", "--model", "MODEL"], "There is no message"),
        (["Hi", "--model", "MODEL", "--continue"], "There is no session to continue."),
        (["Hi", "--model", "MODEL", "--continue", "--session", "a"], "Use either --session or --continue."),
        (["Hi", "--model", "MODEL", "--playbook", "nope"], "Playbook nope not found."),
        (["Hi", "--model", "MODEL", "--file", "/nowhere/at/all"], "The file /nowhere/at/all cannot be read"),
        (["Hi", "--model", "MODEL", "--file", "/"], "The file / cannot be read"),
        (["Hi", "--model", "MODEL", "--session", "a\nb"], "The session must have 1 to 200 printable characters."),
        (["Hi", "--model", "MODEL", "--rules", "/nowhere.toml"], "The rules /nowhere.toml cannot be read"),
    ],
)
def test_what_cannot_begin_is_one_line_and_2_and_starts_nothing(
    folder: Path, tmp_path: Path, arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_script(tmp_path, ["Hi."])

    assert main(["run", *(model if word == "MODEL" else word for word in arguments)]) == 2

    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith(f"madang: {error}")
    assert streams.err.count("\n") == 1
    if (folder / "madang.db").exists():
        tables = rows(folder, "SELECT name FROM sqlite_master WHERE name = 'run'")
        assert not tables or rows(folder, "SELECT id FROM run") == []


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "Standard input is no text."),
        (bytes(range(256)) * 10, "Standard input is no text."),
        (b"a" * 2**21, "Standard input is larger than 1024 KB."),
    ],
)
def test_what_is_no_message_on_standard_input_is_2(folder: Path, tmp_path: Path, data: bytes, error: str) -> None:
    result = madang(folder, "run", "Hi", "--model", write_script(tmp_path, ["Hi."]), stdin=data)

    assert result.returncode == 2
    assert result.stderr.decode().startswith(f"madang: {error}")


def test_each_run_has_a_session_of_its_own_and_continue_takes_the_last(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_script(tmp_path, ["First."], ["Second."])
    for arguments in (["a"], ["b", "--session", "kept"], ["c", "--continue"], ["d"]):
        assert main(["run", *arguments, "--model", model]) == 0

    said = [line.removeprefix("[scripted model] ") for line in capsys.readouterr().out.splitlines()]
    assert said == ["First.", "First.", "Second.", "First."]
    sessions = rows(folder, "SELECT s.id FROM run r JOIN session s ON s.no = r.session_no ORDER BY r.no")
    assert [id == "kept" for (id,) in sessions] == [False, True, True, False]


def test_json_is_the_stored_log_line_by_line(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write_script(tmp_path, ["뭐?\x1b[2J\u202e", call_step("prompt_user", prompt="Name?", type="text")], ["Hi."])

    assert main(["run", "Go", "--json", "--model", model]) == 3

    streams = capsys.readouterr()
    assert "\x1b" not in streams.out
    stored = rows(folder, "SELECT seq, at, kind, payload FROM event ORDER BY seq")
    expected = [{"type": kind, "seq": seq, "at": at, **json.loads(payload)} for seq, at, kind, payload in stored]
    assert [json.loads(line) for line in streams.out.splitlines()] == expected
    for event in expected:
        AG_UI.validate_python(event)
    [id] = open_ids(folder)
    assert expected[-1]["outcome"]["interrupts"][0]["id"] == id
    assert f"madang answer {id} " in streams.err


def test_what_a_model_says_is_inert_on_a_terminal_and_no_control_code_is_in_a_pipe(
    folder: Path, tmp_path: Path
) -> None:
    model = write_script(
        tmp_path, ["\x1b]0;owned\x07\u202eevil", call_step("add_todo", name="\x1b[2J\u202ex")], ["\x9b31m"]
    )

    result = madang(folder, "run", "Go", "--model", model)

    assert result.returncode == 0
    both = (result.stdout + result.stderr).decode()
    assert [sign for sign in both if not sign.isprintable() and sign != "\n"] == []
    assert "\\u001b]0;owned" in both


def test_files_are_contents_and_images_are_seen(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "보고서.md").write_text("# 3분기\n매출이 늘었다.\n", encoding="utf-8")
    (tmp_path / "dot.png").write_bytes(PNG)
    model = write_script(tmp_path, ["{last}"])
    files = ["--file", str(tmp_path / "보고서.md"), "--file", str(tmp_path / "dot.png")]

    assert main(["run", "Read it", *files, "--model", model]) == 0

    out = capsys.readouterr().out
    [(content_id,)] = rows(folder, "SELECT id FROM content")
    assert f"[File: 보고서.md, contentId {content_id}: 'read_content' reads it]" in out
    assert "[Image: dot.png]" in out
    [(parts,)] = rows(folder, "SELECT parts FROM message WHERE role = 'user'")
    assert [part["type"] for part in json.loads(parts)] == ["text", "text", "text", "image"]
    assert [part.get("file") for part in json.loads(parts)[:3]] == [
        None,
        {"name": "보고서.md", "contentId": content_id},
        {"name": "dot.png", "contentId": ""},
    ]


def test_a_file_that_holds_nothing_to_read_is_2(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF" + bytes(100))

    code = main(["run", "Hi", "--file", str(tmp_path / "program"), "--model", write_script(tmp_path, ["Hi."])])

    assert code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_playbook_is_given_as_select_playbook_words_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    playbook = {"goal": "Brew tea", "workflow": [{"description": "Boil water"}]}
    assert main(["call", "create_playbook", json.dumps(playbook), "--json"]) == 0
    id = json.loads(capsys.readouterr().out)["playbook"]["id"]

    assert main(["run", "For two", "--playbook", id, "--model", write_script(tmp_path, ["{last}"])]) == 0

    out = capsys.readouterr().out
    assert out.startswith(f'[scripted model] For two\n[select_playbook] Playbook "Brew tea" (ID: {id}) has been sel')
    assert "Boil water" in out
    assert main(["call", "list_playbook_runs", "--json"]) == 0
    assert '"Brew tea"' in capsys.readouterr().out


def test_a_message_goes_into_a_run_that_waits_and_the_question_stays_open(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_script(tmp_path, [call_step("prompt_user", prompt="Which?", type="text")], ["As you like: {last}"])
    assert main(["run", "Tea", "--model", model]) == 3

    assert main(["run", "Coffee, rather", "--continue"]) == 0

    assert "As you like: Coffee, rather" in capsys.readouterr().out
    assert the_state(folder) == "finished"


def test_a_session_whose_run_is_running_is_refused(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [{"wait": 120}, "Late."])
    with started(folder, "run", "Go", "--session", "busy", "--model", model):
        wait_for(lambda: live_runs(folder))

        result = madang(folder, "run", "Me too", "--session", "busy", "--model", model)
        elsewhere = madang(folder, "run", "Me too", "--model", write_script(tmp_path, ["Hi."], name="other"))

    assert result.returncode == 2
    assert "is running in another process" in result.stderr.decode()
    assert elsewhere.returncode == 0


@pytest.mark.parametrize("follower", [["run"], ["run", "Hurry"], ["chat"]])
def test_what_was_killed_is_gone_on_with_by_the_next_process(folder: Path, follower: list[str]) -> None:
    asked = 0

    async def hang(exchange: Exchange) -> None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(3600)

    done = story([], [Say("It is noted.")])
    with Served(story([Ask("add_todo", '{"name": "tea"}')]), hang, done) as server:
        with started(folder, "run", "Tea", "--session", "s", "--model", f"{server.url}/v1#m"):
            wait_for(lambda: asked)  # and then it is killed

        result = madang(folder, *follower, "--session", "s")

    assert result.returncode == 0, result.stderr
    assert result.stdout.decode() == "It is noted.\n"
    assert "The process that ran it has ended. It goes on here." in result.stderr.decode()
    assert the_state(folder) == "finished"
    [(plan,)] = rows(folder, "SELECT document FROM plan")
    assert plan.count('"tea"') == 1


@pytest.mark.parametrize("follower", [["run"], ["chat"]])
def test_another_model_takes_over_what_was_killed(folder: Path, tmp_path: Path, follower: list[str]) -> None:
    asked = 0

    async def hang(exchange: Exchange) -> None:
        nonlocal asked
        asked += 1
        await asyncio.sleep(3600)

    other = write_script(tmp_path, ["I took over."], name="other.json")
    with Served(hang) as server:
        with started(folder, "run", "Tea", "--session", "s", "--model", f"{server.url}/v1#m"):
            wait_for(lambda: asked)  # and then it is killed

        result = madang(folder, *follower, "--session", "s", "--model", other)

    assert result.returncode == 0, result.stderr
    assert asked == 1
    assert result.stdout.decode().endswith("I took over.\n")
    told = f"From here on {other} answers." if follower == ["run"] else f"Model: {other}"
    assert told in result.stderr.decode()
    assert rows(folder, "SELECT model FROM run") == [(other,)]


def test_another_model_answers_in_a_run_that_waits(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_script(tmp_path, [call_step("prompt_user", prompt="Which?", type="text")], ["Never."])
    other = write_script(tmp_path, [], ["As you like: {last}"], name="other.json")
    assert main(["run", "Tea", "--session", "s", "--model", model]) == 3

    assert main(["run", "Coffee, rather", "--session", "s", "--model", other]) == 0

    assert "As you like: Coffee, rather" in capsys.readouterr().out
    assert rows(folder, "SELECT model FROM run") == [(other,)]


def test_the_next_of_several_models_answers_where_the_first_is_away(folder: Path, tmp_path: Path) -> None:
    other = write_script(tmp_path, ["I am here."])
    with Served(refuses(429, headers={"retry-after": "600"})) as server:
        result = madang(folder, "run", "Tea", "--model", f"{server.url}/v1#m, {other}")

    assert (result.returncode, result.stdout.decode()) == (0, "[scripted model] I am here.\n")
    assert f"Switched to {other}, because {server.url}/v1#m gave no answer." in result.stderr.decode()


def test_ctrl_c_cancels_the_run_and_is_130(folder: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, [{"wait": 120}, "Late."])
    with started(folder, "run", "Go", "--model", model) as process:
        wait_for(lambda: live_runs(folder))

        process.send_signal(signal.SIGINT)

        assert process.wait(60) == 130
        assert process.communicate() == ("", "The run was cancelled.\n")
    assert the_state(folder) == "cancelled"


def test_a_second_ctrl_c_ends_at_once(folder: Path, tmp_path: Path) -> None:
    """The first one waits here: somebody else holds the database, so the end of the run cannot be written."""
    model = write_script(tmp_path, [{"wait": 120}, "Late."])
    with started(folder, "run", "Go", "--model", model) as process:
        wait_for(lambda: live_runs(folder))
        with closing(sqlite3.connect(folder / "madang.db")) as database:
            database.execute("BEGIN IMMEDIATE")
            process.send_signal(signal.SIGINT)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(1)
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130
    assert the_state(folder) == "running"


RULED = [TAINT], [call_step("delete_playbook", id="nope")], ["Gone: {last}"]


@pytest.mark.parametrize(
    ("rules", "code", "part"),
    [
        ('allow_untrusted = ["delete_playbook"]', 0, "Playbook nope not found"),
        ('allow_untrusted = ["playbook__delete_playbook"]', 0, "Playbook nope not found"),
        ('allow = ["delete_playbook"]', 3, "May this call be made? delete_playbook"),
        ('deny = ["delete_playbook"]', 0, "'delete_playbook' is denied by a rule of the person's."),
        ('allow = ["clear_session"]', 3, "May this call be made? delete_playbook"),
        ("", 3, "May this call be made? delete_playbook"),
    ],
)
def test_rules_decide_where_nobody_can_be_asked(
    folder: Path, tmp_path: Path, rules: str, code: int, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.toml").write_text(rules)
    model = write_script(tmp_path, *RULED)

    assert main(["run", "Delete it", "--model", model, "--rules", str(tmp_path / "rules.toml")]) == code

    assert part in capsys.readouterr().out


def test_a_rule_denies_what_would_be_allowed(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.toml").write_text('deny = ["add_todo", "get_current_state"]')
    model = write_script(tmp_path, [call_step("add_todo", name="x"), call_step("get_current_state")], ["So."])

    assert main(["run", "Go", "--model", model, "--rules", str(tmp_path / "rules.toml")]) == 0

    assert capsys.readouterr().err.count("denied by a rule") == 2


@pytest.mark.parametrize(
    ("rules", "error"),
    [
        ("allow = 1", "cannot be used: allow"),
        ("alow = []", "cannot be used: alow"),
        ('allow = ["delete_playbok"]', "name a tool that there is not: 'delete_playbok'. Did you mean"),
        ('allow = ["add_todo"]\ndeny = ["add_todo"]', "'add_todo' is both allowed and denied"),
        ("allow = [", "cannot be used: "),
        ("\udcff", "cannot be used: "),
        ("#" * 300_000, "it is larger than 256 KB"),
    ],
    ids=lambda text: text[:12].encode("ascii", "replace").decode(),
)
def test_a_bad_file_of_rules_is_refused(
    folder: Path, tmp_path: Path, rules: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.toml").write_bytes(rules.encode("utf-8", "surrogateescape"))

    code = main(["run", "Go", "--model", write_script(tmp_path, ["Hi."]), "--rules", str(tmp_path / "rules.toml")])

    assert code == 2
    assert error in (line := capsys.readouterr().err)
    assert line.count("\n") == 1


def test_it_speaks_korean(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = write_script(tmp_path, [call_step("prompt_user", prompt="이름?", type="text")])

    assert main(["run", "안녕", "--model", model, "--locale", "ko"]) == 3

    out = capsys.readouterr().out
    assert "이름?" in out
    assert "Waiting" not in out
    assert "Answer with" not in out
