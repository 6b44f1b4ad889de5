"""What content stores: stores, contents and their chunks."""

from madang.services.content.store.contents import ContentStore
from madang.services.content.store.index_queue import IndexQueue
from madang.services.content.store.rows import content_topic
from madang.services.content.store.sessions import SessionRows

__all__ = ["ContentStore", "IndexQueue", "SessionRows", "content_topic"]
