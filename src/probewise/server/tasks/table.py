"""Every task by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from probewise.server.tasks import change, look, papers, setup, sheet

TASKS: dict[str, Callable[..., Any]] = {
    "heads": look.heads,
    "summary": look.summary,
    "status": look.status,
    "overview": look.overview,
    "records": look.records,
    "history": look.history,
    "rows": look.rows,
    "row": look.row,
    "probes": look.probes,
    "sheet": sheet.sheet,
    "faults": sheet.faults,
    "ask": change.ask,
    "tell": change.tell,
    "correct": change.correct,
    "void": change.void,
    "close": change.close,
    "restock": change.restock,
    "note": change.note,
    "preview": change.preview,
    "columns": setup.columns,
    "examine": setup.examine,
    "create": setup.create,
    "rows_file": setup.rows_file,
    "report": papers.report,
    "sheet_file": papers.sheet_file,
    "copy": papers.copy,
    "check": papers.check,
}
