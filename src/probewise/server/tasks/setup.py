"""Tasks that begin a campaign: what tables and settings lead to, said before anything is created."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import probewise as pw
from probewise.algorithms import Algorithm, Forecast, algorithm_named
from probewise.campaign import Campaign, Memory
from probewise.campaign.findings.prospect import by_rounds, prospects, remarks, unforeseen
from probewise.campaign.findings.words import Words
from probewise.design import remembering
from probewise.errors import InvalidCampaign, InvalidGoal, InvalidProblem
from probewise.goals import Goal, goal_from
from probewise.model import remarks as table_remarks
from probewise.problem import Problem
from probewise.quantity import Quantity
from probewise.run import check
from probewise.server.tasks.desk import Desk, plain_object
from probewise.server.tasks.tables import checked_table
from probewise.tables import Table

UNSAID = (
    "Nothing was said of the noise, so it is taken to be 1, and the confidence rests on that; give an upper bound on "
    "the standard deviation of one measurement, or say that it is unknown."
)
AROUND = (2.0, 1.0, 0.5)
"""Gaps that are forecast where one matters, in units of it."""
_USES = {"name": "id_column", "noise": "sigma_column", "cost": "cost_column", "stock": "stock_column"}


def columns(desk: Desk, probes: str, items: str | None, limits: dict[str, int]) -> dict[str, Any]:
    """The columns of two tables, with a few cells of each."""
    first = checked_table(probes, limits)
    second = None if items is None else checked_table(items, limits)
    return plain_object({"probes": _sketch(first), "items": None if second is None else _sketch(second)})


def _sketch(table: Table) -> dict[str, Any]:
    some = table.rows(range(min(len(table), 1000)))
    distinct = (list(dict.fromkeys(map(str, column)))[:4] for column in some.columns)
    cells = dict(zip(some.header, distinct, strict=True))
    return {"name": table.name, "rows": len(table), "columns": cells, "remarks": list(table.remarks)}


def examine(desk: Desk, settings: dict[str, Any], limits: dict[str, int]) -> dict[str, Any]:
    """The roles of all columns, the checks, and a forecast; nothing is written."""
    problem, goal, algorithm, more = _built(settings, limits)
    roles = [] if problem.model is None else [asdict(role) for role in problem.model.roles]
    odd = [] if problem.model is None or problem.tables is None else table_remarks(problem.model, *problem.tables)
    said = [UNSAID] if _unsaid(settings) else []
    span = settings.get("range") or (None, None)
    limit = tuple(end if own is None else own for own, end in zip(span, (-math.inf, math.inf), strict=True))
    with remembering():
        first = goal.at((1.0 - more["amendments"]) * goal.delta)
        expected = prospects(problem, first, algorithm, _gaps(settings, goal))
        fewer = None if settings.get("rounds") is not None else by_rounds(problem, first, algorithm, expected)
        Campaign.create(Memory(), problem, goal, algorithm, 0, **more)
    return plain_object(
        {
            "probes": problem.n_probes,
            "items": problem.n_items,
            "features": problem.dimension,
            "formula": None if problem.model is None else problem.model.formula,
            "roles": roles,
            "question": Words(goal, Quantity(more["outcome_name"], more["unit"])).question,
            "confidence": 1.0 - goal.delta,
            "assurance": goal.assurance(goal.delta),
            "remarks": [*said, *odd, *remarks(problem, limit), *unforeseen(problem, goal, algorithm)],  # type: ignore[arg-type]
            "known": problem.outcome.known,
            "costly": bool((problem.cost != 1.0).any()),
            "forecasts": [{"gap": gap} | vars(row) for gap, row in expected.items()],
            "fewer_rounds": [] if fewer is None else _fewer(fewer[0], fewer[1], expected),
            "proven": algorithm.proven,
        }
    )


def _fewer(gap: float, few: Mapping[int, Forecast], expected: Mapping[float, Forecast]) -> list[dict[str, Any]]:
    """What fewer rounds take at one of the gaps, and as many as it takes."""
    most = expected[gap]
    found = {rounds: row for rounds, row in few.items() if rounds < (most.rounds or 0)}
    if not found:
        return []
    return [
        {"gap": gap, "rounds": rounds, "measurements": row.measurements}
        for rounds, row in (*found.items(), (most.rounds, most))
    ]


def _gaps(settings: Mapping[str, Any], goal: Goal) -> list[float]:
    """The differences that a forecast was asked for."""
    found, matters = [float(gap) for gap in settings.get("gaps") or ()], settings.get("matters")
    if not found and matters is not None:
        return [by * matters for by in AROUND]
    for gap in found:
        if not (0 <= gap < math.inf and gap + goal.epsilon > 0):
            raise InvalidGoal(f"a gap must be a positive number, got {gap:g}; how much better is worth finding?")
    return found


def create(desk: Desk, place: str, author: str, settings: dict[str, Any], limits: dict[str, int]) -> dict[str, Any]:
    """Begin a campaign."""
    problem, goal, algorithm, more = _built(settings, limits)
    if "://" not in place and Path(place).exists():
        raise InvalidCampaign(f"'{Path(place).name}' is there already and is never overwritten; choose another name.")
    campaign = Campaign.create(place, problem, goal, algorithm, settings.get("seed"), author=author, **more)
    return {"record": campaign.ledger.last.seq, "digest": campaign.ledger.last.digest}


def rows_file(desk: Desk, rows: list[dict[str, Any]], out: str) -> dict[str, Any]:
    """Rows of JSON as a file of CSV, as if they had been uploaded so."""
    header = list(dict.fromkeys(name for row in rows for name in row))
    with Path(out).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows([["" if row.get(name) is None else row[name] for name in header] for row in rows])
    return {}


def _built(settings: Mapping[str, Any], limits: dict[str, int]) -> tuple[Problem, Goal, Algorithm[Any], dict[str, Any]]:
    probes = checked_table(settings["probes"], limits)
    items = None if settings.get("items") is None else checked_table(settings["items"], limits)
    roles = settings.get("roles") or {}
    unknown = [name for name in roles if name not in probes.header and (items is None or name not in items.header)]
    if unknown:
        raise InvalidProblem(f"neither table has a column '{unknown[0]:.60}', which was given a role; check its name.")
    uses: dict[str, str | None] = {}
    for role, argument in _USES.items():
        found = [name for name, own in roles.items() if own == role]
        if len(found) > 1:
            raise InvalidProblem(f"'{found[0]}' and '{found[1]}' cannot both be the {role}; choose one of them.")
        uses[argument] = found[0] if found else None
    problem = Problem.from_tables(
        probes,
        items,
        model=settings.get("model") or "main",
        factors=[name for name, own in roles.items() if own == "factor"],
        shown=[name for name, own in roles.items() if own == "shown"],
        misfit=settings.get("misfit") or 0.0,
        **_noise(settings, uses["sigma_column"]),
        **uses,  # type: ignore[arg-type]
    )
    if settings.get("normal"):
        if _unsaid(settings) or (settings.get("outcome") or "gaussian") != "gaussian":
            raise InvalidProblem("that noise is normal says something of a stated scale only; give the noise too.")
        if problem.outcome.known:  # of unknown scale it has to be normal anyway
            problem = replace(problem, outcome=pw.Gaussian(problem.sigma, normal=True))
    if problem.n_probes + problem.n_items > limits.get("rows", 10**9):
        raise InvalidProblem("the tables have too many rows for this server; use the command line.")
    goal = goal_from(
        settings.get("goal") or "best",
        delta=settings.get("delta", 0.05),
        epsilon=settings.get("epsilon", 0.0),
        minimise=settings.get("minimise") or None,
        promise=settings.get("promise"),
    )
    algorithm = _algorithm(settings)
    check(problem, goal, algorithm)
    low, high = settings.get("range") or (None, None)
    more = {
        "outcome_range": (low, high),
        "amendments": float(settings.get("amendments") or 0.0),
        "outcome_name": settings.get("outcome_name") or "",
        "unit": settings.get("unit") or "",
        "aggregated": settings.get("aggregated") or False,
        "weighted": bool(settings.get("weighted")),
    }
    return problem, goal, algorithm, more


def _unsaid(settings: Mapping[str, Any]) -> bool:
    said = settings.get("sigma") is not None or "noise" in (settings.get("roles") or {}).values()
    return not said and (settings.get("outcome") or "gaussian") == "gaussian"


def _noise(settings: Mapping[str, Any], column: str | None) -> dict[str, Any]:
    """The law of outcomes, as the constructor of a problem takes it."""
    law = settings.get("outcome") or "gaussian"
    if law != "gaussian" and (settings.get("sigma") is not None or column is not None):
        what = "outcomes within bounds" if law == "bounded" else "counts"
        raise InvalidProblem(f"{what} need no noise; leave it out, or choose another law.")
    if law == "poisson":
        return {"outcome": pw.Poisson()}
    if law == "bounded":
        ends = settings.get("bounds") or (0.0, 1.0)
        return {"outcome": pw.Bounded(float(ends[0]), float(ends[1]))}
    if column is not None and settings.get("sigma") is not None:
        raise InvalidProblem(f"the noise stands in the column '{column}'; leave it out elsewhere.")
    return {"sigma": settings.get("sigma")}


def _algorithm(settings: Mapping[str, Any]) -> Algorithm[Any]:
    """The algorithm with the limits of a batch."""
    name, own = settings.get("algorithm") or "sage", {}
    if settings.get("budget") is not None:
        for other, words in (("algorithm", "an algorithm"), ("rounds", "rounds"), ("min_batch", "a smallest batch"),
                             ("matters", "a difference that matters")):  # fmt: skip
            if settings.get(other) not in (None, "", "sage"):
                raise pw.InvalidAlgorithm(
                    f"a budget has a plan of its own, which {words} cannot change; leave one out."
                )
        ends = zip(("low", "high"), settings.get("range") or (None, None), strict=True)
        name, own = "best-guess", {"budget": settings["budget"], **{end: own for end, own in ends if own is not None}}
    else:
        given = {"rounds": settings.get("rounds"), "gap": settings.get("matters")}
        own = {key: value for key, value in given.items() if value is not None}
    kind = algorithm_named(name)
    if kind is None or kind is pw.Batched or name == "xy-oracle":
        raise pw.InvalidAlgorithm(f"a campaign cannot be run by '{name:.40}'; probewise list names the algorithms.")
    limits = {key: settings[key] for key in ("max_batch", "min_batch", "max_replicates") if settings.get(key)}
    try:
        if {*limits} <= {field.name for field in fields(kind)}:  # type: ignore[arg-type]
            return kind(**own, **limits)
        return pw.Batched(kind(**own), **limits)
    except TypeError as error:
        raise pw.InvalidAlgorithm(f"{name} cannot be made with these settings: {error}.") from None
