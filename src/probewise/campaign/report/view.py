"""Views: all that a report shows of a campaign, computed once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from probewise.adequacy import Adequacy
from probewise.campaign.findings.appraisal import Appraisal
from probewise.campaign.findings.numbers import Numbers
from probewise.campaign.findings.status import Status
from probewise.campaign.findings.words import Words
from probewise.campaign.journal.records import Record
from probewise.campaign.state.charter import Charter
from probewise.campaign.state.ledger import Ledger
from probewise.campaign.state.replay import Trail
from probewise.campaign.state.sheet import OPEN, RECORDED, VOIDED


@dataclass(frozen=True, eq=False)
class View:
    """A campaign at one moment."""

    name: str
    """Name of its file or database."""
    ledger: Ledger
    trail: Trail
    status: Status
    records: tuple[Record, ...]
    appraisal: Appraisal

    @property
    def numbers(self) -> Numbers:
        """An estimate and an interval for every item."""
        return self.appraisal.numbers

    @property
    def adequacy(self) -> Adequacy:
        """Whether the data agree with the assumptions."""
        return self.appraisal.adequacy

    @property
    def words(self) -> Words:
        """The question, and what outcomes are called, in words."""
        return Words(self.charter.goal, self.charter.quantity)

    @property
    def charter(self) -> Charter:
        """What the campaign is about."""
        return self.ledger.charter

    @property
    def labels(self) -> list[int]:
        """Numbers of the rounds that the algorithm was told."""
        return [sheet.number for sheet in self.trail.sheets]

    @property
    def declared(self) -> bool:
        """Whether an answer is declared and the records still lead to it."""
        return self.trail.answer is not None and self.ledger.declared == self.trail.answer

    @property
    def certified(self) -> bool:
        """Whether that may be believed: a proven algorithm, and data that do not contradict the assumptions."""
        return self.declared and self.adequacy.certifies and self.proven and not self.contradicted

    @property
    def contradicted(self) -> bool:
        """Whether measurements that were made to confirm the answer contradict it."""
        return any(own.contradicts for own in self.status.confirmations)

    @property
    def proven(self) -> bool:
        """Whether the error rate is proven, also for rounds that were changed after they had been looked at."""
        algorithm = self.charter.algorithm
        return algorithm.proven and (algorithm.takes_any_rounds or not self.ledger.amended)

    @property
    def costly(self) -> bool:
        """Whether anything was said about costs."""
        return bool((self.charter.problem.cost != 1.0).any())

    def rows(self) -> dict[str, int]:
        """How many rows were asked for, and what became of them."""
        sheets = self.ledger.sheets
        states = np.concatenate([np.zeros(0, np.int8), *(sheet.states for sheet in sheets)])
        missing = sum(int((sheet.states == OPEN).sum()) for sheet in sheets if sheet.closed is not None)
        return {
            "planned": sum(sheet.size for sheet in sheets if sheet.planned),
            "unplanned": sum(sheet.size for sheet in sheets if not sheet.planned),
            "recorded": int((states == RECORDED).sum()),
            "voided": int((states == VOIDED).sum()),
            "corrected": sum(record.kind == "corrected" for record in self.records),
            "missing": missing,
            "waiting": int((states == OPEN).sum()) - missing,
        }


def name_of(place: str) -> str:
    """Of a campaign that is kept in a place; the folders of a computer concern nobody else."""
    return place if "://" in place else Path(place).name
