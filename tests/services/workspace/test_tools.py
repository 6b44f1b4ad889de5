"""Reading, writing and editing files, as an agent does it."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.asking import Asker
from tests.services.workspace.workspaces import folder_of

KOREAN = "이름,나이\n홍길동,20\n"


# read_file


async def test_a_text_is_read_as_numbered_lines(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="one\ntwo\n")

    reply = await asker.done("read_file", path="a.txt")

    assert reply.text == snapshot("""\
[read_file] 'a.txt' (8 B, utf-8, line ends: lf), the whole file, 2 line(s):
     1	one
     2	two\
""")
    assert reply.data == snapshot(
        {
            "path": "a.txt",
            "content": "one\ntwo",
            "startLine": 1,
            "endLine": 2,
            "startColumn": 1,
            "totalLines": 2,
            "size": 8,
            "encoding": "utf-8",
            "lineEnding": "lf",
            "truncated": False,
            "isBinary": False,
            "cutLines": [],
        }
    )


async def test_what_does_not_fit_is_reached_by_the_call_that_the_text_names(asker: Asker) -> None:
    lines = [f"line {number}" for number in range(1, 3001)]
    await asker.done("write_file", path="long.txt", content="\n".join(lines))

    read: list[str] = []
    reply = await asker.done("read_file", path="long.txt")
    while True:
        read += reply.data["content"].split("\n")
        assert len(reply.text.encode()) < 8.5 * 1024
        if not reply.data["truncated"]:
            break
        following = reply.data["endLine"] + 1
        left = f"Not the whole file. {3000 - reply.data['endLine']} more line(s) after these: "
        assert reply.data["next"] == f"{left}Madang's 'read_file' with path 'long.txt', startLine {following}."
        assert reply.text.endswith(reply.data["next"])
        reply = await asker.done("read_file", path="long.txt", startLine=following)

    assert read == lines


async def test_a_range_is_read_and_nothing_else(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="1\n2\n3\n4\n")

    reply = await asker.done("read_file", path="a.txt", startLine=2, endLine=3)

    assert (reply.data["content"], reply.data["truncated"]) == ("2\n3", False)
    assert (await asker.ask("read_file", path="a.txt", startLine=5)).error_code == "out_of_range"
    assert (await asker.ask("read_file", path="a.txt", startLine=3, endLine=2)).error_code == "invalid_arguments"
    assert (await asker.done("read_file", path="a.txt", startLine=4, endLine=99)).data["content"] == "4"


async def test_a_long_line_is_cut_with_a_note_and_shown_further_alone(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content=f"short\n{'가' * 5000}\nend\n")

    among = await asker.done("read_file", path="a.txt")
    alone = await asker.done("read_file", path="a.txt", startLine=2, endLine=2)

    first, second, third = among.data["content"].split("\n")
    assert (first, third) == ("short", "end")
    assert among.data["cutLines"] == [2]
    assert f"'read_file' with path 'a.txt', startLine 2, startColumn {len(second) + 1}." in among.text
    assert f"… [+{15000 - 3 * len(second)} B]" in among.text
    assert len(alone.data["content"]) > 2 * len(second)
    assert alone.data["truncated"]


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "cp949"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", ""])
async def test_a_long_line_is_read_to_its_end_by_the_calls_that_the_texts_name(
    asker: Asker, codec: str, line_end: str
) -> None:
    line = "".join(f"가나{number}," for number in range(30_000))
    (folder_of(asker) / "a.js").write_bytes(f"first\n{line}{line_end}".encode(codec))
    arguments: dict[str, Any] = {"startLine": 2}
    parts: list[str] = []

    while arguments and len(parts) < 100:
        reply = await asker.done("read_file", path="a.js", **arguments)
        parts.append(reply.data["content"])
        following = re.search(r"startLine 2, startColumn (\d+)\.", reply.text)
        arguments = {"startLine": 2, "startColumn": int(following[1])} if following else {}

    assert "".join(parts) == line
    assert (reply.data["startColumn"], reply.data["truncated"]) == (len("".join(parts[:-1])) + 1, False)


async def test_a_column_that_a_line_does_not_have_is_refused(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="가나다\n둘\n")

    beyond = await asker.ask("read_file", path="a.txt", startLine=1, startColumn=4)
    several = await asker.ask("read_file", path="a.txt", startLine=1, endLine=2, startColumn=2)

    assert (await asker.done("read_file", path="a.txt", startColumn=3)).data["content"] == "다"
    assert beyond.error_code == "out_of_range"
    assert "Column 4 does not exist: line 1 of 'a.txt' has 3 characters." in beyond.text
    assert several.error_code == "invalid_arguments"


async def test_a_place_that_grep_finds_in_a_long_line_is_read_by_its_column(asker: Asker) -> None:
    line = "가" * 40_000 + "needle" + "나" * 40_000
    await asker.done("write_file", path="a.js", content=f"{line}\n")

    found = await asker.done("grep", pattern="needle")
    column = found.data["matches"][0]["column"]
    reply = await asker.done("read_file", path="a.js", startLine=1, startColumn=column)

    assert column == 40_001
    assert "  a.js:1:40001: …가" in found.text
    assert reply.data["content"].startswith("needle나")


async def test_edits_in_a_string_of_json_are_taken(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="one\n")

    await asker.done("edit_file", path="a.txt", edits='[{"oldText": "one", "newText": "하나", "replaceAll": false}]')
    other = await asker.ask("edit_file", path="a.txt", edits=[{"old_string": "하나", "new_string": "x"}])

    assert (await asker.done("read_file", path="a.txt")).data["content"] == "하나"
    assert other.error_code == "invalid_arguments"
    assert "oldText" in other.text


async def test_an_empty_file_is_empty(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="")

    reply = await asker.done("read_file", path="a.txt")

    assert (reply.data["totalLines"], reply.data["content"]) == (0, "")
    assert "is empty" in reply.text


async def test_a_binary_file_is_told_by_its_first_bytes(asker: Asker) -> None:
    (folder_of(asker) / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))

    reply = await asker.done("read_file", path="a.png")

    assert (reply.data["isBinary"], reply.data["encoding"], reply.data["size"]) == (True, "binary", 108)
    assert "PNG image" in reply.text
    assert "89 50 4e 47" in reply.text


async def test_a_text_in_an_unknown_encoding_is_said_to_be_one(asker: Asker) -> None:
    asker.keep_file("a.txt", "中文文本测试".encode("gb2312"))

    reply = await asker.done("read_file", path="a.txt")

    assert reply.data["encoding"] == "binary"
    assert "text in an unknown encoding" in reply.text
    korean = await asker.with_call(locale="ko").done("read_file", path="a.txt")
    assert "시작 부분은 알 수 없는 인코딩의 텍스트와 같습니다." in korean.text


async def test_a_name_is_found_however_its_hangul_is_written(asker: Asker) -> None:
    composed = "폴더/메모.txt"
    # The folder is composed, the file in it is not: each name has a spelling of its own.
    written = folder_of(asker) / "폴더" / unicodedata.normalize("NFD", "메모.txt")
    written.parent.mkdir()
    written.write_text("내용")

    assert (await asker.done("read_file", path=composed)).data["content"] == "내용"
    await asker.done("write_file", path=composed, content="새 내용")
    assert len(list((folder_of(asker) / "폴더").iterdir())) == 1


# write_file


async def test_a_file_is_made_with_its_folders_and_only_its_owner_may_read_it(asker: Asker) -> None:
    reply = await asker.done("write_file", path="a/b/c.txt", content="한글\n")

    path = folder_of(asker) / "a/b/c.txt"
    assert path.read_bytes() == "한글\n".encode()
    assert path.stat().st_mode & 0o777 == 0o600
    assert (reply.data["created"], reply.data["size"]) == (True, 7)
    assert "Wrote the new file 'a/b/c.txt': 1 line(s), 7 B." in reply.text


async def test_create_refuses_what_is_there(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="old", mode="create")

    reply = await asker.ask("write_file", path="a.txt", content="new", mode="create")

    assert reply.error_code == "conflict"
    assert (folder_of(asker) / "a.txt").read_text() == "old"


@pytest.mark.parametrize(
    ("there", "added", "after"),
    [
        (b"", "x\ny\n", b"x\ny\n"),
        (b"one\n", "two\n", b"one\ntwo\n"),
        (b"one\r\n", "two\n", b"one\r\ntwo\r\n"),
        (b"one\r\n", "two\r\n", b"one\r\ntwo\r\n"),
        ("이름\n".encode("cp949"), "나이\n", "이름\n나이\n".encode("cp949")),
        (b"\xef\xbb\xbfone\n", "둘\n", b"\xef\xbb\xbfone\n" + "둘\n".encode()),
        ("one\r\n".encode("utf-16"), "둘\n", "one\r\n둘\r\n".encode("utf-16")),
    ],
    ids=["empty", "lf", "crlf", "crlf twice", "cp949", "mark", "utf-16"],
)
async def test_what_is_appended_is_written_as_the_file_is(asker: Asker, there: bytes, added: str, after: bytes) -> None:
    path = folder_of(asker) / "a.txt"
    path.write_bytes(there)

    await asker.done("write_file", path="a.txt", content=added, mode="append")

    assert path.read_bytes() == after


async def test_appending_to_nothing_makes_the_file(asker: Asker) -> None:
    reply = await asker.done("write_file", path="log.txt", content="first\n", mode="append")

    assert reply.data["created"]
    assert (folder_of(asker) / "log.txt").read_text() == "first\n"


async def test_appending_says_how_many_lines_there_are_now(asker: Asker) -> None:
    await asker.done("write_file", path="log.txt", content="one\ntwo\n")

    few = await asker.done("write_file", path="log.txt", content="three\nfour\n", mode="append")
    (folder_of(asker) / "log.txt").write_text("a line\n" * 700_000)  # more than is counted for it
    many = await asker.done("write_file", path="log.txt", content="five\n", mode="append")

    assert "Added 2 line(s) to the end of 'log.txt'. The file has 4 line(s) now, 19 B." in few.text
    assert "Added 1 line(s) to the end of 'log.txt', which has 4.7 MB now." in many.text


async def test_appending_what_the_encoding_cannot_carry_changes_nothing(asker: Asker) -> None:
    path = folder_of(asker) / "a.csv"
    path.write_bytes(KOREAN.encode("cp949"))

    reply = await asker.ask("write_file", path="a.csv", content="🙂", mode="append")

    assert reply.error_code == "invalid_arguments"
    assert "cp949, which has no '🙂' (U+1F642)" in reply.text
    assert path.read_bytes() == KOREAN.encode("cp949")


async def test_overwriting_keeps_encoding_and_line_ends(asker: Asker) -> None:
    path = folder_of(asker) / "a.csv"
    path.write_bytes(KOREAN.replace("\n", "\r\n").encode("cp949"))

    reply = await asker.done("write_file", path="a.csv", content="이름\n임꺽정\n")

    assert path.read_bytes() == "이름\r\n임꺽정\r\n".encode("cp949")
    assert "Encoding: cp949, line ends: crlf, as the file has them." in reply.text


async def test_overwriting_with_what_the_encoding_cannot_carry_is_utf_8_and_says_so(asker: Asker) -> None:
    path = folder_of(asker) / "a.csv"
    path.write_bytes(KOREAN.encode("cp949"))

    reply = await asker.done("write_file", path="a.csv", content="웃음 🙂\n")

    assert path.read_bytes() == "웃음 🙂\n".encode()
    assert "it is in UTF-8 now" in reply.text


async def test_a_program_stays_a_program(asker: Asker) -> None:
    path = folder_of(asker) / "run.sh"
    path.write_text("echo\n")
    path.chmod(0o755)

    await asker.done("write_file", path="run.sh", content="echo 2\n")

    assert path.stat().st_mode & 0o777 == 0o755


async def test_no_draft_stays_behind(asker: Asker) -> None:
    for number in range(5):
        await asker.done("write_file", path="a.txt", content=str(number), mode="append")
    await asker.ask("write_file", path="a.txt", content="x", mode="create")

    assert os.listdir(folder_of(asker).parent / "temporary") == ["lock"]


# edit_file


async def test_edits_apply_in_order_and_are_shown_as_a_diff(asker: Asker) -> None:
    await asker.done("write_file", path="a.py", content="def f():\n    return 1\n\n\ndef g():\n    return 2\n")

    edits = [{"oldText": "return 1", "newText": "return 3"}, {"oldText": "return 3", "newText": "return 4"}]
    reply = await asker.done("edit_file", path="a.py", edits=edits)

    assert reply.text == snapshot("""\
