"""Tables of runs: one row per simulated identification, with where it came from."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from probewise.errors import InvalidTable, MissingExtra
from probewise.reading import read_table

COLUMNS: dict[str, type[Any]] = {
    "run": np.int64,
    "seed": np.int64,
    "item": np.int64,
    "correct": np.bool_,
    "measurements": np.int64,
    "cost": np.float64,
    "rounds": np.int64,
    "seconds": np.float64,
}
"""Name -> type; all but the seconds depend on the settings and the seed only."""

REPEATABLE = tuple(name for name in COLUMNS if name != "seconds")
"""The columns that are equal whenever settings and seed are."""


class Rate(NamedTuple):
    """A share of runs with its exact interval (Clopper and Pearson 1934)."""

    value: float
    """Errors divided by runs."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""
    errors: int
    """Runs that ended with a wrong item or none."""
    runs: int
    """All runs."""


def exact_rate(errors: int, runs: int, confidence: float = 0.99) -> Rate:
    """errors/runs with an interval that holds the true rate with at least this probability, whatever it is."""
    tail = (1.0 - confidence) / 2.0
    low = float(betaincinv(errors, runs - errors + 1, tail)) if errors else 0.0
    high = float(betaincinv(errors + 1, runs - errors, 1.0 - tail)) if errors < runs else 1.0
    return Rate(errors / runs, low, high, errors, runs)


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of one algorithm, in order of their number."""

    columns: dict[str, NDArray[Any]]
    """COLUMNS name -> (runs,); item is -1 where a budget ended before an answer, whatever the guess."""
    provenance: dict[str, Any]
    """Settings and versions that give the same rows again; seconds are the exception."""

    def __post_init__(self) -> None:
        if missing := [name for name in COLUMNS if name not in self.columns]:
            raise InvalidTable(f"a table of runs needs the columns {', '.join(COLUMNS)}, got none of {missing}.")
        order = np.argsort(self.columns["run"], kind="stable")
        columns = {name: np.asarray(self.columns[name], dtype=kind)[order] for name, kind in COLUMNS.items()}
        for column in columns.values():
            column.setflags(write=False)
        object.__setattr__(self, "columns", columns)

    @classmethod
    def of(cls, rows: Iterable[dict[str, Any]], provenance: dict[str, Any]) -> Runs:
        """From one dictionary per run."""
        listed = list(rows)
        return cls({name: np.array([row[name] for row in listed]) for name in COLUMNS}, provenance)

    @classmethod
    def read(cls, path: str | Path) -> Runs:
        """What ``write`` wrote; seconds are NaN where they were left out."""
        table = read_table(path)
        columns = {}
        for name in COLUMNS:
            if name == "seconds" and name not in table.header:
                columns[name] = np.full(len(table), np.nan)
            elif name == "correct":
                columns[name] = np.array([cell.lower() == "true" for cell in table.text(name)])
            else:
                columns[name] = table.numbers(name)
        beside = Path(path).with_suffix(".json")
        return cls(columns, json.loads(beside.read_text("utf-8")) if beside.is_file() else {})

    def __len__(self) -> int:
        return int(self.columns["run"].size)

    def __getitem__(self, column: str) -> NDArray[Any]:
        if column not in COLUMNS:
            raise InvalidTable(f"a table of runs has the columns {', '.join(COLUMNS)}, got {column!r}.")
        return self.columns[column]

    def __repr__(self) -> str:
        if not len(self):
            return "Runs(none)"
        mean, error = self.mean("measurements"), self.standard_error("measurements")
        return f"Runs({len(self)} runs, {mean:,.0f} ± {error:,.0f} measurements, {self.error_rate().errors} errors)"

    def mean(self, column: str) -> float:
        """Mean of a column."""
        return float(self[column].mean())

    def standard_error(self, column: str) -> float:
        """Standard error of the mean; NaN for fewer than two runs."""
        return float(self[column].std(ddof=1) / np.sqrt(len(self))) if len(self) > 1 else float("nan")

    def error_rate(self, confidence: float = 0.99) -> Rate:
        """Share of runs that were wrong, or ended without an answer, with its exact interval."""
        return exact_rate(int(np.count_nonzero(~self["correct"])), len(self), confidence)

    @property
    def digest(self) -> str:
        """Fingerprint of the repeatable columns: equal for equal settings and seed, whatever the workers."""
        text = ",".join(REPEATABLE) + "\n" + "\n".join(map(",".join, self._cells(REPEATABLE)))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def to_pandas(self) -> Any:
        """A pandas data frame."""
        return _library("pandas").DataFrame(self.columns)

    def to_polars(self) -> Any:
        """A polars data frame."""
        return _library("polars").DataFrame(self.columns)

    def write(self, path: str | Path, *, seconds: bool = False) -> None:
        """A .csv or .parquet file, and the provenance beside it as .json.

        Without ``seconds``, the same settings and seed give the same files, byte for byte.
        """
        path = Path(path)
        names = tuple(COLUMNS) if seconds else REPEATABLE
        if path.suffix.casefold() == ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(names)
                writer.writerows(self._cells(names))
        elif path.suffix.casefold() == ".parquet":
            self.to_polars().select(names).write_parquet(path)
        else:
            raise InvalidTable(f"runs are written as .csv or .parquet, got the name {path}; change its ending.")
        text = json.dumps(self.provenance, indent=1, sort_keys=True, ensure_ascii=False)
        path.with_suffix(".json").write_text(text + "\n", "utf-8")

    def _cells(self, names: tuple[str, ...]) -> list[list[str]]:
        """Rows as text: numbers with all their digits, true and false."""
        values = [self.columns[name].tolist() for name in names]
        return [
            [str(cell).lower() if isinstance(cell, bool) else repr(cell) for cell in row]
            for row in zip(*values, strict=True)
        ]


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(f"this table needs {name}, which is not installed; install it, or write a .csv.") from None
