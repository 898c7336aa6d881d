"""Sections of a report that say why: the evidence, the check of the model and the assumptions."""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from probewise.adequacy import ALARM, Check
from probewise.campaign.findings.numbers import lead_by_round
from probewise.campaign.report import pictures
from probewise.campaign.report.page import number
from probewise.campaign.report.view import View
from probewise.estimate import least_squares
from probewise.markup import Content, Html, badge, paragraphs, section, sideways, table, tag
from probewise.measurements import Measurements
from probewise.numerals import percent, plural
from probewise.pooling import spread

PROBES = 15
"""Largest number of probes shown."""
SOURCES = {"noise": "within rounds", "drift": "between rounds", "fit": "lack of fit"}


def evidence(view: View) -> Html:
    """How the campaign got here."""
    total, panels = np.cumsum([round.n for round in view.appraisal.batches]).tolist(), []
    problem, now = view.charter.problem, view.numbers
    labels = list(accumulate(view.labels, max))  # a round of the laboratory's own may have waited for a later one
    if now.leader is not None and now.rival is not None and view.charter.goal.ranks:
        pair = (now.leader, now.rival)
        rounds = view.appraisal.rounds
        values, widths = lead_by_round(problem, view.trail.goal, rounds.pool, (now.whose[pair[0]], now.whose[pair[1]]))
        ends = [labels[rounds.batch(round_)] for round_ in range(len(values))]
        more, less = reversed(pair) if view.charter.goal.minimise else pair
        unit = view.charter.quantity.difference_heading("")
        text = f"{now.items[more].name} less {now.items[less].name}{unit}: estimate and interval by round."
        panels.append(_panel("Lead over the closest rival", pictures.funnel(ends, values, widths, text), text))
    left = [float(count) for count in view.appraisal.left]
    alt = f"Items that may be {view.words.predicate}, by round"
    panels.append(_panel("Items left", pictures.stairs(labels, left, problem.n_items, alt), "Not ruled out, by round."))
    alt = "Measurements in all, by round"
    panels.append(_panel("Measurements", pictures.stairs(labels, total, 0.0, alt), "In all, by round."))
    return section(
        "Evidence",
        paragraphs(_rows_sentence(view)),
        tag("div", *panels, class_="panels") if view.appraisal.batches else None,
        *_probes(view),
        id_="evidence",
    )


def _panel(title: str, picture: Html, caption: str) -> Html:
    return tag("figure", tag("h3", title), picture, tag("figcaption", caption))


def _rows_sentence(view: View) -> str:
    rows = view.rows()
    parts = [f"{plural(rows['planned'], 'row')} planned"]
    parts += [f"{rows['unplanned']:,} chosen by the laboratory"] * bool(rows["unplanned"])
    parts += [f"{rows['recorded']:,} recorded"]
    parts += [f"{rows[kind]:,} {kind}" for kind in ("corrected", "voided", "missing", "waiting") if rows[kind]]
    return f"Of the rows of {plural(len(view.ledger.sheets), 'round')}: {', '.join(parts)}."


def _probes(view: View) -> list[Content]:
    data, names = view.ledger.measured, view.charter.problem.probe_names
    order = np.argsort(-data.count, kind="stable")[: int(np.count_nonzero(data.count))]
    if not order.size:
        return []
    sheets = [sheet.measurements(data.n_probes).count for sheet in view.ledger.sheets]
    often = np.sum([count > 0 for count in sheets], axis=0)
    counts = [(i, int(data.count[i]), int(often[i])) for i in order[:PROBES].tolist()]
    rows = [(names[i], float(n), f"{plural(n, 'replicate')} in {plural(k, 'round')}") for i, n, k in counts]
    few = int(np.searchsorted(np.cumsum(data.count[order]), 0.8 * data.n)) + 1
    others, left = order.size - PROBES, int(data.count[order[PROBES:]].sum())
    rest = f" {plural(others, 'probe')} that are not shown have {left:,}." if others > 0 else ""
    text = (
        "Repeats are deliberate: the noise of probes that tell the leader from its rivals must be averaged out, and "
        f"probes that do not help are not measured. {plural(few, 'probe')} of {len(names):,} took 80 % of the "
        f"measurements.{rest}"
    )
    picture = pictures.counts(rows, "Measurements by probe")
    return [tag("h3", "What was measured"), paragraphs(text), tag("figure", sideways(picture, "pic"))]


def adequacy(view: View) -> Html:
    """Whether the data agree with the assumptions."""
    found = view.adequacy
    rows = [_check(check) for check in found.checks]
    header = ("variation", "degrees of freedom", "mean square, in σ²", "F", "p", "evidence")
    words: list[Html] = []
    for check in found.checks:
        words.append(tag("dt", check.question, badge(check.verdict, check.verdict)))
        words.append(tag("dd", f"{check.found} {check.advice}"))
    note = (
        "F and p are those of the textbook, as if one had looked once. Evidence is a likelihood ratio that holds "
        f"however often one looks: where all is as assumed, one of the three ever exceeds {3.0 / ALARM:,.0f} in at "
        f"most {percent(ALARM)} of campaigns. “Inadequate” needs that much and an effect that matters for the decision."
    )
    return section(
        "Check of the model",
        tag("dl", *words, class_="checks"),
        table(header, rows, kinds="-nnnnn"),
        paragraphs(note, class_="note"),
        *_residuals(view),
        id_="model",
    )


def _check(check: Check) -> tuple[Content, ...]:
    name = SOURCES[check.name]
    if not check.squares.degrees:
        return name, "0", "–", "–", "–", "–"
    p = "< 0.0001" if check.p_value < 1e-4 else f"{check.p_value:.2g}"
    power = check.log_evidence / math.log(10.0)
    odds: Content = f"{10.0**power:.2g}" if abs(power) < 3.0 else Html(f"10<sup>{number(power, 0)}</sup>")
    ratio = "–" if check.name == "noise" else number(check.ratio, 2)
    return name, f"{check.squares.degrees:,}", number(check.squares.mean_square, 2), ratio, p, odds


