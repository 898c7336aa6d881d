"""Numerals: numbers as sentences have them, with no more digits than are known."""

from __future__ import annotations

import math
from collections.abc import Sequence


def plural(count: int, noun: str) -> str:
    """1 item, 2 items."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """0.95 as 95 %."""
    return f"{100.0 * share:.4g} %"


def attained(confidence: float) -> str:
    """0.8329 as "confidence 83.2 %": rounded down, and in words where nothing is left."""
    doubt = 1.0 - confidence
    if doubt < 1e-9:
        return "confidence above 99.9999999 %" if doubt > 0 or confidence < 1.0 else "confidence 100 %"
    places = max(1, math.floor(-math.log10(doubt)) - 1)
    shown = math.floor(100.0 * confidence * 10**places + 1e-9) / 10**places
    return f"confidence {shown:.{places}f} %" if shown > 0 else "no confidence yet"


def number(value: float, digits: int = 6) -> str:
    """A number with about so many digits and separated thousands, without zeros at the end."""
    if not math.isfinite(value):
        return "∞" if value > 0 else str(value)
    if value == 0 or 1e-3 <= abs(value) < 1e9:
        size = 0 if value == 0 else math.floor(math.log10(abs(value)))
        text = f"{value:,.{min(6, max(0, digits - 1 - size))}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:.3g}"


def three_digits(value: float) -> str:
    """Three digits, without an exponent where it can be read without."""
    return f"{float(f'{value:.3g}'):,.0f}" if 1e3 <= abs(value) < 1e12 else f"{value:.3g}"


def with_width(value: float, width: float) -> str:
    """3.14 ± 0.42: the width with two digits, the value to the same place; no more digits than are known."""
    if math.isnan(value):
        return "unknown"
    if not 0 < width < math.inf:
        return three_digits(value)
    width = float(f"{width:.1e}")
    places = 1 - math.floor(math.log10(width))
    if places <= 0:
        unit = 10.0**-places
        return f"{round(value / unit) * unit:,.0f} ± {round(width / unit) * unit:,.0f}"
    return f"{value:,.{places}f} ± {width:,.{places}f}" if places < 8 else f"{value:.3g} ± {width:.2g}"


def listed(names: Sequence[str]) -> str:
    """Some names in one phrase: A, B and C."""
    return "".join(names) if len(names) <= 1 else f"{', '.join(names[:-1])} and {names[-1]}"
