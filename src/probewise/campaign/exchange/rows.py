"""Rows: what is to be measured, as a table that a laboratory can print and fill in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probewise.campaign.state.charter import Charter, Columns
from probewise.campaign.state.sheet import OPEN, RECORDED, Sheet, row_id
from probewise.cells import csv_lines, number
from probewise.errors import InvalidCampaign, MissingExtra
from probewise.files import new_file
from probewise.problem import Problem
from probewise.quantity import OUTCOME
from probewise.tables import Table, TableLike, as_text, frame_table

OWN = ("measurement", "round", "probe", "replicate", "outcome")
"""Columns of every sheet; the laboratory's own columns of the probe come after them."""
COUNT, SUCCESSES = "n", "successes"
"""Columns of an aggregated sheet instead of the last two, where outcomes are counted."""
SPREADS = ("sd", "sum_of_squares")
"""Columns that say how outcomes scatter which are told by their mean; a table has one of them."""
STATE, STATES = "state", ("open", "missing", "recorded", "voided")
"""The column that an export has besides, and its words."""

_SHOWN = 5
"""Probes that the sentence of a round names."""
_CHUNK = 10_000
"""Rows that are made at once."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to measure, in the order of measuring, with empty outcomes; they are made when they are looked at."""

    charter: Charter
    """What the campaign is about."""
    sheet: Sheet | None
    """The round."""
    sentence: str
    """What they are, or why there are none."""

    def __len__(self) -> int:
        return 0 if self.sheet is None else len(self["probe"]) if self.charter.aggregated else self.sheet.left

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for part in self._parts():
            for cells in zip(*part.values(), strict=True):
                yield dict(zip(part, cells, strict=True))

    def __getitem__(self, column: str) -> list[Any]:
        return self.columns[column]

    def __repr__(self) -> str:
        return f"Rows({self.sentence})"

    @cached_property
    def columns(self) -> Mapping[str, list[Any]]:
        """Name of a column -> its cells; OWN come first."""
        return _joined(self._names, self._parts())

    @property
    def _names(self) -> tuple[str, ...]:
        own = (*OWN[:3], *self.charter.told) if self.charter.aggregated else (*OWN, *self.charter.told[1:])
        return (*own, *shown_columns(self.charter))

    def _parts(self) -> Iterator[dict[str, list[Any]]]:
        if self.sheet is None:
            return iter(())
        if self.charter.aggregated:
            return iter([_tallies(self.charter, self.sheet)])
        return _parts(self.charter, self.sheet, self.sheet.states == OPEN)

    def filled(self, outcomes: Any) -> list[dict[str, Any]]:
        """The same rows with one outcome each, or number of successes, in order, as ``tell`` takes them.

        Where more than one number is told of a row, as mean and standard deviation, ``outcomes`` is a table of them.
        """
        ids, told, n = self.columns["measurement"], self.charter.told, self.columns.get(COUNT, [])
        values = np.asarray(outcomes, dtype=np.float64)
        values = values if values.ndim > 1 else values[:, None]
        names = told[1:] if self.charter.aggregated else told
        rows = [dict(zip(names, row, strict=False)) for row in values.tolist()]
        counted = [{COUNT: own} for own in n] if self.charter.aggregated else [{} for _ in ids]
        return [{"measurement": own, **c, **row} for own, c, row in zip(ids, counted, rows, strict=True)]

    def write_xlsx(self, path: str | Path) -> None:
        """Write a spreadsheet to fill in; outcomes, or their mean, within the range of the campaign."""
        from probewise.writing import write_sheet  # loaded when needed

        told = _headed(self.charter.told, self.charter)
        fill = (told[1], told[0], *told[2:]) if self.charter.aggregated else tuple(told)
        low, high = (-math.inf, math.inf) if {SUCCESSES, "total"} & {*told} else self.charter.outcome_range
        write_sheet(path, self.to_fill_in, fill=fill, low=low, high=high)

    @property
    def to_fill_in(self) -> Mapping[str, list[Any]]:
        """The columns as files have them: outcomes under their own heading."""
        names = _headed(self._names, self.charter)
        return {name: self.columns[own] for name, own in zip(names, self._names, strict=True)}

    def csv_lines(self) -> Iterator[str]:
        """The table as CSV, line by line, written as the tables that the campaign began with."""
        dialect = self.charter.dialect
        yield from csv_lines([_headed(self._names, self.charter)], dialect.separator, dialect.decimal)
        for part in self._parts():
            cells = part if dialect.decimal != "," else {name: _as_numbers(own) for name, own in part.items()}
            yield from csv_lines(zip(*cells.values(), strict=True), dialect.separator, dialect.decimal)

    def to_csv(self, path: str | Path | None = None) -> str:
        """The table as CSV, written to a file if one is named."""
        text = "".join(self.csv_lines())
        if path is not None:
            with new_file(path) as file:
                file.write(self._mark + text)
        return text

    def write_csv(self, path: str | Path) -> None:
        """Write the table to a file, row by row, whatever its size."""
        with new_file(path) as file:
            file.write(self._mark)
            file.writelines(self.csv_lines())

    @property
    def _mark(self) -> str:
        """What tells spreadsheets that a file is UTF-8, if the first tables were not plain UTF-8 themselves."""
        return "" if self.charter.dialect.encoding == "utf-8" else "\ufeff"

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        return _library("pandas").DataFrame(dict(self.columns))

    def to_polars(self) -> Any:
        """A polars data frame."""
        empty = [name for name in self.charter.told if name != COUNT]
        columns = {**self.columns, **{name: _library("polars").Series(self[name], dtype=float) for name in empty}}
        return _library("polars").DataFrame(columns)


