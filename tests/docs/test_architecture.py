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


def test_the_layers_are_in_the_order_that_is_checked() -> None:
    [shown] = re.findall(r"^`(cli > .+)`$", prose(PAGE), re.MULTILINE)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    checked = re.findall(r"\w+", " ".join(contracts["contracts"][0]["layers"]))
    named = re.findall(r"\w+", shown)

    assert [layer for layer in named if layer in checked] == [layer for layer in checked if layer in named]
    assert len(set(named) & set(checked)) > 12


def test_every_file_that_it_names_exists() -> None:
    files = re.findall(r"`([\w/]+\.(?:py|toml|md))`", prose(PAGE))

    assert len(files) >= 3
    assert [file for file in files if not any((ROOT / base / file).exists() for base in ("", "src/madang"))] == [
        "config.toml"  # the person's own
    ]
