"""Write dimtensor/tensor/elementwise.py: one function with a real signature per row of the table.

Run it after a change of the table: ``python tools/generate_functions.py``. A test compares.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dimtensor.graph.optable import OpRow

TARGET = Path(__file__).parent.parent / "dimtensor" / "tensor" / "elementwise.py"

HEADER = '''"""Elementwise functions, one per row of the op table.

Written by tools/generate_functions.py; change the table instead.
"""

# over budget: generated, one short function per row

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.tensor.handle import elemwise

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor

__all__ = [
{names}]
'''

FUNCTION = '''

def {name}({signature}) -> DimTensor:
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
    >>> import dimtensor as dt
    >>> dt.{name}({arguments}).dtype
    '{example}'
    """
    return elemwise("{name}", {operands})
'''

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


def render() -> str:
    """The module's source."""
    from dimtensor.graph.optable import rows

    table = rows("elemwise")
    public = sorted((n for row in table for n in (row.name, *row.aliases.split())), key=_natural)
    source = HEADER.replace("{names}", "".join(f'    "{name}",\n' for name in public))
    source += "".join(_function(row) for row in table)
    aliases = [(alias, row.name) for row in table for alias in row.aliases.split()]
    source += "\n\n" + "".join(f"{alias} = {name}\n" for alias, name in aliases)
    ast.parse(source)
    return source


def _natural(name: str) -> list[object]:
    """Sorting key in which log2 is before log10, as the linter wants it."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _function(row: OpRow) -> str:
    from dimtensor.graph.dtypes import result_dtype

    defaults = dict(param.split("=") for param in row.params.split() if "=" in param)
    asked = [name for name in row.names if name not in defaults]
    dtypes = ["float64"] * row.arity
    if row.dtype == "integer":
        dtypes = ["int64"] * row.arity
    elif row.dtype == "order":
        dtypes[0] = "int64"
    arguments = ", ".join(
        f'dt.scalar("{name}", "int64")' if dtype == "int64" else f'dt.scalar("{name}")'
        for name, dtype in zip(asked, dtypes, strict=False)
    )
    operands = ", ".join(row.names)
    given = {name: f" = {value}" for name, value in defaults.items()}
    return FUNCTION.format(
        name=row.name,
        signature=", ".join(f"{name}: Any{given.get(name, '')}" for name in row.names),
        doc=row.doc,
        params=_parameters(asked, list(defaults)),
        dtype=DTYPE_DOC[row.dtype],
        raises=_raises(row),
        see=_section("See Also", f"numpy.{row.numpy}" if row.numpy else ""),
        notes=_section("Notes", "\n    ".join(textwrap.wrap(row.note, 96))),
        arguments=arguments,
        example=result_dtype(row.dtype, tuple(dtypes), row.name),
        operands=operands,
    )


def _parameters(asked: list[str], optional: list[str]) -> str:
    lines = [
        f"    {', '.join(asked)} : DimTensor or number",
        "        Any dims; operands are broadcast by dims.",
    ]
    if optional:
        lines.append(f"    {', '.join(optional)} : DimTensor or number, optional")
    return "\n".join(lines)


def _raises(row: OpRow) -> str:
    refused = []
    if not row.complex:
        refused.append("complex numbers")
    if row.dtype == "number":
        refused.append("bools")
    if row.dtype == "integer":
        refused.append("floats")
    if row.dtype == "order":
        refused.append("a first operand of floats")
    causes = f"DtypeError\n        For {' and '.join(refused)}.\n    " if refused else ""
    dims = "DimError\n        If two different dims of one name meet." if row.arity > 1 else ""
    return _section("Raises", (causes + dims).rstrip())


def _section(title: str, body: str) -> str:
    return f"\n\n    {title}\n    {'-' * len(title)}\n    {body}" if body else ""


if __name__ == "__main__":
    TARGET.write_text(render())
