"""`madang web` as a process: its address, its files, a second one on the same folder, and its end."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

TIMEOUT_S = 60


def command(folder: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "madang", "web", "--no-open", "--data-dir", str(folder), *options]


def printed_address(text: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/#launch=\S+", text)
    assert found, text
    return found[0]


@contextmanager
def web(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `madang web` until the end; the process, and the address that it printed."""
    with subprocess.Popen(
        command(folder, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, printed_address(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def post(url: str, body: Any, token: str = "") -> Any:
    headers = {"content-type": "application/json", **({"authorization": f"Bearer {token}"} if token else {})}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        return json.load(answer)


def launch(address: str) -> tuple[str, str]:
    """Do what a tab does with the address; the origin and the token."""
    origin, _, code = address.partition("/#launch=")
    return origin, post(f"{origin}/api/launch", {"code": code})["token"]


def test_the_printed_address_lets_a_tab_in_and_the_token_outlives_a_restart(tmp_path: Path) -> None:
    with web(tmp_path, "--port", "0") as (_, address):
        origin, token = launch(address)
        assert post(f"{origin}/api/sessions", {"title": "Tea"}, token)["title"] == "Tea"
        for name in ("token", "browser-token", "web.lock", "web.port"):
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600, name
        assert token not in address
    with web(tmp_path, "--port", "0") as (_, address):
        assert launch(address)[1] == token


def test_a_second_one_on_the_same_folder_opens_the_first(tmp_path: Path) -> None:
    with web(tmp_path, "--port", "0") as (_, address):
        origin, _ = launch(address)
        second = subprocess.run(command(tmp_path), capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        assert launch(printed_address(second.stdout))[0] == origin
        assert "started with" not in second.stderr
        other = subprocess.run(
            command(tmp_path, "--model", "scripted:other.json"), capture_output=True, text=True, timeout=TIMEOUT_S
        )
        assert "Its model and its port are those that it was started with." in other.stderr


def test_a_second_one_opens_the_first_with_a_token_that_is_older_than_a_month(tmp_path: Path) -> None:
    with web(tmp_path, "--port", "0") as (_, address):
        origin, token = launch(address)
        os.utime(tmp_path / "browser-token", (0, 0))
        second = subprocess.run(command(tmp_path), capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        assert launch(printed_address(second.stdout)) == (origin, token)


def test_a_second_one_says_so_if_the_token_was_changed_under_the_first(tmp_path: Path) -> None:
    with web(tmp_path, "--port", "0"):
        words = [sys.executable, "-m", "madang", "token", "--new", "--data-dir", str(tmp_path)]
        subprocess.run(words, capture_output=True, timeout=TIMEOUT_S, check=True)
        second = subprocess.run(command(tmp_path), capture_output=True, text=True, timeout=TIMEOUT_S)

    assert second.returncode == 2
    assert second.stderr.splitlines() == [
        "madang: The Madang that is running was started before its token was changed. Stop it, and start it again."
    ]


def test_it_tells_where_clients_and_data_are_and_how_to_stop(tmp_path: Path) -> None:
    with web(tmp_path, "--port", "0") as (process, address):
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(4)]
        origin = address.partition("/#")[0]

    assert f"web --data-dir {tmp_path}\n" in lines[0]
    assert lines[1].startswith(f"MCP clients: {origin}/mcp")
    assert lines[1].endswith(f"token --data-dir {tmp_path}\n")
    assert lines[2:] == [f"Data folder: {tmp_path}\n", "Stop with Ctrl-C.\n"]


def test_over_ssh_it_says_how_to_forward_the_same_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
    with web(tmp_path, "--port", "0") as (process, address):
        port = int(address.split(":")[2].partition("/")[0])
        assert process.stderr is not None
        assert f"ssh -N -L {port}:127.0.0.1:{port} " in process.stderr.readline()


def test_another_program_on_the_usual_port_is_told_and_the_next_free_one_taken(tmp_path: Path) -> None:
    with ExitStack() as opened:
        with suppress(OSError):  # taken by somebody else already, which is as good
            opened.enter_context(socket.create_server(("127.0.0.1", 8321)))
        with web(tmp_path) as (process, address):
            port = int(address.split(":")[2].partition("/")[0])
            assert process.stderr is not None
            assert process.stderr.readline() == f"Another program has port 8321: this is {port}.\n"
            assert 8321 < port <= 8341


def test_a_port_that_is_taken_on_either_address_is_not_used(tmp_path: Path) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        refused = subprocess.run(
            command(tmp_path, "--port", str(port)), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        assert refused.returncode == 2
        (line,) = refused.stderr.splitlines()
        assert str(port) in line
        assert line.endswith("Use another port: --port 0 takes a free one.")


def test_it_ends_soon_with_a_stream_open(tmp_path: Path) -> None:
    with web(tmp_path, "--port", "0") as (process, address):
        origin, token = launch(address)
        id = post(f"{origin}/api/sessions", {}, token)["id"]
        headers = {"authorization": f"Bearer {token}"}
        request = urllib.request.Request(f"{origin}/api/sessions/{id}/events", headers=headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as stream:
            assert stream.readline()
            process.send_signal(signal.SIGTERM)
            assert b"madang/resync" in stream.read()
            process.wait(timeout=TIMEOUT_S)
    assert not (tmp_path / "web.port").exists()


def test_nothing_of_tokens_or_codes_is_in_the_log(tmp_path: Path) -> None:
    with web(tmp_path, "--port", "0") as (process, address):
        origin, token = launch(address)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            post(f"{origin}/api/launch", {"code": address.partition("=")[2]})
        process.send_signal(signal.SIGTERM)
        _, log = process.communicate(timeout=TIMEOUT_S)
    assert token not in log
    assert address.partition("=")[2] not in log


def test_everything_is_deleted_from_the_browser_and_the_process_ends(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text('{"mine": "sk-secret"}')
    (tmp_path / "keys.json").chmod(0o600)
    (tmp_path / "notes.txt").write_text("not Madang's")
    with web(tmp_path, "--port", "0", "--locale", "en") as (process, address):
        origin, token = launch(address)
        post(f"{origin}/api/sessions", {"title": "Tea"}, token)
        with pytest.raises(urllib.error.HTTPError):
            post(f"{origin}/api/data/delete", {"words": "yes"}, token)
        assert (tmp_path / "madang.db").exists()

        post(f"{origin}/api/data/delete", {"words": "delete everything"}, token)
        assert process.wait(timeout=TIMEOUT_S) == 0
        assert process.stdout is not None
        assert "notes.txt" in process.stdout.read()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
