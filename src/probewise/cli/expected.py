"""What `probewise new` says of a campaign before its first measurement: the question, and what it may take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import probewise as pw
from probewise.cli import output
from probewise.cli.roles import print_roles
from probewise.numerals import plural
from probewise.quantity import Quantity

if TYPE_CHECKING:
    from probewise.campaign import Campaign
    from probewise.campaign.findings.attaining import Attained


def round_choices(choice: tuple[float, dict[int, pw.Forecast]] | None) -> list[dict[str, Any]]:
    """What ``print_choices`` says, for machines."""
    if choice is None:
        return []
    gap, few = choice
    return [{"gap": gap, "rounds": rounds} | {"measurements": row.measurements} for rounds, row in few.items()]


def print_choices(
    gap: float, few: dict[int, pw.Forecast], expected: dict[float, pw.Forecast], quantity: Quantity
) -> None:
    """What fewer rounds take, beside as many as it takes."""
    many = expected[gap]
    rows = [
        [f"{rounds}", output.number(row.measurements)] for rounds, row in few.items() if rounds < (many.rounds or 0)
    ]
    if rows:
        output.say(f"Fewer rounds (--rounds) take more measurements; at a gap of {quantity.difference(f'{gap:g}')}:")
        output.table(["rounds", "measurements"], [*rows, [f"{many.rounds}", output.number(many.measurements)]])


def print_confidences(budget: int, sure: dict[float, Attained | str], quantity: Quantity) -> None:
    """What the confidence in the best guess may be once a budget is spent."""
    from probewise.campaign.findings.attaining import PLAYED

    rows = [
        [quantity.difference(f"{gap:g}"), f"{own.mean:.0%}", f"{own.least:.0%} to {own.most:.0%}", f"{own.right}"]
        for gap, own in sure.items()
        if not isinstance(own, str)
    ]
    for why in dict.fromkeys(own for own in sure.values() if isinstance(own, str)):
        output.say(f"There is no forecast of the confidence after {plural(budget, 'measurement')}: {why}.")
    if not rows:
        return
    output.say(
        f"Confidence in the best guess after {plural(budget, 'measurement')} if the best item leads by a gap; "
        f"{PLAYED} searches were played for each, on parameters drawn at random (heuristic):"
    )
    output.table(["gap", "confidence", "least to most", "right guesses"], rows)


def as_data(campaign: Campaign, expected: dict[float, pw.Forecast], odd: list[str]) -> dict[str, Any]:
    """The campaign as it begins, for machines."""
    problem = campaign.problem
    return {
        "probes": problem.n_probes,
        "items": problem.n_items,
        "features": list(problem.feature_names),
        "delta": campaign.goal.delta,
        "epsilon": campaign.goal.epsilon,
        "goal": campaign.goal.name,
        "minimise": campaign.goal.minimise,
        "promise": campaign.goal.promise,
        "outcome": problem.outcome.name,
        "outcome_name": campaign.ledger.charter.quantity.name,
        "unit": campaign.ledger.charter.quantity.unit,
        "sigma_known": problem.outcome.known,
        "algorithm": campaign.algorithm.name,
        "seed": campaign.ledger.charter.seed,
        "amendments": campaign.ledger.charter.amendments,
        "forecasts": [{"gap": gap} | vars(row) for gap, row in expected.items()],
        "remarks": odd,
    }


def print_report(
    problem: pw.Problem,
    goal: pw.Goal,
    quantity: Quantity,
    algorithm: pw.Algorithm[Any],
    expected: dict[float, pw.Forecast],
    odd: list[str],
) -> None:
    """The campaign as it begins: what is compared, what is asked, and what that may take."""
    from probewise.campaign.findings.words import Words

    many = f"{plural(problem.n_combinations, 'combination')} of {problem.n_items:,} levels"
    compared = f"{many if problem.blocks else plural(problem.n_items, 'item')} by {problem.n_probes:,} probes"
    output.title(f"{compared}{goal.assurance(goal.delta)}")
    print_roles(problem)
    facts = [("question", "", Words(goal, quantity).question)]
    if (ends := problem.outcome.ends) is not None:
        facts.append(("outcomes", "", quantity.difference(f"{ends[0]:g} to {ends[1]:g}")))
    elif not problem.outcome.by_sums:
        facts.append(("outcomes", "", problem.outcome.summary.removesuffix(".")))
    elif problem.outcome.known:
        low, high = problem.sigma.min(), problem.sigma.max()
        noise = output.number(low) + ("" if low == high else f" to {output.number(high)}")
        facts.append(("noise", "", quantity.difference(noise)))
    facts.append(("method", "", algorithm.name + ("" if algorithm.proven else ", whose error rate is not proven")))
    output.facts(facts)
    two = "two levels of a factor" if problem.blocks else "two items"
    output.say(f"Every comparison of {two} can be made with these probes.")
    if problem.blocks:
        output.say("The value of a level is that of the combination with the first level of every other factor.")
    for remark in odd:
        output.say(remark, style="yellow")
    if expected:
        _forecast(problem, goal, quantity, expected)


def _forecast(problem: pw.Problem, goal: pw.Goal, quantity: Quantity, expected: dict[float, pw.Forecast]) -> None:
    known = problem.outcome.known
    unit = f" in {quantity.heading}" * bool(quantity) if known else " in units of the noise"
    output.say(
        f"What it may take if items differ by a gap{unit} wherever it matters, and all comparisons are as hard as the "
        "hardest:"
    )
    costly = bool((problem.cost != 1.0).any())
    rough = any(row.low is None for row in expected.values())
    header = ["gap", "measurements"] + ["80 % interval", "rounds"] * (not rough) + ["cost"] * costly
    rows = []
    for gap, row in expected.items():
        cells = [f"{gap:g}", output.number(row.measurements)]
        if row.low is not None and row.high is not None:
            cells += [f"{output.number(row.low)} to {output.number(row.high)}", str(row.rounds)]
        rows.append(cells + [output.number(round(row.cost))] * costly)
    output.table(header, rows)
    if rough:
        output.say("These numbers are rough: 2·log(1/δ) times the variance of a comparison, over the gap squared.")
    if goal.epsilon > 0:
        output.say(
            f"A difference of {quantity.difference(f'{goal.epsilon:g}')} does not matter, so that ties are decided too."
        )
