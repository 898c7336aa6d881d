"""Appraisals: the numbers of a campaign, and whether its data agree with what its confidence rests on."""

from __future__ import annotations

import math

from probewise.adequacy import Adequacy, check_adequacy
from probewise.algorithms import Sage
from probewise.campaign.ledger import Ledger
from probewise.campaign.numbers import Finished, Numbers, noise_scale, numbers
from probewise.campaign.replay import Trail


def finished(trail: Trail) -> Finished:
    """The rounds of a campaign; those of Sage may take several batches."""
    charter = trail.charter
    if isinstance(charter.algorithm, Sage):
        return Finished(trail.state.pool, tuple(len(state.pool.fits) for state in trail.states[1:]))
    batches = [sheet.measurements(charter.problem.n_probes) for sheet in trail.sheets]
    return Finished.each(charter.problem, batches, charter.problem.sigma)


def appraised(trail: Trail) -> Numbers:
    """An estimate and an interval for every item."""
    charter, rounds = trail.charter, finished(trail)
    problem, goal = charter.problem, charter.goal
    return numbers(
        problem,
        goal,
        [sheet.measurements(problem.n_probes) for sheet in trail.sheets],
        [charter.algorithm.standing(problem, goal, state) for state in trail.states[1:]],
        answer=trail.answer,
        labels=[sheet.number for sheet in trail.sheets],
        rounds=rounds,
        noise=1.0 if problem.sigma_known else noise_scale(goal, rounds.pool),
    )


def scrutinised(ledger: Ledger, leader: int | None) -> Adequacy:
    """The checks on all complete rounds; a confirmation that came after the decision counts too."""
    problem, goal = ledger.charter.problem, ledger.charter.goal
    rounds = [sheet.measurements(problem.n_probes) for sheet in ledger.sheets if sheet.complete]
    if problem.sigma_known:
        return check_adequacy(problem, goal, rounds, leader=leader)
    pool = Finished.each(problem, rounds, problem.sigma).pool
    bound = noise_scale(goal, pool)
    if 0 < bound < math.inf:
        return check_adequacy(problem, goal, rounds, sigma=bound * problem.sigma, leader=leader)
    # too few replicates for a bound: the tests that need none warn, and nothing is refused
    guess = math.sqrt(pool.pure_error.mean_square) if pool.pure_error.value > 0 else 1.0
    return check_adequacy(problem, goal, rounds, sigma=guess * problem.sigma, bounded=False, leader=leader)
