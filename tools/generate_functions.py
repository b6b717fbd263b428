"""Write dimtensor/tensor/elementwise.py: one function with a real signature per row of the table.

Run it after a change of the table: ``python tools/generate_functions.py``. A test compares.
"""

from __future__ import annotations

import ast
from pathlib import Path

TARGET = Path(__file__).parent.parent / "dimtensor" / "tensor" / "elementwise.py"

HEADER = '''"""Elementwise functions, one per row of the op table.

Written by tools/generate_functions.py; change the table instead.
"""

# over budget: generated, one short function per row

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.tensor.shell import elemwise

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
    {params} : DimTensor or number
        Any dims; operands are broadcast by dims.

    Returns
    -------
    DimTensor
        {dtype}{numpy}

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
    "select": "Of the dtype to which NumPy promotes the last two operands.",
    "real": "Of the dtype of the operand, of a complex one that of its parts.",
    "realfloat": "Of a float dtype.",
    "complex": "Of a complex dtype.",
}


def render() -> str:
    """The module's source."""
    from dimtensor.graph.dtypes import result_dtype
    from dimtensor.graph.optable import rows

    table = rows("elemwise")
    names = "".join(f'    "{row.name}",\n' for row in sorted(table, key=lambda r: r.name))
    source = HEADER.replace("{names}", names)
    for row in table:
        operands = ["type_" if p == "type" else p for p in row.params.split()]
        integer = row.dtype == "integer"
        dtypes = ["int64" if integer else "float64"] * row.arity
        arguments = ", ".join(
            f'dt.scalar("{p}"{", " + repr("int64") if integer else ""})'.replace("'", '"')
            for p in operands
        )
        source += FUNCTION.format(
            name=row.name,
            signature=", ".join(f"{p}: Any" for p in operands),
            doc=row.doc,
            params=", ".join(operands),
            dtype=DTYPE_DOC[row.dtype],
            numpy=f"\n\n    See Also\n    --------\n    numpy.{row.numpy}" if row.numpy else "",
            arguments=arguments,
            example=result_dtype(row.dtype, tuple(dtypes), row.name),
            operands=", ".join(operands),
        )
    ast.parse(source)
    return source


if __name__ == "__main__":
    TARGET.write_text(render())
