"""Where a browser can be opened, how it gets an address that is secret, and the way from another computer."""

from __future__ import annotations

import stat
import webbrowser
from pathlib import Path

import pytest

from madang.cli.browser import forward_command, has_screen, open_browser

OVER_SSH = {"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.2 2222"}


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "firefox"}, "linux", True),
        ({"DISPLAY": ""}, "linux", False),
        ({}, "linux", False),
        ({}, "darwin", True),
        ({}, "win32", True),
        (OVER_SSH, "darwin", False),
        ({**OVER_SSH, "DISPLAY": "localhost:10.0"}, "linux", False),
    ],
)
def test_a_browser_is_opened_only_where_the_person_sees_it(
    environment: dict[str, str], platform: str, expected: bool
) -> None:
    assert has_screen(environment, platform) == expected


def test_the_address_is_in_no_command_line_but_in_a_file_of_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def note(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setattr(webbrowser, "open", note)

    assert open_browser(tmp_path, "http://127.0.0.1:8321/#launch=secret")

    (url,) = opened
    path = tmp_path / "open.html"
    assert url == path.as_uri()
    assert "#launch=secret" in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_browser_that_cannot_be_started_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(url: str) -> bool:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "open", fail)

    assert not open_browser(tmp_path, "http://127.0.0.1:8321/")
    assert not open_browser(tmp_path / "missing", "http://127.0.0.1:8321/")


def test_the_way_from_another_computer_has_the_same_port_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "kim")

    assert forward_command(OVER_SSH, 8322) == ["ssh", "-N", "-L", "8322:127.0.0.1:8322", "-p", "2222", "kim@192.0.2.2"]
    assert forward_command({}, 8321) == ["ssh", "-N", "-L", "8321:127.0.0.1:8321", "kim@THIS-COMPUTER"]
