"""The model behind a budget, and what it plans."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from scipy.special import ndtr

import probewise as pw
from probewise.guess import belief as beliefs
from probewise.guess.belief import believed
from probewise.guess.columns import columns_of
from probewise.guess.improvement import _hopeful, _promising, _View, first_batch, next_batch
from probewise.guess.variances import Data, Settings, drawn, fitted
from probewise.measurements import Measurements

FACTORS = {"ligand": list("ABCD"), "solvent": list("xyz"), "temperature": [60.0, 80.0, 100.0], "dose": [1.0, 2.0, 5.0]}
SPACE = pw.space(FACTORS)
PROBLEM = pw.Problem.from_tables(SPACE, sigma=1.0)
COLUMNS = columns_of(PROBLEM)


def features(*rows: int) -> np.ndarray:
    """(k, d): effects, squares and products of two, written out; the scales are Settings' own.

    The surface is the root of its covariance among all rows; the last is what each row has to itself.
    """
    linear = [block.main[list(rows)] * np.sqrt(1.0 / 4) for block in COLUMNS.blocks]
    squares = {j: own[list(rows)] * np.sqrt(0.3 / 4) for j, own in enumerate(COLUMNS.squares) if own is not None}
    parts = [np.full((len(rows), 1), 2.0), *linear, *squares.values()]
    groups = [(0.5, group) for group in itertools.combinations(linear, 2)]
    for weight, group in groups:
        product = group[0]
        for other in group[1:]:
            product = (product[:, :, None] * other[:, None, :]).reshape(len(rows), -1)
        parts.append(np.sqrt(weight) * product)
    points = np.hstack([block.main[:108] for block in COLUMNS.blocks])
    far = np.sqrt(3.0) * np.linalg.norm(points[:, None] - points, axis=2) / 2.0
    values, vectors = np.linalg.eigh(0.05 * (1.0 + far) * np.exp(-far))
    parts.append((vectors * np.sqrt(np.maximum(values, 0.0)))[list(rows)])
    parts.append(np.sqrt(0.03) * np.eye(108)[list(rows)])
    return np.hstack(parts)


def data(rows: np.ndarray, outcomes: np.ndarray, problem: pw.Problem = PROBLEM) -> Measurements:
    return Measurements.from_outcomes(problem.n_probes, rows, outcomes)


def test_covariances_are_those_of_the_effects_written_out() -> None:
    rows = np.array([0, 5, 17, 60, 107])
    prior = beliefs.prior_of(COLUMNS, Settings())
    wanted = features(*rows) @ features(*rows).T
    np.testing.assert_allclose(prior.covariance(rows, rows), wanted, rtol=1e-10)
    np.testing.assert_allclose(prior.at(rows)[1], np.diag(wanted), rtol=1e-12)


def test_predictions_are_those_of_bayesian_regression_on_the_effects() -> None:
    """The dual form against weights of all effects, of which there are more than measurements; with a replicate."""
    rng = np.random.default_rng(0)
    rows = np.array([0, 5, 5, 17, 60, 107])
    outcomes = rng.normal(50.0, 10.0, rows.size)
    held = dict.fromkeys(("spread", "rough_spread", "reach_spread", "level_spread", "noise_spread"), 1e-6)
    settings = Settings(**held, draws=1, simpler=False)  # type: ignore[arg-type]  # as set
    belief = believed(COLUMNS, data(rows, outcomes), relative=np.ones(PROBLEM.n_probes), settings=settings)
    X, Z = features(*rows), features(*range(PROBLEM.n_probes))
    scaled = (outcomes - outcomes.mean()) / outcomes.std()
    precision = X.T @ X / 0.15 + np.eye(X.shape[1])
    weights = np.linalg.solve(precision, X.T @ scaled / 0.15)
    mean, spread = belief.items
    np.testing.assert_allclose(mean, outcomes.mean() + outcomes.std() * Z @ weights, rtol=1e-6)
    variance = np.einsum("ij,ji->i", Z, np.linalg.solve(precision, Z.T))
    np.testing.assert_allclose(spread, belief.honest * outcomes.std() * np.sqrt(variance), rtol=1e-5)


@pytest.mark.parametrize("kind", ["tables", "arrays", "many features"])
def test_slopes_are_those_of_the_likelihood(kind: str) -> None:
    rng = np.random.default_rng(1)
    problem = {
        "tables": PROBLEM,
        "arrays": pw.Problem(rng.normal(size=(40, 5))),
        "many features": pw.Problem(rng.normal(size=(40, 30))),
    }[kind]
    columns, rows = columns_of(problem), np.arange(0, 40, 3)
    powers = beliefs.Powers.between(columns, rows, rows)
    found = Data(rows, rng.normal(size=rows.size), 1.0 / rng.integers(1, 4, rows.size), (3.0, 5), powers)
    prior = Settings().prior(columns)
    logs = prior[0] + 0.3 * rng.normal(size=prior[0].size)
    steps = 1e-5 * np.eye(logs.size)
    slopes = [(found.loss(logs + s, prior)[0] - found.loss(logs - s, prior)[0]) / 2e-5 for s in steps]
    np.testing.assert_allclose(found.loss(logs, prior)[1], slopes, rtol=1e-5, atol=1e-6)


def test_what_a_form_does_not_have_stays_as_it_is() -> None:
    """Its slopes are 0, and draws do not move it; the others move."""
    rng, rows = np.random.default_rng(8), np.arange(0, 108, 4)
    found = Data(rows, rng.normal(size=27), np.ones(27), (0.0, 0), beliefs.Powers.between(COLUMNS, rows, rows))
    forms = Settings().forms(COLUMNS)
    for prior, fixed in zip(forms, ([4, 5, 6, 7, 8, 11], [4, 5, 6, 7, 11], []), strict=True):
        assert np.flatnonzero(prior[1] == 0.0).tolist() == fixed
        draws = drawn([fitted(found, prior)], 4)
        moved = np.ptp(draws, axis=0) > 0
        assert not moved[fixed].any()
        assert moved.sum() == prior[0].size - len(fixed)
        assert not found.loss(prior[0] + 0.1, prior)[1][fixed].any()


def test_the_evidence_of_a_form_is_the_likelihood_averaged_over_its_prior() -> None:
    """Of the simplest and of the whole model, by their difference, against plain averages of many draws."""
    rng, rows = np.random.default_rng(9), np.array([0, 5, 17, 33, 60, 82, 107])
    values, powers = rng.normal(size=7), beliefs.Powers.between(COLUMNS, rows, rows)
    found, sums = Data(rows, values, np.ones(7), (2.0, 4), powers), []
    forms = Settings().forms(COLUMNS)
    for prior in (forms[0], forms[-1]):
        flat = (prior[0], np.zeros(prior[0].size))  # the likelihood alone
        logs = prior[0] + prior[1] * rng.normal(size=(4000, prior[0].size))
        sums.append(np.log(np.mean([np.exp(-found.loss(own, flat)[0]) for own in logs])))
    evidence = [fitted(found, prior).evidence for prior in (forms[0], forms[-1])]
    assert evidence[1] - evidence[0] == pytest.approx(sums[1] - sums[0], abs=0.5)


def test_the_likeliest_form_plans_and_all_guess() -> None:
    """A line with much noise leaves all forms open: plans are of one of them, and the guess is of several."""
    rng, rows = np.random.default_rng(12), np.arange(0, 108, 5)
    outcomes = np.tile(FACTORS["dose"], 36)[rows] + rng.normal(size=rows.size)
    belief = believed(COLUMNS, data(rows, outcomes), relative=np.ones(108))
    kinds = [
        {(own.variances[-5] > 1e-5, own.variances[-2] > 1e-5) for own in each.posteriors}
        for each in (belief.for_plans, belief)
    ]
    assert len(kinds[0]) == 1
    assert len(kinds[1]) > 1
    assert kinds[0] < kinds[1]


@pytest.mark.parametrize("alone", [0.0, 8.0])
def test_the_form_follows_the_data(alone: float) -> None:
    """A quadratic is told from one with deviations of single rows, by replicates; those do not count as noise."""
    grid = pw.space({name: np.linspace(-1.0, 1.0, 7).tolist() for name in "abc"})
    problem, rng = pw.Problem.from_tables(grid, sigma=1.0), np.random.default_rng(10)
    points = np.array(list(itertools.product(np.linspace(-1.0, 1.0, 7), repeat=3)))
    values = 60.0 - 20.0 * ((points - 0.3) ** 2).sum(axis=1) + alone * rng.normal(size=343)
    rows = np.repeat(rng.choice(343, 40, replace=False), 2)
    belief = believed(
        columns_of(problem), data(rows, values[rows] + rng.normal(size=80), problem), relative=np.ones(343)
    )
    assert belief.noise == pytest.approx(1.0, rel=0.35)
    own = belief.scale * np.sqrt([posterior.variances[-5] for posterior in belief.posteriors])
    unseen = np.setdiff1d(np.arange(343), rows)
    off = (values - belief.items[0])[unseen]
    if alone:
        assert 4.0 < own.mean() < 12.0
        assert 0.7 < np.sqrt(np.mean((off / belief.items[1][unseen]) ** 2)) < 1.3
    else:
        assert own.mean() < 0.5
        assert np.sqrt(np.mean(off**2)) < 1.5


def test_noise_is_not_interpolated_away() -> None:
    """Main effects with noise of 10, 48 single measurements: the noise that the model sees is that, within a third."""
    rng = np.random.default_rng(2)
    effect = {name: rng.normal(0.0, 10.0, len(levels)) for name, levels in FACTORS.items()}
    values = np.array([sum(own) for own in itertools.product(*effect.values())])
    seen = []
    for _ in range(4):
        rows = rng.choice(PROBLEM.n_probes, 48, replace=False)
        outcomes = values[rows] + 10.0 * rng.normal(size=48)
        seen.append(believed(COLUMNS, data(rows, outcomes), relative=np.ones(PROBLEM.n_probes)).noise)
    assert 6.7 < np.mean(seen) < 13.0


def test_spreads_are_honest() -> None:
    """Of values that the model's own prior drew, 90 % intervals hold about nine in ten, measured or not."""
    rng, held, rows = np.random.default_rng(3), [], np.arange(PROBLEM.n_probes)
    root = features(*rows)
    for _ in range(8):
        values = 10.0 * root @ rng.normal(size=root.shape[1])
        some = rng.choice(rows, 30, replace=False)
        belief = believed(COLUMNS, data(some, values[some] + rng.normal(size=30)), relative=np.ones(rows.size))
        ends = np.array([belief.interval(item) for item in rows])
        held.append(np.mean((ends[:, 0] <= values) & (values <= ends[:, 1])))
    assert 0.84 < np.mean(held) < 0.97


