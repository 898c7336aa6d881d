"""Pages: the numbers of a report, and the one file that it is."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from html import escape
from importlib import resources

from probewise import numerals
from probewise.markup import Content, html


def number(value: float, places: int | None = None) -> str:
    """A number with a true minus sign, to so many places or four digits; a dash for what is unknown."""
    if not math.isfinite(value):
        return "–"
    text = numerals.number(value, 4) if places is None else f"{value:,.{places}f}"
    text = text.lstrip("-") if not text.strip("-0.,") else text
    return text.replace("-", "−")


def span(low: float, high: float, places: int | None = None) -> str:
    """An interval; a dash where there is none."""
    return f"{number(low, places)} to {number(high, places)}" if math.isfinite(low) else "–"


def places_of(widths: Sequence[float]) -> int | None:
    """Places after the point at which the typical width has two digits; None if that are too many."""
    known = sorted(width for width in widths if 0 < width < math.inf)
    places = max(1 - math.floor(math.log10(known[len(known) // 2])), 0) if known else 3
    return places if places < 8 else None


def page(title: str, body: Content, *, script: str = "") -> str:
    """A whole page that may load nothing: the policy forbids every request, and every script but the one given."""
    style = resources.files("probewise.campaign.report").joinpath("report.css").read_text("utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
    own = f"<script>{script}</script>\n" if script else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
{html(body)}
{own}</body>
</html>
"""
