"""How a model's server is reached: address, key, proxy, certificates, headers, and the limits of an answer."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from pydantic import SecretStr

from madang.core.errors import SetupError
from madang.core.phrases import say

RequestListener = Callable[[str], None]
"""Takes the host of a request that leaves this computer, before it does."""


CLOSE_S = 2.0
"""How long an answer may take to be closed, also in a task that was cancelled."""

_LOCAL_DOMAINS = (".home.arpa", ".internal", ".lan", ".local")


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """The bounds of one answer. A local server may load a model for minutes before its first word."""

    connect_s: float = 10.0
    first_event_s: float = 300.0
    idle_s: float = 120.0
    """Between two events; comments that keep a connection alive are none."""
    trailer_s: float = 5.0
    """After the end of an answer, for the usage."""
    max_line_bytes: int = 24 * 2**20
    """Of one event: room for an image."""
    max_stream_bytes: int = 64 * 2**20
    """Of all that is sent, comments included."""
    max_calls: int = 256


@dataclass(frozen=True, slots=True)
class Connection:
    """The way to a server. Keys and headers show in no repr."""

    url: str
    key: SecretStr | None = None
    headers: Mapping[str, SecretStr] = field(default_factory=dict)
    proxy: SecretStr | None = None
    """Its address, maybe with a password."""
    ca_file: str = ""
    """Certificates to trust instead of the system's."""
    limits: StreamLimits = StreamLimits()
    on_request: RequestListener | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for secret in (self.key, *self.headers.values()):
            value = secret.get_secret_value() if secret else ""
            # The HTTP client would refuse it, and quote it in the error.
            if not (value.isascii() and value.isprintable()) and value:
                raise SetupError(say("The key or a header of a model's server has characters that cannot be sent."))

    @property
    def secrets(self) -> list[str]:
        """What no error, log or text may repeat."""
        hidden = [*self.headers.values(), *(secret for secret in (self.key, self.proxy) if secret)]
        return [secret.get_secret_value() for secret in hidden]


def check_url(url: str) -> str:
    """Return the address of a server without a slash at its end.

    Raises:
        SetupError: it is no http or https address, or holds a password.
    """
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and not parts.fragment
        _ = parts.port
    except ValueError:
        is_valid = False
    if not is_valid:
        raise SetupError(say("'{url}' is not the address of a model's server.", url=url[:200]))
    if parts.username or parts.password:
        raise SetupError(say("The address of a model's server must not hold a password: set its key instead."))
    return url.rstrip("/")


def is_nearby(url: str) -> bool:
    """Tell whether an address leads to this machine or its own network, by its words alone: no name is looked up."""
    host = urlsplit(url).hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return is_loopback(url) or "." not in host or host.endswith(_LOCAL_DOMAINS)
    return address.is_loopback or address.is_private or address.is_link_local


def is_loopback(url: str) -> bool:
    """Tell whether an address leads to this machine, by its words alone: no name is looked up."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