[edit_file] Changed 'a.py' in 2 place(s); it has 46 B now (utf-8, line ends: lf).
@@ -1,5 +1,5 @@
 def f():
-    return 1
+    return 4
 \n\
 \n\
 def g():

Note: Use Madang's 'read_file' to see the whole.\
""")
    assert reply.data["edits"] == [{"line": 2, "count": 1}, {"line": 2, "count": 1}]


async def test_when_one_edit_does_not_fit_none_is_made(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="one\ntwo\n")

    edits = [{"oldText": "one", "newText": "1"}, {"oldText": "three", "newText": "3"}]
    reply = await asker.ask("edit_file", path="a.txt", edits=edits)

    assert reply.error_code == "not_found"
    assert "edit 2 of 2 is not in 'a.txt'." in reply.text
    assert (folder_of(asker) / "a.txt").read_text() == "one\ntwo\n"


async def test_a_text_that_is_not_there_is_answered_with_the_nearest(asker: Asker) -> None:
    await asker.done("write_file", path="a.py", content="x = 1\n\ndef total(values):\n\treturn sum(values)\n")

    spaces = await asker.ask(
        "edit_file", path="a.py", edits=[{"oldText": "def total(values):\n    return sum(values)", "newText": "x"}]
    )
    typing = await asker.ask(
        "edit_file", path="a.py", edits=[{"oldText": "def totals(value):\n\treturn sum(value)", "newText": "x"}]
    )

    assert (
        'Lines 3 to 4 of the file differ from it only in white space: "def total(values):\\n\\treturn sum(values)"'
        in spaces.text
    )
    assert 'Lines 3 to 4 of the file really say: "def total(values):' in typing.text


