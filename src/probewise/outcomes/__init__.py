"""Outcomes: what may be known of their law; a new law is one line here, or an entry point elsewhere."""

from __future__ import annotations

from probewise.extensions import extensions, found_class
from probewise.outcomes.base import Bets, Bettor, Drawn, Law
from probewise.outcomes.bounded import Bounded
from probewise.outcomes.canonical import CanonicalLaw, Logistic, PoissonLog
from probewise.outcomes.gaussian import Gaussian
from probewise.outcomes.poisson import Poisson

OUTCOMES: dict[str, type[Law]] = {
    "gaussian": Gaussian,
    "bounded": Bounded,
    "poisson": Poisson,
}
"""Every law of the package by its name."""

EXTENSIONS = "probewise.outcomes"
"""The entry points by which other packages add theirs."""


def law_named(name: str) -> type[Law] | None:
    """The law of that name, of the registry or of another package; None if there is none."""
    return found_class(OUTCOMES, EXTENSIONS, name, Law)  # type: ignore[type-abstract]


def law_names() -> list[str]:
    """Every law, also of other packages, which are not loaded for that."""
    return sorted({*OUTCOMES, *extensions(EXTENSIONS)})


__all__ = [
    "OUTCOMES",
    "Bets",
    "Bettor",
    "Bounded",
    "CanonicalLaw",
    "Drawn",
    "Gaussian",
    "Law",
    "Logistic",
    "Poisson",
    "PoissonLog",
    "law_named",
    "law_names",
]
