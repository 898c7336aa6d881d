"""What a law of outcomes is: all that is known of an outcome beyond its mean x'θ."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from probewise.confidence import mixture_width
from probewise.coordinates import Array, Counts
from probewise.measurements import Measurements, SumOfSquares


class Drawn(NamedTuple):
    """Outcomes of some probes as sufficient statistics."""

    mean: Array
    """(p,): of the outcomes of each probe."""
    scatter: Array
    """(p,): sums of their squared deviations from that mean."""


class Bets(NamedTuple):
    """What bets on directions y have made of 1, at each of some stakes λ that were fixed beforehand."""

    logs: Array
    """(k, L): its logarithm; the mean of what was made is at most exp(rates·y'θ)."""
    rates: Array
    """(k, L): Σ λ/v_s(y), with each λ and v as they were used in each round."""

    def lifted(self, by: Array | float) -> Bets:
        """Bets on y'θ + ``by``, one number or (k,)."""
        return Bets(self.logs + np.reshape(by, (-1, 1)) * self.rates, self.rates)

    def lessened(self, by: Array) -> Bets:
        """The same, less what outcomes may have added whose means are off by (k,) in y'θ̂: docs/misfit.md."""
        return Bets(self.logs - by[:, None] * self.rates, self.rates)


class Bettor(Protocol):
    """A law that bets on the outcomes of a round themselves, not only on their sums."""

    @property
    def unit(self) -> float:
        """What stakes are counted in: about as far as two means can be apart."""

    def bets(self, coefficients: Array, precision: Array) -> Bets:
        """Where y'θ̂/v(y) of a round is Σ_i n_i mean_i c_i, with ``coefficients`` c (k, p) of its measured probes."""


class Law(abc.ABC):
    """How the outcomes of a probe scatter about their mean, which is x'θ unless the law has a ``link``.

    A law is a frozen dataclass whose fields are its settings: numbers, flags, text, or lists of numbers. Whatever it
    is, ``scale`` bounds it: an outcome less its mean is sub-Gaussian with that scale, in units of outcomes or, unless
    the law is ``known``, of one scale that is the same for all probes and that ``bound`` learns from replicates.
    """

    name: ClassVar[str]
    """The name used on the command line and in journals."""
    summary: ClassVar[str]
    """The law in one sentence."""

    link: ClassVar[str] = "identity"
    """What makes x'θ of the mean of an outcome; an algorithm says which links it can do with."""

    def mean(self, linear: Array) -> Array:
        """The means of outcomes whose x'θ is ``linear``."""
        return linear

    @property
    @abc.abstractmethod
    def known(self) -> bool:
        """Whether the scale is in units of outcomes, so that nothing has to be learned of it."""

    @property
    def is_normal(self) -> bool:
        """Whether noise is normal with a standard deviation of at most the scale times the bound, fixed beforehand.

        Bets by ``log_account``, a mixture of exp(λS) for λ ≥ 0, can then be boosted: docs/boosting.md.
        """
        return False

    @property
    @abc.abstractmethod
    def part(self) -> float:
        """Part of δ that may be spent on what has to be learned, less than 1."""

    @property
    @abc.abstractmethod
    def replicates(self) -> int:
        """How often a probe should be measured at least in a round that measures it."""

    @abc.abstractmethod
    def scale(self, probes: tuple[str, ...]) -> Array:
        """(n,): the scale of each of the probes with these names; a measurement weighs 1/scale² in an estimate."""

    @abc.abstractmethod
    def bound(self, replicates: SumOfSquares, delta: float) -> float:
        """Factor by which the scales must be multiplied to bound the noise; infinite if it cannot be told yet.

        ``replicates`` is the scatter of replicates in units of the scales, of all finished rounds. The bound may fail
        ever, in any round, with probability at most ``part`` of δ.
        """

    @abc.abstractmethod
    def guess(self, replicates: SumOfSquares) -> float:
        """An estimate of that factor, for pictures and forecasts."""

    @abc.abstractmethod
    def log_account(self, total: Array, precision: Array, unit: Array, bound: float) -> Array:
        """(k,): log of what bets on S > 0 have made of 1, S = ``total``, W = ``precision``; ``unit`` is of precisions.

        Whatever the law, the mean of what they have made is at most 1 as long as E S ≤ 0, at every step of S and W, if
        the bound is true. A larger bound makes no more than 1, or no more than a smaller one: it may change as it is
        learned.
        """

    def account_bounds(self, total: Array, precision: Array, unit: Array, bound: float) -> tuple[Array, Array]:
        """(k,) twice: a lower and an upper bound on ``log_account``, which is both unless others are quickly found."""
        exact = self.log_account(total, precision, unit, bound)
        return exact, exact

    learns: ClassVar[bool] = False
    """Whether ``after`` and ``bettor`` do anything."""

    before: ClassVar[Mapping[str, Any]] = {}
    """Settings that journals lack which were begun before there were such settings, and what stood for them then."""

    by_sums: ClassVar[bool] = True
    """Whether noise is sub-Gaussian with the scale, so that bets on sums of outcomes are fair.

    If not, ``scale`` and ``log_account`` only serve designs, forecasts and pictures, and the law is for algorithms that
    bet on the outcomes themselves (``Algorithm.bets_on_outcomes``).
    """

    @property
    def remedy(self) -> str:
        """What to do if outcomes scatter more than the law says."""
        return ""

    @property
    def ends(self) -> tuple[float, float] | None:
        """What a failure and a success count, if outcomes can be told as numbers of successes; else None."""
        return None

    summed: ClassVar[str] = "mean"
    """What a row says of several outcomes beside their number: their mean, or their total."""
    weighed: ClassVar[str | None] = None
    """The column in which a row may bring its own precision, known before its outcome; None if the law has none."""

    @property
    def needs_spread(self) -> bool:
        """Whether the standard deviation of several outcomes has to be told with their mean."""
        return not self.known

    def impossible(self, n: int, mean: float, scatter: float | None) -> str:
        """What is wrong with a mean of n outcomes that scatter so about it, in words; empty if nothing is."""
        return ""

    def weights(self, told: Array, scale: Array) -> Array:
        """(k,): as how many measurements rows weigh that bring (k,) numbers in the column ``weighed``."""
        return np.ones(told.size)

    def told_weights(self, weights: Array, scale: Array) -> Array:
        """(k,): what such rows bring in that column."""
        return weights

    def after(self, means: Array, data: Measurements) -> Law:
        """The same law, with what can be learned of it from data and the (n,) means that they suggest."""
        return self

    def bettor(self, measurements: Measurements) -> Bettor | None:
        """What bets on the outcomes of a round, if this law, as learned before it, can do better than by their sums."""
        return None

    def account(self, total: Array, precision: Array, bets: Bets | None, unit: Array, bound: float) -> Array:
        """(k,): log of what all bets on y'θ > 0 have made of 1, by the sums alone unless there are ``bets``."""
        return self.log_account(total, precision, unit, bound)

    def width(self, sums: tuple[Array, Array], bets: tuple[Bets, Bets] | None, scale: Array, alpha: float) -> Array:
        """(k,): half-width of intervals about S/W, for ``sums`` W and S; each is ever wrong with probability alpha.

        ``bets`` are those on y'θ > 0 and on y'θ < 0, if there are any.
        """
        return mixture_width(sums[0], scale, alpha)

    @abc.abstractmethod
    def outcomes(self, means: Array, scale: Array, rng: np.random.Generator) -> Array:
        """(k,): simulated outcomes with these (k,) means and scales, one after the other."""

    @abc.abstractmethod
    def drawn(self, means: Array, scale: Array, counts: Counts, rng: np.random.Generator) -> Drawn:
        """Simulated outcomes of p probes, ``counts`` (p,) of each, at a cost that does not grow with the counts."""

    @property
    @abc.abstractmethod
    def expected(self) -> str:
        """What an outcome is, in words, for who enters something else."""

    @abc.abstractmethod
    def possible(self, outcomes: Array) -> NDArray[np.bool_]:
        """(k,): which of these finite numbers can be outcomes."""

    @property
    @abc.abstractmethod
    def noise(self) -> str:
        """What the noise of a measurement is, in words: it follows "Measurements are independent, with noise"."""

    def left(self, delta: float) -> float:
        """What is left of δ for the rest."""
        return (1.0 - self.part) * delta
