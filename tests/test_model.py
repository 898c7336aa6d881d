# ruff: noqa: E501  (a case is a line)
"""From plain tables to features: sixty kinds of tables, each the right model or a sentence, and what must not matter."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import probewise as pw
from probewise.model import remarks
from probewise.model.formula import parsed, written
from probewise.model.space import read_space
from probewise.reading import read_table
from probewise.tables import Table
from probewise.writing import write_table

ROWS = [
    ("L1", "THF", 60.0), ("L1", "DMF", 80.5), ("L2", "THF", 80.5), ("L2", "DMF", 60.0), ("L3", "THF", 60.0),
    ("L3", "DMF", 100.0), ("L1", "THF", 100.0),
]  # fmt: skip
ITEMS = [("L1", "DMF", 70.0), ("L2", "THF", 90.25), ("L3", "THF", 70.0), ("L3", "DMF", 110.0)]
HEADER = ("ligand", "solvent", "temperature")


def file(rows: list[Any], header: Any = HEADER, separator: str = ",", decimal: str = ".") -> str:
    """A CSV file as somebody might save it."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow([str(c).replace(".", decimal) if isinstance(c, float) else c for c in row])
    return out.getvalue()


def by_hand(*columns: list[Any]) -> np.ndarray:
    """Constant, numbers as they are, and an indicator of every level but the first: the textbook's coding."""
    out = [np.ones(len(columns[0]))]
    for column in columns:
        if isinstance(column[0], str):
            out += [np.array([cell == level for cell in column], dtype=float) for level in sorted(set(column))[1:]]
        else:
            out.append(np.array(column, dtype=float))
    return np.column_stack(out)


