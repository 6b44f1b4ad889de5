"""The models that the runs of a process use, each opened once and kept with its connections."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from madang.llm.opening import OpenedModel

ModelOpener = Callable[[str], OpenedModel]
"""Returns the model of a name, or raises SetupError. May block."""


class OpenModels:
    """Models by name, opened when they are first asked for."""

    def __init__(self, open_model: ModelOpener) -> None:
        self._open_model = open_model
        self._models: dict[str, OpenedModel] = {}
        self._lock = asyncio.Lock()

    async def get(self, name: str) -> OpenedModel:
        """Return the model of a name.

        Raises:
            SetupError: it cannot be used.
        """
        async with self._lock:
            if name not in self._models:
                self._models[name] = await asyncio.to_thread(self._open_model, name)
            return self._models[name]

    async def close(self) -> None:
        for opened in self._models.values():
            await opened.model.close()
        self._models.clear()
