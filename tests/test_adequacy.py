from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

import probewise as pw
from probewise import adequacy
from probewise.adequacy import ALARM, NOISE_SCALES, SHIFT_SCALES, Adequacy, check_adequacy
from probewise.campaign import Memory
from probewise.campaign.findings.appraisal import scrutinised
from probewise.coordinates import Array
from probewise.measurements import Measurements
from probewise.misfit import Risk
from probewise.quantity import OUTCOME

GOAL = pw.BestItem()
X = np.random.default_rng(0).normal(size=(12, 4))
THETA = np.array([1.0, -0.5, 0.3, 0.2])
PROBLEM = pw.Problem(X)


def campaign(
    rng: np.random.Generator,
    *,
    misfit: Array | float = 0.0,
    noise: float = 1.0,
    drift: float = 0.0,
    replicates: int = 4,
) -> list[Measurements]:
    """Six rounds of all probes."""
    index = np.repeat(np.arange(12), replicates)
    rounds = []
    for _ in range(6):
        mean = X @ THETA + misfit + drift * rng.normal(size=12)
        rounds.append(Measurements.from_outcomes(12, index, mean[index] + noise * rng.normal(size=index.size)))
    return rounds


def checked(seed: int, **options: object) -> Adequacy:
    return check_adequacy(PROBLEM, GOAL, campaign(np.random.default_rng(seed), **options))  # type: ignore[arg-type]


WIGGLE = np.random.default_rng(5).normal(size=12)


@pytest.mark.parametrize(
    ("options", "verdicts"),
    [
        ({}, ("adequate", "adequate", "adequate")),
        ({"misfit": 2.0 * WIGGLE}, ("adequate", "adequate", "inadequate")),
        ({"noise": 1.6}, ("inadequate", "adequate", "adequate")),
        ({"noise": 1.08, "replicates": 100}, ("doubtful", "adequate", "adequate")),
        ({"drift": 1.0, "replicates": 20}, ("adequate", "inadequate", "adequate")),
        ({"noise": 0.3}, ("adequate", "adequate", "adequate")),
    ],
)
def test_each_check_finds_its_own_fault(options: dict[str, object], verdicts: tuple[str, ...]) -> None:
    found = checked(3, **options)
    assert tuple(check.verdict for check in found.checks) == verdicts
    assert found.certifies == ("inadequate" not in verdicts)
    assert bool(found.warnings) == (found.verdict != "adequate")


def test_a_misfit_too_small_to_matter_is_no_refusal_however_sure_it_is() -> None:
    """A million measurements prove any misfit; only its size against the lead refuses a certificate."""
    tiny = checked(3, misfit=0.03 * WIGGLE, replicates=14_000)
    assert tiny.fit.log_evidence > math.log(3.0 / ALARM)
    assert tiny.fit.verdict == "doubtful"
    assert tiny.certifies
    assert tiny.at_risk == ()
    assert tiny.misfit == pytest.approx(0.03, rel=0.5)
    assert "too little to overturn the lead" in tiny.sentence


def test_the_misfit_and_the_worst_probe_are_found() -> None:
    one = np.where(np.arange(12) == 7, 3.0, 0.0)
    found = checked(3, misfit=one)
    assert found.worst[0].probe == 7
    assert found.worst[0].name == "7"
    assert found.worst[0].replicates == 24
    assert found.worst[0].standardised > 5.0
    assert "7 (+" in found.fit.advice
    sizes = [checked(seed, misfit=WIGGLE - X @ np.linalg.lstsq(X, WIGGLE)[0]).misfit for seed in range(20)]
    rest = WIGGLE - X @ np.linalg.lstsq(X, WIGGLE)[0]
    assert np.mean(sizes) == pytest.approx(math.sqrt(rest @ rest / 8), rel=0.05)


def test_textbook_tests_are_those_of_nested_models() -> None:
    rng = np.random.default_rng(11)
    sigma = np.linspace(0.5, 2.0, 12)
    parts = [(i := rng.integers(12, size=40), (X @ THETA)[i] + sigma[i] * rng.normal(size=40)) for _ in range(3)]
    rounds = [Measurements.from_outcomes(12, index, outcome) for index, outcome in parts]
    found = check_adequacy(pw.Problem(X, sigma=sigma), GOAL, rounds)
    index, outcome = (np.concatenate(column) for column in zip(*parts, strict=True))
    when = np.repeat(np.arange(3), 40)

    def left_over(columns: Array) -> tuple[float, int]:
        scaled = columns / sigma[index][:, None]
        target = outcome / sigma[index]
        gap = target - scaled @ np.linalg.lstsq(scaled, target)[0]
        return float(gap @ gap), index.size - int(np.linalg.matrix_rank(scaled))

    cells = np.eye(36)[12 * when + index]
    models = [left_over(X[index]), left_over(np.eye(12)[index]), left_over(cells)]
    (linear, n0), (probes, n1), (each, n2) = models
    assert found.noise.squares == (pytest.approx(each), n2)
    assert found.drift.squares == (pytest.approx(probes - each), n1 - n2)
    assert found.fit.squares == (pytest.approx(linear - probes), n0 - n1)
    f = ((linear - probes) / (n0 - n1)) / (probes / n1)
    assert found.fit.ratio == pytest.approx(f)
    assert found.fit.p_value == pytest.approx(stats.f.sf(f, n0 - n1, n1))
    assert found.noise.p_value == pytest.approx(stats.chi2.sf(each, n2))


