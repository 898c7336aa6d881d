from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms.planning import plan
from probewise.measurements import Measurements


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
    assert not problem.outcome.known
    np.testing.assert_array_equal(problem.sigma, 1.0)
    assert not dataclasses.replace(problem, stock=[3, 4]).outcome.known
    assert pw.Problem(np.eye(2)).outcome.known
    with pytest.raises(pw.InvalidProblem, match="sigma must hold numbers only"):
        pw.Problem(np.eye(2), sigma="unknwn")


def test_more_measurements_than_were_in_stock_leave_nothing_to_take_back():
    """A laboratory may have measured more than it said there was."""
    problem, goal, algorithm = pw.Problem(np.eye(3), stock=[1, 9, 9]), pw.BestItem(), pw.Sage()
    state = algorithm.tell(
        problem, goal, algorithm.init(problem, goal), Measurements(np.array([4, 1, 1]), *np.zeros((2, 3)))
    )
    with pytest.raises(pw.OutOfStock, match="too little is left of probes '0'"):
        algorithm.ask(problem, goal, state, np.random.default_rng(0))
    wide = pw.Problem(np.vstack([np.eye(3), np.eye(3)]), np.eye(3), stock=[1, 9, 9, 9, 9, 9])
    told = Measurements(np.array([4, 1, 1, 0, 0, 0]), *np.zeros((2, 6)))
    counts = algorithm.ask(
        wide, goal, algorithm.tell(wide, goal, algorithm.init(wide, goal), told), np.random.default_rng(0)
    )
    assert (counts >= 0).all()
    assert counts[0] == 0


def test_a_design_among_some_probes_is_that_of_these_alone():
    """Whether a similar design is known or not; and the other probes have no weight."""
    probes, among = np.vstack([np.eye(3), 5.0 * np.eye(3)]), np.arange(6) < 3
    problem = pw.Problem(probes, np.eye(3), cost=[1, 2, 4, 1, 1, 1])
    alone = plan(pw.Problem(np.eye(3), cost=[1, 2, 4]), pw.pairs(np.eye(3)), tol=1e-6)
    for start in (None, np.ones(6, dtype=bool)):
        some = plan(problem, pw.pairs(np.eye(3)), tol=1e-6, among=among, start=start)
        np.testing.assert_allclose(some.weights, [*alone.weights, 0, 0, 0], rtol=1e-4)
        assert some.rho == pytest.approx(alone.rho, rel=1e-5)
