"""`madang web` as a process: its address, its files, a second one on the same folder, and its end."""

from __future__ import annotations

import json
import re
import signal
import socket
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

TIMEOUT_S = 60


def command(folder: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "madang", "web", "--no-open", "--data-dir", str(folder), *options]


@contextmanager
def web(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run `madang web` until the end; the process, and the address that it printed."""
    with subprocess.Popen(
        command(folder, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:\d+/#launch=\S+", process.stdout.readline())
            assert found
            yield process, found[0]
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
        found = re.search(r"http://127\.0\.0\.1:\d+/#launch=\S+", second.stdout)
        assert found
        assert launch(found[0])[0] == origin


def test_a_port_that_is_taken_on_either_address_is_not_used(tmp_path: Path) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        refused = subprocess.run(
            command(tmp_path, "--port", str(port)), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        assert refused.returncode == 2
        assert str(port) in refused.stderr


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
