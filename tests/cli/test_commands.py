"""The command line: an answer and an exit code, or one line about what is wrong."""

from __future__ import annotations

import io
import json
import os
import unicodedata
from pathlib import Path

import pytest

from madang.cli import main
from madang.core.errors import SetupError
from madang.core.results import Image, Reply
from madang.core.service import ServiceMetadata
from madang.provider.provider import Provider
from madang.settings import read_settings


def test_a_tool_can_be_called_and_what_it_wrote_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--data-dir", str(tmp_path / "new")]

    assert main(["call", "add_todo", '{"name": "Look"}', *folder]) == 0
    assert capsys.readouterr().out.startswith("[add_todo] Todo added: ID:1 Look\n")
    assert main(["call", "get_current_state", "--json", *folder]) == 0
    assert json.loads(capsys.readouterr().out)["todos"][0]["name"] == "Look"


def test_a_tool_that_says_no_is_exit_code_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "mark_todo", '{"id": 5}', "--data-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("[mark_todo] Error: There is no todo with ID 5. Nothing was changed.\n")


@pytest.mark.parametrize(
    ("alt", "line"),
    [
        ("A dot", "[image: A dot, 12 KB, image/png]"),
        ("", "[image: -, 12 KB, image/png]"),
        ("a\n\x1b[2J", "[image: a \\u001b[2J, 12 KB, image/png]"),
    ],
)
def test_an_image_is_named_in_the_text_and_no_part_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, alt: str, line: str
) -> None:
    async def answer(*_: object) -> Reply:
        return Reply("draw", "chart", "[draw] Done", {"count": 1}, images=(Image(bytes(12 * 1024), "image/png", alt),))

    monkeypatch.setattr(Provider, "execute_tool", answer)
    folder = ["--data-dir", str(tmp_path)]

    assert main(["call", "draw", *folder]) == 0
    assert capsys.readouterr().out == f"[draw] Done\n{line}\n"
    assert main(["call", "draw", "--json", *folder]) == 0
    assert json.loads(capsys.readouterr().out) == {"count": 1}


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["call", "nothing"], "madang: There is no tool 'nothing'."),
        (["call", "add_todo", "{"], "madang: The arguments are not JSON: "),
        (["call", "add_todo", "[]"], "madang: The arguments must be a JSON object."),
        (["tools", "--locale", "fr"], "madang: 'fr' is not a valid locale. Use one of: en, ko."),
        (["tools", "--services", "cooking"], "madang: There is no service 'cooking'. The services are: "),
        (["tools", "--assistant", " "], "madang: The assistant must have 1 to 200 printable characters."),
        (["mcp", "--http", "0.0.0.0:80"], "madang: Madang serves HTTP only to this machine, not on '0.0.0.0'."),
        (["mcp", "--http", "nowhere"], "madang: 'nowhere' is not HOST:PORT."),
        (["mcp", "--ui", "loud"], "madang: 'loud' is not a valid ui."),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    assert main([*arguments, "--data-dir", str(tmp_path)]) == 2

    captured = capsys.readouterr()
    assert captured.err.startswith(error)
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_data_under_a_name_that_is_no_longer_taken_can_be_reached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    old = ["--session", "monday\u200b", "--data-dir", str(tmp_path)]
    monkeypatch.setenv("MADANG_RAW_NAMES", "1")
    assert main(["call", "create_goal", '{"goal": "Kept"}', *old]) == 0
    monkeypatch.delenv("MADANG_RAW_NAMES")
    capsys.readouterr()

    assert main(["call", "get_current_state", *old]) == 2
    assert "The session holds U+200B, which is not seen." in (error := capsys.readouterr().err)
    assert "MADANG_RAW_NAMES=1" in error
    monkeypatch.setenv("MADANG_RAW_NAMES", "1")
    assert main(["call", "get_current_state", *old]) == 0
    assert "Kept" in capsys.readouterr().out


