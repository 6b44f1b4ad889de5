"""Servers that are killed at any moment: nothing that was acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.ledger import Ledger
from tests.security.served import INITIALIZE, serve

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("MADANG_TEST_KILLS", "20"))
SEED = int(os.environ.get("MADANG_TEST_SEED", str(random.SystemRandom().randrange(10**9))))
TIMEOUT_S = 60


def test_a_killed_process_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    """Killed at random points of its work, again and again in one folder. MADANG_TEST_SEED repeats a run's choices."""
    chance = random.Random(SEED)
    ledger = Ledger()
    for round in range(KILLS):
        command = [sys.executable, "-m", "tests.crash.load", str(tmp_path), str(round)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(chance.randint(1, 120)):
                ledger.note(next(process.stdout))
            process.kill()
            for line in process.stdout:  # what it said before it noticed
                ledger.note(line)
        ledger.check(tmp_path)
    assert sum(ledger.acknowledged.values()) > KILLS, f"seed {SEED}"


@dataclass
class StdioClient:
    """Drives a real stdio server: all requests are sent ahead, and answers are noted as they come."""

    folder: Path
    name: str
    ledger: Ledger
    wanted: int
    """How many acknowledgements to wait for before the server may be killed."""
    enough: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        command = [sys.executable, "-m", "madang", "mcp", "--data-dir", str(self.folder), "--session", self.name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._requests = {number: self._request(number) for number in range(10, 160)}
        for tool, key, _ in self._requests.values():
            self.ledger.note(f"try {tool} {key}")
        self._threads = [threading.Thread(target=self._write), threading.Thread(target=self._read)]
        for thread in self._threads:
            thread.start()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT_S)
        for thread in self._threads:
            thread.join(TIMEOUT_S)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()

    def _request(self, number: int) -> tuple[str, str, dict[str, Any]]:
        key = f"{self.name}-{number}"
        if number % 2:
            return "add_todo", key, {"name": key}
        return "create_playbook", key, {"goal": key, "workflow": []}

    def _write(self) -> None:
        assert self.process.stdin is not None
        messages = [INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
        for number, (tool, _, arguments) in self._requests.items():
            params = {"name": tool, "arguments": arguments}
            messages.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        with suppress(BrokenPipeError):
            for message in messages:
                self.process.stdin.write(json.dumps(message) + "\n")
                self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout is not None
        acknowledged = 0
        for line in self.process.stdout:
            if not line.endswith("\n"):
                break  # cut in the middle of an answer: the client cannot have understood it
            message = json.loads(line)
            if message.get("id") in self._requests:
                assert not message["result"]["isError"], message
                tool, key, _ = self._requests[message["id"]]
                self.ledger.note(f"ack {tool} {key}")
                acknowledged += 1
                if acknowledged >= self.wanted:
                    self.enough.set()
        self.enough.set()


def test_killed_stdio_and_http_servers_lose_nothing_they_acknowledged(tmp_path: Path) -> None:
    """Two stdio servers and an HTTP one share a folder, as they do in life; all are killed."""
    chance = random.Random(SEED)
    ledger = Ledger()
    for round in range(3):
        wanted = [chance.randint(1, 60) for _ in range(3)]
        clients = [StdioClient(tmp_path, f"stdio-{round}-{number}", ledger, wanted[number]) for number in range(2)]
        for client in clients:
            client.start()
        try:
            with serve(tmp_path) as served:
                session = served.session()
                for number in range(wanted[2]):
                    key = f"http-{round}-{number}"
                    ledger.note(f"try create_playbook {key}")
                    answer = served.call(session, "create_playbook", {"goal": key, "workflow": []}).message()
                    assert not answer["result"]["isError"], answer
                    ledger.note(f"ack create_playbook {key}")
                for client in clients:
                    assert client.enough.wait(TIMEOUT_S)
                served.process.kill()
        finally:
            for client in clients:
                client.kill()
        ledger.check(tmp_path)
    assert len(ledger.acknowledged) >= 9, f"seed {SEED}"
