"""Axes and their ticks, and numbers short enough to stand in a picture; the same in every locale.

Decimal throughout: a float is taken by its shortest spelling, so that 0.1 is a tick of its own axis, and neither
1e308 nor 5e-324 overflows or underflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal, localcontext

_CONTEXT = Context(prec=34)
_FOUR_DIGITS = Context(prec=4, rounding=ROUND_HALF_UP)
_FIVE_DIGITS = Context(prec=5, rounding=ROUND_HALF_UP)
Units = tuple[tuple[Decimal, str], ...]
"""What large numbers are counted in, the largest first: thousands and millions, or 만 and 억."""

_ENGLISH_UNITS: Units = ((Decimal("1e12"), "T"), (Decimal("1e9"), "B"), (Decimal("1e6"), "M"), (Decimal("1e3"), "K"))
_MIN_GROUPED = Decimal(10_000)
"""Four digits have no separator, because they may be years."""
_MIN_WITH_UNIT = Decimal(100_000)
"""Five digits are read at a glance: nobody writes 17,650 as 1.765만."""
_MIN_LARGE_EXPONENTIAL = Decimal("1e15")
_MAX_SMALL_EXPONENTIAL = Decimal("1e-4")
_MAX_DECIMALS = 3


def exact_decimal(value: float) -> Decimal:
    return Decimal(repr(float(value)))


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis: where it begins and ends, and its ticks from one end to the other."""

    ticks: tuple[Decimal, ...]

    def share(self, value: float | Decimal) -> float:
        """Return how far along the axis a value lies, from 0 to 1."""
        low, high = self.ticks[0], self.ticks[-1]
        exact = value if isinstance(value, Decimal) else exact_decimal(value)
        with localcontext(_CONTEXT):
            return min(1.0, max(0.0, float((exact - low) / (high - low))))

    def labels(self, units: Units = _ENGLISH_UNITS) -> list[str]:
        """Return the ticks as texts, with as many digits as tell them apart."""
        with localcontext(_CONTEXT):
            largest = max(abs(tick) for tick in self.ticks)
            step = self.ticks[1] - self.ticks[0]
            unit, suffix = _unit(largest, units)
            digits = _decimals(step / unit)
            if digits > _MAX_DECIMALS and largest < _MIN_LARGE_EXPONENTIAL and unit > 1:
                # Far from zero and close to each other: 1000000003 is easier to read than 1.000000003B.
                unit, suffix, digits = Decimal(1), "", _decimals(step)
            group = "" if largest < _MIN_GROUPED else ","
            texts = (f"{tick / unit:{group}.{digits}f}{suffix}" if tick else "0" for tick in self.ticks)
            return [text.replace("-", "−", 1) for text in texts]


def fit_scale(values: Sequence[float], *, max_steps: int, from_zero: bool) -> Scale:
    """Return an axis that covers all values in steps of 1, 2 or 5 times a power of ten, or of 25, 250 and so on.

    Zero is on it when asked for, and when it is so near that leaving it out would mislead.
    """
    with localcontext(_CONTEXT):
        low, high = exact_decimal(min(values)), exact_decimal(max(values))
        if from_zero or low == high or (0 < low < high / 2) or (low / 2 < high < 0):
            low, high = min(low, Decimal(0)), max(high, Decimal(0))
        if low == high:
            high = Decimal(1)
        min_step = (high - low) / max_steps
        power = Decimal(1).scaleb(min_step.adjusted())
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= min_step)
        if step == 5 * power and power >= 10 and step / 2 >= min_step and _empty(high, step) > (high - low) / 6:
            step /= 2  # 25 and 250 count well; 2.5 does not: often what is counted are whole things
        first = int((low / step).to_integral_value(ROUND_FLOOR))
        last = int((high / step).to_integral_value(ROUND_CEILING))
        return Scale(tuple(step * number for number in range(first, last + 1)))


def _empty(high: Decimal, step: Decimal) -> Decimal:
    """Return how much of an axis with this step stays empty above the highest value."""
    return (high / step).to_integral_value(ROUND_CEILING) * step - high


def parse_units(text: str) -> Units:
    """Return the units that a translation names, such as `K 1e3 M 1e6`."""
    words = text.split()
    units = [(Decimal(size), name) for name, size in zip(words[::2], words[1::2], strict=True)]
    return tuple(sorted(units, reverse=True))


def compact_number(value: float, units: Units = _ENGLISH_UNITS) -> str:
    """Return four digits of a number, or five where it needs no unit for them: short enough to stand at a mark."""
    with localcontext(_CONTEXT):
        exact = exact_decimal(value)
        if not exact:
            return "0"
        is_five_digits = _MIN_GROUPED <= abs(exact) < _MIN_WITH_UNIT
        rounded = (_FIVE_DIGITS if is_five_digits else _FOUR_DIGITS).plus(exact)
        unit, suffix = _unit(abs(rounded), units)
        text = f"{(rounded / unit).normalize():,f}{suffix}"
    return text.replace("-", "−", 1)


def format_percent(share: float) -> str:
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{share * 100:.1f}".removesuffix(".0") + "%"


def _decimals(step: Decimal) -> int:
    return max(0, -int(step.normalize().as_tuple().exponent))


def _unit(largest: Decimal, units: Units) -> tuple[Decimal, str]:
    if largest >= _MIN_LARGE_EXPONENTIAL or 0 < largest < _MAX_SMALL_EXPONENTIAL:
        power = largest.adjusted()
        return Decimal(1).scaleb(power), f"e{power}".replace("-", "−")
    if largest >= _MIN_WITH_UNIT:
        return next((unit, suffix) for unit, suffix in units if largest >= unit)
    return Decimal(1), ""
