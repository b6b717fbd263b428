"""Vectorized loops over a few positions are cut where their bodies are very long."""

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.kernels.passes.loop_fission import fissioned
from tests.kernels.passes.test_pipeline import with_wide_loops
from tests.kernels.reading import parsed

SOURCE = """def kernel(x, y):
    total = 0.0
    for i in range(7):
        a = x[i]
        b = a * 2.0
        c = b + a
        {store}
        total += c
    return (total,)
"""


def cut(source: str, limit: int = 4) -> list[str]:
    function = with_wide_loops(parsed(source, [("float64", 1)] * 2, {}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dimtensor.kernels.passes.loop_fission.FISSION_STATEMENTS", limit)
        patch.setattr("dimtensor.kernels.passes.loop_fission.FISSIONED_STATEMENTS", 2)
        found = fissioned(function.body, function.results, lambda start: f"{start}9")
    return [type(each).__name__ for each in found]


def test_values_that_later_loops_read_are_kept_in_a_buffer():
    assert cut(SOURCE.format(store="y[i] = b")) == ["Assign", *["Allocate"] * 2, *["For"] * 3]


@pytest.mark.parametrize(
    ("source", "limit"),
    [
        (SOURCE.format(store="y[i] = b"), 6),  # a short body
        (SOURCE.format(store="x[i] = b"), 4),  # elements that it reads are written
        (SOURCE.format(store="y[i] = b").replace("range(7)", "range(x.shape[0])"), 4),
    ],
)
def test_other_loops_are_left(source: str, limit: int):
    assert cut(source, limit) == ["Assign", "For"]


@pytest.mark.compiled
@pytest.mark.parametrize("length", [1, 2, 3, 5, 8])
def test_machine_code_of_a_chain_and_its_gradient(length: int, monkeypatch: pytest.MonkeyPatch):
    for module in ("passes.loop_fission", "native.nests"):
        monkeypatch.setattr(f"dimtensor.kernels.{module}.FISSIONED_STATEMENTS", 40)
    monkeypatch.setattr("dimtensor.kernels.passes.loop_fission.FISSION_STATEMENTS", 60)
    monkeypatch.setattr("dimtensor.kernels.passes.lines.VECTORIZED_OPERATIONS", 20)
    x = dt.tensor("x", dims=dt.Dim("k", length=length))
    y = x
    for _ in range(60):
        y = dt.sin(y) + dt.where(y > 1.0, x, 0.5 * x)
    f = dt.function([x], [y.sum(), dt.grad(y.sum(), x), y])
    point = np.linspace(0.3, 1.4, length)
    values, slopes = [point], []
    for _ in range(60):
        share = np.where(values[-1] > 1.0, 1.0, 0.5)
        slopes.append((np.cos(values[-1]), share))
        values.append(np.sin(values[-1]) + share * point)
    slope = np.ones(length)
    for cosine, share in slopes:
        slope = cosine * slope + share
    found = f(point)
    for one, other in zip(found, [values[-1].sum(), slope, values[-1]], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    assert (f.source.count("kept") > 3) == (length > 1)
