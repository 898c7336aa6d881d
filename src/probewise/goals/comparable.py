"""Comparable items: no two are the same, and measurements of the probes can tell any two apart."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from probewise.arithmetic import rank_and_members
from probewise.coordinates import FORGIVEN, Array, Coordinates, unscaled
from probewise.errors import InvalidProblem
from probewise.problem import Problem
from probewise.tables import named

_comparable: WeakSet[Problem] = WeakSet()
"""Problems that have passed, so that a thousand runs on one of them check it once."""


def check_comparable(problem: Problem) -> None:
    """Refuse identical items, and items whose difference no combination of probes measures.

    Of items that stay where they are, probes must span all features; identical ones are noticed when they lead.
    """
    if problem.shards is not None:
        _check_spanned(problem)
    elif problem not in _comparable:
        _check_distinct(problem)
        _check_span(problem)
        _comparable.add(problem)


def _check_spanned(problem: Problem) -> None:
    if problem.coordinates.rank < problem.dimension:
        raise InvalidProblem(
            f"{problem.n_items:,} items that stay where they are need probes that span all {problem.dimension} "
            f"features, got the rank {problem.coordinates.rank}; leave out features that "
            "follow from others, or add probes."
        )


def check_measurable(problem: Problem) -> None:
    """Refuse items whose value no combination of probes gives; they may be identical."""
    inside = problem.coordinates.is_inside(problem.items)
    if not inside.all():
        names = named([problem.item_names[i] for i in np.flatnonzero(~inside)])
        raise InvalidProblem(
            f"no combination of probes gives the value of items {names}, at most differences of items; add probes in "
            "which all of their features vary, or leave these items out."
        )


def _check_distinct(problem: Problem) -> None:
    """No two items may have equal features: neither could ever be shown to be better."""
    rows: dict[bytes, int] = {}
    for row in _suspects(problem.items):
        # -0.0 becomes 0.0, so equal rows have equal bytes
        twin = rows.setdefault((problem.items[row] + 0.0).tobytes(), row)
        if twin != row:
            names = named((problem.item_names[twin], problem.item_names[row]))
            if told := _told_apart(problem, twin, row):
                raise InvalidProblem(
                    f"items {names} differ in {named(told)} only, which makes no difference in the model, so neither "
                    "can be the better one; add it to the model, or keep one of them."
                )
            raise InvalidProblem(f"items {names} are identical, so neither can be the better one; keep one of them.")


def _suspects(items: Array) -> list[int]:
    """The rows, in order, that may be equal to another one: those whose keys of 64 bits are."""
    keys, step = np.empty(items.shape[0], dtype=np.uint64), max(1, _BLOCK // items.shape[1])
    factors = np.random.default_rng(0).integers(1, 2**63, items.shape[1], dtype=np.uint64) * 2 + 1
    for low in range(0, keys.size, step):
        bits = (items[low : low + step] + 0.0).view(np.uint64)
        bits ^= bits >> 32
        bits *= factors
        bits ^= bits >> 29
        keys[low : low + step] = bits.sum(axis=1)
    order = np.argsort(keys)
    same = keys[order[1:]] == keys[order[:-1]]
    rows: list[int] = np.union1d(order[1:][same], order[:-1][same]).tolist()
    return rows


_BLOCK = 1_000_000
"""Numbers that are looked at together."""


def _told_apart(problem: Problem, one: int, other: int) -> list[str]:
    """Columns of the table of items in which two of them differ, but for their names."""
    if problem.tables is None or problem.model is None:
        return []
    uses = {role.column: role.role for role in problem.model.roles}
    columns = [name for name in problem.tables[1].header if uses.get(name) != "name"]
    cells = ((name, problem.tables[1].texts(name)) for name in columns)
    return [name for name, texts in cells if texts[one] != texts[other]]


def _check_span(problem: Problem) -> None:
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
