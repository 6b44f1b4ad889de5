"""`madang install` and `madang uninstall`: the client's file gains one entry, and loses it without a trace."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from madang.cli import main
from madang.cli.clients import files, json_text
from madang.cli.clients.known import CLIENTS, Client
from madang.cli.launcher import launch_command

BY_ID = {client.id: client for client in CLIENTS}
ALL = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
EXAMPLES = {
    "json": '// mine\n{\n\t"theme": "dark", /* keep */\n\t"other": {"a": 1}\n}\n',
    "toml": '# mine\nmodel = "x"\n\n[tools]\nweb = true # keep\n',
    "yaml": "# mine\nGOOSE_MODE: auto # keep\nextensions:\n  developer:\n    enabled: true\n",
}


def own_file(client: Client, program: str) -> str:
    """Return a file in which the person has an entry of that name, made by hand."""
    match client.format:
        case "json":
            return (
                f'{{\n  "{client.group}": {{\n    // mine\n'
                f'    "madang": {{"command": "{program}", "args": ["mcp", "--locale", "ko"], "env": {{"KEY": "1"}}}},\n'
                f'    "other": {{"command": "x"}}\n  }},\n  "theme": "dark"\n}}\n'
            )
        case "toml":
            return (
                f'theme = "dark" # keep\n\n[mcp_servers.madang]\ncommand = "{program}" # mine\n'
                f'args = ["mcp"]\nsince = 2026-01-01\n\n[mcp_servers.madang.env]\n"A KEY" = "1"\n\n'
                f'[mcp_servers.other]\ncommand = "x"\n'
            )
        case "yaml":
            return (
                f"theme: dark # keep\nextensions:\n  madang: # mine\n    cmd: {program}\n    args:\n    - mcp\n"
                f"    envs:\n      KEY: '1'\n  other:\n    cmd: x\n"
            )


def named_backup(capsys: pytest.CaptureFixture[str]) -> Path:
    """Return the backup that was named last."""
    return Path(capsys.readouterr().out.rpartition("As it was before: ")[2].splitlines()[0])


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, so that no test touches the clients of whoever runs it."""
    home = tmp_path / "집 with space"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "APPDATA", "MADANG_DATA_DIR", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    return home


def file_of(client: Client) -> Path:
    return client.find_file(os.environ)


