"""Write one function with a real signature per row of the op table.

The functions are in dimtensor/tensor/elementwise.py, and dimtensor/special exports the special
ones. Run it after a change of the table: ``python tools/generate_functions.py``. A test compares.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.special

if TYPE_CHECKING:
    from dimtensor.graph.optable import OpRow

PACKAGE = Path(__file__).parent.parent / "dimtensor"
TARGET = PACKAGE / "tensor" / "elementwise.py"
SPECIAL = PACKAGE / "special" / "__init__.py"

HEADER = '''"""Elementwise functions, one per row of the op table.

Written by tools/generate_functions.py; change the table instead.
"""

# over budget: generated, one short function per row

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.spellings import spelled
from dimtensor.tensor.handle import elemwise

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.tensor.handle import TensorLike

__all__ = [
{names}]  # fmt: skip
'''

SPECIAL_HEADER = '''"""Special functions, named as in SciPy and PyTensor: ``dt.special.gammaln``.

Written by tools/generate_functions.py; change the op table instead.
"""

from dimtensor.tensor.elementwise import (
{imported})

__all__ = [
{names}]  # fmt: skip
'''

FUNCTION = '''

{decorator}def {name}({signature}) -> DimTensor:
    """{doc}

    Parameters
    ----------
{params}

    Returns
    -------
    DimTensor
        {dtype}{raises}{see}{notes}

    Examples
    --------
    >>> {example}
    {result}
    """
    return elemwise("{name}", {operands})
'''

# Arguments of examples where numbers between the ends of the domain say little.
ARGUMENTS = {
    "floor_divide": "7.0, 2.0",
    "mod": "-1.0, 3.0",
    "power": "2.0, 3.0",
    "sign": "-2.5",
    "clip": "2.5, 0.0, 1.0",
    "round": "2.5",
    "round_half_away_from_zero": "2.5",
    "deg2rad": "180.0",
    "isclose": "1.0, 1.0 + 1e-9",
    "isnan": 'float("nan")',
    "isinf": 'float("inf")',
    "isposinf": 'float("-inf")',
    "isneginf": 'float("-inf")',
    "isfinite": 'float("inf")',
    "logical_not": "True",
    "where": "True, 1.0, 2.0",
    "real": "1.0 + 2.0j",
    "imag": "1.0 + 2.0j",
    "conj": "1.0 + 2.0j",
    "angle": "1.0 + 2.0j",
    "complex": "1.0, 2.0",
    "complex_from_polar": "2.0, 0.0",
    "factorial": "4.0",
}
# Where between the ends of its domain an operand is taken.
FRACTIONS = (0.7, 0.4, 0.55, 0.3)

DTYPE_DOC = {
    "float": "Of a float dtype: integers count as float64.",
    "upcast": "Of the dtype to which NumPy promotes the operands.",
    "number": "Of the dtype to which NumPy promotes the operands, which are no bools.",
    "same": "Of the dtype of the operand.",
    "bool": "Of dtype bool.",
    "logical": "Of dtype bool; what is not zero counts as true.",
    "integer": "Of the dtype to which NumPy promotes the operands, integers or bools.",
    "order": "Of a float dtype; the first operand is an integer.",
    "select": "Of the dtype to which NumPy promotes the last two operands.",
    "real": "Of the dtype of the operand, of a complex one that of its parts.",
    "realfloat": "Of a float dtype.",
    "complex": "Of a complex dtype.",
}


def render() -> dict[Path, str]:
    """Return the sources of the modules."""
    from dimtensor.graph.optable import rows

    table = rows("elemwise")
    source = HEADER.replace("{names}", _listing(table, "dt"))
    source += "".join(_function(row) for row in table)
    ast.parse(source)
    names = _listing(table, "dt.special")
    special = SPECIAL_HEADER.format(imported=_one_a_line(names), names=names)
    return {TARGET: source, SPECIAL: special}


def _listing(table: list[OpRow], namespace: str) -> str:
    """Return the lines with the names of a namespace."""
    names = sorted((row.name for row in table if row.namespace == namespace), key=_natural)
    lines = textwrap.wrap(", ".join(f'"{name}"' for name in names) + ",", 94)
    return "".join(f"    {line}\n" for line in lines)


def _one_a_line(names: str) -> str:
    """Return names as the linter sorts imports."""
    found = sorted(re.findall(r"\w+", names), key=_natural)
    return "".join(f"    {name},\n" for name in found)


def _natural(name: str) -> list[object]:
    """Sorting key in which log2 is before log10, as the linter wants it."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _function(row: OpRow) -> str:
    defaults = dict(param.split("=") for param in row.params.split() if "=" in param)
    asked = [name for name in row.names if name not in defaults]
    example, result = _example(row, len(asked))
    operands = ", ".join(row.names)
    given = {name: f" = {value}" for name, value in defaults.items()}
    signature = ", ".join(f"{name}: TensorLike{given.get(name, '')}" for name in row.names)
    if len(f"def {row.name}({signature}) -> DimTensor:") > 100:
        signature = f"\n    {signature}\n"
    return FUNCTION.format(
        name=row.name,
        decorator='@spelled("function")\n' if row.name == "where" else "",
        signature=signature,
        doc=row.doc,
        params=_parameters(asked, list(defaults)),
        dtype=DTYPE_DOC[row.dtype],
        raises=_raises(row),
        see=_section("See Also", f"numpy.{row.numpy}" if row.numpy else ""),
        notes=_section("Notes", "\n    ".join(textwrap.wrap(row.note, 96))),
        example=example,
        result=result,
        operands=operands,
    )


