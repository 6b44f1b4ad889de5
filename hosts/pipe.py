"""Starts an MCP server and copies every message between it and its client into a file, unchanged.

`python pipe.py RECORD COMMAND…`; standard library alone, so that the server starts as fast as without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Lock, Thread
from typing import IO


def main() -> int:
    """Run the command until it ends or its client goes away."""
    record = open(sys.argv[1], "ab", buffering=0)  # noqa: SIM115 - open as long as the process
    lock = Lock()
    process = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None

    def copy(source: IO[bytes], target: IO[bytes], sender: bytes) -> None:
        try:
            for line in iter(source.readline, b""):
                with lock:
                    record.write(sender + b" " + line)
                target.write(line)
                target.flush()
        except (BrokenPipeError, ValueError):
            pass
        finally:
            target.close()

    Thread(target=copy, args=(sys.stdin.buffer, process.stdin, b"client"), daemon=True).start()
    copy(process.stdout, sys.stdout.buffer, b"server")
    status = process.wait()
    os._exit(status)  # the thread that reads from the client may still be blocked


if __name__ == "__main__":
    main()
