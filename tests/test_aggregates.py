"""Rows that stand for several outcomes by their mean, and rows that bring their own precision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise as pw
from probewise.campaign import Memory, verify
from probewise.cli import main
from probewise.measurements import Measurements

LAWS: dict[str, pw.Law] = {
    "bounded": pw.Bounded(0.0, 10.0),
    "gaussian": pw.Gaussian(2.0),
    "unknown": pw.Gaussian(unknown=True),
    "poisson": pw.Poisson(),
}
NAMES = ["a", "b", "c"]


def drawn(law: pw.Law, probe: str, n: int, rng: np.random.Generator) -> np.ndarray:
    mean = {"a": 6.0, "b": 4.0, "c": 3.0}[probe]
    if isinstance(law, pw.Poisson):
        return rng.poisson(mean, n).astype(float)
    return np.clip(rng.normal(mean, 1.0, n), 0.0, 10.0)


def begun(law: pw.Law, **more: Any) -> pw.Campaign:
    problem = pw.Problem(np.eye(3), outcome=law, probe_names=NAMES, item_names=NAMES)
    sage = pw.Sage(growth=2.0, **({"min_batch": 30, "max_batch": 30} if more.pop("long", False) else {}))
    return pw.Campaign.create(Memory(), problem, pw.BestItem(0.1), sage, seed=0, **more)


def summed(law: pw.Law, values: np.ndarray) -> tuple[float, ...]:
    if isinstance(law, pw.Poisson):
        return (float(values.sum()),)
    return float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else 0.0


@pytest.mark.parametrize("name", LAWS)
def test_means_are_what_rows_would_be(name: str) -> None:
    """The same outcomes told one by one and by their mean: the same rounds, the same numbers, the same answer."""
    law, rng = LAWS[name], np.random.default_rng(1)
    whole, single = begun(law, aggregated="means"), begun(law)
    for _ in range(30):
        rows, each = whole.ask(), single.ask()
        if not rows:
            break
        found = {p: drawn(law, p, n, rng) for p, n in zip(rows["probe"], rows["n"], strict=True)}
        whole.tell(rows.filled([summed(law, found[p]) for p in rows["probe"]]))
        left = {p: iter(values.tolist()) for p, values in found.items()}
        single.tell(each.filled([next(left[p]) for p in each["probe"]]))
    one, other = whole.result(), single.result()
    assert one.item_name == other.item_name == "a"
    assert one.measurements == other.measurements
    np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-9)
    assert whole.status().confidence == pytest.approx(single.status().confidence, rel=1e-6)
    assert verify(whole._store).records == len(whole.records)


def test_a_sheet_asks_for_what_the_law_needs() -> None:
    assert list(begun(LAWS["bounded"], aggregated="means").ask().columns)[3:6] == ["n", "mean", "sd"]
    assert list(begun(LAWS["bounded"], aggregated=True).ask().columns)[3:5] == ["n", "successes"]
    assert list(begun(LAWS["gaussian"], aggregated=True).ask().columns)[3:6] == ["n", "mean", "sd"]
    assert list(begun(LAWS["poisson"], aggregated=True).ask().columns)[3:6] == ["n", "total", "x0"]
    rows = begun(LAWS["bounded"], aggregated="means").ask()
    assert rows.to_polars().columns[:6] == list(rows.to_pandas())[:6] == list(rows.columns)[:6]
    with pytest.raises(pw.InvalidCampaign, match="aggregated must be True, False or 'means', got 'often'"):
        begun(LAWS["bounded"], aggregated="often")


@pytest.mark.parametrize(
    ("law", "row", "sentence"),
    [
        ("bounded", {"n": 4, "mean": 11.0, "sd": 1.0}, "column 'mean': got 11.0, expected a number from 0 to 10"),
        ("bounded", {"n": 4, "mean": 1.0, "sd": 5.0}, r"'sd': got 5.0, but 4 outcomes .* deviation of at most 3.464"),
        ("bounded", {"n": 4, "mean": 1.0}, "'sd': got nothing, expected the standard deviation of the outcomes"),
        ("bounded", {"n": 4, "mean": 1.0, "sd": -1.0}, "'sd': got -1.0, expected a number of at least 0"),
        ("bounded", {"n": 1, "mean": 1.0, "sd": 0.5}, "expected a number of at least 0, and 0 of a single outcome"),
        ("bounded", {"n": 4, "mean": 5.0, "sum_of_squares": 90.0}, "but 4 outcomes with a mean of 5 have at least 100"),
        ("bounded", {"n": 4, "mean": 1.0, "sum_of_squares": 90.0}, "deviation of at most 3.464"),
        ("bounded", {"n": 4, "mean": 1.0, "sd": 1.0, "sum_of_squares": 7.0}, "and 'sum_of_squares' as well; keep one"),
        ("bounded", {"n": 4.5, "mean": 1.0, "sd": 1.0}, "column 'n': got 4.5, expected a whole number of at least 0"),
        ("bounded", {"n": 999, "mean": 1.0, "sd": 1.0}, r"column 'n': got 999, but only \d+ were asked for"),
        ("bounded", {"n": 4, "mean": "much", "sd": 1.0}, "column 'mean': got 'much', expected a finite number"),
        ("unknown", {"n": 4, "mean": 1.0}, "expected the standard deviation of the outcomes, or their sum of squares"),
        ("gaussian", {"n": 4, "mean": float("inf"), "sd": 1.0}, "column 'mean': got inf, expected a finite number"),
        ("poisson", {"n": 4, "total": 3.5}, "column 'total': got 3.5, expected a whole number of at least 0"),
        ("poisson", {"n": 4, "total": -1}, "column 'total': got -1, expected a whole number of at least 0"),
    ],
)
def test_what_no_outcomes_can_have_is_refused_and_nothing_is_recorded(
    law: str, row: dict[str, Any], sentence: str
) -> None:
    campaign = begun(LAWS[law], aggregated="means", long=True)
    own = campaign.ask()["measurement"][0]
    with pytest.raises(pw.InvalidRows, match=sentence):
        campaign.tell([{"measurement": own, **row}])
    assert campaign.records[-1].kind == "asked"


def test_a_range_of_the_campaign_holds_for_means() -> None:
    problem = pw.Problem(np.eye(2), sigma=1.0)
    campaign = pw.Campaign.create(Memory(), problem, seed=0, aggregated=True, outcome_range=(0, 5))
    own = campaign.ask()["measurement"][0]
    with pytest.raises(pw.InvalidRows, match="expected a mean from 0 to 5, the range of this campaign"):
        campaign.tell([{"measurement": own, "n": 2, "mean": 6.0}])


def test_standard_deviation_and_sum_of_squares_say_the_same() -> None:
    values, scatters = np.array([1.0, 4.0, 4.5, 2.5]), []
    for more in ({"sd": float(values.std(ddof=1))}, {"sum_of_squares": float((values**2).sum())}):
        campaign = begun(LAWS["bounded"], aggregated="means", long=True)
        own = campaign.ask()["measurement"][0]
        campaign.tell([{"measurement": own, "n": 4, "mean": float(values.mean()), **more}])
        scatters.append(campaign.ledger.measured.scatter.max())
    assert scatters == pytest.approx([((values - values.mean()) ** 2).sum()] * 2)


def test_outcomes_told_together_are_corrected_and_voided_together() -> None:
    campaign = begun(LAWS["bounded"], aggregated="means", long=True)
    first, *rest = campaign.ask()["measurement"]
    told = campaign.tell([{"measurement": first, "n": 4, "mean": 3.0, "sd": 1.0}]).recorded
    assert len(told) == 4
    again = campaign.tell([{"measurement": first, "n": 4, "mean": 3.0, "sd": 1.0}])
    assert not again.recorded
    assert len(again.repeated) == 4
    for other in ({"mean": 3.5, "sd": 1.0}, {"mean": 3.0, "sd": 1.5}):
        with pytest.raises(pw.InvalidRows, match=r"has 3\.0 on record; use correct"):
            campaign.tell([{"measurement": first, "n": 4, **other}])
    with pytest.raises(pw.InvalidRows, match="was told with another number; use correct"):
        campaign.tell([{"measurement": first, "n": 2, "mean": 3.0, "sd": 1.0}])
    campaign.correct(told[2], 3.5, reason="a slip", spread=0.5)
    data = campaign.ledger.measured
    assert (data.n, data.mean.max(), data.scatter.max()) == (4, 3.5, pytest.approx(0.75))
    assert campaign.correct(first, 3.5, reason="a slip", spread=0.5).startswith(f"{first} was so already")
    with pytest.raises(pw.InvalidRows, match="expected the standard deviation of the outcomes"):
        campaign.correct(first, 3.5, reason="a slip")
    campaign.void(told[1], reason="spilt")
    assert campaign.ledger.measured.n == 0
    assert not campaign.tell([{"measurement": first, "n": 4, "mean": 3.0, "sd": 1.0}]).recorded
    campaign.correct(first, 3.25, reason="it was not", spread=0.5)
    assert (campaign.ledger.measured.n, campaign.ledger.measured.mean.max()) == (4, 3.25)
    assert [record.kind for record in campaign.records][-3:] == ["corrected", "voided", "corrected"]
    assert rest


def test_a_journal_that_divides_what_was_told_together_is_refused() -> None:
    campaign = begun(LAWS["bounded"], aggregated="means", long=True)
    first = campaign.ask()["measurement"][0]
    told = campaign.tell([{"measurement": first, "n": 3, "mean": 3.0, "sd": 1.0}]).recorded
    ledger, record = campaign.ledger, campaign.records[-1]
    for kind, body, fault in (
        ("voided", {"rows": [told[0]], "reason": "x"}, "it voids a part of rows that were told together"),
        ("corrected", {"row": told[0], "outcome": 1.0, "reason": "x"}, "does not say what rows of this campaign"),
    ):
        forged = type(record).new(kind, body, author="x", after=record)
        with pytest.raises(pw.InvalidCampaign, match=fault):
            ledger.after(forged)
    body = dict(record.body) | {"rows": [r.replace(told[0], told[0]) for r in record.body["rows"]]}
    before = campaign.ledger.start(campaign.records[0]).after(campaign.records[1])
    for tallies, fault in (([{"n": 2, "scatter": 1.0}], "its tallies do not make up 3 rows"), (None, "have to say")):
        wrong = {name: value for name, value in body.items() if name != "tallies"}
        forged = type(record).new(
            "recorded", wrong | ({"tallies": tallies} if tallies else {}), author="x", after=campaign.records[1]
        )
        with pytest.raises(pw.InvalidCampaign, match=fault):
            before.after(forged)


def test_rows_of_the_laboratorys_own_may_be_means_too() -> None:
    campaign = begun(LAWS["unknown"], aggregated=True)
    rows = [{"probe": p, "n": 5, "mean": m, "sd": 0.5} for p, m in zip(NAMES, (6.0, 4.0, 3.0), strict=True)]
    assert len(campaign.tell(rows, off_plan=True).recorded) == 15
    data = campaign.ledger.measured
    np.testing.assert_allclose(data.scatter, 1.0)
    assert data.pure_error().degrees == 12
    assert "on record already" in campaign.tell(rows, off_plan=True).sentence


def test_a_scatter_that_is_not_told_has_no_degrees_of_freedom() -> None:
    campaign = begun(LAWS["gaussian"], aggregated=True)
    campaign.tell(
        [{"probe": "a", "n": 5, "mean": 6.0}, {"probe": "a", "n": 3, "mean": 5.0}, {"probe": "b", "n": 4, "mean": 1.0}],
        off_plan=True,
    )
    data = campaign.ledger.measured
    assert data.count.tolist() == [8, 4, 0]
    assert data.freedom.tolist() == [1, 0, 0]  # two means of one probe
    assert data.scatter[0] == pytest.approx(15 / 8)
    assert "cannot be checked" in begun(LAWS["gaussian"], aggregated=True).view().appraisal.adequacy.noise.found


def test_rows_beyond_the_plan_keep_their_means_whole() -> None:
    """As for counts of successes: late rows of a closed batch make a probe come more often than planned."""
    campaign = begun(LAWS["gaussian"], aggregated=True, long=True)
    first = campaign.ask()
    campaign.tell([{"measurement": own, "n": 5, "mean": 5.0} for own in first["measurement"]])
    late = campaign.ask()
    campaign.close(reason="the weekend")
    second = campaign.ask()
    campaign.tell(second.filled([5.0] * len(second)))
    campaign.tell([{"measurement": own, "n": 4, "mean": 7.0} for own in late["measurement"]])
    rounds = campaign.trail.steps[0].rounds
    assert sum(part.n for part in rounds) == campaign.ledger.measured.n
    assert {*np.concatenate([part.mean[part.count > 0] for part in rounds[1:]]).tolist()} <= {7.0, 5.0}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_weighted_measurements_add_up_as_if_taken_at_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    index, outcome, weight = rng.integers(0, 3, 12), rng.normal(5, 2, 12), rng.uniform(0.1, 9, 12)
    whole = Measurements.from_outcomes(3, index, outcome, weight)
    half = [Measurements.from_outcomes(3, index[at], outcome[at], weight[at]) for at in (slice(5), slice(5, 12))]
    both = half[0] + half[1]
    for name in ("count", "mean", "scatter", "weights", "freedom"):
        np.testing.assert_allclose(getattr(both, name), getattr(whole, name), atol=1e-9)
    once = Measurements.from_outcomes(3, index, outcome, np.ones(12))
    plain = Measurements.from_outcomes(3, index, outcome)
    np.testing.assert_allclose(once.scatter, plain.scatter, atol=1e-9)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"weight": [1.0, 0.0]}, "positive where there are measurements"),
        ({"weight": [1.0, -1.0]}, "positive where there are measurements"),
        ({"degrees": [1, 2]}, "degrees of a probe lie between 0 and"),
        ({"degrees": [-1, 0]}, "degrees of a probe lie between 0 and"),
    ],
)
def test_weights_and_degrees_are_checked(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(pw.InvalidMeasurements, match=sentence):
        Measurements([2, 2], [1.0, 1.0], [0.5, 0.5], **more)  # type: ignore[arg-type]
    with pytest.raises(pw.InvalidMeasurements, match="every outcome needs a positive weight"):
        Measurements.from_outcomes(2, [0], [1.0], [0.0])


def test_a_row_with_its_own_standard_error_counts_as_so_many() -> None:
    """One row of se σ/√n is n rows with its mean: the same estimate, precision, accounts."""
    problem, goal, sage = pw.Problem(np.eye(2), sigma=2.0), pw.BestItem(), pw.Sage()
    one = Measurements.from_outcomes(2, [0, 1, 0], [5.0, 4.0, 5.5], [9.0, 4.0, 2.5])
    same = Measurements(one.count, one.mean, np.zeros(2), np.array([11.5, 4.0]))
    states = [sage.tell(problem, goal, sage.init(problem, goal), data) for data in (one, same)]
    np.testing.assert_allclose(states[0].pool.fits[0].variance(np.eye(2)), [4.0 / 11.5, 1.0])
    np.testing.assert_allclose(states[0].peaks.plain, states[1].peaks.plain)
    many = Measurements.from_outcomes(2, np.repeat([0, 1], [9, 4]), np.repeat([5.0, 4.0], [9, 4]))
    few = Measurements.from_outcomes(2, [0, 1], [5.0, 4.0], [9.0, 4.0])
    made = [sage.tell(problem, goal, sage.init(problem, goal), data).peaks.plain for data in (many, few)]
    np.testing.assert_allclose(*made)


def test_standard_errors_on_sheets_from_the_first_row_to_a_correction(tmp_path: Path) -> None:
    problem = pw.Problem(np.eye(2), sigma=[2.0, 1.0], probe_names=["a", "b"])
    campaign = pw.Campaign.create(tmp_path / "se.campaign", problem, seed=0, weighted=True)
    rows = campaign.ask()
    assert list(rows.columns)[4:6] == ["outcome", "se"]
    table = [{"measurement": own, "outcome": 5.0, "se": 0.5} for own in rows["measurement"]]
    table[0]["se"] = None  # as stated
    told = campaign.tell(table)
    data, first = campaign.ledger.measured, rows["probe"][0]
    sigma = {"a": 2.0, "b": 1.0}
    expected = {"a": 0.0, "b": 0.0}
    for row, p in zip(table, rows["probe"], strict=True):
        expected[p] += (sigma[p] / (row["se"] or sigma[p])) ** 2
    np.testing.assert_allclose(data.weights, [expected["a"], expected["b"]])
    assert not campaign.tell(table).recorded
    table[1]["se"] = 0.25
    with pytest.raises(pw.InvalidRows, match=r"has 5\.0 on record; use correct"):
        campaign.tell(table)
    campaign.correct(told.recorded[0], 4.0, reason="a slip", spread=0.5)
    probe = campaign.problem.probe_names.index(first)
    weight = (sigma[first] / 0.5) ** 2
    assert campaign.ledger.measured.weights[probe] == pytest.approx(expected[first] - 1.0 + weight)
    campaign.correct(told.recorded[0], 4.5, reason="another")  # as precise as before
    assert campaign.ledger.measured.weights[probe] == pytest.approx(expected[first] - 1.0 + weight)
    campaign.export(tmp_path / "all.csv")
    header, row = (tmp_path / "all.csv").read_text("utf-8").splitlines()[:2]
    assert header.startswith("measurement,round,probe,replicate,outcome,state,se")
    assert ",4.5,recorded,0.5," in row
    opened = pw.Campaign.open(tmp_path / "se.campaign")
    np.testing.assert_allclose(opened.ledger.measured.weights, campaign.ledger.measured.weights)
    opened.report(tmp_path / "report.html")
    for bad, sentence in (
        (0.0, "'se': got 0.0, expected a positive number"),
        ("?", "'se': got '\\?', expected a finite"),
    ):
        with pytest.raises(pw.InvalidRows, match=sentence):
            campaign.tell([{"probe": "a", "outcome": 1.0, "se": bad}], off_plan=True)


def test_an_exposure_makes_a_rate_of_a_count() -> None:
    campaign = begun(LAWS["poisson"], weighted=True)
    campaign.tell(
        [{"probe": "a", "outcome": 30, "exposure": 2.5}, {"probe": "b", "outcome": 4}, {"probe": "c", "outcome": 0,
          "exposure": 0.5}], off_plan=True,
    )  # fmt: skip
    data = campaign.ledger.measured
    np.testing.assert_allclose(data.total, [30.0, 4.0, 0.0])
    np.testing.assert_allclose(data.weights, [2.5, 1.0, 0.5])
    with pytest.raises(pw.InvalidRows, match="expected a whole number of at least 0"):
        campaign.tell([{"probe": "a", "outcome": 2.5, "exposure": 2.5}], off_plan=True)


def test_rows_with_their_own_precision_need_a_law_and_an_algorithm_that_take_them() -> None:
    for law in (LAWS["bounded"], LAWS["unknown"]):
        with pytest.raises(pw.InvalidCampaign, match="rows with a precision of their own need noise of a known scale"):
            begun(law, weighted=True)
    with pytest.raises(pw.InvalidCampaign, match="rows are aggregated or bring their own precision, not both"):
        begun(LAWS["gaussian"], weighted=True, aggregated=True)
    with pytest.raises(pw.InvalidCampaign, match="rage relies on the noise that is stated, and rows bring their own"):
        pw.Campaign.create(Memory(), pw.Problem(np.eye(2)), algorithm=pw.Rage(), weighted=True)
    campaign = begun(LAWS["gaussian"])
    own = campaign.ask()["measurement"][0]
    campaign.tell({own: 1.0})
    with pytest.raises(pw.InvalidRows, match="has an outcome and nothing else; leave the spread out"):
        campaign.correct(own, 2.0, reason="a slip", spread=1.0)


def test_means_on_the_command_line_by_csv_and_spreadsheet(tmp_path: Path) -> None:
    (tmp_path / "probes.csv").write_text("id,x\nA,0\nB,1\nC,2\n", "utf-8")
    run, path = CliRunner(), str(tmp_path / "m.campaign")
    begin = ["new", path, "--probes", str(tmp_path / "probes.csv"), "--outcome", "bounded", "--range", "0", "100"]
    done = run.invoke(main, [*begin, "--aggregated", "means", "--seed", "0"])
    assert done.exit_code == 0, done.output
    sheet = tmp_path / "ask.xlsx"
    assert run.invoke(main, ["ask", path, "--out", str(sheet)]).exit_code == 0
    import openpyxl

    book = openpyxl.load_workbook(sheet)
    page = book.active
    header = [cell.value for cell in page[1]]
    assert header[:6] == ["measurement", "round", "probe", "n", "mean", "sd"]
    assert not page.cell(2, 4).protection.locked  # n may be fewer
    assert not page.cell(2, 6).protection.locked
    for row in range(2, page.max_row + 1):
        page.cell(row, 5).value = 20.0 * row
        page.cell(row, 6).value = 1.5
    book.save(sheet)
    done = run.invoke(main, ["tell", path, str(sheet), "--json"])
    assert done.exit_code == 0, done.output
    first = json.loads(done.output)["recorded"][0]
    assert run.invoke(main, ["correct", path, first, "41", "--spread", "2", "--reason", "typing error"]).exit_code == 0
    assert run.invoke(main, ["verify", path]).exit_code == 0
    assert run.invoke(main, ["void", path, first, "--reason", "spilt"]).exit_code == 0
    plain = run.invoke(main, ["new", str(tmp_path / "s.campaign"), *begin[2:], "--aggregated", "--seed", "0"])
    assert plain.exit_code == 0, plain.output
    out = run.invoke(main, ["ask", str(tmp_path / "s.campaign"), "--out", str(tmp_path / "s.xlsx")])
    assert out.exit_code == 0, out.output


def test_comma_decimals_are_read_in_all_columns_that_are_filled_in(tmp_path: Path) -> None:
    (tmp_path / "probes.csv").write_text("id;x\nA;0,5\nB;1\nC;2\n", "utf-8")
    problem = pw.Problem.from_tables(tmp_path / "probes.csv", sigma=1.0)
    campaign = pw.Campaign.create(Memory(), problem, seed=0, aggregated=True)
    rows = campaign.ask()
    lines = [f"{own};{n};2,5;0,5" for own, n in zip(rows["measurement"], rows["n"], strict=True)]
    (tmp_path / "told.csv").write_text("\n".join(["measurement;n;mean;sd", *lines]) + "\n", "utf-8")
    campaign.tell(tmp_path / "told.csv")
    assert campaign.ledger.measured.mean.max() == 2.5
    assert campaign.ledger.measured.scatter.max() == pytest.approx(0.25 * max(n - 1 for n in rows["n"]))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_random_histories_of_means_count_each_of_them_once(seed: int) -> None:
    """Tallies of any size, told in any order, again, corrected, voided and brought back: each counts once."""
    rng, campaign = np.random.default_rng(seed), begun(LAWS["bounded"], aggregated="means", long=True)
    counts: dict[str, tuple[str, int, float, float]] = {}  # first row -> probe, n, mean, sd of what counts now
    known: dict[str, tuple[str, int]] = {}
    for _ in range(14):
        kind = rng.choice(["tell", "again", "correct", "void"])
        mean, sd = float(rng.integers(1, 9)), float(rng.integers(0, 3)) / 2
        if kind == "tell" or not known:
            rows = campaign.ask()
            if not rows:
                break
            at = int(rng.integers(len(rows)))
            own, n = rows["measurement"][at], int(rng.integers(1, rows["n"][at] + 1))
            sd = sd if n > 1 else 0.0
            campaign.tell([{"measurement": own, "n": n, "mean": mean, "sd": sd}])
            known[own], counts[own] = (rows["probe"][at], n), (rows["probe"][at], n, mean, sd)
            continue
        own = str(rng.choice([*known]))
        probe, n = known[own]
        together = campaign.ledger.together(_place(own))
        member = "r{}-{}".format(*together[int(rng.integers(n))])
        if kind == "correct":
            sd = sd if n > 1 else 0.0
            campaign.correct(member, mean, reason="a slip", spread=sd)
            counts[own] = (probe, n, mean, sd)
        elif kind == "void":
            campaign.void(member, reason="spilt")
            counts.pop(own, None)
        elif own in counts:
            told = campaign.tell([{"measurement": own, "n": n, "mean": counts[own][2], "sd": counts[own][3]}])
            assert not told.recorded
    whole = campaign.ledger.measured
    for probe in NAMES:
        at, parts = NAMES.index(probe), [own for own in counts.values() if own[0] == probe]
        n = sum(own[1] for own in parts)
        total = sum(own[1] * own[2] for own in parts)
        squares = sum((own[1] - 1) * own[3] ** 2 + own[1] * own[2] ** 2 for own in parts)
        assert whole.count[at] == n
        assert whole.total[at] == pytest.approx(total)
        assert whole.scatter[at] == pytest.approx(squares - total**2 / n if n else 0.0, abs=1e-9)
    again = pw.Campaign.open(_copy(campaign))
    np.testing.assert_allclose(again.ledger.measured.scatter, whole.scatter)


def _place(text: str) -> tuple[int, int]:
    first, second = text[1:].split("-")
    return int(first), int(second)


def _copy(campaign: pw.Campaign) -> Memory:
    copy = Memory()
    copy.lines = [record.line for record in campaign.records]
    return copy