def _example(row: OpRow, number: int) -> tuple[str, str]:
    """Write an example: a call with numbers, and the result of NumPy or SciPy."""
    arguments = ARGUMENTS.get(row.name)
    if arguments is None:
        arguments = ", ".join(_argument(row, at) for at in range(number))
    oracle = eval(row.oracle, {"np": np, "sp": scipy.special})
    result = np.asarray(oracle(*eval(f"[{arguments}]"))).item()
    call = f"{row.namespace}.{row.name}({arguments}).values"
    if not row.namespace:
        call = f"dt.data({arguments}).{row.name}.values"
    if isinstance(result, float) and result != round(result, 4):
        call, result = f"{call}.round(4)", round(result, 4)
    return f"{call}.item()", repr(result)


def _argument(row: OpRow, at: int) -> str:
    """Choose a number in the domain of an operand."""
    if row.dtype == "integer":
        return ("6", "3")[at]
    if row.dtype == "logical":
        return ("True", "False")[at]
    if row.dtype == "order" and at == 0:
        return "2"
    low, high = row.domain[at if len(row.domain) > 1 else 0]
    return repr(round(low + FRACTIONS[at] * (high - low), 1))


def _parameters(asked: list[str], optional: list[str]) -> str:
    lines = [f"    {', '.join(asked)} : DimTensor or number"]
    if len(asked) > 1:
        lines.append("        They are broadcast by dims.")
    if optional:
        lines.append(f"    {', '.join(optional)} : DimTensor or number, optional")
    return "\n".join(lines)


def _raises(row: OpRow) -> str:
    from dimtensor.graph.infer import LABEL_OPS

    refused = [] if row.name in LABEL_OPS else ["labels"]
    if not row.complex:
        refused.append("complex numbers")
    if row.dtype == "number":
        refused.append("bools")
    if row.dtype == "integer":
        refused.append("floats")
    if row.dtype == "order":
        refused.append("a first operand of floats")
    causes = f"DtypeError\n        For {_listed(refused)}.\n    " if refused else ""
    dims = "DimError\n        If two different dims of one name meet." if row.arity > 1 else ""
    return _section("Raises", (causes + dims).rstrip())


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words)


def _section(title: str, body: str) -> str:
    return f"\n\n    {title}\n    {'-' * len(title)}\n    {body}" if body else ""


if __name__ == "__main__":
    for path, text in render().items():
        path.write_text(text)
