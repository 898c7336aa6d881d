"""Words: where each item stands, and why, as sentences have it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from probewise.goals import Answer, Goal
from probewise.numerals import listed, plural, three_digits, with_width
from probewise.problem import Problem
from probewise.quantity import OUTCOME, Quantity

APART = (
    "Estimated differences are not quite the differences of the estimates: each number weights the rounds by what they "
    "tell of it."
)


@dataclass(frozen=True)
class ItemNumbers:
    """What is known of one item; intervals hold for all items and at all times at once, levels and gaps separately."""

    name: str
    estimate: float
    """Of z'θ, pooled over rounds; NaN if the probes measured so far do not determine it."""
    low: float
    """Lower end of the interval, -inf if there is none."""
    high: float
    """Upper end, inf if there is none."""
    behind: float
    """Estimated distance to the leader, positive if the leader is ahead; 0 for the leader."""
    least: float
    """Lower end of the interval of that distance."""
    most: float
    """Upper end."""
    state: str
    """"best", or what else the goal calls an item that is found; before that "leading"; "tied" within epsilon;
    "remaining" or "eliminated"."""
    round: int | None
    """The round that ruled it out."""
    by: str | None
    """The item that beats it most clearly then."""
    why: str
    """One clause that says why it stands there."""


class Unseen(NamedTuple):
    """Items of which nothing is shown, as they stay where they are."""

    items: int
    """How many."""
    left: int
    """How many of them are not ruled out."""


ALL_SEEN = Unseen(0, 0)


@dataclass(frozen=True)
class Words:
    """A question, and what outcomes are called, as sentences have them."""

    goal: Goal
    """The question."""
    quantity: Quantity = OUTCOME
    """What outcomes are called."""

    @property
    def predicate(self) -> str:
        """What is said of each item of the answer: the best in yield."""
        return self.quantity.about(self.goal.predicate, units=self.goal.in_units)

    @property
    def question(self) -> str:
        """What is asked: Which item is the best in yield?"""
        return self.quantity.about(self.goal.question.removesuffix("?"), units=self.goal.in_units) + "?"

    def claim(self, names: Sequence[str], *, exact: bool = True) -> str:
        """What is claimed of the items of an answer."""
        return self.quantity.about(self.goal.claim(names, exact=exact), units=self.goal.in_units)

    def ruled_out(self, round_: int, by: str, behind: float, errors: float) -> str:
        """In which round, by whom, and how clearly."""
        size = self.quantity.difference(three_digits(behind))
        clearly = "" if math.isnan(behind) else f": {size} behind {by}, {errors:.1f} standard errors"
        return f"{self.gone} in round {round_}{clearly}"

    @property
    def gone(self) -> str:
        """What is said of an item that is not in the answer: where a share of them may be wrong, no more than that."""
        return "left out" if self.goal.promise == "share" else "ruled out"

    def sentence(
        self,
        items: Sequence[ItemNumbers],
        leader: int | None,
        guess: Answer,
        rival: int | None,
        risk: float,
        exact: bool | None,
        *,
        sure: Answer = (),
        measured: int = 0,
        unseen: Unseen = ALL_SEEN,
    ) -> str:
        """Who leads or is found, how surely, and why; after so many measurements.

        ``exact`` says whether what is found holds without the tolerance, and is None while it is open; some items may
        be ``sure`` before others are.
        """
        if len(items) + unseen.items == 1 and guess:
            return f"{items[0].name} is the only item."
        if leader is None and measured:
            return f"No item leads yet: {plural(measured, 'measurement')} cannot tell how far the items are apart."
        if leader is None:
            return f"Nothing has been measured yet; {len(items) + unseen.items:,} items are to be compared."
        names, reason = [items[i].name for i in guess], self.reason(items, None, rival, len(guess), unseen)
        if exact is None and sure:
            found = self.claim([items[i].name for i in sure], exact=self.goal.promise == "all" or not self.goal.epsilon)
            return f"{found}{self.goal.assurance(risk)}, and others may follow: {reason}"
        if exact is None:
            return f"{listed(names or [items[leader].name])} lead{'s' * (len(guess) <= 1)}: {reason}"
        return f"{self.claim(names, exact=exact)}{self.goal.assurance(risk)}: {reason}"

    def reason(
        self,
        items: Sequence[ItemNumbers],
        who: str | None,
        rival: int | None,
        front: int,
        unseen: Unseen = ALL_SEEN,
    ) -> str:
        """Why the leader, called by its name or not, leads; with ``front`` items in the answer."""
        total = len(items) + unseen.items
        if total == 1:
            return ""
        gone = sum(item.state == "eliminated" for item in items) + unseen.items - unseen.left
        out = f"{gone:,} of {total:,} items are {self.gone}"
        control = sum(item.state == "control" for item in items)
        out = f"all other items are {self.gone}" if gone == total - front - control else out
        unknown = sum(math.isnan(item.behind) for item in items)
        out += f", and {unknown:,} cannot be compared with it yet" if unknown else ""
        lead = "" if rival is None or not self.goal.ranks else f"{self._lead(who, items[rival])}; "
        tied = [item.name for item in items if item.state == "tied"]
        many = len(tied) + unseen.left
        more = f" and {many - 3:,} more" if many > 3 else ""
        ties = f"; tied within epsilon: {', '.join(tied[:3])}{more}" if tied else ""
        return f"{lead}{out}{ties}."

    def _lead(self, who: str | None, rival: ItemNumbers) -> str:
        """How far ahead of the closest rival, or behind it, with the bound that matters.

        A rival that is ruled out is behind whatever its interval says; of one that is tied, it matters how far it
        could be ahead, which is no more than the decision says.
        """
        ahead = (rival.behind >= 0) != self.goal.minimise  # the algorithm may weigh rounds otherwise
        sides, named = ("above", "below") if ahead else ("below", "above"), self.quantity.name
        size, bound = three_digits(abs(rival.behind)), ""
        if rival.state == "eliminated" and rival.behind > 0:
            bound = f", and at least {three_digits(rival.least)} {sides[0]} it" if rival.least > 0 else ""
        elif rival.state == "tied" and rival.least < 0 <= rival.behind:
            bound = f", and at most {three_digits(min(-rival.least, self.goal.epsilon))} {sides[1]} it"
        else:
            size = with_width(abs(rival.behind), rival.most - rival.behind)
        subject = who or "it"
        if named:
            subject = f"its {named}" if who is None else f"The {named} of {who}"
        that = f"that of {rival.name}" if named else rival.name
        return f"{subject} is estimated {self.quantity.difference(size)} {sides[0]} {that}, the closest rival{bound}"