async def test_a_text_that_is_there_twice_needs_replace_all(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="a\nb\na\n")

    refused = await asker.ask("edit_file", path="a.txt", edits=[{"oldText": "a", "newText": "c"}])
    reply = await asker.done("edit_file", path="a.txt", edits=[{"oldText": "a", "newText": "c", "replaceAll": True}])

    assert refused.error_code == "conflict"
    assert "2 times, on lines 1, 3. Nothing was changed." in refused.text
    assert reply.data["replacements"] == 2
    assert (folder_of(asker) / "a.txt").read_text() == "c\nb\nc\n"


@pytest.mark.parametrize(
    ("there", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", b"one\r\n2\r\n2b\r\nthree\r\n"),
        (b"one\ntwo\r\nthree\r", b"one\n2\r\n2b\r\nthree\r"),
        (b"one\r\ntwo\nthree\r\n", b"one\r\n2\n2b\nthree\r\n"),
        (b"one\ntwo\nthree", b"one\n2\n2b\nthree"),
        (b"one\r\ntwo", b"one\r\n2\r\n2b"),
    ],
)
async def test_lines_keep_their_ends(asker: Asker, there: bytes, after: bytes) -> None:
    path = folder_of(asker) / "a.txt"
    path.write_bytes(there)

    await asker.done("edit_file", path="a.txt", edits=[{"oldText": "two", "newText": "2\n2b"}])

    assert path.read_bytes() == after