def same_span(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two codings of the same rows are the same model."""
    one, other = (table / np.abs(table).max(axis=0) for table in (one, other))
    ranks = {int(np.linalg.matrix_rank(table, tol=1e-8)) for table in (one, other, np.hstack([one, other]))}
    return len(ranks) == 1


def coded(problem: pw.Problem) -> np.ndarray:
    return np.vstack([problem.probes, problem.items])


def with_column(values: list[Any], name: str = "more", rows: list[Any] = ROWS) -> str:
    return file([(*row, value) for row, value in zip(rows, values, strict=True)], (*HEADER, name))


PROBES, THINGS = file(ROWS), file(ITEMS)
GERMAN = file(ROWS, separator=";", decimal=","), file(ITEMS, separator=";", decimal=",")
DEGREES = ("ligand", "solvent", "T (°C)")


def replaced(old: str, new: str) -> tuple[str, str]:
    return PROBES.replace(old, new), THINGS.replace(old, new)


RIGHT: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "plain": (PROBES, THINGS, {}),
    "semicolons": (file(ROWS, separator=";"), file(ITEMS, separator=";"), {}),
    "tabs": (file(ROWS, separator="\t"), file(ITEMS, separator="\t"), {}),
    "semicolons and decimal commas": (*GERMAN, {}),
    "tabs and decimal commas": (
        file(ROWS, separator="\t", decimal=","), file(ITEMS, separator="\t", decimal=","), {},
    ),
    "commas in quotes": (file(ROWS, decimal=","), file(ITEMS, decimal=","), {}),
    "one table German, one English": (GERMAN[0], THINGS, {}),
    "byte order mark": ("\ufeff" + PROBES, "\ufeff" + THINGS, {}),
    "sep= in the first line": ("sep=;\n" + GERMAN[0], "sep=;\n" + GERMAN[1], {}),
    "UTF-16 of a spreadsheet": (PROBES.encode("utf-16"), THINGS.encode("utf-16"), {}),
    "Windows letters": (file(ROWS, DEGREES).encode("cp1252"), file(ITEMS, DEGREES).encode("cp1252"), {}),
    "Windows line ends": (PROBES.replace("\n", "\r\n"), THINGS.replace("\n", "\r\n"), {}),
    "blank lines and cells around": ("\n" + PROBES.replace(",", " , ") + "\n,,\n", THINGS, {}),
    "an empty column at the end": (PROBES.replace("\n", ",\n"), THINGS, {}),
    "columns in another order": (PROBES, file([row[::-1] for row in ITEMS], HEADER[::-1]), {}),
    "units in the names": (file(ROWS, DEGREES), file(ITEMS, DEGREES), {}),
    "an id": (file([(f"p{i}", *r) for i, r in enumerate(ROWS)], ("ID", *HEADER)), THINGS, {}),
    "a named id": (
        file([(f"p{i}", *r) for i, r in enumerate(ROWS)], ("name", *HEADER)),
        file([(f"p{i}", *r) for i, r in enumerate(ITEMS)], ("name", *HEADER)), {"id_column": "name"},
    ),
    "a column of ones": (with_column([1] * 7), with_column([1] * 4, rows=ITEMS), {}),
    "a column of one word": (with_column(["lab"] * 7), with_column(["lab"] * 4, rows=ITEMS), {}),
    "an empty column": (with_column([""] * 7), with_column([""] * 4, rows=ITEMS), {}),
    "a number that is constant but for rounding": (
        with_column([0.3, 0.1 + 0.2] * 3 + [0.3]), with_column([0.3] * 4, rows=ITEMS), {},
    ),
    "a column only shown": (with_column(list("abcdefg")), THINGS, {"shown": ["more"]}),
    "a cost": (with_column([1, 2, 3, 1, 2, 3, 1]), THINGS, {"cost_column": "more"}),
    "a noise with commas": (
        file([(*r, 0.5) for r in ROWS], (*HEADER, "s"), ";", ","), THINGS, {"sigma_column": "s"},
    ),
    "a stock with holes": (with_column([1, "", 3, 1, "", 3, 1]), THINGS, {"stock_column": "more"}),
    "dates only shown": (with_column(["2026-01-02"] * 7), THINGS, {"shown": ["more"]}),
    "not in the formula": (with_column(list("abcdefg")), THINGS, {"model": "ligand + solvent + temperature"}),
    "a formula with a bare name": (file(ROWS, DEGREES), file(ITEMS, DEGREES), {"model": "ligand + solvent + T"}),
    "a formula of everything": (PROBES, THINGS, {"model": "."}),
    "text in other cases of Unicode": (
        PROBES.replace("DMF", "Äther"), THINGS.replace("DMF", "A\u0308ther"), {},
    ),
    "blanks that nobody sees": (PROBES.replace("DMF", "DMF\u00a0"), THINGS, {}),
    "words and digits": (*replaced("THF", "2-MeTHF"), {}),
    "levels that look like numbers and units": (*replaced("THF", "5a"), {}),
    "a level called none": (*replaced("THF", "none"), {}),
    "sodium": (*replaced("THF", "Na"), {}),
    "levels with commas and quotes": (*replaced("THF", '"2,4-D ""x"""'), {}),
    "a level that a spreadsheet would compute": (*replaced("THF", "'=THF"), {}),
    "TRUE and FALSE": (replaced("THF", "TRUE")[0].replace("DMF", "FALSE"),
                       replaced("THF", "true")[1].replace("DMF", "False"), {}),
    "numbers of a factor": (*(t.replace("L1", "1").replace("L2", "2").replace("L3", "7") for t in (PROBES, THINGS)),
                            {"factors": ["ligand"]}),
    "numbers of a factor, written otherwise": (
        PROBES.replace("L1", "1").replace("L2", "2").replace("L3", "7"),
        THINGS.replace("L1", "1.0").replace("L2", "2e0").replace("L3", "7"), {"factors": ["ligand"]},
    ),
    "codes as a factor": (*(t.replace("L", "00") for t in (PROBES, THINGS)), {"factors": ["ligand"]}),
    "thousands apart": (
        file([(a, b, f"1 {c:05.1f}") for a, b, c in ROWS]), file([(a, b, 1000 + c) for a, b, c in ITEMS]), {},
    ),
    "thousands that leave no doubt": (
        file([(a, b, f"1,234,{c:05.1f}") for a, b, c in ROWS]), file([(a, b, 1234000 + c) for a, b, c in ITEMS]), {},
    ),
    "minus signs of typographers": (
        file([(a, b, f"\u2212{c}") for a, b, c in ROWS]), file([(a, b, -c) for a, b, c in ITEMS]), {},
    ),
    "numbers with exponents": (
        file([(a, b, f"{c / 10:.6f}E+1") for a, b, c in ROWS]), THINGS, {},
    ),
    "the same probe twice": (PROBES + PROBES.splitlines()[-1] + "\n", THINGS, {}),
    "one item": (PROBES, file(ITEMS[:1]), {}),
    "items that all have a level of their own": (PROBES, THINGS.replace("L1", "L3").replace("L2", "L3"), {}),
    "pandas": (pd.DataFrame(ROWS, columns=list(HEADER)), pd.DataFrame(ITEMS, columns=list(HEADER)), {}),
    "pandas with an index and categories": (
        pd.DataFrame(ROWS, columns=list(HEADER), index=list("abcdefg")).astype({"ligand": "category"}),
        pd.DataFrame(ITEMS, columns=list(HEADER)), {},
    ),
    "polars": (pl.DataFrame(ROWS, HEADER, orient="row"), pl.DataFrame(ITEMS, HEADER, orient="row"), {}),
    "a frame and a file": (pl.DataFrame(ROWS, HEADER, orient="row"), THINGS, {}),
    "truth in a frame": (
        pl.DataFrame([(a, b == "THF", c) for a, b, c in ROWS], HEADER, orient="row"),
        file([(a, str(b == "THF").upper(), c) for a, b, c in ITEMS]), {},
    ),
}  # fmt: skip
"""Tables that all mean the same: ligand, solvent and temperature; some with fewer or repeated rows."""


def given_as(source: Any, folder: Path, name: str) -> Any:
    if not isinstance(source, str | bytes):
        return source
    path = folder / name
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    return path


@pytest.mark.parametrize("kind", RIGHT)
def test_the_right_model(kind: str, tmp_path: Path) -> None:
    probes, items, options = RIGHT[kind]
    problem = pw.Problem.from_tables(given_as(probes, tmp_path, "p.csv"), given_as(items, tmp_path, "i.csv"), **options)
    rows = [*ROWS, *([ROWS[-1]] if "twice" in kind else []), *ITEMS[: problem.n_items]]
    if "of their own" in kind:
        rows = [*ROWS, *(("L3", b, c) for _, b, c in ITEMS)]
    assert same_span(coded(problem), by_hand(*map(list, zip(*rows, strict=True))))
    assert problem.n_probes == len(rows) - problem.n_items
    assert problem.model is not None
    assert all(role.reason for role in problem.model.roles)
    assert pw.Model.from_json(json.loads(json.dumps(problem.model.to_json()))) == problem.model


