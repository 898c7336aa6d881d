"""Sphinx renderer that writes formulas as MathML when the pages are built: no script, no network, no LaTeX.

A formula that cannot be converted is a warning, hence with ``sphinx-build -W`` an error.
"""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

logger = logging.getLogger(__name__)


def mathml(node: nodes.Element, display: str) -> str:
    """MathML of the TeX source of ``node``; an unknown command survives as text with a backslash."""
    try:
        markup: str = convert(node.astext(), display=display)
    except Exception as error:  # the converter has no common base of its exceptions
        markup, reason = f"<code>{escape(node.astext())}</code>", f"{type(error).__name__} {error}"
    else:
        reason = "unknown command" if "\\" in markup else ""
    if reason:
        logger.warning("formula not understood (%s): %s", reason.strip(), node.astext(), location=node)
    return markup


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """A formula within a sentence."""
    self.body.append(f'<span class="math">{mathml(node, "inline")}</span>')
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """A displayed formula, with its number when it has a label."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(mathml(node, "block"))
    if node.get("number"):
        self.body.append(f'<span class="eqno">({node["number"]})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.add_css_file("mathml.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