def test_spreads_widen_where_the_left_out_are_missed() -> None:
    """Outcomes with a few huge errors: predictions of what is left out are off by more than a normal law allows."""
    rng = np.random.default_rng(4)
    rows = rng.choice(PROBLEM.n_probes, 40, replace=False)
    belief = believed(COLUMNS, data(rows, rng.standard_t(1.1, 40)), relative=np.ones(PROBLEM.n_probes))
    assert belief.honest >= 1.0
    off = np.mean([own.left_out**2 for own in belief.posteriors], axis=0)
    assert belief.honest == pytest.approx(max(1.0, np.sqrt((off.sum() + 2.0) / (off.size + 2))))


def test_left_out_measurements_are_as_if_they_had_never_been() -> None:
    rng = np.random.default_rng(5)
    rows, outcomes = np.array([3, 20, 44, 70, 101]), rng.normal(size=5)
    belief = believed(COLUMNS, data(rows, outcomes), relative=np.ones(PROBLEM.n_probes))
    posterior = belief.posteriors[0]
    for at in range(5):
        rest = np.delete(np.arange(5), at)
        powers = beliefs.Powers.between(COLUMNS, rows[rest], rows[rest])
        fewer = Data(rows[rest], posterior.data.values[rest], np.ones(4), (0.0, 0), powers)
        mean, variance = beliefs.Posterior(COLUMNS, posterior.variances, fewer).at(rows[at : at + 1])
        wanted = (posterior.data.values[at] - mean[0]) / np.sqrt(variance[0] + posterior.noise)
        assert posterior.left_out[at] == pytest.approx(wanted)