REFUSED: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "decimal commas and points": (
        PROBES.replace(",", ";").replace("60.0", "60,0"), THINGS, {},
        r"p\.csv has numbers with decimal commas \('60,0', line 2\) and with decimal points \('80\.5', line 3\); write all",
    ),
    "a comma of two meanings": (
        file([(a, b, f"{c:.0f},250") for a, b, c in ROWS]), THINGS, {},
        r"line 2, column 'temperature': '60,250' may be 60\.250 or 60250; write 60,2500 or 60250, which leave no doubt",
    ),
    "a point of two meanings": (
        file([(a, b, f"{c:.0f}.250") for a, b, c in ROWS], separator=";"), THINGS, {}, r"'60\.250' may be 60\.250 or 60250",
    ),
    "letters of an unknown encoding": (
        PROBES.replace("DMF", "Łódź").encode("cp1250"), THINGS, {}, r"p\.csv is not UTF-8 text, and line 3 has a letter",
    ),
    "letters of DOS": (PROBES.replace("DMF", "Äther").encode("cp850"), THINGS, {}, r"is not UTF-8 text, and line 3 has"),
    "a level that no probe has": (
        PROBES, THINGS.replace("L2", "L9"), {},
        r"no probe has the level 'L9' of 'ligand', but 1 item has it \(i\.csv, line 3\), so nothing can be learned",
    ),
    "a level in another spelling": (
        PROBES, THINGS.replace("THF", "thf"), {}, r"no probe has the level 'thf' .* \(is 'thf' the same as 'THF'\?\): add",
    ),
    "a number that no probe varies": (
        file([(a, b, 60) for a, b, _ in ROWS]), THINGS, {}, r"'temperature' is the same in every probe, but 4 items of 4 differ from that, and no probe shows what it does: add",
    ),
    "a column that items lack": (
        with_column(list("aabbccd")), THINGS, {}, r"'more' is in p\.csv and not in i\.csv; add it there, say what it is",
    ),
    "a column that probes lack": (PROBES, with_column(list("aabb"), rows=ITEMS), {}, r"'more' is in i\.csv and not in p\.csv;"),
    "a column of another unit": (
        file(ROWS, DEGREES), file(ITEMS, ("ligand", "solvent", "T (K)")), {},
        r"'T \(°C\)' is in p\.csv and not in i\.csv \(is it 'T \(K\)' there\?\)|'T \(K\)' is in i\.csv",
    ),
    "a column in another case": (
        PROBES, THINGS.replace("solvent", "Solvent"), {}, r"'Solvent' is in i\.csv and not in p\.csv \(is it 'solvent' there\?\)",
    ),
    "swapped columns": (
        PROBES, file([(a, c, b) for a, b, c in ITEMS]), {}, r"column 'solvent' holds text in p\.csv and numbers in i\.csv; fill",
    ),
    "words among numbers": (
        PROBES.replace("80.5", "warm"), THINGS, {}, r"p\.csv, line 3, column 'temperature': 'warm' is not a number, but other",
    ),
    "a hole among numbers": (PROBES.replace("80.5", ""), THINGS, {}, "column 'temperature': the number is missing; fill"),
    "a hole among words": (PROBES.replace("DMF", ""), THINGS, {}, "line 3, column 'solvent': the level is missing, got ''"),
    "NA among words": (PROBES.replace("DMF", "NA"), THINGS, {}, "column 'solvent': the level is missing, got 'NA'; fill"),
    "an error of a spreadsheet": (PROBES.replace("DMF", "#N/A"), THINGS, {}, "'#N/A' is an error of a spreadsheet; put"),
    "dates": (
        with_column(["2026-01-02", "2026-01-03"] * 3 + ["2026-02-03"]), with_column(["2026-01-02"] * 4, rows=ITEMS), {},
        r"column 'more': '2026-01-02' is a date or time, and neither a number nor a level; give the days since",
    ),
    "German dates": (with_column(["2.1.2026"] * 7), with_column(["3.1.2026"] * 4, rows=ITEMS), {}, "is a date or time"),
    "dates of a frame": (
        pl.DataFrame([(*r, date(2026, 1, 2)) for r in ROWS], (*HEADER, "day"), orient="row"),
        pl.DataFrame([(*r, date(2026, 1, 3)) for r in ITEMS], (*HEADER, "day"), orient="row"), {}, "is a date or time",
    ),
    "units in the cells": (
        file([(a, b, f"{c} °C") for a, b, c in ROWS]), file([(a, b, f"{c} °C") for a, b, c in ITEMS]), {},
        r"'60\.0 °C' is a number with its unit; write the unit into the heading, as in temperature \(°C\), or say",
    ),
    "mixed units in the cells": (
        file([(a, b, f"{c} mM" if c < 90 else "0.1 M") for a, b, c in ROWS]), THINGS, {}, "is a number with its unit",
    ),
    "per cent": (file([(a, b, f"{c}%") for a, b, c in ROWS]), THINGS, {}, "'60.0%' is a number with its unit"),
    "codes with zeros": (
        PROBES.replace("L", "00"), THINGS.replace("L", "00"), {}, r"'001' begins with 0, as codes do and numbers do not;",
    ),
    "another text in every row": (
        with_column(list("abcdefg")), with_column(list("abcd"), rows=ITEMS), {},
        r"column 'more' has another text in every row: say --id-column 'more' if it names the rows, or --factor 'more'",
    ),
    "an id twice": (
        file([("p", *r) for r in ROWS], ("id", *HEADER)), THINGS, {}, "every probe needs its own name, but several are",
    ),
    "items that differ in what is only shown": (
        PROBES, file([("L1", "DMF", 70, "x"), ("L1", "DMF", 70, "y")], (*HEADER, "more")), {"shown": ["more"]},
        r"differ in 'more' only, which makes no difference in the model, so neither can be the better one; add it to the model",
    ),
    "the same item twice": (PROBES, file([ITEMS[0], ITEMS[0]]), {}, "are identical, so neither can be the better one"),
    "nothing that varies": (file([ROWS[0]]), None, {}, r"no column makes a difference between rows: 'ligand' is constant"),
    "no rows": (file([]), THINGS, {}, r"p\.csv has no rows; give at least one"),
    "no items": (PROBES, file([]), {}, r"i\.csv has no rows; give at least one"),
    "two columns of a name": (PROBES.replace("solvent", "ligand"), THINGS, {}, "more than one column called 'ligand'"),
    "two roles": (PROBES, THINGS, {"shown": ["ligand"], "factors": ["ligand"]}, "cannot be a factor and shown; say one"),
    "text as features": (PROBES, THINGS, {"model": "none"}, "the model none takes numbers as they are, but column 'ligand'"),
    "a square of two values": (
        PROBES.replace("80.5", "60.0"), THINGS, {"model": "ligand + solvent + temperature + temperature^2"},
        "no combination of probes compares items",
    ),
    "arrays": (np.ones((2, 2)), None, {}, "probes must be a data frame or the path of a table, got ndarray; arrays go to"),
    "sigma twice": (PROBES, THINGS, {"sigma": 2, "sigma_column": "temperature"}, "give sigma or sigma_column, not both"),
    "more than memory holds": (
        file([(f"a{i}", f"b{i}") for i in range(7000)] + [("a0", "b1"), ("a1", "b0")], ("a", "b")), None,
        {"model": "a:b"}, r"7,002 rows of p\.csv with 49,000,001 features take 2744\.8 GB, and 2\.1 is the most",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_a_sentence(kind: str, tmp_path: Path) -> None:
    probes, items, options, match = REFUSED[kind]
    tables = given_as(probes, tmp_path, "p.csv"), given_as(items, tmp_path, "i.csv")
    with pytest.raises(pw.InvalidProblem, match=match) as caught:
        pw.BestItem().check(pw.Problem.from_tables(*tables, **options))
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_there_are_sixty_kinds_of_tables() -> None:
    assert len(RIGHT) + len(REFUSED) >= 60


# --- what is said --------------------------------------------------------------------------------------------------


def test_every_role_is_said(tmp_path: Path) -> None:
    header = ("id", *HEADER, "price", "sd", "left", "lab", "day", "note")
    rows = [(f"p{i}", *row, 1 + i, 0.5, "", "ours", "2026-01-02", "") for i, row in enumerate(ROWS)]
    items = [(f"i{i}", *row, "ours", "") for i, row in enumerate(ITEMS)]
    problem = pw.Problem.from_tables(
        given_as(file(rows, header), tmp_path, "p.csv"), given_as(file(items, ("id", *HEADER, "lab", "note")), tmp_path, "i.csv"),
        cost_column="price", sigma_column="sd", stock_column="left", shown=["day"],
    )  # fmt: skip
    assert problem.model is not None
    said = {role.column: (role.role, role.reason) for role in problem.model.roles}
    assert said == {
        "id": ("name", "names the rows, being called id"),
        "ligand": ("factor", "text; 3 levels: L1, L2, L3"),
        "solvent": ("factor", "text; 2 levels: DMF, THF"),
        "temperature": ("number", "60 to 110"),
        "price": ("cost", "the cost of each probe, as was said"),
        "sd": ("noise", "the noise of each probe, as was said"),
        "left": ("stock", "the stock of each probe, as was said"),
        "lab": ("constant", "'ours' in every row, so it makes no difference"),
        "day": ("shown", "shown only, as was said"),
        "note": ("ignored", "all its cells are empty"),
    }
    assert (problem.cost.tolist(), set(problem.sigma), set(problem.stock)) == ([1, 2, 3, 4, 5, 6, 7], {0.5}, {np.inf})
    assert problem.model.describe()[-1] == "model: intercept + ligand + solvent + temperature (7 features)"
    assert problem.feature_names[:4] == ("intercept", "ligand=L1", "ligand=L2", "ligand=L3")
    assert problem.item_names == ("i0", "i1", "i2", "i3")


def test_rows_are_named_after_their_cells() -> None:
    frame = pl.DataFrame([*ROWS, ROWS[0]], HEADER, orient="row")
    problem = pw.Problem.from_tables(frame, pl.DataFrame(ITEMS, HEADER, orient="row"))
    assert problem.probe_names[0] == "L1, THF, 60"
    assert problem.probe_names[-1] == "L1, THF, 60 (2)"
    assert problem.item_names[1] == "L2, THF, 90.25"
    wide = pl.DataFrame({f"x{i}": np.eye(8)[i] for i in range(8)})
    assert pw.Problem.from_tables(wide).probe_names[:2] == ("row 1", "row 2")


def test_levels_that_look_alike_are_remarked_on(tmp_path: Path) -> None:
    text = PROBES.replace("L1,DMF", "L1,dmf").encode("utf-16")
    problem = pw.Problem.from_tables(given_as(text, tmp_path, "p.csv"), given_as(GERMAN[1], tmp_path, "i.csv"))
    assert problem.model is not None
    assert problem.tables is not None
    assert remarks(problem.model, *problem.tables) == [
        "i.csv has decimal commas: 0,5 is read as one half.",
        "The levels 'DMF', 'dmf' of 'solvent' count as different; write them alike if not.",
    ]
    windows = read_table(given_as(file(ROWS, DEGREES).encode("cp1252"), tmp_path, "w.csv"))
    assert windows.remarks == ("w.csv is not UTF-8; it was read as Windows text, so look at its special letters.",)


# --- terms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "terms"),
    [
        ("a + b", "intercept + a + b"),
        ("b + a - 1", "b + a"),
        ("-1 + a", "a"),
        ("f*a", "intercept + f + a + f:a"),
        ("f:a + f", "intercept + f + f:a"),
        ("a + a^2", "intercept + a + a^2"),
        ("a + a**3", "intercept + a + a^3"),
        ("(f + a + b)^2", "intercept + f + a + b + f:a + f:b + a:b"),
        (".", "intercept + f + a + b + odd name (°C)"),
        (". - b", "intercept + f + a + odd name (°C)"),
        ("f*(a + b)", "intercept + f + a + b + f:a + f:b"),
        ("f*a - f:a", "intercept + f + a"),
        ("a:a", "intercept + a^2"),
        ("f:f", "intercept + f"),
        ("`odd name (°C)` + 'odd name'", "intercept + odd name (°C)"),
    ],
)
def test_formulas_mean(formula: str, terms: str) -> None:
    found = parsed(formula, ["f", "a", "b", "odd name (°C)"], {"f"})
    assert " + ".join(map(written, found)) == terms


