"""The arena's page: who needs how much, as pictures and as a table that can be sorted, in one file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from pathlib import Path

from probewise.algorithms import algorithm_named
from probewise.campaign.report.page import number, page
from probewise.experiments.arena import MOST, Cell, geometric_mean
from probewise.experiments.grounds import GROUNDS, Kind
from probewise.markup import Content, Html, badge, facts, joined, paragraphs, section, sideways, table, tag, void
from probewise.simulation.engine import versions

OURS: dict[Kind, str] = {"items": "sage", "sets": "sage-sets", "links": "sage-glm"}
"""The method with which others are compared, on instances of each kind."""
_TITLES: dict[Kind, str] = {"items": "Items", "sets": "Sets that are not listed", "links": "Outcomes with a link"}
_WIDTH, _LEFT, _STEP = 944.0, 180.0, 22.0


def write(cells: Sequence[Cell], folder: Path, *, scale: str, seed: int) -> list[Path]:
    """arena.html for people and arena.json for others, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "arena.html", folder / "arena.json"]
    paths[0].write_text(drawn(cells, scale=scale, seed=seed), "utf-8")
    paths[1].write_text(
        json.dumps(as_json(cells, scale=scale, seed=seed), indent=1, ensure_ascii=False) + "\n", "utf-8"
    )
    return paths


def as_json(cells: Sequence[Cell], *, scale: str, seed: int) -> dict[str, object]:
    """Everything on the page, for other programs; what is not a number is null."""
    kept = [
        {name: _plain(value) for name, value in cell._asdict().items()} | {"ratio": _plain(cell.ratio)}
        for cell in cells
    ]
    grounds = {
        name: {"source": GROUNDS[name].source, "why": GROUNDS[name].why, "kind": GROUNDS[name].kind}
        for name in _names(cells, "instance")
    }
    return {"scale": scale, "seed": seed, "versions": versions(), "instances": grounds, "cells": kept}


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def drawn(cells: Sequence[Cell], *, scale: str, seed: int) -> str:
    """The whole page."""
    parts: list[Content] = [
        tag("p", "probewise arena", class_="over"),
        tag("h1", _headline(cells)),
        paragraphs(
            "Each method answers the question of each instance of its kind, with the settings that it has by default. "
            "Its measurements are divided by the certified limit of the instance, below which no method that keeps "
            f"its δ can be on average. A run is given up after {MOST:,} times the limit.",
            class_="lead",
        ),
        *_picture_sections(cells),
        _beside(cells),
        _losses(cells),
        _every(cells),
        _instances(cells),
        section("How it was run", facts(_how(cells, scale, seed)), id_="how"),
    ]
    return page("The arena", joined(parts), script=_script())


def _script() -> str:
    return resources.files("probewise.experiments").joinpath("arena.js").read_text("utf-8")


def _headline(cells: Sequence[Cell]) -> str:
    """Who needs the fewest for items, of those with a proof."""
    items = next((own for kind, own in _by_kind(cells) if kind == "items"), [])
    ranked = _ranked([cell for cell in items if cell.proven and not cell.refused])
    if len(ranked) < 2:
        return "The arena"
    (first, one), (second, two) = ranked[:2]
    return f"{first} needs {one:.2g} times the limit; {second}, the next one with a proof, {two:.2g} times"


def _by_kind(cells: Sequence[Cell]) -> list[tuple[Kind, list[Cell]]]:
    """Cells by the kind of their instances, of the kinds that there are."""
    parts = ((kind, [cell for cell in cells if GROUNDS[cell.instance].kind == kind]) for kind in OURS)
    return [(kind, own) for kind, own in parts if own]


def _ours(cell: Cell) -> str:
    return OURS[GROUNDS[cell.instance].kind]


def _ranked(cells: Iterable[Cell]) -> list[tuple[str, float]]:
    """Methods by the geometric mean over the instances that all of those listed can do, the best first."""
    done = [cell for cell in cells if not cell.refused]
    shared = _shared(done)
    means = {
        name: geometric_mean(c for c in done if c.method == name and (c.instance, c.delta) in shared)
        for name in _names(done, "method")
    }
    return sorted(((name, mean) for name, mean in means.items() if math.isfinite(mean)), key=lambda pair: pair[1])


def _shared(cells: Sequence[Cell]) -> set[tuple[str, float]]:
    """Instances and δ that most methods could do: those that at least half of them did."""
    methods = _names(cells, "method")
    places = {(cell.instance, cell.delta) for cell in cells}
    return {place for place in places if 2 * sum((c.instance, c.delta) == place for c in cells) >= len(methods)}


def summary(cells: Sequence[Cell]) -> list[tuple[str, ...]]:
    """A row for each method, the best first: whether it has a proof, its mean, instances done, wrong answers."""
    rows: list[tuple[str, ...]] = []
    for name, mean in (pair for _, own in _by_kind(cells) for pair in _ranked(own)):
        own = [cell for cell in cells if cell.method == name and not cell.refused]
        proof = "proven" if all(cell.proven for cell in own) else "heuristic"
        wrong = f"{sum(cell.wrong for cell in own)} of {sum(cell.runs for cell in own)}"
        rows.append((name, proof, f"{mean:.2f}", str(len(own)), wrong))
    return rows


