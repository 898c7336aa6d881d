"""Adequacy: do replicates, rounds and probes agree with what the guarantee rests on?

Three sums of squares, one outside the other: within rounds (is σ as stated?), between rounds (did anything drift?), and
lack of fit (is the outcome linear in the features?). docs/adequacy.md has the proofs and the reasons for the limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, fdtrc, logsumexp

from probewise.coordinates import Array
from probewise.errors import InvalidMeasurements
from probewise.estimate import Estimate, least_squares
from probewise.goals import Goal
from probewise.measurements import Measurements, SumOfSquares, per_probe
from probewise.problem import Problem
from probewise.quantity import OUTCOME, Quantity

Verdict = Literal["adequate", "unchecked", "doubtful", "inadequate"]
"""Verdicts, from good to bad; only the last one forbids a certificate."""
VERDICTS: tuple[Verdict, ...] = ("adequate", "unchecked", "doubtful", "inadequate")

ALARM = 0.01
"""Probability that data as assumed are ever called inadequate, over all rounds and checks: proven. δ/10 comes on top
where a bound, which may fail, stands for noise of unknown scale."""
WARNING = 0.001
"""p-value of the textbook test below which a check is doubtful: heuristic, as it is looked at after every round."""
LIKELY = 2.0
"""Standard deviations of the misfit within which a lead is at risk."""
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


class Residual(NamedTuple):
    """What a probe reads beyond the model."""

    probe: int
    """Number of the probe."""
    name: str
    """Its name."""
    replicates: int
    """How often it was measured."""
    difference: float
    """Its mean less what the model says."""
    standardised: float
    """The difference over its standard deviation; beyond 3 is rare."""


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


def suggested(misfit: float) -> float:
    """Two standard deviations of the misfit that was seen, rounded up to two digits: heuristic."""
    if misfit <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(LIKELY * misfit)) - 1)
    return float(f"{math.ceil(LIKELY * misfit / unit) * unit:.2g}")


def check_adequacy(
    problem: Problem,
    goal: Goal,
    rounds: Sequence[Measurements],
    *,
    sigma: ArrayLike | None = None,
    bounded: bool = True,
    leader: int | None = None,
    quantity: Quantity = OUTCOME,
) -> Adequacy:
    """Compare the rounds with each other, with the model and with the stated noise.

    ``sigma`` bounds the noise where the problem states none; if it is not ``bounded`` but a guess, it refuses nothing.
    ``leader`` is the item whose lead is at stake, by default that of least squares on all rounds.
    """
    if any(round.n_probes != problem.n_probes for round in rounds):
        raise InvalidMeasurements(f"every round needs an entry for each of the {problem.n_probes} probes.")
    scale = per_probe(problem.sigma if sigma is None else sigma, problem.n_probes, "sigma")
    sums = _Sums.of(problem, [round for round in rounds if round.n], scale, bounded)
    noise, drift = _noise(sums, goal, stated=sigma is None), _drift(sums, goal)
    # where rounds disagree, misfit is what exceeds their disagreement
    error = sums.estimate.pure_error if drift.verdict in ("adequate", "unchecked") else drift.squares
    misfit, residuals = _residuals(problem, sums, error)
    risk = _Risk.of(problem, goal, sums, misfit, leader, quantity)
    if sigma is not None and not (error.degrees and (bounded or error.value)):
        found = "Linearity cannot be checked, because the noise is not stated and no round has replicates."
        fit = Check("fit", LINEAR, "unchecked", found, "Measure some probes twice.")
        return Adequacy(noise, drift, fit, 0.0, (), ())
    fit = _fit(problem, sums, error, misfit, residuals, risk)
    return Adequacy(noise, drift, fit, misfit, residuals[:SHOWN], tuple(map(int, risk.items)))


@dataclass(frozen=True, eq=False)
class _Sums:
    """The data by round and probe, in units of the noise where that is said."""

    count: NDArray[np.int64]
    """(R, n)."""
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
        count = np.array([r.count for r in rounds]).reshape(-1, problem.n_probes)
        mean = np.array([r.mean for r in rounds]).reshape(-1, problem.n_probes)
        parts = [r.pure_error(sigma=sigma) for r in rounds]
        within = SumOfSquares(sum(p.value for p in parts), sum(p.degrees for p in parts))
        value = float((count * ((mean - pooled.mean) / sigma) ** 2).sum())
        between = SumOfSquares(value, int(np.count_nonzero(count)) - int(np.count_nonzero(pooled.count)))
        estimate = least_squares(problem.probes, pooled, sigma=sigma)
        lack = estimate.lack_of_fit
        if lack.degrees and problem.misfit.any():
            index = np.flatnonzero(pooled.count)
            root = np.sqrt(pooled.count[index]) / sigma[index]
            rows, target = root[:, None] * estimate.measured.probes, root * pooled.mean[index]
            lack = SumOfSquares(_least(rows, target, root * problem.misfit[index]), lack.degrees)
        return cls(count, mean, sigma, pooled, estimate, within, between, bounded, problem.misfit, lack)


def _noise(sums: _Sums, goal: Goal, *, stated: bool) -> Check:
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
    advice = f"Start again with sigma {math.sqrt(square):.2g} times as large, or with sigma unknown."
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
    problem: Problem, sums: _Sums, error: SumOfSquares, misfit: float, residuals: tuple[Residual, ...], risk: _Risk
) -> Check:
    """Lack of fit: are the means of the probes linear in the features?"""
    ask, lack = LINEAR, sums.lack_of_fit
    probes, rank = int(np.count_nonzero(sums.pooled.count)), sums.estimate.rank
    if not lack.degrees:
        found = f"Linearity cannot be checked, because {probes} probes were measured and {rank} numbers fitted to them."
        advice = "Measure other probes too, not planned ones; if the leader can be measured, measure it."
        return Check("fit", ask, "unchecked", found, advice)
    count, level = sums.pooled.count, max(1.0, _level(error))
    evidence = _mixed(sums, lambda k: _missed(sums, k) / level - float(np.log1p(count / k).sum()))
    ratio, p_value, degrees = _textbook(lack, error)
    verdict = _judged(evidence, p_value, matters=risk.items.size > 0)
    numbers = (lack, ratio, p_value, evidence)
    if verdict == "adequate":
        allowed = f", up to the misfit of {sums.misfit.max():.3g} that is allowed for" if sums.misfit.any() else ""
        found = f"The model fits{allowed}: {probes} probes lie within the noise ({degrees})."
        return Check("fit", ask, verdict, found, "", *numbers)
    off = risk.quantity.difference(f"{misfit:.2g}")
    size = f"The model misses the probes by about {off} ({degrees}, {_odds(evidence, p_value)})"
    names = ", ".join(f"{r.name} ({r.difference:+.2g})" for r in residuals[:3])
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
    count = sums.pooled.count[index]
    root = count / np.sqrt(count + scale) / sums.sigma[index]
    rows, target = root[:, None] * sums.estimate.measured.probes, root * sums.pooled.mean[index]
    return _least(rows, target, root * sums.misfit[index])


def _least(rows: Array, target: Array, allowed: Array) -> float:
    """A lower bound, nearly sharp, on |target - rows c - b|² over c and all |b| ≤ ``allowed`` (p,); sharp if that is 0.

    c and b are improved in turn. A residual u that is orthogonal to the rows proves that the least is at least
    2u'target - |u|² - 2|u|'allowed: linear in what may be chosen, and concave in u.
    """
    if not allowed.any():
        gap = target - rows @ np.linalg.lstsq(rows, target)[0]
        return float(gap @ gap)
    basis, off, best = np.linalg.qr(rows)[0], np.zeros(target.size), 0.0
    for _ in range(_STEPS):
        rest = target - off
        rest = rest - basis @ (basis.T @ rest)
        best = max(best, float(2.0 * (rest @ target) - rest @ rest - 2.0 * (np.abs(rest) @ allowed)))
        moved = np.clip(rest + off, -allowed, allowed)
        if np.abs(moved - off).max() <= 1e-9 * allowed.max():
            break
        off = moved
    return best


_STEPS = 300
"""Improvements of a misfit that explains the data."""


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


def _residuals(problem: Problem, sums: _Sums, error: SumOfSquares) -> tuple[float, tuple[Residual, ...]]:
    """Misfit of the probes with noise removed, and residuals, largest first in units of their standard deviation."""
    lack, level = sums.estimate.lack_of_fit, _level(error)
    if not lack.degrees:
        return 0.0, ()
    index = np.flatnonzero(sums.pooled.count)
    weight = sums.pooled.count[index] / sums.sigma[index] ** 2
    rows = problem.probes[index]
    free = np.clip(1.0 - weight * ((rows @ sums.estimate.whitener) ** 2).sum(axis=1), 0.0, 1.0)
    # E Σ w_i residual_i² = (p - r)·level + misfit² Σ w_i (1 - h_i), if the misfits are uncorrelated
    misfit = math.sqrt(max(0.0, lack.value - lack.degrees * level) / float((weight * free).sum()))
    difference = sums.pooled.mean[index] - rows @ sums.estimate.theta
    spread = np.sqrt(level * free / weight)
    known = np.flatnonzero(free > 1e-9)  # a probe with leverage 1 fits whatever it reads
    order = known[np.argsort(-np.abs(difference[known] / spread[known]), kind="stable")]
    columns = (index, sums.pooled.count[index], difference, difference / np.where(free > 0, spread, 1.0))
    probes, counts, differences, sizes = (column[order].tolist() for column in columns)
    names = [problem.probe_names[probe] for probe in probes]
    return misfit, tuple(map(Residual, probes, names, counts, differences, sizes))


@dataclass(frozen=True, eq=False)
class _Risk:
    """Which comparisons the misfit could turn around."""

    leader: int
    items: NDArray[np.int64]
    """Rivals at risk, closest call first."""
    nearest: int | None
    """The rival with the smallest lead in units of what the misfit could change; None without any."""
    lead: float
    """The lead over that rival, plus epsilon."""
    change: float
    """Standard deviation of what the misfit adds to that lead."""
    quantity: Quantity
    """What outcomes are called."""

    @classmethod
    def of(cls, problem: Problem, goal: Goal, sums: _Sums, misfit: float, leader: int | None, what: Quantity) -> _Risk:
        """Item z truly has z'θ + f_z, probe i has x_i'θ + f_i, all f uncorrelated of size ``misfit``.

        Least squares with weights w gives y'θ̂ = Σ a_i m_i, a_i = w_i x_i'V⁻¹y, for y = z - z'; so the lead is off by
        Σ a_i f_i - f_z + f_z', of variance misfit²·|a - e_z + e_z'|², where e is 0 for items that are no probes.
        """
        fit, items = sums.estimate, problem.items
        leader = int(np.argmax(goal.sign * (items @ fit.theta))) if leader is None else leader
        differences = items[leader] - items
        weight = sums.pooled.count / sums.sigma**2
        whitened, probes = differences @ fit.whitener, problem.probes @ fit.whitener
        square = (weight[:, None] * probes).T @ (weight[:, None] * probes)
        norm2 = np.einsum("ij,jk,ik->i", whitened, square, whitened) + 2.0
        twin = problem.twins
        own = np.where(twin >= 0, weight[twin] * (probes[twin] * whitened).sum(axis=1), 0.0)
        if twin[leader] >= 0:
            norm2 -= 2.0 * weight[twin[leader]] * (whitened @ probes[twin[leader]])
        change = misfit * np.sqrt(np.maximum(norm2 + 2.0 * own, 0.0))
        lead = goal.sign * (differences @ fit.theta) + goal.epsilon
        known = np.isfinite(fit.variance(differences, np.abs(items[leader]) + np.abs(items)))
        rivals = np.flatnonzero(known & (np.arange(len(items)) != leader))
        if not rivals.size:
            return cls(leader, rivals, None, math.nan, math.nan, what)
        slack = lead - LIKELY * change
        first = int((order := rivals[np.argsort(slack[rivals], kind="stable")])[0])
        at_risk = order[(slack[order] < 0) & (misfit > 0)]
        return cls(leader, at_risk, first, float(lead[first]), float(change[first]), what)

    def sentence(self, problem: Problem) -> str:
        """Whether the lead stands."""
        if self.nearest is None:
            return "no comparison depends on it."
        names, change = problem.item_names, self.quantity.difference(f"{self.change:.2g}")
        ahead = self.quantity.difference(f"{self.lead:.3g}")
        lead = f"over {names[self.nearest]} it is {ahead}, and the misfit changes that by about {change}"
        if not self.items.size:
            return f"that is too little to overturn the lead of {names[self.leader]}: {lead}."
        which = "1 item" if self.items.size == 1 else f"{self.items.size:,} items"
        return f"that could overturn the lead of {names[self.leader]} over {which}: {lead}."
