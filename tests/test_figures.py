from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import probewise as pw
from probewise import figures
from probewise.campaign.findings.appraisal import appraised
from probewise.cli.comparisons import needs

matplotlib = pytest.importorskip("matplotlib")
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402


def texts(figure: matplotlib.figure.Figure) -> str:
    FigureCanvasAgg(figure).draw()
    return "\n".join(text.get_text() for text in figure.findobj(matplotlib.text.Text) if text.get_visible())


def designed(probes: np.ndarray, **names: list[str]) -> tuple[pw.Problem, pw.Design]:
    problem = pw.Problem(probes, **names)
    return problem, pw.optimal_design(problem.scaled_probes, pw.pairs(problem.items))


def test_bars_are_the_weights_largest_first() -> None:
    probes = np.vstack([np.eye(3), [[2.0, 1.0, 0.0]]])
    problem, design = designed(probes, probe_names=["a", "b", "c", f"{'long ' * 10}end"])
    figure = figures.draw_design(problem, design)
    bars = [bar.get_width() for bar in figure.axes[0].patches]
    np.testing.assert_array_equal(bars, np.sort(design.weights[design.support])[::-1])
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels[0] == figures._short(problem.probe_names[int(np.argmax(design.weights))])
    assert [label for label in labels if len(label) > 1] == ["long long lon… long long end"]
    assert f"no design is below {design.lower:.5g}" in texts(figure)


def test_a_large_design_is_summed_up() -> None:
    problem, design = designed(np.eye(figures.BARS + 5))
    figure = figures.draw_design(problem, design)
    assert len(figure.axes[0].patches) == figures.BARS
    assert "5 more probes share 0.14" in texts(figure)


def test_the_demo_draws_every_probe_and_every_comparison() -> None:
    problem, theta = pw.instances.transductive(8)
    found, static = pw.hardness(problem, theta), pw.optimal_design(problem.scaled_probes, pw.pairs(problem.items))
    claims = pw.BestItem().directions_at(problem, theta)
    need = (needs(problem, static.weights, claims), needs(problem, found.design.weights, claims))
    figure = figures.draw_demo(problem, found, static, need)
    upper, lower, right = figure.axes[1:]
    for axes, design in ((upper, static), (lower, found.design)):
        np.testing.assert_array_equal([bar.get_height() for bar in axes.patches], design.weights)
    dots = [collection.get_offsets() for collection in right.collections[1:]]
    for drawn, values in zip(dots, need, strict=True):
        np.testing.assert_array_equal(np.sort(drawn[:, 0]), np.sort(values[1:]))
    said = texts(figure)
    assert "difference of 0.005" in said
    assert "difference of 0.100" in said
    assert f"{need[0].max() / need[1].max():.0f} times fewer" in said


def test_no_text_of_the_demo_lies_on_another_or_is_cut() -> None:
    problem, theta = pw.instances.transductive(20)
    found, static = pw.hardness(problem, theta), pw.optimal_design(problem.scaled_probes, pw.pairs(problem.items))
    claims = pw.BestItem().directions_at(problem, theta)
    need = (needs(problem, static.weights, claims), needs(problem, found.design.weights, claims))
    figure = figures.draw_demo(problem, found, static, need)
    with figures.style():
        FigureCanvasAgg(figure).draw()
    hidden = []
    for axis in [axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]:
        low, high = sorted(axis.get_view_interval())
        hidden += [t.label1 for t in axis.get_major_ticks() if not low <= t.get_loc() <= high]
        hidden += [] if axis.axes.axison and axis.get_visible() else axis.findobj(matplotlib.text.Text)
    every = figure.findobj(matplotlib.text.Text)
    texts = [t for t in every if t.get_text().strip() and t.get_visible() and t not in hidden]
    assert len(texts) > 40
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts]
    left, bottom, right, top = figure.bbox.extents
    cut = [text for text, b in boxes if b.x0 < left or b.y0 < bottom or b.x1 > right or b.y1 > top]
    assert cut == []
    overlaps = [(a, c) for i, (a, b) in enumerate(boxes) for c, d in boxes[:i] if b.overlaps(d)]
    assert overlaps == []


