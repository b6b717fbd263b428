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
