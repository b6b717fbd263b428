"""Write dimtensor/dist/families.py: one constructor with a real signature per row of the table.

Run it after a change of the table: ``python tools/generate_distributions.py``. A test compares.
"""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dimtensor.dist.table import Param, Row

TARGET = Path(__file__).parent.parent / "dimtensor" / "dist" / "families.py"

WIDTH = 100

HEADER = '''"""Constructors of distributions, one per row of the distribution table.

Written by tools/generate_distributions.py; change the table instead.
"""

# over budget: generated, one signature per row

from __future__ import annotations

from typing import TYPE_CHECKING

from dimtensor.dist.tabulated import row_constructor

if TYPE_CHECKING:
    from dimtensor.typing import TensorLike

__all__ = [
{names}
]  # fmt: skip
'''

FUNCTION = '''

@row_constructor
{head}
    """{doc}

    {density}
{params}
    Returns
    -------
    Distribution

    Raises
    ------
    OptionError
        If the parameters do not go together, or a known one is not in its range.
    InputError
        If a parameter is an array without dims.
    DtypeError
        If a parameter is of labels, bools or complex numbers.
    DimError
        If two different dims of one name meet.

    References
    ----------
    {source}.

    Examples
    --------
    >>> from dimtensor import dist
    >>> dist.{name}({arguments})
    {name}({shown})
    """
'''


def render() -> str:
    """Write the source of the module."""
    from dimtensor.dist.rows import TABLE

    listed = ", ".join(f'"{name}"' for name in sorted(TABLE, key=_place))
    names = textwrap.fill(f"{listed},", WIDTH, initial_indent="    ", subsequent_indent="    ")
    source = HEADER.replace("{names}", names) + "".join(map(_function, TABLE.values()))
    ast.parse(source)
    return source


def _place(name: str) -> tuple[bool, str]:
    """Sorting key in which capitals are before other names, as the linter wants it."""
    return (not name.isupper(), name)


def _function(row: Row) -> str:
    arguments = row.arguments
    own = row.names
    optional = row.alternatives or any(param.default is not None for param in row.params)
    by_place = [name for name in own if name not in row.keyword_only]
    by_name = [name for name in arguments if name not in by_place]
    typed = {
        name: f"{name}: TensorLike | None = None"
        if optional or name not in own
        else f"{name}: TensorLike"
        for name in arguments
    }
    signature = [typed[name] for name in by_place]
    if by_name:
        signature += ["*", *(typed[name] for name in by_name)]
    what = "probability of k" if row.discrete else "density"
    example = {name: row.example[name] for name in own}
    return FUNCTION.format(
        name=row.name,
        head=_head(row.name, signature),
        doc=row.doc,
        density="\n    ".join(textwrap.wrap(f"The {what} is ``{row.density}``.", 90)),
        params=f"\n    Parameters\n    ----------\n{_parameters(row)}\n" if arguments else "",
        source="\n    ".join(textwrap.wrap(row.source, 90)),
        arguments=", ".join(
            f"{name}={value!r}" if name in row.keyword_only else f"{value!r}"
            for name, value in example.items()
        ),
        shown=", ".join(f"{name}={value:g}" for name, value in example.items()),
    )


def _head(name: str, signature: list[str]) -> str:
    """Write the signature of a function, broken into lines as the formatter does."""
    arrow = ") -> None:"
    line = f"def {name}({', '.join(signature)}{arrow}"
    if len(line) <= WIDTH:
        return line
    inside = f"    {', '.join(signature)}"
    if len(inside) > WIDTH:
        inside = ",\n".join(f"    {one}" for one in signature) + ","
    return f"def {name}(\n{inside}\n{arrow}"


def _parameters(row: Row) -> str:
    lines = []
    for name, param in row.arguments.items():
        lines.append(f"    {name} : DimTensor or number{_optional(row, param)}")
        lines += [f"        {line}" for line in textwrap.wrap(_meaning(row, param), 88)]
    return "\n".join(lines)


def _optional(row: Row, param: Param) -> str:
    return ", optional" if row.alternatives or param.default is not None else ""


def _meaning(row: Row, param: Param) -> str:
    text = f"{param.doc[0].upper()}{param.doc[1:]}; {param.range.spoken}."
    if param.default is not None:
        text += f" By default {param.default:g}."
    if param.name not in row.names:
        way = next(one for one in row.parametrizations if param.name in one.names)
        text += (
            f" With {', '.join(n for n in way.names if n != param.name)}."
            if (len(way.names) > 1)
            else ""
        )
    return text


if __name__ == "__main__":
    TARGET.write_text(render())
