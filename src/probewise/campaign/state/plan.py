"""Plans: how often a round measures which probes, and in which order, in as few words as that takes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probewise.campaign.state.charter import Charter
from probewise.coordinates import Counts
from probewise.errors import InvalidCampaign, OutOfStock, RoundTooLarge

MAX_ROUND = 100_000
"""Rows of a round, unless more are allowed."""
LARGEST = 10**9 - 1
"""Rows that a round can have: an id has a place for nine digits."""

_KEY = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, eq=False)
class Plan:
    """How often a round measures which probes; the order follows from the key, and is made when it is needed."""

    probes: NDArray[np.int64]
    """(m,): the probes that are measured, ascending."""
    counts: NDArray[np.int64]
    """(m,): how often each, at least once."""
    key: str
    """The key of the order, 32 hexadecimal digits."""

    def __post_init__(self) -> None:
        probes, counts = self.probes, self.counts
        fits = probes.ndim == 1 and probes.shape == counts.shape and probes.size > 0 and _KEY.fullmatch(self.key)
        if not fits or (np.diff(probes) <= 0).any() or probes[0] < 0 or counts.min() < 1 or self.size > LARGEST:
            raise InvalidCampaign(
                f"a round needs probes in ascending order, a count of each, a key, and at most {LARGEST:,} rows, got "
                f"{probes.size} probes, {counts.size} counts, the key '{self.key[:32]}' and {self.size} rows."
            )

    @classmethod
    def of(cls, counts: NDArray[np.int64], seed: int, round_: int) -> Plan:
        """The plan of a round with counts (n,) of all probes, in an order that the seed fixes."""
        (probes,) = np.nonzero(counts)
        key = hashlib.sha256(f"order of round {round_} of {seed}".encode()).hexdigest()[:32]
        return cls(probes, counts[probes], key)

    def to_json(self) -> dict[str, Any]:
        """The plan as part of a record."""
        return {"probes": self.probes.tolist(), "counts": self.counts.tolist(), "key": self.key}

    @cached_property
    def size(self) -> int:
        """Number of rows."""
        return sum(self.counts.tolist())

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(k,): the probe of each row: sorted by probe, then by the k first words of Philox4x64 under the key.

        The words of a bit generator are the same in all versions of NumPy; a shuffle is not.
        """
        words = np.random.Philox(key=int(self.key, 16)).random_raw(self.size)
        return np.repeat(self.probes, self.counts)[np.argsort(words, kind="stable")]


def largest(rows: int) -> int:
    """A limit on the rows of a round."""
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= LARGEST:
        raise InvalidCampaign(f"max_round must be a whole number from 1 to {LARGEST:,}, got {rows!r:.50}.")
    return rows


def check_size(counts: Counts, most: int, charter: Charter) -> None:
    """Refuse a round that nobody can have meant, or that nobody can measure."""
    rows, cost = sum(counts.tolist()), float(counts @ charter.problem.cost)
    if rows == 0:
        raise OutOfStock("nothing is left of the probes that the open round still measures; add to their stock.")
    if rows <= most:
        return
    other = "max_batch" if charter.algorithm.name == "sage" else "another algorithm, such as sage with max_batch"
    allow = f", or allow such a round by max_round (--max-round {rows})" if rows <= LARGEST else ""
    raise RoundTooLarge(
        f"the next round would have {rows:,} rows and cost {cost:,.6g}, and at most {most:,} rows are allowed: begin a "
        f"campaign with a larger epsilon or delta, a smaller sigma, or {other}{allow}; nothing was asked for."
    )
