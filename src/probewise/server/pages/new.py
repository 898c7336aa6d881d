"""New: two tables, what every column is for, the question, and the checks before anything is created."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from starlette.responses import RedirectResponse, Response

from probewise.cells import fault, number
from probewise.errors import InvalidProblem, ProbewiseError
from probewise.markup import Content, Html, badge, folded, joined, paragraphs, table, tag, void
from probewise.numerals import plural
from probewise.server.api import begin
from probewise.server.pages.forecast import forecast
from probewise.server.pages.measure import saved
from probewise.server.pages.shell import alert, button, card, choice, field, form, link, page, select, text_field, told
from probewise.server.site import Call, Refused

ROLES = {
    "auto": "automatic",
    "factor": "factor: its values are levels",
    "shown": "only shown",
    "name": "names of the rows",
    "cost": "cost of one measurement",
    "noise": "noise of one measurement",
    "stock": "how often it can be measured",
}
OPTIONS = {
    "--id-column": ROLES["name"], "--factor": "factor", "--show": ROLES["shown"], "--cost-column": ROLES["cost"],
    "--sigma-column": ROLES["noise"], "--stock-column": ROLES["stock"],
}  # fmt: skip
"""Options of the command that are roles here."""
MODELS = {
    "main": "every column by itself",
    "interactions": "products of two columns too",
    "quadratic": "squares of numbers too",
    "none": "numbers as they are, without an intercept",
    "formula": "a formula",
}
GOALS = {
    "best": "the best item",
    "top": "the best few items: how many?",
    "above": "all items above a value: which?",
    "better-than": "all items better than a control: its name?",
}
NOISE = {
    "sigma": "I know a bound on the standard deviation of one measurement",
    "unknown": "I do not know it; it is learned from replicates",
    "column": "a column of the probes says it",
    "bounded": "outcomes lie between two numbers, such as clicks or shares",
    "poisson": "outcomes are counts of independent events",
}
PROMISES = {
    "all": "any wrong item in the list",
    "share": "the share of wrong items in the list, on average",
}
ROWS = {
    "": "one for each measurement",
    "yes": "one for each probe: how many, and successes or the total of counts",
    "means": "one for each probe: how many, mean and standard deviation",
    "weighted": "one for each measurement, with its own standard error or exposure, known before its outcome",
}
FIELDS = (
    "name", "model", "formula", "goal", "value", "minimise", "delta", "epsilon", "noise", "sigma", "low", "high",
    "max_batch", "outcome_name", "unit", "least", "most", "amendments", "aggregated", "promise", "normal", "misfit",
    "rounds", "budget", "min_batch", "max_replicates", "algorithm", "seed", "gaps",
    "matters",
)  # fmt: skip
COUNTS = {
    "max_batch": "most measurements at once", "min_batch": "the fewest measurements at once",
    "max_replicates": "the most of one probe at once", "rounds": "rounds that should do",
    "budget": "the budget of measurements", "seed": "the seed",
}  # fmt: skip
"""Fields with a whole number -> what they say."""
DEFAULTS = {"model": "main", "goal": "best", "delta": "0.05", "epsilon": "0", "noise": "sigma", "amendments": "0",
            "promise": "all", "misfit": "0"}  # fmt: skip


async def new(call: Call) -> Response:
    """Where two tables are chosen."""
    accept = ".csv,.tsv,.txt,.xlsx,.ods,.parquet,.pq"
    probes = void("input", type="file", name="probes", accept=accept, required="required")
    items = void("input", type="file", name="items", accept=accept)
    inner = form(
        call,
        "/new",
        field("What you can measure", probes, "One row for each probe.", class_="drop"),
        field(
            "What you may recommend", items, "One row for each item; without it, the probes themselves.", class_="drop"
        ),
        paragraphs(
            "Tables are CSV, .xlsx, .ods or Parquet, with the same columns of words and numbers in both. Nothing is "
            "created yet. Items that are too many to list (a file of factors and levels) are for the command line.",
            class_="soft",
        ),
        button("Go on"),
        upload=True,
        class_="two",
    )
    return page(call, "New campaign", tag("h1", "New campaign"), _steps(1), inner)


def _steps(now: int) -> Html:
    names = ("Tables", "Settings", "Checks")
    own = [
        tag("li", name, **({"aria_current": "step"} if at == now else {}), class_="done" if at < now else "")
        for at, name in enumerate(names, 1)
    ]
    return tag("ol", *own, class_="steps")


async def upload(call: Call) -> Response:
    """Keep two tables for an hour, and go on to their columns."""
    folder = call.site.folder()
    probes = await saved(call, "probes", folder)
    if probes is None:
        raise Refused(422, "choose the table of what you can measure.")
    items = await saved(call, "items", folder)
    files = {"probes": str(probes), "items": None if items is None else str(items)}
    found = await call.site.workers.do("slow", "columns", **files, limits=call.site.limits)
    own = {"files": files, "found": found, "by": call.who.name}
    (folder / "draft.json").write_text(json.dumps(own), encoding="utf-8")
    return RedirectResponse(f"/new/{folder.name}", 303)


def _draft(call: Call) -> dict[str, Any]:
    path = call.site.kept(str(call.request.path_params["token"])) / "draft.json"
    draft: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if draft.get("by") != call.who.name:
        raise Refused(410, "these tables are no longer here, as they are kept for an hour; choose them again.")
    return draft


async def settings(call: Call) -> Response:
    """Where the columns, the question and the noise are settled."""
    draft = _draft(call)
    name = Path(draft["found"]["probes"]["name"]).stem.removeprefix("probes-")
    return _settings(call, draft, DEFAULTS | {"name": name if name != "probes" else ""}, {})


def _columns(draft: dict[str, Any]) -> list[str]:
    tables = [draft["found"]["probes"], *([draft["found"]["items"]] if draft["found"]["items"] else [])]
    return list(dict.fromkeys(name for own in tables for name in own["columns"]))


def _settings(
    call: Call,
    draft: dict[str, Any],
    values: dict[str, str],
    roles: dict[str, str],
    wrong: Content = None,
    checked: dict[str, Any] | None = None,
) -> Response:
    kinds = {role["column"]: role for role in (checked or {}).get("roles", [])}
    where = f"/new/{call.request.path_params['token']}"
    body = joined(
        [
            tag("h1", "New campaign"),
            _steps(2 if checked is None else 3),
            wrong,
            None if checked is None else forecast(checked),
            form(
                call,
                where,
                None if checked is None else _create(values, roles),
                _tables(draft, roles, kinds),
                _question(values),
                _noise(values),
                _outcomes(values),
                tag("p", button("Check it", name="act", value="check"), class_="send"),
                class_="settings",
            ),
        ]
    )
    return page(call, "New campaign", body, status=422 if wrong is not None and checked is None else 200)


def _tables(draft: dict[str, Any], roles: dict[str, str], kinds: dict[str, dict[str, str]]) -> Html:
    found, rows = draft["found"], []
    for at, name in enumerate(_columns(draft)):
        cells = [
            ", ".join(own["columns"][name]) if own and name in own["columns"] else "–"
            for own in (found["probes"], found["items"] or found["probes"])
        ]
        pick = select(f"role.{at}", ROLES, roles.get(name, "auto"), aria_label=f"Role of {name}")
        role = kinds.get(name)
        said = (
            joined([badge(role["role"]), tag("span", f" {role['reason']}", class_="soft small")], "") if role else None
        )
        rows.append((name, pick, said, *(tag("span", text, class_="soft small") for text in cells)))
    sizes = f"{plural(found['probes']['rows'], 'probe')}"
    sizes += f" and {plural(found['items']['rows'], 'item')}" if found["items"] else ", which are the items too"
    remarks = [alert(text, "warn") for own in (found["probes"], found["items"]) if own for text in own["remarks"]]
    short = "t" if max(map(len, _columns(draft))) <= 30 else "w"
    header = ("column", "role", "", "in the probes", "in the items")
    return card("Columns", paragraphs(f"{sizes}.", class_="soft"), *remarks, table(header, rows, kinds=f"{short}--ww"))


def _question(values: dict[str, str]) -> Html:
    return card(
        "Question",
        tag(
            "div",
            text_field("Name of the campaign", "name", values.get("name", ""), required="required", maxlength="100"),
            choice("Find", "goal", GOALS, values.get("goal", "best")),
            text_field("How many, value or control", "value", values.get("value", ""), "Empty for the best item."),
            text_field("Chance of a wrong answer, at most", "delta", values.get("delta", ""), inputmode="decimal"),
            choice("What that bounds", "promise", PROMISES, values.get("promise", "all"),
                   "For lists: above a value, or better than a control."),
            text_field(
                "Differences up to this do not matter", "epsilon", values.get("epsilon", ""), inputmode="decimal"
            ),
            _box("Low values are wanted", "minimise", values),
            choice("Outcomes depend on", "model", MODELS, values.get("model", "main")),
            text_field(
                "Formula", "formula", values.get("formula", ""), "Such as ligand + dose + dose^2 + ligand:dose."
            ),
            text_field("Outcomes may be off the model by", "misfit", values.get("misfit", ""),
                       "0: on average they follow it exactly.", inputmode="decimal"),
            class_="fields",
        ),
    )  # fmt: skip


def _noise(values: dict[str, str]) -> Html:
    return card(
        "Noise",
        tag(
            "div",
            field("What is known of it", select("noise", NOISE, values.get("noise", "sigma")), class_="full"),
            text_field("Its standard deviation", "sigma", values.get("sigma", ""),
                       "An upper bound: the confidence rests on it.", inputmode="decimal"),
            _box("It is normally distributed", "normal", values, "Then fewer measurements will do."),
            text_field("Least outcome", "low", values.get("low", ""), "If they lie between two.", inputmode="decimal"),
            text_field("Largest outcome", "high", values.get("high", ""), inputmode="decimal"),
            class_="fields",
        ),
    )  # fmt: skip


def _outcomes(values: dict[str, str]) -> Html:
    return card(
        "Outcomes and batches",
        tag(
            "div",
            text_field("What is measured", "outcome_name", values.get("outcome_name", ""), "Such as yield.",
                       maxlength="40"),
            text_field("Unit", "unit", values.get("unit", ""), "Such as % or mg/l.", maxlength="40"),
            text_field("Refuse outcomes below", "least", values.get("least", ""),
                       "As typing errors. With a budget, predictions stay in this range.", inputmode="decimal"),
            text_field("Refuse outcomes above", "most", values.get("most", ""), inputmode="decimal"),
            text_field("Most measurements at once", "max_batch", values.get("max_batch", ""), "Such as 96 on a plate.",
                       inputmode="numeric"),
            text_field("Share kept for later corrections", "amendments", values.get("amendments", ""),
                       "0.5 keeps the chance of a wrong answer whatever you correct.", inputmode="decimal"),
            field("Rows of a sheet", select("aggregated", ROWS, values.get("aggregated", ""))),
            class_="fields",
        ),
        _limits(values),
    )  # fmt: skip


def _limits(values: dict[str, str]) -> Html:
    """What few campaigns need."""
    names = ("rounds", "budget", "matters", "min_batch", "max_replicates", "algorithm", "seed", "gaps")
    inner = tag(
        "div",
        text_field("Rounds that should do", "rounds", values.get("rounds", ""),
                   "They become larger, and the total rises. Empty: as many as it takes.", inputmode="numeric"),
        text_field("Budget of measurements", "budget", values.get("budget", ""),
                   "Planned for the best guess at its end. Empty: until the answer is sure.", inputmode="numeric"),
        text_field("A difference that matters", "matters", values.get("matters", ""),
                   "It saves measurements if items differ by about that much.", inputmode="decimal"),
        text_field("Fewest measurements at once", "min_batch", values.get("min_batch", ""),
                   "Worth starting a batch for.", inputmode="numeric"),
        text_field("Most of one probe at once", "max_replicates", values.get("max_replicates", ""),
                   inputmode="numeric"),
        text_field("Algorithm", "algorithm", values.get("algorithm", ""), "Empty: sage. probewise list names them."),
        text_field("Seed of the random order", "seed", values.get("seed", ""), "Empty: drawn at random.",
                   inputmode="numeric"),
        text_field("Forecast if items differ by", "gaps", values.get("gaps", ""),
                   "Numbers with blanks between them. Empty: a few round ones."),
        class_="fields",
    )  # fmt: skip
    return folded("More settings", inner, opened=any(values.get(name) for name in names))


def _box(label: str, name: str, values: dict[str, str], hint: str = "") -> Html:
    """Yes, or not."""
    ticked = {"checked": "checked"} if values.get(name) else {}
    return field(label, void("input", type="checkbox", name=name, value="yes", **ticked), hint)


def _create(values: dict[str, str], roles: dict[str, str]) -> Html:
    mark = void("input", type="hidden", name="checked", value=_mark(values, roles))
    return tag("p", mark, button("Create the campaign", name="act", value="create"), class_="send first")


def _mark(values: dict[str, str], roles: dict[str, str]) -> str:
    own = {name: value for name, value in values.items() if name != "name"}
    return hashlib.sha256(json.dumps([own, roles], sort_keys=True).encode()).hexdigest()[:32]


async def decide(call: Call) -> Response:
    """Check the settings or, once they were checked, create the campaign."""
    draft = _draft(call)
    values = {name: str(call.form.get(name, "")).strip() for name in FIELDS}
    given = {name: str(call.form.get(f"role.{at}", "auto")) for at, name in enumerate(_columns(draft))}
    roles = {name: role for name, role in given.items() if role in ROLES and role != "auto"}
    try:
        chosen = _chosen(draft, values, roles)
        if call.form.get("act") == "create" and call.form.get("checked") == _mark(values, roles):
            name = call.site.live.shelf.new(values["name"])
            await begin(call, name, chosen)
            return told(call, "The campaign is created.", link(name, "/measure"))
        call.site.live.shelf.new(values["name"])
        checked = await call.site.workers.do("slow", "examine", settings=chosen, limits=call.site.limits)
    except (ProbewiseError, Refused) as error:
        text = _here(str(error)[:1].upper() + str(error)[1:])
        return _settings(call, draft, values, roles, alert(text, "bad"))
    changed = call.form.get("act") == "create"
    said = (
        alert("The settings were changed after they had been checked; look at the checks once more.")
        if changed
        else None
    )
    return _settings(call, draft, values, roles, said, checked)


def _here(sentence: str) -> str:
    """A sentence that names options of the command, with the roles of this page instead."""
    plain = re.sub(r", \w+=(?=\))", "", sentence).replace("say --", "choose --")
    for option, role in OPTIONS.items():
        plain = plain.replace(f"{option} '", f"the role “{role}” for '").replace(option, f"the role “{role}”")
    return plain


def _number(values: dict[str, str], name: str, what: str, otherwise: float | None = None) -> float | None:
    return _plain(values[name], what) if values[name] else otherwise


def _count(values: dict[str, str], name: str, what: str) -> int | None:
    found, least = _number(values, name, what), int(name != "seed")
    if found is not None and (found % 1 or not least <= found <= 2**53):
        raise InvalidProblem(f"{what} must be a whole number of at least {least}, got {found:g}.")
    return None if found is None else int(found)


def _plain(text: str, what: str) -> float:
    found = number(text)
    if found is None or found != found or abs(found) == float("inf"):
        raise InvalidProblem(f"{what}: {fault(text)}.")
    return found


def _chosen(draft: dict[str, Any], values: dict[str, str], roles: dict[str, str]) -> dict[str, Any]:
    """The settings as the interface takes them."""
    goal = values["goal"] if values["goal"] in GOALS else "best"
    if goal != "best":
        goal = f"{goal}:{values['value']}"
    counts = {name: _count(values, name, what) for name, what in COUNTS.items()}
    out: dict[str, Any] = {
        **draft["files"],
        "roles": roles,
        "model": values["formula"] if values["model"] == "formula" else values["model"],
        "goal": goal,
        "minimise": bool(values["minimise"]),
        "delta": _number(values, "delta", "the probability of a wrong answer", 0.05),
        "epsilon": _number(values, "epsilon", "differences that do not matter", 0.0),
        **counts,
        "promise": values["promise"] if values["promise"] == "share" else None,
        "misfit": _number(values, "misfit", "how far outcomes may be off the model", 0.0),
        "normal": bool(values["normal"]),
        "matters": _number(values, "matters", "a difference that matters"),
        "algorithm": values["algorithm"] or None,
        "gaps": [_plain(text, "a difference to forecast") for text in values["gaps"].split()],
        "range": [_number(values, "least", "the least outcome"), _number(values, "most", "the largest outcome")],
        "outcome_name": values["outcome_name"],
        "unit": values["unit"],
        "amendments": _number(values, "amendments", "the share for corrections", 0.0),
        "aggregated": {"yes": True, "means": "means"}.get(values["aggregated"], False),
        "weighted": values["aggregated"] == "weighted",
    }
    if values["noise"] == "bounded":
        low, high = (
            _number(values, "low", "the least outcome", 0.0),
            _number(values, "high", "the largest outcome", 1.0),
        )
        return out | {"outcome": "bounded", "bounds": [low, high]}
    if values["noise"] == "poisson":
        return out | {"outcome": "poisson"}
    if values["noise"] == "unknown":
        return out | {"sigma": "unknown"}
    if values["noise"] == "sigma":
        return out | {"sigma": _number(values, "sigma", "the standard deviation")}
    return out
