"""Laws with a canonical link: the mean of an outcome is a curve of x'θ, and the likelihood has one form."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array, Counts
from probewise.errors import InvalidAlgorithm
from probewise.measurements import SumOfSquares
from probewise.outcomes.base import Drawn, Law
from probewise.outcomes.counts import CountLaw


class CanonicalLaw(Law):
    """Outcomes of density exp(rη - b(η)) with η = x'θ, up to a factor without θ, so that their mean is b'(η).

    Their noise is not described by a scale, and nothing that relies on one takes them: see ``Algorithm.links``.
    """

    @abc.abstractmethod
    def cumulant(self, linear: Array) -> Array:
        """b(η) for each of some η."""

    @abc.abstractmethod
    def information(self, linear: Array) -> Array:
        """b''(η), the variance of an outcome."""

    @property
    def known(self) -> bool:
        """Nothing has to be learned but θ."""
        return True

    @property
    def part(self) -> float:
        """Nothing of δ."""
        return 0.0

    @property
    def replicates(self) -> int:
        """One."""
        return 1

    def scale(self, probes: tuple[str, ...]) -> Array:
        """(n,): a unit, for designs before anything is known of θ; no bound on the noise."""
        return np.full(len(probes), math.sqrt(1.0 / float(self.information(np.zeros(1))[0])))

    def bound(self, replicates: SumOfSquares, delta: float) -> float:
        """1."""
        return 1.0

    def guess(self, replicates: SumOfSquares) -> float:
        """1."""
        return 1.0

    def log_account(self, total: Array, precision: Array, unit: Array, bound: float) -> Array:
        """Refused: bets on sums are for outcomes whose mean is x'θ."""
        raise InvalidAlgorithm(f"the law '{self.name}' has no accounts by sums; choose SageGLM.")


@dataclass(frozen=True)
class Logistic(CanonicalLaw):
    """Outcomes 1 or 0, successes or failures, with odds exp(x'θ): logistic regression."""

    name: ClassVar[str] = "logistic"
    summary: ClassVar[str] = "Successes and failures, 1 and 0; the log of the odds is x'θ."
    link: ClassVar[str] = "logit"

    def mean(self, linear: Array) -> Array:
        """The probability of a success, 1/(1 + exp(-η))."""
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * linear)))

    def cumulant(self, linear: Array) -> Array:
        """log(1 + exp η)."""
        return np.asarray(np.logaddexp(0.0, linear))

    def information(self, linear: Array) -> Array:
        """p(1 - p)."""
        return np.asarray(0.25 / np.cosh(np.minimum(np.abs(0.5 * linear), 300.0)) ** 2)

    def outcomes(self, means: Array, scale: Array, rng: np.random.Generator) -> Array:
        """Ones with these probabilities."""
        return (rng.random(means.size) < means).astype(np.float64)

    def drawn(self, means: Array, scale: Array, counts: Counts, rng: np.random.Generator) -> Drawn:
        """Binomial numbers of successes."""
        hits = rng.binomial(counts, means)
        return Drawn(hits / counts, hits * (counts - hits) / counts)

    @property
    def expected(self) -> str:
        """What an outcome may be, in words."""
        return "0 or 1"

    def possible(self, outcomes: Array) -> NDArray[np.bool_]:
        """True for 0 and 1."""
        return np.isin(outcomes, (0.0, 1.0))

    @property
    def noise(self) -> str:
        """Of successes and failures."""
        return "of successes and failures whose odds are exp(x'θ)"


@dataclass(frozen=True)
class PoissonLog(CountLaw, CanonicalLaw):
    """Counts 0, 1, 2, … with mean exp(x'θ): Poisson regression. Counts that scatter more than that are not covered."""

    name: ClassVar[str] = "poisson-log"
    summary: ClassVar[str] = "Counts of a Poisson law; the log of their mean is x'θ."
    link: ClassVar[str] = "log"

    def mean(self, linear: Array) -> Array:
        """The expected count, exp η."""
        return np.asarray(np.exp(np.minimum(linear, 300.0)))

    def cumulant(self, linear: Array) -> Array:
        """exp η."""
        return self.mean(linear)

    def information(self, linear: Array) -> Array:
        """exp η."""
        return self.mean(linear)

    @property
    def noise(self) -> str:
        """Of counts."""
        return "of counts whose mean is exp(x'θ) (Poisson)"
