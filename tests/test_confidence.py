from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import probewise as pw
from probewise.confidence import (
    THRESHOLDS,
    Evidence,
    ExplicitRidge,
    ItemsUnion,
    LogLog,
    LogTime,
    PairsUnion,
    SelfNormalised,
    StarUnion,
    Threshold,
    TrackAndStop,
    TrackAndStopHeuristic,
    log_wealth,
    require,
    spent,
)
from probewise.outcomes.gaussian import log_wealth_bounds


def evidence(measurements: int = 100_000, check: int = 3, dimension: int = 5, **more: Any) -> Evidence:
    """The case of the docs: d = 5, K = 6, S = 2, L = 1, δ = 0.05, probes e_1 … e_d measured equally often."""
    each = measurements / dimension
    return replace(
        Evidence(
            delta=0.05,
            check=check,
            rivals=5,
            items=6,
            measurements=measurements,
            dimension=dimension,
            logdet=dimension * math.log1p(each),
            penalty=1.0,
            norm_bound=2.0,
            largest_probe=1.0,
            information=each * np.eye(dimension),
        ),
        **more,
    )


@pytest.mark.parametrize(
    ("threshold", "early", "late"),
    [
        (SelfNormalised(union=True), 34.4, 49.2),
        (SelfNormalised(), 29.7, 44.7),
        (TrackAndStop(), 24.2, 36.9),
        (TrackAndStopHeuristic(), 13.7, 16.2),
        (LogTime(), 9.9, 14.5),
        (LogLog(), 5.1, 5.5),
        (PairsUnion(2.0), 9.5, 9.5),
        (StarUnion(), 7.1, 7.1),
    ],
)
def test_typical_values(threshold: Threshold, early: float, late: float) -> None:
    assert threshold.beta(evidence(1_000)) == pytest.approx(early, abs=0.06)
    assert threshold.beta(evidence(100_000)) == pytest.approx(late, abs=0.06)


def test_widths_are_roots() -> None:
    assert StarUnion().width(evidence()) == pytest.approx(math.sqrt(2 * math.log(5 * 12 / 0.05)))
    assert ItemsUnion().beta(evidence()) == pytest.approx(math.log(2 * 6 * 9 / 0.05))
    assert StarUnion().beta(evidence(rivals=0)) == pytest.approx(math.log(12 / 0.05))


@given(st.floats(1e-6, 0.999), st.integers(1, 2000))
def test_what_is_spent_is_never_more_than_allowed(delta: float, checks: int) -> None:
    assert sum(spent(delta, t) for t in range(1, checks + 1)) <= delta


@given(st.integers(2, 10_000), st.floats(1e-4, 0.5), st.sampled_from([PairsUnion(), PairsUnion(2.0), ItemsUnion()]))
def test_unions_spend_at_most_delta(items: int, delta: float, threshold: Threshold) -> None:
    shown = [evidence(items=items, rivals=items - 1, delta=delta, check=t) for t in range(1, 200)]
    assert sum((items - 1) * math.exp(-threshold.beta(e)) for e in shown) < delta


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 10**6))
def test_explicit_ridge_exceeds_the_determinant(seed: int, dimension: int, measurements: int) -> None:
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.full(dimension, 0.3))  # eigenvalues of V, of sum tL²
    shown = evidence(measurements, dimension=dimension, logdet=float(np.log1p(measurements * share).sum()))
    assert ExplicitRidge().beta(shown) >= SelfNormalised().beta(shown) - 1e-9


def test_track_and_stop_waits_for_information_and_does_not_overflow() -> None:
    low = np.diag([1e9, 1e9, 0.99])
    assert TrackAndStop().beta(evidence(information=low)) == math.inf
    assert math.isfinite(TrackAndStop(c=0.5).beta(evidence(information=low)))
    large = TrackAndStop().beta(evidence(information=1e9 * np.eye(500)))
    assert large == pytest.approx(1.1 * (math.log(20) + 250 * math.log1p(1e10)))


@pytest.mark.parametrize(
    ("threshold", "lacking", "message"),
    [
        (SelfNormalised(), {"norm_bound": math.inf}, r"'self-normalised' needs a bound on the norm of theta"),
        (ExplicitRidge(), {"norm_bound": math.inf}, r"'explicit-ridge' needs a bound on the norm of theta"),
        (ExplicitRidge(), {"largest_probe": math.inf}, r"needs the largest norm of a probe \(largest_probe\)"),
        (TrackAndStop(), {"information": None}, "needs the information matrix"),
    ],
)
def test_what_is_needed_is_asked_for(threshold: Threshold, lacking: dict[str, Any], message: str) -> None:
    with pytest.raises(pw.InvalidAlgorithm, match=message):
        threshold.beta(evidence(**lacking))


