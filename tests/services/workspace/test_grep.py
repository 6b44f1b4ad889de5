"""Searching in files: what is found, what is told about it, and where it stops."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import unicodedata
from pathlib import Path

import pytest
from anyio import create_task_group, fail_after, to_thread

from madang.core.errors import Unavailable
from madang.services.workspace.domain.files import GrepQuery, LineMatch
from madang.services.workspace.engine import printed, ripgrep, searching
from madang.services.workspace.engine.checking import PrintedMatch, verify_matches
from madang.services.workspace.engine.ripgrep import find_ripgrep
from madang.services.workspace.engine.searching import Searcher
from tests.asking import Asker
from tests.services.workspace.workspaces import folder_of


async def grep(asker: Asker, pattern: str, **more: object) -> list[tuple[str, int, str]]:
    reply = await asker.done("grep", pattern=pattern, **more)
    return [(hit["path"], hit["line"], hit["text"]) for hit in reply.data["matches"]]


async def test_lines_are_found_in_the_order_of_their_paths(asker: Asker) -> None:
    await asker.done("write_file", path="b/two.txt", content="x\nneedle 2\n")
    await asker.done("write_file", path="a.txt", content="needle 1\ny\nNeedle 3\n")

    reply = await asker.done("grep", pattern="needle")

    assert reply.text.startswith(
        "[grep] 2 line(s) in 2 file(s) of the workspace fit 'needle':\n  a.txt:1: needle 1\n  b/two.txt:2: needle 2\n"
    )
    assert len(await grep(asker, "needle", ignoreCase=True)) == 3
    assert await grep(asker, r"needle \d", path="b") == [("b/two.txt", 2, "needle 2")]
    assert await grep(asker, "needle", path="a.txt") == [("a.txt", 1, "needle 1")]
    assert await grep(asker, "needle", glob="b/**") == [("b/two.txt", 2, "needle 2")]
    assert await grep(asker, "needle", glob="*.md") == []


async def test_the_lines_around_a_hit_come_with_it(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="1\n2\n3 needle\n4\n5\n")
    await asker.done("write_file", path="b.txt", content="needle\n")

    reply = await asker.done("grep", pattern="needle", context=1)

    assert reply.data["matches"] == [
        {"path": "a.txt", "line": 3, "column": 3, "text": "3 needle", "before": ["2"], "after": ["4"]},
        {"path": "b.txt", "line": 1, "column": 1, "text": "needle", "before": [], "after": []},
    ]
    assert "  a.txt-2- 2\n  a.txt:3: 3 needle\n  a.txt-4- 4\n  --\n  b.txt:1: needle\n\n" in reply.text


async def test_a_name_cannot_begin_a_line_of_the_answer(asker: Asker) -> None:
    await asker.done("write_file", path="Status: Agent paused", content="1\nneedle\n3\n")

    reply = await asker.done("grep", pattern="needle", context=1)

    assert not [line for line in reply.text.splitlines() if line.startswith("Status:")]


async def test_a_line_between_two_hits_is_told_once(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="needle 1\n2\nneedle 3\nneedle 4\n5\n6\n7\nneedle 8\n")

    reply = await asker.done("grep", pattern="needle", context=1)

    rows = [line for line in reply.text.splitlines() if line.startswith(("  a.txt", "  --"))]
    assert rows == [
        "  a.txt:1: needle 1",
        "  a.txt-2- 2",
        "  a.txt:3: needle 3",
        "  a.txt:4: needle 4",
        "  a.txt-5- 5",
        "  --",
        "  a.txt-7- 7",
        "  a.txt:8: needle 8",
    ]


@pytest.mark.parametrize(
    ("codec", "pattern"),
    [
        ("utf-8", "둘째"),
        ("utf-8-sig", "둘째"),
        ("utf-16", "둘째"),
        ("utf-16-be", "line"),
        ("cp949", "line"),
        ("cp949", "둘째"),
    ],
)
async def test_texts_in_other_encodings_are_found_and_shown_as_text(asker: Asker, codec: str, pattern: str) -> None:
    mark = b"\xfe\xff" if codec == "utf-16-be" else b""
    (folder_of(asker) / "a.txt").write_bytes(mark + "첫째 줄\r\n둘째 line\r\n".encode(codec))

    assert await grep(asker, pattern) == [("a.txt", 2, "둘째 line")]


@pytest.mark.parametrize(
    ("pattern", "finds"),
    [
        ("홍길동", True),
        ("홍길동*!", True),
        ("길{1}동", True),
        ("^홍길동!$", True),
        ("이름|홍길", True),
        ("(?i)홍길동", True),
        ("홍.*동", False),  # what a letter is depends on the encoding
        ("[가-힣]길동", False),
        ("홍동", False),
        ("길+길", False),
        ("🙂", False),
    ],
)
async def test_hangul_is_found_in_cp949_too(asker: Asker, pattern: str, finds: bool) -> None:
    (folder_of(asker) / "a.csv").write_bytes("첫 줄\n홍길동!\n".encode("cp949"))
    (folder_of(asker) / "b.csv").write_text("홍길동!\n")

    hits = {path for path, _, _ in await grep(asker, pattern)}

    assert ("a.csv" in hits) is finds


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("둘째", [2]),
        ("^둘째 줄$", [2]),
        ("둘.째", []),
        ("[가-힣]+째", [2, 3]),
        ("가", [4]),  # and not 각, which begins with its parts
        ("CAFÉ", [5]),
        (unicodedata.normalize("NFD", "둘째"), [2]),
    ],
)
async def test_text_in_parts_is_found_as_if_it_were_composed(
    asker: Asker, codec: str, pattern: str, lines: list[int]
) -> None:
    text = unicodedata.normalize("NFD", "first\n둘째 줄\n셋째, 각\n가\ncafé\n")
    (folder_of(asker) / "apart.txt").write_bytes(text.encode(codec))
    (folder_of(asker) / "beside.txt").write_text("뒤에\n", encoding="utf-8")

    hits = await grep(asker, pattern, ignoreCase=True)
    alone = await grep(asker, pattern, ignoreCase=True, path="apart.txt")

    assert hits == alone == [("apart.txt", line, text.split("\n")[line - 1]) for line in lines]


async def test_text_in_parts_and_composed_text_are_found_in_the_order_of_paths(asker: Asker) -> None:
    for name in "abcd":
        text = unicodedata.normalize("NFD" if name in "bd" else "NFC", "1\n둘째 줄\n3\n")
        (folder_of(asker) / f"{name}.txt").write_text(text, encoding="utf-8")

    reply = await asker.done("grep", pattern="둘째", context=1)

    assert [(hit["path"], hit["line"], hit["before"], hit["after"]) for hit in reply.data["matches"]] == [
        (f"{name}.txt", 2, ["1"], ["3"]) for name in "abcd"
    ]


async def test_names_are_found_in_both_spellings_by_pattern_and_glob(asker: Asker) -> None:
    name = unicodedata.normalize("NFD", "회의록.md")
    (folder_of(asker) / name).write_text("needle\n")

    assert [path for path, _, _ in await grep(asker, "needle", glob="회의*.md")] == [name]
    assert (await asker.done("search_files", pattern="회의록.*")).data["total"] == 1


async def test_hidden_files_are_searched_and_what_git_ignores_only_on_demand(asker: Asker) -> None:
    for path in (".env", "ignored.txt", "named.txt", ".git/config"):
        await asker.done("write_file", path=path, content="needle\n")
    await asker.done("write_file", path=".gitignore", content="ignored.txt\n")
    for path in (".ignore", ".rgignore"):
        await asker.done("write_file", path=path, content="named.txt\n")
    (folder_of(asker) / "binary").write_bytes(b"needle\n\x00\x00")

    assert [path for path, _, _ in await grep(asker, "needle")] == [".env", "named.txt"]
    assert [path for path, _, _ in await grep(asker, "needle", ignored=True)] == [".env", "ignored.txt", "named.txt"]
    assert [path for path, _, _ in await grep(asker, "needle", path="ignored.txt")] == ["ignored.txt"]
    assert [path for path, _, _ in await grep(asker, "needle", path=".git")] == [".git/config"]


async def test_ignore_files_above_the_folder_and_a_config_of_ripgrep_change_nothing(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await asker.done("write_file", path="a.txt", content="needle\n")
    (folder_of(asker).parent / ".ignore").write_text("*\n")
    (tmp_path / "config").write_text("--invert-match\n")
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(tmp_path / "config"))

    assert await grep(asker, "needle") == [("a.txt", 1, "needle")]


async def test_names_and_patterns_that_look_like_options_are_none(asker: Asker) -> None:
    await asker.done("write_file", path="--files", content="-v\n")
    await asker.done("write_file", path="-x/a.txt", content="--help\n")

    assert await grep(asker, "--help") == [("-x/a.txt", 1, "--help")]
    assert await grep(asker, "-v", path="--files") == [("--files", 1, "-v")]
    assert await grep(asker, "-v", path="-x") == []
    assert await grep(asker, "-v", glob="--files") == [("--files", 1, "-v")]


async def test_lines_are_paged_and_all_of_them_counted(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="needle\n" * 30)

    reply = await asker.done("grep", pattern="needle", limit=10)
    rest = await asker.done("grep", pattern="needle", limit=10, offset=25)
    beyond = await asker.ask("grep", pattern="needle", offset=30)

    assert (reply.data["total"], reply.data["truncated"], reply.data["stopped"]) == (30, True, "")
    assert [match["line"] for match in reply.data["matches"]] == list(range(1, 11))
    assert reply.text.startswith("[grep] 30 line(s) in 1 file(s) of the workspace fit 'needle':\n")
    assert "\n… 20 more line(s): the same call of Madang's 'grep' with offset 10.\n" in reply.text
    assert [match["line"] for match in rest.data["matches"]] == list(range(26, 31))
    assert (rest.data["offset"], rest.data["truncated"]) == (25, False)
    assert "fit 'needle'; from number 26 on:\n" in rest.text
    assert (beyond.error_code, beyond.data["error"]["message"]) == ("out_of_range", "Only 30 line(s) fit 'needle'.")


async def test_a_text_shows_fifty_lines_and_the_next_call_goes_on_there(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="needle\n" * 201)

    reply = await asker.done("grep", pattern="needle", limit=500)

    assert len(reply.data["matches"]) == 201
    assert "  a.txt:50: needle\n… 151 more line(s): the same call of Madang's 'grep' with offset 50.\n" in reply.text


async def test_of_more_lines_than_are_counted_the_first_are_told(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printed, "MAX_COUNTED_LINES", 20)
    for number in range(40):
        (folder_of(asker) / f"{number:02}.txt").write_text("needle\n" * 3)

    reply = await asker.done("grep", pattern="needle", limit=500)

    assert (reply.data["total"], reply.data["stopped"], reply.data["truncated"]) == (20, "limit", True)
    assert [(hit["path"], hit["line"]) for hit in reply.data["matches"]] == [
        (f"{number // 3:02}.txt", number % 3 + 1) for number in range(20)
    ]
    assert reply.text.startswith("[grep] At least 20 line(s) in 7 file(s) of the workspace fit 'needle', and not ")


async def test_of_more_than_can_be_searched_what_is_near_the_top_is_and_the_rest_is_named(
    asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_SEARCHED_BYTES", 1_000)
    for number in range(9):
        await asker.done("write_file", path=f"modules/p{number}/lib/a.js", content="needle\n" + "x" * 400)
    await asker.done("write_file", path="src/a.js", content="needle\n")

    reply = await asker.done("grep", pattern="needle", mode="files")

    assert [row["path"] for row in reply.data["files"]] == [*(f"modules/p{n}/lib/a.js" for n in range(3)), "src/a.js"]
    assert (reply.data["stopped"], reply.data["truncated"]) == ("size", True)
    assert "before 'modules/p3/lib/a.js'. Name the rest in path to search it.\n" in reply.text


async def test_files_and_counts_are_told_without_lines(asker: Asker) -> None:
    await asker.done("write_file", path="b/two.txt", content="needle\nx\nneedle\n")
    await asker.done("write_file", path="a.txt", content="needle\n")

    files = await asker.done("grep", pattern="needle", mode="files")
    counts = await asker.done("grep", pattern="needle", mode="count", limit=1, offset=1)
    first = await asker.done("grep", pattern="needle", mode="count", limit=1)

    assert files.text.startswith(
        "[grep] 3 line(s) in 2 file(s) of the workspace fit 'needle':\n  a.txt\n  b/two.txt\n\n"
    )
    assert files.data["files"] == [{"path": "a.txt", "count": 1}, {"path": "b/two.txt", "count": 2}]
    assert (files.data["matches"], files.data["total"], files.data["totalFiles"]) == ([], 3, 2)
    assert counts.data["files"] == [{"path": "b/two.txt", "count": 2}]
    assert "; from number 2 on:\n  b/two.txt: 2\n" in counts.text
    assert "  a.txt: 1\n… 1 more file(s): the same call of Madang's 'grep' with offset 1.\n" in first.text


async def test_of_a_long_line_the_part_around_the_match_is_shown(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="가" * 3000 + " needle " + "y" * 3000 + "\n")

    ((_, _, text),) = await grep(asker, "needle")

    assert " needle " in text
    assert len(text) <= 502


async def test_a_match_is_cut_where_a_line_ends_in_the_remark_of_the_program(asker: Asker) -> None:
    """A line may look like what ripgrep prints about lines that it cut."""
    line = "needle " + "z" * 520 + " [... 3 more matches]"
    await asker.done("write_file", path="a.txt", content=f"{line}\nneedle [... omitted end of long line]\n")

    assert [number for _, number, _ in await grep(asker, "needle")] == [1, 2]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"(a)\1", "backreferences are not supported"),
        ("(?=a)", "look-around, including look-ahead and look-behind, is not supported"),
        ("((a{100}){100}){100}", "compiled regex exceeds size limit"),
        ("(", "unclosed group"),
        ("a\\nb", "is not allowed in a regex"),
        ("a\nb", "is not allowed in a regex"),
    ],
)
async def test_a_pattern_that_is_none_is_refused_with_the_reason(asker: Asker, pattern: str, reason: str) -> None:
    await asker.done("write_file", path="a.txt", content="a\n")

    reply = await asker.ask("grep", pattern=pattern)

    assert reply.error_code == "invalid_arguments"
    assert reason in reply.data["error"]["message"]
    assert len(reply.text) < 600


async def test_a_glob_that_is_none_is_refused_with_the_reason(asker: Asker) -> None:
    reply = await asker.ask("grep", pattern="a", glob="a[z-a]")

    assert reply.error_code == "invalid_arguments"
    assert reply.data["error"]["message"] == (
        "glob: the set '[z-a]' cannot be used: bad character range z-a at position 1."
    )


@pytest.mark.parametrize(
    ("glob", "finds"),
    [
        ("*.py", ["a/b.py", "c.py"]),
        ("a/*.py", ["a/b.py"]),
        ("a/", ["a/b.py", "a/c.js"]),
        ("!a", ["c.py", "[id].js"]),
        ("!*.py", ["a/c.js", "[id].js"]),
        ("*.{js,ts}", ["a/c.js", "[id].js"]),
        (r"\[id\].js", ["[id].js"]),
    ],
)
async def test_a_glob_chooses_files(asker: Asker, glob: str, finds: list[str]) -> None:
    for path in ("a/b.py", "a/c.js", "c.py", "[id].js"):
        await asker.done("write_file", path=path, content="needle\n")

    assert {path for path, _, _ in await grep(asker, "needle", glob=glob)} == set(finds)


async def test_a_link_or_a_missing_path_is_not_searched(asker: Asker) -> None:
    (folder_of(asker) / "link").symlink_to("/etc")

    assert (await asker.ask("grep", pattern="root", path="link")).error_code == "not_regular"
    assert (await asker.ask("grep", pattern="root", path="link/passwd")).error_code == "invalid_path"
    assert (await asker.ask("grep", pattern="root", path="nothing")).error_code == "not_found"


async def test_without_ripgrep_the_answer_says_what_to_install(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))

    reply = await asker.ask("grep", pattern="a")

    assert reply.error_code == "unavailable"
    assert "pip install ripgrep" in reply.text
    (tmp_path / "rg").touch(mode=0o755)
    assert find_ripgrep() == str(tmp_path / "rg")
    (tmp_path / "rg").unlink()
    with pytest.raises(Unavailable):
        find_ripgrep()


async def test_a_ripgrep_that_does_not_start_is_said(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "rg").write_text("no program")
    monkeypatch.setattr(searching, "find_ripgrep", lambda: str(tmp_path / "rg"))

    reply = await asker.ask("grep", pattern="a")

    assert reply.error_code == "unavailable"
    assert "cannot be started" in reply.text


async def test_many_searches_at_once_are_all_answered_and_reading_goes_on(asker: Asker) -> None:
    await asker.done("write_file", path="a.txt", content="needle\n")
    totals: list[int] = []

    async def search() -> None:
        totals.append((await asker.done("grep", pattern="needle")).data["total"])

    with fail_after(60):
        async with create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(search)
            await asker.done("read_file", path="a.txt")
            begun = len(totals)

    assert totals == [1] * 30
    assert begun < 30


# Limits


class Slow:
    """A program in the place of ripgrep that prints what it is told to and then never ends."""

    def __init__(self, folder: Path, body: str) -> None:
        self.pids = folder / "pids"
        self.program = folder / "rg"
        # Written before anything is printed: who has read a line finds the number of the process.
        self.program.write_text(f"#!/bin/sh\n{body}\nexec sleep 1000\n")
        self.program.chmod(0o755)


@pytest.fixture
def unconfined(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Lets any program stand in for ripgrep, and keeps what was started."""
    started: list[subprocess.Popen[bytes]] = []

    def start(
        arguments: list[str], folder_fd: int, stdin_fd: int, *, cwd: str, **limits: int
    ) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(arguments, stdin=stdin_fd, stdout=pipe, stderr=pipe, cwd=cwd))
        return started[-1]

    monkeypatch.setattr(ripgrep, "start_confined", start)
    return started


