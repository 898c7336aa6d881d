"""Sections of a report that say what was found: the decision and the ranking of all items."""

from __future__ import annotations

import math
from collections.abc import Sequence

from probewise.campaign.findings.guesses import rounded, told
from probewise.campaign.findings.status import allowed_for, reservation
from probewise.campaign.findings.words import APART, ItemNumbers
from probewise.campaign.report import pictures
from probewise.campaign.report.page import number, places_of, span
from probewise.campaign.report.view import View
from probewise.markup import Content, Html, badge, folded, joined, paragraphs, section, sideways, table, tag
from probewise.numerals import attained, listed, percent, plural, three_digits, with_width
from probewise.tables import as_text

TOP, BOTTOM = 20, 5
"""Items that are shown of a long ranking."""
FEW = 4
"""Items of the answer up to which their recipes stand side by side."""
PRINTED = 200
"""Folded rows up to which they are printed."""


def headline(view: View) -> str:
    """The decision, or what is missing to it, in one sentence."""
    words, now, items = view.words, view.numbers, view.charter.problem.n_items
    if (guess := view.status.guess) is not None:
        proven = "" if view.status.confidence is None else f", with {attained(view.status.confidence)}"
        return f"Best guess: {guess.item}{proven}."
    if now.leader is None:
        return now.sentence if view.trail.sheets else "Nothing has been measured yet."
    names = [now.items[item].name for item in now.guess]
    first = listed(names) or "no item"
    if view.certified:
        found = words.claim(names, exact=now.exact)
        return f"{found}{words.goal.assurance(view.ledger.risk)}."
    if view.declared and view.contradicted:
        return f"The decision is in doubt: {first} came out first, but measurements made to confirm it contradict it."
    if view.declared and not view.adequacy.certifies:
        return f"No item is certified: {first} came out first, but the data contradict the assumptions."
    if view.declared:
        return f"{first} came out first; how sure that is, is not proven for the algorithm that was used."
    if view.trail.answer is not None or view.ledger.declared is not None:
        return "The decision is in doubt: what was declared is not what the records lead to."
    if now.sure and view.adequacy.certifies and view.proven:
        exact = words.goal.promise == "all" or not words.goal.epsilon
        found = words.claim([now.items[item].name for item in now.sure], exact=exact)
        others = plural(now.remaining - len(now.sure), "other item")
        return f"{found}{words.goal.assurance(view.ledger.risk)}; {others} of {items:,} may follow."
    first = listed(names) or now.items[now.leader].name
    others = plural(now.remaining - max(len(names), 1), "other item")
    sure = view.status.confidence
    sofar = "" if sure is None else f" with {attained(sure)}" + " so far" * (sure > 0)
    return f"{first} lead{'s' * (len(names) <= 1)}{sofar}, but {others} of {items:,} may still be {words.predicate}."


def decision(view: View) -> Html:
    """The top of the page."""
    bad = "" if view.adequacy.certifies else "bad"
    alerts = [tag("li", text, class_=bad) for text in view.adequacy.warnings]
    alerts += [tag("li", _sentence(text)) for text in view.status.warnings if text not in view.adequacy.warnings]
    return joined(
        [
            tag("p", _verdict(view), class_="over"),
            tag("h1", headline(view)),
            paragraphs(*_reasons(view), class_="lead"),
            paragraphs(missing(view), class_="soft"),
            _recipes(view),
            tag("dl", *_tiles(view), class_="tiles"),
            tag("ul", *alerts, class_="alerts") if alerts else None,
        ]
    )


def _reasons(view: View) -> list[str]:
    """Why the leader leads, or what is guessed."""
    if (guess := view.status.guess) is not None:
        return [told(guess, view.charter, view.status.confidence)]
    allowed = allowed_for(view.charter).strip() if view.certified else ""
    return [view.numbers.reason, _reserved(view), allowed, *_confirmed(view)]


def _verdict(view: View) -> Html:
    if view.status.guess is not None:
        return badge("A guess", "undecided")
    if view.certified:
        return badge("Decided", "best")
    return badge("Not certified", "inadequate") if view.declared else badge("Undecided", "undecided")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "." * (not text.endswith("."))


