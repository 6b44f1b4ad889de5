"""What ripgrep has printed so far, by path; of very many lines only the first are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from madang.services.workspace.engine.checking import PrintedMatch
from madang.services.workspace.engine.ripgrep import LINE

MAX_COUNTED_LINES = 10_000
"""Of one search. They are all verified before one is told, or counted."""


class PrintedLines:
    """The lines of a search, in the order of its files: its threads print them in any order.

    There are never more than twice MAX_COUNTED_LINES, and in the end as many, those of the first files.
    """

    def __init__(self) -> None:
        self._was_full = False
        self._lines: dict[str, list[PrintedMatch]] = {}
        self._count = 0
        self._places: dict[str, int] = {}

    @property
    def is_full(self) -> bool:
        """Whether there are more lines than are kept."""
        return self._was_full or self._count > MAX_COUNTED_LINES

    def expect(self, paths: Iterable[str]) -> None:
        """Take note of the files that are searched, in order; what is printed of others is not kept."""
        for path in paths:
            self._places[path] = len(self._places)

    def reader(self, only: str | None) -> Callable[[bytes], None]:
        """Return what takes the output of one process: of several files, or of `only` one."""
        return self.parser(lambda name, match: self._add(name if only is None else only, match))

    def of(self, path: str) -> list[PrintedMatch]:
        """Return the lines of one file in order."""
        return sorted(self._lines.get(path, ()), key=lambda match: match.line)

    def by_path(self) -> Iterator[tuple[str, list[PrintedMatch]]]:
        """Yield the files in order, each with its lines, MAX_COUNTED_LINES in all."""
        self._drop_last()
        for path in self.in_order(self._lines):
            yield path, self.of(path)

    def in_order(self, paths: Iterable[str]) -> list[str]:
        """Return those of the paths that are searched, in order."""
        return sorted((path for path in paths if path in self._places), key=self._places.__getitem__)

    def replace(self, path: str, matches: list[PrintedMatch]) -> None:
        """Take other lines for a file."""
        self._count += len(matches) - len(self._lines.pop(path, ()))
        if matches:
            self._lines[path] = matches

    def _add(self, path: str, match: PrintedMatch) -> None:
        if path not in self._places:
            return
        self._lines.setdefault(path, []).append(match)
        self._count += 1
        if self._count > 2 * MAX_COUNTED_LINES + 1:
            self._drop_last()

    def _drop_last(self) -> None:
        room = MAX_COUNTED_LINES
        for path in self.in_order(self._lines):
            lines = self.of(path)[:room]
            self._was_full = self._was_full or len(lines) < len(self._lines[path])
            self._count -= len(self._lines[path]) - len(lines)
            room -= len(lines)
            if lines:
                self._lines[path] = lines
            else:
                del self._lines[path]

    @staticmethod
    def parser(take: Callable[[str, PrintedMatch], None]) -> Callable[[bytes], None]:
        """Return what takes the output of one process and hands on each line, with the name of its file."""
        rest = b""

        def read(data: bytes) -> None:
            nonlocal rest
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                fields = LINE.fullmatch(line)
                if fields is None:
                    continue  # a remark on a binary file
                try:
                    name = fields[1].removeprefix(b"./").decode()
                except UnicodeDecodeError:
                    continue  # its name is not Unicode
                take(name, PrintedMatch(int(fields[2]), int(fields[3]), int(fields[4]), fields[5]))

        return read


def split_names(output: bytes) -> list[str]:
    """Return the names that are printed with a NUL behind each."""
    names = (name.removeprefix(b"./") for name in output.split(b"\x00") if name)
    return [name.decode() for name in names if _is_unicode(name)]


def _is_unicode(name: bytes) -> bool:
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True
