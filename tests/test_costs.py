from __future__ import annotations

import numpy as np
import pytest

import probewise as pw


@pytest.fixture
def unequal():
    rng = np.random.default_rng(0)
    cost = np.exp(rng.uniform(0.0, np.log(100.0), 30))
    return pw.Problem(rng.normal(size=(30, 4)), rng.normal(size=(10, 4)), cost=cost), 0.5 * rng.normal(size=4)


def test_sage_costs_less_than_tight_rage_where_costs_differ():
    problem, theta = pw.instances.transductive(10)
    problem = pw.Problem(problem.probes, problem.items, cost=np.where(np.arange(10) % 2, 1.0, 50.0))
    sage, rage = (pw.simulate(problem, theta, a, runs=5, seed=1) for a in (pw.Sage(), pw.Rage("tight")))
    assert sage.mean("cost") < 0.7 * rage.mean("cost")


def test_sage_minds_costs(unequal):
    problem, theta = unequal
    runs = pw.simulate(problem, theta, pw.Sage(), runs=4, seed=1)
    assert runs.mean("cost") < 5.0 * runs.mean("measurements")
    assert problem.cost.mean() > 15.0


def test_an_easy_problem_takes_two_small_rounds():
    problem = pw.Problem(np.random.default_rng(0).normal(size=(200, 10)), np.eye(10))
    runs = pw.simulate(problem, np.eye(10)[0] * 4.0, pw.Sage(), runs=5, seed=1)
    assert runs["correct"].all()
    assert runs["measurements"].max() <= 2 * 3 * 10
