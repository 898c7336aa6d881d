"""Reports: a campaign as one file of HTML that needs nothing else, on the screen and on paper."""

from __future__ import annotations

from pathlib import Path

from probewise.campaign.journal.storage import own_version
from probewise.campaign.report.chronicle import journal, replaying
from probewise.campaign.report.evidence import adequacy, assumptions, evidence
from probewise.campaign.report.matters import matters
from probewise.campaign.report.page import page
from probewise.campaign.report.sections import decision, guesses, headline, ranking
from probewise.campaign.report.view import View
from probewise.errors import InvalidCampaign
from probewise.files import new_file
from probewise.markup import Html, joined, tag

PARTS = {
    "guess": "Best guess",
    "ranking": "Ranking",
    "matters": "What matters",
    "evidence": "Evidence",
    "model": "Check of the model",
    "assumptions": "Assumptions",
    "journal": "Journal",
    "replay": "Replay",
}


def write(now: View, path: str | Path) -> None:
    """Write the report of a campaign; the same records give the same file."""
    text = report(now)
    try:
        with new_file(path) as file:
            file.write(text)
    except OSError as error:
        raise InvalidCampaign(
            f"the report cannot be written to {path} ({error.strerror}); choose another name."
        ) from None


def report(now: View) -> str:
    """The report of a campaign."""
    return page(headline(now), body(now))


def body(now: View) -> Html:
    """All sections, from the decision down to the records."""
    effects, guess = matters(now), guesses(now)
    absent = {"matters": effects is None, "guess": guess is None}
    there = {part: title for part, title in PARTS.items() if not absent.get(part, False)}
    links = (tag("a", title, href=f"#{part}") for part, title in there.items())
    time = now.ledger.last.time[:16].replace("T", " ")
    parts = [
        tag("header", decision(now), tag("nav", *links)),
        *([] if guess is None else [guess]),
        ranking(now),
        *([] if effects is None else [effects]),
        evidence(now),
        adequacy(now),
        assumptions(now),
        journal(now),
        replaying(now),
        tag("footer", f"{now.name} as of {time} UTC · probewise {own_version()}"),
    ]
    return joined(parts)
