"""Builds the front end into the package before a wheel or an sdist is made of it.

An sdist carries the built files and their stamp, so that a wheel made from it needs no Node. An editable install is
left alone: there `make web` builds, which `make run` does by itself.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FrontEndHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        if (root / "web").is_dir():
            subprocess.run([sys.executable, str(root / "scripts" / "web")], check=True)
        elif not (root / "src" / "madang" / "host" / "static" / "index.html").is_file():
            raise RuntimeError("There is no built front end here, and no web/ to build it from.")
