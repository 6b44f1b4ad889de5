"""A program that does not outlive this process, on any POSIX system and from any thread.

Linux can kill a child with its parent, but only with the thread that started it, and only if the child asks for it
itself. Here a small shell waits at a pipe, through which nothing comes while this process lives.
"""

from __future__ import annotations

import subprocess
from contextlib import suppress

from madang.system.priority import lower_priority

SHELL = "/bin/sh"

# A pipe that closes without a word means that this process was killed.
_WATCH = 'read -r _ || kill -9 "$0"'


class TetheredProcess(subprocess.Popen[bytes]):
    """A program that is killed when this process is, once it is tethered. Wait for its end, as for any other's."""

    _watch: subprocess.Popen[bytes] | None = None

    def tether(self) -> None:
        """Start the watch, and let the server go first where both want a processor.

        This is not in the constructor: a program may be started by a thread that is confined.

        Raises:
            OSError: no process can be started; the program is killed then.
        """
        try:
            self._watch = subprocess.Popen(
                [SHELL, "-c", _WATCH, str(self.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,  # a Ctrl-C is for us: the watch stays until we are gone
            )
        except OSError:
            self.kill()
            self.wait()
            raise
        lower_priority(self.pid)

    def poll(self) -> int | None:
        code = super().poll()
        if code is not None:
            self._end_watch()
        return code

    def wait(self, timeout: float | None = None) -> int:
        code = super().wait(timeout)
        self._end_watch()
        return code

    def _end_watch(self) -> None:
        """Tell the watch that the program is gone: its number may be another's now, which must not be killed."""
        watch, self._watch = self._watch, None
        if watch is not None:
            with suppress(OSError):
                watch.communicate(b"ended\n")
