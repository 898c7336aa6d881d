"""Reports: a campaign as one file of HTML that needs nothing else, on the screen and on paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from probewise.campaign.chronicle import journal, replaying
from probewise.campaign.evidence import adequacy, assumptions, evidence
from probewise.campaign.page import Html, joined, page, tag
from probewise.campaign.sections import decision, headline, ranking
from probewise.campaign.storage import VERSION
from probewise.campaign.view import View, view
from probewise.errors import InvalidCampaign
from probewise.files import new_file

if TYPE_CHECKING:
    from probewise.campaign.campaign import Campaign

PARTS = {
    "ranking": "Ranking",
    "evidence": "Evidence",
    "model": "Check of the model",
    "assumptions": "Assumptions",
    "journal": "Journal",
    "replay": "Replay",
}


def write(campaign: Campaign, path: str | Path) -> None:
    """Write the report of a campaign as it is now; the same records give the same file."""
    try:
        text = report(campaign)
        with new_file(path) as file:
            file.write(text)
    except OSError as error:
        raise InvalidCampaign(
            f"the report cannot be written to {path} ({error.strerror}); choose another name."
        ) from None


def report(campaign: Campaign) -> str:
    """The report of a campaign as it is now."""
    name = campaign._store.name
    now = view(campaign, name if "://" in name else Path(name).name)  # folders of a computer concern nobody else
    return page(headline(now), body(now))


def body(now: View) -> Html:
    """From the decision down to the records."""
    links = (tag("a", title, href=f"#{part}") for part, title in PARTS.items())
    time = now.ledger.last.time[:16].replace("T", " ")
    parts = [
        tag("header", decision(now), tag("nav", *links)),
        ranking(now),
        evidence(now),
        adequacy(now),
        assumptions(now),
        journal(now),
        replaying(now),
        tag("footer", f"{now.name} as of {time} UTC · probewise {VERSION}"),
    ]
    return joined(parts)
