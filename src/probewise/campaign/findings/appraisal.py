"""Appraisals: all that can be said of a campaign now, computed once for the status and the report."""

from __future__ import annotations

from dataclasses import dataclass, replace

from probewise.adequacy import Adequacy, check_adequacy
from probewise.algorithms.base import Standing
from probewise.campaign.findings.effects import Effect, effects
from probewise.campaign.findings.guesses import Guess, guessed
from probewise.campaign.findings.numbers import Finished, Numbers, numbers
from probewise.campaign.findings.window import window
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.replay import Trail
from probewise.departure import departure
from probewise.measurements import Measurements
from probewise.pooling import Pooled, learned, spread
from probewise.problem import Problem


@dataclass(frozen=True, eq=False)
class Appraisal:
    """The numbers of a campaign, and whether its data agree with what its confidence rests on."""

    batches: tuple[Measurements, ...]
    """What the algorithm was told, sheet by sheet."""
    standings: tuple[Standing, ...]
    """Where it stood after each of them."""
    left: tuple[int, ...]
    """How many items were left after each of them."""
    standing: Standing
    """Where it stands now."""
    rounds: Finished
    """The rounds that these make."""
    numbers: Numbers
    """An estimate and an interval for every item."""
    effects: tuple[Effect, ...]
    """What each column of the tables does."""
    adequacy: Adequacy
    """The checks on all complete rounds; a confirmation that came after the decision counts too."""
    guess: Guess | None = None
    """What a model predicts, which is heuristic; None without a model, and once there is an answer."""


def appraised(ledger: Ledger, trail: Trail) -> Appraisal:
    """What the records say of every item, and of themselves."""
    charter, shown = trail.charter, window(trail)
    problem, goal, algorithm = shown.problem, trail.goal, charter.algorithm
    batches = tuple(sheet.measurements(problem.n_probes) for sheet in trail.sheets)
    standings, now = shown.standings, shown.now
    if algorithm.predicts:  # the numbers are those of the linear model, and so is who leads by them
        standings = tuple(replace(standing, guess=()) for standing in standings)
        now = standings[-1] if standings else now
    rounds = Finished(_pool(problem, trail), trail.finished)
    found = numbers(
        problem,
        goal,
        batches,
        standings,
        answer=None if trail.answer is None else shown.places(trail.answer),
        risk=ledger.risk,
        labels=[sheet.number for sheet in trail.sheets],
        rounds=rounds,
        quantity=charter.quantity,
        whose=shown.whose,
        unseen=shown.unseen,
    )
    matter = effects(problem, goal, rounds.pool, found.data)
    guess = _guess(ledger, trail, now) if algorithm.predicts and trail.answer is None else None
    adequate = _scrutinised(ledger, trail, shown.problem, found.leader)
    return Appraisal(batches, standings, shown.left, now, rounds, found, matter, adequate, guess)


def _guess(ledger: Ledger, trail: Trail, now: Standing) -> Guess | None:
    """The prediction with the stock of now."""
    found = trail.charter.algorithm.prediction(*trail.goal.upward(ledger.problem), trail.state)
    return guessed(trail.charter, found, trail.goal.sign, now.remaining.tolist())


def _pool(problem: Problem, trail: Trail) -> Pooled:
    """The estimate of each finished round, with what was known of outcomes before it; as the algorithm has it."""
    if (known := trail.charter.algorithm.pooled(trail.state)) is not None:
        return known
    if problem.outcome.learns:
        return learned(problem, [step.rounds for step in trail.steps])
    return Pooled(tuple(fit for step in trail.steps for fit in step.fits))


def scrutinised(ledger: Ledger, trail: Trail, leader: int | None) -> Adequacy:
    """The checks on all complete rounds, whoever planned them, with the lead of an item at stake."""
    shown = window(trail)
    return _scrutinised(ledger, trail, shown.problem, None if leader is None else shown.places((leader,))[0])


def _scrutinised(ledger: Ledger, trail: Trail, problem: Problem, leader: int | None) -> Adequacy:
    """The same, with the items of a problem that are shown."""
    goal, law = ledger.goal, problem.outcome
    rounds = [sheet.measurements(problem.n_probes) for sheet in ledger.sheets if sheet.complete]
    what = ledger.charter.quantity
    departed = departure(problem, [step.rounds for step in trail.steps]) if law.learns else None
    if not law.by_sums:  # what is learned of the scale is a guess; only what was bet refuses
        scale = spread(problem, rounds)
        return check_adequacy(
            problem, goal, rounds, sigma=scale, bounded=False, leader=leader, quantity=what, departed=departed
        )
    if law.known:
        return check_adequacy(problem, goal, rounds, leader=leader, quantity=what, departed=departed)
    pool = Finished.each(problem, rounds, problem.sigma).pool
    bound = law.bound(pool.pure_error, goal.delta)
    if 0 < bound < float("inf"):
        return check_adequacy(problem, goal, rounds, sigma=bound * problem.sigma, leader=leader, quantity=what)
    # too few replicates for a bound: the tests that need none warn, and nothing is refused
    guess = law.guess(pool.pure_error) * problem.sigma
    return check_adequacy(problem, goal, rounds, sigma=guess, bounded=False, leader=leader, quantity=what)
