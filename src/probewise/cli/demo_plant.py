"""The first part of the demo: from two plain tables to the best condition, its report, and a picture of the search."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import probewise as pw
from probewise.cli import output
from probewise.cli.roles import print_roles

if TYPE_CHECKING:
    from probewise.campaign import Campaign, Status
    from probewise.campaign.findings.numbers import Numbers

SEED = 2
STORY = (
    "With which ligand, in which solvent and at which temperature should the plant run a coupling? The laboratory can "
    "try 48 combinations in sealed vials (probes.csv). The plant takes no DMF and stays below the boiling point of the "
    "solvent: it can use 24 combinations (items.csv). Repeated runs scatter by 3 points of yield."
)


def shown(out: Path, *, drawn: bool, quiet: bool) -> dict[str, Any]:
    """Search, write and print, the last unless ``quiet``; what --json says."""
    from probewise.campaign import backup
    from probewise.data import copy_example
    from probewise.data.example import SIGMA

    items, probes = copy_example(out)
    problem = pw.Problem.from_tables(probes, items, sigma=SIGMA)
    if not quiet:
        output.title("The best condition for a plant, from two plain tables")
        output.say(STORY)
        print_roles(problem)
    with TemporaryDirectory() as folder:
        campaign_path = Path(folder) / "yield.campaign"
        campaign = pw.Campaign.create(campaign_path, problem, seed=SEED, author="demo", outcome_name="yield", unit="%")
        with output.working("Measuring", quiet=quiet):
            seen = _measured(campaign, Path(folder) / "ask.csv")
        report, kept = out / "report.html", out / "yield.campaign"
        campaign.report(report)
        kept.unlink(missing_ok=True)  # of an earlier demo
        backup(campaign_path, kept)
        counts = campaign.ledger.measured.count.tolist()
    pictures = [out / "search.png", out / "search.svg"] if drawn else []
    if drawn:
        _draw(seen[0][1], seen[-1][1], dict(zip(problem.probe_names, counts, strict=True)), *pictures)
    last, _ = seen[-1]
    if not quiet:
        header = ("round", "runs so far", "still possible", "in front")
        rows = [(str(now.rounds), str(now.measurements), str(len(now.remaining)), str(now.leader)) for now, _ in seen]
        output.table(header, rows)
        output.say(last.sentence)
        output.table(("what matters", "points of yield", "interval"), _effects(last))
    found = {"item": last.item, "measurements": last.measurements, "rounds": last.rounds, "sentence": last.sentence}
    return found | {"tables": [items, probes], "report": report, "pictures": pictures, "campaign": kept}


def _effects(last: Status) -> list[tuple[str, str, str]]:
    """What each level, and each number over its range, does to the yield, the strongest column first."""
    from probewise.campaign.findings.effects import grouped

    rows = []
    for effect in (own for group in grouped(last.effects) for own in group):
        known = effect.estimate is not None and effect.low is not None and effect.high is not None
        value = f"{effect.estimate:+.1f}" if effect.estimate is not None else "unknown"
        rows.append(
            (f"{effect.column}: {effect.what}", value, f"{effect.low:+.1f} to {effect.high:+.1f}" if known else "none")
        )
    return rows


def _measured(campaign: Campaign, sheet: Path) -> list[tuple[Status, Numbers]]:
    """What is known after each round: ask, let the laboratory fill in the sheet, tell, until an item is declared."""
    from probewise.campaign.findings.appraisal import appraised
    from probewise.data import fill_outcomes

    seen = []
    while rows := campaign.ask():
        rows.to_csv(sheet)
        fill_outcomes(sheet, sheet)
        campaign.tell(sheet)
        seen.append((campaign.status(), appraised(campaign.ledger, campaign.trail).numbers))
    return seen


def _draw(first: Numbers, last: Numbers, counts: dict[str, int], *pictures: Path) -> None:
    """The search as a picture; probes in a grid, solvents and temperatures by ligands."""
    from probewise import figures
    from probewise.data.example import true_yields

    runs = {}
    for name, count in counts.items():
        ligand, condition = name.split(", ", 1)
        runs[f"{condition} °C", ligand] = count
    truth = true_yields("items.csv")
    figures.save(figures.draw_search(first, last, truth, runs, name="points of yield"), *pictures)
