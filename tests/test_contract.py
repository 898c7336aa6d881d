from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any, ClassVar

import numpy as np
import pytest

import probewise as pw
from probewise.algorithms import ALGORITHMS, Algorithm
from probewise.algorithms.uniform import Uniform
from probewise.testing import CHECKS, check_algorithm, check_scale, check_solver, informed

SCALE_FREE = (
    "alba", "explore-verify", "fws", "g-static", "lazy-track-and-stop", "lingame", "lingape", "m-lingape", "rage",
    "sage", "top-two", "uniform", "xy-oracle", "xy-static",
)  # fmt: skip
VARIANTS: dict[str, dict[str, Any]] = {
    "alba x": {"elimination": "x"},
    "alba code": {"variant": "code"},
    "explore-verify rage": {"explore": "rage"},
    "lingape greedy": {"selection": "greedy"},
    "rage paper": {"variant": "paper"},
    "rage code": {"variant": "code"},
    "sage batches": {"max_batch": 5, "min_batch": 2, "max_replicates": 3},
}


RANKING = [name for name in ALGORITHMS if issubclass(pw.BestItem, ALGORITHMS[name].goals)]
"""Those that find the best item; melk decides about each item by itself."""


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", RANKING)
def test_every_algorithm_keeps_the_contract(name: str, check: str) -> None:
    CHECKS[check](functools.partial(informed, name))


@pytest.mark.parametrize("variant", VARIANTS)
def test_so_do_their_variants(variant: str) -> None:
    check_algorithm(functools.partial(informed, variant.split()[0], **VARIANTS[variant]))


@pytest.mark.parametrize("name", SCALE_FREE)
def test_units_of_outcomes_do_not_matter(name: str) -> None:
    check_scale(functools.partial(informed, name))


@pytest.mark.parametrize("name", [name for name in RANKING if name != "xy-oracle"])
def test_an_answer_within_epsilon_does_not_rule_out_its_equals(name: str) -> None:
    problem, theta, goal = pw.Problem(np.eye(3), sigma=0.7), np.array([1.0, 1.0, -1.0]), pw.BestItem(0.1, 0.5)
    algorithm, laboratory = informed(name, problem, theta), pw.LinearEnvironment(problem, theta, seed=0)
    seen: list[Any] = []
    pw.identify(problem, goal, algorithm=algorithm, measure=laboratory.measure, seed=0, progress=seen.append)
    assert {0, 1} <= set(seen[-1].standing.remaining.tolist())
    assert (seen[-1].standing.guess, seen[-1].standing.progress) == (seen[-1].answer, 1.0)


def test_names_are_those_of_the_registry() -> None:
    assert {name: algorithm.name for name, algorithm in ALGORITHMS.items()} == {name: name for name in ALGORITHMS}


# Each promise broken in turn: the contract must notice.


@dataclasses.dataclass(frozen=True)
class Fractions(Uniform):
    def ask(self, problem: Any, goal: Any, state: Any, rng: Any) -> Any:
        return Uniform.ask(self, problem, goal, state, rng) / 2


@dataclasses.dataclass(frozen=True)
class Negative(Uniform):
    def ask(self, problem: Any, goal: Any, state: Any, rng: Any) -> Any:
        return -Uniform.ask(self, problem, goal, state, rng)


@dataclasses.dataclass(frozen=True)
class Idle(Uniform):
    def ask(self, problem: Any, goal: Any, state: Any, rng: Any) -> Any:
        return np.zeros(problem.n_probes, dtype=np.int64)


@dataclasses.dataclass(frozen=True)
class Stubborn(Uniform):
    def answer(self, problem: Any, goal: Any, state: Any) -> Any:
        return None if state.answer is None else (0,)


@dataclasses.dataclass(frozen=True)
class Endless(Uniform):
    def answer(self, problem: Any, goal: Any, state: Any) -> Any:
        return (0,) if problem.n_items == 1 else None

    def ask(self, problem: Any, goal: Any, state: Any, rng: Any) -> Any:
        return np.ones(problem.n_probes, dtype=np.int64)

    def tell(self, problem: Any, goal: Any, state: Any, measurements: Any) -> Any:
        return state


_CALLS = itertools.count()


@dataclasses.dataclass(frozen=True)
class Forgetful(Uniform):
    def ask(self, problem: Any, goal: Any, state: Any, rng: Any) -> Any:
        return Uniform.ask(self, problem, goal, state, rng) + next(_CALLS)  # never twice the same


@dataclasses.dataclass(frozen=True)
class Impure(Uniform):
    def tell(self, problem: Any, goal: Any, state: Any, measurements: Any) -> Any:
        state.weights.setflags(write=True)
        state.weights[:] = np.arange(1, problem.n_probes + 1) / np.arange(1, problem.n_probes + 1).sum()
        return Uniform.tell(self, problem, goal, state, measurements)


@dataclasses.dataclass(frozen=True)
class Measuring(Uniform):
    def init(self, problem: Any, goal: Any) -> Any:
        return dataclasses.replace(Uniform.init(self, problem, goal), answer=None)


