"""Graphs over a batch, beside loops and conditionals."""

from __future__ import annotations

import numpy as np
import pytensor.tensor as pt
import pytest

from dimtensor.ops.batching import over_batch
from dimtensor.ops.interpret import Interpreter


@pytest.mark.parametrize("length", [0, 3])
@pytest.mark.parametrize("batch", [None, 2])
def test_a_reshape_of_no_elements_keeps_the_batch(batch: int | None, length: int) -> None:
    x = pt.tensor("x", shape=(2, length), dtype="float64")
    wide = pt.tensor("wide", shape=(batch, 2, length), dtype="float64")
    flat = pt.reshape(x, [2 * length])
    (found,) = over_batch([flat], {x: wide})
    assert found.type.shape == (batch, 2 * length)
    values = np.arange(4.0 * length).reshape(2, 2, length)
    (result,) = Interpreter([wide], [found])(values)
    np.testing.assert_array_equal(result, values.reshape(2, 2 * length))


def test_what_depends_on_no_batch_stays() -> None:
    x, y, wide = pt.dvector("x"), pt.dscalar("y"), pt.dmatrix("wide")
    alone = pt.exp(y)
    found = over_batch([alone, x, x + alone], {x: wide})
    assert found[0] is alone
    assert found[1] is wide
    assert found[2].type.ndim == 2
