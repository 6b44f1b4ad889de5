"""The models that the runs of a process use, each opened once and kept with its connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from madang.llm.connection import RequestListener
from madang.llm.errors import ModelError
from madang.llm.opening import OpenedModel

ModelOpener = Callable[[str], OpenedModel]
"""Returns the model of a name, or raises SetupError. May block."""


class OpenModels:
    """Models by name, opened when they are first asked for."""

    def __init__(self, open_model: ModelOpener, on_request: RequestListener | None = None) -> None:
        self._open_model = open_model
        self._on_request = on_request
        self._models: dict[str, OpenedModel] = {}
        self._asked: set[str] = set()
        """Models whose servers have been asked for their windows."""
        self._retired: list[OpenedModel] = []
        self._lock = asyncio.Lock()

    async def get(self, name: str) -> OpenedModel:
        """Return the model of a name, with the window that its server tells where nothing is set.

        Raises:
            SetupError: it cannot be used.
        """
        async with self._lock:
            if name not in self._models:
                opened = await asyncio.to_thread(self._open_model, name)
                if self._on_request is not None:
                    opened.model.watch_requests(self._on_request)
                self._models[name] = opened
            if name not in self._asked:
                await self._ask_window(name)
            return self._models[name]

    async def _ask_window(self, name: str) -> None:
        opened = self._models[name]
        if opened.window_tokens is None:
            try:
                window_tokens = await opened.model.find_window()
            except ModelError:
                return  # its requests fail for the same reason; the next run asks again
            self._models[name] = replace(opened, window_tokens=window_tokens)
        self._asked.add(name)

    def find_window(self, name: str) -> int | None:
        """Return the window of a model as far as it is known without asking anybody."""
        return self._models[name].window_tokens if name in self._models else None

    def reopen(self) -> None:
        """Open every model anew when it is next asked for: what is said of it, or its key, has changed.

        Runs that are under way go on with what they have, so that is closed at the end.
        """
        self._retired += self._models.values()
        self._models.clear()
        self._asked.clear()

    async def close(self) -> None:
        for opened in (*self._retired, *self._models.values()):
            await opened.model.close()
        self._retired.clear()
        self._models.clear()