def test_outcomes_that_are_all_the_same_are_believed() -> None:
    """Replicates without any scatter: the noise is small, and nothing breaks."""
    rows = np.repeat(np.arange(6), 17)
    belief = believed(COLUMNS, data(rows, np.zeros(rows.size)), relative=np.ones(PROBLEM.n_probes))
    assert np.isfinite(belief.items).all()
    assert belief.noise < 0.01


def test_values_stay_in_a_known_range() -> None:
    rows = np.arange(0, 108, 9)
    outcomes = np.linspace(0.0, 1.0, rows.size)
    free, bounded = (
        believed(COLUMNS, data(rows, outcomes), relative=np.ones(108), range=ends) for ends in (None, (0.0, 1.0))
    )
    assert free.items[0].max() > bounded.items[0].max()
    assert 0.0 <= bounded.items[0].min() < bounded.items[0].max() <= 1.0
    for item in range(0, 108, 10):
        low, high = bounded.interval(item)
        assert 0.0 <= low < high <= 1.0


def test_means_of_clipped_values_are_those_of_draws() -> None:
    belief = believed(COLUMNS, data(np.array([0, 50]), np.array([0.0, 1.0])), relative=np.ones(108), range=(0.2, 0.7))
    mean, variance = belief._clipped(np.array([0.1, 0.8]), np.array([1.0, 0.5]))
    draws = belief.centre + belief.scale * (
        np.array([0.1, 0.8]) + np.sqrt([1.0, 0.5]) * np.random.default_rng(0).normal(size=(200_000, 2))
    )
    clipped = np.clip(draws, 0.2, 0.7)
    np.testing.assert_allclose(mean, clipped.mean(axis=0), atol=2e-3)
    np.testing.assert_allclose(variance, clipped.var(axis=0), rtol=0.02)


