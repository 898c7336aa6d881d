from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import probewise as pw


def test_stock_is_whole_numbers_or_no_limit():
    problem = pw.Problem(np.eye(3), stock=[4, None, 0])
    np.testing.assert_array_equal(problem.stock, [4.0, np.inf, 0.0])
    assert np.isinf(pw.Problem(np.eye(3)).stock).all()
    np.testing.assert_array_equal(pw.Problem(np.eye(2), stock=[np.nan, 7.0]).stock, [np.inf, 7.0])


@pytest.mark.parametrize(
    ("stock", "message"),
    [
        ([1, 2], r"one whole number per probe, expected 3, got \(2,\)"),
        ([1.5, 1, 1], "whole numbers of at least 0, got 1.5 for probe '0'"),
        ([1, -1, 1], "whole numbers of at least 0, got -1.0 for probe '1'"),
        ("many", "whole numbers or None, one per probe, got 'many'"),
    ],
)
def test_bad_stock(stock, message):
    with pytest.raises(pw.InvalidProblem, match=message):
        pw.Problem(np.eye(3), stock=stock)


def test_sigma_may_be_unknown():
    problem = pw.Problem(np.eye(2), sigma="unknown")
    assert not problem.sigma_known
    np.testing.assert_array_equal(problem.sigma, 1.0)
    assert not dataclasses.replace(problem, stock=[3, 4]).sigma_known
    assert pw.Problem(np.eye(2)).sigma_known
    with pytest.raises(pw.InvalidProblem, match="sigma must hold numbers only"):
        pw.Problem(np.eye(2), sigma="unknwn")
