"""Where the files of sessions are: an id in the folder that has them, so that machines that share it are one place."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from madang.core.ids import new_id

NAME = ".place"
MAX_ID_BYTES = 64


def read_place(folder: Path) -> str:
    """Return the id of a folder, which gets one if it has none; empty if it cannot be used."""
    path = folder / NAME
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            draft = folder / f"{NAME}.{new_id()}"
            draft.write_text(new_id(), encoding="ascii")
            try:
                # Of several that begin at once, the first one names the place.
                with suppress(FileExistsError):
                    os.link(draft, path)
            finally:
                draft.unlink()
        with path.open("rb") as file:
            return file.read(MAX_ID_BYTES).decode("ascii", "replace").strip()
    return ""
