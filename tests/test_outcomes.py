"""Laws of outcomes: what they promise, and what they refuse."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import probewise as pw
from probewise.campaign import Memory
from probewise.measurements import SumOfSquares
from probewise.outcomes import OUTCOMES, Drawn
from probewise.testing import check_outcome


@pytest.mark.parametrize("law", [pw.Gaussian(), pw.Gaussian((0.2, 0.4, 0.3)), pw.Gaussian(0.5, unknown=True)])
def test_every_law_keeps_the_contract(law: pw.Law) -> None:
    check_outcome(law)


def test_names_are_those_of_the_registry() -> None:
    assert {name: law.name for name, law in OUTCOMES.items()} == {name: name for name in OUTCOMES}


def test_sigma_is_short_for_a_law() -> None:
    assert pw.Problem(np.eye(2), sigma=3).outcome == pw.Gaussian(3.0)
    assert pw.Problem(np.eye(2), sigma=[1, 2]).outcome == pw.Gaussian((1.0, 2.0))
    assert pw.Problem(np.eye(2), sigma="unknown").outcome == pw.Gaussian(unknown=True)
    assert pw.Problem(np.eye(2)).outcome == pw.Gaussian()
    np.testing.assert_array_equal(pw.Problem(np.eye(2), outcome=pw.Gaussian(4)).sigma, [4.0, 4.0])
    with pytest.raises(pw.InvalidProblem, match="give only one of them"):
        pw.Problem(np.eye(2), sigma=1.0, outcome=pw.Gaussian())
    with pytest.raises(pw.InvalidProblem, match=r"outcome is an object such as Gaussian\(2.5\), got 'normal'"):
        pw.Problem(np.eye(2), outcome="normal")  # type: ignore[arg-type]
    with pytest.raises(pw.InvalidProblem, match="sigma must be numbers, got 'loud'"):
        pw.Gaussian("loud")
    with pytest.raises(pw.InvalidProblem, match=r"sigma must be one number or one per probe, got shape \(1, 1\)"):
        pw.Gaussian([[1.0]])


def test_noise_is_told_with_its_least_and_largest_scale() -> None:
    assert "at most σ = 0.5 and light tails" in pw.Gaussian([0.5, 0.5]).noise
    assert "as stated for each probe (0.25 to 4) and light tails" in pw.Gaussian([1.0, 4.0, 0.25]).noise
    assert "unknown, estimated from replicates" in pw.Gaussian([1.0, 4.0], unknown=True).noise


def test_an_unknown_scale_costs_a_tenth_of_delta() -> None:
    known, unknown = pw.Gaussian(), pw.Gaussian(unknown=True)
    assert (known.left(0.1), unknown.left(0.1)) == (0.1, pytest.approx(0.09))
    scatter = SumOfSquares(90.0, 100)
    assert (known.bound(scatter, 0.1), known.guess(scatter)) == (1.0, 1.0)
    assert unknown.guess(scatter) == pytest.approx(0.9**0.5)
    assert unknown.bound(scatter, 0.1) > unknown.guess(scatter)


@dataclasses.dataclass(frozen=True)
class Loud(pw.Gaussian):
    """Noisier than it says."""

    def outcomes(self, means: Any, scale: Any, rng: Any) -> Any:
        return means + 1.3 * scale * rng.standard_normal(means.size)

    def drawn(self, means: Any, scale: Any, counts: Any, rng: Any) -> Drawn:
        return pw.Gaussian.drawn(self, means, 1.3 * scale, counts, rng)


@dataclasses.dataclass(frozen=True)
class Biased(pw.Gaussian):
    def outcomes(self, means: Any, scale: Any, rng: Any) -> Any:
        return pw.Gaussian.outcomes(self, means + 0.05, scale, rng)


@dataclasses.dataclass(frozen=True)
class Uneven(pw.Gaussian):
    """Sums that do not scatter as single outcomes do."""

    def drawn(self, means: Any, scale: Any, counts: Any, rng: Any) -> Drawn:
        own = pw.Gaussian.drawn(self, means, scale, counts, rng)
        return Drawn(own.mean, 0.8 * own.scatter)


@dataclasses.dataclass(frozen=True)
class Rough(pw.Gaussian):
    """Means as if fewer outcomes had been drawn."""

    def drawn(self, means: Any, scale: Any, counts: Any, rng: Any) -> Drawn:
        own = pw.Gaussian.drawn(self, means, scale, counts, rng)
        return Drawn(means + 1.2 * (own.mean - means), own.scatter)


@dataclasses.dataclass(frozen=True)
class Split(pw.Gaussian):
    """A scatter of a single outcome."""

    def drawn(self, means: Any, scale: Any, counts: Any, rng: Any) -> Drawn:
        return Drawn(pw.Gaussian.drawn(self, means, scale, counts, rng).mean, scale**2 * rng.chisquare(counts))


@dataclasses.dataclass(frozen=True)
class Generous(pw.Gaussian):
    """Accounts that grow too fast."""

    def log_account(self, total: Any, precision: Any, unit: Any, bound: float) -> Any:
        return pw.Gaussian.log_account(self, 1.5 * total, precision, unit, bound)


@dataclasses.dataclass(frozen=True)
class Picky(pw.Gaussian):
    def possible(self, outcomes: Any) -> Any:
        return outcomes > 0


BROKEN = {
    Loud: "noise must be sub-Gaussian with its scale",
    Biased: "outcomes must have the means",
    Uneven: "drawn must scatter as outcomes do",
    Rough: "means that are drawn must vary as means of outcomes do",
    Split: "a single outcome that is drawn must not scatter",
    Generous: "bets (have )?made",
    Picky: "outcomes that it draws must be possible",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_promise_is_noticed(broken: type[pw.Gaussian]) -> None:
    with pytest.raises(AssertionError, match=BROKEN[broken]):
        check_outcome(broken(0.5))


def test_impossible_outcomes_are_refused_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    picky = dataclasses.make_dataclass("Picky", [], bases=(Picky,), frozen=True, namespace={"name": "picky"})
    monkeypatch.setitem(OUTCOMES, "picky", picky)
    campaign = pw.Campaign.create(Memory(), pw.Problem(np.eye(2), outcome=picky()), seed=0)
    rows = campaign.ask()
    with pytest.raises(pw.InvalidRows, match="expected a finite number, as outcomes follow the law 'picky'"):
        campaign.tell(rows.filled([1.0] * (len(rows) - 1) + [-1.0]))
    assert campaign.records[-1].kind == "asked"
    with pytest.raises(pw.InvalidMeasurements, match=r"law 'picky', .* but measure returned -2 for probe '1'"):
        pw.identify(pw.Problem(np.eye(2), outcome=picky()), measure=lambda at: 1.0 - 3.0 * at)


def test_a_law_that_cannot_be_read_back_is_not_written() -> None:
    store = Memory()
    with pytest.raises(pw.InvalidCampaign, match="a campaign needs a law of outcomes that it can read back"):
        pw.Campaign.create(store, pw.Problem(np.eye(2), outcome=Loud()), seed=0)
    assert store.lines == []
