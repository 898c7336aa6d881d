"""Pictures of a report: plain SVG, coloured by the style sheet, so that they follow light, dark and paper."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from probewise.campaign.report.page import number
from probewise.markup import Html

WIDTH = 944.0
"""Width of a picture as wide as the page, in units of about one pixel."""
LETTERS = 44
"""Largest number of letters of a name beside a row."""
PANEL = (300.0, 164.0)
"""Width and height of a small picture."""


@dataclass(frozen=True)
class Bar:
    """One row of a picture of intervals."""

    name: str
    value: float
    low: float
    high: float
    state: str
    """Class of the style sheet."""
    text: str
    """Text beside the bar."""


@dataclass(frozen=True)
class Axis:
    """A linear scale from numbers to places."""

    low: float
    high: float
    start: float
    """Where ``low`` is."""
    end: float
    """Where ``high`` is."""

    def __call__(self, value: float) -> float:
        """The place of a number; the nearest end for one that lies outside."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers on the axis."""
        raw = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= raw * (1.0 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [step * k for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def axis(values: Sequence[float], start: float, end: float, *, pad: float = 0.06) -> Axis:
    """A scale that holds all finite values, with some room."""
    known = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    room = pad * (high - low) or abs(high) or 1.0
    return Axis(low - room, high + room, start, end)


def intervals(bars: Sequence[Bar], *, more: str, label: str, alt: str) -> Html:
    """Estimates with intervals, one row each, against 0; ``more`` says what is left out.

    The axis holds all estimates and most intervals; where one leaves it, an arrow says so.
    """
    left, right, step = _room(bar.name for bar in bars), WIDTH - 150.0, 25.0
    widths = sorted(bar.high - bar.value for bar in bars if math.isfinite(bar.high))
    typical = widths[len(widths) // 2] if widths else 0.0
    reach = [(bar.value, min(bar.high - bar.value, 3.0 * typical)) for bar in bars if not math.isnan(bar.value)]
    scale = axis([0.0, *(value + sign * width for value, width in reach for sign in (-1, 1))], left, right, pad=0.02)
    bottom = step * (len(bars) + bool(more)) + 6.0
    out = [_tick(scale, value, bottom) for value in scale.ticks()]
    out.append(f'<line class="zero" x1="{scale(0)}" x2="{scale(0)}" y1="0" y2="{bottom}"/>')
    out += [_interval(bar, scale, (row + 0.5) * step) for row, bar in enumerate(bars)]
    if more:
        out.append(f'<text class="soft" x="0" y="{(len(bars) + 0.5) * step + 4}">{escape(more)}</text>')
    out.append(f'<text class="soft mid" x="{(left + right) / 2}" y="{bottom + 36}">{escape(label)}</text>')
    return _svg(WIDTH, bottom + 42.0, out, alt)


def _interval(bar: Bar, scale: Axis, y: float) -> str:
    name = (
        f'<text class="{"strong" if bar.state == "best" else ""}" x="0" y="{y + 4}">{_title(bar.name, LETTERS)}</text>'
    )
    text = f'<text class="end soft" x="{WIDTH}" y="{y + 4}">{escape(bar.text)}</text>'
    if math.isnan(bar.value):
        return f'<g class="{bar.state}">{name}{text}</g>'
    low, high = scale(bar.low), scale(bar.high)
    heads = "".join(
        f'<path class="span" fill="none" d="M{at - 5 * sign} {y - 4}L{at} {y}L{at - 5 * sign} {y + 4}"/>'
        for at, sign, beyond in ((low, -1, bar.low < scale.low), (high, 1, bar.high > scale.high))
        if beyond
    )
    line = f'<line class="span" x1="{low}" x2="{high}" y1="{y}" y2="{y}"/>'
    dot = f'<circle class="dot" cx="{scale(bar.value)}" cy="{y}" r="4"/>'
    return f'<g class="{bar.state}">{name}{line}{heads}{dot}{text}</g>'


def funnel(rounds: Sequence[int], values: Sequence[float], widths: Sequence[float], alt: str) -> Html:
    """An estimate by round inside its interval, against 0."""
    x, y = _frame(rounds), None
    shown = [(r, v, w) for r, v, w in zip(rounds, values, widths, strict=True) if math.isfinite(v) and math.isfinite(w)]
    if not shown:
        return _svg(*PANEL, ['<text class="soft" x="0" y="20">not known yet</text>'], alt)
    middle = sorted(w for _, _, w in shown)[len(shown) // 2]
    final = shown[-1][1]
    y = axis([0.0, final + 1.2 * middle, final - 1.2 * middle, *(v for _, v, _ in shown[len(shown) // 2 :])], 142, 6)
    upper = [f"{x(r)} {y(v + w)}" for r, v, w in shown]
    lower = [f"{x(r)} {y(v - w)}" for r, v, w in reversed(shown)]
    out = [_level(y, value) for value in y.ticks(4)]
    out.append(f'<line class="zero" x1="{x.start}" x2="{x.end}" y1="{y(0)}" y2="{y(0)}"/>')
    out.append(f'<path class="band" d="M{"L".join(upper + lower)}Z"/>')
    out.append(f'<path class="line" d="M{"L".join(f"{x(r)} {y(v)}" for r, v, _ in shown)}"/>')
    out.append(f'<circle class="fill" cx="{x(shown[-1][0])}" cy="{y(final)}" r="3.5"/>')
    return _svg(*PANEL, out + _rounds(x, rounds), alt)


def stairs(rounds: Sequence[int], values: Sequence[float], start: float, alt: str) -> Html:
    """A count by round, on a scale of logarithms if it falls or grows by more than a factor of 50."""
    x = _frame([0, *rounds])
    every = [start, *values]
    steep = min(every) >= 1 and max(every) > 50 * min(every)
    y = Axis(0.0, math.log10(max(every)) if steep else 1.05 * max(every, default=1.0) or 1.0, 142, 6)

    def place(value: float) -> float:
        return y(math.log10(value) if steep else value)

    ticks = [10.0**k for k in range(int(y.high) + 1)] if steep else [t for t in y.ticks(4) if t == int(t)]
    out = [
        f'<line class="grid" x1="{x.start}" x2="{x.end}" y1="{place(t)}" y2="{place(t)}"/>'
        f'<text class="soft end" x="{x.start - 6}" y="{place(t) + 4}">{number(t, 0)}</text>'
        for t in ticks
    ]
    path, before = f"M{x(0)} {place(start)}", start
    for round_, value in zip(rounds, values, strict=True):
        path += f"L{x(round_)} {place(before)}L{x(round_)} {place(value)}"
        before = value
    out.append(f'<path class="line" d="{path}"/>')
    out.append(f'<circle class="fill" cx="{x(rounds[-1] if rounds else 0)}" cy="{place(before)}" r="3.5"/>')
    return _svg(*PANEL, out + _rounds(x, [0, *rounds]), alt)


def counts(rows: Sequence[tuple[str, float, str]], alt: str) -> Html:
    """Names with a bar and a text each."""
    left, step = _room(name for name, _, _ in rows), 23.0
    scale = Axis(0.0, max((value for _, value, _ in rows), default=1.0) or 1.0, 0.0, WIDTH - left - 260.0)
    out = []
    for row, (name, value, text) in enumerate(rows):
        y, width = row * step, max(scale(value), 1.0)
        out.append(f'<text x="0" y="{y + 15}">{_title(name, LETTERS)}</text>')
        out.append(f'<rect class="fill" x="{left}" y="{y + 4}" width="{width}" height="14" rx="2"/>')
        out.append(f'<text class="soft" x="{left + width + 8}" y="{y + 15}">{escape(text)}</text>')
    return _svg(WIDTH, step * len(rows), out, alt)


def agreement(points: Sequence[tuple[str, float, float, float]], named: Sequence[str], alt: str) -> Html:
    """What probes read against what the model says, with two standard errors; (name, model, mean, error) each."""
    side, low = 340.0, 44.0
    ends = [value for _, model, mean, error in points for value in (model, mean - 2 * error, mean + 2 * error)]
    x, y = axis(ends, low, side), axis(ends, side - 40.0, 6.0)
    out = [_level(y, value, end=side) for value in y.ticks(5)]
    out += [f'<text class="soft mid" x="{x(v)}" y="{side - 22}">{number(v)}</text>' for v in x.ticks(5)]
    out.append(f'<line class="zero" x1="{x(x.low)}" y1="{y(y.low)}" x2="{x(x.high)}" y2="{y(y.high)}"/>')
    for name, model, mean, error in points:
        px, py = x(model), y(mean)
        out.append(f'<line class="span" x1="{px}" x2="{px}" y1="{y(mean - 2 * error)}" y2="{y(mean + 2 * error)}"/>')
        out.append(f'<circle class="fill" cx="{px}" cy="{py}" r="3.2"><title>{escape(name)}</title></circle>')
    shown = [(name, x(model), y(mean) + 4) for name, model, mean, _ in points if name in named]
    for (name, px, _), py in zip(shown, _apart([at for _, _, at in shown]), strict=True):
        side_, shift = ("end", -8) if px > 0.6 * side else ("", 8)
        out.append(f'<text class="{side_}" x="{px + shift}" y="{py}">{_title(name, 18)}</text>')
    out.append(f'<text class="soft mid" x="{(low + side) / 2}" y="{side - 4}">what the model says</text>')
    return _svg(side, side, out, alt)


def _apart(wanted: Sequence[float], least: float = 14.0) -> list[float]:
    """Heights of lines of text in the order of those wanted, moved down where they would overlap."""
    placed: dict[int, float] = {}
    below = -math.inf
    for line in sorted(range(len(wanted)), key=wanted.__getitem__):
        placed[line] = below = max(wanted[line], below + least)
    return [placed[line] for line in range(len(wanted))]


def _svg(width: float, height: float, parts: Sequence[str], alt: str) -> Html:
    box = f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(alt)}"'
    size = f' class="w{width:g}"' if width < WIDTH else ""  # the style sheet has the widths
    return Html(f"<svg {box}{size}>{''.join(parts)}</svg>")


def _title(name: str, most: int) -> str:
    """A name of at most so many letters, whole where the pointer rests; long names often differ at their end."""
    if len(name) <= most:
        return escape(name)
    half = (most - 1) // 2
    return f"{escape(name[:half])}…{escape(name[-half:])}<title>{escape(name)}</title>"


def _room(names: Iterable[str]) -> float:
    """What the longest name needs, and a gap."""
    return 40.0 + 6.8 * min(max((len(name) for name in names), default=0), LETTERS)


def _tick(scale: Axis, value: float, bottom: float) -> str:
    at = scale(value)
    line = f'<line class="grid" x1="{at}" x2="{at}" y1="0" y2="{bottom}"/>'
    return f'{line}<text class="soft mid" x="{at}" y="{bottom + 16}">{number(value)}</text>'


def _level(scale: Axis, value: float, *, start: float = 44.0, end: float = PANEL[0]) -> str:
    at = scale(value)
    line = f'<line class="grid" x1="{start}" x2="{end}" y1="{at}" y2="{at}"/>'
    return f'{line}<text class="soft end" x="{start - 6}" y="{at + 4}">{number(value)}</text>'


def _frame(rounds: Sequence[int]) -> Axis:
    """Rounds from left to right."""
    low, high = min(rounds, default=0), max(rounds, default=1)
    return Axis(low, max(high, low + 1), 44.0, PANEL[0] - 4.0)


def _rounds(x: Axis, rounds: Sequence[int]) -> list[str]:
    ticks = [value for value in x.ticks(6) if value == int(value) and value >= min(rounds, default=0)]
    return [f'<text class="soft mid" x="{x(v)}" y="160">{int(v)}</text>' for v in ticks]
