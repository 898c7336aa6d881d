"""Sparing: SciPy touches every part of NumPy when it is loaded; the parts that no command uses wait until one does."""

from __future__ import annotations

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec

UNUSED = ("ctypeslib", "f2py", "ma", "polynomial", "testing")
"""Parts of NumPy that take longer to load than all of ours together."""


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
