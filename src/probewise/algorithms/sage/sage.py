"""Sage: sample-pooling adaptive gap elimination. Every measurement counts, and the design follows the estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from probewise.algorithms.base import Algorithm, Forecast, Standing, no_forecast
from probewise.algorithms.batches import Limits
from probewise.algorithms.planning import allocated, check_recalled, check_stock, kept, plan, unit_whitener
from probewise.algorithms.sage.claims import Claimed, needed
from probewise.algorithms.sage.combined import Combined
from probewise.algorithms.sage.forecasting import (
    PARAMETERS,
    RIVALS,
    Outlook,
    even_race,
    expected,
    few_rounds,
    race,
    race_of_claims,
    rounds_to_come,
    stacked,
    unplayed,
)
from probewise.algorithms.sage.knowledge import Knowledge, enough
from probewise.algorithms.sage.opening import Opening
from probewise.algorithms.sage.peaks import Peaks
from probewise.algorithms.sage.prior import FEW, Items, Memo, Prior
from probewise.algorithms.sage.scattered import Scattered, pieces_of
from probewise.algorithms.sage.shared import Shared
from probewise.algorithms.sage.sided import Sided
from probewise.coordinates import Counts
from probewise.design import Directions, remembering, spokes
from probewise.errors import InvalidAlgorithm, InvalidGoal
from probewise.goals import Answer, BestCombination, BestItem, Goal, Promise, TopM, hindrance
from probewise.measurements import Measurements
from probewise.pooling import Pooled
from probewise.problem import Problem
from probewise.shards.items import NEAR
from probewise.threads import few

_FLOOR = 2.0
"""Standard errors below which a lead is not believed by the design."""
_PACE = 1.2
"""Growth of rounds far from the end, in units of ``growth``; what is reached of the account needed is taken off."""
_ROUGH = 0.1
"""Certified relative gap of the designs of a forecast."""
_SEED = 20190621
"""Seed of the draws of a forecast, which makes it a pure function of the state."""

State = Knowledge | Combined | Claimed | Scattered | Shared | Sided
"""What it knows, of the best item, the best combination, or the claims of another answer."""


@dataclass(frozen=True)
class Sage(Algorithm[State]):
    """Rules out each item when bets that another is better have made 1/δ out of 1.

    Before each round, all that bets against "z' is the best" have made so far is put on the leader z, at odds that are
    fair if (z - z')'θ = 0. docs/sage.md proves that the best item is ever ruled out with probability at most δ,
    whatever the rounds. The design of a round is the oracle's at the current estimate.
    """

    growth: float = 1.1
    """Factor by which the total grows in a round."""
    tol: float = 0.03
    """Certified relative gap of the designs."""
    opening: float = 0.1
    """Share of each account that is bet on the first round, on all rivals alike; 0 for none, and for larger rounds."""
    boost: bool = True
    """Whether bets are boosted where noise is known to be normal: docs/boosting.md."""
    printed: bool = True
    """Whether half of that share is bet at the odds of printed intervals; the share is then 2/items at most."""
    shared: bool = True
    """Whether the top m are found by one account for each list, where there is no tolerance: docs/lists.md."""
    patient: bool = True
    """Whether small rounds are not bet on where it is unclear who is in front, and large ones are: docs/sage.md."""
    sides: bool = True
    """Whether items above a limit, or better than a control, have one account for each pattern: docs/sides.md."""
    lean: bool = False
    """For cheap rounds: one of each probe at first where items are few, and less growth near the end."""
    all_pairs: int | None = NEAR
    """Items up to which the first round is planned for all pairs; for more, for each and their mean. None for any."""
    scattered: bool = True
    """Whether tables of that many items are searched as items past memory are, so that counts are the same wherever
    items are (docs/how-it-grows.md), and bets on the latter are boosted where noise is normal."""
    gap: float | None = None
    """A difference that matters: half of each account is bet on leads of about that size; the proof is for any."""
    rounds: int | None = None
    """Rounds that should do: they are as large as the forecast says; more follow if it was too low. None for any."""
    max_batch: int | None = None
    """Measurements that can be made at once; a larger round is given out in batches."""
    min_batch: int | None = None
    """Measurements that a batch must have at least, as far as ``max_replicates`` and the stock allow."""
    max_replicates: int | None = None
    """Measurements of one probe in a batch at most."""

    name: ClassVar[str] = "sage"
    summary: ClassVar[str] = "Pools all rounds, designs for the current leader, rules items out by bets on it."
    reference: ClassVar[str] = "docs/sage.md"
    goals: ClassVar[tuple[type[Goal], ...]] = (Goal,)
    promises: ClassVar[tuple[Promise, ...]] = ("all", "share")
    learns_sigma: ClassVar[bool] = True
    allows_misfit: ClassVar[bool] = True
    minds_stock: ClassVar[bool] = True
    takes_any_rounds: ClassVar[bool] = True
    takes_weights: ClassVar[bool] = True
    bets_on_outcomes: ClassVar[bool] = True
    randomised: ClassVar[bool] = False
    takes_shards: ClassVar[bool] = True
    forecasts: ClassVar[bool] = True
    plans_rounds: ClassVar[bool] = True
    attains: ClassVar[bool] = True
    before: ClassVar[Mapping[str, Any]] = {
        "opening": 0.0,
        "boost": False,
        "printed": False,
        "shared": False,
        "patient": False,
        "sides": False,
        "all_pairs": None,
        "scattered": False,
    }

    def __post_init__(self) -> None:
        if not 1 < self.growth < math.inf:
            raise InvalidAlgorithm(f"growth must be above 1, got {self.growth!r}; 1.1 is usual.")
        if not 0 <= self.opening < 1:
            raise InvalidAlgorithm(f"opening must be at least 0 and below 1, got {self.opening!r}; 0.1 is usual.")
        if self.all_pairs is not None and not (type(self.all_pairs) is int and self.all_pairs >= 0):
            raise InvalidAlgorithm(f"all_pairs must be a whole number of items, or None, got {self.all_pairs!r}.")
        if self.gap is not None and not 0 < self.gap < math.inf:
            raise InvalidAlgorithm(f"gap must be positive and finite, or None, got {self.gap!r}; which matters to you?")
        if self.rounds is not None and not (type(self.rounds) is int and self.rounds >= 2):
            raise InvalidAlgorithm(
                f"rounds must be a whole number of at least 2, or None, got {self.rounds!r}: the first one only shows "
                "what the others must find out."
            )
        self.limits  # noqa: B018  raises if they do not fit together

    @cached_property
    def limits(self) -> Limits:
        """What a laboratory can measure at once."""
        return Limits(self.max_batch, self.min_batch, self.max_replicates)

    @property
    def _lean(self) -> bool:
        """Not where rounds are dear."""
        return self.lean and self.rounds is None

    @property
    def proven(self) -> bool:
        """True for all settings: docs/sage.md."""
        return True

    def init(self, problem: Problem, goal: Goal) -> State:
        """Nothing known, and 1 to bet against each item, or on each claim; a single item is the best at once."""
        return self._start(problem, goal, None)

    def memo(self, problem: Problem, goal: Goal) -> dict[str, Any] | None:
        """The design of the first round, from which the unit of all bets follows; None if nothing is bet."""
        prior = self.init(problem, goal).prior
        return kept(prior.weights) if prior.size else None

    def resume(self, problem: Problem, goal: Goal, memo: Memo) -> State:
        """The state of ``init`` with the unit of a design that was kept; bets are fair in any unit fixed beforehand."""
        state = self._start(problem, goal, memo)
        if not state.prior.size:
            raise InvalidAlgorithm("the answer is known without a measurement, so no design can have been kept for it.")
        return state

    def check_memo(self, problem: Problem, goal: Goal, memo: Memo) -> None:
        """Refuse a design that is not the best for all that may matter, up to the tolerance."""
        check_recalled(problem, self._first(problem, goal), memo, tol=self.tol)

    @few
    def _start(self, problem: Problem, goal: Goal, memo: Memo | None) -> State:
        state = self._unknowing(problem, goal, memo)
        if self.gap is None:
            return state
        if problem.outcome.learns or isinstance(state, Combined):
            law = f"outcomes of the law '{problem.outcome.name}'"
            what = law if problem.outcome.learns else "combinations of levels"
            raise InvalidAlgorithm(
                f"a gap that matters shapes bets on sums, and {what} are bet on otherwise; omit gap."
            )
        return replace(state, prior=replace(state.prior, gap=self.gap + goal.epsilon))

    def _unknowing(self, problem: Problem, goal: Goal, memo: Memo | None) -> State:
        if self._scatters(problem, goal):
            boost = self.boost and self.scattered
            return Scattered.start(problem, self.tol, memo, opening=self.opening > 0, boost=boost)
        if _combines(problem, goal):
            return Combined.start(problem, goal, self.tol, memo, opening=self.opening > 0)
        if kind := self._shares(goal):
            return kind.start(
                problem, goal, self.tol, memo,
                opening=self.opening, boost=self.boost, large=self.patient, lean=self._lean,
            )  # fmt: skip
        if not isinstance(goal, BestItem):
            return Claimed.start(problem, goal, self.tol, memo, opening=self.opening > 0, lean=self._lean)
        data, m = Measurements.empty(problem.n_probes), problem.n_items
        directions = None if m == 1 else self._first(problem, goal)
        prior = Prior.of(problem, directions, self.tol, memo, opening=self.opening > 0, lean=self._lean)
        alive, wealth, winner, peaks = np.arange(m), np.zeros(m), 0 if m == 1 else None, Peaks(np.zeros(m))
        opening = Opening.of(self.opening, m, printed=self.printed)
        return Knowledge(
            prior, problem.outcome, data, Pooled(), alive, wealth, winner, peaks,
            opening=opening, boost=self.boost, patient=self.patient and m > FEW,
        )  # fmt: skip

    @few
    def ask(self, problem: Problem, goal: Goal, state: State, rng: np.random.Generator) -> Counts:
        """A round by the design for what is least known, of a size that batches within the limits can make up."""
        problem = problem.knowing(state.law)
        room, replicates = np.maximum(problem.stock - state.data.count, 0), problem.outcome.replicates
        directions = self._directions(problem, goal, state)
        outlook = None if self.rounds is None else self._outlook(problem, goal, state)
        if outlook is None:
            size = self._size(state.data.n, state.prior, self._progress(problem, goal, state))
        else:
            size = self.limits.size(outlook.sizes[0])
        first = None if state.data.n else state.prior.weights
        counts = allocated(
            problem, directions, size, room, tol=self.tol, replicates=replicates, start=state.last, solved=first
        )
        counts = self.limits.filled(counts, room)
        if room.min() < math.inf:
            check_stock(problem, state.compared(problem, goal), counts, room)
        return counts

    def tell(self, problem: Problem, goal: Goal, state: State, measurements: Measurements) -> State:
        """Add the evidence of a round, whoever planned it, and rule items out."""
        return state.plus(problem, goal, [measurements])

    def tell_overlapping(self, problem: Problem, goal: Goal, state: State, rounds: Sequence[Measurements]) -> State:
        """Add the evidence of rounds that overlapped, and rule items out once all of it is there."""
        return state.plus(problem, goal, rounds)

    def pooled(self, state: State) -> Pooled | None:
        """The estimates on which it bets."""
        return state.pool

    def answer(self, problem: Problem, goal: Goal, state: State) -> Answer | None:
        """The last item left, or a leader that no item left beats by more than epsilon; else see ``Claimed``."""
        return state.answer

    def standing(self, problem: Problem, goal: Goal, state: State) -> Standing:
        """The items left, the leader, and how far its weakest bets are from ruling out, which grows like the total."""
        return state.standing(problem, goal)

    def left(self, problem: Problem, goal: Goal, state: State, items: Items) -> NDArray[np.bool_]:
        """Asked where they are, if they are not here."""
        if isinstance(state, Scattered):
            return state.left(items)
        return np.isin(items, self.standing(problem, goal, state).remaining)

    def confidence(self, problem: Problem, goal: Goal, state: State) -> float | None:
        """What the guess has attained: docs/confidence-attained.md; for other questions docs/sage.md, Theorem 2."""
        return state.confidence(problem, goal)

    @few
    def forecast(self, problem: Problem, goal: Goal, state: State) -> Forecast | None:
        """What is left, by playing the rounds to come; None before the first round, while the noise is unclear, for a
        share of a list and combinations of levels, and if a misfit leaves no end in sight."""
        if self.answer(problem, goal, state) is not None:
            return Forecast(0, 0, 0, 0.0, 0)
        outlook = self._outlook(problem.knowing(state.law), goal, state)
        if outlook is None or np.median(outlook.done) >= len(outlook.sizes):
            return None
        return expected(*outlook, self.limits.batches)

    def unforeseen(self, problem: Problem, goal: Goal, state: State | None = None) -> str:
        """Why there is no forecast: what cannot be played at all, or not yet; empty if there is one."""
        why = unplayed(problem, goal, state)
        if why or state is None or self.forecast(problem, goal, state) is not None:
            return no_forecast(why) if why else ""
        far = "the misfit that is allowed for may explain all that items differ by" if problem.misfit.any() else ""
        return no_forecast(far or "items may tie, and then there is no end in sight")

    def _outlook(self, problem: Problem, goal: Goal, state: State) -> Outlook | None:
        """The rounds to come, played for parameters that fit the data; None while nothing can be played."""
        if unplayed(problem, goal, state) or isinstance(state, Combined):
            return None
        sigma, rng = problem.outcome.guess(state.pool.pure_error), np.random.default_rng(_SEED)
        if isinstance(state, Scattered):
            problem, state = state.first(problem, RIVALS)
        if isinstance(state, Knowledge):
            games = race(problem, goal, state, rng, sigma)
        else:
            games = race_of_claims(problem, goal, state, rng, sigma)
        with remembering():  # draws that are much alike share a design
            asked = map(games.directions, range(PARAMETERS))
            weights = [plan(problem, own, tol=_ROUGH, start=state.last).weights for own in asked]
        whiteners = [unit_whitener(problem, own) for own in weights]
        if problem.misfit.any():
            games = games.less(problem, weights, whiteners)
        whitener = stacked(whiteners)
        return self._played(
            lambda sizes: games.rounds(whitener, sizes, sigma, rng),
            rounds_to_come(state.data.n, lambda n: self._size(n, state.prior)),
            state.data.n,
            len(state.pool.fits),
            float(np.mean(weights, axis=0) @ problem.cost),
        )

    def _played(
        self, play: Callable[[list[int]], Counts], sizes: list[int], measured: int, over: int, price: float
    ) -> Outlook:
        """The rounds that draws take; where there shall be few of them, in rounds as large as that asks for."""
        done = play(sizes)
        if self.rounds is not None:
            sizes = few_rounds(sizes, done, measured, self.rounds - over)
            done = play(sizes)
        return Outlook(done, sizes, price)

    def forecast_for_gap(self, problem: Problem, goal: Goal, gap: float) -> Forecast:
        """What it takes if the best item leads each other by ``gap``, all of them as hard to compare as the hardest."""
        if not 0 < gap + goal.epsilon < math.inf:
            raise InvalidGoal(f"a gap must be positive and finite, got {gap!r}; how much better is worth finding?")
        rivals = min(goal.rivals(problem), problem.coordinates.rank)  # more of them are not unrelated
        if rivals == 0:
            return Forecast(0, 0, 0, 0.0, 0)
        directions = self._first(problem, goal)
        weights, rho = plan(problem, directions, tol=self.tol)
        rho *= 4.0 if self._crowded(problem, goal) else 1.0  # a pair is at most twice as long
        prior = Prior.of(problem, directions, self.tol, opening=self.opening > 0, lean=self._lean)
        rng = np.random.default_rng(_SEED)
        sizes = rounds_to_come(0, lambda n: self._size(n, prior))
        own = isinstance(goal, BestItem) or _combines(problem, goal) or self._shares(goal) is not None
        account = enough(problem, goal) if own else needed(problem, goal)
        hardest = even_race(problem.outcome, gap + goal.epsilon, prior.counted / rho, account, rivals)
        hardest = replace(hardest, gap=None if self.gap is None else self.gap + goal.epsilon)
        whitener, price = math.sqrt(rho) * np.eye(rivals), float(problem.cost @ weights)
        found = self._played(lambda sizes: hardest.rounds(whitener, sizes, 1.0, rng), sizes, 0, 0, price)
        return expected(*found, self.limits.batches)

    def _first(self, problem: Problem, goal: Goal) -> Directions:
        """All that may matter; of too many items for all pairs of them, the way of each to their mean: docs/sage.md."""
        if self._scatters(problem, goal):
            return spokes(pieces_of(problem))
        return spokes(problem.items) if self._crowded(problem, goal) else goal.directions(problem)

    def _scatters(self, problem: Problem, goal: Goal) -> bool:
        """Whether items stay where they are, or are as many in memory and can be looked at in the same way."""
        if problem.shards is not None:
            return True
        many = self.scattered and problem.n_items > NEAR and self._crowded(problem, goal)
        return many and hindrance(problem, goal) is None and problem.coordinates.rank == problem.dimension

    def _crowded(self, problem: Problem, goal: Goal) -> bool:
        if problem.shards is not None:
            return True
        most = self.all_pairs
        return isinstance(goal, BestItem) and most is not None and problem.n_items > max(most, 1)

    def _shares(self, goal: Goal) -> type[Shared] | type[Sided] | None:
        """What is known where there is an account for each list; None where there is one for each claim."""
        if goal.epsilon > 0 or goal.promise != "all":
            return None
        if self.sides and goal.separate:
            return Sided
        return Shared if self.shared and isinstance(goal, TopM) else None

    def _progress(self, problem: Problem, goal: Goal, state: State) -> float:
        """How far the weakest account has come, as far as that is looked at."""
        return 0.0 if not self._lean or isinstance(state, Combined) else state.progress(problem, goal)

    def _size(self, measured: int, prior: Prior, progress: float = 0.7) -> int:
        """Measurements of a round that begins after ``measured`` of them."""
        least = prior.least if measured else prior.size
        pace = _PACE - min(progress, 0.9) if self._lean else 1.0
        return self.limits.size(max(math.ceil(pace * (self.growth - 1.0) * measured), least))

    def _directions(self, problem: Problem, goal: Goal, state: State) -> Directions:
        """All that may matter; then the oracle's criterion: the leader against each rival, in units of its lead."""
        if isinstance(state, Knowledge) and not state.collected:
            return self._first(problem, goal)
        return state.directions(problem, goal, _FLOOR)


def _combines(problem: Problem, goal: Goal) -> bool:
    """Whether there is an account for each combination; with a tolerance, there is one for each claim."""
    return isinstance(goal, BestCombination) and bool(problem.blocks) and goal.epsilon == 0