@dataclasses.dataclass(frozen=True)
class Undecided(Uniform):
    def standing(self, problem: Any, goal: Any, state: Any) -> Any:
        return dataclasses.replace(Uniform.standing(self, problem, goal, state), remaining=np.arange(problem.n_items))


@dataclasses.dataclass(frozen=True)
class Hasty(Uniform):
    def standing(self, problem: Any, goal: Any, state: Any) -> Any:
        now = Uniform.standing(self, problem, goal, state)
        return now if problem.n_items == 1 else dataclasses.replace(now, remaining=np.array([0, 2]))


@dataclasses.dataclass(frozen=True)
class Contrary(Uniform):
    def standing(self, problem: Any, goal: Any, state: Any) -> Any:
        now = Uniform.standing(self, problem, goal, state)
        return now if state.answer is None else dataclasses.replace(now, guess=())


@dataclasses.dataclass(frozen=True)
class Boastful(Uniform):
    def standing(self, problem: Any, goal: Any, state: Any) -> Any:
        now = Uniform.standing(self, problem, goal, state)
        return now if state.answer is not None else dataclasses.replace(now, progress=1.5)


@dataclasses.dataclass(frozen=True)
class Doubled(Uniform):
    def standing(self, problem: Any, goal: Any, state: Any) -> Any:
        now = Uniform.standing(self, problem, goal, state)
        return dataclasses.replace(now, remaining=np.repeat(now.remaining, 2))


@dataclasses.dataclass(frozen=True)
class Aside(Uniform):
    def standing(self, problem: Any, goal: Any, state: Any) -> Any:
        now = Uniform.standing(self, problem, goal, state)
        return now if state.check != 1 else dataclasses.replace(now, guess=(0,), remaining=np.array([1, 2]))


@dataclasses.dataclass(frozen=True)
class Names(Uniform):
    def standing(self, problem: Any, goal: Any, state: Any) -> Any:
        return dataclasses.replace(Uniform.standing(self, problem, goal, state), remaining=["a", "b"])


@dataclasses.dataclass(frozen=True)
class Certain(Uniform):
    attains: ClassVar[bool] = True

    def confidence(self, problem: Any, goal: Any, state: Any) -> float:
        return 0.5


@dataclasses.dataclass(frozen=True)
class Modest(Uniform):
    attains: ClassVar[bool] = True

    def confidence(self, problem: Any, goal: Any, state: Any) -> float:
        return 0.0


@dataclasses.dataclass(frozen=True)
class Talkative(Uniform):
    def confidence(self, problem: Any, goal: Any, state: Any) -> float:
        return 0.0


BROKEN: dict[type[Algorithm[Any]], str] = {
    Fractions: "int64 counts",
    Negative: "at least 0",
    Idle: "only zeros",
    Stubborn: r"the best item is 1, got \[\(0,\), \(0,\)\] in two runs",
    Endless: "no answer to an easy problem",
    Forgetful: "same seed and the same outcomes",
    Impure: "changed the state it was given",
    Measuring: "a single item must be the answer at once, got None",
    Undecided: r"an answer rules out all other items, got \[0 1 2 3\] left",
    Hasty: r"items \(1,\) were the answer in the end, but had been ruled out, with \[0 2\] left",
    Contrary: r"the answer \(0,\) must be the guess, with progress 1, got \(\(\), 1.0\)",
    Boastful: "progress must lie between 0 and 1, or be None, got 1.5",
    Doubled: "remaining must name each item once",
    Aside: r"the guess must be among the items left, \[1 2\], got \(0,\)",
    Names: "remaining must be int64 numbers of items",
    Certain: "before anything is measured no confidence is attained, got 0.5",
    Modest: "an answer has attained 0.95 at least, got 0.0",
    Talkative: "does not say how sure its guess is must refuse to",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_promise_is_noticed(broken: type[Algorithm[Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probewise.testing.algorithms.ROUNDS", 300)
    with pytest.raises(AssertionError, match=BROKEN[broken]):
        check_algorithm(broken())


def test_the_contract_takes_an_instance() -> None:
    check_algorithm(pw.Uniform(growth=1.5))


def test_a_peek_at_theta_is_noticed() -> None:
    @dataclasses.dataclass(frozen=True)
    class Peeking(Uniform):
        secret: tuple[float, ...] = ()

        def answer(self, problem: Any, goal: Any, state: Any) -> Any:
            return None if state.answer is None else (int(np.argmax(problem.items @ np.array(self.secret))),)

    with pytest.raises(AssertionError, match="the measurements say item 1"):
        check_algorithm(lambda problem, theta: Peeking(secret=tuple(theta)))


def test_a_scale_that_matters_is_noticed() -> None:
    with pytest.raises(AssertionError, match="1024 times"):
        check_scale(pw.Rage("paper"))


def test_solvers_are_judged_by_the_certified_optimum() -> None:
    check_solver(lambda probes, directions: pw.optimal_design(probes, directions).weights)
    with pytest.raises(AssertionError, match="above the optimum"):
        check_solver(lambda probes, directions: np.full(len(probes), 1 / len(probes)))
    with pytest.raises(AssertionError, match="sum to 1"):
        check_solver(lambda probes, directions: np.ones(len(probes)))
