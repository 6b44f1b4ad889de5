"""Numbers on axes and in words, the same in every locale.

Decimal throughout: a float is taken by its shortest spelling, so that 0.1 is a tick of its own axis, and neither
1e308 nor 5e-324 overflows or vanishes on the way.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal, localcontext

_CONTEXT = Context(prec=34)
_SHORT = Context(prec=4, rounding=ROUND_HALF_UP)
_UNITS = ((Decimal("1e12"), "T"), (Decimal("1e9"), "B"), (Decimal("1e6"), "M"), (Decimal("1e3"), "K"))
_MIN_WITH_UNIT = Decimal(10_000)
_MIN_IN_POWERS = Decimal("1e15")
_MAX_IN_POWERS = Decimal("1e-4")
_MAX_DECIMALS = 3
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def decimal(value: float) -> Decimal:
    return Decimal(repr(float(value)))


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis: where it begins and ends, and its ticks from one end to the other."""

    ticks: tuple[Decimal, ...]

    def share(self, value: float | Decimal) -> float:
        """Return how far along the axis a value lies, from 0 to 1."""
        low, high = self.ticks[0], self.ticks[-1]
        exact = value if isinstance(value, Decimal) else decimal(value)
        with localcontext(_CONTEXT):
            return min(1.0, max(0.0, float((exact - low) / (high - low))))

    @property
    def labels(self) -> list[str]:
        """The ticks as texts, with as many digits as tell them apart."""
        with localcontext(_CONTEXT):
            biggest = max(abs(tick) for tick in self.ticks)
            step = self.ticks[1] - self.ticks[0]
            unit, sign = _unit(biggest)
            digits = _decimals(step / unit)
            if digits > _MAX_DECIMALS and biggest < _MIN_IN_POWERS and unit > 1:
                # Far from zero and close to each other: 1000000003 is easier to read than 1.000000003B.
                unit, sign, digits = Decimal(1), "", _decimals(step)
            return [f"{tick / unit:.{digits}f}{sign}".replace("-", "−", 1) if tick else "0" for tick in self.ticks]


def scale(values: Sequence[float], *, most_steps: int, from_zero: bool) -> Scale:
    """Return an axis that covers all values in steps of 1, 2 or 5 times a power of ten.

    Zero is on it when asked for, and when it is so near that leaving it out would mislead.
    """
    with localcontext(_CONTEXT):
        low, high = decimal(min(values)), decimal(max(values))
        if from_zero or low == high or (0 < low < high / 2) or (low / 2 < high < 0):
            low, high = min(low, Decimal(0)), max(high, Decimal(0))
        if low == high:
            high = Decimal(1)
        rough = (high - low) / most_steps
        power = Decimal(1).scaleb(rough.adjusted())
        step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
        first = int((low / step).to_integral_value(ROUND_FLOOR))
        last = int((high / step).to_integral_value(ROUND_CEILING))
        return Scale(tuple(step * number for number in range(first, last + 1)))


def number(text: str) -> float | None:
    """Return the finite number a label spells out, if it does."""
    spelled = text.strip()
    if not _NUMBER.fullmatch(spelled):
        return None
    value = float(spelled)
    return value if math.isfinite(value) else None


def compact(value: float) -> str:
    """Return about four digits of a number, short enough to stand at a mark."""
    with localcontext(_CONTEXT):
        exact = decimal(value)
        if not exact:
            return "0"
        rounded = _SHORT.plus(exact)
        unit, sign = _unit(abs(rounded))
        text = f"{(rounded / unit).normalize():f}{sign}"
    return text.replace("-", "−", 1)


def plain(value: float) -> str:
    """Return the number whole, as programs read it."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def percent(share: float) -> str:
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{share * 100:.1f}".removesuffix(".0") + "%"


def _decimals(step: Decimal) -> int:
    return max(0, -int(step.normalize().as_tuple().exponent))


def _unit(biggest: Decimal) -> tuple[Decimal, str]:
    if biggest >= _MIN_IN_POWERS or 0 < biggest < _MAX_IN_POWERS:
        power = biggest.adjusted()
        return Decimal(1).scaleb(power), f"e{power}".replace("-", "−")
    if biggest >= _MIN_WITH_UNIT:
        return next((unit, sign) for unit, sign in _UNITS if biggest >= unit)
    return Decimal(1), ""
