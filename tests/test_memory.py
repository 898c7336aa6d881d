"""What is remembered of pure functions, by content and within limits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from probewise.design import memory
from probewise.design.memory import Remembered, digest, remembered, remembering, size


@dataclass(frozen=True)
class Pair:
    one: np.ndarray
    two: tuple[float, str]


@pytest.fixture
def doubled():
    calls = []

    @remembered
    def double(values, *, times=2.0):
        calls.append(times)
        return times * values

    double.calls = calls
    return double


def test_equal_arguments_are_looked_up_within_a_block_only(doubled):
    values = np.arange(3.0)
    with remembering():
        first = doubled(values)
        assert doubled(values.copy()) is first
        with remembering():  # one block within another is the same block
            assert doubled(values) is first
        assert doubled(values, times=3.0)[1] == 3.0
        assert doubled(np.arange(3)) is not first  # whole numbers are other arguments
    assert doubled(values) is not first
    with remembering():
        assert doubled(values) is not first
    assert doubled.calls == [2.0, 3.0, 2.0, 2.0, 2.0]


def test_what_is_kept_is_there_for_the_next_block(doubled, monkeypatch):
    monkeypatch.setattr(memory, "_kept", Remembered())
    for _ in range(3):
        with remembering(keep=True):
            doubled(np.ones(4))
    assert len(doubled.calls) == 1


def test_the_oldest_are_forgotten_when_results_take_too_much(doubled, monkeypatch):
    monkeypatch.setattr(memory, "LIMIT", 3 * size(np.ones(1000)))
    with remembering():
        for start in (0, 1, 2, 3, 3, 1, 0):
            doubled(start + np.zeros(1000))
    assert len(doubled.calls) == 5  # 0 was gone when it came again
    with remembering():
        for _ in range(2):
            doubled(np.zeros(10_000))  # larger than all that may be kept
    assert len(doubled.calls) == 7


def test_fingerprints_tell_contents_apart():
    pair = Pair(np.ones(2), (1.0, "a"))
    others = [
        Pair(np.ones(2), (1.0, "b")),
        Pair(np.ones(2), (True, "a")),
        Pair(np.ones((2, 1)), (1.0, "a")),
        Pair(np.ones(2, dtype=np.float32), (1.0, "a")),
        [pair],
        None,
    ]
    assert digest(pair) == digest(Pair(np.ones(2), (1.0, "a")))
    assert len({digest(pair), *map(digest, others)}) == 7
    assert 16 < size(pair) < 1000


def test_what_is_asked_for_stays_and_what_is_not_goes(doubled, monkeypatch):
    monkeypatch.setattr(memory, "LIMIT", 3 * size(np.ones(1000)))
    with remembering():
        for start in (0, 1, 2, 0, 3, 0, 1):  # 0 is asked for again and again, and 1 is forgotten for 3
            doubled(start + np.zeros(1000))
    assert len(doubled.calls) == 5