async def test_a_search_ends_at_its_deadline_and_leaves_no_process(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unconfined: list[subprocess.Popen[bytes]]
) -> None:
    slow = Slow(tmp_path, r"printf './a.txt\0001:1:0:needle\n'")
    monkeypatch.setattr(searching, "find_ripgrep", lambda: str(slow.program))
    monkeypatch.setattr(searching, "MAX_SEARCH_S", 0.5)
    await asker.done("write_file", path="a.txt", content="needle\n")

    with fail_after(60):
        reply = await asker.done("grep", pattern="needle")

    assert (reply.data["stopped"], reply.data["truncated"], reply.data["total"]) == ("time", True, 1)
    assert "not every file was searched" in reply.text
    assert [process.poll() for process in unconfined] == [-9]


async def test_a_cancelled_search_ends_its_process(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unconfined: list[subprocess.Popen[bytes]]
) -> None:
    slow = Slow(tmp_path, "echo begun > begun")
    monkeypatch.setattr(searching, "find_ripgrep", lambda: str(slow.program))
    monkeypatch.setattr(searching, "MAX_SEARCH_S", 60.0)
    begun = folder_of(asker) / "begun"

    with fail_after(60):
        async with create_task_group() as tasks:
            tasks.start_soon(lambda: asker.ask("grep", pattern="needle"))
            while not (begun.exists() and unconfined):
                await to_thread.run_sync(os.sched_yield)
            tasks.cancel_scope.cancel()
        await to_thread.run_sync(unconfined[0].wait)

    assert unconfined[0].returncode == -9


