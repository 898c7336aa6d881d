"""What rounds cost a rule for the top m with a heuristic threshold: python benchmarks/top_rounds.py FILE.json.

m-LinGapE's sampling rule, greedy, on the instances of FILE.json for which heuristic means are published: the claim that
may be false by most, and the probe that lowers its variance most, as if outcomes came in as expected while a round is
planned. The search ends when every claim of the list at the estimate has a likelihood ratio of log((1 + log t)/δ), by
least squares on all data. The same rule is looked at after every measurement, and after rounds by which the total
grows by 2, 10 and 20 %. Sage must plan whole rounds; this says what that alone costs a rule that proves nothing.

Then Sage's own accounts where the planner is told θ: bets are on the right list from the first round on, and designs
use the true leads. Accounts are told nothing, and have to learn how far ahead items are. No planner can know more.

With ``--where``, only where the evidence goes: for the pair that Sage settles last, the log of the likelihood ratio at
the end by all data together and by its rounds, and what is taken off that until log 1/δ is left.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import probewise as pw
from probewise.algorithms.sage.accounts import account
from probewise.algorithms.sage.lists import Lists, order
from probewise.algorithms.sage.shared import Shared, _pairs
from probewise.measurements import Measurements

TOP = ("reda_top3_of_10", "mislid_a_top3_of_10")
ALSO = ("reda_top8_of_10",)
"""Where only accounts are run."""
GROWTHS = (1.0, 1.02, 1.1, 1.2)
LEAST = 10
"""Measurements of a round at least, where there are rounds."""


@dataclass(frozen=True, eq=False)
class Instance:
    """Probes that are the items."""

    probes: np.ndarray
    """(n, d): in units of the noise."""
    theta: np.ndarray
    m: int
    delta: float

    @classmethod
    def of(cls, given: dict[str, Any]) -> Instance:
        return cls(np.array(given["probes"]) / given["sigma"], np.array(given["theta"]), given["m"], given["delta"])

    def claims(self, estimate: np.ndarray) -> np.ndarray:
        """(k, d): each item of the list at the estimate less each other one."""
        order = np.argsort(-(self.probes @ estimate))
        inside, outside = self.probes[order[: self.m]], self.probes[order[self.m :]]
        return (inside[:, None] - outside[None, :]).reshape(-1, self.probes.shape[1])

    def searched(self, growth: float, run: int) -> int:
        """Measurements until the search ends."""
        rng, count = np.random.default_rng([run, 7]), np.ones(len(self.probes), dtype=np.int64)
        means = self.probes @ self.theta
        sums = means + rng.standard_normal(count.size)
        while True:
            n = int(count.sum())
            inverse = np.linalg.inv((self.probes.T * count) @ self.probes)
            estimate = inverse @ (self.probes.T @ sums)
            claims, level = self.claims(estimate), math.log((1.0 + math.log(n)) / self.delta)
            leads, variances = claims @ estimate, np.einsum("ij,jk,ik->i", claims, inverse, claims)
            if (leads**2 >= 2.0 * level * variances).all():
                return n
            size = 1 if growth == 1 else max(math.ceil((growth - 1.0) * n), LEAST)
            more = self.planned(claims, leads, inverse, math.sqrt(2.0 * level), size)
            sums = sums + more * means + np.sqrt(more) * rng.standard_normal(count.size)
            count = count + more

    def planned(
        self, claims: np.ndarray, leads: np.ndarray, inverse: np.ndarray, width: float, size: int
    ) -> np.ndarray:
        """(n,): a round, one probe after the other for the claim that is then most in doubt."""
        more, inverse = np.zeros(len(self.probes), dtype=np.int64), inverse.copy()
        for _ in range(size):
            variances = np.einsum("ij,jk,ik->i", claims, inverse, claims)
            doubted = claims[np.argmax(width * np.sqrt(variances) - leads)]
            images = self.probes @ inverse
            scale = 1.0 + np.einsum("ij,ij->i", images, self.probes)
            best = int(np.argmax((images @ doubted) ** 2 / scale))
            more[best] += 1
            inverse -= np.outer(images[best], images[best]) / scale[best]
        return more


def told(values: np.ndarray, m: int) -> type[Shared]:
    """What Sage knows if the planner is told the values of the items."""

    class Told(Shared):
        def _turned(self, problem: pw.Problem, goal: pw.Goal, lists: Any, known: Any) -> Shared:
            now = Lists.start(*order(values, m)) if lists is None else lists.raised()
            known = self.pool.sums(*_pairs(problem, now)) if known is None else known
            return replace(self, lists=now, known=known, betting=True)

        def directions(self, problem: pw.Problem, goal: pw.Goal, floor: float) -> Any:
            if self.lists is None or self.known is None:
                return super().directions(problem, goal, floor)
            one, other = self.lists.pairs
            truth = self.known._replace(total=(values[one] - values[other]) * self.known.precision)
            return Shared.directions(replace(self, known=truth), problem, goal, 0.0)

    return Told


class Knowing(pw.Sage):
    """Sage with such a planner."""

    kind: type[Shared]

    def _shares(self, goal: pw.Goal) -> type[Shared]:
        return self.kind


def known(given: dict[str, Any], runs: int) -> np.ndarray:
    """(runs,): measurements of Sage if the planner is told θ."""
    probes, theta, m = np.array(given["probes"]), np.array(given["theta"]), given["m"]
    problem = pw.Problem(probes, outcome=pw.Gaussian(float(given["sigma"]), normal=True))
    kind = type("Knowing", (Knowing,), {"kind": told(probes @ theta, m)})
    found = pw.simulate(problem, theta, kind(lean=True), pw.TopM(m, delta=given["delta"]), runs=runs, seed=11)
    return np.asarray(found["measurements"], dtype=float)


def last_pair(given: dict[str, Any], run: int) -> tuple[float, ...] | None:
    """Of the pair settled last in one search, in nats: evidence by all data, by rounds, what bets on all rounds would
    have made, and of that what was made before bets on this list began, and what was held then; None if it changed."""
    probes, theta, m = np.array(given["probes"]), np.array(given["theta"]), given["m"]
    sigma, rng = float(given["sigma"]), np.random.default_rng([run, 3])
    problem = pw.Problem(probes, outcome=pw.Gaussian(sigma, normal=True))
    goal, sage, states = pw.TopM(m, delta=given["delta"]), pw.Sage(lean=True), []
    state: Any = sage.init(problem, goal)
    while state.answer is None:
        at = np.repeat(np.arange(len(probes)), sage.ask(problem, goal, state, rng))
        outcomes = probes[at] @ theta + sigma * rng.standard_normal(at.size)
        state = sage.tell(problem, goal, state, Measurements.from_outcomes(len(probes), at, outcomes))
        states.append(state)
    front = [frozenset(own.lists.inside.tolist()) for own in states]
    if len(states) < 2 or front[-2] != front[-1]:
        return None
    left = np.where(states[-2]._open(problem, goal), states[-2].lists.held[0].ravel(), np.inf)
    pair = np.stack(states[-2].lists.pairs)[:, int(np.argmin(left))]
    begun = len(states) - 1
    while begun > 0 and states[begun - 1].betting and front[begun - 1] == front[begun]:
        begun -= 1

    def said(own: Any) -> tuple[float, float, float]:
        """The likelihood ratio, what bets on all rounds would have made, and what is held."""
        row = int(np.flatnonzero((np.stack(own.lists.pairs) == pair[:, None]).all(axis=0))[0])
        made = account(problem, own.known, own._unit(_pairs(problem, own.lists)[0]), 1.0)[row]
        return own.known.total[row] ** 2 / (2.0 * own.known.precision[row]), made, own.lists.held[0].ravel()[row]

    y, (ratio, made, _), (_, before, held) = probes[pair[0]] - probes[pair[1]], said(states[-1]), said(states[begun])
    inverse = np.linalg.inv((probes.T * state.data.count) @ probes / sigma**2)
    estimate = inverse @ (probes.T @ (state.data.count * state.data.mean)) / sigma**2
    return (float(y @ estimate) ** 2 / (2.0 * float(y @ inverse @ y)), ratio, made, before, held)


def where(name: str, given: dict[str, Any], runs: int) -> None:
    """Print where the evidence goes."""
    found = np.array([own for run in range(runs) if (own := last_pair(given, run)) is not None])
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / math.sqrt(len(found))
    heads = ("by all data", "by rounds", "made of it", "before bets", "held then")
    print(f"{name:<20} " + ", ".join(f"{h} {a:.2f} ± {e:.2f}" for h, a, e in zip(heads, mean, error, strict=True)))


def shown(name: str, how: str, found: np.ndarray, published: float) -> None:
    error = found.std(ddof=1) / math.sqrt(found.size)
    ratio = f"{found.mean() / published:.2f} ± {error / published:.2f}"
    print(f"{name:<20} {how:<24}{found.mean():8,.0f} ± {error:<5,.0f} {ratio} of the least published mean", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--where", action="store_true", help="Only where the evidence goes.")
    options = parser.parse_args()
    given = json.loads(options.file.read_text())
    for name in (*TOP, *ALSO):
        own, published = given[name], min(given[name]["published"].values())
        if not isinstance(own["probes"], list):
            own["probes"] = given[own["probes"].removeprefix("as ")]["probes"]
        if options.where:
            where(name, own, options.runs)
            continue
        instance = Instance.of(own)
        for growth in GROWTHS if name in TOP else ():
            found = np.array([instance.searched(growth, run) for run in range(options.runs)])
            rounds = "every measurement" if growth == 1 else f"rounds of {growth - 1.0:.0%}"
            shown(name, rounds, found, published)
        shown(name, "accounts, θ is told", known(own, options.runs), published)


if __name__ == "__main__":
    main()