@pytest.mark.parametrize(
    ("formula", "match"),
    [
        ("", "it is empty; a model is main, interactions, quadratic, none, or a formula such as"),
        ("a +", "it ends too early"),
        ("a b", "did not expect 'b'"),
        ("(a + b", "a parenthesis is not closed"),
        ("y ~ a", "leave the outcome and ~ out"),
        ("log(a)", r"functions such as log\(...\) are not part of it: add a column with their values"),
        ("c", "there is no column 'c' to use, but 'f', 'a', 'b'"),
        ("f^2", "'f' is a factor, whose powers are itself"),
        ("a^x", "a power is a whole number from 1 to 9, got 'x'"),
        ("a^99", "got '99'"),
        ("a + 0", "write - 1 to leave the intercept out"),
        ("1", "it names no column"),
        ("a & b", "did not expect '&'"),
        ("a^2 + b", r"has a\^2 and not a, so the answer would depend on the zero of 'a'; add a"),
        ("f:a", "has f:a and not f, so the answer would depend on the zero of 'a'; add f"),
        ("a:b + a", "has a:b and not b, so the answer would depend on the zero of 'a'; add b"),
        ("a + one", "the formula names 'one', which cannot be used: 1 in every row"),
    ],
)
def test_formulas_that_mean_nothing(formula: str, match: str) -> None:
    table = pl.DataFrame({"f": list("xyxyz"), "a": [1, 2, 3, 4, 6], "b": [1, 4, 2, 2, 5], "one": [1] * 5})
    with pytest.raises(pw.InvalidProblem, match=match):
        pw.Problem.from_tables(table, model=formula)