@pytest.mark.parametrize("ends", [(-np.inf, 0.7), (0.2, np.inf), (-np.inf, np.inf)])
def test_one_end_of_a_range_may_be_unknown(ends: tuple[float, float]) -> None:
    belief = believed(COLUMNS, data(np.array([0, 50]), np.array([0.0, 1.0])), relative=np.ones(108), range=ends)
    mean, variance = belief._clipped(np.array([0.1, 0.8]), np.array([1.0, 0.5]))
    draws = np.random.default_rng(0).normal(size=(200_000, 2))
    clipped = np.clip(belief.centre + belief.scale * (np.array([0.1, 0.8]) + np.sqrt([1.0, 0.5]) * draws), *ends)
    np.testing.assert_allclose(mean, clipped.mean(axis=0), atol=2e-3)
    np.testing.assert_allclose(variance, clipped.var(axis=0), rtol=0.02)


def limits(problem: pw.Problem = PROBLEM, **changed: object) -> dict:
    n = problem.n_probes
    return {"room": np.full(n, np.inf), "relative": np.ones(n), "cost": np.ones(n), "replicates": None} | changed


def test_the_first_batch_has_full_rank_as_early_as_can_be() -> None:
    """Main effects of 4 + 3 levels and two numbers have rank 8: the first 8, and every 8 of table order, at most."""
    rank = np.linalg.matrix_rank(PROBLEM.probes)
    for seed in range(3):
        counts = first_batch(COLUMNS, 8, settings=Settings(), rng=np.random.default_rng(seed), **limits())
        assert counts.sum() == 8
        assert np.linalg.matrix_rank(PROBLEM.probes[counts > 0]) == rank


def test_batches_mind_stock_and_replicates() -> None:
    room = np.zeros(108)
    room[[4, 9, 30]] = [1, 2, 5]
    for replicates, most in ((None, [1, 2, 5]), (1, [1, 1, 1])):
        own = limits(room=room, replicates=replicates)
        first = first_batch(COLUMNS, 20, settings=Settings(), rng=np.random.default_rng(0), **own)
        belief = believed(COLUMNS, data(np.array([0, 50, 90]), np.array([1.0, 2.0, 0.0])), relative=np.ones(108))
        later, end = (next_batch(belief, 20, last=last, rng=np.random.default_rng(0), **own) for last in (False, True))
        for counts in (first, later.counts, end.counts):
            assert counts[[4, 9, 30]].tolist() == most
            assert counts.sum() == sum(most)


@pytest.mark.parametrize("last", [False, True])
def test_dear_probes_are_measured_less(last: bool) -> None:
    cost = np.where(np.arange(108) < 54, 1.0, 20.0)
    belief = believed(COLUMNS, data(np.arange(0, 108, 9), np.sin(np.arange(12.0))), relative=np.ones(108))
    counts = next_batch(belief, 8, last=last, rng=np.random.default_rng(0), **limits(cost=cost)).counts
    plain = next_batch(belief, 8, last=last, rng=np.random.default_rng(0), **limits()).counts
    assert counts[54:].sum() < plain[54:].sum()


