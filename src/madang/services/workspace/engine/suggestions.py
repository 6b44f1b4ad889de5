"""The nearest path to one that is not there: a name that looks like it, or the same name in another folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice

from madang.core.errors import NotFound, ToolError
from madang.core.suggestions import nearest_name
from madang.files.folders import Folder, parse_path
from madang.files.folders.folder import MAX_TREE_DEPTH
from madang.files.folders.paths import GIT
from madang.services.workspace.engine.errors import no_such_path

MAX_COMPARED_ENTRIES = 500
MAX_WALKED_ENTRIES = 2_000
MAX_CORRECTIONS = 4
"""Names of one path that may be wrong."""


@contextmanager
def suggest_path(folder: Folder, path: str) -> Iterator[None]:
    """Answer a missing `path` with the nearest one and the folder to look in."""
    try:
        yield
    except NotFound as error:
        names = list(parse_path(path, may_be_root=True))
        nearest = _nearest(folder, names)
        parent = nearest[:-1] if nearest else _existing_folders(folder, names)
        raise no_such_path(path, "/".join(nearest), "/".join(parent)) from error


def _nearest(folder: Folder, names: list[str]) -> list[str]:
    """Return the path that looks most like `names`, correcting one name after the other; empty if none does."""
    corrected = names
    for _ in range(MAX_CORRECTIONS):
        parent = _existing_folders(folder, corrected)
        if len(parent) == len(corrected):
            return corrected
        match = _like(folder, parent, corrected[len(parent)])
        if not match:
            break
        corrected = [*parent, match, *corrected[len(parent) + 1 :]]
        if _exists(folder, corrected):
            return corrected
    return _elsewhere(folder, names[-1]) if names else []


def _existing_folders(folder: Folder, names: list[str]) -> list[str]:
    """Return the leading names that are folders."""
    for length in range(len(names), 0, -1):
        try:
            if folder.entry("/".join(names[:length])).kind == "folder":
                return names[:length]
        except ToolError:
            continue
    return []


def _exists(folder: Folder, names: list[str]) -> bool:
    try:
        folder.entry("/".join(names))
    except ToolError:
        return False
    return True


def _like(folder: Folder, parent: list[str], name: str) -> str:
    with closing(folder.walk("/".join(parent), depth=1, with_status=range(0))) as entries:
        return nearest_name(name, (entry.path.rpartition("/")[2] for entry in islice(entries, MAX_COMPARED_ENTRIES)))


def _elsewhere(folder: Folder, name: str) -> list[str]:
    """Return the path of a file with the same name in another folder."""
    with closing(folder.walk(depth=MAX_TREE_DEPTH, leave_out=GIT, with_status=range(0))) as entries:
        for entry in islice(entries, MAX_WALKED_ENTRIES):
            names = entry.path.split("/")
            if names[-1].casefold() == name.casefold():
                return names
    return []