def test_names_of_settings_have_one_spelling(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f'[assistants."{unicodedata.normalize("NFD", "검토")}"]\nservices = []\n')
    decomposed = unicodedata.normalize("NFD", "배포")

    settings = read_settings({"MADANG_USER": decomposed}, data_dir=str(tmp_path), session=decomposed)

    assert (settings.session, settings.user, dict(settings.grants)) == ("배포", "배포", {"검토": ()})


def test_a_data_folder_that_is_a_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")

    assert main(["tools", "--data-dir", str(tmp_path / "file")]) == 2
    assert "cannot be used" in capsys.readouterr().err


def test_errors_are_told_in_korean_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["call", "nothing", "--locale", "ko", "--data-dir", str(tmp_path)]) == 2
    assert "'nothing'" in (output := capsys.readouterr().err)
    assert "There is no tool" not in output


def test_the_tools_are_listed_with_their_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tools", "--services", "planning", "--data-dir", str(tmp_path)]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["TOOL", "EFFECT", "FOR", "TOKENS", "WHAT", "IT", "DOES"]
    assert [line.split()[0] for line in lines[1:-1]] == [
        "create_goal",
        "clear_goal",
        "add_todo",
        "mark_todo",
        "clear_todos",
        "add_observation",
        "clear_session",
        "get_current_state",
    ]
    assert lines[-1].startswith("8 tools, about ")


def test_a_healthy_data_folder_passes_the_doctor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "madang"

    assert main(["doctor", "--data-dir", str(folder)]) == 0

    output = capsys.readouterr().out
    assert output.endswith("All checks passed.\n")
    assert "FAIL" not in output
    assert "Service playbook: ready" in output
    assert "ok    ripgrep: " in output


def test_the_doctor_finds_a_folder_that_others_can_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "madang"
    folder.mkdir()
    folder.chmod(0o755)

    assert main(["doctor", "--data-dir", str(folder)]) == 1

    assert "can be read by others (mode 755)\n      chmod 700 " in capsys.readouterr().out


def test_the_doctor_counts_no_service_that_this_platform_does_not_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ServiceMetadata, "is_supported", property(lambda metadata: not metadata.needs_posix))

    assert main(["doctor", "--data-dir", str(tmp_path / "data")]) == 0

    assert "ok    Service workspace: error The service 'workspace' is not available on Windows yet." in (
        capsys.readouterr().out
    )


def test_the_doctor_finds_a_broken_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "madang"
    folder.mkdir(mode=0o700)
    (folder / "madang.db").write_bytes(b"this is no database" * 100)
    (folder / "madang.db").chmod(0o600)

    assert main(["doctor", "--data-dir", str(folder)]) == 1

    output = capsys.readouterr().out
    assert "FAIL  Database: " in output
    assert "madang restore" in output
    assert output.count("FAIL") == 1, "one cause, one finding"


# Allowed folders


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the data folder, with a file in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.txt").write_text("from outside")
    return folder


