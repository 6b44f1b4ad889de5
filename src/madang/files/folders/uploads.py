"""Files that are being uploaded into a session: drafts beside its folders, which are gone once they were taken over."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from madang.core.errors import NotFound
from madang.core.phrases import say
from madang.files.folders.failures import file_errors
from madang.files.folders.staging import Draft, new_draft

SCHEME = "upload:"
"""Of the address by which an upload is read: only the person's own calls in our chat may."""

_NAME = re.compile(r"draft-[0-9a-f-]{1,64}")


class Upload:
    """A file that is being uploaded. It blocks, and is locked until it is closed, so that no sweep takes it."""

    def __init__(self, folder_fd: int) -> None:
        self._folder_fd = folder_fd
        with file_errors("upload"):
            self._draft: Draft | None = new_draft(folder_fd)
        self.url = f"{SCHEME}{self._draft.name}"
        self.size_bytes = 0

    def write(self, data: bytes) -> None:
        """Add what has come.

        Raises:
            ToolError: the disk is full, or fails.
        """
        assert self._draft is not None
        view = memoryview(data)
        with file_errors("upload"):
            while view:
                view = view[os.write(self._draft.fd, view) :]
        self.size_bytes += len(data)

    def read(self, max_bytes: int) -> bytes:
        """Return the first bytes."""
        assert self._draft is not None
        return os.pread(self._draft.fd, max_bytes, 0)

    def close(self) -> None:
        """Remove the file."""
        draft, self._draft = self._draft, None
        if draft is None:
            return
        with suppress(FileNotFoundError):
            os.unlink(draft.name, dir_fd=self._folder_fd)
        os.close(draft.fd)
        os.close(self._folder_fd)


def open_upload(folder_fd: int, url: str) -> int:
    """Open the file of an upload that is under way in this folder, and return its descriptor.

    Raises:
        NotFound: there is none.
    """
    name = url.removeprefix(SCHEME)
    # By an allow-list: whatever else is in the folder, or above it, is none.
    if not _NAME.fullmatch(name):
        raise _unknown()
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder_fd)
    except OSError:
        raise _unknown() from None


def _unknown() -> NotFound:
    return NotFound(say("There is no such upload."), hint=say("Choose the file once more."))