async def test_a_piece_over_several_lines_fits_a_file_with_other_line_ends(asker: Asker) -> None:
    path = folder_of(asker) / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\nthree\r\n")

    await asker.done("edit_file", path="a.txt", edits=[{"oldText": "one\ntwo\n", "newText": "1\n"}])

    assert path.read_bytes() == b"1\r\nthree\r\n"


async def test_an_edit_that_the_encoding_cannot_carry_changes_nothing(asker: Asker) -> None:
    path = folder_of(asker) / "a.csv"
    path.write_bytes(KOREAN.encode("cp949"))

    reply = await asker.ask("edit_file", path="a.csv", edits=[{"oldText": "홍길동", "newText": "🙂"}])

    assert reply.error_code == "invalid_arguments"
    assert path.read_bytes() == KOREAN.encode("cp949")


async def test_a_binary_file_is_not_edited_or_appended_to(asker: Asker) -> None:
    path = folder_of(asker) / "a.bin"
    path.write_bytes(b"\x00\x01text")

    edited = await asker.ask("edit_file", path="a.bin", edits=[{"oldText": "text", "newText": "x"}])
    appended = await asker.ask("write_file", path="a.bin", content="x", mode="append")

    assert (edited.error_code, appended.error_code) == ("not_regular", "not_regular")
    assert path.read_bytes() == b"\x00\x01text"


