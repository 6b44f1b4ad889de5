"""The built-in services, one folder and one shape each. They never import one another."""

from __future__ import annotations

from madang.core.service import Service
from madang.services.planning.service import PlanningService
from madang.services.playbook.service import PlaybookService
from madang.services.ui.service import UiService
from madang.storage.database import Database


def builtin_services(database: Database) -> list[Service]:
    """Return the built-in services, in the order in which their tools are listed."""
    return [PlaybookService(database), PlanningService(database), UiService(database)]
