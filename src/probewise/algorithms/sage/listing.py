"""Listing: which claims about single items may be made, so that few of those that are made are wrong on average."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from probewise.coordinates import Array


def accepted(wealth: Array, inside: NDArray[np.bool_], needed: float) -> NDArray[np.bool_]:
    """(k,): which claims are made, of those that list an item (``inside``) and of those that leave one out.

    On either side, the largest number n of them whose accounts are all at least M/(nδ), with ``needed`` = log M/δ and
    ``wealth`` (k,) the logarithms of the accounts as they are now: docs/shares.md. Running maxima would not do.
    """
    out = np.zeros(wealth.size, dtype=np.bool_)
    for side in (inside, ~inside):
        rows = np.flatnonzero(side & ~np.isnan(wealth))
        order = rows[np.argsort(-wealth[rows], kind="stable")]
        enough = np.flatnonzero(wealth[order] + np.log1p(np.arange(order.size)) >= needed)
        out[order[: enough[-1] + 1 if enough.size else 0]] = True
    return out


def lacking(wealth: Array, inside: NDArray[np.bool_], needed: float) -> float:
    """How far, from 0 to 1, the weakest account has come to what it needs if all claims are made."""
    side = np.where(inside, np.count_nonzero(inside), np.count_nonzero(~inside))
    wanted = np.maximum(needed - np.log(np.maximum(side, 1)), math.ulp(1.0))
    return float(np.clip(np.nan_to_num(wealth / wanted), 0.0, 0.999).min(initial=0.999))
