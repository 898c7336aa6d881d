"""Appraisals: the numbers of a campaign, and whether its data agree with what its confidence rests on."""

from __future__ import annotations

import math

from probewise.adequacy import Adequacy, check_adequacy
from probewise.campaign.findings.numbers import Finished, Numbers, numbers
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.replay import Trail
from probewise.estimate import Pooled


def finished(trail: Trail) -> Finished:
    """The rounds of a campaign; one may take several batches."""
    return Finished(Pooled(tuple(fit for step in trail.steps for fit in step.fits)), trail.finished)


def appraised(trail: Trail, risk: float) -> Numbers:
    """An estimate and an interval for every item; ``risk`` is what the confidence that is printed leaves."""
    charter, rounds = trail.charter, finished(trail)
    problem, goal = charter.problem, trail.goal
    return numbers(
        problem,
        goal,
        [sheet.measurements(problem.n_probes) for sheet in trail.sheets],
        [charter.algorithm.standing(problem, goal, state) for state in trail.states],
        answer=trail.answer,
        risk=risk,
        labels=[sheet.number for sheet in trail.sheets],
        rounds=rounds,
    )


def scrutinised(ledger: Ledger, leader: int | None) -> Adequacy:
    """The checks on all complete rounds; a confirmation that came after the decision counts too."""
    problem, goal, law = ledger.charter.problem, ledger.goal, ledger.charter.problem.outcome
    rounds = [sheet.measurements(problem.n_probes) for sheet in ledger.sheets if sheet.complete]
    if law.known:
        return check_adequacy(problem, goal, rounds, leader=leader)
    pool = Finished.each(problem, rounds, problem.sigma).pool
    bound = law.bound(pool.pure_error, goal.delta)
    if 0 < bound < math.inf:
        return check_adequacy(problem, goal, rounds, sigma=bound * problem.sigma, leader=leader)
    # too few replicates for a bound: the tests that need none warn, and nothing is refused
    guess = law.guess(pool.pure_error) * problem.sigma
    return check_adequacy(problem, goal, rounds, sigma=guess, bounded=False, leader=leader)
