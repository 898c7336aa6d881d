"""Products in twice the precision and spans by residues, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probewise.arithmetic import difference, image, rank_and_members

seeds = st.integers(0, 10**6)


def fractions(table):
    return [[Fraction(float(v)) for v in row] for row in table]


@given(seed=seeds)
@settings(max_examples=80)
def test_products_are_within_their_bounds(seed):
    """Numbers of all sizes, products that nearly cancel, differences that do."""
    rng = np.random.default_rng(seed)
    k, d, r = rng.integers(1, 7, size=3)
    one = rng.standard_normal((k, d)) * 10.0 ** rng.integers(-9, 9, (1, d))
    other = one * (1 + 10.0 ** -rng.integers(1, 17) * rng.standard_normal((k, d)))
    matrix = rng.standard_normal((d, r)) * 10.0 ** rng.integers(-9, 9, (d, 1))
    if d > 1:
        matrix[1] = -matrix[0] * (one[0, 0] / one[0, 1])
    exact = [[p - q for p, q in zip(*pair, strict=True)] for pair in zip(fractions(one), fractions(other), strict=True)]
    columns = fractions(matrix.T)
    for rows, truth in ((one, fractions(one)), (difference(one, other), exact)):
        for precise in (False, True):
            found, errors = image(rows, matrix, precise=precise)
            for y, near, bound in zip(truth, fractions(found), errors, strict=True):
                products = [sum(a * b for a, b in zip(y, column, strict=True)) for column in columns]
                assert sum((p - q) ** 2 for p, q in zip(products, near, strict=True)) <= Fraction(float(bound)) ** 2
            if precise:
                assert (
                    errors <= 1e-15 * np.linalg.norm(found, axis=1) + 1e-28 * np.abs(one) @ np.abs(matrix).sum(1)
                ).all()


@given(seed=seeds, rank=st.integers(1, 4))
@settings(max_examples=40)
def test_rank_and_members_of_whole_numbers(seed, rank):
    rng = np.random.default_rng(seed)
    table = (rng.integers(-9, 10, (30, rank)) @ rng.integers(-9, 10, (rank, 5))).astype(float)
    units = 2.0 ** rng.integers(-200, 200, 5)
    found, inside = rank_and_members(table * units, (rng.integers(-9, 10, (6, 30)) @ table) * units)
    assert found == np.linalg.matrix_rank(table)
    assert inside.all()


@pytest.mark.parametrize("power", [0, 100, -100])
def test_one_digit_more_is_outside(power):
    unit = 2.0**power
    probe = np.array([[1.0, 3.0]]) * unit
    others = np.array([[0.5, 1.5], [0.1, 0.3], [1 + 2.0**-52, 3.0], [0.0, 0.0], [2.0**-31, 3.0]]) * unit
    assert rank_and_members(probe, others)[1].tolist() == [True, False, False, True, False]
    # of a difference that is no double, every digit counts
    one, less = np.array([[1.0, 3.0 + 2.0**-51]]), np.array([[2.0**-60, 3 * 2.0**-60]])
    assert rank_and_members(probe, one, less)[1].tolist() == [False]
    assert rank_and_members(probe, np.array([[1.0, 3.0]]), less)[1].tolist() == [True]


def test_the_rank_of_many_rows_is_found_where_the_first_are_alike():
    rows = np.ones((500, 3))
    rows[-1] = 1, 2, 3
    rows[-2] = 0, 0, 1
    assert rank_and_members(rows, rows)[0] == 3
    assert rank_and_members(np.zeros((2, 3)), np.array([[0.0, 0, 0], [0, 1, 0]]))[0] == 0
