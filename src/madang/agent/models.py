"""The models that the runs of a process use, each opened once and kept with its connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from madang.llm.connection import RequestListener
from madang.llm.opening import OpenedModel

ModelOpener = Callable[[str], OpenedModel]
"""Returns the model of a name, or raises SetupError. May block."""


class OpenModels:
    """Models by name, opened when they are first asked for."""

    def __init__(self, open_model: ModelOpener, on_request: RequestListener | None = None) -> None:
        self._open_model = open_model
        self._on_request = on_request
        self._models: dict[str, OpenedModel] = {}
        self._retired: list[OpenedModel] = []
        self._lock = asyncio.Lock()

    async def get(self, name: str) -> OpenedModel:
        """Return the model of a name.

        Raises:
            SetupError: it cannot be used.
        """
        async with self._lock:
            if name not in self._models:
                opened = await asyncio.to_thread(self._open_model, name)
                if self._on_request is not None:
                    opened.model.watch_requests(self._on_request)
                self._models[name] = opened
            return self._models[name]

    def reopen(self) -> None:
        """Open every model anew when it is next asked for: what is said of it, or its key, has changed.

        Runs that are under way go on with what they have, so that is closed at the end.
        """
        self._retired += self._models.values()
        self._models.clear()

    async def close(self) -> None:
        for opened in (*self._retired, *self._models.values()):
            await opened.model.close()
        self._retired.clear()
        self._models.clear()
