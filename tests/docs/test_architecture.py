"""ARCHITECTURE stays a page, and says of the layers and files what is so."""

from __future__ import annotations

import re
import tomllib

from tests.docs.pages import ROOT, prose

PAGE = ROOT / "ARCHITECTURE.md"
MAX_WORDS = 1_800
"""Ten minutes, with the tables."""


def test_it_is_read_in_ten_minutes() -> None:
    assert len(PAGE.read_text(encoding="utf-8").split()) <= MAX_WORDS


def test_the_layers_are_those_that_are_checked_and_each_is_explained() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    [layers] = [contract["layers"] for contract in contracts if contract["name"] == "Layers"]
    page = prose(PAGE)
    first_cells = " ".join(re.findall(r"^\| (`[^|]+`) \|", page, re.MULTILINE))

    assert f"\n`{' > '.join(layers)}`\n" in page
    assert [layer for layer in re.findall(r"\w+", " ".join(layers)) if f"`{layer}`" not in first_cells] == []


def test_every_file_that_it_names_exists() -> None:
    files = re.findall(r"`([\w/]+\.(?:py|toml|md))`", prose(PAGE))

    assert len(files) >= 3
    assert [file for file in files if not any((ROOT / base / file).exists() for base in ("", "src/madang"))] == [
        "config.toml"  # the person's own
    ]
