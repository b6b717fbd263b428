"""Formulas in mathematical notation: MathML in cards, and LaTeX."""

from typing import Any

from dimtensor.display.text import in_place_of_errors
from dimtensor.graph.node import Node
from dimtensor.plugins.typeset import formulas
from dimtensor.renderers import latex, mathml
from dimtensor.tensor.handle import TensorHandle


def _no_latex(x: Any, error: Exception) -> str | None:
    return None  # the notebook shows the text


@latex.provides(TensorHandle)
@in_place_of_errors(_no_latex)
def tensor_latex(x: Any) -> str | None:
    """Write the expression of a computed tensor in LaTeX."""
    return f"$\\displaystyle {formulas.latex(x.node)}$" if x.node.inputs else None


mathml.provides(Node)(formulas.mathml)