def missing(view: View) -> str:
    """How much is left to go."""
    status = view.status
    if view.declared:
        return ""
    waiting = f"Round {status.waiting_round} waits for {plural(status.waiting, 'row')}. " if status.waiting else ""
    if status.forecast is None:
        return f"{waiting}{status.unforeseen}" if status.measurements else waiting
    left = {name: float(status.forecast[name]) for name in ("measurements", "low", "high", "cost", "rounds")}
    price = f", at a cost of about {number(left['cost'])}" if view.costly else ""
    span = f"with probability 80 % between {number(left['low'], 0)} and {number(left['high'], 0)}"
    return (
        f"{waiting}Forecast: about {number(left['measurements'], 0)} more measurements ({span}) in "
        f"{plural(round(left['rounds']), 'round')}{price}."
    )


def _reserved(view: View) -> str:
    """What a decision leaves open, in a sentence."""
    text = reservation(view.adequacy, view.charter.problem) if view.certified else ""
    return _sentence(text.removeprefix(", but ")) if text else ""


def _confirmed(view: View) -> list[str]:
    """What came of measurements to confirm the answer, as far as they do not contradict it, which is an alert."""
    return [own.sentence for own in view.status.confirmations if not own.contradicts]


def _recipes(view: View) -> Html | None:
    """What the items of the answer, or the leader, are: every column of the laboratory's own table, in full."""
    recipes = view.status.recipes
    columns = tuple(next(iter(recipes.values()), {}))
    if not columns:
        return None
    names = tuple(recipes)
    if len(names) <= FEW:
        rows = [(column, *(as_text(recipes[name][column]) for name in names)) for column in columns]
        return table(("recipe", *names), rows, kinds="t" + "w" * len(names))
    cells = [(name, *(as_text(recipe[column]) for column in columns)) for name, recipe in recipes.items()]
    return folded(f"What the {len(names)} items are", table(("item", *columns), cells, kinds="w" * (len(columns) + 1)))


def _tiles(view: View) -> list[Html]:
    status = view.status
    tiles: list[tuple[str, Content]] = [
        ("measurements", f"{status.measurements:,}"),
        *([("cost", number(status.cost))] if view.costly else []),
        ("rounds", f"{status.rounds:,}"),
        ("items left", f"{view.numbers.remaining:,} of {view.charter.problem.n_items:,}"),
    ]
    if status.confidence is not None and status.answer is None and status.leader is not None:
        sure = attained(status.confidence).removeprefix("confidence ")
        tiles.append(("confidence so far", sure.replace("no confidence", "none")))
    out = [tag("div", tag("dt", name), tag("dd", value)) for name, value in tiles]
    if (way := status.way) is not None:
        share = 1.0 if view.declared else min(way, 0.99)
        bar = tag("svg", tag("rect", width=f"{100 * share:.1f}%", height="100%"), class_="bar", aria_hidden="true")
        out.append(tag("div", tag("dt", "way to the answer"), tag("dd", f"{100 * share:.0f} %"), bar))
    return out


def guesses(view: View) -> Html | None:
    """What the model behind a budget predicts, and what of that is proven: nothing."""
    guess = view.status.guess
    if guess is None:
        return None
    heading = f"predicted {view.charter.quantity.heading}" if view.charter.quantity else "predicted"
    rows: list[tuple[Content, ...]] = []
    for place, item in enumerate(guess.items, 1):
        low, value, high = rounded(item)
        rows.append((place, item.name, value, f"{low} to {high}", f"{item.measured:,}"))
    noise = view.charter.quantity.difference(three_digits(guess.noise))
    wider = f", and {guess.widened:.2f} times as wide as the model alone would have them" if guess.widened > 1 else ""
    return section(
        "Best guess",
        paragraphs(
            f"These are predictions of a model with main effects and second-order effects of {guess.effects}. How "
            "large effects of each kind are, it takes from the data. It can be wrong, and nothing here is proven: "
            "intervals hold with probability 90 % each if the model is right. Each measurement was left out and "
            f"predicted from the others; intervals are as wide as that asks for{wider}. The noise of one measurement "
            f"looks like {noise}.",
            "What is proven is the confidence at the top of the page and the ranking below: both rest on the linear "
            "model and on rounds that were planned before their outcomes, and neither on this model.",
        ),
        table(("#", "item", heading, "90 % interval", "measured"), rows, kinds="nwnnn"),
        id_="guess",
    )


