"""Several models in the order in which they are asked: the next one where the server of the one before is away."""

from __future__ import annotations

from collections.abc import Iterable

from madang.llm.errors import CutShort, ModelError, Overloaded, RateLimited, ServerFailed, Stalled, Unreachable

SEPARATOR = ", "
"""Between the names of models in one text: in `--model`, in MADANG_MODEL, of an assistant, in the row of a run. A comma
alone may be part of a name."""

OUTAGES = (Unreachable, ServerFailed, Overloaded, RateLimited, Stalled, CutShort)
"""Errors that a server makes however it is asked. A wrong key, an unknown model or an unpaid bill is for the person to
mend: another model would hide it."""


def split_models(names: str) -> tuple[str, ...]:
    """Return the names of the models that a text stands for, in their order."""
    return tuple(filter(None, (name.strip() for name in names.split(SEPARATOR))))


def join_models(names: Iterable[str]) -> str:
    return SEPARATOR.join(names)


def is_outage(error: ModelError) -> bool:
    """Tell whether the model's server is away, after all retries."""
    return isinstance(error, OUTAGES)
