"""What a person wants to know at the end: recipes, effects with intervals, and what a decision leaves open."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import probewise as pw
from probewise.campaign import Memory
from probewise.campaign.findings.effects import Effect, effects, grouped, reach
from probewise.campaign.findings.words import APART
from probewise.cli import main
from probewise.confidence import mixture_width
from probewise.estimate import least_squares
from probewise.measurements import Measurements
from probewise.model.contrasts import contrasts
from probewise.pooling import Pooled
from probewise.tables import Table

PROBES = [(a, b, t, u) for a in "AB" for b in "XYZ" for t, u in ((10, 1), (20, 3), (40, 2))]
ITEMS = [("A", "X", 25, 1), ("A", "Y", 10, 2), ("B", "Y", 30, 3), ("B", "X", 40, 2), ("B", "X", 12, 1)]  # no Z
HEADER = ("base", "acid", "dose", "hours")


def table(rows: list[tuple[str, str, float, float]], name: str) -> Table:
    return Table(name, HEADER, [list(map(str, column)) for column in zip(*rows, strict=True)])  # type: ignore[arg-type]


def problem(model: str, sigma: float = 1.0) -> pw.Problem:
    return pw.Problem.from_tables(table(PROBES, "probes"), table(ITEMS, "items"), model=model, sigma=sigma)


@pytest.mark.parametrize(
    "model", ["main", "interactions", "quadratic", "base*acid + acid:dose + dose^2 + hours + dose"]
)
def test_effects_are_differences_of_predictions_averaged_over_the_items(model: str) -> None:
    """Each contrast is what the model says of two tables of items in which only one column differs."""
    own = problem(model)
    assert own.model is not None
    theta = np.random.default_rng(0).normal(size=own.dimension)

    def mean(column: str, value: object) -> float:
        at = HEADER.index(column)
        rows = [(*row[:at], value, *row[at + 1 :]) for row in ITEMS]
        return float((own.model.coded(table(rows, "changed")).values @ theta).mean())  # type: ignore[union-attr, arg-type]

    found = contrasts(own.model, own.probes, own.items)
    levels = {"base": ("A", "B"), "acid": ("X", "Y")}  # Z is in no item
    assert {(c.column, c.what) for c in found if c.span is None} == {(f, level) for f in levels for level in levels[f]}
    for contrast in found:
        if contrast.span is None:
            own_levels = [mean(contrast.column, level) for level in levels[contrast.column]]
            expected = mean(contrast.column, contrast.what) - float(np.mean(own_levels))
        else:
            low, high = map(float, contrast.what.split(" to "))
            expected = mean(contrast.column, high) - mean(contrast.column, low)
            assert contrast.span == pytest.approx(high - low)
        assert (contrast.above - contrast.below) @ theta == pytest.approx(expected)
    doses = [c.what for c in found if c.column == "dose"]
    assert doses == (["10 to 25", "25 to 40"] if "^2" in model or model == "quadratic" else ["10 to 40"])
    assert any(c.averaged for c in found) == (model != "main")


def test_effects_share_delta_and_say_what_is_not_determined() -> None:
    own, goal = problem("main", sigma=0.5), pw.BestItem(0.1)
    rng, index = np.random.default_rng(1), np.repeat(np.arange(own.n_probes), 2)
    theta = rng.normal(size=own.dimension)
    data = Measurements.from_outcomes(
        own.n_probes, index, own.probes[index] @ theta + 0.5 * rng.normal(size=index.size)
    )
    fit = least_squares(own.probes, data, sigma=own.sigma)
    found = effects(own, goal, Pooled((fit,)), fit)
    assert [e.column for e in found] == ["base", "base", "acid", "acid", "dose", "hours"]
    assert own.model is not None
    for effect, contrast in zip(found, contrasts(own.model, own.probes, own.items), strict=True):
        row = contrast.above - contrast.below
        precision = np.array([1.0 / fit.variance(row[None])[0]])
        width = mixture_width(precision, precision, 0.1 / 6)[0]
        assert effect.estimate == pytest.approx(row @ fit.theta)
        assert effect.high == pytest.approx(row @ fit.theta + width)
        assert effect.low == pytest.approx(row @ fit.theta - width)
        assert effect.low is not None
        assert effect.high is not None
        assert effect.low < row @ theta < effect.high
        if contrast.span is not None:
            assert effect.per_unit == pytest.approx(row @ fit.theta / contrast.span)
    few = Measurements.from_outcomes(own.n_probes, np.array([0, 1]), np.array([1.0, 2.0]))  # one base, one acid
    poor = least_squares(own.probes, few, sigma=own.sigma)
    unknown = [e for e in effects(own, goal, Pooled((poor,)), poor) if e.estimate is None]
    assert {e.column for e in unknown} == {"base", "acid", "dose", "hours"}  # dose and hours change together here
    assert {e.note for e in unknown} == {"not determined by the probes measured so far"}
    only = effects(own, goal, Pooled((poor,)), fit)
    assert {e.note for e in only} == {"no round determines it by itself, so there is no interval"}
    assert effects(pw.Problem(np.eye(2)), goal, Pooled((fit,)), fit) == ()


def test_columns_are_ranked_by_how_far_they_move_the_outcome() -> None:
    def effect(column: str, estimate: float | None, against: str = "") -> Effect:
        return Effect(column, "", against, estimate, None, None, None, "")

    bent = [effect("dose", 3.0), effect("dose", -2.5)]  # up and down again
    levels = [effect("acid", -1.0, "mean"), effect("acid", 1.0, "mean")]
    assert [reach(bent), reach(levels), reach([effect("x", None)])] == [3.0, 2.0, 0.0]
    order = grouped([*levels, *bent])
    assert [[e.estimate for e in group] for group in order] == [[3.0, -2.5], [1.0, -1.0]]


def run(*words: object) -> str:
    result = CliRunner().invoke(main, list(map(str, words)))
    assert result.exit_code in (0, 1), result.output
    return result.output


def test_the_end_of_a_campaign(tmp_path: Path) -> None:
    """The whole recipe, the effects, no cost that nobody gave, and beside the decision what was not checked."""
    wide = [f"note {k}" for k in range(12)]
    (tmp_path / "p.csv").write_text("id,acid,dose\np1,X,0\np2,Y,0\np3,X,1\n")
    wide.append("long")
    cells = ",".join(f"<{name}> 0.123456789" for name in wide[:-1]) + "," + "word " * 40 + "end"
    lines = [
        f"{name},{acid},{dose},{cells}\n" for name, acid, dose in (("one", "X", 0.5), ("two", "Y", 1), ("six", "Y", 0))
    ]
    (tmp_path / "i.csv").write_text(f"id,acid,dose,{','.join(wide)}\n" + "".join(lines))
    path, show = tmp_path / "a.campaign", [word for name in wide for word in ("--show", name)]
    run("new", path, "--probes", tmp_path / "p.csv", "--items", tmp_path / "i.csv", "--sigma", 0.2, "--seed", 1, *show)
    campaign = pw.Campaign.open(path)
    truth = {"p1": 1.0, "p2": 3.0, "p3": 2.0}
    while len(rows := campaign.ask()):
        campaign.tell(rows.filled([truth[probe] for probe in rows["probe"]]))
    said = " ".join(run("status", path).split())
    assert "You may stop, but whether outcomes are linear is unchecked: 3 probes were" in said
    assert "<note 11> 0.123456789" in said
    assert f"long {'word ' * 40}end" in said
    status = json.loads(run("status", path, "--json"))
    assert status["recipes"] == {
        "two": {"acid": "Y", "dose": "1", **{n: f"<{n}> 0.123456789" for n in wide[:-1]}, "long": "word " * 40 + "end"}
    }
    assert status["checks"]["fit"] == "unchecked"
    assert [(e["column"], e["what"]) for e in status["effects"]] == [("acid", "X"), ("acid", "Y"), ("dose", "0 to 1")]
    assert status["effects"][2]["estimate"] == pytest.approx(1.0)
    campaign.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")
    head = page.partition("<h2>Ranking")[0]
    assert "Whether outcomes are linear is unchecked: 3 probes were measured and 3 numbers fitted to them." in head
    assert "&lt;note 11&gt; 0.123456789" in head
    assert "<dt>cost</dt>" not in head
    assert "What matters" in page
    assert "acid: Y" in page
    assert "dose: 0 to 1" in page
    assert "The outcome changes most with acid (by about 2) and dose (by about 1)." in page
    assert (APART in page) == (not status["subtracts"])


def test_nothing_is_left_open_where_nothing_is_assumed() -> None:
    """Items that are all measured themselves, in a model that takes any means, need no linearity."""
    plain = pw.Problem(np.eye(2), sigma=0.1)
    campaign = pw.Campaign.create(Memory(), plain, seed=0)
    while len(rows := campaign.ask()):
        campaign.tell(rows.filled([float(probe) for probe in rows["probe"]]))
    assert campaign.status().sentence.endswith("You may stop.")
    assert campaign.status().effects == ()
    assert campaign.status().recipes == {"1": {"x0": 0.0, "x1": 1.0}}
