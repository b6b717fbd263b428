"""Loops in descriptions of graphs, of which code is made that is kept between processes."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor.backends import backend_of
from dimtensor.compile import code
from dimtensor.compile.caching import cache
from dimtensor.compile.caching.fingerprint import describe_graph
from dimtensor.compile.caching.rebuild import rebuild_graph


@pytest.fixture(autouse=True)
def lowered(monkeypatch, tmp_path):
    """Make the interpreter's code of descriptions, as numba's is; what was lowered so."""
    found = []
    original = code.lower_description

    def counted(description):
        found.append(original(description))
        return found[-1]

    monkeypatch.setattr(code, "lower_description", counted)
    monkeypatch.setenv("DIMTENSOR_CACHE", "1")
    monkeypatch.setenv("DIMTENSOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(type(backend_of("python")), "described", True)
    monkeypatch.setattr(cache, "keep", lambda key, kept: None)
    return found


def garch(name, length, weight=0.5):
    time = dt.Dim(name, length=length)
    y, mu, a = dt.tensor("y", dims=time), dt.scalar("mu"), dt.scalar("a")

    def step(h, y):
        h = 0.1 + weight * h + a * dt.check((y - mu) < 100.0, "errors are small", (y - mu) ** 2)
        return h, -0.5 * (dt.log(h) + (y - mu) ** 2 / h)

    logp = dt.scan(step, 1.0, y, dim=time)[1].sum()
    return [y, mu, a], [logp, dt.grad(logp, a)]


def described(inputs, outputs):
    return describe_graph([x.node for x in inputs], [x.node for x in outputs])


def test_names_and_long_lengths_are_left_out():
    one = described(*garch("time", 100))
    assert one.fingerprint == described(*garch("day", 2000)).fingerprint
    assert one.fingerprint != described(*garch("time", 100, 0.25)).fingerprint
    assert one.fingerprint != described(*garch("time", 2)).fingerprint


def test_a_described_loop_is_rebuilt():
    description = described(*garch("time", 100))
    one, other = (rebuild_graph(description) for _ in range(2))
    assert one.outputs == other.outputs
    assert describe_graph(one.inputs, one.outputs).fingerprint is not None


def test_code_of_descriptions_computes_the_same(rng, monkeypatch, lowered):
    inputs, outputs = garch("time", 50)
    values = [rng.normal(size=50), 0.1, 0.3]
    f = dt.function(inputs, outputs, backend="python")
    found = f(*values)
    assert len(lowered) == 1
    monkeypatch.setattr(type(backend_of("python")), "described", False)
    again = dt.function(inputs, outputs, backend="python")(*values)
    for one, other in zip(found, again, strict=True):
        np.testing.assert_allclose(one, other)
    with pytest.raises(dt.CheckError, match="errors are small"):
        f(np.full(50, 1000.0), 0.0, 0.3)


def test_checks_of_loops_and_branches_that_go_by_dims(lowered):
    k = dt.Dim("k", length=3)
    x = dt.tensor("x", dims=k)
    found = dt.while_loop(lambda v: v > 1, lambda v: dt.check(v < 9, "below nine", v) - 1, x)
    lazy = dt.if_else(x.sum() > 0, lambda: dt.check(x > -5, "above", x), lambda: x)
    f = dt.function([x], [found, lazy], backend="python")
    one, other = f(np.array([0.5, 1.5, 3.5]))
    assert len(lowered) == 1
    np.testing.assert_allclose(one, [0.5, 0.5, 0.5])
    np.testing.assert_allclose(other, [0.5, 1.5, 3.5])
    with pytest.raises(dt.CheckError, match="below nine"):
        f(np.array([0.5, 1.5, 30.0]))
    with pytest.raises(dt.CheckError, match="above"):
        f(np.array([8.0, 1.5, -6.0]))
