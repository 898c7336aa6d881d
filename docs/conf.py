"""Sphinx configuration; `make docs` builds the pages with every warning an error, and without a network."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
metadata = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = metadata["name"]
author = metadata["authors"][0]["name"]
project_copyright = f"2026, {author}"
version = release = metadata["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "mathml"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"probewise {release}"
html_static_path = ["_static"]
html_math_renderer = "mathml"
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
# Names of this package must resolve; those of others would need their inventories from the network.
nitpick_ignore_regex = [(r"py:.*", r"(?!probewise\.).*")]


def plain(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain sentences: |y|, y* and w_ are mathematics, only ``code`` is markup."""
    for i, line in enumerate(lines):
        parts = re.split(r"(``.*?``)", line)
        lines[i] = "".join(p if p.startswith("``") else re.sub(r"([|*_`\\])", r"\\\1", p) for p in parts)


def setup(app: Sphinx) -> None:
    """Connect the treatment of docstrings."""
    app.connect("autodoc-process-docstring", plain)
