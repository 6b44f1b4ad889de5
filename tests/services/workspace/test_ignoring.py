"""What Git ignores is left out of searches, by Git's own rules, whatever the machine."""

from __future__ import annotations

import os
import random
import subprocess
import unicodedata
from pathlib import Path

import pytest

from tests.asking import Asker
from tests.services.workspace.workspaces import folder_of

GIT_ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def write(folder: Path, path: str, content: str = "needle\n") -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(content, encoding="utf-8")


async def searched(asker: Asker, **more: object) -> list[str]:
    """Return the files that both searches look at, which are the same ones."""
    grepped = await asker.done("grep", pattern="needle", mode="files", limit=500, **more)
    found = await asker.done("search_files", pattern="*", **more)
    paths = [row["path"] for row in grepped.data["files"]]
    assert paths == [row["path"] for row in found.data["files"]]
    return paths


def git_searches(folder: Path) -> set[str]:
    """Return the files that Git itself does not ignore."""
    arguments = ["git", "-C", str(folder), "-c", "core.quotePath=false", "ls-files", "-z"]
    listed = subprocess.run(
        [*arguments, "--others", "--exclude-standard"], env=GIT_ENVIRONMENT, capture_output=True, check=True
    )
    return set(listed.stdout.decode().split("\0")) - {""}


async def test_the_same_search_twice_is_the_same_and_nothing_of_installed_packages_is_in_it(asker: Asker) -> None:
    folder = folder_of(asker)
    for number in range(150):
        write(folder, f"src/part{number % 7}/module{number}.py", "class A(BaseModel):\n    b: BaseModel\n")
        write(folder, f".venv/lib/python3/site-packages/p{number}/__init__.py", "BaseModel\n" * 20)
        write(folder, f"node_modules/p{number}/index.js", "BaseModel\n" * 20)
    write(folder, ".gitignore", ".venv\nnode_modules/\n")

    replies = [await asker.done("grep", pattern="BaseModel", limit=200) for _ in range(3)]

    assert [reply.data for reply in replies] == [replies[0].data] * 3
    assert (replies[0].data["total"], replies[0].data["totalFiles"]) == (300, 150)
    paths = [match["path"] for match in replies[0].data["matches"]]
    assert all(path.startswith("src/") for path in paths)
    assert paths == sorted(paths, key=lambda path: path.split("/"))
    assert (await asker.done("grep", pattern="BaseModel", ignored=True)).data["total"] == 6_300


async def test_nested_rules_negations_and_the_exclude_file_hold_without_a_repository(asker: Asker) -> None:
    folder = folder_of(asker)
    write(folder, ".gitignore", "# needle\n*.log\nbuild/\n/only-here.txt\ndocs/**/draft.md\n")
    write(folder, "sub/.gitignore", "# needle\n!kept.log\n*.tmp\n")
    write(folder, ".git/info/exclude", "excluded.txt\n")
    for path in (
        "a.log", "a.txt", "build/a.txt", "docs/x/y/draft.md", "docs/x/y/final.md", "excluded.txt", "only-here.txt",
        "sub/a.log", "sub/a.tmp", "sub/build", "sub/kept.log", "sub/only-here.txt", "tmp.tmp",
    ):  # fmt: skip
        write(folder, path)

    below = ["sub/.gitignore", "sub/build", "sub/kept.log", "sub/only-here.txt"]
    assert await searched(asker) == [".gitignore", "a.txt", "docs/x/y/final.md", *below, "tmp.tmp"]
    assert await searched(asker, path="sub") == below


async def test_who_names_an_ignored_folder_looks_inside(asker: Asker) -> None:
    folder = folder_of(asker)
    write(folder, ".gitignore", "dist\n*.map\n")
    for path in ("dist/js/app.js", "dist/js/app.map", "src/app.js", "src/app.map"):
        write(folder, path)

    assert await searched(asker, path="dist/js") == ["dist/js/app.js", "dist/js/app.map"]
    assert await searched(asker, path="src") == ["src/app.js"]