def _names(cells: Sequence[Cell], field: str) -> list[str]:
    return list(dict.fromkeys(getattr(cell, field) for cell in cells))


_CAPTION = (
    "One dot for each instance, on a logarithmic scale; the bar is the geometric mean. Full dots: the method has a "
    "proof; open dots: its threshold is heuristic. Methods are ordered by the mean over the instances that at least "
    "half of them can do."
)


def _picture_sections(cells: Sequence[Cell]) -> list[Html]:
    """A picture for each kind of instances and each δ; the first says how to read them."""
    out: list[Html] = []
    for kind, own in _by_kind(cells):
        for delta in sorted({cell.delta for cell in own}, reverse=True):
            done = [cell for cell in own if cell.delta == delta and not cell.refused]
            said = [] if out else [tag("figcaption", _CAPTION)]
            out.append(
                section(
                    f"{_TITLES[kind]}: measurements at δ = {delta:g}, in multiples of the limit",
                    tag("figure", tag("div", _dots(done), class_="pic"), *said),
                    id_=f"{kind}-{delta:g}",
                )
            )
    return out


def _dots(cells: Sequence[Cell]) -> Html:
    """A row of dots for each method."""
    ranked = _ranked(cells)
    highest = max((math.log10(cell.ratio) for cell in cells), default=1.0)
    end = max(math.ceil(2 * highest) / 2, 1.0)

    def x(ratio: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - 70) * max(math.log10(ratio), -0.3) / end, 1)

    bottom = _STEP * len(ranked) + 6
    out = [
        f'<line class="grid" x1="{x(10.0**k)}" x2="{x(10.0**k)}" y1="0" y2="{bottom}"/>'
        f'<text class="soft mid" x="{x(10.0**k)}" y="{bottom + 16}">{10**k:,}</text>'
        for k in range(math.floor(end) + 1)
    ]
    for row, (name, mean) in enumerate(ranked):
        y = _STEP * (row + 0.5)
        own = [cell for cell in cells if cell.method == name]
        state = "leading" if name in OURS.values() else ""
        out.append(f'<g class="{state}"><text x="0" y="{y + 4}">{escape(name)}</text>')
        out.append(f'<line class="span" x1="{x(mean)}" x2="{x(mean)}" y1="{y - 7}" y2="{y + 7}"/>')
        for cell in own:
            hollow = "" if cell.proven else ' fill-opacity="0"'
            said = f"{name}, {cell.instance}: {number(cell.ratio, 2)} times the limit"
            out.append(
                f'<circle class="dot" cx="{x(cell.ratio)}" cy="{y}" r="3.4"{hollow}>'
                f"<title>{escape(said)}</title></circle>"
            )
        out.append(f'<text class="soft end" x="{_WIDTH}" y="{y + 4}">{number(mean, 2)}</text></g>')
    label = "times the limit; the number is the geometric mean"
    out.append(f'<text class="soft mid" x="{(_LEFT + _WIDTH) / 2}" y="{bottom + 36}">{label}</text>')
    alt = "Measurements of every method in multiples of the limit"
    box = f'viewBox="0 0 {_WIDTH:g} {bottom + 42:g}" role="img" aria-label="{alt}"'
    return Html(f"<svg {box}>{''.join(out)}</svg>")


def _beside(cells: Sequence[Cell]) -> Html:
    """Each method against ours of the same kind, over what both did, and whether both have a proof."""
    own = {(cell.instance, cell.delta): cell for cell in cells if cell.method == _ours(cell) and not cell.refused}
    rows = []
    for name in _names(cells, "method"):
        theirs = [c for c in cells if c.method == name and not c.refused and (c.instance, c.delta) in own]
        if name in OURS.values() or not theirs:
            continue
        factor = math.exp(sum(math.log(c.ratio / own[c.instance, c.delta].ratio) for c in theirs) / len(theirs))
        proof = (
            badge("both have a proof", "best")
            if all(c.proven for c in theirs)
            else badge("theirs is heuristic", "doubtful")
        )
        short = sum(c.unfinished > 0 for c in theirs)
        times = number(factor, 2) + (" at least" if short else "")
        rows.append((factor, (name, times, _ours(theirs[0]), len(theirs), proof)))
    body = table(
        ("method", "measurements", "where 1 is", "instances", "this comparison"),
        [row for _, row in sorted(rows, key=lambda pair: pair[0])],
        kinds="tntnt",
    )
    return section("Beside Sage", body, id_="beside")


def _losses(cells: Sequence[Cell]) -> Html:
    """Where another method needed fewer measurements, said plainly."""
    items = (
        tag("ul", *(tag("li", line) for line in said), class_="plain")
        if (said := losses(cells))
        else paragraphs("Nowhere did another method need fewer measurements than Sage.")
    )
    return section("Where Sage loses", items, id_="losses")