def test_a_search_is_drawn_with_the_truth_and_what_was_run(tmp_path: Path) -> None:
    problem = pw.Problem(np.eye(2), probe_names=["p", "q"], item_names=["good", "bad"])
    campaign = pw.Campaign.create(tmp_path / "a.jsonl", problem, seed=1)
    seen = []
    for outcomes in ({"p": 5.0, "q": 4.0}, {"p": 9.0, "q": 3.0}):
        campaign.tell([{**row, "outcome": outcomes[row["probe"]]} for row in campaign.ask()])
        seen.append(appraised(campaign.ledger, campaign.trail).numbers)
    figure = figures.draw_search(
        *seen, {"good": 7.5, "bad": 3.0}, {("1", "left"): 4, ("2", "left"): 0}, name="points of yield"
    )
    left, right = figure.axes
    bands = [
        c.get_segments()[0][:, 0] for c in left.collections if isinstance(c, matplotlib.collections.LineCollection)
    ]
    for band, numbers in zip(bands, seen, strict=True):
        np.testing.assert_array_equal(band, [numbers.items[1].least, numbers.items[1].most])
    dots = [np.asarray(c.get_offsets())[:, 0] for c in left.collections[2:]]
    np.testing.assert_array_equal(dots[0], [0.0, seen[1].items[1].behind])
    np.testing.assert_array_equal(dots[1], [4.5])
    said = texts(figure)
    assert "How far behind good" in said
    assert "4 runs, on 1 of 2 probes" in said
    assert [t.get_text() for t in right.texts] == ["4"]


def test_runs_are_drawn_one_by_one_wrong_ones_apart() -> None:
    problem, theta = pw.Problem(np.eye(2)), np.array([1.0, 0.0])
    plain = pw.simulate(problem, theta, {"sage": pw.Sage(), "uniform": pw.Uniform()}, runs=6)
    wrong = (plain["algorithm"] == "uniform") & (plain["run"] == 4)
    runs = pw.Runs({**plain.columns, "correct": ~wrong}, plain.provenance)
    figure = figures.draw_runs(runs, lower=16.96)
    scatters = [c for c in figure.axes[0].collections if isinstance(c, matplotlib.collections.PathCollection)]
    drawn, taken = [np.asarray(c.get_offsets())[:, 0] for c in scatters], plain["measurements"]
    expected = (taken[:6], [], taken[~wrong][6:], taken[wrong])  # right and wrong runs of each algorithm
    for found, values in zip(drawn, expected, strict=True):
        np.testing.assert_array_equal(found, values)
    said, tables = texts(figure), plain.by_algorithm()
    assert "0 of 6 wrong" in said
    assert "1 of 6 wrong" in said
    for table in tables.values():
        assert f"{table.mean('measurements'):,.0f} ± {table.standard_error('measurements'):,.0f}" in said
    assert "lower bound of the mean: 17" in said
    assert figure.axes[0].lines[0].get_xdata() == [16.96, 16.96]
    assert "lower bound" not in texts(figures.draw_runs(runs, column="cost"))


@pytest.mark.parametrize("ending", figures.FORMATS)
def test_the_same_design_gives_the_same_file(ending: str, tmp_path: Path) -> None:
    problem, design = designed(np.eye(3))
    before = dict(matplotlib.rcParams)
    for name in ("one", "two"):
        figures.save(figures.draw_design(problem, design), tmp_path / f"{name}{ending}")
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()
    assert dict(matplotlib.rcParams) == before


def test_other_formats_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    problem, design = designed(np.eye(3))
    with pytest.raises(pw.InvalidDesign, match=r"pictures are written as \.png, \.svg, \.pdf"):
        figures.save(figures.draw_design(problem, design), tmp_path / "a.png", tmp_path / "a.doc")
    assert list(tmp_path.iterdir()) == []


def test_matplotlib_is_loaded_only_when_used(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys, probewise.figures; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(pw.MissingExtra, match=r"pictures need matplotlib; install probewise\[plot\]"):
        figures.draw_design(*designed(np.eye(2)))