@pytest.mark.parametrize(
    ("model", "dimension", "rank"),
    [("main", 7, 5), ("interactions", 18, 10), ("quadratic", 19, 11), ("ligand*temperature - 1", 7, 6)],
)
def test_words_for_models(model: str, dimension: int, rank: int) -> None:
    every = pw.Problem.from_tables(
        pl.DataFrame(
            [(a, b, c) for a in ("L1", "L2", "L3") for b in ("D", "T") for c in (60.0, 70.0, 90.0)],
            HEADER,
            orient="row",
        ),
        None if "-" not in model else pl.DataFrame([("L1", "D", 60.0), ("L2", "D", 70.0)], HEADER, orient="row"),
        model=model,
    )
    assert (every.dimension, every.coordinates.rank) == (dimension, rank)


def test_a_square_of_two_values_is_left_out_of_quadratic() -> None:
    table = pl.DataFrame({"x": [0, 0, 1, 1], "y": [0, 2, 3, 1]})
    assert pw.Problem.from_tables(table, model="quadratic").feature_names == ("intercept", "x", "y", "x:y", "y^2")


def test_without_an_intercept_zero_is_zero() -> None:
    shares = pl.DataFrame({"a": [1.0, 0.0, 0.5], "b": [0.0, 1.0, 0.5]})
    problem = pw.Problem.from_tables(shares, model="a + b - 1")
    np.testing.assert_array_equal(problem.probes, shares.to_numpy())


