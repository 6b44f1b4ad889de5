"""The built-in services, one folder and one shape each. They never import one another."""

from __future__ import annotations

import json
from pathlib import Path

from madang.core.executor import Executor
from madang.core.service import Service
from madang.core.tools import ToolSchemas
from madang.database.port import Database
from madang.files.downloads import Downloads
from madang.files.folders import Folders
from madang.services.chart.service import ChartService
from madang.services.content.service import ContentService
from madang.services.planning.service import PlanningService
from madang.services.playbook.service import PlaybookService
from madang.services.ui.service import UiService
from madang.services.workspace.service import WorkspaceService

SCHEMAS = Path(__file__).with_name("schemas.json")
"""The schemas of all built-in tools by name, as `scripts/generate` wrote them."""


def prebuilt_schemas() -> dict[str, ToolSchemas]:
    """Return the schemas that came with this version, by the name of the tool."""
    schemas: dict[str, ToolSchemas] = json.loads(SCHEMAS.read_bytes())
    return schemas


def builtin_services(
    database: Database,
    folders: Folders,
    downloads: Downloads | None = None,
    executor: Executor | None = None,
    *,
    index_dir: Path | None = None,
) -> list[Service]:
    """Return the built-in services, in the order in which their tools are listed.

    `folders` hold the files of sessions; `downloads` gives addresses to exports where there is HTTP. `executor` has
    the threads for all of them. `index_dir` is where search indexes are kept beside an embedded database; without it
    they are in memory.
    """
    executor = executor or Executor()
    return [
        PlaybookService(database, executor),
        PlanningService(database, executor),
        UiService(database, executor),
        ChartService(),
        ContentService(database, index_dir, folders, executor=executor),
        WorkspaceService(database, folders, downloads, executor),
    ]
