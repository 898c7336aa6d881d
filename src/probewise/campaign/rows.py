"""Rows: what is to be measured, as a table that a laboratory can print and fill in."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from probewise.campaign.charter import Charter, Columns
from probewise.campaign.ledger import OPEN, RECORDED, Sheet, row_id
from probewise.errors import InvalidCampaign, MissingExtra
from probewise.tables import Table, TableLike, frame_table

OWN = ("measurement", "round", "probe", "replicate", "outcome")
"""Columns of every sheet; the laboratory's own columns of the probe come after them."""


_SHOWN = 5
"""Probes that the sentence of a round names."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to measure, in the order of measuring, with empty outcomes."""

    columns: Mapping[str, list[Any]]
    """Name of a column -> its cells; OWN come first."""
    sentence: str
    """What they are, or why there are none."""

    def __len__(self) -> int:
        return len(self.columns["measurement"])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for cells in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, cells, strict=True))

    def __getitem__(self, column: str) -> list[Any]:
        return self.columns[column]

    def __repr__(self) -> str:
        return f"Rows({self.sentence})"

    def filled(self, outcomes: Any) -> list[dict[str, Any]]:
        """The same rows with one outcome each, in order, as ``tell`` takes them."""
        values = np.asarray(outcomes, dtype=np.float64).tolist()
        ids = self.columns["measurement"]
        return [{"measurement": own, "outcome": value} for own, value in zip(ids, values, strict=True)]

    def to_csv(self, path: str | Path | None = None) -> str:
        """The table as CSV, written to a file if one is named."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(zip(*self.columns.values(), strict=True))
        if path is not None:
            Path(path).write_text(text.getvalue(), "utf-8", newline="")
        return text.getvalue()

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        return _library("pandas").DataFrame(dict(self.columns))

    def to_polars(self) -> Any:
        """A polars data frame."""
        columns = {**self.columns, "outcome": _library("polars").Series(self["outcome"], dtype=float)}
        return _library("polars").DataFrame(columns)


def own_columns(
    features: Any, feature_names: tuple[str, ...], names: tuple[str, ...], source: TableLike | None, kind: str
) -> Columns:
    """The laboratory's own columns, or the features; a name that a sheet needs for itself gives way."""
    if source is None:
        out = {name: features[:, at].tolist() for at, name in enumerate(feature_names)}
    else:
        table = source if isinstance(source, Table) else frame_table(source, f"{kind}_columns")
        if table is None:
            raise InvalidCampaign(f"{kind}_columns must be a data frame or a table, got {type(source).__name__}.")
        columns = (c.tolist() if isinstance(c, np.ndarray) else c for c in table.columns)
        out = {name: [_cell(v) for v in column] for name, column in zip(table.header, columns, strict=True)}
    kept = {name: cells for name, cells in out.items() if [str(cell) for cell in cells] != list(names)}
    return {f"{name} of {kind}" if name in OWN else name: cells for name, cells in kept.items()}


def _cell(value: Any) -> Any:
    if value is None or value != value:
        return None
    return value if isinstance(value, int | float | str) else str(value)


def open_rows(charter: Charter, sheet: Sheet) -> Rows:
    """The rows of a round that are still to be measured."""
    columns = _columns(charter, sheet, np.flatnonzero(sheet.states == OPEN))
    left = Counter(columns["probe"]).most_common()
    often = ", ".join(f"'{name}' {'once' if count == 1 else f'{count} times'}" for name, count in left[:_SHOWN])
    rest = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
    due = f", due {sheet.due}" if sheet.due else ""
    repeats = " Repeats are wanted: they average the noise." if left and left[0][1] > 1 else ""
    count = f"{len(columns['probe'])} of {sheet.probes.size} rows of round {sheet.number} to measure{due}"
    return Rows(columns, f"{count}: {often}{rest}.{repeats}")


def no_rows(charter: Charter, sentence: str) -> Rows:
    """None."""
    return Rows({name: [] for name in (*OWN, *charter.probe_columns)}, sentence)


def all_rows(charter: Charter, sheets: tuple[Sheet, ...]) -> dict[str, list[Any]]:
    """Every row of every round, with its state."""
    out: dict[str, list[Any]] = {name: [] for name in (*OWN, "state", *charter.probe_columns)}
    for sheet in sheets:
        part = _columns(charter, sheet, np.arange(sheet.probes.size))
        part["state"] = [("missing" if sheet.closed else "open", "recorded", "voided")[s] for s in sheet.states]
        for name, cells in out.items():
            cells.extend(part[name])
    return out


def _columns(charter: Charter, sheet: Sheet, rows: Any) -> dict[str, list[Any]]:
    probes = sheet.probes[rows].tolist()
    recorded = sheet.states[rows] == RECORDED
    outcomes = [v if known else None for v, known in zip(sheet.outcomes[rows].tolist(), recorded, strict=True)]
    own: dict[str, list[Any]] = {
        "measurement": [row_id(sheet.number, row + 1) for row in rows.tolist()],
        "round": [sheet.number] * len(probes),
        "probe": [charter.problem.probe_names[probe] for probe in probes],
        "replicate": sheet.replicates[rows].tolist(),
        "outcome": outcomes,
    }
    return own | {name: [cells[probe] for probe in probes] for name, cells in charter.probe_columns.items()}


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(f"this table needs {name}, which is not installed; install it, or use to_csv.") from None
