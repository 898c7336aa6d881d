"""Status: where a campaign stands, in numbers and in one sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from probewise.adequacy import Adequacy
from probewise.campaign.findings.appraisal import Appraisal
from probewise.campaign.findings.confirmation import Confirmation, confirmations
from probewise.campaign.findings.effects import Effect
from probewise.campaign.findings.guesses import Guess, told
from probewise.campaign.findings.numbers import Numbers
from probewise.campaign.findings.words import Words
from probewise.campaign.journal.storage import own_version
from probewise.campaign.state.charter import Charter
from probewise.campaign.state.ledger import Ledger, declared_names
from probewise.campaign.state.replay import Trail
from probewise.numerals import listed
from probewise.problem import Problem


@dataclass(frozen=True)
class ItemStatus:
    """Where one item stands."""

    name: str
    """Its name."""
    estimate: float | None
    """What is known of its value; None if the measurements do not determine it."""
    low: float | None
    """Lower end of an interval that holds for all items and at all times at once."""
    high: float | None
    """Upper end."""
    state: str
    """best (or what the goal calls it), leading, tied, remaining or eliminated."""
    why: str
    """One clause that says why."""


@dataclass(frozen=True)
class Status:
    """Where a campaign stands."""

    item: str | None
    """The first item declared; None until there is one, or while the data contradict the assumptions."""
    answer: tuple[str, ...] | None
    """All items declared, perhaps none; None until they are, or while the data contradict the assumptions."""
    leader: str | None
    """The first item of the answer or, until there is one, the item in front."""
    sure: tuple[str, ...]
    """Items that are known to be in the answer before all of it is known; where a share may be wrong, those listed."""
    remaining: tuple[str, ...]
    """Items that may be in the answer."""
    progress: float | None
    """How far the weakest evidence has come, from 0 at the start to 1 at the answer; None if that cannot be said."""
    measurements: int
    """Outcomes that count."""
    cost: float
    """What they cost."""
    rounds: int
    """Rounds with outcomes that count, those of the laboratory's own choice among them."""
    waiting: int
    """Rows that were asked for and are waited for."""
    waiting_round: int | None
    """Number of the round that they are of, None if no round is waiting."""
    due: str | None
    """The day by which they are wanted, if one was named."""
    forecast: dict[str, float] | None
    """What is left to go: measurements, low, high, cost, rounds."""
    warnings: tuple[str, ...]
    """What a reader must know before believing the rest."""
    items: tuple[ItemStatus, ...]
    """Every item, the best first."""
    sentence: str
    """Why the leader leads, and what to do next."""
    digest: str
    """Fingerprint of all records."""
    amendments: int
    """Records that changed rounds after they had been looked at."""
    risk: float
    """Probability at most with which a wrong item is ever declared, over all versions of the data."""
    confidence: float | None
    """What the leader, or the answer, has attained, 0 for none yet; None if that cannot be said."""
    outcome_name: str
    """What outcomes are called; empty if that was not said."""
    unit: str
    """Their unit."""
    checks: dict[str, str]
    """Verdicts on what the confidence rests on: noise, drift and fit (whether outcomes are linear in the features)."""
    recipes: dict[str, dict[str, Any]]
    """Every column of the items of the answer or, until there is one, of the best guess."""
    effects: tuple[Effect, ...]
    """What each column of the tables does to the outcome; empty where features were given as they are."""
    confirmations: tuple[Confirmation, ...]
    """Rounds that were planned to confirm the answer, and what came of them."""
    subtracts: bool
    """Whether distances between items are, to the digits that are known, differences of their estimates."""
    guess: Guess | None = None
    """What the model behind a budget predicts, which is heuristic; None without one, and once there is an answer."""
    unlisted: int = 0
    """How many more items may be in the answer: of items that stay where they are, few are listed."""
    unseen: int = 0
    """How many more items there are than are shown."""
    unforeseen: str = ""
    """One sentence that says why there is no forecast; empty if there is one, and once there is an answer."""

    @property
    def way(self) -> float | None:
        """What has been measured of all that the forecast expects; without a forecast, ``progress``."""
        if self.progress is None or self.forecast is None or self.answer is not None or not self.measurements:
            return self.progress
        return self.measurements / (self.measurements + self.forecast["measurements"])

    def to_json(self) -> dict[str, Any]:
        """As plain dictionaries and lists."""
        return asdict(self)