async def test_a_flood_of_output_is_not_kept(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, unconfined: list[subprocess.Popen[bytes]]
) -> None:
    slow = Slow(tmp_path, r"yes 'no hit at all' | head -c 50000000; yes error >&2 & printf './a.txt\0001:1:0:needle\n'")
    monkeypatch.setattr(searching, "find_ripgrep", lambda: str(slow.program))
    monkeypatch.setattr(searching, "MAX_SEARCH_S", 1.5)
    await asker.done("write_file", path="a.txt", content="needle\n")

    with fail_after(60):
        reply = await asker.done("grep", pattern="needle")

    assert reply.data["stopped"] == "time"


# Matches are verified


async def test_only_what_is_really_there_is_told(asker: Asker) -> None:
    folder_of(asker).joinpath("a.txt").write_bytes(b"one\ntwo\nthree\n")
    places = [
        PrintedMatch(1, 1, 0, b"one"),
        PrintedMatch(2, 1, 4, b"tw"),  # as much as was printed
        PrintedMatch(2, 1, 4, b"secret"),
        PrintedMatch(2, 1, 5, b"wo"),  # not the beginning of a line
        PrintedMatch(9, 1, 1000, b"secret"),
    ]

    with asker.folders.of(asker.call) as session:
        hits = verify_matches(session.files, "a.txt", places, 0)
        assert verify_matches(session.files, "nothing", places, 0) == []

    assert hits == [LineMatch("a.txt", 1, "one"), LineMatch("a.txt", 2, "two")]


async def test_searches_in_many_threads_do_not_disturb_each_other(asker: Asker) -> None:
    for number in range(20):
        (folder_of(asker) / f"{number}.txt").write_text(f"needle {number}\n")
    searcher = Searcher(asker.folders)
    results: list[int] = []

    def search() -> None:
        for _ in range(5):
            results.append(len(searcher.grep(asker.call, GrepQuery("needle"), threading.Event()).matches))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [20] * 20


@pytest.mark.parametrize("pattern", ["[[:alpha:]가]", "[]가]", "[^](?:|x가]", "[가-힣&&[^나]]"])
async def test_a_set_with_hangul_and_brackets_in_it_finds_only_what_is_in_it(asker: Asker, pattern: str) -> None:
    await asker.done("write_file", path="a.txt", content="(\n?\n:\n|\nx\n")

    reply = await asker.done("grep", pattern=pattern)

    assert [match["text"] for match in reply.data["matches"]] == (["x"] if "alpha" in pattern else [])


async def test_what_the_engine_says_of_a_pattern_is_told_as_its_words(asker: Asker) -> None:
    reply = await asker.with_call(locale="ko").ask("grep", pattern="[")

    assert "검색 엔진이 이것을 읽지 못합니다(" in reply.text.splitlines()[0]
