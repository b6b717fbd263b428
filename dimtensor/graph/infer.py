"""Descriptions of nodes for error messages, and inference shared by several kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dimtensor.arrays import array_of
from dimtensor.errors import DtypeError, clipped, plain_repr
from dimtensor.graph import attrs as at
from dimtensor.graph.dtypes import require_castable
from dimtensor.graph.node import KINDS, Node

LABEL_OPS = frozenset({"equal", "not_equal", "where", "stop_gradient"})


def describe(x: Node) -> str:
    """Describe an operand for an error message."""
    return KINDS[x.kind].described(x)


def require_label_op(name: str, operands: Sequence[Node]) -> None:
    """Check that an elementwise operation takes labels.

    Raises
    ------
    DtypeError
        If it does not, and an operand has them.
    """
    found = [x.categories for x in operands if x.categories is not None]
    if found and name not in LABEL_OPS:
        raise DtypeError(
            f"{name} is not defined for labels of {found[0]._title}",
            [("labels", describe(x)) for x in operands if x.categories is not None],
            "labels compare with ==; .codes gives their positions as integers",
        )


def require_no_labels(x: Node, what: str) -> None:
    """Check that an operand holds numbers.

    Raises
    ------
    DtypeError
        If it holds labels.
    """
    if x.categories is not None:
        raise DtypeError(
            f"{what} is not defined for labels of {x.categories._title}; "
            ".codes gives their positions as integers"
        )


_NUMBERS = (bool, int, float, complex, np.number, np.bool_)


def constant_attrs(value: Any, dtype: str) -> at.ConstantAttrs:
    """Make the attributes of a constant."""
    array = np.asarray(value) if isinstance(value, _NUMBERS) else array_of(value, "the value")
    if array.ndim or array.dtype.kind not in "biufc":
        raise DtypeError(
            f"{clipped(plain_repr(value))} is no number of {dtype}",
            hint="dt.data(values, dims=...) takes arrays",
        )
    if array.dtype.kind == "c":
        require_castable(array.dtype.name, dtype, lambda: str(value))
    return at.ConstantAttrs(dtype, array.astype(dtype).tobytes())
