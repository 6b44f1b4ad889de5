"""What CONTRIBUTING says of the tree is so."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT


def test_every_file_that_is_generated_is_listed() -> None:
    """By the constants of the script: what `madang.mo` and `schemas.json` are made with is not among them."""
    script = (ROOT / "scripts" / "generate").read_text(encoding="utf-8")
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.partition("## Generated files")[2].partition("\n## ")[0]

    names = re.findall(r'^[A-Z_]+ = (?:ROOT|SOURCE) / .*"([^"/]+\.\w+)"$', script, re.MULTILINE)

    assert len(names) >= 7
    assert [name for name in [*names, "madang.mo", "schemas.json"] if f"{name}`" not in section] == []
