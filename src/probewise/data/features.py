"""Features of a table's rows, with names that messages can use."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from probewise.deprecation import deprecated
from probewise.tables import Labelled, Table


@deprecated(since="0.2.0", removed_in="0.4.0", instead="Problem.from_tables, which codes both tables alike")
def indicators(table: Table, *names: str) -> Labelled:
    """(k, d): one column of 0 and 1 per level of each named column, called "column=level"; no constant is needed."""
    blocks, features = [], []
    for name in names:
        levels, first, code = np.unique([str(c) for c in table.column(name)], return_index=True, return_inverse=True)
        order = np.argsort(first)  # as they first occur
        blocks.append(np.eye(levels.size)[np.argsort(order)[code]])
        features += [f"{name}={level}" for level in levels[order]]
    return Labelled(np.hstack(blocks), features=tuple(features))


@deprecated(since="0.2.0", removed_in="0.4.0", instead='Problem.from_tables(..., model="quadratic")')
def quadratic(table: Table, *names: str) -> Labelled:
    """(k, d): constant, linear terms, squares and products of the named columns, each first mapped to [-1, 1]."""
    values = np.column_stack([table.numbers(name) for name in names])
    low, high = values.min(axis=0), values.max(axis=0)
    scaled = (2.0 * values - low - high) / (high - low)
    columns, features = [np.ones(len(values))], ["constant"]
    for degree in (1, 2):
        for term in combinations_with_replacement(range(len(names)), degree):
            columns.append(scaled[:, term].prod(axis=1))
            features.append("*".join(names[j] for j in term))
    return Labelled(np.column_stack(columns), features=tuple(features))
