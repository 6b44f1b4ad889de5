"""The address of a host, and who may come in at it."""

from __future__ import annotations

from dataclasses import dataclass

from madang.server.gate import AccessPolicy

HOST_NAME = "127.0.0.1"
CONTENT_NAME = "localhost"


@dataclass(frozen=True, slots=True)
class HostAddress:
    """The two names of the host, which differ by site, on one port."""

    port: int

    @property
    def host(self) -> str:
        return f"{HOST_NAME}:{self.port}"

    @property
    def content_host(self) -> str:
        return f"{CONTENT_NAME}:{self.port}"

    @property
    def origin(self) -> str:
        return f"http://{self.host}"

    @property
    def content_origin(self) -> str:
        return f"http://{self.content_host}"

    def access(self, client_token: str, browser_token: str) -> AccessPolicy:
        """Return who may come in. The content origin is none of the origins: nothing there may ask for anything."""
        hosts = frozenset({self.host, self.content_host})
        return AccessPolicy(client_token, hosts, frozenset({self.origin}), browser_token)
