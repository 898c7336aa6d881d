"""Sage: one algorithm, with what it knows, fixes beforehand and expects."""

from probewise.algorithms.sage.sage import Sage

__all__ = ["Sage"]
