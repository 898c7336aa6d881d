"""Models: roles of the columns of plain tables, and features made of them, jointly for probes and items."""

from probewise.model.build import build, remarks
from probewise.model.model import Factor, Model, Number, Role, Use
from probewise.model.product import Space

__all__ = ["Factor", "Model", "Number", "Role", "Space", "Use", "build", "remarks"]
