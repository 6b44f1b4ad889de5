"""A process that swaps a folder for a link again and again: `python -m tests.security.swapping FOLDER LINK`."""

from __future__ import annotations

import ctypes
import os
import sys

_AT_FDCWD, _EXCHANGE = -100, 2


def main(folder: str, link: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    a, b = os.fsencode(folder), os.fsencode(link)
    os.write(1, b"begun\n")
    while True:
        # Folder and link change places in one step: at no moment is one of them missing.
        libc.renameat2(_AT_FDCWD, a, _AT_FDCWD, b, _EXCHANGE)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