async def test_an_empty_answer_says_that_ignored_files_were_left_out(asker: Asker) -> None:
    write(folder_of(asker), ".gitignore", "dist\n")
    write(folder_of(asker), "dist/app.js")
    note = "Note: Files that Git ignores were left out; with 'ignored': true they are searched too.\n"

    assert note in (await asker.done("grep", pattern="needle")).text
    assert note in (await asker.done("search_files", pattern="*.js")).text
    assert note not in (await asker.done("grep", pattern="dist")).text
    assert note not in (await asker.done("grep", pattern="nothing", ignored=True)).text
    assert note not in (await asker.done("grep", pattern="nothing", path=".gitignore")).text
    assert "dist/app.js" in (await asker.done("list_directory", depth=2)).text


async def test_rules_of_the_machine_and_above_the_folder_do_not_count(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(tmp_path, ".config/git/ignore", "*.txt\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".config"))
    (folder_of(asker).parent / ".gitignore").write_text("*\n")
    write(folder_of(asker), "a.txt")

    assert await searched(asker) == ["a.txt"]


async def test_rules_that_are_a_link_are_not_followed(asker: Asker, tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*\n")
    (folder_of(asker) / ".gitignore").symlink_to(tmp_path / "rules")
    write(folder_of(asker), "a.txt")

    assert [match["path"] for match in (await asker.done("grep", pattern="needle")).data["matches"]] == ["a.txt"]


async def test_a_rule_fits_both_spellings_of_a_name(asker: Asker) -> None:
    write(folder_of(asker), ".gitignore", "비밀/\n")
    write(folder_of(asker), unicodedata.normalize("NFD", "비밀") + "/a.txt")

    assert (await asker.done("grep", pattern="needle")).data["total"] == 0


async def test_hostile_rules_are_matched_in_time(asker: Asker) -> None:
    write(folder_of(asker), ".gitignore", ("*a" * 100 + "b\n") + ("**/" * 100 + "x\n") + "[" * 1000 + "\n" + "[z-a]\n")
    for number in range(500):
        write(folder_of(asker), f"{'a' * 200}{number}")

    assert (await asker.done("grep", pattern="needle", mode="count")).data["total"] == 500


NAMES = ["a", "b", "ab", "a.b", "b.log", ".a", "a b", "가", "[a]", "a*", "build"]
PIECES = [
    "a", "b", "*", "**", "?", "*.log", "a*", "*b", "[ab]", "[!a]", "[a-b]*", r"\*", "가", "?.b", "build", ".*",
    "[[:alpha:]]", "a\\ b", r"\[a\]", "**a", "[]a]*", "[a", "가*", "*가", "[가]", "???",
]  # fmt: skip


def random_rule(rng: random.Random) -> str:
    pieces = "/".join(rng.choices(PIECES, k=rng.choice([1, 1, 1, 2, 2, 3])))
    return rng.choice(["", "", "", "!"]) + rng.choice(["", "", "/"]) + pieces + rng.choice(["", "", "/", "  "])


@pytest.mark.parametrize("seed", range(10))
async def test_random_rules_leave_out_what_git_leaves_out(asker: Asker, seed: int) -> None:
    rng = random.Random(seed)
    folder = folder_of(asker)
    subprocess.run(["git", "init", "-q", str(folder)], env=GIT_ENVIRONMENT, check=True)
    for _ in range(60):
        path = "/".join(rng.choices(NAMES, k=rng.choice([1, 2, 2, 3])))
        if not any((folder / parent).is_file() for parent in Path(path).parents) and not (folder / path).exists():
            write(folder, path)
    for place in ("", "a/", "b/"):
        if (folder / place).is_dir():
            rules = "".join(random_rule(rng) + "\n" for _ in range(rng.choice([1, 3, 6])))
            write(folder, f"{place}.gitignore", f"# needle\n{rules}")
    write(folder, ".git/info/exclude", random_rule(rng) + "\n")

    assert set(await searched(asker)) == git_searches(folder)
