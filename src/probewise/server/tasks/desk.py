"""The desk of a worker: the campaigns that it has open, and plain JSON of what they say."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from probewise.campaign import Campaign
from probewise.errors import InvalidCampaign

T = TypeVar("T")
OPEN = 8
"""Campaigns that stay open in one process."""


class Desk:
    """Campaigns by their place, the last ones used; each reads what others have written whenever it is used."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Campaign] = OrderedDict()

    def campaign(self, place: str, author: str | None = None) -> Campaign:
        """The campaign of a place, whose next records are of that author."""
        if place not in self._open:
            self._open[place] = Campaign.open(place)
        self._open.move_to_end(place)
        while len(self._open) > OPEN:
            self._open.popitem(last=False)
        found = self._open[place]
        if author is not None:
            found.author = author
        return found

    def using(self, place: str, work: Callable[[Campaign], T], author: str | None = None) -> T:
        """What some work on a campaign gives; one that was replaced on the disk is opened anew."""
        known = place in self._open
        try:
            return work(self.campaign(place, author))
        except InvalidCampaign:
            self._open.pop(place, None)
            if not known:
                raise
            return work(self.campaign(place, author))
        except BaseException:
            self._open.pop(place, None)  # whatever it holds in memory, the journal is right
            raise


def plain_object(value: dict[str, Any]) -> dict[str, Any]:
    """An object as JSON has it."""
    return {str(key): plain(entry) for key, entry in value.items()}


def plain(value: Any) -> Any:
    """As JSON has it: infinite numbers and NaN are null."""
    if isinstance(value, dict):
        return plain_object(value)
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return value.item() if type(value).__module__ == "numpy" else str(value)