def _residuals(view: View) -> list[Content]:
    problem, worst = view.charter.problem, view.adequacy.worst
    sheets = [sheet.measurements(problem.n_probes) for sheet in view.ledger.sheets if sheet.complete]
    data = sum(sheets, Measurements.empty(problem.n_probes))
    if not worst:
        return []
    fit = least_squares(problem.probes, data, sigma=problem.sigma)
    index = np.flatnonzero(data.count)
    model = problem.probes[index] @ fit.theta
    error = spread(problem, sheets)[index] * problem.outcome.guess(fit.pure_error) / np.sqrt(data.weights[index])
    names = [problem.probe_names[i] for i in index.tolist()]
    points = list(zip(names, model.tolist(), data.mean[index].tolist(), error.tolist(), strict=True))
    alt = "Means of the probes against the model"
    largest = max(abs(r.difference) for r in worst) or 1.0
    places = min(max(2 - math.floor(math.log10(largest)), 0), 9)
    rows = [
        (r.name, f"{r.replicates:,}", number(r.difference, places), f"{r.standardised:+.1f}".replace("-", "−"))
        for r in worst
    ]
    quantity = view.charter.quantity
    header = ("probe", "replicates", quantity.difference_heading("off by"), "in sd")
    of = f" of {quantity.heading}" if quantity else ""
    large = [r.name for r in worst[:3] if abs(r.standardised) > 3.0]
    return [
        tag(
            "div",
            _panel(
                "What probes read",
                pictures.agreement(points, large, alt),
                f"Means{of} with two standard errors, against what the model says of them.",
            ),
            tag("div", tag("h3", "Largest deviations from the model"), table(header, rows, kinds="wnnn")),
            class_="panels pair",
        )
    ]


def _versions(amended: int) -> str:
    """A sentence about what changed data cost in confidence."""
    if not amended:
        return ""
    times = "once" if amended == 1 else f"{amended} times"
    return f", and counting that rounds were changed {times} after they had been looked at"


def _anytime(view: View) -> str:
    """What the confidence of a best guess means."""
    if view.status.confidence is None or view.declared:
        return ""
    epsilon = view.charter.goal.epsilon
    wrong = f"an item worse than the best by more than {epsilon:.4g}" if epsilon else "a wrong item"
    text = (
        "The confidence so far, beside the best guess, is about all that is ever shown: for each α, with probability "
        f"at most α, {wrong} is shown with confidence 1 - α or more at any moment. It may fall when another item "
        "takes the lead, and is not the probability that the item shown is right."
    )
    if view.ledger.amended and not view.charter.amendments:
        text += " Numbers shown before rounds were changed count here with the discount of now."
    return text


def _nearly(view: View) -> str:
    """By how much outcomes may be off the model."""
    problem, quantity = view.charter.problem, view.charter.quantity
    if not problem.misfit.any():
        return ""
    low, high = (quantity.difference(f"{size:.4g}") for size in (problem.misfit.min(), problem.misfit.max()))
    return f", up to {high}" if low == high else f", up to what is stated for each probe ({low} to {high})"


def assumptions(view: View) -> Html:
    """What must be true for the confidence to hold, in plain words."""
    charter, rows = view.charter, view.rows()
    goal = charter.goal
    gone = rows["voided"] + rows["missing"]
    within = f", or misses that by no more than {goal.epsilon:.4g}" if goal.epsilon else ""
    texts = [
        f"The mean {charter.quantity.noun} of a probe is linear in its features{_nearly(view)}, and an item is worth "
        "what the same line says of it, even where the item itself was never measured.",
        f"Measurements are independent, with noise {charter.problem.outcome.noise}. "
        "Several readings of one sample are one measurement.",
        "Every round was planned, by whomever and of whatever size, before any of its outcomes was seen.",
        f"Which rows are voided or missing ({gone:,} of {rows['planned'] + rows['unplanned']:,}) did not depend on "
        "their outcomes; corrections replaced wrong outcomes by right ones.",
    ]
    promise = (
        f"If this is so, what is declared {view.words.predicate} is so{within}, with probability at least "
        f"{percent(1.0 - view.ledger.risk)} over the whole campaign, however many rounds it took and how often one "
        f"looked{_versions(view.ledger.amended)}."
    )
    if goal.promise == "share":
        promise = (
            "If this is so, whenever the campaign is ended, and for whatever reason, the list of that moment is wrong "
            f"in at most {percent(view.ledger.risk)} of its items on average over all such campaigns{within}"
            f"{_versions(view.ledger.amended)}; and so are the items left out. It is a promise about one list: to act "
            "upon several, each at its own time, is not covered."
        )
    if not view.proven:
        promise = "For the algorithm of this campaign, with these settings and data, no error probability is proven."
    return section(
        "Assumptions",
        tag("ul", *(tag("li", text) for text in texts), class_="plain"),
        paragraphs(promise, _anytime(view)),
        *_columns(view),
        id_="assumptions",
    )


def _columns(view: View) -> list[Content]:
    """What every column of the tables was taken for, and the terms of the model."""
    model = view.charter.problem.model
    if model is None:
        return []
    rows = [(role.column, role.role, role.reason) for role in model.roles]
    name = view.charter.quantity.name
    terms = f"{f'The {name} is' if name else 'Outcomes are'} taken to be the sum of {model.formula}, plus noise."
    return [tag("h3", "Columns"), paragraphs(terms), table(("column", "role", "what it holds"), rows, kinds="wt-")]