def write(client: Client, text: str) -> Path:
    path = file_of(client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def parsed(client: Client) -> Any:
    text = file_of(client).read_text(encoding="utf-8")
    match client.format:
        case "json":
            return json_text.parse(text)
        case "toml":
            return tomllib.loads(text)
        case _:
            return yaml.safe_load(text)


def started(client: Client) -> list[str]:
    """Return the command that a client's file starts."""
    entry = parsed(client)[client.group]["madang"]
    command = entry.get("command") or entry["cmd"]
    return command if isinstance(command, list) else [command, *entry["args"]]


def all_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@ALL
def test_a_client_without_a_file_gets_one_and_loses_it_again(client: Client, home: Path) -> None:
    assert main(["install", client.id]) == 0
    assert started(client) == [*launch_command(), "mcp"]
    assert stat.S_IMODE(file_of(client).stat().st_mode) == 0o600

    assert main(["uninstall", client.id]) == 0
    assert all_files(home) == {}


@ALL
def test_a_file_is_backed_up_and_comes_back_byte_for_byte(client: Client, home: Path) -> None:
    path = write(client, EXAMPLES[client.format])
    path.chmod(0o640)
    before = all_files(home)
    document = parsed(client)

    assert main(["install", client.id]) == 0

    assert {key: value for key, value in parsed(client).items() if key != client.group} == {
        key: value for key, value in document.items() if key != client.group
    }
    for line in EXAMPLES[client.format].splitlines():
        assert line in path.read_text()
    backup = path.with_name(path.name + ".before-madang")
    assert backup.read_bytes() == before[str(path.relative_to(home))]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert main(["uninstall", client.id]) == 0
    assert all_files(home) == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@ALL
def test_only_our_entry_goes_from_a_file_that_changed_since(client: Client, home: Path) -> None:
    path = write(client, EXAMPLES[client.format])
    assert main(["install", client.id]) == 0
    text = path.read_text()
    changed = {
        "json": text.replace('"dark"', '"light"'),
        "toml": text + '\n# later\n[later]\nb = "c"\n',
        "yaml": text + "later: true\n",
    }[client.format]
    path.write_text(changed)
    document = parsed(client)
    del document[client.group]["madang"]

    assert main(["uninstall", client.id]) == 0

    remaining = parsed(client)
    assert {key: value for key, value in remaining.items() if value != {}} == {
        key: value for key, value in document.items() if value != {}
    }
    assert "mine" in path.read_text()
    assert "keep" in path.read_text()
    assert "madang" not in path.read_text()


@ALL
def test_doing_it_twice_changes_nothing_more(client: Client, home: Path) -> None:
    write(client, EXAMPLES[client.format])
    before = all_files(home)
    assert main(["install", client.id]) == 0
    once = all_files(home)

    assert main(["install", client.id]) == 0
    assert all_files(home) == once
    # Other options replace the entry, and the backup is still from before Madang.
    assert main(["install", client.id, "--session", "other"]) == 0
    assert started(client)[-2:] == ["--session", "other"]
    assert main(["uninstall", client.id]) == 0
    assert all_files(home) == before
    assert main(["uninstall", client.id]) == 0
    assert all_files(home) == before


@ALL
@pytest.mark.parametrize("program", ["mine", "madang"])
def test_an_entry_of_the_persons_own_is_in_the_backup_that_is_named_and_comes_back(
    client: Client, program: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also one that starts Madang, as it is made by hand: what it says beside is the person's."""
    path = write(client, own_file(client, program))
    before = all_files(home)

    for options in ([], ["--session", "other"], ["--uvx"]):
        assert main(["install", client.id, *options]) == 0
        assert named_backup(capsys).read_bytes() == own_file(client, program).encode()
        assert path.read_text() != own_file(client, program)
    assert main(["uninstall", client.id]) == 0

    assert all_files(home) == before
    assert capsys.readouterr().out.startswith(f"{client.title} has your own entry 'madang' again.\n")


@ALL
def test_uninstalling_twice_leaves_the_entry_of_another_program(
    client: Client, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(client, own_file(client, "mine"))
    before = all_files(home)
    assert main(["install", client.id]) == 0

    assert main(["uninstall", client.id]) == 0
    capsys.readouterr()
    assert main(["uninstall", client.id]) == 0

    assert all_files(home) == before
    assert capsys.readouterr().out == f"{client.title} has no Madang: {file_of(client)}\n"


@ALL
@pytest.mark.parametrize("program", ["mine", "madang"])
def test_an_entry_of_the_persons_own_comes_back_into_a_file_that_changed_since(
    client: Client, program: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(client, own_file(client, program))
    own_document = parsed(client)
    assert main(["install", client.id]) == 0
    path.write_text(path.read_text().replace("dark", "light"))
    assert main(["install", client.id, "--session", "other"]) == 0
    assert named_backup(capsys).read_text() == own_file(client, program)

    assert main(["uninstall", client.id]) == 0

    assert parsed(client) == {**own_document, "theme": "light"}
    backup = path.with_name(path.name + ".before-madang")
    assert f"without your later changes: {backup}" in capsys.readouterr().out
    assert backup.read_text() == own_file(client, program)


@ALL
@pytest.mark.parametrize("example", ["", "file"], ids=["no file", "a file"])
def test_an_older_entry_of_ours_never_comes_back(client: Client, example: str, home: Path) -> None:
    if example:
        write(client, EXAMPLES[client.format])
    assert main(["install", client.id, "--uvx"]) == 0
    path = file_of(client)
    text = path.read_text()
    path.write_text(
        text.replace("{", '{"later": 1,', 1)
        if client.format == "json"
        else f"later = 1\n{text}"
        if client.format == "toml"
        else f"{text}later: 1\n"
    )

    assert main(["install", client.id]) == 0
    assert started(client) == [*launch_command(), "mcp"]
    assert main(["uninstall", client.id]) == 0

    document = parsed(client)
    assert document["later"] == 1
    assert "madang" not in (document.get(client.group) or {})


@ALL
def test_a_backup_of_an_earlier_time_gives_way_to_that_of_what_is_replaced(
    client: Client, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(client, EXAMPLES[client.format])
    assert main(["install", client.id]) == 0
    path.write_text(path.read_text() + {"json": "// later\n"}.get(client.format, "# later\n"))
    assert main(["uninstall", client.id]) == 0
    assert path.with_name(path.name + ".before-madang").exists()
    path.write_text(own_file(client, "madang"))

    assert main(["install", client.id]) == 0

    assert named_backup(capsys).read_text() == own_file(client, "madang")
    assert main(["uninstall", client.id]) == 0
    assert all_files(home) == {str(path.relative_to(home)): own_file(client, "madang").encode()}


def test_no_backup_is_named_that_is_not_there(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file_of(BY_ID["cursor"])
    assert main(["install", "cursor"]) == 0
    assert main(["install", "cursor", "--session", "other"]) == 0
    assert main(["uninstall", "cursor"]) == 0
    assert "before-madang" not in capsys.readouterr().out

    write(BY_ID["cursor"], own_file(BY_ID["cursor"], "mine"))
    assert main(["install", "cursor"]) == 0
    named_backup(capsys).unlink()
    assert main(["install", "cursor", "--session", "other"]) == 0
    assert main(["uninstall", "cursor"]) == 0
    assert "before-madang" not in capsys.readouterr().out
    assert [one.name for one in path.parent.iterdir()] == ["mcp.json"]


@ALL
def test_what_was_added_to_an_entry_of_ours_stays_when_it_is_installed_again(client: Client, home: Path) -> None:
    write(client, EXAMPLES[client.format])
    assert main(["install", client.id]) == 0
    path = file_of(client)
    text = path.read_text()
    path.write_text(
        {
            "json": text.replace('"madang": {', '"madang": {"env": {"KEY": "1"}, '),
            "toml": f'{text}[mcp_servers.madang.env]\nKEY = "1"\n',
            "yaml": text.replace("madang:\n", "madang:\n    env: {KEY: '1'}\n"),
        }[client.format]
    )

    assert main(["install", client.id, "--session", "other"]) == 0

    assert started(client)[-2:] == ["--session", "other"]
    assert parsed(client)[client.group]["madang"]["env"] == {"KEY": "1"}
    assert main(["uninstall", client.id]) == 0
    assert "KEY" not in path.read_text()


@ALL
def test_an_entry_that_the_person_put_in_the_place_of_ours_is_theirs(
    client: Client, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(client, EXAMPLES[client.format])
    assert main(["install", client.id]) == 0
    path.write_text(own_file(client, "mine"))

    assert main(["uninstall", client.id]) == 0
    assert path.read_text() == own_file(client, "mine")
    capsys.readouterr()
    assert main(["install"]) == 0
    assert next(row for row in capsys.readouterr().out.splitlines() if row.startswith(client.id)).split()[1] == "-"
    assert main(["install", client.id]) == 0
    assert named_backup(capsys).read_text() == own_file(client, "mine")
    assert main(["uninstall", client.id]) == 0
    assert path.read_text() == own_file(client, "mine")


def test_an_entry_of_ours_that_was_edited_comes_back_and_costs_no_older_backup(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client = BY_ID["cursor"]
    path = write(client, own_file(client, "mine"))
    assert main(["install", "cursor"]) == 0
    edited = path.read_text().replace('"mcp"', '"mcp", "--session", "mine"')
    path.write_text(edited)

    assert main(["install", "cursor"]) == 0

    assert named_backup(capsys).read_text() == edited
    assert path.with_name("mcp.json.before-madang.1").read_text() == own_file(client, "mine")
    assert main(["uninstall", "cursor"]) == 0
    assert path.read_text() == edited


@ALL
def test_a_madang_that_was_put_in_by_hand_is_taken_out_and_a_copy_kept(
    client: Client, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(client, own_file(client, "madang"))

    assert main(["uninstall", client.id]) == 0

    assert named_backup(capsys).read_text() == own_file(client, "madang")
    assert "madang" not in parsed(client)[client.group]


@ALL
def test_a_file_that_was_made_by_hand_and_has_nothing_else_is_copied_before_it_goes(
    client: Client, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["install", client.id]) == 0
    text = file_of(client).read_text()
    assert main(["uninstall", client.id]) == 0
    write(client, text)
    capsys.readouterr()

    assert main(["uninstall", client.id]) == 0

    assert named_backup(capsys).read_text() == text


def test_a_backup_of_an_earlier_time_is_not_that_of_a_file_that_was_not_there(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file_of(BY_ID["cursor"])
    backup = path.with_name("mcp.json.before-madang")
    path.parent.mkdir()
    backup.write_text('{"mcpServers": {"madang": {"command": "mine"}}}')

    assert main(["install", "cursor"]) == 0
    path.write_text(path.read_text().replace("{", '{"later": 1,', 1))
    assert main(["install", "cursor", "--session", "other"]) == 0
    assert main(["uninstall", "cursor"]) == 0

    assert json.loads(path.read_text()) == {"later": 1, "mcpServers": {}}
    assert "before-madang" not in capsys.readouterr().out
    assert "mine" in backup.read_text()


def test_nothing_is_changed_where_no_backup_can_be_made(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(BY_ID["cursor"], own_file(BY_ID["cursor"], "mine"))
    backup = path.with_name("mcp.json.before-madang")
    backup.mkdir()

    assert main(["install", "cursor"]) == 2

    error = capsys.readouterr().err
    assert error.startswith(f"madang: {backup} cannot be edited: ")
    assert error.count("\n") == 1
    assert path.read_text() == own_file(BY_ID["cursor"], "mine")
    assert sorted(one.name for one in path.parent.iterdir()) == ["mcp.json", "mcp.json.before-madang"]


def test_each_name_has_a_backup_of_its_own(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    client = BY_ID["cursor"]
    write(client, own_file(client, "mine"))
    own_entry = parsed(client)["mcpServers"]["madang"]
    assert main(["install", "cursor"]) == 0
    assert main(["install", "cursor", "--name", "other"]) == 0
    assert json_text.parse(named_backup(capsys).read_text())["mcpServers"]["other"] == {"command": "x"}

    assert main(["uninstall", "cursor"]) == 0
    assert main(["uninstall", "cursor", "--name", "other"]) == 0

    assert parsed(client)["mcpServers"] == {"madang": own_entry, "other": {"command": "x"}}


@pytest.mark.parametrize(
    "words",
    [
        ["install", "cursor", "--http"],
        ["install", "cursor", "--http", "127.0.0.1:9000", "--dry-run"],
        ["--http=127.0.0.1:9000", "install", "cursor"],
    ],
)
def test_http_is_refused_because_a_client_starts_madang_itself(
    words: list[str], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2

    streams = capsys.readouterr()
    assert streams.out == ""
    assert "not over HTTP" in streams.err
    assert streams.err.count("\n") == 1
    assert all_files(home) == {}


@ALL
@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_dry_run_shows_the_change_and_makes_none(
    client: Client, command: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(client, EXAMPLES[client.format])
    if command == "uninstall":
        assert main(["install", client.id]) == 0
    before = all_files(home)
    capsys.readouterr()

    assert main([command, client.id, "--dry-run"]) == 0

    assert all_files(home) == before
    output = capsys.readouterr().out
    assert str(file_of(client)) in output
    assert "+" in output if command == "install" else "-" in output
    assert "madang" in output


@ALL
@pytest.mark.parametrize("content", [b"{ not [ this", b"\xff\xfe\x00broken", b"[1, 2"])
def test_a_malformed_file_is_refused_and_left_alone(
    client: Client, content: bytes, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(client, "")
    file_of(client).write_bytes(content)
    before = all_files(home)

    for command in ("install", "uninstall"):
        assert main([command, client.id]) == 2

        error = capsys.readouterr().err
        assert f"{file_of(client)} cannot be edited: " in error
        assert error.endswith("It was left as it is.\n")
        assert error.count("\n") == 1
    assert all_files(home) == before


@pytest.mark.parametrize(
    ("id", "text"),
    [
        ("claude-desktop", '{"mcpServers": []}'),
        ("claude-desktop", '{"mcpServers": "x"}'),
        ("codex", "mcp_servers = {other = {command = 'x'}}\n"),
        ("goose", "extensions: [1, 2]\n"),
        ("goose", "base: &b {a: 1}\nextensions: *b\n"),
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_refused(id: str, text: str, home: Path) -> None:
    write(BY_ID[id], text)
    before = all_files(home)

    assert main(["install", id]) == 2

    assert all_files(home) == before


@pytest.mark.skipif(sys.platform == "win32", reason="symlinks need rights there")
def test_a_symlink_stays_one(home: Path) -> None:
    client = BY_ID["cursor"]
    real = home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text(EXAMPLES["json"])
    file_of(client).parent.mkdir()
    file_of(client).symlink_to(real)

    assert main(["install", "cursor"]) == 0

    assert file_of(client).is_symlink()
    assert "madang" in real.read_text()
    assert main(["uninstall", "cursor"]) == 0
    assert file_of(client).is_symlink()
    assert real.read_text() == EXAMPLES["json"]
    assert [path.name for path in real.parent.iterdir()] == ["mcp.json"]


def test_a_file_that_changes_at_that_moment_is_not_overwritten(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(BY_ID["claude-code"], "{}")
    back_up = files.ClientFile.back_up

    def interfere(file: files.ClientFile) -> None:
        back_up(file)
        path.write_text('{"a": 1}')

    monkeypatch.setattr(files.ClientFile, "back_up", interfere)

    assert main(["install", "claude-code"]) == 2

    assert "try again" in capsys.readouterr().err
    assert path.read_text() == '{"a": 1}'


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_in_a_folder_that_cannot_be_written_is_said(home: Path) -> None:
    path = write(BY_ID["cursor"], "{}")
    path.parent.chmod(0o500)
    try:
        assert main(["install", "cursor"]) == 2
    finally:
        path.parent.chmod(0o700)
    assert path.read_text() == "{}"


def test_a_folder_in_the_place_of_the_file_is_said(home: Path) -> None:
    file_of(BY_ID["cursor"]).mkdir(parents=True)

    assert main(["install", "cursor"]) == 2


def test_the_options_go_along_because_a_client_has_no_variables_of_this_shell(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANG", "ko_KR.UTF-8")
    monkeypatch.setenv("MADANG_SERVICES", "planning")
    (tmp_path / "material").mkdir()
    options = ["--data-dir", "data", "--assistant", "editor", "--ui", "off", "--verbose"]

    assert main(["install", "cursor", *options, "--allow-folder", "material"]) == 0

    assert started(BY_ID["cursor"])[1:] == [
        *["mcp", "--data-dir", str(tmp_path / "data"), "--assistant", "editor", "--services", "planning"],
        *["--ui", "off", "--verbose", "--locale", "ko", "--allow-folder", str(tmp_path / "material")],
    ]


def test_no_password_is_written_into_a_file(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for url in ("postgresql://u:secret@h/d", "postgresql://u@h/d?password=secret"):
        assert main(["install", "cursor", "--database", url]) == 2
        assert "secret" not in capsys.readouterr().err
    assert all_files(home) == {}


def test_uvx_is_written_where_there_is_no_path_that_lasts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("madang.cli.launcher.shutil.which", lambda _: None)
    assert main(["install", "cursor", "--uvx"]) == 0
    assert started(BY_ID["cursor"]) == ["uvx", "madang", "mcp"]

    monkeypatch.setattr(sys, "prefix", "/home/me/.cache/uv/archive-v0/xyz")
    assert main(["install", "vscode"]) == 0
    assert started(BY_ID["vscode"]) == ["uvx", "madang", "mcp"]


def test_the_clients_are_listed_with_what_they_have(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["install", "codex"]) == 0
    write(BY_ID["goose"], "a: [")
    capsys.readouterr()

    assert main(["install"]) == 0

    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["CLIENT", "MADANG", "FILE"]
    states = {row.split()[0]: row.split()[1] for row in rows}
    assert list(states) == [client.id for client in CLIENTS]
    assert (states["codex"], states["cursor"]) == ("connected", "-")
    assert "cannot be edited" in next(row for row in rows if row.startswith("goose"))


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["install", "claude"], "There is no client 'claude'. Did you mean 'claude-code'"),
        (["install", "nonsense-entirely"], "There are: claude-desktop, claude-code, vscode"),
        (["uninstall", "cursor", "--name", "a b"], "The name of a server"),
    ],
)
def test_a_slip_is_one_line(words: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert error in capsys.readouterr().err


def test_another_name_and_file(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "project" / ".mcp.json"

    assert main(["install", "claude-code", "--name", "madang-work", "--file", str(path)]) == 0

    assert list(json.loads(path.read_text())["mcpServers"]) == ["madang-work"]
    assert all_files(home) == {}


@pytest.mark.parametrize(
    ("platform", "id", "expected"),
    [
        ("darwin", "claude-desktop", "Library/Application Support/Claude/claude_desktop_config.json"),
        ("linux", "claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("win32", "claude-desktop", "AppData/Roaming/Claude/claude_desktop_config.json"),
        ("darwin", "vscode", "Library/Application Support/Code/User/mcp.json"),
        ("linux", "vscode", ".config/Code/User/mcp.json"),
        ("win32", "vscode", "AppData/Roaming/Code/User/mcp.json"),
        ("win32", "goose", "AppData/Roaming/Block/goose/config/config.yaml"),
        ("darwin", "goose", ".config/goose/config.yaml"),
        ("win32", "codex", ".codex/config.toml"),
        ("darwin", "opencode", ".config/opencode/opencode.json"),
        ("linux", "copilot-cli", ".copilot/mcp-config.json"),
        ("linux", "gemini-cli", ".gemini/settings.json"),
        ("win32", "cursor", ".cursor/mcp.json"),
        ("linux", "claude-code", ".claude.json"),
    ],
)
def test_the_file_of_a_client_on_each_platform(
    platform: str, id: str, expected: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)

    assert BY_ID[id].find_file({}) == home / expected


def test_folders_that_variables_name_are_taken(home: Path) -> None:
    variables = {
        "CODEX_HOME": "/c",
        "CLAUDE_CONFIG_DIR": "/d",
        "XDG_CONFIG_HOME": "/x",
        "GEMINI_CLI_HOME": "/g",
        "COPILOT_HOME": "/h",
    }

    files_by_id = {client.id: client.find_file(variables).as_posix() for client in CLIENTS}

    assert files_by_id["codex"] == "/c/config.toml"
    assert files_by_id["claude-code"] == "/d/.claude.json"
    assert files_by_id["goose"] == "/x/goose/config.yaml"
    assert files_by_id["gemini-cli"] == "/g/.gemini/settings.json"
    assert files_by_id["copilot-cli"] == "/h/mcp-config.json"


def test_the_file_of_opencode_that_is_there_is_taken(home: Path) -> None:
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text("{}")

    assert BY_ID["opencode"].find_file({}).name == "opencode.jsonc"
    (folder / "opencode.json").write_text("{}")
    assert BY_ID["opencode"].find_file({}).name == "opencode.json"


def test_what_was_written_starts_a_server(home: Path, tmp_path: Path) -> None:
    assert main(["install", "claude-desktop", "--data-dir", str(tmp_path / "data")]) == 0
    greeting = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }

    result = subprocess.run(
        started(BY_ID["claude-desktop"]),
        input=json.dumps(greeting) + "\n",
        env={"HOME": str(home)},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert json.loads(result.stdout)["result"]["serverInfo"]["name"] == "madang"