def test_a_file_is_imported_from_a_folder_that_was_allowed_by_a_link(
    tmp_path: Path, outside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link").symlink_to(outside)
    asked = json.dumps({"source": str(outside / "a.txt")})
    options = ["--data-dir", str(tmp_path / "data")]

    refused = main(["call", "import_file", asked, *options])
    allowed = main(["call", "import_file", asked, *options, "--allow-folder", str(tmp_path / "link")])

    assert (refused, allowed) == (1, 0)
    assert "Copied" in capsys.readouterr().out


def test_options_win_over_the_variable_and_it_over_the_config_file(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three", "data")]
    for folder in folders:
        folder.mkdir()
    one, two, three, data = folders
    (data / "config.toml").write_text(f'allow_folders = ["{one}", "{two}", "{one}"]\n')
    variable = {"MADANG_ALLOW_FOLDERS": f"{two}{os.pathsep}{three}{os.pathsep}"}

    def allowed(environment: dict[str, str], options: list[str] | None = None) -> tuple[Path, ...]:
        return read_settings(environment, data_dir=str(data), allow_folders=options).allow_folders

    assert allowed({}) == (one, two)
    assert allowed(variable) == (two, three)
    assert allowed({"MADANG_ALLOW_FOLDERS": ""}) == ()
    assert allowed(variable, [str(three), f"{one}/../two"]) == (three, two)


def test_the_config_file_says_how_long_logs_are_kept(tmp_path: Path) -> None:
    def days(text: str) -> tuple[int, int]:
        (tmp_path / "config.toml").write_text(text)
        settings = read_settings({}, data_dir=str(tmp_path))
        return settings.events_days, settings.audit_days

    assert days("") == (30, 365)
    assert days("[retention]\nevents_days = 1\naudit_days = 36500") == (1, 36500)
    for wrong in ("events_days = 0", "events_days = 40000", "audit_days = 1.5", "messages_days = 3"):
        with pytest.raises(SetupError, match=r"config\.toml cannot be used"):
            days(f"[retention]\n{wrong}")


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        ("nothing", "No such file or directory"),
        ("file", "it is not a folder"),
        ("data", "it contains the data folder"),
        ("data/workspaces/other-session/files", "it is in the data folder"),
        ("way/../data/index", "it is in the data folder"),
        (".", "it contains the data folder"),
        ("way/..", "it contains the data folder"),
        ("loop", ""),
        ("a\0b", ""),
        ("~nobody-of-that-name/x", ""),
    ],
)
def test_a_folder_that_cannot_be_allowed_is_said_at_the_start(tmp_path: Path, folder: str, reason: str) -> None:
    (tmp_path / "data/workspaces/other-session/files").mkdir(parents=True)
    (tmp_path / "data/index").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "way").symlink_to("data")  # and up again: this folder
    (tmp_path / "loop").symlink_to("loop")
    name = folder if folder.startswith("~") else str(tmp_path / folder)

    with pytest.raises(SetupError, match="cannot be allowed") as refused:
        read_settings({}, data_dir=str(tmp_path / "data"), allow_folders=[name])

    assert reason in str(refused.value)
    assert refused.value.hint is not None


def test_sessions_are_listed_renamed_copied_exported_imported_and_deleted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ["--data-dir", str(tmp_path / "data")]
    archive = str(tmp_path / "회의.zip")

    def run(*words: str) -> str:
        assert main([*words, *folder]) == 0
        return capsys.readouterr().out

    run("call", "add_todo", '{"name": "Look"}', "--session", "회의 one")
    assert run("sessions", "rename", "회의 one", "제목") == "The session '회의 one' has its new title.\n"
    assert run("sessions", "copy", "회의 one", "two", "--title", "Second") == (
        "The session '회의 one' is copied to 'two'.\n"
    )
    assert run("sessions", "export", "회의 one", archive) == (
        f"The session '회의 one' is in {archive}: 2 entries, 1 KiB.\n"
    )
    assert run("sessions", "delete", "회의 one", "--yes", "--locale", "ko") == "세션 '회의 one'을 삭제했습니다.\n"
    assert run("sessions", "import", archive, "--session", "three") == "The archive is the session 'three' now.\n"
    assert run("sessions", "import", archive).startswith("The archive is the session '0")
    heading, *rows = run("sessions", "list").splitlines()
    assert heading.split("  ")[0] == "LAST USED (UTC)"
    assert [row.split()[2:] for row in rows if "three" in row or "two" in row] == [
        ["default", "two", "Second"],
        ["default", "three", "제목"],
    ]
    assert len(rows) == 3
    assert "Look" in run("call", "get_current_state", "--session", "three")
    assert "Look" not in run("call", "get_current_state", "--session", "회의 one")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["delete", "default"], "madang: Nothing was deleted: there is no terminal to ask at."),
        (["rename", "nobody", "x"], "madang: There is no session 'nobody'. 'madang sessions list' shows"),
        (["copy", "nobody", "x"], "madang: There is no session 'nobody'."),
        (["copy", "default", " "], "madang: The session must have 1 to 200 printable characters."),
        (["export", "nobody", "x.zip"], "madang: There is no session 'nobody'."),
        (
            ["export", "default", "/nowhere/x.zip"],
            "madang: '/nowhere/x.zip' cannot be used: no such file or directory.",
        ),
        (["import", "/nowhere/x.zip"], "madang: '/nowhere/x.zip' cannot be used: no such file or directory."),
        (["import", __file__], "madang: This is no archive of a session: it is damaged, or no ZIP file."),
    ],
)
def test_what_cannot_be_done_with_a_session_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    error: str,
) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: False)
    folder = ["--data-dir", str(tmp_path)]
    assert main(["call", "add_todo", '{"name": "Look"}', *folder]) == 0
    capsys.readouterr()

    assert main(["sessions", *arguments, *folder]) == 2

    captured = capsys.readouterr()
    assert captured.err.startswith(error)
    assert captured.err.count("\n") == 1
    assert captured.out == ""


