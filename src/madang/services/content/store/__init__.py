"""What content keeps: stores, contents and their chunks."""

from madang.services.content.store.ranking import ServerRanking
from madang.services.content.store.rows import ContentRows, NewContent, content_topic

__all__ = ["ContentRows", "NewContent", "ServerRanking", "content_topic"]
