"""A client of a stdio server in a process of its own, which sends lines as they are."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.security.served import INITIALIZE, TIMEOUT_S


class StdioClient:
    """A client that writes lines and gathers the answers, in a thread of its own."""

    def __init__(
        self,
        folder: Path,
        *options: str,
        wrapper: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`wrapper` is a command that runs the server, as strace does."""
        self.log = folder / "stderr.txt"
        command = [*wrapper, sys.executable, "-m", "madang", "mcp", "--data-dir", str(folder), "--verbose", *options]
        pipe = subprocess.PIPE
        with self.log.open("wb") as errors:
            variables = {**os.environ, **(environment or {})}
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, env=variables)
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._gatherer = threading.Thread(target=self._gather, daemon=True)
        self._gatherer.start()

    def _gather(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                message = json.loads(line)
                if "method" not in message:
                    self.answers.put(message)

    def shake_hands(self) -> None:
        self.ask(INITIALIZE)
        self.tell(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def tell(self, *lines: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a request, and return its answer: the only one that is awaited."""
        self.tell(json.dumps(message).encode())
        answer = self.answers.get(timeout=TIMEOUT_S)
        assert answer["id"] == message["id"], answer
        return answer

    def end(self) -> int:
        """Close the server's input, and return the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self._gatherer.join(TIMEOUT_S)
        return self.process.wait(TIMEOUT_S)
