"""Adequacy: do replicates, rounds and probes agree with what the guarantee rests on?

Three sums of squares, one outside the other: within rounds (is σ as stated?), between rounds (did anything drift?), and
lack of fit (is the outcome linear in the features?). docs/adequacy.md has the proofs and the reasons for the limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, fdtrc, logsumexp

from probewise.coordinates import Array
from probewise.errors import InvalidMeasurements
from probewise.estimate import Estimate, least_squares
from probewise.goals import Goal
from probewise.measurements import Measurements, SumOfSquares, per_probe
from probewise.misfit import Residual, Risk, least, residuals, suggested
from probewise.outcomes import Law
from probewise.problem import Problem
from probewise.quantity import OUTCOME, Quantity
from probewise.threads import few

Verdict = Literal["adequate", "unchecked", "doubtful", "inadequate"]
"""Verdicts, from good to bad; only the last one forbids a certificate."""
VERDICTS: tuple[Verdict, ...] = ("adequate", "unchecked", "doubtful", "inadequate")

ALARM = 0.01
"""Probability that data as assumed are ever called inadequate, over all rounds and checks: proven. δ/10 comes on top
where a bound, which may fail, stands for noise of unknown scale."""
WARNING = 0.001
"""p-value of the textbook test below which a check is doubtful: heuristic, as it is looked at after every round."""
NOISE_SCALES = (0.25, 1.0, 4.0, 16.0)
SHIFT_SCALES = (1.0, 10.0, 100.0, 1000.0)
"""Mixtures that are averaged: deviations of variance σ²/scale, of single measurements and of means."""
NONE = SumOfSquares(0.0, 0)
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LINEAR = "Is the outcome linear in the features?"
SHOWN = 5  # probes and items that a sentence or a list of the worst names


@dataclass(frozen=True)
class Check:
    """One question to the data and its answer."""

    name: str
    """"noise", "drift" or "fit"."""
    question: str
    """The question that the check asks."""
    verdict: Verdict
    found: str
    """One sentence: the answer and its evidence."""
    advice: str = ""
    """What to do; empty if nothing needs doing."""
    squares: SumOfSquares = NONE
    """The sum of squares in units of σ²: noise alone gives a mean square near 1."""
    ratio: float = math.nan
    """Mean square over that of the noise: F, or that over σ² itself without replicates."""
    p_value: float = math.nan
    """The p-value of the textbook F or χ² test, which assumes that the data are looked at only once."""
    log_evidence: float = -math.inf
    """Log of the evidence, which ever exceeds 1/α with probability at most α if all is as assumed."""


@dataclass(frozen=True)
class Adequacy:
    """Whether the data agree with the assumptions, what was found, and what to do."""

    noise: Check
    drift: Check
    fit: Check
    misfit: float
    """Root mean square by which the model misses the probes, noise removed (DerSimonian and Laird 1986)."""
    worst: tuple[Residual, ...]
    """Residuals, largest first in units of their standard deviation; empty where they cannot be told from noise."""
    at_risk: tuple[int, ...]
    """Items whose distance to the leader is within what the misfit could change, closest call first."""

    @property
    def suggested(self) -> float:
        """A misfit that a new campaign could allow for; 0 if none was seen."""
        return suggested(self.misfit)

    @property
    def checks(self) -> tuple[Check, Check, Check]:
        """The three checks: noise, drift, fit."""
        return self.noise, self.drift, self.fit

    @property
    def verdict(self) -> Verdict:
        """The worst of the three; that drift cannot be checked in a single round does not count."""
        counted = [c.verdict for c in self.checks if not (c.verdict == "unchecked" and c is not self.fit)]
        return max(counted, key=VERDICTS.index)

    @property
    def certifies(self) -> bool:
        """Whether a decision may be certified."""
        return self.verdict != "inadequate"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was found and what to do, for each check that is doubtful or inadequate."""
        return tuple(f"{c.found} {c.advice}".strip() for c in self.checks if VERDICTS.index(c.verdict) > 1)

    @property
    def sentence(self) -> str:
        """What stands at the top: the answers of the worst verdict."""
        return " ".join(c.found for c in self.checks if c.verdict == self.verdict)


