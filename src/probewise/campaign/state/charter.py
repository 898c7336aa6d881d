"""Charters: what a campaign is about, fixed when it is created, to and from JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from probewise.algorithms import Algorithm
from probewise.campaign.state.settings import fits, from_json, to_json
from probewise.dialects import PLAIN, Dialect
from probewise.errors import InvalidCampaign, InvalidGoal, InvalidProblem
from probewise.goals import BestItem, Goal
from probewise.model import Model
from probewise.outcomes import Gaussian, Law
from probewise.problem import Problem
from probewise.quantity import OUTCOME, Quantity
from probewise.run import check
from probewise.shards import kept

Columns = Mapping[str, list[Any]]
"""Name of a column -> its cells: text, numbers or None."""


@dataclass(frozen=True, eq=False)
class Charter:
    """Problem, goal, algorithm and seed, and how the laboratory's tables look."""

    problem: Problem
    """The problem at the start; the ledger has what changes later."""
    goal: Goal
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
    dialect: Dialect = PLAIN
    """How the tables of the laboratory were written, and so its sheets are."""
    quantity: Quantity = OUTCOME
    """What outcomes are called, and their unit."""
    memo: Mapping[str, Any] | None = None
    """What the algorithm solved for before the first round, so that nobody has to again; None if nothing was kept."""
    aggregated: bool | Literal["means"] = False
    """Whether sheets have one row for each probe, with the number of measurements and of successes, or their mean."""
    weighted: bool = False
    """Whether every row brings its own precision, known before its outcome."""

    def __post_init__(self) -> None:
        check(self.problem, self.goal, self.algorithm)
        self._check_rows()
        if self.amendments is not None:
            check_share(self.amendments)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise InvalidCampaign(f"seed must be a whole number of at least 0, got {self.seed!r}.")
        low, high = self.outcome_range
        if not (fits(low, float) and fits(high, float) and low < high):
            shown = f"({low!a:.40}, {high!a:.40})"
            raise InvalidCampaign(f"outcome_range must be (low, high) with low below high, got {shown}.")
        for kind, columns in (("probe", self.probe_columns), ("item", self.item_columns)):
            count = self.problem.n_probes if kind == "probe" else self.problem.n_items
            for name, cells in columns.items():
                if len(cells) != count:
                    raise InvalidCampaign(
                        f"{kind}_columns need one row per {kind}, expected {count} in '{name}', got {len(cells)}."
                    )

        if self.memo is not None:
            self.start(self.goal_of(0))

    def _check_rows(self) -> None:
        """Refuse rows that this law cannot be told by."""
        law = self.problem.outcome
        if self.aggregated not in (False, True, "means"):
            raise InvalidCampaign(f"aggregated must be True, False or 'means', got {self.aggregated!r:.40}.")
        if not self.weighted:
            return
        if law.weighed is None or not law.known:
            raise InvalidCampaign(
                f"rows with a precision of their own need noise of a known scale, or counts; outcomes follow the law "
                f"'{law.name}'{'' if law.known else ' of unknown scale'}; leave weighted out, or choose another law."
            )
        if self.aggregated:
            raise InvalidCampaign("rows are aggregated or bring their own precision, not both; leave one of them out.")
        if not self.algorithm.takes_weights:
            raise InvalidCampaign(
                f"{self.algorithm.name} relies on the noise that is stated, and rows bring their own; choose Sage."
            )

    @property
    def by_means(self) -> bool:
        """Whether rows are told by their mean, or by their total."""
        return bool(self.aggregated) and (self.aggregated == "means" or self.problem.outcome.ends is None)

    @property
    def told(self) -> tuple[str, ...]:
        """The columns of a sheet that are filled in."""
        law = self.problem.outcome
        if self.aggregated and not self.by_means:
            return "n", "successes"
        if self.by_means:
            return ("n", "total") if law.summed == "total" else ("n", "mean", "sd")
        return ("outcome", str(law.weighed)) if self.weighted else ("outcome",)

    def start(self, goal: Goal) -> Any:
        """The state of the algorithm before the first round; that of a memo, which is refused if it cannot be one."""
        search = goal.upward(self.problem)
        return self.algorithm.init(*search) if self.memo is None else self.algorithm.resume(*search, self.memo)

    def prepared(self) -> Charter:
        """With what the algorithm solves for before the first round."""
        return replace(self, memo=self.algorithm.memo(*self.goal_of(0).upward(self.problem)))

    def check_memo(self) -> None:
        """Refuse a memo that does not follow from the problem; solves for it again."""
        if self.memo is not None:
            self.algorithm.check_memo(*self.goal_of(0).upward(self.problem), self.memo)

    def goal_of(self, version: int) -> Goal:
        """The goal with the part of δ that the data may spend after so many amendments: docs/sage.md."""
        return self.goal if self.amendments is None else self.goal.at(self._share(version) * self.goal.delta)

    def risk(self, version: int) -> float:
        """What δ bounds once the data have been amended so often: that a wrong item was ever declared."""
        return min(1.0, self._spent(version) * self.goal.delta)

    def attained(self, version: int, confidence: float) -> float:
        """What is left of a confidence attained with the data amended so often: docs/confidence-attained.md."""
        return max(0.0, 1.0 - self._spent(version) / self._share(version) * (1.0 - confidence))

    def _share(self, version: int) -> float:
        """Of δ, for one version of the data."""
        if self.amendments is None:
            return 1.0
        return (self.amendments or 1.0) / (version * (version + 1)) if version else 1.0 - self.amendments

    def _spent(self, version: int) -> float:
        """The sum of the shares up to a version; what was set aside counts as a whole."""
        if self.amendments is None:
            return version + 1.0
        return 1.0 if self.amendments else 2.0 - 1.0 / (version + 1)

    def stream(self, round_: int) -> np.random.Generator:
        """What the plan of a round may draw from."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(round_, 0)))

    def to_json(self) -> dict[str, Any]:
        """The body of the first record."""
        problem = self.problem
        return {
            "problem": {
                "probes": problem.probes.tolist(),
                **_items(problem),
                "outcome": to_json(problem.outcome),
                "cost": problem.cost.tolist(),
                "stock": [int(count) if math.isfinite(count) else None for count in problem.stock],
                **({"misfit": problem.misfit.tolist()} if problem.misfit.any() else {}),
                "probe_names": list(problem.probe_names),
                "feature_names": list(problem.feature_names),
                **({} if problem.model is None else {"model": problem.model.to_json()}),
                **({"blocks": list(problem.blocks)} if problem.blocks else {}),
            },
            "goal": to_json(self.goal),
            "algorithm": to_json(self.algorithm),
            "seed": self.seed,
            "outcome_range": [limit if math.isfinite(limit) else None for limit in self.outcome_range],
            "probe_columns": dict(self.probe_columns),
            "item_columns": dict(self.item_columns),
            "amendments": self.amendments,
            "dialect": asdict(self.dialect),
            **({"quantity": asdict(self.quantity)} if self.quantity else {}),
            **({} if self.memo is None else {"memo": dict(self.memo)}),
            **({"aggregated": self.aggregated} if self.aggregated else {}),
            **({"weighted": True} if self.weighted else {}),
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Charter:
        """What ``to_json`` wrote."""
        low, high = body["outcome_range"]
        return cls(
            Problem(**_problem(body["problem"])),
            from_json(_goal(body["goal"]), Goal),  # type: ignore[type-abstract]
            from_json(body["algorithm"], Algorithm),  # type: ignore[type-abstract]
            body["seed"],
            limits(low, high),
            body["probe_columns"],
            body["item_columns"],
            body.get("amendments"),
            Dialect(**body.get("dialect", {})),
            Quantity(**body.get("quantity", {})),
            body.get("memo"),
            body.get("aggregated", False),
            body.get("weighted", False),
        )


def _items(problem: Problem) -> dict[str, Any]:
    """Features and names of all items or, where they stay in files, which these are."""
    if problem.shards is not None:
        return {"parquet": kept.to_json(problem.shards)}
    return {"items": problem.items.tolist(), "item_names": list(problem.item_names)}


def _problem(body: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a problem; the first form has sigma, and whether it is known, instead of a law."""
    given = dict(body)
    if ({"items", "item_names"} & {*body}, "parquet" in body) not in (({"items", "item_names"}, False), (set(), True)):
        raise InvalidProblem("a problem needs items and item_names, or the Parquet files that they are in.")
    if "parquet" in given:
        given["items"] = kept.from_json(given.pop("parquet"))
    if ("sigma" in body, "sigma_known" in body, "outcome" in body) not in ((True, True, False), (False, False, True)):
        raise InvalidProblem("a problem needs a law of its outcomes, or sigma and whether it is known, not both.")
    if "outcome" in given:
        given["outcome"] = from_json(given["outcome"], Law)  # type: ignore[type-abstract]
    else:
        given["outcome"] = Gaussian(given.pop("sigma"), unknown=not given.pop("sigma_known"))
    if "model" in given:
        given["model"] = Model.from_json(given["model"])
    return given


def _goal(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Name and settings of a goal; the first form has only the settings of the one that there was."""
    if {*body} not in ({"name", "settings"}, {"delta", "epsilon"}):
        raise InvalidGoal(f"a goal needs a name and settings, got {', '.join(map(ascii, body)):.80}.")
    return body if "name" in body else {"name": BestItem.name, "settings": body}


def check_share(value: float) -> None:
    """Refuse what is no share of δ that can be set aside for amendments."""
    if type(value) not in (int, float) or not (value == 0 or 0.001 <= value <= 0.999):
        raise InvalidCampaign(
            f"amendments must be a share of delta, 0 or from 0.001 to 0.999, got {value!r:.40}; 0.5 is usual."
        )


def limits(low: float | None, high: float | None) -> tuple[float, float]:
    """A range of outcomes; None is without limit."""
    return -math.inf if low is None else low, math.inf if high is None else high
