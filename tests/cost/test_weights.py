"""Weights of operations, against the facts of kernels."""

from __future__ import annotations

import pytensor.tensor as pt
import pytensor.tensor.math
import pytensor.tensor.special
import pytest

from dimtensor.cost.weights import weight
from dimtensor.graph.optable import rows
from dimtensor.ops.facts import facts_of
from dimtensor.tuning import CALL, QUICK


@pytest.mark.parametrize("row", rows("elemwise"), ids=lambda row: row.name)
def test_weights_are_those_of_kernels(row):
    found = [getattr(m, row.lowers_to, None) for m in (pt, pytensor.tensor.math)]
    scalar = [op.scalar_op for op in found if getattr(op, "scalar_op", None) is not None]
    if scalar:
        assert weight(row.name) == facts_of(scalar[0]).cost
    else:  # composed of others
        assert weight(row.name) in (0, QUICK, CALL)
