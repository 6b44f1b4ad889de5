"""What clients can read by address: documents that a service offers beside its tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from madang.core.phrases import Text


@dataclass(frozen=True, slots=True)
class Resource:
    """A document with an address: a text, or the bytes of a file.

    One with `frontmatter` is a skill: a client that knows skills offers it to its model by name and description, and
    reads the rest only when it is wanted.
    """

    uri: str
    name: str
    title: str
    body: Text | bytes
    mime_type: str = "text/markdown"
    frontmatter: Mapping[str, Any] = field(default_factory=dict)
    size: int | None = None


@dataclass(frozen=True, slots=True)
class ResourceTemplate:
    """A pattern of addresses (RFC 6570) for clients that fill it in themselves."""

    uri_template: str
    name: str
    title: str
    mime_type: str = "text/markdown"


@dataclass(frozen=True, slots=True)
class ResourceList:
    """Some of the resources there are, and where the next ones begin (`after`), if there are more."""

    resources: Sequence[Resource]
    after: str = ""
