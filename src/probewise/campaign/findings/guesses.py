"""Guesses: what a model that may be wrong predicts of a campaign's items, in numbers and in sentences."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from probewise.campaign.state.charter import Charter
from probewise.guess import Prediction
from probewise.numerals import attained, plural, three_digits

_FRONT = 10
"""Items that are listed, the highest prediction first."""
_NINETY = 1.645
"""Standard deviations to either side that make an interval of 90 %."""


@dataclass(frozen=True)
class Predicted:
    """What is predicted of one item."""

    name: str
    """Its name."""
    value: float
    """The prediction."""
    low: float
    """Lower end of an interval that has it with probability 90 %, if the model is right."""
    high: float
    """Upper end."""
    measured: int
    """How often the item itself was measured."""


@dataclass(frozen=True)
class Guess:
    """The best guess of a model, which is heuristic: what is proven stands elsewhere."""

    item: str
    """The item with the best prediction."""
    items: tuple[Predicted, ...]
    """It, and then those with the highest predictions."""
    gain: float
    """By how much one more batch is expected to improve the best guess, whether the budget has it or not."""
    noise: float
    """Standard deviation of a measurement, as the model sees it."""
    widened: float
    """What spreads were multiplied by, so that measurements left out are predicted as well as is said."""
    left: int
    """Measurements that the budget leaves."""
    effects: str
    """What the model's effects are made of."""
    contested: bool
    """Whether the linear model, on which proofs rest, rules the best guess out: one of the two must be wrong."""


def guessed(charter: Charter, prediction: Prediction | None, sign: float, remaining: Collection[int]) -> Guess | None:
    """What a prediction says, with the names of the items; ``remaining`` are those not ruled out."""
    if prediction is None:
        return None
    order = np.argsort(-sign * prediction.mean, kind="stable")[:_FRONT].tolist()
    order = [prediction.item, *(item for item in order if item != prediction.item)][:_FRONT]
    names, ends = charter.problem.item_names, charter.problem.outcome.ends
    rows = []
    for item in order:
        value, half = float(prediction.mean[item]), _NINETY * float(prediction.spread[item])
        low, high = value - half, value + half
        if ends is not None:
            low, high = max(low, ends[0]), min(high, ends[1])
        rows.append(Predicted(names[item], value, low, high, int(prediction.measured[item])))
    return Guess(
        names[prediction.item],
        tuple(rows),
        prediction.gain,
        prediction.noise,
        prediction.honest,
        prediction.left,
        prediction.effects,
        prediction.item not in remaining,
    )


def told(guess: Guess, charter: Charter, sure: float | None) -> str:
    """What is guessed, what is proven of it, and whether more measurements would change it."""
    best, quantity = guess.items[0], charter.quantity
    low, value, high = rounded(best)
    value, span = quantity.amount(value), f"{low} to {high}"
    proven = "how sure it is cannot be said" if sure is None else f"proven so far: {attained(sure)}"
    if guess.contested:
        proven = "the linear model rules it out, so one of the two models is wrong"
    return (
        f"Best guess: {guess.item}, predicted {value} ({span} with probability 90 % if the model is right); "
        f"{proven}. {further(guess, charter)}"
    )


def rounded(best: Predicted) -> tuple[str, str, str]:
    """Lower end, prediction and upper end, with no more places than are known."""
    width = max(best.high - best.value, best.value - best.low, 1e-12)
    places = min(max(0, 1 - math.floor(math.log10(width))), 8)
    low, value, high = (f"{number:,.{places}f}" for number in (best.low, best.value, best.high))
    return low, value, high


def further(guess: Guess, charter: Charter) -> str:
    """Whether more measurements would likely change the guess."""
    gain = charter.quantity.difference(three_digits(guess.gain))
    if not guess.left:
        return f"The budget is spent; another batch would be expected to improve the best guess by {gain}."
    are = "is" if guess.left == 1 else "are"
    left = plural(guess.left, "measurement")
    return f"{left} {are} left; the next batch is expected to improve the best guess by {gain}."
