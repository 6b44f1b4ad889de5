"""What the playbook service keeps: playbooks, and when they were selected."""

from madang.services.playbook.store.pages import PageRequest, SortBy, SortOrder
from madang.services.playbook.store.playbooks import PlaybookStore, playbook_topic
from madang.services.playbook.store.sessions import PlaybookSessions, SavedPlaybook, SavedSelection, SavedSelections
from madang.services.playbook.store.tables import MIGRATIONS

__all__ = [
    "MIGRATIONS",
    "PageRequest",
    "PlaybookSessions",
    "PlaybookStore",
    "SavedPlaybook",
    "SavedSelection",
    "SavedSelections",
    "SortBy",
    "SortOrder",
    "playbook_topic",
]
