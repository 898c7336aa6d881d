"""Aggregates: which rows of a record were told together by their mean, and what they weigh."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probewise.campaign.journal.records import Record
from probewise.campaign.state.charter import Charter
from probewise.campaign.state.sheet import Place, Tally


def tallies_of(places: Sequence[Place], sizes: Sequence[tuple[int, float | None]]) -> Iterator[tuple[int, Tally]]:
    """The round of each tally, and its rows, which follow each other."""
    start = 0
    for size, scatter in sizes:
        own, start = places[start : start + size], start + size
        yield own[0][0], Tally(tuple(row - 1 for _, row in own), scatter)


def told_of(charter: Charter, record: Record, places: Sequence[Place], probes: NDArray[np.int64]) -> dict[str, Any]:
    """Which of the rows of a record were told by their mean, and their weights."""
    body, count = record.body, len(places)
    tallies = [(own["n"], own["scatter"]) for own in body.get("tallies", [])]
    if bool(tallies) != charter.by_means or ("weights" in body) != charter.weighted:
        raise record.fault("it does not say what rows of this campaign have to say")
    ends = np.cumsum([0, *(size for size, _ in tallies)])
    if tallies and (ends[-1] != count or any(scatter is not None and scatter < 0 for _, scatter in tallies)):
        raise record.fault(f"its tallies do not make up {count} rows")
    for low, high in pairwise(ends.tolist()):
        if len({places[at][0] for at in range(low, high)}) > 1 or len(set(probes[low:high].tolist())) > 1:
            raise record.fault("a tally has rows of several probes or rounds")
    weights = np.array(body["weights"], dtype=np.float64) if charter.weighted else None
    if weights is not None and (weights.size != count or not (weights > 0).all()):
        raise record.fault(f"it needs a positive weight for each of {count} rows")
    return {"tallies": tallies, "weights": weights}
