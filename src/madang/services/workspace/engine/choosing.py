"""Which paths a search looks at: the one place where a path of a walk is accepted or left out."""

from __future__ import annotations

from collections.abc import Callable, Generator

from madang.core.calls import PathFilter
from madang.files.folders import Entry, Folder, LeftOut, parse_path
from madang.files.folders.folder import EVERY, MAX_TREE_DEPTH
from madang.files.folders.paths import GIT
from madang.services.workspace.engine.globs import Glob
from madang.services.workspace.engine.ignoring import IgnoreRules, read_rules

NO_STATUS = range(0)


class FileChoice:
    """The files below one path that a search looks at, for one search.

    Left out is what Git ignores, unless `with_ignored` is set or the path itself is ignored: who names such a folder
    wants to look inside. What Git keeps of a folder (`.git`) is looked into only by that name, too. With a `glob`,
    only what fits it is accepted; one that begins with `!` leaves out what fits.
    """

    def __init__(
        self,
        folder: Folder,
        path: str,
        *,
        with_ignored: bool,
        glob: str = "",
        hides: PathFilter | None = None,
        check_time: Callable[[], None] = lambda: None,
    ) -> None:
        self.hidden = LeftOut(hides)
        """What is under a rule: by its name, whatever is in it, or a model would learn that guess by guess."""
        self.left_out = 0
        """How many files and folders were left out because Git ignores them."""
        self.too_deep = 0
        """How many folders were too deep to be entered."""
        self._folder = folder
        self._top = "/".join(parse_path(path, may_be_root=True))
        self._prefix_length = len(self._top) + 1 if self._top else 0
        self._is_excluding = glob.startswith("!")
        pattern = glob.removeprefix("!")
        if pattern.endswith("/") and not self._is_excluding:
            pattern += "**"
        self._glob = Glob(pattern.rstrip("/"), check_time, field="glob") if pattern else None
        self._with_ignored = with_ignored
        # The rules that hold in each folder, by its path. A walk is done with a folder before the next one at its side.
        self._rules: dict[str, IgnoreRules | None] = {}

    def files(self, *, with_status: bool) -> Generator[Entry]:
        """Yield what is no folder, in the order of a walk."""
        self._with_ignored = self._with_ignored or self._is_top_ignored()
        status = EVERY if with_status else NO_STATUS
        walk = self._folder.walk(
            self._top, depth=MAX_TREE_DEPTH, leave_out=GIT, with_status=status, keep=self._is_accepted
        )
        for entry in walk:
            if entry.kind == "folder":
                self.too_deep += entry.path.count("/", self._prefix_length) == MAX_TREE_DEPTH - 1
            elif self._glob is None or self._is_excluding or self._glob.fits(entry.path[self._prefix_length :]):
                yield entry

    def _is_accepted(self, fd: int, entry: Entry) -> bool:
        """Tell whether a file is searched, or a folder entered, by where it is; `fd` is the folder that it is in."""
        if self.hidden.takes(entry.path):
            return False
        if not self._with_ignored and self._is_ignored(fd, entry):
            self.left_out += 1
            return False
        return not (
            self._is_excluding and self._glob is not None and self._glob.fits(entry.path[self._prefix_length :])
        )

    def _is_ignored(self, fd: int, entry: Entry) -> bool:
        parent = entry.path.rpartition("/")[0]
        if parent not in self._rules:
            above = self._rules.get(parent.rpartition("/")[0]) if parent else None
            self._rules[parent] = read_rules(fd, parent, above)
        rules = self._rules[parent]
        return rules is not None and rules.is_ignored(entry.path, is_folder=entry.kind == "folder")

    def _is_top_ignored(self) -> bool:
        """Tell whether the path itself is ignored, or a folder above it; read the rules of those on the way."""
        names = self._top.split("/") if self._top else []
        for depth, name in enumerate(names):
            parent = "/".join(names[:depth])
            entry = Entry("/".join(names[: depth + 1]), "folder")
            if name == GIT:
                return True
            with self._folder.open_folder(parent) as fd:
                if self._is_ignored(fd, entry):
                    return True
        return False
