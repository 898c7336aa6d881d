"""Directions: what every set of them can be asked."""

from __future__ import annotations

import abc

from probewise.coordinates import Array
from probewise.design.farthest import Labels


class Directions(abc.ABC):
    """A finite set of directions y, each with an integer label; only the largest members are ever formed."""

    @property
    def parts(self) -> tuple[Directions, ...]:
        """The sets of which this is the union; of itself alone unless it has others."""
        return (self,)

    @property
    @abc.abstractmethod
    def generators(self) -> Array:
        """(m, d): rows whose linear combinations give every direction."""

    @property
    @abc.abstractmethod
    def magnitudes(self) -> Array:
        """(m, d): bounds on the numbers whose rounding moved the entries of the generators."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Number of directions."""

    @abc.abstractmethod
    def rows(self, labels: Labels) -> Array:
        """(k, d): the directions with the given labels."""

    @abc.abstractmethod
    def mapped(self, transform: Array) -> Directions:
        """The same directions, with the same labels, in the coordinates ``y @ transform``."""

    @abc.abstractmethod
    def image(self, transform: Array, *, precise: bool) -> tuple[Directions, float]:
        """As ``mapped``, and a bound on the Euclidean error of each direction; ``precise`` as in ``arithmetic.image``.

        What a direction was formed from, items and gaps, is taken to be exact.
        """

    @abc.abstractmethod
    def exactly_in(self, probes: Array) -> tuple[int, bool]:
        """The rank of ``probes`` (n, d), and whether every direction lies in their span, by exact arithmetic."""

    @property
    @abc.abstractmethod
    def reach(self) -> float:
        """A bound on the norm of every direction and, twice, of what it is formed from."""

    @abc.abstractmethod
    def moment(self) -> Array:
        """(d, d): a matrix in proportion to Σ yy' over all directions."""

    @abc.abstractmethod
    def largest(self) -> tuple[int, float]:
        """Label and squared Euclidean norm of the longest direction, exactly."""

    @abc.abstractmethod
    def longer(self, limit: float, count: int) -> Labels:
        """At most ``count`` labels of directions with squared norm above ``limit``; none only if there is none."""

    @abc.abstractmethod
    def seek(self, limit: float, count: int, hints: Labels) -> tuple[Labels, bool]:
        """As ``longer``, and whether that was exact: where looking everywhere would take long, it may miss some.

        ``hints`` are long ones known.
        """