@pytest.mark.parametrize(("answer", "code", "is_deleted"), [("y\n", 0, True), ("\n", 1, False), ("", 1, False)])
def test_deleting_asks_on_a_terminal(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    answer: str,
    code: int,
    is_deleted: bool,
) -> None:
    folder = ["--data-dir", str(tmp_path)]
    assert main(["call", "add_todo", '{"name": "Look"}', *folder]) == 0
    monkeypatch.setattr(os, "isatty", lambda _: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    capsys.readouterr()

    assert main(["sessions", "delete", "default", *folder]) == code

    question = "Delete the session 'default' with its plan, files, contents and questions? [y/N] "
    assert capsys.readouterr().out.startswith(question)
    assert main(["call", "get_current_state", *folder]) == 0
    assert ("Look" not in capsys.readouterr().out) is is_deleted


def test_a_grant_is_changed_and_given_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.toml").write_text('[assistants.editor]\nservices = ["content"]\n')
    folder = ["--data-dir", str(tmp_path)]

    def run(*words: str) -> str:
        assert main(["assistants", *words, *folder]) == 0
        return capsys.readouterr().out

    assert run("grant", "reviewer", "planning", "chart") == "The assistant 'reviewer' may use: planning, chart\n"
    assert run("list").splitlines()[1:] == ["editor     content", "reviewer   planning, chart"]
    assert main(["call", "list_stores", "--assistant", "reviewer", *folder]) == 2
    assert "may not use the service 'content'" in capsys.readouterr().err
    assert run("grant", "reviewer", "--default").startswith("The assistant 'reviewer' may use: playbook, planning, ui")
    assert "It has the default grant" in run("show", "reviewer")
    assert run("show", "nobody").startswith("Assistant: nobody\nServices: playbook")
    assert main(["assistants", "grant", "reviewer", "cooking", *folder]) == 2
    assert capsys.readouterr().err.startswith("madang: There is no service 'cooking'.")


def test_how_an_assistant_works_is_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = ["--data-dir", str(tmp_path)]
    (tmp_path / "told.md").write_text("Be brief.\n")

    def run(*words: str) -> str:
        assert main(["assistants", *words, *folder]) == 0
        return capsys.readouterr().out

    told = ["--instructions", str(tmp_path / "told.md")]
    shown = run(
        "set", "editor", "--model", "qwen", "--ask-first", "planning", "--limit", "turns=50", "tokens=9000", *told
    )
    for line in ("Model: qwen", "Asks first: planning", "Limits: turns 50, tokens 9000", "Instructions: Be brief."):
        assert line in shown
    assert "Limits: turns 50\n" in run("set", "editor", "--limit", "tokens=")
    assert "Asks first" not in run("set", "editor", "--ask-first", "none")
    for wrong in (["--limit", "turns"], ["--limit", "turns=none"], ["--ask-first", "cooking"], []):
        assert main(["assistants", "set", "editor", *wrong, *folder]) == 2
        assert capsys.readouterr().err.startswith("madang: ")