def test_features_as_they_are_are_those_of_arrays() -> None:
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(9, 3)), rng.normal(size=(5, 3))
    names = ["a", "b", "c"]
    problem = pw.Problem.from_tables(pd.DataFrame(X, columns=names), pd.DataFrame(Z, columns=names), model="none")
    np.testing.assert_array_equal(problem.probes, X)
    np.testing.assert_array_equal(problem.items, Z)
    assert problem.feature_names == ("a", "b", "c")


# --- later rows ----------------------------------------------------------------------------------------------------


def test_later_rows_are_coded_alike() -> None:
    frame = pl.DataFrame(FULL, HEADER, orient="row")
    first = pw.Problem.from_tables(frame, pl.DataFrame(ITEMS, HEADER, orient="row"), model="quadratic")
    assert first.model is not None
    kept = pw.Model.from_json(json.loads(json.dumps(first.model.to_json())))
    later = pw.Problem.from_tables(
        frame, pl.DataFrame([*ITEMS, ("L1", "THF", 300.0)], HEADER, orient="row"), model=kept
    )
    np.testing.assert_array_equal(later.probes, first.probes)
    np.testing.assert_array_equal(later.items[:4], first.items)
    assert later.items[4, first.feature_names.index("temperature")] == pytest.approx((300.0 - 85.0) / 25.0, rel=1e-11)
    with pytest.raises(
        pw.InvalidProblem, match="'L7' is not one of the levels that the model has, 'L1', 'L2', 'L3'; use"
    ):
        kept.coded(Table("new", HEADER, (["L7"], ["THF"], ["60"])))
    with pytest.raises(pw.InvalidProblem, match="column 'temperature' of new must hold numbers, got text"):
        kept.coded(Table("new", HEADER, (["L1"], ["THF"], ["hot"])))


# --- what must not matter ------------------------------------------------------------------------------------------

FULL = [(a, b, c) for a in ("L1", "L2", "L3") for b in ("THF", "DMF") for c in (60.0, 75.0, 100.0)]


def found(
    rows: list[Any], items: list[Any], model: str, header: tuple[str, ...] = HEADER
) -> tuple[float, dict[str, float]]:
    """The value of the best design, and what it gives each item's difference to the last: by the names of the items."""
    frames = (pl.DataFrame(part, header, orient="row", infer_schema_length=None) for part in (rows, items))
    problem = pw.Problem.from_tables(*frames, model=model)
    design = pw.optimal_design(problem.scaled_probes, pw.pairs(problem.items), tol=1e-7)
    assert design.converged
    truth = {"L1": 1.0, "L2": -0.5, "L3": 0.3, "THF": 0.2, "DMF": -0.2}
    outcomes = np.array([sum(truth.get(str(cell), 0.0) for cell in row) for row in rows])
    outcomes += np.array([0.01 * _celsius(row, header) for row in rows])
    estimate = np.linalg.lstsq(problem.probes, outcomes, rcond=None)[0]
    values = problem.items @ estimate
    return design.value, {_key(row, header): float(v - values.mean()) for row, v in zip(items, values, strict=True)}


UNITS = {"°C": (1.0, 0.0), "K": (1.0, 273.15), "°F": (1.8, 32.0)}


def _celsius(row: Any, header: tuple[str, ...]) -> float:
    at = next(i for i, name in enumerate(header) if name.startswith("temp"))
    unit = next((unit for unit in UNITS if f"({unit})" in header[at]), "°C")
    factor, offset = UNITS[unit]
    return float((row[at] - offset) / factor)


def _key(row: Any, header: tuple[str, ...]) -> str:
    cells = {name.partition(" ")[0]: cell for name, cell in zip(header, row, strict=True)}
    return f"{cells['ligand']} {cells['solvent']} {round(_celsius(row, header), 6)}"


REFERENCE = {model: found(FULL, ITEMS[:3], model) for model in ("main", "interactions", "quadratic")}


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_nothing_depends_on_order_levels_units_or_duplicates(data: st.DataObject) -> None:
    model = data.draw(st.sampled_from(sorted(REFERENCE)))
    order = data.draw(st.permutations(range(3)))
    unit = data.draw(st.sampled_from(sorted(UNITS)))
    factor, offset = UNITS[unit]
    header = tuple((*HEADER[:2], f"temperature ({unit})")[i] for i in order)

    def told(row: Any) -> tuple[Any, ...]:
        whole = (row[0], row[1], factor * row[2] + offset)
        return tuple(whole[i] for i in order)

    rows = [told(row) for row in data.draw(st.permutations(FULL))]
    rows += data.draw(st.lists(st.sampled_from(rows), max_size=3))
    items = [told(row) for row in data.draw(st.permutations(ITEMS[:3]))]
    value, values = found(rows, items, model, header)
    assert value == pytest.approx(REFERENCE[model][0], rel=1e-5)
    assert values == pytest.approx(REFERENCE[model][1], abs=1e-8)


@settings(max_examples=20, deadline=None)
@given(st.permutations(["L1", "L2", "L3"]), st.permutations(["THF", "DMF"]), st.sampled_from(sorted(REFERENCE)))
def test_names_of_levels_and_so_their_order_do_not_matter(ligands: list[str], solvents: list[str], model: str) -> None:
    """Renamed, another level comes first: the design is the same."""
    new = {**dict(zip(("L1", "L2", "L3"), ligands, strict=True)), **dict(zip(("THF", "DMF"), solvents, strict=True))}
    value, _ = found([(new[a], new[b], c) for a, b, c in FULL], [(new[a], new[b], c) for a, b, c in ITEMS[:3]], model)
    assert value == pytest.approx(REFERENCE[model][0], rel=1e-5)


