"""A question outlives the process that asked it: ended or killed, the answer in the next one counts once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from madang.server.mapping import APP_MIME_TYPE, UI_EXTENSION
from tests.postgresql import url_in
from tests.wires import initialize_params

TIMEOUT_S = 60

# A client that shows pages: what is answered there, a person answered, whoever asked.
PAGES: dict[str, Any] = {"extensions": {UI_EXTENSION: {"mimeTypes": [APP_MIME_TYPE]}}}


class Served:
    """A stdio server as a client starts it, asked one thing after the other."""

    def __init__(self, process: subprocess.Popen[str], client: str, capabilities: dict[str, Any]) -> None:
        self.process = process
        self._last_id = 100
        params = {**initialize_params(client), "capabilities": capabilities}
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": "initialize", "params": params})
        self._answer(self._last_id)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its data."""
        self._last_id += 1
        params = {"name": tool, "arguments": arguments}
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": "tools/call", "params": params})
        data: dict[str, Any] = self._answer(self._last_id)["structuredContent"]
        return data

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def _answer(self, id: object) -> dict[str, Any]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == id:
                result: dict[str, Any] = message["result"]
                return result
        raise AssertionError("The server is gone.")


@pytest.fixture(params=["disk", "server"])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Where the processes keep their data."""
    database = {"MADANG_DATABASE": url_in(tmp_path)} if request.param == "server" else {}
    return {**os.environ, "MADANG_DATA_DIR": str(tmp_path), **database}


@contextmanager
def served(environment: dict[str, str], client: str = "test", *, pages: bool = True) -> Iterator[Served]:
    command = [sys.executable, "-m", "madang", "mcp"]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Served(process, client, PAGES if pages else {})
        finally:
            process.kill()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=["ended", "killed"])
def test_a_question_survives_its_process_and_the_answer_counts_once(
    environment: dict[str, str], how: signal.Signals
) -> None:
    with served(environment) as first:
        id = first.call("prompt_user", prompt="Which?", type="select", options=["Blue", "Green"])["messageId"]
        wait_id = first.call("wait_for_user", message="Plug it in", resumeInstruction="Look")["waitId"]
        first.process.send_signal(how)
        first.process.wait(TIMEOUT_S)

    with served(environment) as second:
        pending = second.call("list_prompts")
        answered = second.call("reply_prompt", messageId=id, answer="Green")
        resumed = second.call("resume_from_wait", waitId=wait_id)
        second.process.send_signal(how)
        second.process.wait(TIMEOUT_S)

    with served(environment) as third:
        read = third.call("get_prompt", messageId=id, waitS=25)
        again = third.call("reply_prompt", messageId=id, answer="Green")
        different = third.call("reply_prompt", messageId=id, answer="Blue")
        resumed_again = third.call("resume_from_wait", waitId=wait_id)

    assert [prompt["messageId"] for prompt in pending["prompts"]] == [wait_id, id]
    assert (read["status"], read["answer"], read["settledAt"]) == ("answered", "Green", answered["timestamp"])
    assert again == answered
    assert different["error"]["code"] == "conflict"
    assert resumed["status"] == "resumed"
    assert resumed_again == resumed


def test_what_a_model_relays_answers_no_question_of_another_client(environment: dict[str, str]) -> None:
    with served(environment) as one, served(environment, "another", pages=False) as other:
        id = one.call("prompt_user", prompt="Name?", type="text")["messageId"]
        own_id = other.call("prompt_user", prompt="Colour?", type="text")["messageId"]
        refused = other.call("reply_prompt", messageId=id, answer="마당")
        own = other.call("reply_prompt", messageId=own_id, answer="Blue")
        read = one.call("get_prompt", messageId=id)

    assert refused["error"]["code"] == "denied"
    assert own["answer"] == "Blue"
    assert read["status"] == "pending"


def test_a_question_asked_in_one_process_is_answered_in_another(environment: dict[str, str]) -> None:
    with served(environment) as one, served(environment) as other:
        id = one.call("prompt_user", prompt="Name?", type="text")["messageId"]
        listed = other.call("list_prompts")
        other.call("reply_prompt", messageId=id, answer="마당")
        read = one.call("get_prompt", messageId=id)

    assert listed["total"] == 1
    assert (read["status"], read["answer"]) == ("answered", "마당")