def test_measurements_go_where_they_tell_of_items_that_cannot_be_measured() -> None:
    """Only A and B can be measured; items have C too, whose solvent effects are theirs."""
    probes = pw.space({"ligand": ["A", "B"], "solvent": list("xyz"), "temperature": [60.0, 80.0]})
    items = pw.space({"ligand": ["A", "B"], "solvent": list("xyz"), "temperature": [60.0, 80.0, 100.0]})
    problem = pw.Problem.from_tables(probes, items)
    columns, values = columns_of(problem), np.array([0.0, 1.0, 9.0])
    solvent = np.array([list("xyz").index(name.split(", ")[1]) for name in problem.probe_names])
    rows = np.arange(12)
    belief = believed(columns, data(rows, values[solvent], problem), relative=np.ones(12))
    assert problem.item_names[belief.best].split(", ")[1] == "z"
    for last in (False, True):
        counts = next_batch(belief, 4, last=last, rng=np.random.default_rng(0), **limits(problem)).counts
        assert counts[solvent == 2].sum() >= 3


def test_a_leader_that_is_known_is_not_measured_again() -> None:
    """One row is far ahead and measured twenty times: what is left to learn is whether another is ahead of it."""
    values = np.where(np.arange(108) == 40, 100.0, 50.0 + 5.0 * np.sin(np.arange(108)))
    rows, rng = np.append(np.arange(0, 108, 4), np.full(20, 40)), np.random.default_rng(0)
    belief = believed(COLUMNS, data(rows, values[rows] + rng.normal(size=rows.size)), relative=np.ones(108))
    assert belief.best == 40
    for last in (False, True):
        assert next_batch(belief, 8, last=last, rng=rng, **limits()).counts[40] <= 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_gain_of_a_measurement_is_its_knowledge_gradient(sign: float) -> None:
    """Of two items, by the formula for the mean of the higher of a normal variable and a constant."""
    inner = np.array([[1.0, 0.3], [0.3, 2.0]])
    means, noise = np.tile(sign * np.array([[0.7], [0.0]]), 40_000), np.array([0.5, 1.0])
    view = _View(means, inner, inner, inner, noise)
    told = np.abs(inner[0] - inner[1]) / np.sqrt(np.diag(inner) + noise)
    wanted = told * np.exp(-0.5 * (0.7 / told) ** 2) / np.sqrt(2.0 * np.pi) - 0.7 * ndtr(-0.7 / told)
    np.testing.assert_allclose(view.gain(sign, np.random.default_rng(0)), wanted, atol=0.005)


@pytest.mark.parametrize(("sign", "good", "bad"), [(1.0, 1.0, -5.0), (-1.0, -1.0, 5.0)])
def test_a_limit_is_the_good_end_of_the_range(sign: float, good: float, bad: float) -> None:
    rows, outcomes = np.arange(0, 108, 9), sign * np.linspace(-1.0, 0.9, 12)
    told = functools.partial(believed, COLUMNS, data(rows, outcomes), relative=np.ones(108), sign=sign)
    ends = (min(good, bad), max(good, bad))
    limited = told(range=ends)
    assert sign * limited.limit * limited.scale + limited.centre == pytest.approx(good)
    assert told().limit == told(range=(bad, np.inf) if sign > 0 else (-np.inf, bad)).limit == np.inf
    plan = functools.partial(next_batch, size=8, last=True, **limits())
    free, short = (plan(own, rng=np.random.default_rng(0)) for own in (told(), limited))
    assert 0.0 < short.gain < 0.1 + 1e-9 < free.gain  # from 0.9 to 1.0 at most
    np.testing.assert_array_equal(short.counts, free.counts)  # what is predicted beyond is tried


def test_where_no_measurement_can_change_the_guess_all_are_learned_of() -> None:
    """Exact outcomes of all rows but two bad ones, which nothing is promised of."""
    values = np.add.outer(np.arange(36.0), np.zeros(3)).ravel()
    rows = np.repeat(np.arange(2, 108), 5)
    belief = believed(COLUMNS, data(rows, values[rows]), relative=np.ones(108))
    room = (np.arange(108) < 2).astype(float)
    for last in (False, True):
        counts = next_batch(belief, 2, last=last, rng=np.random.default_rng(0), **limits(room=room)).counts
        assert counts[:2].tolist() == [1, 1]