def ranking(view: View) -> Html:
    """Every item, with intervals."""
    now, delta = view.numbers, percent(1.0 - view.ledger.risk)
    order = list(now.order)
    long = len(order) > TOP + BOTTOM + 5
    shown = order[:TOP] + order[-BOTTOM:] if long else order
    rest = order[TOP:-BOTTOM] if long else []
    leader = None if now.leader is None else now.items[now.leader].name
    picture = _intervals(view, order) if leader is not None else None
    caption = (
        f"Lines are intervals; all of them, for all pairs of items and at all times, hold with confidence {delta}. "
        f"Filled: may still be {view.words.predicate}; hollow: {view.words.gone} or tied. An item can be "
        f"{view.words.gone} although its interval touches 0, because a decision needs less than an interval for every "
        "pair."
    )
    levels = any(math.isfinite(item.estimate) for item in now.items)
    why = (
        ""
        if levels
        else "The probes measured so far compare items without fixing their levels: only distances are known."
    )
    apart = "" if now.subtracts else APART
    few = f"Shown are those of {view.charter.problem.n_items:,} items that were in front; the others stay in files. "
    return section(
        "Ranking",
        paragraphs(
            f"No item is ranked by its luckiest outcome: every number pools all rounds. {few * bool(now.unseen.items)}"
            f"{why}{apart}"
        ),
        tag("figure", sideways(picture, "pic"), tag("figcaption", caption)) if picture is not None else None,
        _items(view, shown, levels),
        _rest(view, rest, levels),
        id_="ranking",
    )


def _intervals(view: View, order: Sequence[int]) -> Html:
    """The first ones; the last ones would leave them no room."""
    now = view.numbers
    leader = now.items[now.leader or 0].name
    sign = view.charter.goal.sign
    last = _bar(now.items[order[-1]], sign)
    more = f"… {len(order) - TOP:,} more, down to {last.text}" if len(order) > TOP + BOTTOM + 5 else ""
    bars = [_bar(now.items[i], sign) for i in (order[:TOP] if more else order)]
    alt, quantity = f"Differences of items to {leader}, with intervals", view.charter.quantity
    label = quantity.difference_heading(
        f"estimated difference{f' in {quantity.name}' * bool(quantity.name)} to {leader}"
    )
    return pictures.intervals(bars, more=more, label=label, alt=alt)


def _bar(item: ItemNumbers, sign: float) -> pictures.Bar:
    """An item less the leader: on the left of 0 where more is better, on the right where less is."""
    front, (low, high) = item.behind == 0.0, sorted((-sign * item.least, -sign * item.most))
    text = "0" if front else with_width(-sign * item.behind, item.most - item.behind).replace("-", "−")
    return pictures.Bar(item.name, -sign * item.behind, low, high, item.state, text)


def _items(view: View, shown: Sequence[int], levels: bool) -> Html:
    """The table of some items; all numbers of a column have as many places."""
    now = view.numbers
    leader = "" if now.leader is None else now.items[now.leader].name
    rank = {item: at + 1 for at, item in enumerate(now.order)}
    places = places_of([now.items[i].high - now.items[i].estimate for i in now.order[:TOP]])
    apart = places_of([now.items[i].most - now.items[i].behind for i in now.order[:TOP]])
    rows: list[tuple[Content, ...]] = []
    for i in shown:
        item = now.items[i]
        level = (number(item.estimate, places), span(item.low, item.high, places)) if levels else ()
        front = i == now.leader
        distance = ("–", "–") if front else (number(item.behind, apart), span(item.least, item.most, apart))
        mark = () if item.state == "eliminated" else (_state(view, item.state),)
        told = item.by == leader and item.least > 0  # by the columns beside it
        why = f"{view.words.gone} in round {item.round}" if told else item.why
        rows.append((rank[i], item.name, *level, *distance, joined([*mark, why], " ")))
    heading = f"estimated {view.charter.quantity.heading}" if view.charter.quantity else "estimate"
    behind = view.charter.quantity.difference_heading("behind")
    header = ("#", "item", *((heading, "interval") if levels else ()), behind, "interval", "why")
    classes = [now.items[i].state for i in shown]
    short = max(len(now.items[i].name) for i in shown) <= 24
    kinds = "n" + ("t" if short else "w") + "nn" * levels + "nnw"
    return table(header, rows, kinds=kinds, classes=classes)


def _state(view: View, state: str) -> Html:
    """What is not certified is not called the best."""
    if state != view.charter.goal.found:
        return badge(state, state)
    shown = view.certified or (not view.declared and view.adequacy.certifies and view.proven)
    return badge(state, "best") if shown else badge("first", "doubtful")


def _rest(view: View, rest: Sequence[int], levels: bool) -> Html | None:
    if not rest:
        return None
    inside = folded(f"The {len(rest):,} items between", _items(view, rest, levels))
    if len(rest) <= PRINTED:
        return inside
    hint = paragraphs(f"The {len(rest):,} items between stand in the file, not on paper.", class_="paper")
    return joined([tag("div", inside, class_="screen"), hint])
