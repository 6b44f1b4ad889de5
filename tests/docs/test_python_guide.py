"""The programs of the Python guide run in order, as they are printed, and print what it shows."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT, blocks

GUIDE = ROOT / "docs/guides/python.md"
TYPED = re.compile(r"(?<=^> )(.+)\n", re.MULTILINE)
"""What the person types into a program, as the guide shows it."""

MAX_LOOP_LINES = 45


def tool_call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": f"call-{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


SCRIPT: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [tool_call("list_playbooks"), tool_call("list_playbok"), tool_call("get_playbook", id="nobody")],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [tool_call("prompt_user", prompt="Which day?", type="select", options=["Monday", "Friday"])],
    },
    {"role": "assistant", "content": "The report goes out on Friday."},
]


@contextmanager
def scripted_model(script: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server of chat completions on loopback that plays the script: its address, and the requests as they come."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/chat/completions"
            requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            body = json.dumps({"choices": [{"index": 0, "message": script[len(requests) - 1]}]}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", requests
        finally:
            server.shutdown()
            thread.join()


def run(program: str, folder: Path, address: str, typed: list[str]) -> subprocess.CompletedProcess[str]:
    # Where this Python is, there is the command that the package installs.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=folder,
        env={**os.environ, "PATH": path, "OPENAI_BASE_URL": address, "NO_PROXY": "127.0.0.1"},
        input="".join(f"{line}\n" for line in typed),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_programs_of_the_guide_print_what_it_shows(tmp_path: Path) -> None:
    shown = [block for block in blocks(GUIDE) if block.language in ("python", "text")]
    programs, outputs = shown[::2], shown[1::2]
    assert [block.language for block in shown] == ["python", "text"] * len(programs)
    assert len(programs) == 6
    with scripted_model(SCRIPT) as (address, requests):
        for program, output in zip(programs, outputs, strict=True):
            ran = run(program.body, tmp_path, address, TYPED.findall(output.body))
            # What is typed is shown by the terminal, and here there is none.
            assert (ran.stdout, ran.stderr) == (TYPED.sub("", output.body), ""), program.heading
    _check_what_the_model_was_given(requests)


def _check_what_the_model_was_given(requests: list[dict[str, Any]]) -> None:
    names = {tool["function"]["name"] for tool in requests[0]["tools"]}
    assert "prompt_user" in names
    assert "reply_prompt" not in names
    listed, unknown, missing, answered = [one for one in requests[-1]["messages"] if one["role"] == "tool"]
    assert listed["content"].startswith("[list_playbooks] Found 1 playbook(s)")
    assert "Did you mean 'list_playbooks'" in unknown["content"]
    assert missing["content"].startswith("[get_playbook] Error: Playbook nobody not found.")
    assert answered["tool_call_id"] == "call-prompt_user"
    assert "Answer: Friday" in answered["content"]


def test_the_agent_loop_of_the_guide_goes_on_after_every_kind_of_pause(tmp_path: Path) -> None:
    steps = [{"description": "Write it"}]
    asked = tool_call("prompt_user", prompt="Which days?", type="multiselect", options=["Monday", "Friday"])
    script: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [tool_call("create_playbook", goal="Publish the report", workflow=steps)]},
        {"role": "assistant", "tool_calls": [tool_call("wait_for_user", message="Open the window."), asked]},
        {"role": "assistant", "tool_calls": [tool_call("show_playbooks")]},
        {"role": "assistant", "content": "Done."},
    ]
    with scripted_model(script) as (address, requests):
        ran = run(_agent_loop(), tmp_path, address, ["go on", "Sunday", "Monday, Friday", "the first one"])

    assert (ran.stderr, ran.stdout.splitlines()[-1]) == ("", "> Done.")
    _, waited, answered, chosen = [one["content"] for one in requests[-1]["messages"] if one["role"] == "tool"]
    assert waited.startswith("[resume_from_wait] ")
    assert answered.startswith("[reply_prompt] ")
    assert "Monday, Friday" in answered
    assert chosen.startswith("[show_playbooks] ")
    assert chosen.endswith("The person said: the first one")


def test_the_agent_loop_stays_short() -> None:
    assert len([line for line in _agent_loop().splitlines() if line]) <= MAX_LOOP_LINES


def _agent_loop() -> str:
    (loop,) = [block.body for block in blocks(GUIDE) if "ModelTools(server)" in block.body]
    return loop