def test_a_surface_takes_up_what_effects_cannot() -> None:
    """A step across a grid: with the surface, rows that were not measured are predicted better than without it."""
    grid = pw.space({name: np.arange(9.0).tolist() for name in "ab"})
    problem, off = pw.Problem.from_tables(grid, sigma=1.0), []
    values = np.array([50.0 * (a + b > 9.0) for a, b in itertools.product(range(9), repeat=2)])
    for settings in (Settings(), Settings(rough=1e-6, alone=1e-6, rough_spread=0.01)):
        for seed in range(3):
            rng = np.random.default_rng(seed)
            rows = rng.choice(81, 40, replace=False)
            told = data(rows, values[rows] + rng.normal(size=40), problem)
            belief = believed(columns_of(problem), told, relative=np.ones(81), settings=settings)
            off.append(float(np.mean((belief.items[0] - values)[told.count == 0] ** 2)))
    assert np.mean(off[:3]) < 0.8 * np.mean(off[3:])


def test_a_surface_reaches_as_far_as_each_column_lets_it() -> None:
    """Waves along one of two columns: rows that differ in the other have nearly all in common, and the data say so."""
    grid = pw.space({name: np.arange(12.0).tolist() for name in "ab"})
    problem, rng = pw.Problem.from_tables(grid, sigma=1.0), np.random.default_rng(11)
    values = np.array([20.0 * np.sin(1.7 * a) for a, _ in itertools.product(range(12), repeat=2)])
    rows = rng.choice(144, 50, replace=False)
    told = data(rows, values[rows] + rng.normal(size=50), problem)
    belief = believed(columns_of(problem), told, relative=np.ones(144))
    across, along = np.mean([posterior.variances[2:4] for posterior in belief.posteriors], axis=0)
    assert along > 3.0 * across
    assert np.sqrt(np.mean((belief.items[0] - values)[told.count == 0] ** 2)) < 5.0  # their deviation is 14


@pytest.mark.parametrize("tables", [True, False])
def test_low_values_are_found_where_they_are_wanted(tables: bool) -> None:
    """A bowl: its lowest point is in the middle, where no linear model would look."""
    grid = pw.space({"a": [0.0, 1.0, 2.0, 3.0, 4.0], "b": [0.0, 1.0, 2.0, 3.0, 4.0]})
    points = np.array(list(itertools.product(range(5), repeat=2)), dtype=float)
    problem = pw.Problem.from_tables(grid, sigma=0.1) if tables else pw.Problem(np.c_[np.ones(25), points], sigma=0.1)
    values = 10.0 * ((points - 2.0) ** 2).sum(axis=1)
    found = pw.identify(problem, pw.BestItem(minimise=True), measure=lambda i: values[i], budget=18, batch=6, seed=0)
    assert points[found.item].tolist() == [2.0, 2.0]
    high = pw.identify(problem, measure=lambda i: values[i], budget=18, batch=6, seed=0)
    assert values[high.item] == 80.0


def test_what_second_order_effects_are_made_of_is_said() -> None:
    assert COLUMNS.described.startswith("the columns ligand, solvent, temperature, dose")
    few, many = (columns_of(pw.Problem(np.random.default_rng(0).normal(size=(30, d)))) for d in (3, 20))
    assert few.described.startswith("3 features, each taken as a number:")
    assert "20 features, each taken as a number that share one variance" in many.described
    constant = columns_of(pw.Problem(np.eye(2), np.ones((1, 2))))
    assert len(constant.blocks) == 2


