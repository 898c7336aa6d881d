"""Derived columns: numbers that follow from others in every row, as the last of shares that sum to 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from probewise.coordinates import Array
from probewise.errors import InvalidProblem
from probewise.model.kinds import column
from probewise.tables import Table, named

_DEPENDENT = 1e-9
"""A column of which others leave no more follows from them."""


@dataclass(frozen=True)
class Derived:
    """A column of numbers that follows from others in every row, and so is in no feature."""

    name: str
    """Name of the column."""
    constant: float
    """Its value where the others are 0."""
    shares: tuple[tuple[str, float], ...]
    """Other columns, and how often each is in it."""
    slack: float
    """How far rounding may move it from that value."""


def found(values: Mapping[str, Array]) -> tuple[Derived, ...]:
    """The columns that follow from those before them and a constant, as the last of shares that sum to 1."""
    basis: dict[str, Array] = {}
    out = []
    for name, own in values.items():
        rest = whole = own - 0.5 * (own.min() + own.max())
        rest = rest - rest.mean()
        for _ in range(2):  # twice is enough for orthogonality
            for known in basis.values():
                rest = rest - (known @ rest) * known
        if np.linalg.norm(rest) > _DEPENDENT * np.linalg.norm(whole):
            basis[name] = rest / np.linalg.norm(rest)
        else:
            out.append(_relation(name, own, {known: values[known] for known in basis}))
    return tuple(out)


def _relation(name: str, values: Array, others: Mapping[str, Array]) -> Derived:
    """The column as a sum of others, which have their centres and scales taken out for the digits' sake."""
    centres = {own: float(0.5 * (v.min() + v.max())) for own, v in others.items()}
    scales = {own: float(0.5 * np.ptp(v)) for own, v in others.items()}
    table = np.column_stack([np.ones(values.size), *((v - centres[own]) / scales[own] for own, v in others.items())])
    first, *rest = np.linalg.lstsq(table, values, rcond=None)[0].tolist()
    least = 1e-6 * max(map(abs, rest))
    shares = {own: share / scales[own] for own, share in zip(others, rest, strict=True) if abs(share) > least}
    constant = first - sum(share * centres[own] for own, share in shares.items())
    return Derived(name, constant, tuple(shares.items()), 1e-5 * float(np.ptp(values)))


def check_derived(own: Derived, table: Table) -> None:
    """A column that is left out because it follows from others must do so in every row."""
    columns = {name: column(table, name).numbers for name in (own.name, *(name for name, _ in own.shares))}
    values = {name: numbers for name, numbers in columns.items() if numbers is not None}
    if len(values) < len(columns):
        raise InvalidProblem(f"columns {named(columns)} of {table.name} must hold numbers.")
    wrong = (
        np.abs(own.constant + sum(share * values[name] for name, share in own.shares) - values[own.name]) > own.slack
    )
    if wrong.any():
        raise InvalidProblem(
            f"{table.place(int(np.argmax(wrong)))}, column '{own.name}': the model leaves it out, since it followed "
            f"from {named(name for name, _ in own.shares)} in every row, and here it does not; begin anew."
        )
