"""The front end in the wheel: built from web/ as it is, small enough to start fast, fetching nothing from elsewhere."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from madang.host.static_files import NONCE_MARK
from tests.host.hosting import hosting

ROOT = Path(__file__).resolve().parents[2]
STATIC = "madang/host/static/"
FIRST_LOAD_MAX_BYTES = 250 * 1024
# Names of namespaces, where messages for developers lead, and an example of a model's server on this machine; none of
# them is ever fetched.
ADDRESSES = ("http://www.w3.org/", "https://react.dev/errors/", "https://github.com/", "http://127.0.0.1:11434/")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of the front end in a wheel of this checkout, by their path below the folder that is served."""
    folder = tmp_path_factory.mktemp("wheel")
    words = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, check=True)
    with ZipFile(next(folder.glob("*.whl"))) as archive:
        names = [name for name in archive.namelist() if name.startswith(STATIC)]
        return {name.removeprefix(STATIC): archive.read(name) for name in names}


def test_it_was_built_from_the_sources_as_they_are(files: dict[str, bytes]) -> None:
    stamp = subprocess.run([sys.executable, "scripts/web", "stamp"], cwd=ROOT, capture_output=True, check=True).stdout

    assert files[".built"].decode() == stamp.decode().strip()


@pytest.mark.usefixtures("files")
async def test_the_package_that_is_tested_serves_it(tmp_path: Path) -> None:
    """The suite runs on the wheel; with the source folder, the build of `files` has put it there."""
    async with hosting(tmp_path) as tab:
        page = await tab.http.get("/")
        scripts = re.findall(r'src="(/assets/[^"]+)"', page.text)
        answers = [await tab.http.get(path) for path in scripts]

    assert page.status_code == 200
    assert NONCE_MARK not in page.text
    assert [(one.status_code, one.headers["content-encoding"]) for one in answers] == [(200, "gzip")] * len(scripts)
    assert scripts


def test_each_asset_has_its_compressed_bytes_beside_it_and_no_source_map(files: dict[str, bytes]) -> None:
    assets = {name for name in files if name.startswith("assets/") and not name.endswith(".gz")}

    assert assets
    assert {Path(name).suffix for name in assets} == {".js", ".css"}
    assert [name for name, data in files.items() if name.endswith(".map") or b"sourceMappingURL" in data] == []
    assert {name: gzip.decompress(files[f"{name}.gz"]) for name in assets} == {name: files[name] for name in assets}


def test_the_page_has_no_script_or_style_of_its_own_and_a_place_for_the_nonce(files: dict[str, bytes]) -> None:
    page = files["index.html"].decode()

    assert '<meta property="csp-nonce" nonce="__NONCE__"' in page
    assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=", page)
    linked = {path.removeprefix("/") for path in re.findall(r'(?:src|href)="(/[^"]*)"', page)}
    assert linked <= set(files)


def test_the_first_load_is_within_its_budget(files: dict[str, bytes]) -> None:
    page = files["index.html"].decode()
    first = {path.removeprefix("/") for path in re.findall(r'(?:src|href)="(/[^"]*)"', page)}
    # Asked for as soon as there is a message to draw.
    markdown = {name for name in files if re.fullmatch(r"assets/Markdown-\w+\.js", name)}
    assert markdown
    first |= markdown
    while imported := {one for name in first for one in _static_imports(files[name])} - first:
        first |= imported

    total = len(gzip.compress(files["index.html"])) + sum(len(files[f"{name}.gz"]) for name in first)
    assert total <= FIRST_LOAD_MAX_BYTES


def _static_imports(script: bytes) -> set[str]:
    """Return what a script needs before it runs; `import(…)` is asked for later."""
    return {f"assets/{name}" for name in re.findall(r"""(?:from|import)["']\./([\w.-]+)["']""", script.decode())}


def test_no_address_of_another_place_is_in_it(files: dict[str, bytes]) -> None:
    texts = {name: data.decode() for name, data in files.items() if name.endswith((".js", ".css", ".html"))}
    addresses = {one for text in texts.values() for one in re.findall(r"https?://[^\s\"'`)]+", text)}

    assert {one for one in addresses if not one.startswith(ADDRESSES)} == set()


def test_the_licences_of_what_is_bundled_are_with_it(files: dict[str, bytes]) -> None:
    licences = files["licences.txt"].decode()

    for package in ("react ", "react-dom ", "react-aria-components ", "react-markdown ", "micromark-extension-gfm "):
        assert f"\n{package}" in f"\n{licences}"