def own_columns(problem: Problem, source: TableLike | None, kind: str) -> Columns:
    """The laboratory's own columns, or the features; a name that a sheet needs for itself gives way.

    Of items that stay where they are, there are none here.
    """
    if kind == "item" and problem.shards is not None:
        if source is not None:
            raise InvalidCampaign("items that stay where they are have no columns here; leave item_columns out.")
        return {}
    features, names = (problem.items, problem.item_names) if kind == "item" else (problem.probes, problem.probe_names)
    if source is None and problem.tables is not None:
        source = problem.tables[kind == "item"].plain()
    if source is None:
        out = {name: features[:, at].tolist() for at, name in enumerate(problem.feature_names)}
    else:
        table = source if isinstance(source, Table) else frame_table(source, f"{kind}_columns")
        if table is None:
            raise InvalidCampaign(f"{kind}_columns must be a data frame or a table, got {type(source).__name__}.")
        columns = (c.tolist() if isinstance(c, np.ndarray) else c for c in table.columns)
        out = {name: [_cell(v) for v in column] for name, column in zip(table.header, columns, strict=True)}
    return _apart({name: cells for name, cells in out.items() if [str(cell) for cell in cells] != list(names)}, kind)


def _as_numbers(cells: list[Any]) -> list[Any]:
    """The cells of a column as numbers, if all that are there are numbers as people write them."""
    found = [number(cell) if isinstance(cell, str) else None for cell in cells]
    pairs = list(zip(cells, found, strict=True))
    if not all(cell in (None, "") or (value is not None and as_text(value) == cell) for cell, value in pairs):
        return cells
    return [cell if value is None else int(value) if value.is_integer() else value for cell, value in pairs]


def _headed(names: Sequence[str], charter: Charter) -> list[str]:
    """Names of columns, that of outcomes as the laboratory calls them."""
    return [charter.quantity.heading if name == "outcome" else name for name in names]


def _apart(columns: Columns, kind: str, taken: tuple[str, ...] = OUTCOME.columns) -> Columns:
    """The columns, those called as a column of every sheet or export under another name."""
    out: dict[str, list[Any]] = {}
    taken = (*OWN, STATE, *taken)
    for name, cells in columns.items():
        own = name
        while own in taken or own in out or (own != name and own in columns):
            own = f"{own} of {kind}"
        out[own] = cells
    return out


def shown_columns(charter: Charter) -> Columns:
    """The laboratory's own columns as sheets and exports call them."""
    more = charter.told if charter.aggregated else charter.told[1:]
    return _apart(charter.probe_columns, "probe", (*more, *charter.quantity.columns))