def status(ledger: Ledger, trail: Trail, appraisal: Appraisal) -> Status:
    """Where a campaign stands; writes nothing."""
    problem, algorithm = trail.charter.problem, trail.charter.algorithm
    standing, found, adequacy = appraisal.standing, appraisal.numbers, appraisal.adequacy
    asked = (*trail.goal.upward(ledger.problem), trail.state)
    forecast = algorithm.forecast(*asked) if algorithm.forecasts else None
    names, data, waiting = problem.item_names, ledger.measured, ledger.waiting
    tests = confirmations(ledger)
    sound = adequacy.certifies and not any(own.contradicts for own in tests)
    sure = ledger.declared is not None and ledger.declared == trail.answer and sound
    answer = tuple(names[item] for item in ledger.declared) if sure and ledger.declared is not None else None
    attained, guess = _attained(ledger, trail, sound), appraisal.guess
    shown = tuple(found.whose[i] for i in found.guess) if guess is None else (names.index(guess.item),)
    if guess is None:
        sentence = _sentence(ledger, found, adequacy, tests)
    else:
        sentence = _guessed(ledger, trail, told(guess, ledger.charter, attained))
    return Status(
        item=answer[0] if answer else None,
        answer=answer,
        leader=guess.item if guess is not None else None if found.leader is None else found.items[found.leader].name,
        sure=tuple(found.items[i].name for i in found.sure) if sound else (),
        remaining=tuple(names[i] for i in standing.remaining),
        progress=standing.progress,
        measurements=data.n,
        cost=data.cost(problem.cost),
        rounds=sum(not sheet.empty for sheet in ledger.sheets),
        waiting=0 if waiting is None else waiting.left,
        waiting_round=None if waiting is None else waiting.number,
        due=None if waiting is None else waiting.due,
        forecast=None if forecast is None else asdict(forecast),
        warnings=(
            *(own.sentence for own in tests if own.contradicts),
            *_warnings(ledger, trail),
            *adequacy.warnings,
        ),
        items=_items(found),
        sentence=sentence,
        digest=ledger.last.digest,
        amendments=ledger.amended,
        risk=ledger.risk,
        confidence=attained,
        outcome_name=ledger.charter.quantity.name,
        unit=ledger.charter.quantity.unit,
        checks={check.name: check.verdict for check in adequacy.checks},
        recipes={names[item]: recipe(ledger.charter, item) for item in shown},
        effects=appraisal.effects,
        confirmations=tests,
        subtracts=found.subtracts,
        guess=guess,
        unlisted=standing.unlisted,
        unseen=found.unseen.items,
        unforeseen="" if forecast is not None or trail.answer is not None else algorithm.unforeseen(*asked),
    )


def recipe(charter: Charter, item: int) -> dict[str, Any]:
    """Every column of an item as the laboratory's own table has it; where that is empty, None. Else its features."""
    if (shards := charter.problem.shards) is not None:
        return dict(zip(charter.problem.feature_names, shards[item].tolist(), strict=True))
    return {name: cells[item] for name, cells in charter.item_columns.items()}


_DOUBTS = {
    "noise": "the noise looks larger than stated",
    "drift": "rounds do not agree with each other",
    "fit": "outcomes do not look linear in the features",
}


def reservation(adequacy: Adequacy, problem: Problem) -> str:
    """What stands beside a decision if a check is doubtful, or if linearity could not be checked; else nothing."""
    doubts = [_DOUBTS[check.name] for check in adequacy.checks if check.verdict == "doubtful"]
    if doubts:
        return f", but with doubts: {listed(doubts)}"
    fit = adequacy.fit
    why = fit.found.partition("because ")[2].rstrip(".")
    if fit.verdict != "unchecked" or problem.n_items == 1 or _tautological(problem):
        return ""
    return f", but whether outcomes are linear is unchecked: {why}"


def allowed_for(charter: Charter) -> str:
    """What is said of a misfit beside a decision; nothing if none is allowed for."""
    if not charter.problem.misfit.any():
        return ""
    size = charter.quantity.difference(f"{charter.problem.misfit.max():.4g}")
    return (
        f" This allows for outcomes that are off the model by up to {size}, and is about what the model says of items: "
        "true values may differ from that by as much."
    )


def _tautological(problem: Problem) -> bool:
    """Whether nothing is assumed: probes may have any means, and every item is a probe."""
    if problem.shards is not None or problem.coordinates.rank < problem.n_probes:
        return False
    return bool((problem.twins >= 0).all())


