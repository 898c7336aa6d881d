"""The guarantee under the life of a laboratory: results late, in pieces, wrong and corrected, spilled and voided.

Each simulated campaign goes on until an item is declared and nothing is pending: all late rows are in and all typing
errors are corrected; or until it has had 12 rounds. Counted are wrong items at that moment, and also wrong items among
those declared first, at whatever moment that was: with errors still in the data, no method can promise anything about
these. In the easy case many campaigns end with an item. In the hard one two items nearly tie, so that most end
without, and what is declared is nearly as often wrong as right: there the guarantee is put to the test.

    python benchmarks/campaign_guarantee.py --campaigns 2000
"""

from __future__ import annotations

import argparse
import itertools
import time
from dataclasses import dataclass

import numpy as np

import probewise as pw
from probewise.campaign import Campaign, Memory
from probewise.coordinates import Array
from probewise.design import remembering
from probewise.simulation.table import Rate, exact_rate

PROBLEM = pw.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0], [0.7, 0.5]])
CASES = {"easy": np.array([1.2, 0.0]), "hard": np.array([0.02, 0.0])}
"""θ; items A, B and C are worth θ₁, θ₂ and 0.7·θ₁ + 0.5·θ₂."""
ROUNDS = 12
LATE, WRONG, SPILLED, CLOSED, OWN = 0.15, 0.05, 0.08, 0.5, 0.1
"""Chances of a row to be late, mistyped or spilled, of a round to be closed early, and of rows of one's own choice."""


@dataclass
class Laboratory:
    """Measures what it is asked, after its fashion; nothing it does depends on an outcome."""

    campaign: Campaign
    theta: Array
    rng: np.random.Generator

    def __post_init__(self) -> None:
        self.late: dict[str, float] = {}
        self.wrong: dict[str, float] = {}
        self.first: str | None = None

    def measure(self, probe: str) -> float:
        row = PROBLEM.probe_names.index(probe)
        return float(PROBLEM.probes[row] @ self.theta + self.rng.standard_normal())

    def round(self) -> None:
        """One round, in pieces."""
        now, spilled = {}, []
        for row in self.campaign.ask():
            own, truth = row["measurement"], self.measure(row["probe"])
            fate = self.rng.random()
            if fate < SPILLED:
                spilled.append(own)
            elif fate < SPILLED + LATE:
                self.late[own] = truth
            elif fate < SPILLED + LATE + WRONG:
                now[own], self.wrong[own] = truth + 10.0 * self.rng.standard_normal(), truth
            else:
                now[own] = truth
        if spilled:
            self.campaign.void(spilled, reason="spilled")
        rows = self.rng.permutation(list(now)).tolist()
        for piece in np.array_split(rows, 2):
            self.campaign.tell({own: now[own] for own in piece.tolist()})
            self.look()
        if self.campaign.ledger.waiting is not None and self.rng.random() < CLOSED:
            self.campaign.close(reason="the week is over")
            self.look()
        if self.rng.random() < OWN:
            probes = self.rng.choice(PROBLEM.probe_names, size=2).tolist()
            rows_ = [{"probe": probe, "outcome": self.measure(probe)} for probe in probes]
            self.campaign.tell(rows_, off_plan=True)
            self.look()

    def catch_up(self, share: float) -> None:
        """Late rows come in and errors are found, a share of them at random."""
        self.campaign.tell({own: self.late.pop(own) for own in list(self.late) if self.rng.random() < share})
        for own in [own for own in self.wrong if self.rng.random() < share]:
            self.campaign.correct(own, self.wrong.pop(own), reason="typing error")
        self.look()

    def look(self) -> None:
        declared = self.campaign.ledger.declared
        if self.first is None and declared is not None:
            self.first = PROBLEM.item_names[declared[0]]

    def run(self) -> str | None:
        """The item that is declared when nothing is pending any more, or None after too many rounds."""
        rounds = 0
        while True:
            while self.campaign.ledger.declared is None:
                if (rounds := rounds + 1) > ROUNDS:
                    return None
                self.round()
                self.catch_up(0.5)
                if self.campaign.ledger.waiting is not None:
                    self.catch_up(1.0)
            self.catch_up(1.0)
            if (declared := self.campaign.ledger.declared) is not None:
                return PROBLEM.item_names[declared[0]]


def rates(theta: Array, delta: float, campaigns: int, seed: int = 0) -> tuple[Rate, Rate, int]:
    """Error rates of the item that stands in the end and of the one declared first, and campaigns without an item."""
    best = PROBLEM.item_names[int(np.argmax(PROBLEM.items @ theta))]
    wrong = first = undecided = 0
    for number in range(campaigns):
        rng = np.random.default_rng([seed, number])
        batch = [None, 3, 7, 16][number % 4]
        algorithm = pw.Sage(growth=float(rng.uniform(1.2, 1.5)), max_batch=batch)
        campaign = Campaign.create(Memory(), PROBLEM, pw.BestItem(delta), algorithm, seed=number)
        laboratory = Laboratory(campaign, theta, rng)
        item = laboratory.run()
        undecided += item is None
        wrong += item not in (None, best)
        first += laboratory.first not in (None, best)
    return exact_rate(wrong, campaigns), exact_rate(first, campaigns), undecided


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", choices=[*CASES])
    options = parser.parse_args()
    chosen = {options.case: CASES[options.case]} if options.case else CASES
    for (case, theta), delta in itertools.product(chosen.items(), (0.3, 0.05)):
        start = time.perf_counter()
        with remembering(keep=True):
            final, first, undecided = rates(theta, delta, options.campaigns, options.seed)
        print(
            f"{case}, δ = {delta}: {final.errors} of {final.runs} campaigns wrong, rate {final.value:.4f}, 99 % "
            f"interval [{final.low:.4f}, {final.high:.4f}]; first declared wrong: {first.errors}; "
            f"{undecided} without an item; {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        if final.high > delta:
            raise SystemExit(f"the error rate is not shown to be at most {delta}")


if __name__ == "__main__":
    main()
