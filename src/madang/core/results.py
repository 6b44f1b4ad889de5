"""What a tool gives back: a text for the model, data, maybe a page for the person, maybe a declared pause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from madang.core.documents import Document
from madang.core.phrases import ByPage, OutsideRuns, Phrase, Text
from madang.core.trust import Origin

DataT = TypeVar("DataT", bound=Document | Mapping[str, Any], covariant=True)

ENVELOPE_FIELDS = frozenset({"next", "pause"})
"""What the renderer adds to the data of any tool: no document of a service has fields of these names."""

PAUSE_KEY = "madang/pause"
"""Where the `_meta` of a result over MCP says that it pauses."""

ALT_KEY = "madang/alt"
"""Where the `_meta` of an image over MCP says in words what it shows."""

PauseKind = Literal["choice", "prompt", "wait", "approval", "model"]
"""What the agent waits for: a pick on a page, the answer to a question, the person's word to go on, their permission
for a call, or, without a language model, the person in its place."""


@dataclass(frozen=True, slots=True)
class UiPage:
    """A page for the person: a template and what it is filled with. It is drawn only for readers that show pages."""

    name: str
    title: Phrase
    template: str
    context: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ForeignPage:
    """A page whose HTML is not ours but another server's. What it asks for is a wish: the host decides."""

    name: str
    """Its address at that server, without `ui://`."""
    html: str
    connect_domains: tuple[str, ...] = ()
    resource_domains: tuple[str, ...] = ()
    is_fixed: bool = True
    """Whether it is the same for every result. HTML that came with one result may be what a model wrote."""


@dataclass(frozen=True, slots=True)
class ElicitationForm:
    """A question that a client can ask the person by MCP elicitation, without our page.

    `answer` is the JSON Schema of the answer, which goes to the tool `reply_tool` as `messageId`, `answer` and
    `cancelled`, whatever client asked and however long it took.
    """

    message_id: str
    message: str
    answer: dict[str, Any]
    reply_tool: str


@dataclass(frozen=True, slots=True)
class Link:
    """Something that a result made and that can be read by its address: for clients that keep or fetch it."""

    uri: str
    name: str
    title: str = ""
    mime_type: str = "application/octet-stream"
    size: int | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that is a result, for the model and the person alike: a screenshot, a plot."""

    data: bytes
    mime_type: str
    alt: str


@dataclass(frozen=True, slots=True)
class Pause:
    """A declaration that the agent now waits for the person.

    A page alone never pauses; this does. `on_page` tells the model what the person can do there, `without_page` what
    the model has to ask in the chat when this client shows no pages. `id` is what settles it, `expires_at` when it is
    too late for that; both are empty where there is none.
    """

    kind: PauseKind
    on_page: Phrase
    without_page: Phrase
    id: str = ""
    expires_at: str = ""
    form: ElicitationForm | None = None


@dataclass(frozen=True, slots=True)
class ToolResult(Generic[DataT]):
    """What a tool returns, before anybody's language or client is known; compare it by value in tests.

    `next` is what the model should do now: the sentences that end the text, and the data's `next`, because some clients
    give their model the data alone. `page` is shown to the person. `refill` shows nothing by itself: a page that is
    open already takes it when it calls the tool, because it lacks its content or holds what is out of date. `settles`
    is the id of the pause that this call settled. `foreign_page` is another server's page, and `raw` the result as that
    server gave it, which its page reads. `origins` is where untrusted words in it came from, empty if there are none;
    None leaves that to what the tool declares.
    """

    text: Text
    data: DataT
    next: Sequence[Phrase | ByPage | OutsideRuns] = ()
    page: UiPage | None = None
    pause: Pause | None = None
    refill: UiPage | None = None
    links: tuple[Link, ...] = ()
    images: tuple[Image, ...] = ()
    settles: str = ""
    foreign_page: ForeignPage | None = None
    raw: Mapping[str, Any] | None = None
    origins: tuple[Origin, ...] | None = None


def page_uri(name: str) -> str:
    """Return the address of a page."""
    return f"ui://{name}"


@dataclass(frozen=True, slots=True)
class ShownPage:
    """A page as one reader gets it: the fragment, and for embedded pages the whole document around it."""

    name: str
    fragment: str
    document: str = ""
    foreign: ForeignPage | None = None
    """The page itself, if it is not ours."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A finished answer in the words and form of one call's reader. Only `rendering.replies` makes one."""

    tool: str
    service: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)
    page: ShownPage | None = None
    pause: PauseKind | None = None
    pause_id: str = ""
    settles: str = ""
    """The id of the pause that this call settled."""
    form: ElicitationForm | None = None
    refill: str = ""
    links: tuple[Link, ...] = ()
    images: tuple[Image, ...] = ()
    error_code: str = ""
    raw: Mapping[str, Any] | None = None
    """As another server gave it, for that server's own page."""
    origins: tuple[Origin, ...] | None = None
    """Where untrusted words in it came from; None leaves that to what its tool declares."""
    is_store_away: bool = False
    """An error for no other reason than that the database did not answer: the same call may work in a moment."""

    @property
    def is_error(self) -> bool:
        return bool(self.error_code)
