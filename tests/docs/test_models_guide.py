"""The examples of the guide to models are what it says they are."""

from __future__ import annotations

from pathlib import Path

import yaml

from madang.llm.scripted import parse_script
from madang.settings import read_settings
from tests.docs.pages import ROOT, blocks

GUIDE = ROOT / "docs/guides/models.md"


def test_the_example_of_models_in_the_config_file_can_be_read(tmp_path: Path) -> None:
    (example,) = [block.body for block in blocks(GUIDE) if block.language == "toml"]
    (tmp_path / "config.toml").write_text(example, encoding="utf-8")

    settings = read_settings({}, data_dir=str(tmp_path))

    assert settings.default_model == "quick"
    assert {name: config.model for name, config in settings.models.items()} == {
        "quick": "qwen3",
        "careful": "claude-opus",
    }


def test_the_example_of_a_script_is_one() -> None:
    (example,) = [block.body for block in blocks(GUIDE) if block.language == "yaml"]

    assert len(parse_script(yaml.safe_load(example)).turns) == 3
