"""What belongs to Git in a folder of the person's own, and is not changed there.

A hook or a setting in a repository is a program that the person's next `git` starts, outside of every sandbox; and a
repository holds what no copy of a file brings back. It need not be called `.git`: Git takes every folder for one that
has the right names in it, and then reads the `config` beside them. So the last of these names is refused, too.
"""

from __future__ import annotations

from collections.abc import Callable

from madang.core.errors import Denied
from madang.core.path_patterns import folded_name
from madang.core.phrases import say
from madang.files.folders.paths import is_git

_REPOSITORIES = (("HEAD", "objects", "refs"), ("HEAD", "commondir"))
"""Names by which Git knows a folder for its own: a bare repository, and what points to one (a work tree's own part)."""


def check_no_git(path: str, names: tuple[str, ...], is_there: Callable[[str], bool]) -> None:
    """Refuse a change at a path that belongs to Git, or would make a folder Git's.

    Raises:
        Denied: it does.
    """
    hint = say("Ask the person to do it, or to use git.")
    if any(is_git(name) for name in names):
        raise Denied(
            say("'{path}' belongs to Git, and is not changed in a folder of the person's own.", path=path), hint=hint
        )
    if any(_is_repository(names[:at], name, is_there) for at, name in enumerate(names)):
        raise Denied(
            say(
                "'{path}' is in a folder that Git takes for a repository, or would with it, and is not changed in a "
                "folder of the person's own.",
                path=path,
            ),
            hint=hint,
        )


def _is_repository(folder: tuple[str, ...], name: str, is_there: Callable[[str], bool]) -> bool:
    """Tell whether a folder is one that Git takes for its own once it has a name."""
    return any(
        all(folded_name(name) == folded_name(mark) or is_there("/".join((*folder, mark))) for mark in marks)
        for marks in _REPOSITORIES
    )