def test_evidence_is_the_mixture_of_the_page_at_the_least_favourable_theta() -> None:
    rng = np.random.default_rng(2)
    probes, sigma = np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, 0.5, 2.0])
    index = np.array([0, 0, 0, 1, 1, 2])
    data = Measurements.from_outcomes(3, index, rng.normal(size=6) + 0.7)
    problem = pw.Problem(probes, [[1.0], [0.0]], sigma=sigma)
    level = max(1.0, data.pure_error(sigma=sigma).mean_square)

    def log_mixture(theta: float, scale: float) -> float:
        total = 0.0
        for n, mean, x, s in zip(data.count, data.mean, probes[:, 0], sigma, strict=True):
            gap = n * (mean - x * theta) / (s * math.sqrt(level))

            def density(a: float, gap: float = gap, n: float = n) -> float:
                return (
                    math.exp(a * gap - n * a * a / 2) * math.sqrt(scale / (2 * math.pi)) * math.exp(-scale * a * a / 2)
                )

            total += math.log(integrate.quad(density, -12, 12, points=[0.0], limit=200)[0])
        return total

    expected = [optimize.minimize_scalar(log_mixture, bracket=(0.0, 1.0), args=(scale,)).fun for scale in SHIFT_SCALES]
    found = check_adequacy(problem, GOAL, [data]).fit.log_evidence
    assert found == pytest.approx(np.logaddexp.reduce(expected) - math.log(len(SHIFT_SCALES)), abs=1e-6)
    within = data.pure_error(sigma=sigma)
    noise = [0.5 * (within.value / (1 + k) + within.degrees * math.log(k / (1 + k))) for k in NOISE_SCALES]
    found = check_adequacy(problem, GOAL, [data]).noise.log_evidence
    assert found == pytest.approx(np.logaddexp.reduce(noise) - math.log(len(NOISE_SCALES)))


def test_no_false_alarm_against_an_adversary() -> None:
    """Each round measures again what fits worst, and coins are as noisy as sub-Gaussian noise can be."""
    rng = np.random.default_rng(4)
    alarms, evidence = 0, []
    for run in range(40):
        coins = run % 2 == 0
        index, rounds, verdicts = np.repeat(np.arange(12), 2), [], []
        for _ in range(12):
            noise = rng.choice([-1.0, 1.0], size=index.size) if coins else rng.normal(size=index.size)
            rounds.append(Measurements.from_outcomes(12, index, (X @ THETA)[index] + noise))
            found = check_adequacy(PROBLEM, GOAL, rounds)
            verdicts.append(found.verdict)
            worst = [residual.probe for residual in found.worst[:3]]
            index = np.repeat(worst, 1 + rng.integers(4))
        alarms += "inadequate" in verdicts
        evidence.append([math.exp(check.log_evidence) for check in found.checks])
    assert alarms <= 2  # at most 0.4 are expected
    assert (np.mean(evidence, axis=0) < 2.0).all()  # each has a mean of at most 1


