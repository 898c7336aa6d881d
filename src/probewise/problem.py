"""Problems: what can be measured, how noisily and at what cost, and what may be recommended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from probewise.arithmetic import rank_and_members
from probewise.coordinates import FORGIVEN, Array, Coordinates, coordinates, unscaled
from probewise.errors import InvalidProblem
from probewise.model import Model, Use, build
from probewise.tables import Labelled, Table, TableLike, duplicated, labelled, named, numeric, table_of

_LARGEST = 1e150
"""Largest feature, whose square is still a number."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Problem:
    """Find the item z with the largest z'θ from noisy measurements of x'θ (section 2 of the paper).

    Probes and items are array-likes or data frames with one row each; without ``items``, the items are the
    probes. Only differences of items have to lie in the span of the probes.
    """

    probes: Array
    """(n, d): the features of what can be measured; read-only, as all arrays here."""
    items: Array
    """(m, d): the features of what may be recommended."""
    sigma: Array
    """(n,): the sub-Gaussian scale of the noise of each probe, positive."""
    sigma_known: bool
    """False after ``sigma="unknown"``: ``sigma`` is then in units of one unknown scale, and 1 if not given."""
    cost: Array
    """(n,): the cost of one measurement of each probe, positive."""
    stock: Array
    """(n,): how often each probe can be measured in all, a whole number or infinity; 0 if it is unavailable."""
    probe_names: tuple[str, ...]
    """n different names."""
    item_names: tuple[str, ...]
    """m different names."""
    feature_names: tuple[str, ...]
    """d different names."""
    model: Model | None
    """How the features were made of the columns of tables; None if they were given."""
    tables: tuple[Table, Table] | None
    """Those tables, of the probes and of the items, with all their columns."""

    def __init__(
        self,
        probes: TableLike,
        items: TableLike = None,
        *,
        sigma: ArrayLike | Literal["unknown"] = 1.0,
        sigma_known: bool = True,
        cost: ArrayLike | None = None,
        stock: Sequence[int | None] | ArrayLike | None = None,
        probe_names: Iterable[object] | None = None,
        item_names: Iterable[object] | None = None,
        feature_names: Iterable[object] | None = None,
        id_column: str | None = None,
        model: Model | None = None,
        tables: tuple[Table, Table] | None = None,
    ) -> None:
        first = labelled(probes, name="probes", id_column=id_column)
        second = first if items is None else labelled(items, name="items", id_column=id_column)
        if id_column is not None and first.rows is None and second.rows is None:
            raise InvalidProblem("id_column needs a data frame, got arrays; give probe_names or item_names.")
        X, Z, features = _matched(first, second)
        n, m, d = X.shape[0], Z.shape[0], X.shape[1]
        probe_names = _names(probe_names, first.rows, n, "probe")
        fallback = probe_names if items is None else second.rows
        item_names = _names(item_names, fallback, m, "item")
        feature_names = _names(feature_names, features or [f"x{j}" for j in range(d)], d, "feature")
        _check_finite(X, "probe", probe_names, feature_names)
        _check_finite(Z, "item", item_names, feature_names)
        if isinstance(sigma, str) and sigma == "unknown":
            sigma, sigma_known = 1.0, False
        fields = {
            "probes": _frozen(X),
            "items": _frozen(Z),
            "sigma": _frozen(_per_probe(sigma, probe_names, "sigma")),
            "sigma_known": bool(sigma_known),
            "cost": _frozen(_per_probe(1.0 if cost is None else cost, probe_names, "cost")),
            "stock": _frozen(_stock(stock, probe_names)),
            "probe_names": probe_names,
            "item_names": item_names,
            "feature_names": feature_names,
            "model": model,
            "tables": tables,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        _check_size(self)
        _check_distinct(self)
        _check_identifiable(self)

    @classmethod
    def from_tables(
        cls,
        probes: TableLike,
        items: TableLike = None,
        *,
        model: str | Model = "main",
        id_column: str | None = None,
        sigma: ArrayLike | Literal["unknown"] = 1.0,
        sigma_column: str | None = None,
        cost_column: str | None = None,
        stock_column: str | None = None,
        factors: Iterable[str] = (),
        shown: Iterable[str] = (),
    ) -> Problem:
        """A problem from plain tables with text and numbers: data frames, paths of files, or `Table` objects.

        ``model`` is "main" (intercept and every column), "interactions" (products of two columns too), "quadratic"
        (squares of numbers too), "none" (numbers as they are), a formula such as "ligand + dose + dose^2", or the
        `Model` of another problem. Text columns are factors, as are ``factors``; ``shown`` columns are in no feature.
        Features are made jointly of both tables: ``problem.model`` says how.
        """
        first = table_of(probes, "probes")
        second = first if items is None else table_of(items, "items")
        if sigma_column is not None and not (np.isscalar(sigma) and sigma == 1.0):
            raise InvalidProblem("give sigma or sigma_column, not both.")
        uses: dict[str | None, Use] = {sigma_column: "noise", cost_column: "cost", stock_column: "stock"}
        said = {name: use for name, use in uses.items() if name is not None}
        if not isinstance(model, Model):
            other = None if items is None else second
            model = build(first, other, model, id_name=id_column, columns=said, factors=factors, shown=shown)
        X = model.coded(first)
        Z = X if items is None else model.coded(second)
        return cls(
            X.values,
            Z.values,
            sigma=sigma if sigma_column is None else first.numbers(sigma_column),
            cost=None if cost_column is None else first.numbers(cost_column),
            stock=None if stock_column is None else first.counts(stock_column),
            probe_names=X.rows,
            item_names=Z.rows,
            feature_names=model.features,
            model=model,
            tables=(first, second),
        )

    def __repr__(self) -> str:
        counts = f"{self.n_probes} probes, {self.n_items} items, {self.dimension} features"
        return f"Problem({counts}, rank {self.coordinates.rank})"

    @property
    def n_probes(self) -> int:
        """Number n of probes."""
        return len(self.probes)

    @property
    def n_items(self) -> int:
        """Number m of items."""
        return len(self.items)

    @property
    def dimension(self) -> int:
        """Number d of features."""
        return len(self.feature_names)

    @cached_property
    def scaled_probes(self) -> Array:
        """(n, d): the probes in units of their noise, so that every measurement has scale 1."""
        return _frozen(self.probes / self.sigma[:, None])

    @cached_property
    def coordinates(self) -> Coordinates:
        """Coordinates of the span of the probes, from the scaled probes."""
        return coordinates(self.scaled_probes)


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


def _names(given: Iterable[object] | None, found: Iterable[object] | None, count: int, kind: str) -> tuple[str, ...]:
    """The names given, else those found in the table, else the row numbers."""
    if isinstance(given, str):
        raise InvalidProblem(f"{kind}_names must be a list of names, got the text '{given}'.")
    names = tuple(str(name) for name in (given if given is not None else found or range(count)))
    if len(names) != count:
        raise InvalidProblem(f"{kind}_names must have one name per {kind}, expected {count}, got {len(names)}.")
    if twice := duplicated(names):
        raise InvalidProblem(f"every {kind} needs its own name, but several are called {named(twice)}; rename them.")
    return names


def _check_finite(matrix: Array, kind: str, rows: tuple[str, ...], features: tuple[str, ...]) -> None:
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise InvalidProblem(
            f"{kind}s must be finite, got {matrix[row, column]} for {kind} '{rows[row]}' in feature "
            f"'{features[column]}'; fill it in or leave the {kind} out."
        )


def _check_size(problem: Problem) -> None:
    """Squares of features must stay finite, also in units of the noise."""
    with np.errstate(over="ignore"):
        tables = ((problem.probes, "probe"), (problem.scaled_probes, "probe"), (problem.items, "item"))
    for matrix, kind in tables:
        if (size := np.abs(matrix)).max() > _LARGEST:
            row, column = np.unravel_index(int(size.argmax()), size.shape)
            name = (problem.probe_names if kind == "probe" else problem.item_names)[row]
            raise InvalidProblem(
                f"{kind} '{name}' has the size {size[row, column]:g} in feature '{problem.feature_names[column]}', "
                f"alone or in units of its sigma, and {_LARGEST:g} is the largest; choose other units."
            )


def _per_probe(given: ArrayLike, names: tuple[str, ...], kind: str) -> Array:
    """(n,): one positive number per probe, from n of them or from one for all."""
    values = numeric(given, kind)
    n = len(names)
    if values.shape not in {(), (n,)}:
        raise InvalidProblem(f"{kind} must be one number or one per probe, expected shape ({n},), got {values.shape}.")
    values = np.array(np.broadcast_to(values, (n,)))
    good = np.isfinite(values) & (values > 0)
    if not good.all():
        row = int(np.argmin(good))
        raise InvalidProblem(f"{kind} must be positive and finite, got {values[row]} for probe '{names[row]}'.")
    return values


def _stock(given: Sequence[int | None] | ArrayLike | None, names: tuple[str, ...]) -> Array:
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


def _check_distinct(problem: Problem) -> None:
    """No two items may have equal features: neither could ever be shown to be better."""
    rows: dict[bytes, int] = {}
    for row, item in enumerate(problem.items + 0.0):  # -0.0 becomes 0.0, so equal rows have equal bytes
        twin = rows.setdefault(item.tobytes(), row)
        if twin != row:
            names = named((problem.item_names[twin], problem.item_names[row]))
            if told := _told_apart(problem, twin, row):
                raise InvalidProblem(
                    f"items {names} differ in {named(told)} only, which makes no difference in the model, so neither "
                    "can be the better one; add it to the model, or keep one of them."
                )
            raise InvalidProblem(f"items {names} are identical, so neither can be the better one; keep one of them.")


def _told_apart(problem: Problem, one: int, other: int) -> list[str]:
    """Columns of the table of items in which two of them differ, but for their names."""
    if problem.tables is None or problem.model is None:
        return []
    uses = {role.column: role.role for role in problem.model.roles}
    columns = [name for name in problem.tables[1].header if uses.get(name) != "name"]
    cells = ((name, problem.tables[1].texts(name)) for name in columns)
    return [name for name, texts in cells if texts[one] != texts[other]]


def _check_identifiable(problem: Problem) -> None:
    """Every difference of items must lie in the span of the probes."""
    if problem.n_items == 1 or problem.coordinates.rank == problem.dimension:
        return
    if problem.coordinates.rank == 0:
        raise InvalidProblem("every probe is zero, so no two items can be compared; add a probe that is not zero.")
    span = unscaled(problem.coordinates, problem.probes)
    lost = _lost(problem, span)
    size = np.abs(lost).max(axis=0)
    lacking = size > 0
    if not lacking.any():
        _check_near_ties(problem, span)
        return
    # Items with equal lost parts can be compared with each other: advise to keep the largest such group.
    patterns = [row.tobytes() for row in np.round(lost[:, lacking] / size[lacking], 6) + 0.0]
    largest = max(Counter(patterns).items(), key=itemgetter(1))[0]
    kept = np.array([pattern == largest for pattern in patterns])
    # A projection spreads over features that are not to blame, such as all levels of a factor: name the large parts.
    lacking &= (size > 0.5 * size.max()) | ~problem.coordinates.seen
    names = np.array(problem.item_names, dtype=object)
    raise InvalidProblem(
        f"no combination of probes compares items {named(names[~kept])} with item '{names[kept][0]}': "
        f"{_missing_probes(problem, lacking)}, or leave these items out."
    )


def _missing_probes(problem: Problem, lacking: NDArray[np.bool_]) -> str:
    """Which features lack a probe, and which probe to add."""
    names = np.array(problem.feature_names, dtype=object)
    zero = ~problem.probes.any(axis=0)
    faults = []
    if (lacking & zero).any():
        faults.append(f"{named(names[lacking & zero])} is 0 in every probe")
    if (lacking & ~zero).any():
        faults.append(f"the probes do not separate {named(names[lacking & ~zero])}")
    return f"{' and '.join(faults)}; add probes in which these features vary freely"


def _lost(problem: Problem, span: Coordinates) -> Array:
    """(m, d): the part of each item, less the smallest, that no probes measure; 0 if it is rounding."""
    size = np.linalg.norm((problem.items / span.scale)[:, span.seen], axis=1)
    reference = problem.items[int(np.argmin(size))]
    return span.lost(problem.items - reference, np.abs(problem.items) + np.abs(reference), most=_MARGIN * FORGIVEN)


_MARGIN = 0.25
"""Share of what is forgiven later on: a comparison that passes here passes wherever it is made."""
_NEIGHBOURS = 8


def _check_near_ties(problem: Problem, span: Coordinates) -> None:
    """Refuse items so close to each other that rounding of their features is no small part of their difference.

    The test against the smallest item forgives in proportion to the distance from it, which may be far.
    """
    items = problem.items
    if rank_and_members(problem.probes, items, items[:1])[1].all():
        return
    from scipy.spatial import KDTree  # seldom needed, and slow to load

    places = (items / span.scale)[:, span.seen]
    near = KDTree(places).query(places, k=min(_NEIGHBOURS, problem.n_items))[1]
    first, second = np.repeat(np.arange(problem.n_items), near.shape[1]), near.ravel()
    first, second = first[first != second], second[first != second]
    lost = span.lost(
        items[first] - items[second], np.abs(items[first]) + np.abs(items[second]), most=_MARGIN * FORGIVEN
    )
    if (bad := np.flatnonzero(lost.any(axis=1))).size:
        pair = sorted({int(first[bad[0]]), int(second[bad[0]])})
        raise InvalidProblem(
            f"items {named([problem.item_names[i] for i in pair])} differ by so little that what no combination of "
            f"probes measures is no small part of it: {_missing_probes(problem, lost[bad[0]] != 0)}, keep one of "
            "these items, or, if their features were rounded, give the features with more digits."
        )
