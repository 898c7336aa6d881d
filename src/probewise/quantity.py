"""Quantities: what outcomes are called, and the unit that they are in."""

from __future__ import annotations

from dataclasses import dataclass

from probewise.cells import visible
from probewise.errors import InvalidCampaign

TAKEN = frozenset({"measurement", "round", "probe", "replicate", "state"})
"""Columns that sheets and exports have besides."""
_LONG = 40


@dataclass(frozen=True)
class Quantity:
    """What is measured; without a name, it is called the outcome."""

    name: str = ""
    """Such as yield."""
    unit: str = ""
    """Such as %, mg/l or °C."""

    def __post_init__(self) -> None:
        for what, text in (("the name", self.name), ("the unit", self.unit)):
            if not isinstance(text, str) or text != text.strip() or visible(text) != text or len(text) > _LONG:
                raise InvalidCampaign(
                    f"{what} of outcomes must be one line of at most {_LONG} letters without blanks around it, "
                    f"got {text!a:.60}."
                )
        if {self.name.casefold(), self.heading.casefold()} & TAKEN:
            raise InvalidCampaign(
                f"outcomes cannot be called '{self.name}', as a column of every sheet is; add a word."
            )

    def __bool__(self) -> bool:
        return bool(self.name or self.unit)

    @property
    def noun(self) -> str:
        """What one is called."""
        return self.name or "outcome"

    @property
    def heading(self) -> str:
        """Of a column or an axis: yield (%)."""
        return self.noun + (f" ({self.unit})" if self.unit else "")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names under which a table may have outcomes."""
        return tuple(dict.fromkeys((self.heading, self.noun, "outcome")))

    def amount(self, text: str) -> str:
        """A value with its unit."""
        return f"{text} {self.unit}" if self.unit else text

    def difference(self, text: str) -> str:
        """A difference of two values with its unit; 1 % more than 50 % could be two numbers."""
        return f"{text} point{'' if text == '1' else 's'}" if self.unit == "%" else self.amount(text)

    def difference_heading(self, text: str) -> str:
        """Of a column or an axis of differences, with their unit."""
        return f"{text} ({self.difference('').strip()})" if self.unit else text

    def about(self, words: str, *, units: bool = False) -> str:
        """Words such as "the best" with the name, as in "the best in yield", and with the unit of a number in them."""
        return f"{words} in {self.heading if units else self.noun}" if self.name or (units and self.unit) else words


OUTCOME = Quantity()
"""What has neither a name nor a unit."""
