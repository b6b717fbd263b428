"""Loop nests that are shared and loop nests of their own give the same."""

import functools
import re

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.backends import python as python_backend
from tests.kernels import interpret
from tests.kernels.test_kernels import EXPRESSIONS, VALUES

# those of "products" call LAPACK by address, which Python cannot
GROUPS = [group for group in EXPRESSIONS if group != "products"]


def evaluate(outputs, compile_positional, monkeypatch):
    with monkeypatch.context() as context:
        context.setattr(python_backend, "compile_positional", compile_positional)
        inputs = dt.inputs_of(outputs)
        function = dt.function(inputs, outputs, backend="python")
        return function(*(VALUES[i] for i in inputs))


@pytest.mark.parametrize("group", GROUPS)
def test_fused_and_not(group, monkeypatch):
    outputs = list(EXPRESSIONS[group])
    for e in EXPRESSIONS[group]:
        inputs = [i for i in dt.inputs_of(e) if i.dtype == "float64"]
        if e.dtype == "float64" and inputs:
            outputs += dt.grad(dt.sin(e.fillna(0.0)).sum(), inputs)
    expected = evaluate(outputs, python_backend.compile_positional, monkeypatch)
    for fuse in (True, False):
        compile_positional = functools.partial(interpret.compile_interpreted, fuse=fuse)
        found = evaluate(outputs, compile_positional, monkeypatch)
        for e, g in zip(expected, found, strict=True):
            np.testing.assert_allclose(g.values, e.values, rtol=1e-9, atol=1e-12)


def test_a_task_has_a_nest_of_its_own_if_nothing_is_fused():
    import pytensor.tensor as pt

    x = pt.dvector("x")
    outputs = [pt.exp(x), pt.sin(x), x.sum()]
    fused = interpret.interpreted([x], outputs).source
    alone = interpret.interpreted([x], outputs, fuse=False).source
    assert len(re.findall(r"^    for ", fused, re.MULTILINE)) == 1
    assert len(re.findall(r"^    for ", alone, re.MULTILINE)) == 3


def test_positions_that_are_gathered_are_read_once_per_element(rng):
    """Codes of chosen rows are no array of their own; where an inner dim repeats them, they are."""
    obs, row, c, k = dt.Dim("obs"), dt.Dim("row"), dt.Dim("c"), dt.Dim("k", length=2)
    rows, code = (
        dt.tensor("rows", dims=row, dtype="int64"),
        dt.tensor("code", dims=obs, dtype="int8"),
    )
    y, effect = dt.tensor("y", dims=obs), dt.tensor("effect", dims=c)
    wide = dt.tensor("wide", dims=[c, k])
    chosen = code.isel(obs=rows)
    loss = ((y.isel(obs=rows) - effect.isel(c=chosen)) ** 2).sum()
    several = (wide.isel(c=chosen) ** 2).sum()
    outputs = [loss, dt.grad(loss, effect), several]
    at, codes = rng.integers(-7, 7, 300), rng.integers(-4, 4, 7).astype("int8")
    values = rng.normal(size=7), rng.normal(size=4), rng.normal(size=(4, 2))
    f = dt.function([rows, code, y, effect, wide], outputs)
    found, slope, other = f(at, codes, *values[:2], (("c", "k"), values[2]))
    residual = values[0][at] - values[1][codes[at]]
    expected = np.zeros(4)
    np.add.at(expected, codes[at], -2 * residual)
    np.testing.assert_allclose(found, (residual**2).sum())
    np.testing.assert_allclose(slope.values, expected)
    np.testing.assert_allclose(other, (values[2][codes[at]] ** 2).sum())
    one = dt.function([rows, code, y, effect], loss)
    one(at, codes, *values[:2])
    assert "np.empty" not in one.source
    many = dt.function([rows, code, wide], several)
    many(at, codes, (("c", "k"), values[2]))
    assert "np.empty" in many.source