def _cell(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value if isinstance(value, int | float | str) else str(value)


def open_rows(charter: Charter, sheet: Sheet) -> Rows:
    """The rows of a round that are still to be measured."""
    n, names = charter.problem.n_probes, charter.problem.probe_names
    fresh = sheet.left == sheet.size
    counts = sheet.counts(n) if fresh else np.bincount(sheet.probes[sheet.states == OPEN], minlength=n)
    (probes,) = np.nonzero(counts)
    first = probes[np.argsort(-counts[probes], kind="stable")][:_SHOWN]
    often = ", ".join(f"'{names[p]}' {'once' if counts[p] == 1 else f'{counts[p]:,} times'}" for p in first)
    rest = f" and {probes.size - _SHOWN} more" if probes.size > _SHOWN else ""
    due = f", due {sheet.due}" if sheet.due else ""
    repeats = " Repeats are wanted: they average the noise." if counts.max() > 1 else ""
    what = "measurements" if charter.aggregated else "rows"
    count = f"{sheet.left} of {sheet.size} {what} of round {sheet.number} to make{due}"
    count = count if charter.aggregated else count.replace("to make", "to measure")
    return Rows(charter, sheet, f"{count}: {often}{rest}.{repeats}")


def no_rows(charter: Charter, sentence: str) -> Rows:
    """A sheet without rows, and the sentence that says why."""
    return Rows(charter, None, sentence)


def all_rows(charter: Charter, sheets: tuple[Sheet, ...]) -> Iterator[str]:
    """Every row of every round with its state, as lines of CSV."""
    told = (COUNT, SPREADS[0]) if charter.by_means else charter.told[1:] if charter.weighted else ()
    yield from csv_lines([_headed((*OWN, STATE, *told, *shown_columns(charter)), charter)])
    for sheet in sheets:
        words = (STATES[sheet.closed is not None], *STATES[2:])
        states = (words[state] for state in sheet.states)
        for part in _parts(charter, sheet, None):
            rows = zip(*part.values(), strict=True)
            yield from csv_lines((*row[: len(OWN)], next(states), *row[len(OWN) :]) for row in rows)


def _joined(names: tuple[str, ...], parts: Iterator[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    out: dict[str, list[Any]] = {name: [] for name in names}
    for part in parts:
        for name, cells in out.items():
            cells.extend(part[name])
    return out


def _parts(charter: Charter, sheet: Sheet, wanted: NDArray[np.bool_] | None) -> Iterator[dict[str, list[Any]]]:
    """The rows wanted, or all, some at a time."""
    rows = np.arange(sheet.size) if wanted is None else np.flatnonzero(wanted)
    columns, replicates = shown_columns(charter), sheet.replicates
    for start in range(0, rows.size, _CHUNK):
        some = rows[start : start + _CHUNK]
        part = _columns(charter.problem, columns, sheet, replicates, some)
        if charter.weighted:
            part = {name: part[name] for name in OWN} | {charter.told[1]: _weighed(charter, sheet, some)} | part
        if charter.by_means:
            part = {name: part[name] for name in OWN} | _together(sheet, some) | part
        yield part


def _together(sheet: Sheet, rows: NDArray[np.int64]) -> dict[str, list[Any]]:
    """In the first of rows that were told together: how many they are, and their standard deviation."""
    first = {tally.rows[0]: tally for tally in sheet.tallies}
    found = [first.get(row) for row in rows.tolist()]
    spread = [
        math.sqrt(own.scatter / (len(own.rows) - 1)) if own and own.scatter is not None and len(own.rows) > 1 else None
        for own in found
    ]
    return {COUNT: [None if own is None else len(own.rows) for own in found], SPREADS[0]: spread}


def _weighed(charter: Charter, sheet: Sheet, rows: NDArray[np.int64]) -> list[Any]:
    """What rows with an outcome brought in the column of their own precision."""
    if sheet.weights is None:
        return [None] * rows.size
    weights, law = sheet.weights[rows], charter.problem.outcome
    told = law.told_weights(weights, charter.problem.sigma[sheet.probes[rows]]).tolist()
    return [value if state == RECORDED else None for value, state in zip(told, sheet.states[rows], strict=True)]


def _columns(
    problem: Problem, columns: Columns, sheet: Sheet, replicates: NDArray[np.int64], rows: NDArray[np.int64]
) -> dict[str, list[Any]]:
    probes = sheet.probes[rows].tolist()
    recorded = sheet.states[rows] == RECORDED
    outcomes = [v if known else None for v, known in zip(sheet.outcomes[rows].tolist(), recorded, strict=True)]
    own: dict[str, list[Any]] = {
        "measurement": [row_id(sheet.number, row + 1) for row in rows.tolist()],
        "round": [sheet.number] * len(probes),
        "probe": [problem.probe_names[probe] for probe in probes],
        "replicate": replicates[rows].tolist(),
        "outcome": outcomes,
    }
    return own | {name: [cells[probe] for probe in probes] for name, cells in columns.items()}


def _tallies(charter: Charter, sheet: Sheet) -> dict[str, list[Any]]:
    """A row for each probe with open rows, in their order: the first of these, and how many there are."""
    rows = np.flatnonzero(sheet.states == OPEN)
    _, first, counts = np.unique(sheet.probes[rows], return_index=True, return_counts=True)
    order = np.argsort(first)
    part = _columns(charter.problem, shown_columns(charter), sheet, sheet.replicates, rows[first[order]])
    own = {name: cells for name, cells in part.items() if name not in OWN[3:]}
    head = {name: own.pop(name) for name in OWN[:3]}
    empty = {name: [None] * order.size for name in charter.told[1:]}
    return head | {COUNT: counts[order].tolist()} | empty | own


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(f"this table needs {name}, which is not installed; install it, or use to_csv.") from None
