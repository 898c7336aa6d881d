"""Confirmations: measurements planned after a decision, what would contradict the answer, and whether they did."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from probewise.algorithms import ALGORITHMS
from probewise.campaign.findings.appraisal import Appraisal
from probewise.campaign.findings.words import Words
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.plan import Plan, check_size
from probewise.campaign.state.sheet import Confirms, Sheet
from probewise.coordinates import Array, Counts
from probewise.design import explicit, optimal_design
from probewise.errors import InvalidCampaign, OutOfStock
from probewise.estimate import Estimate, least_squares
from probewise.goals import Answer, Claims
from probewise.measurements import Measurements
from probewise.numerals import percent, plural, three_digits
from probewise.pooling import bias
from probewise.problem import Problem
from probewise.rounding import round_design
from probewise.tables import named

_TOL = 0.01
_LEAST = 1e-3
"""Share of the largest weight below which a probe is left out of a design."""
_EARLIER = 1e-5
"""How much dearer the last probe is than the first where all else is equal."""
_NEAR = 0.03
"""Share by which a standard error may be larger for the sake of probes that are like the items."""
_SOME = 500
"""Probes most like the items that are looked at."""


@dataclass(frozen=True)
class Confirmation:
    """One round that was planned to confirm the answer: its hardest claim, and what came of it."""

    round: int
    """Number of the round."""
    front: str | None
    """The item that the answer puts ahead; None if it is below a limit."""
    behind: str | None
    """The item that it puts behind; None if that is a limit."""
    measurements: int
    """Outcomes that count."""
    ahead: float | None
    """How far ahead it came out, negative if it was behind; None while rows are missing."""
    limit: float
    """It contradicts the answer if it came out behind by more than this."""
    level: float
    """Probability at most with which that happens although the answer is right."""
    contradicts: bool | None
    """Whether it does; None while rows are missing."""
    sentence: str
    """All of it in words."""


def confirming(
    ledger: Ledger, found: Appraisal, count: int, due: str | None, most: int
) -> tuple[str, dict[str, Any]] | None:
    """The record of a round of so many measurements that tests the hardest claim of the answer: docs/howto/confirm.md.

    It compares the winner with its closest rival: each by itself if it is a probe, else by the certified design. None
    if the rows of such a round are waited for.
    """
    charter, declared = ledger.charter, ledger.declared
    if not charter.algorithm.takes_any_rounds:
        able = [name for name, other in ALGORITHMS.items() if other.takes_any_rounds]
        raise InvalidCampaign(
            f"the guarantee of '{charter.algorithm.name}' covers only the rounds that it plans, so a round to confirm "
            f"the answer cannot be added; a campaign with {' or '.join(able)} can take it."
        )
    if not charter.problem.outcome.by_sums:
        raise InvalidCampaign(
            f"what contradicts an answer is known for noise with light tails, and outcomes of the law "
            f"'{charter.problem.outcome.name}' do not have them, so nothing can be tested; ask without confirm."
        )
    if declared is None or not found.numbers.decided:
        raise InvalidCampaign("there is no answer to confirm yet; ask without confirm for the next round.")
    if ledger.waiting is not None:  # a decision leaves no other round open
        return None
    if isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise InvalidCampaign(f"confirm must be a whole number of at least 2, got {count!r:.40}.")
    front, behind = _ends(ledger, found, declared)
    counts = _counts(ledger, front, behind, count)
    check_size(counts, most, charter)
    number, tests = len(ledger.sheets) + 1, sum(sheet.confirms is not None for sheet in ledger.sheets) + 1
    level, law = charter.goal.delta / (tests * (tests + 1)), charter.problem.outcome
    scale = law.bound(found.rounds.pool.pure_error, level)
    if not math.isfinite(scale):
        raise InvalidCampaign(
            "the noise is unknown and there are too few replicates to bound it, so nothing can be tested."
        )
    names = charter.problem.item_names
    confirms = {
        "answer": [names[item] for item in declared],
        "front": None if front is None else names[front],
        "behind": None if behind is None else names[behind],
        "level": level,
        "scale": scale,
    }
    plan = {"probes": np.flatnonzero(counts).tolist(), "counts": counts[counts > 0].tolist()}
    whole = {"whole": plan} if charter.algorithm.limits.split else {}
    body = {"round": number, "begins": True, "due": due, "confirms": confirms, **whole}
    return "asked", body | Plan.of(counts, charter.seed, number).to_json()


def _ends(ledger: Ledger, found: Appraisal, answer: Answer) -> tuple[int | None, int | None]:
    """The claim of the answer with the least to spare, as the item in front and the one behind; None is a limit."""
    problem, goal = ledger.charter.problem, ledger.charter.goal
    if goal.ranks and found.numbers.rival is not None:
        return answer[0], found.numbers.whose[found.numbers.rival]
    claims = goal.claims(problem, answer)
    items = goal.upward(problem)[0].items
    if not claims.against.size:
        raise InvalidCampaign("the answer was known without a measurement, so there is nothing to confirm.")
    hardest = int(np.argmin(claims.margins(found.numbers.data.theta)))
    ends = []
    for row in (claims.above[hardest], claims.below[hardest]):
        same = np.flatnonzero((items == row).all(axis=1))
        if not same.size and row.any():
            raise InvalidCampaign(
                f"an answer to '{goal.name}' is not confirmed by comparing two items; nothing was asked."
            )
        ends.append(int(same[0]) if row.any() else None)
    return ends[0], ends[1]


def _counts(ledger: Ledger, front: int | None, behind: int | None, count: int) -> Counts:
    """(n,): how often to measure each probe: an item by itself where it is a probe in stock, the rest by a design."""
    problem = ledger.problem
    left = problem.stock - ledger.measured.count
    weights = np.zeros(problem.n_probes)
    items = [item for item in (front, behind) if item is not None]
    twins = [_twin(problem, item, left) for item in items]
    alone = None not in twins or bool(problem.coordinates.is_inside(problem.items[items]).all())
    rest = np.zeros(problem.dimension)
    for item, twin, sign in zip(items, twins, (1.0, -1.0), strict=False):
        if twin is not None and alone:
            weights[twin] += problem.sigma[twin]  # a mean of n has the variance σ²/n: counts in proportion to σ
        else:
            rest += sign * problem.items[item]
    if rest.any():
        weights += _designed(problem, rest, left, items)
    support = int(np.count_nonzero(weights))
    if count < support:
        names = named([problem.item_names[item] for item in items])
        raise InvalidCampaign(f"a test of {names} needs at least {support} measurements, got {count}; ask for more.")
    counts = round_design(weights / weights.sum(), count, probes=problem.scaled_probes).counts
    for probe in np.flatnonzero(counts > left)[:1]:
        raise OutOfStock(
            f"probe '{problem.probe_names[probe]}' has {max(left[probe], 0):g} left in stock, and {counts[probe]} are "
            "needed to confirm the answer; ask for fewer, or add to its stock."
        )
    return counts


def _twin(problem: Problem, item: int, left: Array) -> int | None:
    """The probe that is the item itself, the least noisy of several that are left."""
    same = np.flatnonzero((problem.probes == problem.items[item]).all(axis=1) & (left > 0))
    return int(same[np.argmin(problem.sigma[same])]) if same.size else None


def _designed(problem: Problem, direction: Array, left: Array, items: list[int]) -> Array:
    """(n,): weights of a design for one direction y, with the sum √ρ: what y costs beside means that cost σ.

    Designs that are as good as the certified one, up to _NEAR, are many: y = Σ a_i x_i with the least Σ |a_i|, which is
    √ρ (Elfving 1952). A corner of the linear programme has few probes, and a small price on distance those that are
    most like the items.
    """
    from scipy.optimize import linprog  # seldom needed, and slow to load

    there = np.flatnonzero(left > 0)
    design = optimal_design(problem.scaled_probes[there], explicit(direction[None]), tol=_TOL)
    weights = np.zeros(problem.n_probes)
    weights[there] = np.where(design.weights >= _LEAST * design.weights.max(), design.weights, 0.0)
    far = np.min([np.linalg.norm(problem.probes - problem.items[item], axis=1) for item in items], axis=0)
    some = np.union1d(there[np.argsort(far[there], kind="stable")[:_SOME]], np.flatnonzero(weights))
    columns, target = problem.coordinates.probes[some].T, problem.coordinates(direction[None])[0]
    size, price = float(np.linalg.norm(target)), 1.0 + _NEAR * far[some] / (far[some].max() or 1.0)
    price += _EARLIER * np.arange(some.size) / some.size  # of designs as good as each other always the same
    found = linprog(
        np.tile(price, 2), A_eq=np.hstack([columns, -columns]), b_eq=target / size, bounds=(0, None), method="highs-ds"
    )
    if found.x is not None:
        parts = np.abs(found.x[: some.size] - found.x[some.size :])
        if (size * parts.sum()) ** 2 <= (1.0 + _NEAR) ** 2 * (1.0 + _TOL) * design.value:
            weights[:] = 0.0
            weights[some] = np.where(parts > _LEAST * parts.max(), parts, 0.0)
    return np.asarray(weights / weights.sum() * math.sqrt(design.value))


def confirmations(ledger: Ledger) -> tuple[Confirmation, ...]:
    """What became of every round that was planned to confirm the answer that is declared now."""
    names = ledger.charter.problem.item_names
    answer = None if ledger.declared is None else tuple(names[item] for item in ledger.declared)
    sheets = [s for s in ledger.sheets if s.confirms is not None and s.confirms.answer == answer]
    return tuple(_judged(ledger, sheet, sheet.confirms) for sheet in sheets if sheet.confirms is not None)


def _judged(ledger: Ledger, sheet: Sheet, own: Confirms) -> Confirmation:
    """Whether the outcomes of a round contradict the claim; the limit is that of the rows that are there."""
    charter, problem = ledger.charter, ledger.charter.problem
    data = sheet.measurements(problem.n_probes)
    claim, fit = _claim(ledger, own), _fit(problem, data if sheet.complete else _planned(sheet, problem))
    variance = float(fit.variance(claim.rows, claim.sizes)[0])
    width = own.scale * math.sqrt(2.0 * math.log(1.0 / problem.outcome.left(own.level)) * variance)
    limit = charter.goal.epsilon + width + float(bias(fit, claim.rows)[0])
    ahead = float(claim.margins(fit.theta)[0]) if sheet.complete and math.isfinite(variance) else None
    contradicts = None if ahead is None else ahead < -limit
    text = _Said(Words(charter.goal, charter.quantity), own, sheet).sentence(ahead, limit, contradicts)
    return Confirmation(sheet.number, own.front, own.behind, data.n, ahead, limit, own.level, contradicts, text)


def _fit(problem: Problem, data: Measurements) -> Estimate:
    return least_squares(problem.probes, data, sigma=problem.sigma, misfit=problem.slack)


def _planned(sheet: Sheet, problem: Problem) -> Measurements:
    """A round as if all rows had come, for its precision."""
    return Measurements.from_outcomes(problem.n_probes, sheet.probes, np.zeros(sheet.size))


def _claim(ledger: Ledger, own: Confirms) -> Claims:
    """The claim of the answer that a round tests."""
    problem, names = ledger.charter.problem, ledger.charter.problem.item_names
    goal, items = ledger.charter.goal, ledger.charter.goal.upward(problem)[0].items
    zero = np.zeros(problem.dimension)
    front, behind = (zero if name is None else items[names.index(name)] for name in (own.front, own.behind))
    if problem.shards is not None:
        return Claims(front[None], behind[None], np.zeros(1), np.array([names.index(str(own.behind))]))
    claims = goal.claims(problem, tuple(names.index(name) for name in own.answer))
    same = (claims.above == front).all(axis=1) & (claims.below == behind).all(axis=1)
    return claims.at(np.arange(same.size) == np.argmax(same))


@dataclass(frozen=True, eq=False)
class _Said:
    """The words for one round."""

    words: Words
    own: Confirms
    sheet: Sheet

    def sentence(self, ahead: float | None, limit: float, contradicts: bool | None) -> str:
        """What would contradict the answer or, once the rows are there, whether they do."""
        sure = f"if the answer is right, that happens with probability at most {percent(self.own.level)}"
        if not self.sheet.complete:
            far = self.words.quantity.difference(three_digits(limit))
            twice = self.words.quantity.difference(three_digits(2.0 * limit - self.words.goal.epsilon))
            return (
                f"Round {self.sheet.number} compares {self._pair()}: if {self._first} comes out more than {far} "
                f"{self._side(-1.0)} {self._second}, the answer is in doubt; {sure}. If it were wrong by {twice}, that "
                f"would be noticed with probability {percent(1.0 - self.own.level)} or more."
            )
        if ahead is None or contradicts is None:
            return f"Round {self.sheet.number} was to compare {self._pair()}, but too few of its rows are there."
        size = self.words.quantity.difference(three_digits(abs(ahead)))
        came = f"{self._first} came out {size} {self._side(ahead)} {self._second}"
        rows = plural(int(self.sheet.size), "measurement")
        if not contradicts:
            return f"The {rows} of round {self.sheet.number} to confirm it do not contradict it: {came}."
        bound = self.words.quantity.difference(three_digits(limit))
        return (
            f"The {rows} of round {self.sheet.number} contradict the answer: {came}, by more than {bound}; {sure}. "
            "Look for what was different in that round, and for what the model lacks."
        )

    @property
    def _first(self) -> str:
        """The item that is looked at."""
        return self.own.front or str(self.own.behind)

    @property
    def _second(self) -> str:
        """The other one, or the limit."""
        return str(self.own.behind) if self.own.front and self.own.behind else "the limit"

    def _pair(self) -> str:
        rival = ", its closest rival" if self.words.goal.ranks else ""
        return f"{self._first} with {self._second}{rival}"

    def _side(self, ahead: float) -> str:
        """On which side of the other one it is, if it is ahead of it by so much, or behind."""
        turned = self.words.goal.minimise != (self.own.front is None)
        return "above" if (ahead >= 0) != turned else "below"