@few
def check_adequacy(
    problem: Problem,
    goal: Goal,
    rounds: Sequence[Measurements],
    *,
    sigma: ArrayLike | None = None,
    bounded: bool = True,
    leader: int | None = None,
    quantity: Quantity = OUTCOME,
    departed: float | None = None,
) -> Adequacy:
    """Compare the rounds with each other, with the model and with the stated noise.

    ``sigma`` bounds the noise where the problem states none; if it is not ``bounded`` but a guess, it refuses nothing.
    ``leader`` is the item whose lead is at stake, by default that of least squares on all rounds. ``departed`` is the
    log of further evidence against linearity, which is worth 1 at most if means are linear (``departure``).
    """
    if any(round.n_probes != problem.n_probes for round in rounds):
        raise InvalidMeasurements(f"every round needs an entry for each of the {problem.n_probes} probes.")
    scale = per_probe(problem.sigma if sigma is None else sigma, problem.n_probes, "sigma")
    sums = _Sums.of(problem, [round for round in rounds if round.n], scale, bounded)
    law = problem.outcome
    noise, drift = _noise(sums, goal, law, stated=sigma is None or not law.by_sums), _drift(sums, goal)
    # where rounds disagree, misfit is what exceeds their disagreement
    error = sums.estimate.pure_error if drift.verdict in ("adequate", "unchecked") else drift.squares
    misfit, off = residuals(problem, sums.estimate, sums.pooled, sums.sigma, _level(error))
    weight = sums.pooled.weights / sums.sigma**2
    risk = Risk.of(problem, goal, sums.estimate, weight, misfit, leader, quantity)
    if sigma is not None and law.by_sums and not (error.degrees and (bounded or error.value)):
        found = "Linearity cannot be checked, because the noise is not stated and no round has replicates."
        fit = Check("fit", LINEAR, "unchecked", found, "Measure some probes twice.")
        return Adequacy(noise, drift, fit, 0.0, (), ())
    fit = _fit(problem, sums, error, misfit, off, risk, departed)
    return Adequacy(noise, drift, fit, misfit, off[:SHOWN], tuple(map(int, risk.items)))


@dataclass(frozen=True, eq=False)
class _Sums:
    """The data by round and probe, in units of the noise where that is said."""

    count: Array
    """(R, n): as how many measurements they weigh."""
    mean: Array
    """(R, n)."""
    sigma: Array
    """(n,)."""
    pooled: Measurements
    """All rounds together."""
    estimate: Estimate
    """Least squares on all of them."""
    within: SumOfSquares
    """Replicates of one round around their mean."""
    between: SumOfSquares
    """Means of a probe in different rounds around their common mean."""
    bounded: bool
    """Whether the noise is at most sigma."""
    misfit: Array
    """(n,): by how much means of probes may be off the model."""
    lack_of_fit: SumOfSquares
    """Of the estimate, less what such a misfit may explain."""

    @classmethod
    def of(cls, problem: Problem, rounds: Sequence[Measurements], sigma: Array, bounded: bool = True) -> _Sums:
        pooled = sum(rounds, Measurements.empty(problem.n_probes))
        count = np.array([r.weights for r in rounds]).reshape(-1, problem.n_probes)
        mean = np.array([r.mean for r in rounds]).reshape(-1, problem.n_probes)
        parts = [r.pure_error_in(sigma) for r in rounds]
        within = SumOfSquares(sum(p.value for p in parts), sum(p.degrees for p in parts))
        value = float((count * ((mean - pooled.mean) / sigma) ** 2).sum())
        between = SumOfSquares(value, int(np.count_nonzero(count)) - int(np.count_nonzero(pooled.count)))
        estimate = least_squares(problem.probes, pooled, sigma=sigma)
        lack = estimate.lack_of_fit
        if lack.degrees and problem.misfit.any():
            index = np.flatnonzero(pooled.count)
            root = np.sqrt(pooled.weights[index]) / sigma[index]
            rows, target = root[:, None] * estimate.measured.probes, root * pooled.mean[index]
            lack = SumOfSquares(least(rows, target, root * problem.misfit[index]), lack.degrees)
        return cls(count, mean, sigma, pooled, estimate, within, between, bounded, problem.misfit, lack)


