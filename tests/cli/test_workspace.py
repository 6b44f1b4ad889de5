"""`madang workspace`, and the question whether runs follow a folder's AGENTS.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from madang.cli import main
from tests.cli.talking import Terminal, madang, write_script


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MADANG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("MADANG_LOCALE", "en")
    return tmp_path / "data"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    lines = ["Write\x1b[2J British.", *(f"Line {number}" for number in range(2, 40))]
    (project / "AGENTS.md").write_text("\n".join(lines))
    return project


def test_a_terminal_asks_once_and_shows_what_it_asks_for(folder: Path, project: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, ["Done."])
    words = ("run", "Go", "--model", model, "--workspace", str(project))

    with Terminal(folder, *words) as terminal:
        shown = terminal.expect(r"as it is now\? \[y/N\] ")
        assert f"{project} has an AGENTS.md ({len((project / 'AGENTS.md').read_bytes())} bytes):" in shown
        assert "\x1b[2J" not in shown
        assert "| Line 12\r\n  | …" in shown
        terminal.type("n\n")
        terminal.expect("is not followed; to agree to it: madang workspace trust")
        assert terminal.end() == 0
    with Terminal(folder, *words) as terminal:
        terminal.expect("is not followed; to agree to it")
        assert terminal.end() == 0
        assert "y/N" not in terminal.output
    (project / "AGENTS.md").write_text("Write American.")
    with Terminal(folder, *words) as terminal:
        terminal.expect(r"Write American\..*\[y/N\] ")
        terminal.type("y\n")
        terminal.expect("Done")
        assert terminal.end() == 0
    with Terminal(folder, *words) as terminal:
        terminal.expect("Done")
        assert terminal.end() == 0
        assert "AGENTS" not in terminal.output


def test_without_a_terminal_one_line_says_that_it_is_not_followed(folder: Path, project: Path, tmp_path: Path) -> None:
    model = write_script(tmp_path, ["Done."])
    words = ("--model", model, "--workspace", str(project))
    note = f"AGENTS.md in {project} is not followed; to agree to it: madang workspace trust {project}\n"

    assert madang(folder, "run", "Go", *words).stderr.decode() == note
    assert note in madang(folder, "chat", *words, "--session", "s", stdin="Go\n").stderr.decode()
    assert madang(folder, "workspace", "trust", str(project)).returncode == 0
    assert madang(folder, "run", "Go", *words).stderr == b""


def test_scripts_agree_and_take_it_back(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workspace"]) == 0
    assert capsys.readouterr().out == "Nothing was said to the AGENTS.md of any folder.\n"
    assert main(["workspace", "trust", str(project)]) == 0
    assert "follow its AGENTS.md as it is now" in capsys.readouterr().out

    def state() -> str:
        assert main(["workspace", "list"]) == 0
        return capsys.readouterr().out.splitlines()[1].removeprefix(str(project)).strip()

    assert state() == "is followed"
    (project / "AGENTS.md").write_text("Other")
    assert state() == "has changed, and is not followed"
    assert main(["workspace", "distrust", str(project)]) == 0
    capsys.readouterr()
    assert state() == "is not followed"
    (project / "AGENTS.md").write_bytes(b"x" * 40_000)
    assert main(["workspace", "trust", str(project)]) == 2
    assert "is not followed: it is larger than 32 KB" in capsys.readouterr().err
    (project / "AGENTS.md").unlink()
    assert state() == "is not there"
    assert main(["workspace", "trust", str(project)]) == 2
    assert "There is no AGENTS.md in" in capsys.readouterr().err
