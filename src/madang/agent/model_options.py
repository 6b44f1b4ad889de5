"""What an assistant sets for its model, over what the model's own configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field, ValidationError

from madang.core.arguments import invalid_arguments
from madang.core.documents import Document
from madang.core.errors import SetupError
from madang.core.phrases import say
from madang.llm.base import ModelOptions


class OwnOptions(Document):
    """The options of an assistant. None leaves it to the model's configuration."""

    temperature: float | None = Field(default=None, ge=0, le=2)
    max_output_tokens: int | None = Field(default=None, ge=1, le=10_000_000)
    thinking: Literal["off", "low", "medium", "high"] | None = None


def parse_options(values: Mapping[str, Any]) -> OwnOptions:
    """Return the options that an assistant's row sets.

    Raises:
        SetupError: one of them is none.
    """
    try:
        return OwnOptions.model_validate(values)
    except ValidationError as error:
        reason = invalid_arguments(error).message
        raise SetupError(say("The assistant's settings of its model cannot be used: {reason}", reason=reason)) from None


def with_own_options(options: ModelOptions, values: Mapping[str, Any]) -> ModelOptions:
    """Return the options of a model with those that an assistant sets instead.

    Raises:
        SetupError: the assistant's cannot be used.
    """
    return replace(options, **parse_options(values).model_dump(exclude_none=True))