async def test_a_file_that_is_too_large_to_edit_says_so(asker: Asker) -> None:
    with (folder_of(asker) / "big.txt").open("wb") as file:
        file.truncate(17 * 1024 * 1024)

    reply = await asker.ask("edit_file", path="big.txt", edits=[{"oldText": "a", "newText": "b"}])

    assert reply.error_code == "limit_exceeded"


async def test_lines_full_of_controls_are_shown_as_far_as_the_answer_says(asker: Asker) -> None:
    """A control is shown as six characters, and the answer must not be truncated for that."""
    lines = ["\x1b[31m" * 10 for _ in range(120)]
    await asker.done("write_file", path="colours.log", content="\n".join(lines))

    reply = await asker.done("read_file", path="colours.log")

    last = reply.data["endLine"]
    assert last < len(lines)
    assert f"\n{last:>6}\t" + "\\u001b[31m" * 10 in reply.text
    assert f"startLine {last + 1}." in reply.text


@pytest.mark.parametrize("locale", ["en", "ko"])
async def test_a_long_path_takes_its_room_from_the_lines(asker: Asker, locale: str) -> None:
    """The answer names the path up to three times, and the lines that it promises must still be in it."""
    path = "/".join(["가" * 80] * 6)
    await asker.done("write_file", path=path, content="\n".join(["x" * 1500, *["나" * 40] * 400]))

    reply = await asker.with_call(locale=locale).done("read_file", path=path)

    assert f"\n{reply.data['endLine']:>6}\t" + "나" * 40 + "\n" in reply.text


async def test_the_nearest_lines_are_quoted_with_every_white_space_visible(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content='say "one"\u2028two\tthree\x1b\\n\n')

    reply = await asker.ask("edit_file", path="a.txt", edits=[{"oldText": 'say "one" two threes', "newText": "x"}])

    assert 'really says: "say \\"one\\"\\u2028two\\tthree\\u001b\\\\n"' in reply.text


async def test_western_text_is_shown_as_it_is_and_keeps_its_bytes(asker: Asker) -> None:
    text = "Die Größe der Tür überrascht: für Gäste, die später kommen,\r\nmüssen wir natürlich öffnen.\r\n"
    path = folder_of(asker) / "a.txt"
    path.write_bytes(text.encode("cp1252"))

    read = await asker.done("read_file", path="a.txt")
    found = await asker.done("grep", pattern="wir")
    refused = await asker.ask("edit_file", path="a.txt", edits=[{"oldText": "Gäste", "newText": "손님"}])
    await asker.done("edit_file", path="a.txt", edits=[{"oldText": "für Gäste", "newText": "für Mädchen"}])

    assert (read.data["encoding"], read.data["content"]) == ("cp1252", text.replace("\r\n", "\n").rstrip("\n"))
    assert found.data["matches"][0]["text"] == "müssen wir natürlich öffnen."
    assert refused.error_code == "invalid_arguments"
    assert path.read_bytes() == text.replace("Gäste", "Mädchen").encode("cp1252")
