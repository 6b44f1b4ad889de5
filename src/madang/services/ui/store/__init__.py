"""What the ui service keeps: questions and waits."""

from madang.services.ui.store.items import MAX_LISTED_ITEMS, UiStore
from madang.services.ui.store.tables import MIGRATIONS

__all__ = ["MAX_LISTED_ITEMS", "MIGRATIONS", "UiStore"]
