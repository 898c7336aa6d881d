"""Sparing: what a command that runs for a moment does without."""

from __future__ import annotations

import os
import sys
from importlib.util import LazyLoader, find_spec, module_from_spec

UNUSED = ("ctypeslib", "f2py", "ma", "polynomial", "testing")
"""Parts of NumPy that no command uses; SciPy touches every part when it is loaded."""
SPIN = {"OPENBLAS_THREAD_TIMEOUT": "4"}
"""Binary logarithm of the cycles for which an idle thread of OpenBLAS stays awake, the least; 26 is its own default."""


def rest() -> None:
    """Let idle threads of linear algebra sleep at once, unless the user wants otherwise; before NumPy is loaded."""
    for name, value in SPIN.items():
        os.environ.setdefault(name, value)


def spare() -> None:
    """Let the unused parts of NumPy be loaded by whoever first takes something from them."""
    import numpy as np

    for part in UNUSED:
        name = f"numpy.{part}"
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
            module = module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            setattr(np, part, module)
