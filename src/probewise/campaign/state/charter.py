"""Charters: what a campaign is about, fixed when it is created, to and from JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from probewise.algorithms import ALGORITHMS, Algorithm, algorithm_named
from probewise.campaign.journal.bodies import NUMBER, several
from probewise.confidence import THRESHOLDS, Threshold
from probewise.design import digest
from probewise.errors import InvalidCampaign, ProbewiseError
from probewise.goal import BestItem
from probewise.problem import Problem
from probewise.run import check

Columns = Mapping[str, list[Any]]
"""Name of a column -> its cells: text, numbers or None."""


@dataclass(frozen=True, eq=False)
class Charter:
    """Problem, goal, algorithm and seed, and how the laboratory's tables look."""

    problem: Problem
    """As at the start; what changes later is in the ledger."""
    goal: BestItem
    """What is to be found, and how surely."""
    algorithm: Algorithm[Any]
    """One of the registry, with all its settings."""
    seed: int
    """Entropy of all random streams."""
    outcome_range: tuple[float, float]
    """Outcomes outside are refused; infinite without a limit."""
    probe_columns: Columns
    """One cell per probe, shown on every sheet: the laboratory's own columns."""
    item_columns: Columns
    """One cell per item, shown in reports."""
    amendments: float | None = 0.0
    """Share of δ set aside for data that change after they were looked at; None in journals of the first form."""

    def __post_init__(self) -> None:
        check(self.problem, self.goal, self.algorithm)
        if self.amendments is not None:
            check_share(self.amendments)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InvalidCampaign(f"seed must be a whole number of at least 0, got {self.seed!r}.")
        low, high = self.outcome_range
        if not (_is(low, float) and _is(high, float) and low < high):
            shown = f"({low!a:.40}, {high!a:.40})"
            raise InvalidCampaign(f"outcome_range must be (low, high) with low below high, got {shown}.")
        for kind, columns in (("probe", self.probe_columns), ("item", self.item_columns)):
            count = self.problem.n_probes if kind == "probe" else self.problem.n_items
            for name, cells in columns.items():
                if len(cells) != count:
                    raise InvalidCampaign(
                        f"{kind}_columns need one row per {kind}, expected {count} in '{name}', got {len(cells)}."
                    )

    def goal_of(self, version: int) -> BestItem:
        """The goal with the part of δ that the data may spend after so many amendments: docs/sage.md."""
        if self.amendments is None:
            return self.goal
        share = (self.amendments or 1.0) / (version * (version + 1)) if version else 1.0 - self.amendments
        return replace(self.goal, delta=share * self.goal.delta)

    def risk(self, version: int) -> float:
        """What δ bounds once the data have been amended so often: that a wrong item was ever declared."""
        if self.amendments is None:
            return min(1.0, (version + 1) * self.goal.delta)
        return self.goal.delta if self.amendments else min(1.0, self.goal.delta * (2.0 - 1.0 / (version + 1)))

    def stream(self, round_: int) -> np.random.Generator:
        """What the plan of a round may draw from."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(round_, 0)))

    def to_json(self) -> dict[str, Any]:
        """The body of the first record."""
        problem = self.problem
        return {
            "problem": {
                "probes": problem.probes.tolist(),
                "items": problem.items.tolist(),
                "sigma": problem.sigma.tolist(),
                "sigma_known": problem.sigma_known,
                "cost": problem.cost.tolist(),
                "stock": [int(count) if math.isfinite(count) else None for count in problem.stock],
                "probe_names": list(problem.probe_names),
                "item_names": list(problem.item_names),
                "feature_names": list(problem.feature_names),
            },
            "goal": {"delta": self.goal.delta, "epsilon": self.goal.epsilon},
            "algorithm": _encoded_algorithm(self.algorithm),
            "seed": self.seed,
            "outcome_range": [limit if math.isfinite(limit) else None for limit in self.outcome_range],
            "probe_columns": dict(self.probe_columns),
            "item_columns": dict(self.item_columns),
            "amendments": self.amendments,
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Charter:
        """What ``to_json`` wrote."""
        low, high = body["outcome_range"]
        return cls(
            Problem(**body["problem"]),
            BestItem(**body["goal"]),
            _decoded_algorithm(body["algorithm"]),
            body["seed"],
            limits(low, high),
            body["probe_columns"],
            body["item_columns"],
            body.get("amendments"),
        )


def check_share(value: float) -> None:
    """Refuse what is no share of δ that can be set aside for amendments."""
    if type(value) not in (int, float) or not (value == 0 or 0.001 <= value <= 0.999):
        raise InvalidCampaign(
            f"amendments must be a share of delta, 0 or from 0.001 to 0.999, got {value!r:.40}; 0.5 is usual."
        )


def limits(low: float | None, high: float | None) -> tuple[float, float]:
    """A range of outcomes; None is without limit."""
    return -math.inf if low is None else low, math.inf if high is None else high


def _encoded_algorithm(algorithm: Algorithm[Any]) -> dict[str, Any]:
    settings = {own.name: _encoded(getattr(algorithm, own.name)) for own in fields(algorithm)}  # type: ignore[arg-type]
    out = {"name": algorithm.name, "settings": settings}
    if type(algorithm) is not algorithm_named(algorithm.name) or digest(_decoded_algorithm(out)) != digest(algorithm):
        raise InvalidCampaign(
            f"a campaign needs an algorithm that it can read back from its file, one of {', '.join(ALGORITHMS)} "
            f"or of a package that adds it by an entry point; got {algorithm!r}."
        )
    return out


def _decoded_algorithm(data: Mapping[str, Any]) -> Algorithm[Any]:
    try:
        own = algorithm_named(data["name"])
        if own is None:
            raise KeyError(data["name"])
        return own(**_settings(own, data["settings"]))
    except ProbewiseError:
        raise
    except (KeyError, NameError, TypeError, ValueError) as error:
        raise InvalidCampaign(
            f"this version of probewise does not know the algorithm {data['name']!a:.40} with settings "
            f"{', '.join(data['settings'])!a:.200} ({error!s:.200}); install the version, or the "
            "package, that created the campaign."
        ) from None


def _settings(own: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as they were; each must be of the type that its field declares."""
    hints = get_type_hints(own)
    out = {name: _decoded(value) for name, value in given.items()}
    for name, value in out.items():
        if not _is(value, hints[name]):
            raise ValueError(f"{name} cannot be {value!a:.40}")
    return out


def _is(value: Any, hint: Any) -> bool:
    """Whether a setting is of a type: a number, a flag, one of some words, an object, or else a list of numbers."""
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    if hint is ArrayLike:
        return several(NUMBER).fits(value)
    if get_origin(hint) in (UnionType, Union):
        return any(_is(value, part) for part in get_args(hint))
    if hint is float:
        return NUMBER.fits(value) or (type(value) is float and math.isinf(value))
    return type(value) is int and -(2**63) <= value < 2**63 if hint is int else isinstance(value, hint)


def _encoded(value: Any) -> Any:
    """A setting as JSON: thresholds by name, arrays as lists, infinite numbers as text."""
    if isinstance(value, Threshold):
        return {"threshold": value.name, **{own.name: getattr(value, own.name) for own in fields(value)}}  # type: ignore[arg-type]
    if isinstance(value, np.ndarray | np.generic):
        return _encoded(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return list(value) if isinstance(value, tuple) else value


def _decoded(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    own = THRESHOLDS[value["threshold"]]
    return own(**_settings(own, {name: part for name, part in value.items() if name != "threshold"}))
