"""Status: where a campaign stands, in numbers and in one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from probewise.algorithms.base import Standing
from probewise.campaign.ledger import OPEN, Ledger
from probewise.campaign.replay import Trail
from probewise.campaign.storage import VERSION
from probewise.estimate import least_squares


class Left(Protocol):
    """What a forecast says: how much is left to go, as an algorithm sees it."""

    measurements: float
    low: float
    high: float
    cost: float
    rounds: float


@dataclass(frozen=True)
class ItemStatus:
    """One item."""

    name: str
    """Its name."""
    estimate: float | None
    """What is known of its value; None if the measurements say nothing about it."""
    low: float | None
    """Lower end of an interval that holds for all items and times at once."""
    high: float | None
    """Upper end."""
    state: str
    """best, leading, remaining, tied or eliminated."""
    why: str = ""
    """One sentence."""


@dataclass(frozen=True)
class Status:
    """Where a campaign stands."""

    item: str | None
    """The item declared the best; None until there is one."""
    leader: str | None
    """The one in front."""
    remaining: tuple[str, ...]
    """Items that may still be the best."""
    progress: float | None
    """From 0 at the start to 1 at the answer; None if the algorithm cannot say."""
    measurements: int
    """Outcomes that count."""
    cost: float
    """What they cost."""
    rounds: int
    """Rounds begun, those of the laboratory's own choice among them."""
    waiting: int
    """Rows that were asked for and are not there."""
    forecast: dict[str, float] | None
    """What is left to go: measurements, low, high, cost, rounds."""
    warnings: tuple[str, ...]
    """What a reader must know before believing the rest."""
    items: tuple[ItemStatus, ...]
    """Every item, the best first."""
    sentence: str
    """All of it in one sentence."""
    digest: str
    """Fingerprint of all records."""

    def to_json(self) -> dict[str, Any]:
        """As plain dictionaries and lists."""
        return asdict(self)


def status(ledger: Ledger, trail: Trail) -> Status:
    """Where a campaign stands; it only looks."""
    problem, goal, algorithm = trail.charter.problem, trail.charter.goal, trail.charter.algorithm
    standing = algorithm.standing(problem, goal, trail.state)
    names, data = problem.item_names, ledger.measured
    waiting = ledger.waiting
    item = ledger.declared if ledger.declared == trail.answer else None
    leader = trail.answer if standing.leader is None else standing.leader
    return Status(
        item=None if item is None else names[item],
        leader=None if leader is None else names[leader],
        remaining=tuple(names[i] for i in standing.remaining),
        progress=standing.progress,
        measurements=data.n,
        cost=data.cost(problem.cost),
        rounds=len(ledger.sheets),
        waiting=0 if waiting is None else int(np.count_nonzero(waiting.states == OPEN)),
        forecast=None,
        warnings=tuple(warnings(ledger, trail)),
        items=_items(trail, standing),
        sentence=_sentence(ledger, trail, standing),
        digest=ledger.last.digest,
    )


def warnings(ledger: Ledger, trail: Trail) -> Iterable[str]:
    """What bears on the guarantee, and what does not fit."""
    names, declaration = trail.charter.problem.item_names, ledger.declaration
    if ledger.declared != trail.answer:
        found = "no answer" if trail.answer is None else f"'{names[trail.answer]}'"
        if ledger.declared is None or declaration is None:
            yield f"the records lead to {found}, which has not been declared yet; ask() declares it"
        else:
            yield (
                f"'{names[ledger.declared]}' was declared the best by probewise {declaration.version}, but probewise "
                f"{VERSION} replays the records to {found}: believe neither before you know why"
            )
    elif declaration is not None and declaration.kind == "withdrawn":
        yield f"'{declaration.body['item']}' was declared the best and was withdrawn: {declaration.body['reason']}"
    if not trail.charter.algorithm.proven:
        yield f"the error rate of '{trail.charter.algorithm.name}' with these settings is not proven"
    if ledger.amended:
        yield (
            f"rounds were changed {ledger.amended} times after they had been looked at; the confidence is that of the "
            "data as they are now, if they were not changed because of who was in front"
        )
    if own := sum(not sheet.planned for sheet in ledger.sheets):
        yield f"{own} rounds were the laboratory's own: the confidence holds if each was chosen before its outcomes"


def _items(trail: Trail, standing: Standing) -> tuple[ItemStatus, ...]:
    """Least squares over all rounds, until there are intervals."""
    problem = trail.charter.problem
    data = [sheet.measurements(problem.n_probes) for sheet in trail.sheets]
    if not data:
        return tuple(ItemStatus(name, None, None, None, "remaining") for name in problem.item_names)
    fit = least_squares(problem.probes, sum(data[1:], data[0]), sigma=problem.sigma)
    values = np.where(np.isfinite(fit.variance(problem.items)), fit.mean(problem.items), math.nan)
    left = set(standing.remaining.tolist())
    out = []
    for item in np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable").tolist():
        state = "best" if item == trail.answer else "remaining" if item in left else "eliminated"
        value = float(values[item])
        out.append(ItemStatus(problem.item_names[item], None if math.isnan(value) else value, None, None, state))
    return tuple(out)


def _sentence(ledger: Ledger, trail: Trail, standing: Standing) -> str:
    goal, names = trail.charter.goal, trail.charter.problem.item_names
    count = ledger.measured.n
    if ledger.declared is not None and ledger.declared == trail.answer:
        within = f" or within {goal.epsilon:g} of the best" if goal.epsilon else ""
        return (
            f"'{names[ledger.declared]}' is the best item{within}, with confidence {1 - goal.delta:.4g}, "
            f"after {count:,} measurements: you may stop."
        )
    waiting = ledger.waiting
    if waiting is not None:
        rows = int(np.count_nonzero(waiting.states == OPEN))
        return f"Round {waiting.number} waits for {rows} of its {waiting.probes.size} rows."
    left = standing.remaining.size
    return f"{left} of {len(names)} items may still be the best after {count:,} measurements; ask for the next round."
