"""The wheel carries everything that is in the source folder, not only Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import madang

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build" / "venv"
NEEDED = {
    "madang/py.typed",
    "madang/locale/ko/LC_MESSAGES/madang.mo",
    "madang/rendering/bridge.js",
    "madang/rendering/shell.html",
    "madang/rendering/style.css",
    "madang/services/schemas.json",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of the files in a wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, check=True)
    with ZipFile(next(folder.glob("*.whl"))) as archive:
        return set(archive.namelist())


def test_the_wheel_has_every_file_of_the_package(wheel: set[str]) -> None:
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}

    packaged = {name for name in wheel if not name.startswith("madang-")}
    assert packaged == {file for file in files if "__pycache__" not in file}


def test_the_wheel_has_what_pages_texts_and_types_need(wheel: set[str]) -> None:
    assert wheel >= NEEDED
    assert {name.rpartition("/")[2] for name in wheel if "/templates/" in name} >= {
        "playbooks.html",
        "prompt.html",
        "export.html",
    }


def test_the_python_of_the_build_runs_the_wheel_and_never_the_source_folder() -> None:
    is_built = Path(sys.prefix) == BUILT

    assert Path(madang.__file__).is_relative_to(BUILT if is_built else ROOT / "src")
