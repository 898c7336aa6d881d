"""Tables of runs: one row per simulated identification, with where it came from."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterable, Mapping
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

SHARE = "wrong_share"
"""The last column where a share of a list may be wrong: the share that is, also where a budget ended the run."""
ALGORITHM = "algorithm"
"""The first column of a table of several algorithms."""


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
    """Runs of one algorithm, in order of their number, or of several, one algorithm after the other."""

    columns: dict[str, NDArray[Any]]
    """COLUMNS name -> (runs,), the algorithm first if there are several; item is -1 where a budget ended the run."""
    provenance: dict[str, Any]
    """Settings and versions that give the same rows again; seconds are the exception."""

    def __post_init__(self) -> None:
        if missing := [name for name in COLUMNS if name not in self.columns]:
            raise InvalidTable(f"a table of runs needs the columns {', '.join(COLUMNS)}, got none of {missing}.")
        several: dict[str, type[Any]] = {ALGORITHM: np.str_} if ALGORITHM in self.columns else {}
        kinds = {**several, **_kinds(self.columns)}
        columns = {name: np.asarray(self.columns[name], dtype=kind) for name, kind in kinds.items()}
        blocks = [_places(columns[ALGORITHM])] if several else []
        order = np.lexsort([columns["run"], *blocks])
        columns = {name: column[order] for name, column in columns.items()}
        for column in columns.values():
            column.setflags(write=False)
        object.__setattr__(self, "columns", columns)

    @classmethod
    def of(cls, rows: Iterable[dict[str, Any]], provenance: dict[str, Any]) -> Runs:
        """From one dictionary per run."""
        listed = list(rows)
        kinds = _kinds(listed[0]) if listed else COLUMNS
        return cls({name: np.array([row[name] for row in listed]) for name in kinds}, provenance)

    @classmethod
    def together(cls, tables: Mapping[str, Runs]) -> Runs:
        """One table of several: algorithm -> its runs, which differ in nothing but the algorithm."""
        names = np.repeat(np.array(list(tables), dtype=np.str_), [len(table) for table in tables.values()])
        first = next(iter(tables.values()))
        kinds = _kinds(first.columns)
        columns = {name: np.concatenate([table[name] for table in tables.values()]) for name in kinds}
        algorithms = {name: table.provenance.get(ALGORITHM) for name, table in tables.items()}
        return cls({ALGORITHM: names, **columns}, first.provenance | {ALGORITHM: algorithms})

    @classmethod
    def read(cls, path: str | Path) -> Runs:
        """What ``write`` wrote; seconds are NaN where they were left out."""
        table = read_table(path)
        columns: dict[str, NDArray[Any]] = {}
        if ALGORITHM in table.header:
            columns[ALGORITHM] = np.array(table.text(ALGORITHM), dtype=np.str_)
        for name in _kinds(table.header):
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
        if column not in self.columns:
            raise InvalidTable(f"a table of runs has the columns {', '.join(self.columns)}, got {column!r}.")
        return self.columns[column]

    def __repr__(self) -> str:
        if not len(self):
            return "Runs(none)"
        if ALGORITHM in self.columns:
            return f"Runs({'; '.join(f'{name}: {runs._said}' for name, runs in self.by_algorithm().items())})"
        return f"Runs({self._said})"

    @property
    def _said(self) -> str:
        mean, error = self.mean("measurements"), self.standard_error("measurements")
        return f"{len(self)} runs, {mean:,.0f} ± {error:,.0f} measurements, {self.error_rate().errors} errors"

    def by_algorithm(self) -> dict[str, Runs]:
        """Algorithm -> the table of its runs alone, in the order of this one; run r has the same seed in each."""
        if ALGORITHM not in self.columns:
            raise InvalidTable("this table has no column 'algorithm'; give simulate a mapping, name -> algorithm.")
        names, described = self.columns[ALGORITHM], self.provenance.get(ALGORITHM) or {}
        return {
            name: Runs(
                {column: self.columns[column][names == name] for column in _kinds(self.columns)},
                self.provenance | {ALGORITHM: described.get(name)},
            )
            for name in dict.fromkeys(names.tolist())
        }

    def mean(self, column: str) -> float:
        """Mean of a column."""
        self._of_one()
        return float(self[column].mean())

    def standard_error(self, column: str) -> float:
        """Standard error of the mean; NaN for fewer than two runs."""
        self._of_one()
        return float(self[column].std(ddof=1) / np.sqrt(len(self))) if len(self) > 1 else float("nan")

    def error_rate(self, confidence: float = 0.99) -> Rate:
        """Share of runs that were wrong, or ended without an answer, with its exact interval."""
        self._of_one()
        return exact_rate(int(np.count_nonzero(~self["correct"])), len(self), confidence)

    @property
    def digest(self) -> str:
        """Fingerprint of the repeatable columns: equal for equal settings and seed, whatever the workers."""
        names = self._names(seconds=False)
        text = ",".join(names) + "\n" + "\n".join(map(",".join, self._cells(names)))
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
        names = self._names(seconds=seconds)
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

    def _of_one(self) -> None:
        """A number about several algorithms at once would mean nothing."""
        names = list(dict.fromkeys(self.columns[ALGORITHM].tolist())) if ALGORITHM in self.columns else []
        if len(names) > 1:
            raise InvalidTable(
                f"this table holds runs of {len(names)} algorithms ({', '.join(names)}); take one: "
                f"by_algorithm()[{names[0]!r}]."
            )

    def _names(self, *, seconds: bool) -> tuple[str, ...]:
        return tuple(name for name in self.columns if seconds or name != "seconds")

    def _cells(self, names: tuple[str, ...]) -> list[list[str]]:
        """Rows as text: numbers with all their digits, true and false."""
        values = [self.columns[name].tolist() for name in names]
        return [
            [str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in row]
            for row in zip(*values, strict=True)
        ]


def _kinds(given: Iterable[str]) -> dict[str, type[Any]]:
    """Name -> type of the columns of runs, with the one of shares where that is among those given."""
    return {**COLUMNS, SHARE: np.float64} if SHARE in given else COLUMNS


def _places(names: NDArray[Any]) -> NDArray[np.int64]:
    """(runs,): the place of each name in the order in which names first occur."""
    place = {name: j for j, name in enumerate(dict.fromkeys(names.tolist()))}
    return np.array([place[name] for name in names.tolist()], dtype=np.int64)


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingExtra(f"this table needs {name}, which is not installed; install it, or write a .csv.") from None