def test_after_a_first_batch_new_rows_that_may_be_high_are_tried_once_each() -> None:
    """Ligand C was far the best: a second batch tries new rows only, most of them with C, none of them twice."""
    ligand = np.repeat(np.arange(4), 27)
    rows = np.arange(0, 108, 14)
    belief = believed(COLUMNS, data(rows, np.where(ligand[rows] == 2, 9.0, 1.0)), relative=np.ones(108))
    counts = next_batch(belief, 8, last=False, rng=np.random.default_rng(0), **limits()).counts
    assert counts.sum() == 8
    assert counts.max() == 1
    assert not counts[rows].any()
    assert counts[ligand == 2].sum() >= 5
    few = np.where(np.isin(np.arange(108), np.append(rows, [1, 2])), 9.0, 0.0)  # not enough that is new
    counts = next_batch(belief, 8, last=False, rng=np.random.default_rng(0), **limits(room=few)).counts
    assert counts.sum() == 8
    assert not counts[few == 0].any()


@pytest.mark.parametrize("untried", [False, True])
def test_half_of_a_second_batch_is_planned_as_later_ones_where_all_levels_were_measured(untried: bool) -> None:
    """Ligand D is left out of the first batch, or not."""
    ligand = np.repeat(np.arange(4), 27)
    rows = np.arange(0, 81 if untried else 108, 10 if untried else 13)
    assert set(ligand[rows]) == set(range(3 if untried else 4))
    assert set(np.tile(np.repeat(np.arange(3), 9), 4)[rows]) == {0, 1, 2}  # every solvent
    belief = believed(COLUMNS, data(rows, np.sin(rows)), relative=np.ones(108))
    counts = next_batch(belief, 9, last=False, rng=np.random.default_rng(0), **limits()).counts
    given, rng = np.zeros(108, dtype=np.int64), np.random.default_rng(0)
    new = np.setdiff1d(np.arange(108), rows)
    if not untried:
        given = _promising(belief, 4, np.full(108, np.inf), np.ones(108), np.ones(108), False, rng).counts
        assert given.sum() == 4
        new = np.setdiff1d(new, np.flatnonzero(given))
    rest = _hopeful(belief, 9 - int(given.sum()), given, new, np.ones(108), np.ones(108), rng)
    np.testing.assert_array_equal(counts, rest.counts)
    assert counts.sum() == 9
    assert (counts >= given).all()
    assert (rest.counts - given)[new].max() == 1
    assert not (rest.counts - given)[rows].any()
    assert (counts[ligand == 3].sum() >= 2) or not untried
    new, nothing, rng = np.setdiff1d(np.arange(108), rows), np.zeros_like(given), np.random.default_rng(0)
    hopes = _hopeful(belief, 9, nothing, new, np.ones(108), np.ones(108), rng).counts
    assert np.array_equal(counts, hopes) == untried


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_last_batch_measures_the_row_that_stands_out_again_unless_the_noise_was_seen(sign: float) -> None:
    """Where it can: not where there is none left of it."""
    rows, outcomes = np.arange(0, 108, 9), sign * np.sin(np.arange(12.0))
    best = int(rows[np.argmax(sign * outcomes)])
    belief = believed(COLUMNS, data(rows, outcomes), relative=np.ones(108), sign=sign)
    assert belief.data.scatter[1] == 0
    assert next_batch(belief, 8, last=True, rng=np.random.default_rng(0), **limits()).counts[best] >= 1
    room = np.where(np.arange(108) == best, 0.0, 9.0)
    counts = next_batch(belief, 8, last=True, rng=np.random.default_rng(0), **limits(room=room)).counts
    assert (counts.sum(), counts[best]) == (8, 0)
    again = believed(
        COLUMNS, data(np.append(rows, rows), np.append(outcomes, outcomes)), relative=np.ones(108), sign=sign
    )
    assert again.data.scatter[1] == 12


def test_replicates_decide_whether_a_row_that_stands_out_is_guessed() -> None:
    """Two replicates that agree make a high row the guess; without them the noise is taken for larger."""
    rng, rows = np.random.default_rng(3), np.arange(0, 108, 5)
    outcomes = np.tile(FACTORS["dose"], 36)[rows] + 1.5 * rng.normal(size=rows.size)
    outcomes[4] += 6.0  # row 20, of the highest dose
    alone, twice = (
        believed(
            COLUMNS,
            data(np.append(rows, np.full(k, 20)), np.append(outcomes, np.full(k, outcomes[4] + 0.1))),
            relative=np.ones(108),
        )
        for k in (0, 2)
    )
    assert twice.best == 20
    assert twice.noise < 0.6 * alone.noise
    assert alone.items[0][20] < twice.items[0][20] == pytest.approx(outcomes[4], abs=1.0)
