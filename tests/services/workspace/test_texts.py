"""Whatever is in a file, an edit changes what it names and not a byte more."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from madang.core.calls import Call
from madang.core.errors import ToolError
from madang.core.ids import AssistantId, SessionId
from madang.files.folders import Folders
from madang.services.workspace.domain.files import Edit
from madang.services.workspace.engine import texts
from madang.services.workspace.engine.files import FileEngine
from madang.services.workspace.engine.globs import Glob
from madang.services.workspace.engine.lines import LineIndex, read_lines
from madang.text import encodings
from madang.text.encodings import EncodingName

CALL = Call(AssistantId("a"), SessionId("s"))
ENOUGH = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

LINE_ENDS = st.sampled_from(["\n", "\r\n"])
WORDS = st.text(st.sampled_from("ab 가나힣漢é🙂\t\x0c"), max_size=6)
HANGUL = st.text(st.sampled_from("ab 가나한다라 .,"), max_size=6)


def written(words: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.tuples(words, LINE_ENDS), max_size=8).map(lambda lines: "".join(map("".join, lines)))


TEXTS = st.one_of(
    st.tuples(st.just("utf-8"), written(WORDS)),
    st.tuples(st.just("utf-8-sig"), written(WORDS)),
    st.tuples(st.just("utf-16"), written(WORDS)),
    st.tuples(st.just("cp949"), written(HANGUL)),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> tuple[FileEngine, Path]:
    folders = Folders(tmp_path_factory.mktemp("workspaces"))
    with folders.of(CALL) as session:
        path = session.path / "files"
    return FileEngine(folders), path


@given(case=TEXTS)
@ENOUGH
def test_the_encoding_of_a_text_is_recognised(case: tuple[str, str]) -> None:
    codec, text = case
    encoding = encodings.detect_encoding(text.encode(codec), is_whole=True)

    expected: dict[str, EncodingName] = {"utf-8-sig": "utf-8-bom", "utf-16": "utf-16-le", "cp949": "cp949"}
    if codec == "cp949" and encoding == "utf-8":
        return  # plain ASCII is UTF-8 too, and so is one pair of high bytes in four
    assert encoding == expected.get(codec, "utf-8")


@given(case=TEXTS, old=st.text("ab가\n", min_size=1, max_size=2), new=st.text("xy나\n", max_size=3))
@ENOUGH
def test_an_edit_changes_its_piece_and_not_a_byte_more(
    folder: tuple[FileEngine, Path], case: tuple[str, str], old: str, new: str
) -> None:
    engine, path = folder
    codec, text = case
    before = text.encode(codec)
    if codec == "cp949" and encodings.detect_encoding(before, is_whole=True) == "utf-8":
        codec, text = "utf-8", before.decode()  # plain ASCII, or high bytes that happen to be UTF-8
    (path / "a.txt").write_bytes(before)

    try:
        engine.edit(CALL, "a.txt", [Edit(old_text=old, new_text=new)])
    except ToolError:
        assert (path / "a.txt").read_bytes() == before
        return

    after = (path / "a.txt").read_bytes().decode(codec)
    plain = text.replace("\r\n", "\n")
    assert plain.count(old) == 1
    assert after.replace("\r\n", "\n") == plain.replace(old, new)
    at = plain.index(old)
    # Before and behind the piece nothing moved: not even how single lines end.
    head = plain[:at].count("\n")
    assert text.split("\n")[:head] == after.split("\n")[:head]
    tail = plain[at + len(old) :].count("\n")
    if tail > 1:
        assert text.split("\n")[-tail + 1 :] == after.split("\n")[-tail + 1 :]


@given(
    parts=st.lists(st.sampled_from([b"a", b"\xff", b"\xea\xb0", b"\n", b"\r\n", "가".encode(), b"mark"]), max_size=30)
)
@ENOUGH
def test_bytes_that_are_no_text_survive_an_edit_beside_them(
    folder: tuple[FileEngine, Path], parts: list[bytes]
) -> None:
    engine, path = folder
    before = b"some ordinary words at the start\n" * 20 + b"".join(parts)
    (path / "a.txt").write_bytes(before)

    try:
        engine.edit(CALL, "a.txt", [Edit(old_text="mark", new_text="MARK")])
        changed = True
    except ToolError:
        changed = False

    after = (path / "a.txt").read_bytes()
    assert after == (before.replace(b"mark", b"MARK") if changed else before)


@given(case=TEXTS, added=written(HANGUL), other=written(HANGUL))
@ENOUGH
def test_what_is_written_is_what_is_read(
    folder: tuple[FileEngine, Path], case: tuple[str, str], added: str, other: str
) -> None:
    engine, path = folder
    codec, text = case
    (path / "a.txt").write_bytes(text.encode(codec))

    engine.write(CALL, "a.txt", added, "append")
    appended = (path / "a.txt").read_bytes()
    engine.write(CALL, "a.txt", other, "overwrite")
    form = texts.format_of((path / "a.txt").read_bytes())

    assert appended.startswith(text.encode(codec))
    overwritten = encodings.decode((path / "a.txt").read_bytes(), form.encoding)
    assert overwritten.replace("\r\n", "\n") == other.replace("\r\n", "\n")


@given(
    lines=st.lists(st.sampled_from(["", "a", "가" * 30, "x" * 200, "🙂\u0a00\u010a", "a\rb"]), max_size=40),
    codec=st.sampled_from(["utf-8", "utf-16-le", "utf-16-be"]),
    ended=st.booleans(),
)
@ENOUGH
def test_each_line_is_found_at_its_number(
    folder: tuple[FileEngine, Path], lines: list[str], codec: EncodingName, ended: bool
) -> None:
    _, path = folder
    text = "\n".join(lines) + ("\n" if ended and lines else "")
    data = encodings.encode(text, codec)
    (path / "a.txt").write_bytes(data)
    expected = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n") if text else []
    fd = os.open(path / "a.txt", os.O_RDONLY)
    try:
        index = LineIndex(len(data), codec)
        index.extend(fd, float("inf"))
        one_by_one = [
            next(read_lines(fd, index, codec, number, number, max_bytes=9999, max_chars=9999)).text
            for number in range(1, len(expected) + 1)
        ]
        together = [line.text for line in read_lines(fd, index, codec, 1, None, max_bytes=10**6, max_chars=9999)]
    finally:
        os.close(fd)

    assert index.counted == len(expected)
    assert one_by_one == together == [line.removesuffix("\r") for line in expected]


def test_lines_that_cross_the_blocks_of_the_index_are_found(tmp_path: Path) -> None:
    lines = [f"{number} " + "x" * (number % 9000) for number in range(400)]
    lines[100] = "y" * 300_000
    data = "\n".join(lines).encode()
    (tmp_path / "a.txt").write_bytes(data)
    fd = os.open(tmp_path / "a.txt", os.O_RDONLY)
    try:
        index = LineIndex(len(data), "utf-8")
        index.extend(fd, float("inf"))
        cut = list(read_lines(fd, index, "utf-8", 90, 110, max_bytes=10**7, max_chars=10_000))
    finally:
        os.close(fd)

    assert [line.number for line in cut] == list(range(90, 111))
    assert [line.text for line in cut] == [line[:10_000] for line in lines[89:110]]
    assert [line.left_out for line in cut if line.left_out] == [290_000]


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("a*b*c*d", "aXbXcXd", True),
        ("a*b*c*d", "aXbXcX", False),
        ("**/**/**/x", "a/b/x", True),
        ("a/**/b", "a/b", True),
        ("a/**/b", "a/x/y/b", True),
        ("*", "a/b", True),
        ("a/*", "a/b/c", False),
        ("[a-c]?[!x]", "b1y", True),
        ("[a-c]?[!x]", "b1x", False),
        ("[]", "[]", True),
        ("a.b", "aXb", False),
        ("*" * 60 + "x", "y" * 250, False),
        ("/".join(["**"] * 40) + "/x", "/".join("y" * 60), False),
        ("*a" * 40, "a" * 254 + "b", False),
    ],
)
def test_patterns_fit_what_they_should_and_never_take_long(pattern: str, path: str, fits: bool) -> None:
    assert Glob(pattern).fits(path) is fits


@pytest.mark.parametrize("pattern", ["[z-a]", "{a,b}" * 20])
def test_a_pattern_that_is_none_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError):
        Glob(pattern)


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 5, 64])
@pytest.mark.parametrize(
    ("data", "ending"),
    [
        (b"a\r\nb\r\n\r\n\r\nc\r\n", "crlf"),
        (b"a\nb\r\rc\n", "lf"),
        (b"a\r\n\nb\r\n", "mixed"),
        (b"\r\n" * 20, "crlf"),
        (b"\r\r\n" * 9, "crlf"),
        (b"a\rb", "none"),
    ],
)
def test_line_ends_are_counted_wherever_a_block_ends(
    data: bytes, ending: str, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "BLOCK_BYTES", block_bytes)

    assert texts._count_pairs(data) == data.count(b"\r\n")
    assert texts.line_ending(data, "utf-8") == ending