@dataclass(frozen=True, eq=False)
class Places:
    """Where each item stands, and why."""

    problem: Problem
    words: Words
    leader: int | None
    guess: Answer
    decided: bool
    fates: dict[int, tuple[int, str, str]]
    """Item that is ruled out: in which round, by whom, and why."""
    measured: int = 0
    """Measurements so far."""
    sure: Answer = ()
    """Items that are known to be in the answer before all of it is known."""
    unseen: Unseen = ALL_SEEN
    """Items of which nothing is shown."""

    def of(self, i: int, value: float, width: float) -> tuple[str, int | None, str | None, str]:
        """State, round, by whom and why of item i, which is behind the leader by a value that is known to a width."""
        goal, words = self.words.goal, self.words
        if i in self.guess:
            return self._in_front(i)
        if i in goal.aside(self.problem):
            return "control", None, None, "what the others are compared with"
        if i in self.fates:
            when, by, why = self.fates[i]
            return ("eliminated", when, by, why) if goal.ranks else ("eliminated", when, None, why.partition(":")[0])
        if self.leader is None:
            return "remaining", None, None, "cannot be compared yet" if self.measured else "not measured yet"
        if math.isnan(value):
            return "remaining", None, None, "cannot be compared yet"
        name, epsilon = self.problem.item_names[self.leader], words.quantity.difference(f"{goal.epsilon:.4g}")
        if self.decided and not goal.ranks:
            return "tied", None, None, f"within {epsilon} of being {words.predicate}"
        if self.decided and abs(value) + width <= goal.epsilon:
            return "tied", None, None, f"within {epsilon} of {name}"
        if self.decided:
            return "tied", None, None, f"not ruled out, but at most {epsilon} better than {name}"
        return "remaining", None, None, "not ruled out yet"

    def _in_front(self, i: int) -> tuple[str, None, None, str]:
        """State and reason of an item of the answer, or of what looks like it."""
        goal, epsilon = self.words.goal, self.words.quantity.difference(f"{self.words.goal.epsilon:.4g}")
        if not self.decided and i not in self.sure:
            end = "lowest" if goal.minimise else "highest"
            high = f"{end} estimate" if i == self.leader else f"one of the {end} estimates"
            return "leading", None, None, f"{high} of those that are left"
        if not goal.ranks:
            up_to = f", up to {epsilon}" if goal.epsilon > 0 and (self.decided or goal.promise == "share") else ""
            shown = "listed as" if goal.promise == "share" else "shown to be"
            return goal.found, None, None, f"{shown} {self.words.predicate}{up_to}"
        within = f"nothing left can be more than {epsilon} better"
        others = len(self.fates) < self.problem.n_items - len(self.guess) or self.unseen.left > 0
        alone = "the only one left" if len(self.guess) == 1 else f"one of the {len(self.guess)} that are left"
        return goal.found, None, None, within if others else alone
