"""What the playbook service keeps: playbooks, and when they were selected."""

from madang.services.playbook.store.changes import playbook_topic
from madang.services.playbook.store.pages import PageRequest, SortBy, SortOrder
from madang.services.playbook.store.playbooks import PlaybookStore
from madang.services.playbook.store.tables import MIGRATIONS

__all__ = [
    "MIGRATIONS",
    "PageRequest",
    "PlaybookStore",
    "SortBy",
    "SortOrder",
    "playbook_topic",
]
