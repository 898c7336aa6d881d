"""Sphinx configuration; `make docs` builds the pages with every warning an error, and without a network."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

import probewise

metadata = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = metadata["name"]
author = metadata["authors"][0]["name"]
project_copyright = f"2026, {author}"
version = release = metadata["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"probewise {release}"
html_copy_source = False

# MathJax in one file, fonts included, from a wheel: pages show formulas without a network (decision 0001).
mathjax = importlib.util.find_spec("sphinx-mathjax-offline")
if mathjax is None or mathjax.origin is None:
    raise ImportError("sphinx-mathjax-offline is not installed; `make docs` or `pip install .[docs]` installs it.")
html_static_path = ["equations.css", str(Path(mathjax.origin).parent / "static/mathjax/tex-svg-full.js")]
html_css_files = ["equations.css"]
mathjax_path = "tex-svg-full.js"

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name for name in ("Array", "ArrayLike", "Labels")}
smartquotes = False  # the ' of y'θ is a transpose


def plain(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain sentences: |y|, y* and w_ are mathematics, only ``code`` is markup."""
    if what == "data":  # public data are described where they are defined; autodoc would show the docstring of dict
        module, _, public = name.rpartition(".")
        module = f"probewise.{probewise._WHERE[public]}" if public in probewise._WHERE else module
        lines[:] = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", public), [])
    for i, line in enumerate(lines):
        parts = re.split(r"(``.*?``)", line)
        lines[i] = "".join(p if p.startswith("``") else re.sub(r"([|*_`\\])", r"\\\1", p) for p in parts)


def short(
    app: Sphinx,
    what: str,
    name: str,
    obj: object,
    options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Names of array types in signatures instead of what they stand for."""
    array = r"[\w.~]*ndarray\[tuple\[[\w.~]*Any, \.\.\.\], [\w.~]*dtype\[(?:[\w~]*\.)?(\w+)\]\]"
    for long, brief in ((r"TypeAliasForwardRef\('(\w+)'\)", r"\1"), (array, r"NDArray[\1]")):
        signature = signature and re.sub(long, brief, signature)
        returns = returns and re.sub(long, brief, returns)
    return signature, returns


def setup(app: Sphinx) -> None:
    """Connect the treatment of docstrings and signatures."""
    app.connect("autodoc-process-docstring", plain)
    app.connect("autodoc-process-signature", short)
