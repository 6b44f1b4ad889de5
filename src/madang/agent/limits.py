"""How far a run goes by itself: limits that an assistant sets, and the end of a run that reaches one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from madang.core.arguments import invalid_arguments
from madang.core.documents import Document
from madang.core.errors import MadangError, SetupError
from madang.core.phrases import Phrase, say
from madang.records.runs.records import Run

DEFAULT_WINDOW_TOKENS = 100_000
"""Of a model that nothing is known of."""


class RunStopped(MadangError):
    """A run ends before its model is done: at a limit, in a circle, or with an answer that cannot be used."""

    def __init__(self, code: str, message: Phrase, *, hint: Phrase | None = None) -> None:
        super().__init__(message, hint=hint)
        self.code = code


class RunLimits(Document):
    """The limits of one run. None is no limit."""

    turns: int = Field(default=100, ge=1)
    calls: int = Field(default=500, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    cost: float | None = Field(default=None, gt=0)
    unattended_minutes: float = Field(default=30, gt=0)
    """How long it works without the person. Time in which it waits for them does not count."""

    def check(self, run: Run, unattended_s: float) -> None:
        """Raise at the first limit that a run has reached.

        Raises:
            RunStopped: there is one.
        """
        tokens = run.input_tokens + run.output_tokens
        if run.turn >= self.turns:
            raise _reached(say("The run has taken {count} {count|turn|turns}, as many as it may.", count=run.turn))
        if run.calls >= self.calls:
            raise _reached(say("The run has made {count} {count|call|calls}, as many as it may.", count=run.calls))
        if self.tokens is not None and tokens >= self.tokens:
            raise _reached(say("The run has used {count} tokens; it may use {limit}.", count=tokens, limit=self.tokens))
        if self.cost is not None and run.cost >= self.cost:
            raise _reached(
                say("The run has cost {cost}; it may cost {limit}.", cost=f"{run.cost:.4g}", limit=self.cost)
            )
        if unattended_s >= self.unattended_s:
            raise self.out_of_time()

    @property
    def unattended_s(self) -> float:
        return self.unattended_minutes * 60

    def out_of_time(self) -> RunStopped:
        """Return the end of a run that has worked too long without the person."""
        return _reached(
            say(
                "The run has worked for {minutes:g} {minutes|minute|minutes} by itself, as long as it may.",
                minutes=self.unattended_minutes,
            )
        )


def parse_limits(values: Mapping[str, Any], *, has_prices: bool) -> RunLimits:
    """Return the limits that an assistant's row sets.

    Raises:
        SetupError: one of them is none, or is on the cost of a model whose prices are not known.
    """
    try:
        limits = RunLimits.model_validate(values)
    except ValidationError as error:
        reason = invalid_arguments(error).message
        raise SetupError(say("The assistant's limits cannot be used: {reason}", reason=reason)) from None
    if limits.cost is not None and not has_prices:
        raise SetupError(
            say("There is a limit on cost, and what the model costs is not known."),
            hint=say("Write its prices into config.toml, or take the limit away."),
        )
    return limits


def _reached(message: Phrase) -> RunStopped:
    return RunStopped("limit", message, hint=say("Write a message to go on with it."))