@given(st.floats(0.2, 5.0), st.floats(-1e4, 1e4), st.integers(0, 1000))
def test_units_and_offsets_change_nothing(unit: float, offset: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rounds = campaign(rng, misfit=WIGGLE)
    design = np.column_stack([X, np.ones(12)])
    one = check_adequacy(pw.Problem(design), GOAL, rounds)
    moved = [Measurements(r.count, unit * (r.mean + offset), unit**2 * r.scatter) for r in rounds]
    other = check_adequacy(pw.Problem(design / 3.0, sigma=unit), GOAL, moved)
    assert [c.verdict for c in other.checks] == [c.verdict for c in one.checks]
    assert other.fit.log_evidence == pytest.approx(one.fit.log_evidence, rel=1e-6, abs=1e-6)
    assert other.misfit == pytest.approx(unit * one.misfit, rel=1e-6)
    assert other.at_risk == one.at_risk


def test_what_misfit_does_to_a_lead() -> None:
    """The standard deviation over random misfits of probes and items, by brute force."""
    rng = np.random.default_rng(6)
    items = np.vstack([X[3], X[5], rng.normal(size=(2, 4))])  # two are probes, one of them is never measured
    problem = pw.Problem(X, items)
    index = np.repeat(np.arange(12), np.where(np.arange(12) == 5, 0, 1 + np.arange(12)))
    rounds = [Measurements.from_outcomes(12, index, (X @ THETA)[index])]
    sums = adequacy._Sums.of(problem, rounds, np.ones(12))
    for leader in range(4):
        for rival in set(range(4)) - {leader}:
            pair = pw.Problem(X, items[[leader, rival]])
            change = Risk.of(pair, GOAL, sums.estimate, sums.pooled.count / sums.sigma**2, 0.7, 0, OUTCOME).change
            f = 0.7 * rng.normal(size=(20_000, 14))  # twelve probes and the two other items
            weight = np.bincount(index, minlength=12).astype(float)
            solve = np.linalg.solve((X * weight[:, None]).T @ X, (X * weight[:, None]).T)
            place = {0: 3, 1: 5, 2: 12, 3: 13}
            off = f[:, :12] @ solve.T @ (items[leader] - items[rival]) - f[:, place[leader]] + f[:, place[rival]]
            assert change == pytest.approx(off.std(), rel=0.03)


def test_what_cannot_be_checked_says_why() -> None:
    once = Measurements.from_outcomes(12, np.arange(4), np.ones(4))
    found = check_adequacy(PROBLEM, GOAL, [once])
    assert found.verdict == "unchecked"
    assert found.certifies
    assert (
        found.fit.found == "Linearity cannot be checked, because 4 probes were measured and 4 numbers fitted to them."
    )
    assert "Measure other probes too" in found.fit.advice
    assert found.noise.found == "The noise cannot be checked, because no round has replicates."
    assert found.drift.found == "Drift cannot be checked, because no probe was measured in two rounds."
    assert check_adequacy(PROBLEM, GOAL, []).verdict == "unchecked"
    estimated = check_adequacy(PROBLEM, GOAL, campaign(np.random.default_rng(0), noise=3.0), sigma=3.5)
    assert estimated.noise.found == "The noise is not stated but estimated from replicates."
    assert estimated.verdict == "adequate"


def test_single_outcomes_are_compared_with_the_stated_noise() -> None:
    index = np.arange(12)
    straight = Measurements.from_outcomes(12, index, X @ THETA)
    bent = Measurements.from_outcomes(12, index, X @ THETA + 6.0 * WIGGLE)
    assert check_adequacy(PROBLEM, GOAL, [straight]).verdict == "adequate"
    found = check_adequacy(PROBLEM, GOAL, [bent])
    assert found.verdict == "inadequate"
    assert "σ² on 8 degrees of freedom" in found.sentence


def test_rounds_of_other_probes_are_refused() -> None:
    with pytest.raises(pw.InvalidMeasurements, match="an entry for each of the 12 probes"):
        check_adequacy(PROBLEM, GOAL, [Measurements.empty(3)])


def test_without_a_bound_on_the_noise_nothing_is_refused():
    """Two replicates that agree to the last digit but one say nothing of the noise, so rounds cannot disagree."""
    problem, goal = pw.Problem(np.eye(2)), pw.BestItem()
    rounds = [
        Measurements.from_outcomes(2, [0, 0, 1], [1.0, 1.0 + 1e-9, 0.0]),
        Measurements.from_outcomes(2, [0, 1], [9.0, 3.0]),
    ]
    found = check_adequacy(problem, goal, rounds, sigma=1e-9, bounded=False)
    assert found.certifies
    assert found.drift.log_evidence == -np.inf
    assert found.drift.verdict == "doubtful"
    refused = check_adequacy(problem, goal, rounds, sigma=1e-6)
    assert refused.drift.verdict == "inadequate"


def test_without_any_scatter_drift_is_unchecked():
    problem, goal = pw.Problem(np.eye(2)), pw.BestItem()
    rounds = [Measurements.from_outcomes(2, [0, 1], [value, 0.0]) for value in (1.0, 9.0)]
    found = check_adequacy(problem, goal, rounds, sigma=1.0, bounded=False)
    assert found.drift.verdict == "unchecked"
    assert "no round has replicates that differ" in found.drift.found
    assert found.warnings == ()


def test_a_campaign_with_too_few_replicates_for_a_bound_refuses_nothing():
    problem = pw.Problem(np.eye(2), sigma="unknown")
    campaign = pw.Campaign.create(Memory(), problem, seed=1)
    rows = [{"probe": "0", "outcome": 1.0}, {"probe": "0", "outcome": 1.0 + 1e-7}, {"probe": "1", "outcome": 0.0}]
    campaign.tell(rows, off_plan=True)
    campaign.tell([{"probe": "0", "outcome": 1.1}, {"probe": "1", "outcome": 0.5}], off_plan=True)
    found = scrutinised(campaign.ledger, campaign._replayed(campaign.ledger), 0)
    assert found.certifies
    assert found.drift.log_evidence == -np.inf
