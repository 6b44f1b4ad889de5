"""Random edits of files in all encodings, against the same edits of their bytes; `MADANG_TEST_EDITS` sets how many."""

from __future__ import annotations

import os
import random
import re
import subprocess
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.asking import Asker
from tests.services.workspace.workspaces import folder_of

EDITS = int(os.environ.get("MADANG_TEST_EDITS", "100"))
EDITS_PER_FILE = 10
LINES = 60
WORDS = ["바늘", "실과", "천을", "집에서", "값이", "def", "return", "x = 1", "(a, b)", "café", "뷁", "1,000", "end"]
NEW_WORDS = ["새로운", "것이다", "Z", "QQ", "더하기", "#9"]
"""None of them begins or ends as one of WORDS does."""


@dataclass(frozen=True)
class Kind:
    """How the files of one kind are written."""

    name: str
    codec: str
    mark: bytes = b""
    line_ends: tuple[str, ...] = ("\n",)
    form: Literal["NFC", "NFD"] = "NFC"

    def encode(self, text: str) -> bytes:
        return text.encode(self.codec)


KINDS = [
    Kind("utf8", "utf-8"),
    Kind("marked", "utf-8", b"\xef\xbb\xbf"),
    Kind("crlf", "utf-8", line_ends=("\r\n",)),
    Kind("mixed", "utf-8", line_ends=("\n", "\r\n", "\n")),
    Kind("apart", "utf-8", form="NFD"),
    Kind("apart-crlf", "utf-8", line_ends=("\r\n",), form="NFD"),
    Kind("korean", "cp949"),
    Kind("korean-crlf", "cp949", line_ends=("\r\n",)),
    Kind("wide", "utf-16-le", b"\xff\xfe"),
    Kind("wide-big", "utf-16-be", b"\xfe\xff", line_ends=("\r\n",)),
]


class Rig:
    """A file whose text is known as words and line ends: what an edit replaces is some of them."""

    def __init__(self, rng: random.Random, kind: Kind) -> None:
        self.kind = kind
        self._rng = rng
        words = [word for word in WORDS if kind.codec != "cp949" or word != "café"]
        self.parts: list[str] = []
        for number in range(LINES):
            line = [f"{number}", *rng.choices(words, k=rng.randrange(6))]
            self.parts += [part for word in line for part in (unicodedata.normalize(kind.form, word), " ")][:-1]
            self.parts.append(rng.choice(kind.line_ends))
        if rng.random() < 0.3:
            self.parts.pop()

    @property
    def data(self) -> bytes:
        return self.kind.mark + self.kind.encode("".join(self.parts))

    def change(self) -> tuple[str, str, bytes | None]:
        """Return a random oldText and newText, and the bytes of the file after it; None if the text is there twice."""
        kind, rng = self.kind, self._rng
        may_break_lines = len(kind.line_ends) == 1
        while True:
            first = rng.randrange(len(self.parts))
            old_parts = self.parts[first : first + rng.randrange(1, 30)]
            if may_break_lines or not any("\n" in part for part in old_parts):
                break
        new = " ".join(rng.choices(NEW_WORDS, k=rng.randrange(1, 4)))
        if may_break_lines and rng.random() < 0.5:
            new = new.replace(" ", "\n")
        old = _typed("".join(old_parts))
        written = new.replace("\n", kind.line_ends[0])
        if _typed("".join(self.parts)).count(old) > 1:
            return old, new, None
        after = [*self.parts[:first], *_split(written), *self.parts[first + len(old_parts) :]]
        return old, new, kind.mark + kind.encode("".join(after))

    def accept(self, data: bytes) -> None:
        self.parts = _split(data.removeprefix(self.kind.mark).decode(self.kind.codec))


def _typed(text: str) -> str:
    """Return a text as a model writes it: composed, with plain line ends."""
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n"))


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"( |\r\n|\n)", text) if part]


def _rigs(rng: random.Random) -> Iterator[Rig]:
    for number in range(max(EDITS // EDITS_PER_FILE, 1)):
        yield Rig(rng, KINDS[number % len(KINDS)])


async def test_random_edits_change_what_the_same_edits_of_the_bytes_change(asker: Asker, tmp_path: Path) -> None:
    rng = random.Random(20261118)
    folder, expected = folder_of(asker), tmp_path / "expected"
    expected.mkdir()
    wrong: list[tuple[str, str, str, str]] = []
    done = refused = 0

    for number, rig in enumerate(_rigs(rng)):
        name = f"{number}-{rig.kind.name}.txt"
        data = rig.data
        (folder / name).write_bytes(data)
        for _ in range(EDITS_PER_FILE):
            old, new, after = rig.change()
            reply = await asker.ask("edit_file", path=name, edits=[{"oldText": old, "newText": new}])
            is_right = reply.error_code == ("conflict" if after is None else "")
            data = data if after is None else after
            if not is_right or (folder / name).read_bytes() != data:
                wrong.append((name, old, new, reply.text))
                (folder / name).write_bytes(data)
            rig.accept(data)
            done += 1
            refused += after is None
        (expected / name).write_bytes(data)

    assert (wrong, done) == ([], max(EDITS // EDITS_PER_FILE, 1) * EDITS_PER_FILE)
    assert 0 < refused < done
    compared = subprocess.run(
        ["git", "diff", "--no-index", "--exit-code", "--stat", str(expected), str(folder)],
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"},
        capture_output=True,
        check=False,
    )
    assert (compared.returncode, compared.stdout) == (0, b"")