def _attained(ledger: Ledger, trail: Trail, sound: bool) -> float | None:
    """The confidence of the guess over all versions of the data; None if it cannot be told or must not be believed."""
    charter, replayed = trail.charter, ledger.declared in (None, trail.answer)
    if not charter.algorithm.attains or not sound or not replayed:
        return None
    if ledger.amended and not charter.algorithm.takes_any_rounds:
        return None
    sure = charter.algorithm.confidence(*trail.search, trail.state)
    return None if sure is None else charter.attained(ledger.amended, sure)


def _items(found: Numbers) -> tuple[ItemStatus, ...]:
    rows = [found.items[i] for i in found.order]
    return tuple(
        ItemStatus(row.name, _known(row.estimate), _known(row.low), _known(row.high), row.state, row.why)
        for row in rows
    )


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _warnings(ledger: Ledger, trail: Trail) -> Iterator[str]:
    """What bears on the guarantee, and what does not fit together."""
    names, declaration = trail.charter.problem.item_names, ledger.declaration
    predicate = Words(trail.goal, trail.charter.quantity).predicate
    if ledger.declared != trail.answer:
        answer = "no answer" if trail.answer is None else listed([f"'{names[i]}'" for i in trail.answer]) or "no item"
        if ledger.declared is None or declaration is None:
            yield f"The records lead to {answer}, which has not been declared yet; ask declares it."
        else:
            yield (
                f"{_quoted([names[item] for item in ledger.declared])} declared {predicate} by probewise "
                f"{declaration.version}, but probewise {own_version()} replays the records to {answer}: believe "
                "neither before you know why."
            )
    elif declaration is not None and declaration.kind == "withdrawn":
        gone = _quoted(declared_names(declaration.body))
        yield f"{gone} declared {predicate} and withdrawn since: {declaration.body['reason']}."
    if not trail.charter.algorithm.proven:
        yield f"The error rate of '{trail.charter.algorithm.name}' with these settings is not proven."
    yield from _amendments(ledger)
    if own := sum(not sheet.planned for sheet in ledger.sheets):
        yield f"Rounds of the laboratory's own: {own}; the confidence holds if each was chosen before its outcomes."


def _quoted(names: Sequence[str]) -> str:
    quoted = listed([f"'{name}'" for name in names]) or "No item"
    return f"{quoted} {'was' if len(names) <= 1 else 'were'}"


def _amendments(ledger: Ledger) -> Iterator[str]:
    """What changes of the data after they were looked at do to the guarantee."""
    if not ledger.amended:
        return
    times = "once" if ledger.amended == 1 else f"{ledger.amended} times"
    changed = f"Rounds were changed {times} after they had been looked at"
    if not ledger.charter.algorithm.takes_any_rounds:
        yield f"{changed}: for that the error rate of '{ledger.charter.algorithm.name}' is not proven."
        return
    yield (
        f"{changed}: over all {ledger.amended + 1} versions of the data together, what is declared is wrong with "
        f"probability at most {ledger.risk:.4g}, if nothing was changed because of its outcome or of who was in front."
    )


def _guessed(ledger: Ledger, trail: Trail, found: str) -> str:
    """What is guessed, and what to do next."""
    sheet, over = ledger.waiting, trail.charter.algorithm.spent(*trail.goal.upward(ledger.problem), trail.state)
    if sheet is not None:
        return f"{found} Round {sheet.number} waits for {sheet.left} of its {sheet.size} rows."
    return found if over else f"{found} Ask for the next batch."


def _sentence(ledger: Ledger, found: Numbers, adequacy: Adequacy, tests: Sequence[Confirmation]) -> str:
    """Why the leader leads, and what to do next."""
    contradicted = any(own.contradicts for own in tests)
    if (found.decided or found.sure) and (contradicted or not adequacy.certifies):
        why = "the data contradict what the confidence rests on"
        why = "measurements made to confirm it contradict it" if contradicted else why
        front = found.guess if found.decided else found.sure
        first = listed([found.items[i].name for i in front]) or "No item"
        are = "is" if len(front) <= 1 else "are"
        return f"{first} came out first, but {are} not certified: {why}. {found.reason}"
    if found.decided:
        checked = allowed_for(ledger.charter) + "".join(f" {own.sentence}" for own in tests)
        return f"{found.sentence} You may stop{reservation(adequacy, ledger.charter.problem)}.{checked}"
    sheet = ledger.waiting
    if sheet is None:
        following = "round" if ledger.open is None else f"batch of round {ledger.open}"
        return f"{found.sentence} Ask for the next {following}."
    waits = f"Round {sheet.number} waits for {sheet.left} of its {sheet.size} rows"
    if found.leader is None and ledger.measured.n:
        return f"{waits}; then {ledger.problem.n_items:,} items are compared for the first time."
    return f"{found.sentence} {waits}."