def _noise(sums: _Sums, goal: Goal, law: Law, *, stated: bool) -> Check:
    """Within rounds: is the scatter of replicates no larger than σ says?"""
    ask, within = "Is the noise as small as was stated?", sums.within
    if not stated or not within.degrees:
        found = "is not stated but estimated from replicates"
        found = "cannot be checked, because no round has replicates" if stated else found
        return Check("noise", ask, "unchecked", f"The noise {found}.")
    n, square = within.degrees, within.mean_square
    evidence = _mixed(sums, lambda k: within.value / (1.0 + k) - n * math.log1p(1.0 / k), NOISE_SCALES)
    p_value = float(chdtrc(n, within.value))
    verdict = _judged(evidence, p_value, matters=_matters(square, goal.delta))
    seen = f"replicates scatter by {math.sqrt(square):.2f} sigma ({n:,} degrees of freedom"
    numbers = (within, square, p_value, evidence)
    if verdict == "adequate":
        return Check("noise", ask, verdict, f"The noise is as stated: {seen}).", "", *numbers)
    found = f"The noise is larger than stated: {seen}, {_odds(evidence, p_value)}); {_effect(square, goal.delta)}."
    advice = law.remedy or f"Start again with sigma {math.sqrt(square):.2g} times as large, or with sigma unknown."
    return Check("noise", ask, verdict, found, advice, *numbers)


def _drift(sums: _Sums, goal: Goal) -> Check:
    """Between rounds: does a probe have the same mean in all of them?"""
    ask, between, within = "Does a probe read the same in every round?", sums.between, sums.within
    if not between.degrees or not (sums.bounded or within.value):
        why = "the noise is not stated and no round has replicates that differ"
        why = "no probe was measured in two rounds" if not between.degrees else why
        return Check("drift", ask, "unchecked", f"Drift cannot be checked, because {why}.")
    level = max(1.0, _level(within))
    evidence = _mixed(sums, lambda k: _scattered(sums, k) / level - float(np.log1p(sums.count / k).sum()))
    ratio, p_value, degrees = _textbook(between, within)
    verdict = _judged(evidence, p_value, matters=_matters(between.mean_square, goal.delta))
    numbers = (between, ratio, p_value, evidence)
    if verdict == "adequate":
        return Check("drift", ask, verdict, f"The rounds agree with each other ({degrees}).", "", *numbers)
    seen = f"a probe reads otherwise in another round ({degrees}, {_odds(evidence, p_value)})"
    found = f"The rounds do not agree: {seen}; {_effect(between.mean_square, goal.delta)}."
    advice = "Look for what changed between rounds (day, batch, operator, calibration) and measure a control with each."
    return Check("drift", ask, verdict, found, advice, *numbers)


def _fit(
    problem: Problem,
    sums: _Sums,
    error: SumOfSquares,
    misfit: float,
    off: tuple[Residual, ...],
    risk: Risk,
    departed: float | None,
) -> Check:
    """Lack of fit: are the means of the probes linear in the features?"""
    ask, lack = LINEAR, sums.lack_of_fit
    probes, rank = int(np.count_nonzero(sums.pooled.count)), sums.estimate.rank
    if not lack.degrees:
        found = f"Linearity cannot be checked, because {probes} probes were measured and {rank} numbers fitted to them."
        advice = "Measure other probes too, not planned ones; if the leader can be measured, measure it."
        return Check("fit", ask, "unchecked", found, advice)
    count, level = sums.pooled.weights, max(1.0, _level(error))
    evidence = _mixed(sums, lambda k: _missed(sums, k) / level - float(np.log1p(count / k).sum()))
    if departed is not None:  # the mean of the two
        evidence = float(np.logaddexp(evidence, departed)) - math.log(2.0)
    ratio, p_value, degrees = _textbook(lack, error)
    verdict = _judged(evidence, p_value, matters=risk.items.size > 0)
    numbers = (lack, ratio, p_value, evidence)
    if verdict == "adequate":
        allowed = f", up to the misfit of {sums.misfit.max():.3g} that is allowed for" if sums.misfit.any() else ""
        found = f"The model fits{allowed}: {probes} probes lie within the noise ({degrees})."
        return Check("fit", ask, verdict, found, "", *numbers)
    far = risk.quantity.difference(f"{misfit:.2g}")
    size = f"The model misses the probes by about {far} ({degrees}, {_odds(evidence, p_value)})"
    names = ", ".join(f"{r.name} ({r.difference:+.2g})" for r in off[:3])
    advice = f"Add features that explain the worst probes, {names}, or keep only items like the probes that fit."
    if (allowance := suggested(misfit)) > sums.misfit.max():
        advice += f" Or begin again and allow for a misfit of {allowance:.2g}."
    return Check("fit", ask, verdict, f"{size}; {risk.sentence(problem)}", advice, *numbers)


