"""The MCP SDK as we use it: its private parts, and its public parts where we change them. Nothing else touches these.

The SDK is pinned to the minor version these were written against. `tests/server/test_sdk.py` has a test for each, which
says what to change here when the SDK moves on.
"""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from typing import Any

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions

RequestContext = ServerRequestContext[Any, Any]
"""What the SDK hands to each handler: the client's session, the protocol version, the request's id and `_meta`."""

TRACING_MIDDLEWARE = "OpenTelemetryMiddleware"
"""By name: the class is in a private module, and a failing import would keep the server from starting."""


class SdkServer(Server[Any]):
    """The SDK's server, with the capabilities we keep and less work per message."""

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        if find_spec("opentelemetry.sdk") is None:
            # Without OpenTelemetry's SDK the spans are not received, and making one takes a tenth of a small call.
            self.middleware = [one for one in self.middleware if type(one).__name__ != TRACING_MIDDLEWARE]

    def create_initialization_options(
        self, notification_options: NotificationOptions | None = None, *arguments: Any, **options: Any
    ) -> InitializationOptions:
        notification_options = notification_options or NotificationOptions(resources_changed=True)
        return super().create_initialization_options(notification_options, *arguments, **options)

    def get_capabilities(self, *arguments: Any, **options: Any) -> types.ServerCapabilities:
        capabilities = super().get_capabilities(*arguments, **options)
        # Where `subscriptions/listen` is served, the SDK declares `listChanged` of every kind; we notify of resources.
        for capability in (capabilities.tools, capabilities.prompts):
            if capability is not None:
                capability.list_changed = False
        return capabilities

    @property
    def server_info_stamp(self) -> dict[str, Any]:
        """The `serverInfo` of each result. The SDK makes a deep copy each time; ours holds nothing but texts."""
        return self._stamp.copy()

    @cached_property
    def _stamp(self) -> dict[str, Any]:
        return self.server_info.model_dump(by_alias=True, mode="json", exclude_none=True)


def connection_of(context: RequestContext) -> Connection:
    """Return the connection of a request, with its state and teardown: handlers have no public way to it."""
    return context.session._connection
