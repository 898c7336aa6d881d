"""Verification: the whole chain of a journal, and whether it still holds what a digest that was kept stands for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from probewise.campaign.campaign import Campaign
from probewise.campaign.journal.storage import Storage
from probewise.errors import InvalidAlgorithm, InvalidCampaign
from probewise.numerals import listed, plural

_SHORTEST = 10
"""Letters of a digest that a report prints at least."""


@dataclass(frozen=True)
class Verification:
    """What is known of a journal whose digests all fit."""

    records: int
    """Number of records."""
    digest: str
    """The digest of the last record, which covers all of them; keep it elsewhere."""
    item: str | None
    """The item that the records lead to, told to the algorithm once more from the first to the last."""
    kept: str | None = None
    """The digest that was kept, if one was given."""
    at: int | None = None
    """The record whose digest that is; None if it is of none."""

    @property
    def sound(self) -> bool:
        """Whether no digest was given, or all records that it stands for are there."""
        return self.kept is None or self.at is not None

    @property
    def sentence(self) -> str:
        """The finding in one sentence."""
        number = plural(self.records, "record")
        if self.kept is None:
            return (
                f"{number}, and every digest fits. Whether some are missing at the end, a digest kept elsewhere tells."
            )
        if self.at is None:
            return (
                f"{number}, and every digest fits, but none is {self.kept[:16]}…: records for which it stands are "
                "missing or were changed, or it is of another campaign; take the last back-up."
            )
        after = self.records - self.at
        if after == 0:
            return f"{number}, and every digest fits. The last one is that which was kept: nothing is missing."
        came = f"the {after:,} after it came later" if after > 1 else "the one after it came later"
        return (
            f"{number}, and every digest fits. That which was kept is of record {self.at:,}: up to there nothing is "
            f"missing or changed, and {came}."
        )


def verify(path: str | Path | Storage, digest: str | None = None) -> Verification:
    """Read a journal, check every digest, replay it, and look for a digest (or its first letters) that was kept.

    What the algorithm kept from the start must follow from the problem: nobody else solves for it again.
    """
    kept = None if digest is None else _letters(digest)
    campaign = Campaign.open(path)
    records, answer = campaign.records, campaign.trail.answer
    try:
        campaign.ledger.charter.check_memo()
    except InvalidAlgorithm as error:
        raise records[0].fault(str(error).rstrip(".")) from None
    item = None if answer is None else listed([campaign.problem.item_names[i] for i in answer]) or "no item"
    at = None if kept is None else next((r.seq for r in records if r.digest.startswith(kept)), None)
    return Verification(len(records), records[-1].digest, item, kept, at)


def _letters(digest: str) -> str:
    found = "".join(digest.split()).casefold()
    if not re.fullmatch(rf"[0-9a-f]{{{_SHORTEST},64}}", found):
        raise InvalidCampaign(
            f"a digest is 64 of the letters 0 to 9 and a to f, or its first {_SHORTEST} at least, got '{digest:.80}'; "
            "copy it from a report or from probewise verify."
        )
    return found
