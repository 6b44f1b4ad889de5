"""What content keeps: stores, contents and their chunks."""

from madang.services.content.store.ranking import ServerRanking
from madang.services.content.store.rows import ContentRows, content_topic

__all__ = ["ContentRows", "ServerRanking", "content_topic"]
