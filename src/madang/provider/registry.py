"""The registered services and their tools by name."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from madang.core.service import Service
from madang.core.tools import MethodTool, Tool, ToolSchemas

logger = logging.getLogger(__name__)


class Registry:
    """Services in the order of their registration. Names inside texts must mean one tool, so a name is given once.

    The tools of a service may change while it is registered, by a new sequence in the place of the old one: those of
    another server do. Whatever is looked up next is as it is then.
    """

    def __init__(self, schemas: Mapping[str, ToolSchemas]) -> None:
        self._schemas = schemas
        self._services: dict[str, Service] = {}
        self._sources: dict[str, Sequence[Tool]] = {}
        self._tools: dict[str, tuple[Service, Tool]] = {}

    def __iter__(self) -> Iterator[Service]:
        return iter(self._services.values())

    @property
    def tool_names(self) -> frozenset[str]:
        """The names of all tools, whoever may use them."""
        self._refresh()
        return frozenset(self._tools)

    def get(self, name: str) -> Service | None:
        return self._services.get(name)

    def add(self, service: Service) -> None:
        """Add a service.

        Raises:
            ValueError: its name or one of its tools is taken.
        """
        name = service.metadata.name
        duplicates = [tool.name for tool in service.tools if tool.name in self._tools]
        if duplicates:
            raise ValueError(f"Cannot register {name!r}: tools taken: {duplicates}")
        if name in self._services:
            raise ValueError(f"Cannot register {name!r}: name is taken")
        self._services[name] = service
        self._index(service)

    def remove(self, name: str) -> Service:
        """Drop a service and its tools, and return it."""
        service = self._services.pop(name)
        del self._sources[name]
        self._drop_tools(service)
        return service

    def find(self, name: str) -> tuple[Service, Tool] | None:
        """Return a tool by its bare or qualified name (`playbook__get_playbook`)."""
        self._refresh()
        entry = self._tools.get(name)
        if entry is None and "__" in name:
            service_name, _, tool_name = name.partition("__")
            entry = self._tools.get(tool_name)
            if entry is not None and service_name not in entry[0].metadata.names:
                return None
        return entry

    def tools(self, service: Service) -> list[Tool]:
        """Return the tools of a service."""
        self._refresh()
        entries = (self._tools.get(tool.name) for tool in service.tools)
        return [entry[1] for entry in entries if entry is not None and entry[0] is service]

    def _refresh(self) -> None:
        for service in self._services.values():
            if service.tools is not self._sources[service.metadata.name]:
                self._drop_tools(service)
                self._index(service)

    def _index(self, service: Service) -> None:
        self._sources[service.metadata.name] = service.tools
        for tool in service.tools:
            if tool.name in self._tools:
                logger.error("%s offers '%s', which is taken", service.metadata.name, tool.name)
                continue
            if isinstance(tool, MethodTool) and tool.name in self._schemas:
                tool = replace(tool, schemas=self._schemas[tool.name])
            self._tools[tool.name] = service, tool

    def _drop_tools(self, service: Service) -> None:
        self._tools = {name: entry for name, entry in self._tools.items() if entry[0] is not service}
