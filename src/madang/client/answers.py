"""A tool's answer as an object: fields by attribute, in either spelling, and by item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from madang.client.schemas import SchemaReader, match_name, snake_case, suggestion
from madang.core.results import ENVELOPE_FIELDS, Image


class JsonView:
    """A read-only view of a JSON value, with the fields of an object as attributes.

    A field that the tool's output schema declares and this answer leaves out is None. `unwrap` gives the plain data.
    """

    # Names of our own begin with an underscore: every other name belongs to the data.
    __slots__ = ("_data", "_schema", "_views")

    def __init__(self, data: Any, schema: SchemaReader | Mapping[str, Any] | None = None) -> None:
        self._data = data
        self._schema = schema if isinstance(schema, SchemaReader) else SchemaReader(schema)
        self._views: dict[str | int, Any] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if not isinstance(self._data, Mapping):
            raise AttributeError(f"The answer has no fields, so no {name!r}: it is a {type(self._data).__name__}.")
        key = match_name(name, self._data)
        if key is not None:
            return self._field(key)
        if match_name(name, self._schema.fields) is not None:
            return None
        known = [*self._data, *self._schema.fields]
        raise AttributeError(f"The answer has no field {name!r}.{suggestion(name, known)}")

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(self._data, Mapping):
            return view(self._data[key], self._schema.item)
        name = match_name(key, self._data) if isinstance(key, str) else None
        if name is None:
            raise KeyError(key)
        return self._field(name)

    def __contains__(self, key: object) -> bool:
        if isinstance(self._data, Mapping):
            return isinstance(key, str) and match_name(key, self._data) is not None
        return isinstance(self._data, (list, str)) and key in self._data

    def __iter__(self) -> Iterator[Any]:
        """Iterate as the data does: over the names of an object, over the items of a list."""
        if isinstance(self._data, list):
            return iter(view(self._data, self._schema))
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __bool__(self) -> bool:
        return bool(self._data)

    def __eq__(self, other: object) -> bool:
        return bool(self._data == (other._data if isinstance(other, JsonView) else other))

    __hash__ = None  # type: ignore[assignment]  # it compares by value and holds lists

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._data!r})"

    def __dir__(self) -> list[str]:
        fields = (*self._data, *self._schema.fields) if isinstance(self._data, Mapping) else ()
        return sorted({*super().__dir__(), *map(snake_case, fields)})

    def _field(self, key: str) -> Any:
        # Cached: a loop over `answer.page.items[n]` must not wrap the whole list for each n.
        if key not in self._views:
            self._views[key] = view(self._data[key], self._schema.field(key))
        return self._views[key]


@dataclass(frozen=True, slots=True)
class OpenPause:
    """What the agent waits for after an answer; `id` settles it, and is empty where nothing needs to be named."""

    kind: str
    """`choice`, `prompt` or `wait`; a newer server may have others."""
    id: str = ""
    expires_at: datetime | None = None


class Answer(JsonView):
    """The answer of one call. `text` is what a model reads; a field of that name is at `answer["text"]`.

    So are fields that are called `images`. `pause` and `next` are Madang's. Fields of these names in the data of
    another server are items alike.
    """

    __slots__ = ("_images", "_pause", "_text")

    def __init__(
        self,
        text: str,
        data: Any,
        schema: Mapping[str, Any] | None = None,
        pause: str = "",
        images: Sequence[Image] = (),
    ) -> None:
        super().__init__(data, schema)
        self._text = text
        self._pause = pause
        self._images = tuple(images)

    @property
    def text(self) -> str:
        return self._text

    @property
    def images(self) -> tuple[Image, ...]:
        """The pictures that came with the answer."""
        return self._images

    @property
    def pause(self) -> OpenPause | None:
        """What the agent now waits for; None when the answer does not declare a pause."""
        envelope = self._data.get("pause") if self._has_envelope() else None
        details = envelope if isinstance(envelope, Mapping) else {}
        kind = self._pause or details.get("kind")
        if not isinstance(kind, str) or not kind:
            return None
        settled_by = details.get("id")
        return OpenPause(kind, settled_by if isinstance(settled_by, str) else "", _time(details.get("expiresAt")))

    @property
    def next(self) -> str:
        """What the model should do now, in sentences that also end the text; empty when there is nothing to say."""
        sentences = self._data.get("next") if self._has_envelope() else None
        return sentences if isinstance(sentences, str) else ""

    def _has_envelope(self) -> bool:
        # Another server's `next` may be a cursor, its `pause` a number of seconds: only a tool that declares both in
        # its output schema means what we mean by them. A pause is also declared beside the data.
        is_declared = bool(self._pause) or self._schema.fields.keys() >= ENVELOPE_FIELDS
        return isinstance(self._data, Mapping) and is_declared

    def __str__(self) -> str:
        return self._text


def _time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def view(value: Any, schema: SchemaReader) -> Any:
    """Return a JSON value with its objects as `JsonView`."""
    if isinstance(value, Mapping):
        return JsonView(value, schema)
    if isinstance(value, list):
        item_schema = schema.item
        return [view(item, item_schema) for item in value]
    return value


def wire_data(answer: JsonView) -> Any:
    """Return the data behind a view, as it was on the wire."""
    return answer._data
