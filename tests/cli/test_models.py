"""`madang models`: listing, trying, keeping keys."""

from __future__ import annotations

import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest

from madang.cli import main
from madang.llm import discovery, keys
from tests.model_server import Exchange, ModelServer, answers, refuses
from tests.model_wires import Say

SECRET = "sk-very-secret-0123456789"


class Served:
    """A server of models in a thread, for commands that have their own event loop."""

    url: str
    port: int

    def __init__(self, *plays: Any) -> None:
        self._plays = plays
        self._ready, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: anyio.run(self._serve))

    async def _serve(self) -> None:
        async with ModelServer() as server:
            server.plays(*self._plays)
            self.url, self.port = server.url, server.port
            self._ready.set()
            await anyio.to_thread.run_sync(self._stop.wait)

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(20)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder, no keyring, no keys, and nothing on the usual ports."""
    monkeypatch.setenv("MADANG_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("MADANG_LOCALE", "en")
    monkeypatch.setattr(keys, "_keyring", lambda: None)
    monkeypatch.setattr(discovery, "USUAL_PORTS", {})
    monkeypatch.setattr(discovery.find_servers, "__defaults__", ({},))
    for variable in ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


async def _models(exchange: Exchange) -> None:
    await exchange.whole(200, b'{"data": [{"id": "qwen3"}]}')


def test_what_is_found_is_listed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "config.toml").write_text(
        '[models.quick]\nurl = "http://127.0.0.1:1/v1"\nmodel = "x"\nkey = "env:NONE"\n', encoding="utf-8"
    )
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    with Served(_models) as server:
        monkeypatch.setattr(discovery.find_servers, "__defaults__", ({"Ollama": server.port},))

        code = main(["models", "--json"])

    out = capsys.readouterr().out
    rows = {row["model"]: (row["from"], row["key"]) for row in json.loads(out)}
    assert code == 0
    assert rows["quick"] == ("config.toml: http://127.0.0.1:1/v1 x", "missing: env:NONE")
    assert rows["anthropic:…"] == ("Anthropic", "environment")
    assert rows["google:…"] == ("Google", "missing: GOOGLE_API_KEY")
    assert rows[f"{server.url}/v1#qwen3"] == ("Ollama", "-")
    assert SECRET not in out


def test_where_nothing_answers_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models"]) == 0

    assert "No server of models answers on this machine" in capsys.readouterr().out


def test_a_model_is_tried(capsys: pytest.CaptureFixture[str]) -> None:
    with Served(answers(Say("Ready."))) as server:
        code = main(["models", f"{server.url}/v1#qwen3"])

    assert code == 0
    assert capsys.readouterr().out.splitlines()[0] == "Ready."


def test_a_model_that_does_not_answer_is_one_line_and_1(capsys: pytest.CaptureFixture[str]) -> None:
    with Served(refuses(401, f"no {SECRET}")) as server:
        code = main(["models", f"{server.url}/v1#qwen3"])

    streams = capsys.readouterr()
    assert (code, streams.out) == (1, "")
    assert streams.err.startswith("madang: The model's server does not accept the key: 401 no")
    assert streams.err.count("\n") == 1


def test_a_model_that_there_is_not_is_one_line_and_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "gpt"]) == 2

    assert capsys.readouterr().err == "madang: There is no model 'gpt'. 'madang models' lists those that can be used.\n"


def test_a_key_is_kept_and_forgotten_and_never_printed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, f"{SECRET}\n")

    assert main(["models", "--key", "anthropic"]) == 0
    assert main(["models", "--json"]) == 0
    assert json.loads((folder / "keys.json").read_text()) == {"anthropic": SECRET}
    assert main(["models", "--forget", "anthropic"]) == 0
    assert main(["models", "--forget", "anthropic"]) == 1

    streams = capsys.readouterr()
    assert "not encrypted" in streams.out
    assert '"file"' in streams.out
    assert SECRET not in streams.out + streams.err


def test_no_key_on_standard_input_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, "\n")

    assert main(["models", "--key", "anthropic"]) == 2
    assert "no key on standard input" in capsys.readouterr().err


def test_a_key_that_was_read_is_gone_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)

    main(["models"])

    assert "ANTHROPIC_API_KEY" not in os.environ


def test_it_speaks_korean(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", "--locale", "ko"]) == 0

    assert "모델" in capsys.readouterr().out