@pytest.mark.parametrize("unit", ["K", "°F"])
def test_units_give_the_same_features(unit: str) -> None:
    factor, offset = UNITS[unit]
    frame, other = (
        pl.DataFrame([(a, b, f * c + o) for a, b, c in ROWS], HEADER, orient="row")
        for f, o in ((1.0, 0.0), (factor, offset))
    )
    for model in ("main", "quadratic"):
        items = frame.head(1), other.head(1)
        one, two = (pw.Problem.from_tables(f, i, model=model) for f, i in zip((frame, other), items, strict=True))
        np.testing.assert_allclose(one.probes, two.probes, rtol=0, atol=1e-13)


@pytest.mark.parametrize("first", [0, 1, 2])
def test_the_design_is_that_of_a_matrix_made_by_hand(first: int) -> None:
    """With any level as the reference."""
    ligands = ["L1", "L2", "L3"]
    ligands.remove(f"L{first + 1}")
    by_hand = [
        np.array([[1.0, *(a == own for own in ligands), b == "THF", c] for a, b, c in rows], dtype=float)
        for rows in (FULL, ITEMS[:3])
    ]
    design = pw.optimal_design(by_hand[0], pw.pairs(by_hand[1]), tol=1e-7)
    assert design.value == pytest.approx(REFERENCE["main"][0], rel=1e-5)


# --- what it costs -------------------------------------------------------------------------------------------------


def test_importing_the_package_loads_no_model_and_no_pandas() -> None:
    code = "import sys, probewise; print([m for m in ('pandas', 'polars', 'probewise.model') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


# --- columns that follow from others -------------------------------------------------------------------------------


def test_the_last_of_shares_adds_nothing_and_that_is_said() -> None:
    table = pw.space({"acid": ["x", "y"]}, mixture=["a", "b", "c"], step=0.1)
    problem = pw.Problem.from_tables(table, model="quadratic")
    assert problem.model is not None
    assert problem.model.roles[-1] == pw.Role(
        "c", "ignored", "follows from 'a', 'b' in every row, so that it adds nothing"
    )
    hand = [np.array([[1, s == "x", *(u for u in (a, b, c)), a * b, a * c, b * c, a * a, b * b, c * c,
                       *(u * (s == "x") for u in (a, b, c))]]) for s, a, b, c in zip(*table.columns, strict=True)]  # fmt: skip
    assert same_span(problem.probes, np.vstack(hand))
    design = pw.optimal_design(problem.probes, pw.points(problem.items))
    assert (design.exact, design.converged) == (True, True)
    kept = pw.Model.from_json(json.loads(json.dumps(problem.model.to_json())))
    assert kept == problem.model
    with pytest.raises(
        pw.InvalidProblem, match="row 0, column 'c': the model leaves it out, since it followed from 'a', 'b'"
    ):
        kept.coded(Table("new", table.header, (["x"], np.array([0.1]), np.array([0.2]), np.array([0.6]))))
    with pytest.raises(
        pw.InvalidProblem, match="the formula names 'c', which cannot be used: follows from 'a', 'b' in"
    ):
        pw.Problem.from_tables(table, model="a + b + c")
    assert pw.Problem.from_tables(table, model="a + b + c + acid - 1").coordinates.rank == 4


def test_kelvins_beside_degrees_add_nothing() -> None:
    frame = pl.DataFrame([(*row, row[2] + 273.15) for row in ROWS], (*HEADER, "kelvin"), orient="row")
    problem = pw.Problem.from_tables(frame)
    assert "kelvin" not in problem.feature_names
    assert problem.model is not None
    assert problem.model.roles[-1].reason == "follows from 'temperature' in every row, so that it adds nothing"


# --- spaces --------------------------------------------------------------------------------------------------------


def test_a_space_has_all_combinations() -> None:
    table = pw.space({"ligand": ["A", "B"], "temperature": [60, 80, 100]}, where="temperature < 100 or ligand == 'A'")
    assert list(zip(*(column.tolist() for column in table.columns), strict=True)) == [
        ("A", 60.0), ("A", 80.0), ("A", 100.0), ("B", 60.0), ("B", 80.0),
    ]  # fmt: skip
    assert pw.Problem.from_tables(table).item_names[2] == "A, 100"


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ("t * 0.1 + 0.2 == 6.2", [60]),
        ("60 < t <= 80", [70, 80]),
        ("t in [60, 80]", [60, 80]),
        ("t not in [60, 80]", [70]),
        ("not (t > 60 and t < 80)", [60, 80]),
        ("t / 10 % 2 == 0 or -t >= -60", [60, 80]),
        ("`t (K)` != 60", [70, 80]),
        ("t ** 2 < 4000", [60]),
        ("1 < 2", [60, 70, 80]),
    ],
)
def test_conditions(where: str, rows: list[float]) -> None:
    assert pw.space({"t (K)": [60, 70, 80]}, where=where).numbers("t (K)").tolist() == rows


