"""What the playbook service keeps: playbooks, and when they were selected."""

from madang.services.playbook.store.pages import Listing, SortBy, SortOrder
from madang.services.playbook.store.playbooks import PlaybookStore, changed_ids, playbook_topic
from madang.services.playbook.store.tables import MIGRATIONS

__all__ = ["MIGRATIONS", "Listing", "PlaybookStore", "SortBy", "SortOrder", "changed_ids", "playbook_topic"]
