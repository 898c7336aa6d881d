"""Threads of linear algebra: few in the core, and the user's setting afterwards."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, get_ident, local
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  the library of scipy is loaded before it is looked for
from threadpoolctl import ThreadpoolController

import probewise as pw
from probewise import threads
from probewise.design import farthest, working_set
from probewise.design.farthest import about_mean, farthest_from
from probewise.design.solvers import interior

LIBRARIES = ThreadpoolController().select(user_api="blas").lib_controllers


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = in_use()
    _all_set(TWO)
    yield
    _all_set(before)


def _all_set(numbers: list[int]) -> None:
    for library, number in zip(LIBRARIES, numbers, strict=True):
        threads._set(library, number)


def in_use() -> list[int]:
    return [library.get_num_threads() for library in LIBRARIES]


TWO, ONE = [2] * len(LIBRARIES), [1] * len(LIBRARIES)


def test_a_design_is_made_by_one_thread_and_leaves_two(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, plain = [], working_set.solve
    monkeypatch.setattr(working_set, "solve", lambda *args, **kw: (seen.append(in_use()), plain(*args, **kw))[1])
    assert LIBRARIES
    assert pw.optimal_design(np.eye(3), pw.pairs(np.eye(3))).converged
    assert (seen, in_use()) == ([ONE], TWO)


def test_a_design_that_fails_leaves_two(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        assert in_use() == ONE
        raise KeyboardInterrupt

    with pytest.raises(pw.errors.NotIdentifiable):
        pw.optimal_design(np.eye(3)[:2], pw.pairs(np.eye(3)))
    assert in_use() == TWO
    monkeypatch.setattr(working_set, "solve", fails)
    with pytest.raises(KeyboardInterrupt):
        pw.optimal_design(np.eye(3), pw.pairs(np.eye(3)))
    assert in_use() == TWO


def test_estimates_and_rounds_of_sage_are_made_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, plain = [], pw.Gaussian.log_account
    monkeypatch.setattr(pw.Gaussian, "log_account", lambda *args: (seen.append(in_use()), plain(*args))[1])
    problem, theta = pw.instances.sphere(6, 2, seed=1)
    pw.identify(problem, measure=pw.LinearEnvironment(problem, theta, seed=1).measure, seed=1)
    assert seen
    assert all(number == ONE for number in seen)
    assert in_use() == TWO


def test_simulations_leave_two() -> None:
    problem, theta = pw.instances.benchmark(2)
    pw.simulate(problem, theta, pw.Sage(), runs=2, seed=1)
    assert in_use() == TWO


def test_a_setting_of_one_stays() -> None:
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        with threads.few, threads.many(threads.MANY):
            assert in_use() == ONE
        assert in_use() == ONE


def test_large_matrices_get_all_threads_but_in_simulations() -> None:
    with threads.few:
        with threads.many(threads.MANY - 1):
            assert in_use() == ONE
        with threads.many(threads.MANY):
            assert in_use() == TWO
            with threads.few:
                assert in_use() == TWO
        assert in_use() == ONE
        with threads.one, threads.many(threads.MANY):
            assert in_use() == ONE
    assert in_use() == TWO


def test_work_side_by_side_uses_the_threads_that_the_user_has_set_and_one_of_linear_algebra_each() -> None:
    def part(number: int) -> tuple[int, int, list[int]]:
        if number < 2:
            together.wait(timeout=30)
        return number, get_ident(), in_use()

    together = Barrier(2)
    with threads.few:
        found = threads.side_by_side(part, range(4))
        assert in_use() == ONE
    assert [number for number, _, _ in found] == [0, 1, 2, 3]
    assert len({thread for _, thread, _ in found}) == 2
    assert all(number == ONE for _, _, number in found)
    assert in_use() == TWO


def test_work_is_done_here_where_one_thread_is_set_or_wished_for() -> None:
    with threads.one:
        assert threads.side_by_side(lambda _: get_ident(), range(3)) == [get_ident()] * 3
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        assert threads.side_by_side(lambda _: get_ident(), range(3)) == [get_ident()] * 3
    assert threads.side_by_side(lambda _: get_ident(), range(1)) == [get_ident()]


def test_an_error_in_work_side_by_side_is_raised_and_leaves_two() -> None:
    def fails(number: int) -> None:
        raise ArithmeticError(number)

    with pytest.raises(ArithmeticError, match="0"):
        threads.side_by_side(fails, range(4))
    assert in_use() == TWO


def test_far_partners_are_the_same_however_many_threads_look_for_them() -> None:
    points = np.random.default_rng(7).integers(-2, 3, (20_000, 4)).astype(float)  # many are equally far
    seen, sources = about_mean(points), np.arange(0, 20_000, 30)
    assert len(sources) * len(points) >= farthest._SHARED
    two = farthest_from(seen, sources)
    with threads.one:
        assert np.array_equal(two, farthest_from(seen, sources))
    products = seen.left[sources[:50]] @ seen.right.T
    assert products[np.arange(50), two[:50]] == pytest.approx(products.min(axis=1), abs=1e-5)


def test_the_interior_point_method_asks_for_what_its_size_deserves(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, plain = [], interior.many
    monkeypatch.setattr(interior, "many", lambda rows: (asked.append(rows), plain(rows))[1])
    interior.solve(np.eye(3), np.eye(3), tol=0.1)
    assert asked == [3]


def overlap() -> None:
    """Two threads of Python: the first one leaves its block while the second is still in its own."""
    first_is_out, second_is_in = Barrier(2, timeout=60), Barrier(2, timeout=60)

    def begins() -> None:
        with threads.few:
            second_is_in.wait()
        first_is_out.wait()

    def ends() -> None:
        with threads.few:
            second_is_in.wait()
            first_is_out.wait()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(begins), pool.submit(ends)]:
            done.result()


class Library:
    """As a library of threadpoolctl: one number for all, or one for each thread of Python."""

    def __init__(self, numbers: object) -> None:
        self.numbers, self.history = numbers, []

    def get_num_threads(self) -> int:
        return self.numbers.__dict__.get("number", 2)

    def set_num_threads(self, number: int) -> None:
        self.numbers.number = number
        self.history.append((get_ident(), number))


def test_blocks_of_several_threads_may_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, own = Library(SimpleNamespace()), Library(local())
    monkeypatch.setattr(threads, "_libraries", lambda: ([shared], [own]))
    overlap()
    assert [number for _, number in shared.history] == [1, 2]
    each = {thread: [number for who, number in own.history if who == thread] for thread, _ in own.history}
    assert list(each.values()) == [[1, 2], [1, 2]]


def test_another_thread_may_limit_what_this_one_has_set() -> None:
    with threads.few:
        pass
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: [library.set_num_threads(3) for library in LIBRARIES]).result()
    assert in_use() == [3] * len(LIBRARIES)


def test_designs_in_several_threads_leave_two() -> None:
    Z = pw.instances.sphere(30, 3)[0].probes
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: pw.optimal_design(Z, pw.pairs(Z)).weights, range(12)))
    assert all(np.array_equal(weights, found[0]) for weights in found)
    assert in_use() == TWO


def test_what_somebody_sets_meanwhile_stays() -> None:
    with threads.few:
        LIBRARIES[0].set_num_threads(3)
    assert in_use() == [3, *TWO[1:]]


def test_threadpoolctl_is_loaded_when_used() -> None:
    code = (
        "import sys, numpy as np, probewise as pw; pw.optimal_design; print('threadpoolctl' in sys.modules);"
        "pw.optimal_design(np.eye(2), pw.pairs(np.eye(2))); print('threadpoolctl' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
