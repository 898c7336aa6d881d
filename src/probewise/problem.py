"""Problems: what can be measured, how noisily and at what cost, and what may be recommended."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.coordinates import Array, Coordinates, coordinates
from probewise.errors import InvalidProblem
from probewise.measurements import per_probe
from probewise.model import Model, Space, Use, build
from probewise.model.product import coded
from probewise.outcomes import Gaussian, Law
from probewise.reading import table_of
from probewise.shards import Shards
from probewise.shards.items import brought, joined, labels
from probewise.tables import Labelled, Names, RowNumbers, Table, TableLike, duplicated, labelled, named, numeric

_LARGEST = 1e150
"""Largest feature, whose square is still a number."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Problem:
    """Find the item z with the largest z'θ from noisy measurements of x'θ (section 2 of the paper).

    Probes and items are array-likes or data frames with one row each; without ``items``, the items are the
    probes. What else must fit together depends on the question: see ``Goal.check``.
    """

    probes: Array
    """(n, d): the features of what can be measured; read-only, as all arrays here."""
    items: Array
    """(m, d): the features of what may be recommended; or `Shards`, which refuse whatever needs them in one place."""
    outcome: Law
    """What is known of the law of an outcome, beyond its mean x'θ."""
    cost: Array
    """(n,): the cost of one measurement of each probe, positive."""
    stock: Array
    """(n,): how often each probe can be measured in all, a whole number or infinity; 0 if it is unavailable."""
    misfit: Array
    """(n,): by how much the mean outcome of each probe may be off x'θ, at least 0: docs/misfit.md."""
    probe_names: Names
    """n different names: a tuple, or row numbers that are made when they are asked for."""
    item_names: Names
    """m different names, likewise."""
    feature_names: tuple[str, ...]
    """d different names."""
    model: Model | None
    """How the features were made of the columns of tables; None if they were given."""
    tables: tuple[Table, Table] | None
    """Those tables, of the probes and of the items, with all their columns."""
    blocks: tuple[int, ...]
    """Sizes of the blocks, if one of each makes up what is recommended: see ``BestCombination``; else empty."""
    sign: ClassVar[float] = 1.0
    """-1 for a problem whose items were negated, so that more is better: see ``turned``."""

    def __init__(
        self,
        probes: TableLike,
        items: TableLike = None,
        *,
        sigma: ArrayLike | Literal["unknown"] | None = None,
        outcome: Law | None = None,
        cost: ArrayLike | None = None,
        stock: Sequence[int | None] | ArrayLike | None = None,
        misfit: ArrayLike | None = None,
        probe_names: Iterable[object] | None = None,
        item_names: Iterable[object] | None = None,
        feature_names: Iterable[object] | None = None,
        id_column: str | None = None,
        model: Model | None = None,
        tables: tuple[Table, Table] | None = None,
        blocks: Sequence[int] = (),
    ) -> None:
        if isinstance(items, Space):
            raise InvalidProblem("a space needs a model of its columns; give it to Problem.from_tables.")
        first, (items, far) = labelled(probes, name="probes", id_column=id_column), brought(items)
        second = first if items is None or far is not None else labelled(items, name="items", id_column=id_column)
        if id_column is not None and first.rows is None and second.rows is None:
            raise InvalidProblem("id_column needs a data frame, got arrays; give probe_names or item_names.")
        X, Z, features = _matched(first, second) if far is None else joined(first, far)
        n, m, d = X.shape[0], Z.shape[0], X.shape[1]
        probe_names = _names(probe_names, first.rows, n, "probe")
        fallback = probe_names if items is None else second.rows
        item_names = _names(item_names, fallback, m, "item") if far is None else labels(far, item_names)
        feature_names = tuple(_names(feature_names, features or [f"x{j}" for j in range(d)], d, "feature"))
        _check_finite(X, "probe", probe_names, feature_names)
        if far is None:
            _check_finite(Z, "item", item_names, feature_names)
        fields = {
            "probes": _frozen(X),
            "items": Z if isinstance(Z, Shards) else _frozen(Z),
            "outcome": _law(sigma, outcome),
            "cost": _frozen(_cost(cost, probe_names)),
            "stock": _frozen(_stock(stock, probe_names)),
            "misfit": _frozen(_misfit(misfit, probe_names)),
            "probe_names": probe_names,
            "item_names": item_names,
            "feature_names": feature_names,
            "model": model,
            "tables": tables,
            "blocks": _blocks(blocks, m),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if model is not None and (model.dimension != d or model.features != feature_names):
            raise InvalidProblem("the features must be those of the model that comes with them.")
        _check_size(self)

    @classmethod
    def from_tables(
        cls,
        probes: TableLike,
        items: TableLike = None,
        *,
        model: str | Model = "main",
        id_column: str | None = None,
        sigma: ArrayLike | Literal["unknown"] | None = None,
        outcome: Law | None = None,
        misfit: ArrayLike | None = None,
        sigma_column: str | None = None,
        cost_column: str | None = None,
        stock_column: str | None = None,
        factors: Iterable[str] = (),
        shown: Iterable[str] = (),
        probe_names: Iterable[object] | None = None,
        item_names: Iterable[object] | None = None,
    ) -> Problem:
        """A problem from plain tables with text and numbers: data frames, paths of files, or `Table` objects.

        ``model`` is "main" (intercept and every column), "interactions" (products of two columns too), "quadratic"
        (squares of numbers too), "none" (numbers as they are), a formula such as "ligand + dose + dose^2", or the
        `Model` of another problem. Text columns are factors, as are ``factors``; ``shown`` columns are in no feature.
        Features are made jointly of both tables: ``problem.model`` says how. Items may be a `Space`: they are then the
        levels of its columns, or of blocks of columns that interact, and combinations of them are what is asked for.
        """
        first = table_of(probes, "probes")
        product = items if isinstance(items, Space) else None
        second = first if items is None else table_of(items if product is None else product.example, "items")
        if sigma_column is not None and sigma is not None:
            raise InvalidProblem("give sigma or sigma_column, not both.")
        uses: dict[str | None, Use] = {sigma_column: "noise", cost_column: "cost", stock_column: "stock"}
        said = {name: use for name, use in uses.items() if name is not None}
        if not isinstance(model, Model):
            other = None if items is None else second
            model = build(first, other, model, id_name=id_column, columns=said, factors=factors, shown=shown)
        X = model.coded(first)
        blocks: tuple[int, ...] = ()
        if product is None:
            Z = X if items is None else model.coded(second)
        else:
            Z, second, blocks = coded(model, product)
        return cls(
            X.values,
            Z.values,
            sigma=sigma if sigma_column is None else first.numbers(sigma_column),
            outcome=outcome,
            misfit=misfit,
            cost=None if cost_column is None else first.numbers(cost_column),
            stock=None if stock_column is None else first.counts(stock_column),
            probe_names=X.rows if probe_names is None else probe_names,
            item_names=Z.rows if item_names is None else item_names,
            feature_names=model.features,
            model=model,
            tables=(first, second),
            blocks=blocks,
        )

    def knowing(self, law: Law) -> Problem:
        """The same problem, with a law of outcomes of which more is known."""
        if law is self.outcome:
            return self
        own = copy(self)
        for name in ("sigma", "scaled_probes", "coordinates", "turned"):  # they follow the law
            own.__dict__.pop(name, None)
        object.__setattr__(own, "outcome", law)
        return own

    def __repr__(self) -> str:
        counts = f"{self.n_probes} probes, {self.n_items} items, {self.dimension} features"
        return f"Problem({counts}, rank {self.coordinates.rank})"

    @property
    def shards(self) -> Shards | None:
        """The items, if they stay where they are."""
        items: object = self.items
        return items if isinstance(items, Shards) else None

    @property
    def n_probes(self) -> int:
        """Number n of probes."""
        return len(self.probes)

    @property
    def n_items(self) -> int:
        """Number m of items."""
        return len(self.items)

    @property
    def n_combinations(self) -> int:
        """How many answers there are to the question for the best: the items, or all ways to take one of each block."""
        return math.prod(self.blocks) if self.blocks else self.n_items

    def block(self, number: int) -> Problem:
        """The problem of finding the best of one block."""
        return self.some(np.arange(self.blocks[number]) + sum(self.blocks[:number]))

    def some(self, numbers: NDArray[np.int64]) -> Problem:
        """The problem with some of its items, which are brought here."""
        own, names = copy(self), tuple(self.item_names[number] for number in numbers.tolist())
        for name in ("turned", "twins"):  # they follow the items
            own.__dict__.pop(name, None)
        own.__dict__.update(items=_frozen(self.items[numbers]), item_names=names, blocks=(), tables=None)
        return own

    @property
    def dimension(self) -> int:
        """Number d of features."""
        return len(self.feature_names)

    @cached_property
    def sigma(self) -> Array:
        """(n,): the sub-Gaussian scale of the noise of each probe, positive; see ``Law``."""
        return _frozen(self.outcome.scale(tuple(self.probe_names)))

    @cached_property
    def slack(self) -> Array | None:
        """The misfit, or None if there is none."""
        return self.misfit if self.misfit.any() else None

    @cached_property
    def scaled_probes(self) -> Array:
        """(n, d): the probes in units of their noise, so that every measurement has scale 1."""
        return _frozen(self.probes / self.sigma[:, None])

    @cached_property
    def unit(self) -> Array:
        """(d,): the size of each feature, the largest entry in any probe; 1 where that is 0."""
        return _frozen(np.where((size := np.abs(self.probes).max(axis=0)) > 0, size, 1.0))

    @cached_property
    def turned(self) -> Problem:
        """The same problem with negated items: what was the lowest is the highest."""
        own = replace(self, items=-self.items)
        object.__setattr__(own, "sign", -self.sign)
        return own

    @cached_property
    def twins(self) -> NDArray[np.int64]:
        """(m,): number of the probe with the features of each item, -1 where there is none."""
        rows = {row.tobytes(): i for i, row in enumerate(self.probes + 0.0)}
        return np.array([rows.get(row.tobytes(), -1) for row in self.items + 0.0], dtype=np.int64)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Coordinates of the span of the probes, from the scaled probes."""
        return coordinates(self.scaled_probes)


def _law(sigma: ArrayLike | Literal["unknown"] | None, outcome: Law | None) -> Law:
    """The law that is given, or the one for which sigma is short."""
    if outcome is None:
        unknown = isinstance(sigma, str) and sigma == "unknown"
        return Gaussian(unknown=True) if unknown else Gaussian(1.0 if sigma is None else numeric(sigma, "sigma"))
    if sigma is not None:
        raise InvalidProblem("sigma is short for outcome=Gaussian(sigma); give only one of them.")
    if not isinstance(outcome, Law):
        raise InvalidProblem(f"outcome is an object such as Gaussian(2.5), got {outcome!r:.80}.")
    return outcome


def _frozen(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _matched(probes: Labelled, items: Labelled) -> tuple[Array, Array, tuple[str, ...] | None]:
    """Probes and items with the same features in the same order, matched by name where both have names."""
    for table, kind in ((probes, "probes"), (items, "items")):
        if 0 in table.values.shape:
            raise InvalidProblem(f"{kind} need at least one row and one feature, got shape {table.values.shape}.")
    features = probes.features or items.features
    if probes.features is not None and items.features is not None:
        absent = [name for name in probes.features if name not in set(items.features)]
        extra = [name for name in items.features if name not in set(probes.features)]
        if absent or extra:
            faults = [f"items lack {named(absent)}"] * bool(absent) + [f"probes lack {named(extra)}"] * bool(extra)
            raise InvalidProblem(
                f"probes and items must have the same features, but {' and '.join(faults)}; "
                "add these columns or leave them out."
            )
        order = [items.features.index(name) for name in probes.features]
        return probes.values, items.values[:, order], features
    if probes.values.shape[1] != items.values.shape[1]:
        raise InvalidProblem(
            f"probes and items must have the same features, got {probes.values.shape[1]} features of probes "
            f"and {items.values.shape[1]} of items."
        )
    return probes.values, items.values, features


def _names(given: Iterable[object] | None, found: Iterable[object] | None, count: int, kind: str) -> Names:
    """The names given, else those found in the table, else the row numbers."""
    if isinstance(given, str):
        raise InvalidProblem(f"{kind}_names must be a list of names, got the text '{given}'.")
    if given is None and not found:
        return RowNumbers(count)
    if isinstance(names := found if given is None else given, RowNumbers) and len(names) == count:
        return names
    names = tuple(str(name) for name in (given if given is not None else found or ()))
    if len(names) != count:
        raise InvalidProblem(f"{kind}_names must have one name per {kind}, expected {count}, got {len(names)}.")
    if len(set(names)) < count and (twice := duplicated(names)):
        raise InvalidProblem(f"every {kind} needs its own name, but several are called {named(twice)}; rename them.")
    return names


def _blocks(given: Sequence[int], count: int) -> tuple[int, ...]:
    """Sizes that sum to the number of items, or none."""
    sizes = tuple(given)
    if sizes and not (all(type(size) is int and size >= 1 for size in sizes) and sum(sizes) == count):
        raise InvalidProblem(
            f"blocks must be whole numbers of at least 1 that sum to the number of items, {count}, got {sizes!r:.80}."
        )
    return sizes


def _check_finite(matrix: Array, kind: str, rows: Names, features: tuple[str, ...]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.sum()):  # as it mostly is: a pass without a table of flags
            return
    if not (finite := np.isfinite(matrix)).all():
        row, column = np.argwhere(~finite)[0]
        raise InvalidProblem(
            f"{kind}s must be finite, got {matrix[row, column]} for {kind} '{rows[row]}' in feature "
            f"'{features[column]}'; fill it in or leave the {kind} out."
        )


def _check_size(problem: Problem) -> None:
    """Squares of features must stay finite, also in units of the noise."""
    with np.errstate(over="ignore"):
        tables = [(problem.probes, "probe"), (problem.scaled_probes, "probe")]
        tables += [] if problem.shards is not None else [(problem.items, "item")]
    for matrix, kind in tables:
        if max(-float(matrix.min()), float(matrix.max())) > _LARGEST:
            size = np.abs(matrix)
            row, column = np.unravel_index(int(size.argmax()), size.shape)
            name = (problem.probe_names if kind == "probe" else problem.item_names)[row]
            raise InvalidProblem(
                f"{kind} '{name}' has the size {size[row, column]:g} in feature '{problem.feature_names[column]}', "
                f"alone or in units of its sigma, and {_LARGEST:g} is the largest; choose other units."
            )


def _cost(given: ArrayLike | None, names: Names) -> Array:
    """(n,): positive numbers, 1 if none is given."""
    values = 1.0 if given is None else numeric(given, "cost")
    return np.array(per_probe(values, len(names), "cost", names=names, error=InvalidProblem))


def _misfit(given: ArrayLike | None, names: Names) -> Array:
    """(n,): numbers of at least 0, from one for all or one per probe."""
    if given is None:
        return np.zeros(len(names))
    values = numeric(given, "misfit")
    if values.shape not in ((), (len(names),)):
        raise InvalidProblem(f"misfit must be one number or one per probe, expected {len(names)}, got {values.shape}.")
    values = np.array(np.broadcast_to(values, (len(names),)))
    good = np.isfinite(values) & (values >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidProblem(f"misfit must be finite and at least 0, got {values[row]} for probe '{names[row]}'.")
    return values


def _stock(given: Sequence[int | None] | ArrayLike | None, names: Names) -> Array:
    """(n,): whole numbers of at least 0; what is None or not a number is without limit."""
    if given is None:
        return np.full(len(names), np.inf)
    try:
        values = np.array(given, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError, OverflowError):
        raise InvalidProblem(f"stock must be whole numbers or None, one per probe, got {given!r:.200}.") from None
    if values.shape != (len(names),):
        raise InvalidProblem(f"stock must be one whole number per probe, expected {len(names)}, got {values.shape}.")
    values[np.isnan(values)] = np.inf
    good = (values >= 0) & (np.floor(values) == values)
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidProblem(f"stock must be whole numbers of at least 0, got {values[row]} for probe '{names[row]}'.")
    return values
