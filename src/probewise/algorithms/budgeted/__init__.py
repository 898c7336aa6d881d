"""Methods for a fixed budget: the best guess after so many measurements, without a promise of δ."""

from probewise.algorithms.budgeted.halving import GSE, ODLinBAI, XYHalving
from probewise.algorithms.budgeted.p1_rage import P1Rage
from probewise.algorithms.budgeted.peace_budget import PeaceBudget

__all__ = ["GSE", "ODLinBAI", "P1Rage", "PeaceBudget", "XYHalving"]
