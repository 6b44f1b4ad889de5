"""What is done to the stores of a database server in the background, some time after they were used."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict

from madang.core.background import Background
from madang.core.errors import LimitExceeded, Unavailable
from madang.records.analysis.analysis import Analysis
from madang.services.content.domain.contents import StoreKey
from madang.services.content.store.parts import Parts
from madang.services.content.store.retokenizing import Retokenizer

DELAY_S = 1.0
"""Between a request and the work: many additions are looked at once."""

PAUSE_S = 0.2
"""Between two parts: the server has others to serve."""

MAX_RETRY_S = 60.0
MAX_REMEMBERED_STORES = 10_000

logger = logging.getLogger(__name__)


class StoreMaintenance:
    """Retokenizes contents and makes parts, one store at a time. Killed or closed, it is gone on with by the next."""

    def __init__(self, parts: Parts, retokenizer: Retokenizer, analysis: Analysis) -> None:
        self._parts = parts
        self._retokenizer = retokenizer
        self._analysis = analysis
        self._background = Background()
        self._one_at_a_time = asyncio.Semaphore(1)
        self._requests: dict[StoreKey, bool] = {}
        """The stores that have a task, and whether they were requested again since it last began."""
        self._retokenized: OrderedDict[StoreKey, None] = OrderedDict()
        """The stores that this process has looked through for contents of another analysis."""

    def request(self, store: StoreKey) -> None:
        """Look at a store in a while."""
        if store in self._requests:
            self._requests[store] = True
            return
        self._requests[store] = True
        self._background.start(self._maintain(store), f"The maintenance of store {store.id}")

    def request_first(self, store: StoreKey) -> None:
        """Look at a store in a while, unless this process has done so before."""
        if store not in self._retokenized:
            self.request(store)

    async def close(self) -> None:
        """Interrupt what is under way."""
        await self._background.close()

    async def _maintain(self, store: StoreKey) -> None:
        delay_s = DELAY_S
        try:
            while self._requests[store]:
                await asyncio.sleep(delay_s)
                self._requests[store] = False
                try:
                    async with self._one_at_a_time:
                        await self._work(store)
                    delay_s = DELAY_S
                except (LimitExceeded, Unavailable) as error:
                    logger.info("The maintenance of store %s is put off: %s", store.id, error)
                    self._requests[store] = True
                    delay_s = min(2 * delay_s, MAX_RETRY_S)
        finally:
            del self._requests[store]

    async def _work(self, store: StoreKey) -> None:
        if store not in self._retokenized:
            await self._retokenizer.run(store)
            self._retokenized[store] = None
            if len(self._retokenized) > MAX_REMEMBERED_STORES:
                self._retokenized.popitem(last=False)
        analysis = self._analysis.name
        fence = await self._parts.find_fence(store)
        while fence:
            fence = fence if await self._parts.fold_next(store, fence, analysis) else 0
            await asyncio.sleep(PAUSE_S)
        after: int | None = 0
        while after is not None:
            after = await self._parts.rebuild_next(store, after, analysis)
            await asyncio.sleep(PAUSE_S)