def test_factors_below_the_proof_are_refused() -> None:
    with pytest.raises(pw.InvalidAlgorithm, match=r"factor must be at least 1 for the bound to hold, got 0\.5"):
        PairsUnion(0.5)
    with pytest.raises(pw.InvalidAlgorithm, match=r"factor must be at least 1\.645 .* got 1.0"):
        ItemsUnion(1.0)
    with pytest.raises(pw.InvalidAlgorithm, match=r"u and c must be positive and finite, got 0\.0 and 1\.0"):
        TrackAndStop(u=0.0)


def test_invalid_pairings_are_refused() -> None:
    for threshold in (StarUnion(), PairsUnion(), ItemsUnion()):
        with pytest.raises(pw.InvalidAlgorithm, match="greedy chooses each measurement by the outcomes before it"):
            require(threshold, "adaptive", "least squares", "greedy")
    with pytest.raises(pw.InvalidAlgorithm, match="greedy uses least squares, but threshold 'self-normalised' is for"):
        require(SelfNormalised(), "adaptive", "least squares", "greedy")
    with pytest.raises(pw.InvalidAlgorithm, match="uses ridge, but threshold 'track-and-stop' is for least squares"):
        require(TrackAndStop(), "fixed", "ridge", "greedy")
    require(SelfNormalised(), "fixed", "ridge", "greedy")
    require(LogLog(), "adaptive", "ridge", "greedy")
    require(StarUnion(), "fixed", "least squares", "greedy")


def test_the_registry_is_complete() -> None:
    assert {name: kind.name for name, kind in THRESHOLDS.items()} == {name: name for name in THRESHOLDS}
    assert {kind for kind in Threshold.__subclasses__() if kind.__module__ == Threshold.__module__} == set(
        THRESHOLDS.values()
    )
    text = (Path(__file__).parents[1] / "docs/confidence.md").read_text(encoding="utf-8")
    for kind in THRESHOLDS.values():
        assert f"`{kind.name}`" in text
        assert not kind.proven or f"`{kind.__name__}`" in text


def exceeded(threshold: Threshold, *, penalty: float, runs: int = 100, steps: int = 120, delta: float = 0.3) -> float:
    """Share of runs in which the bound fails at some time, where the probe whose estimate is higher is measured."""
    rng, probes = np.random.default_rng(5), np.eye(2)
    failed = 0
    for _ in range(runs):
        count, total = np.ones(2), rng.standard_normal(2)
        for t in range(2, steps):
            estimate = total / (count + penalty)
            shown = evidence(t, delta=delta, dimension=2, information=(probes * count), norm_bound=1e-9)
            shown = replace(shown, logdet=float(np.log1p(count).sum()))
            if (np.abs(estimate) > threshold.width(shown) / np.sqrt(count + penalty)).any():  # θ = 0
                failed += 1
                break
            best = int(np.argmax(estimate))
            count[best] += 1
            total[best] += rng.standard_normal()
    return failed / runs


class OneLook(Threshold):
    """What would hold for one comparison at one time."""

    def beta(self, evidence: Evidence) -> float:
        return math.log(1.0 / evidence.delta)


def test_thresholds_for_adaptive_data_hold_at_all_times() -> None:
    assert exceeded(SelfNormalised(), penalty=1.0) < 0.3
    assert exceeded(TrackAndStop(), penalty=0.0) < 0.3
    assert exceeded(OneLook(), penalty=0.0) > 0.3


def test_bounds_on_wealth_hold_it_and_are_close() -> None:
    rng = np.random.default_rng(0)
    precision, unit = 10.0 ** rng.uniform(-3, 9, 5_000), 10.0 ** rng.uniform(-2, 2, 5_000)
    total = np.sqrt(precision) * rng.uniform(-30, 30, 5_000)
    exact, (lower, upper) = log_wealth(total, precision, unit), log_wealth_bounds(total, precision, unit)
    assert (lower <= exact + 1e-9).all()
    assert (exact <= upper + 1e-9).all()
    assert np.isneginf(lower[total < 0]).all()
    assert (upper - lower)[total >= 0].max() < math.log(
        2.0 * 7 * 3
    )  # the least weight is 1/7 over the sum of all, 2.59