@pytest.mark.parametrize(
    ("where", "match"),
    [
        ("t <", "invalid syntax"),
        ("t < 'x'", "a word is compared with a number"),
        ("l < 'B'", "words are equal or not, and not larger"),
        ("l + 1 > 2", "l is text, with which nothing can be calculated"),
        ("q > 1", "there is no column 'q', but 'l', 't'"),
        ("t / 0 > 1", "t / 0 is not a number in some row"),
        ("t", "t is neither true nor false"),
        ("t is 3", "is and is not compare nothing here"),
        ("l in 'AB'", r"what follows in is a list, as in \['A', 'B'\]"),
        ("__import__('os').remove('x') == 1", "is not a column, number or word"),
        ("t.size == 1", "t.size is not a column, number or word"),
        ("(lambda: 1)() == 1", "is not a column, number or word"),
        ("t ** 9 ** 9 ** 9 > 1", "is not a number in some row"),
        ("t > " + "9" * 400, "a number in it is too large"),
        ("t > 1" + " + 1" * 900, "it is too long"),
        ("t > 1000", "none of the 6 combinations fulfils the condition 't > 1000'; change it"),
    ],
)
def test_conditions_that_are_none(where: str, match: str) -> None:
    with pytest.raises(pw.InvalidProblem, match=match):
        pw.space({"l": ["A", "B"], "t": [60, 70, 80]}, where=where)


def test_mixtures_sum_to_one() -> None:
    table = pw.space({}, mixture=["a", "b", "c"], step=0.1, where="a + b <= 0.3")
    shares = np.column_stack(table.columns)
    assert len(table) == 10  # as many as there are ways to share at most three tenths
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert {0.3, 0.1, 0.2, 0.0} == set(table.numbers("a"))


@pytest.mark.parametrize(
    ("columns", "options", "match"),
    [
        ({"t": {"from": 1, "to": 0, "step": 1}}, {}, "from a number to a larger one in whole steps, got from 1 to 0 with step 1"),
        ({"t": {"from": 0, "to": 1, "step": 0.3}}, {}, "in whole steps, got from 0 to 1 with step 0.3"),
        ({"t": {"from": 0, "to": 1, "step": 0}}, {}, "in whole steps"),
        ({"t": {"from": 0, "to": 1}}, {}, "a grid has from, to and step, or from, to and count; 't' has 'from', 'to'"),
        ({"t": [1, 1.0]}, {}, "values of 't' must differ"),
        ({"t": []}, {}, "column 't' of the space has no values"),
        ({"t": [1, "a"]}, {}, "values of 't' must be all numbers or all words, got '1', 'a'"),
        ({"t": [1, float("inf")]}, {}, "numbers of 't' must be finite, got inf"),
        ({}, {}, "a space needs at least one column"),
        ({"a": [1]}, {"mixture": ["a", "b"]}, "each column of a space needs its own name, but 'a' stands in it twice"),
        ({}, {"mixture": ["a"]}, "a mixture needs two or more columns and a step that divides 1"),
        ({}, {"mixture": ["a", "b"], "step": 0.3}, "a step that divides 1, as 0.1, got 'a', 'b' and 0.3"),
        ({}, {"mixture": list("abcdefgh"), "step": 0.01}, "a mixture of 8 columns has .* shares in steps of 0.01; take larger"),
        ({f"x{i}": range(100) for i in range(6)}, {}, "1,000,000,000,000 combinations, more than memory holds; give fewer"),
    ],
)  # fmt: skip
def test_spaces_that_are_none(columns: dict[str, Any], options: dict[str, Any], match: str) -> None:
    with pytest.raises(pw.InvalidProblem, match=match):
        pw.space(columns, **options)


def test_a_space_from_a_file_is_written_as_a_table(tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(
        'where = "dose > 0"\n[columns]\nacid = ["x", "y"]\n"dose (g)" = {from = 0, to = 0.3, count = 4}\n'
        '[mixture]\ncolumns = ["a", "b"]\nstep = 0.5\n'
    )
    table = read_space(tmp_path / "f.toml")
    assert (len(table), table.header) == (18, ("acid", "dose (g)", "a", "b"))
    assert sorted(set(table.numbers("dose (g)"))) == [0.1, 0.2, 0.3]
    for name in ("all.csv", "all.parquet"):
        write_table(table, tmp_path / name)
        again = read_table(tmp_path / name)
        assert [again.texts(column) for column in again.header] == [table.texts(column) for column in table.header]
    with pytest.raises(
        pw.InvalidTable, match=r"tables are written as \.csv, \.parquet, \.xlsx, got the name .*all\.doc"
    ):
        write_table(table, tmp_path / "all.doc")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("columns = 3", r"needs tables \[columns\] and \[mixture\], and where as text"),
        ("[colums]", r"f\.toml has 'colums'; a space has \[columns\], where and \[mixture\]"),
        ("[mixture]\ncolumns = 'a'", r"\[mixture\] of f\.toml has columns, a list, and step"),
        ("[", r"f\.toml cannot be read as TOML"),
    ],
)
def test_files_that_describe_no_space(tmp_path: Path, text: str, match: str) -> None:
    (tmp_path / "f.toml").write_text(text)
    with pytest.raises(pw.InvalidProblem, match=match):
        read_space(tmp_path / "f.toml")
    with pytest.raises(pw.InvalidProblem, match="there is no file"):
        read_space(tmp_path / "g.toml")