def _mixed(sums: _Sums, twice_log: Callable[[float], float], scales: tuple[float, ...] = SHIFT_SCALES) -> float:
    """Log of the mean over scales of exp(½·twice_log(scale)); without a bound on the noise there is no evidence."""
    if not sums.bounded:
        return -math.inf
    return float(logsumexp([0.5 * twice_log(scale) for scale in scales]) - math.log(len(scales)))


def _scattered(sums: _Sums, scale: float) -> float:
    """min over means μ_i of Σ g (m_si - μ_i)²/σ_i² over rounds s and probes i, g = n²/(n + scale)."""
    weight = sums.count**2 / (sums.count + scale)
    centre = (weight * sums.mean).sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)
    return float((weight * ((sums.mean - centre) / sums.sigma) ** 2).sum())


def _missed(sums: _Sums, scale: float) -> float:
    """min over θ of Σ g (m_i - x_i'θ)²/σ_i² over probes i, g = n²/(n + scale)."""
    index = np.flatnonzero(sums.pooled.count)
    count = sums.pooled.weights[index]
    root = count / np.sqrt(count + scale) / sums.sigma[index]
    rows, target = root[:, None] * sums.estimate.measured.probes, root * sums.pooled.mean[index]
    return least(rows, target, root * sums.misfit[index])


def _textbook(squares: SumOfSquares, error: SumOfSquares) -> tuple[float, float, str]:
    """Ratio and p-value of an F test, or of a χ² test against σ if there are no replicates; and both in words."""
    k, n = squares.degrees, error.degrees
    if n and error.value > 0:
        ratio = squares.mean_square / error.mean_square
        return ratio, float(fdtrc(k, n, ratio)), f"F = {ratio:.3g} on {k:,} and {n:,} degrees of freedom"
    p_value = float(chdtrc(k, squares.value))
    return squares.mean_square, p_value, f"mean square {squares.mean_square:.3g} σ² on {k:,} degrees of freedom"


def _judged(log_evidence: float, p_value: float, *, matters: bool) -> Verdict:
    """Inadequate by proven evidence of something that matters; doubtful by either test alone."""
    proven = log_evidence >= math.log(3.0 / ALARM)  # three checks share the alarms
    if proven and matters:
        return "inadequate"
    return "doubtful" if proven or p_value < WARNING else "adequate"


def _inflated(factor: float, delta: float) -> float:
    """About the probability of error when variances are ``factor`` times those assumed: log(1/δ) is divided by it."""
    return float(delta ** (1.0 / max(factor, 1.0)))


def _matters(factor: float, delta: float) -> bool:
    return _inflated(factor, delta) > 2.0 * delta


def _effect(factor: float, delta: float) -> str:
    error = f"the error probability is about {_inflated(factor, delta):.2g} instead of {delta:.2g}"
    return error if _matters(factor, delta) else f"{error}, less than twice"


def _odds(log_evidence: float, p_value: float) -> str:
    """Evidence if there is any, else the p-value."""
    if log_evidence >= math.log(3.0 / ALARM):
        return f"evidence 10{f'{log_evidence / math.log(10.0):.0f}'.translate(_RAISED)} to 1"
    return f"p = {p_value:.1g}"


def _level(error: SumOfSquares) -> float:
    """The mean square that noise alone gives: what was seen, or 1 without replicates."""
    return error.mean_square if error.value > 0 else 1.0
