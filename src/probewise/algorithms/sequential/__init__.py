"""Methods that measure one by one: sampling rules beside the stopping rule that they share."""

from probewise.algorithms.sequential.fws import FWS
from probewise.algorithms.sequential.lazy import LazyTrackAndStop
from probewise.algorithms.sequential.lingame import LinGame
from probewise.algorithms.sequential.lingifa import LinGIFA
from probewise.algorithms.sequential.m_lingape import MLinGapE
from probewise.algorithms.sequential.peps import PEPS
from probewise.algorithms.sequential.sequential import Sequential
from probewise.algorithms.sequential.top_two import TopTwo

__all__ = ["FWS", "PEPS", "LazyTrackAndStop", "LinGIFA", "LinGame", "MLinGapE", "Sequential", "TopTwo"]