def losses(cells: Sequence[Cell]) -> list[str]:
    """A sentence for each cell in which another method needed fewer measurements than ours."""
    own = {(cell.instance, cell.delta): cell for cell in cells if cell.method == _ours(cell) and not cell.refused}
    said = []
    for cell in cells:
        ours = own.get((cell.instance, cell.delta))
        if cell.refused or ours is None or cell.method == ours.method or cell.unfinished:
            continue
        spread = math.hypot(*(e if math.isfinite(e) else 0.0 for e in (cell.standard_error, ours.standard_error)))
        if cell.measurements < ours.measurements:
            sure = "beyond" if ours.measurements - cell.measurements > 2 * spread else "within"
            proof = "proven" if cell.proven else "heuristic"
            said.append(
                f"{cell.instance}, δ = {cell.delta:g}: {cell.method} ({proof}{_told(cell.method)}) needed "
                f"{number(cell.measurements, 0)}, "
                f"{ours.method} {number(ours.measurements, 0)}; {sure} two standard errors of the difference."
            )
    return said


def _told(method: str) -> str:
    """What a method was told of the truth, if anything."""
    kind = algorithm_named(method)
    return "" if kind is None or kind.needs.startswith("nothing") else f", told {kind.needs}"


HEADER = (
    "method", "proof", "instance", "δ", "runs", "measurements", "± s.e.", "× limit", "wrong", "≤", "given up",
    "s per run",
)  # fmt: skip
_SORTS = (
    "A click on a heading sorts. ≤ is the upper end of the exact 99 % interval of the share of wrong answers: with few "
    "runs it says little."
)


def _every(cells: Sequence[Cell]) -> Html:
    """Every cell; the script sorts it by the column that is clicked, and keeps the rows that hold what is typed."""
    head = tag("tr", *(tag("th", tag("button", name, type="button"), scope="col") for name in HEADER))
    rows = (_row(cell) for cell in cells if not cell.refused)
    find = tag("label", "Show rows with ", void("input", type="search", id="find", size="24"), class_="note")
    body = sideways(tag("table", tag("thead", head), tag("tbody", joined(rows)), id="cells"), "wide")
    return section("Every cell", paragraphs(_SORTS), find, body, id_="every")


def _row(cell: Cell) -> Html:
    """One cell: what is shown, and by what it is sorted."""
    values: tuple[tuple[Content, object], ...] = (
        (cell.method, cell.method),
        ("proven" if cell.proven else "heuristic", "proven" if cell.proven else "heuristic"),
        (cell.instance, cell.instance),
        (f"{cell.delta:g}", cell.delta),
        (cell.runs, cell.runs),
        (number(cell.measurements, 0), cell.measurements),
        (number(cell.standard_error, 0), cell.standard_error),
        (number(cell.ratio, 2), cell.ratio),
        (cell.wrong, cell.wrong),
        (number(cell.high, 3), cell.high),
        (cell.unfinished, cell.unfinished),
        (number(cell.seconds, 3), cell.seconds),
    )
    kinds = ("" if isinstance(key, str) else "n" for _, key in values)
    return tag(
        "tr",
        *(tag("td", shown, data_sort=str(key), class_=kind) for (shown, key), kind in zip(values, kinds, strict=True)),
    )


def _instances(cells: Sequence[Cell]) -> Html:
    rows = []
    for name in _names(cells, "instance"):
        limits = sorted(
            {(c.delta, c.limit) for c in cells if c.instance == name and math.isfinite(c.limit)}, reverse=True
        )
        said = ", ".join(f"{number(limit, 0)} at δ = {delta:g}" for delta, limit in limits)
        rows.append((name, GROUNDS[name].source, GROUNDS[name].why, said))
    parts: list[Content] = [table(("instance", "from", "what it is", "certified limit"), rows, kinds="tt--")]
    for title, cut in (("What cannot be done", False), ("What was cut for time", True)):
        if said_by := _without([cell for cell in cells if cell.refused and cell.cut == cut]):
            parts += [tag("h3", title), table(("method", "instances", "what it says"), said_by, kinds="t--")]
    return section("Instances", *parts, id_="instances")


def _without(cells: Sequence[Cell]) -> list[tuple[str, str, str]]:
    """A row for each method and what it says, with the instances on which there is no result for that reason."""
    places: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        places.setdefault((cell.method, cell.refused), []).append(cell.instance)
    return [(method, ", ".join(dict.fromkeys(where)), why) for (method, why), where in places.items()]


def _how(cells: Sequence[Cell], scale: str, seed: int) -> list[tuple[str, Content]]:
    again = f"probewise arena --scale {scale} --seed {seed} --out FOLDER"
    return [
        ("again", tag("code", again)),
        ("runs", f"{sum(cell.runs for cell in cells):,} in {sum(not cell.refused for cell in cells)} cells"),
        ("cut for time", f"{sum(cell.cut for cell in cells)} cells: their method is not compared there"),
        ("processor", f"{sum(cell.spent for cell in cells) / 60:.1f} minutes for all cells, with compilation"),
        ("versions", ", ".join(f"{name} {version}" for name, version in versions().items())),
        ("seconds", "of one process on the machine that ran it; compare them with each other only"),
    ]  # fmt: skip
