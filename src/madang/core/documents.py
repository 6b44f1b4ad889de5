"""The base of every typed value that crosses a boundary: camelCase outside, snake_case inside, strict, closed."""

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

DOCUMENT_CONFIG = ConfigDict(
    frozen=True,
    strict=True,
    extra="forbid",
    allow_inf_nan=False,
    alias_generator=to_camel,
    validate_by_alias=True,
    validate_by_name=True,
    serialize_by_alias=True,
    json_schema_serialization_defaults_required=True,
    defer_build=True,
)
"""How a document looks from outside.

A dataclass whose `__pydantic_config__` this is looks the same. That is for what only ever leaves, and in numbers: a
listing is made of plain objects in a tenth of the time.
"""


class Document(BaseModel):
    """A frozen value with a schema. Unknown fields, wrong types, NaN and infinities are refused."""

    model_config = DOCUMENT_CONFIG


def _not_blank(text: str) -> str:
    if not text or text.isspace():  # not `strip`, which copies a long text
        raise PydanticCustomError("blank", "must not be blank")
    return text


NOT_BLANK = AfterValidator(_not_blank)
"""Refuses texts that show nothing."""
