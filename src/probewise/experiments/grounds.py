"""Grounds: the instances of the arena, each with its question, its noise and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from probewise.coordinates import Array
from probewise.experiments.audit import TRAPS
from probewise.goals import Above, BestItem, Goal, TopM
from probewise.goals.best_set import BestSet
from probewise.instances import Instance, benchmark, many_arms, mislid, reda, sphere, transductive
from probewise.oracles import Assignments, Subsets
from probewise.outcomes import Logistic
from probewise.problem import Problem
from probewise.simulation.environment import Noise

Kind = Literal["items", "sets", "links"]
"""What is asked: for items, for sets that are not listed, or for items by outcomes with a link."""


class Ground(NamedTuple):
    """An instance with its noise and where it comes from."""

    draw: Callable[[], Instance]
    noise: Noise | None
    source: str
    """The paper, or "hostile", or "recorded"."""
    why: str
    """What it is, in a few words."""
    goal: Goal = BestItem()
    """The question, with δ to come."""
    kind: Kind = "items"
    """Which methods are asked."""


def _recorded() -> Instance:
    """Suzuki couplings: the quadratic model that fits the recorded yields best, with the scatter that it leaves."""
    from probewise import data

    table = data.suzuki()
    problem = Problem.from_tables(table, model="quadratic", shown=["yield"])
    return _fitted(problem, table.numbers("yield"))


def _barley() -> Instance:
    """Plots of ten varieties in twelve places: effects of both, as they fit the recorded yields best."""
    from probewise import data

    plots = data.barley()
    places = np.array([f"{site} {year}" for site, year in zip(plots.text("site"), plots.text("year"), strict=True)])
    here = plots.rows(places == places[0])
    problem = Problem.from_tables(plots, here, model="variety + site:year", factors=["year"])
    return _fitted(problem, plots.numbers("yield"))


def _fitted(problem: Problem, outcomes: Array) -> Instance:
    """The least squares fit of recorded outcomes for the truth, and the scatter that it leaves for the noise."""
    theta = np.linalg.lstsq(problem.probes, outcomes, rcond=None)[0]
    left = outcomes - problem.probes @ theta
    sigma = float(np.sqrt(left @ left / (outcomes.size - np.linalg.matrix_rank(problem.probes))))
    return Problem(problem.probes, problem.items, sigma=sigma), np.asarray(theta, dtype=np.float64)


def _values(oracle_size: int, seed: int) -> Instance:
    """Elements measured one by one, with standard normal values."""
    return Problem(np.eye(oracle_size)), np.random.default_rng(seed).standard_normal(oracle_size)


def _logistic() -> Instance:
    probes = np.vstack([np.eye(5), [math.cos(0.5), math.sin(0.5), 0.0, 0.0, 0.0]])
    return Problem(probes, outcome=Logistic()), np.array([2.0, 0.0, 0.0, 0.0, 0.0])


def _rates() -> Instance:
    rates = np.array([0.5, 0.4, 0.3])
    return Problem(np.eye(3), outcome=Logistic()), np.log(rates / (1.0 - rates))


GROUNDS: dict[str, Ground] = {
    "benchmark(5)": Ground(partial(benchmark, 5), None, "paper", "unit vectors and one close to the best"),
    "benchmark(20)": Ground(partial(benchmark, 20), None, "paper", "the same in 20 dimensions"),
    "many arms(100)": Ground(partial(many_arms, 100, 0), None, "paper", "100 items near two directions of a plane"),
    "sphere(50, 5)": Ground(partial(sphere, 50, 5), None, "paper", "50 random unit vectors, two of them close"),
    "transductive(20)": Ground(partial(transductive, 20), None, "paper", "items that cannot be measured themselves"),
    "soare(6)": Ground(partial(benchmark, 6, 0.1), None, "later", "the benchmark with a wider angle"),
    "soare(10)": Ground(partial(benchmark, 10, 0.1), None, "later", "the same in ten dimensions"),
    "3 best of 10": Ground(reda, None, "later", "the three best of Réda et al.'s ten items", TopM(3)),
    "8 best of 10": Ground(reda, None, "later", "the eight best of these ten", TopM(8)),
    "3 best of 10, far": Ground(mislid, None, "later", "the three best of ten, Réda, Tirinzoni and Degenne's", TopM(3)),
    "above 0.12": Ground(reda, None, "later", "which of these ten are above a limit", Above(0.12)),
    "near tie": Ground(TRAPS["near tie"].draw, TRAPS["near tie"].noise, "hostile", TRAPS["near tie"].why),
    "few probes": Ground(TRAPS["few probes"].draw, TRAPS["few probes"].noise, "hostile", TRAPS["few probes"].why),
    "many probes": Ground(TRAPS["many probes"].draw, TRAPS["many probes"].noise, "hostile", TRAPS["many probes"].why),
    "coins": Ground(TRAPS["coins"].draw, TRAPS["coins"].noise, "hostile", TRAPS["coins"].why),
    "suzuki": Ground(_recorded, None, "recorded", "247 recorded yields; outcomes drawn about the quadratic fit"),
    "barley": Ground(_barley, None, "recorded", "two best of ten varieties, by yields in twelve places", TopM(2)),
    "4 of 12 elements": Ground(
        partial(_values, 12, 3), None, "sets", "the best 4 of 12, of 495 sets", BestSet(Subsets(12, 4)), "sets"
    ),
    "assignment 5 × 5": Ground(
        partial(_values, 25, 0), None, "sets", "who does what, 120 ways", BestSet(Assignments(5, 5)), "sets"
    ),
    "logistic(5)": Ground(
        _logistic, None, "links", "successes whose odds are those of benchmark(5, 0.5)", kind="links"
    ),
    "3 rates": Ground(_rates, None, "links", "rates of 50, 40 and 30 %, a feature for each", kind="links"),
}
"""Name -> instance."""
