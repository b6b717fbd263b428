"""Checks in compiled code, and texts that do not depend on the code."""

from __future__ import annotations

import re

import numpy as np
import pytensor.tensor as pt
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.compile.program import build_program
from dimtensor.graph import toposort
from dimtensor.graph.checking.checks import check_messages
from tests.backend_names import COMPILED

COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
OBS = dt.Dim("obs")
X = dt.tensor("x", dims=COUNTRY)
Y = dt.tensor("y", dims=OBS)
GOOD, BAD = np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 3.0])


@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
def test_checks_survive_on_compiled_backends(backend):
    flag = dt.bool("flag")
    safe = dt.check(X > 0, "x is positive", X)
    small = dt.check(X.sum() < 10, "the sum is small")
    outputs = [
        (safe * 0 + 1).sum(),
        dt.grad((safe**2).sum(), X),
        small,
        dt.check(flag, "the flag is up", flag),
    ]
    lone = dt.check(X + Y > -9, "all pairs")
    f = dt.function([X, Y, flag], outputs, backend, checks=[lone])
    count, gradient, condition, raised = f(GOOD, [1.0, 2.0], True)
    assert (float(count), bool(condition), bool(raised)) == (3.0, True, True)
    np.testing.assert_allclose(gradient, 2 * GOOD)
    labeled = xr.DataArray([1.0, -10.0], dims="obs", coords={"obs": ["p", "q"]})
    for values, text in (
        ((BAD, [1.0], True), "x is positive\n  false: 1 of 3 elements\n  at: country='Kenya'"),
        ((4 * GOOD, [1.0], True), "the sum is small"),
        ((GOOD, [1.0], False), "the flag is up"),
        (
            (GOOD, labeled, True),
            "all pairs\n  false: 1 of 6 elements\n  at: country='Italy', obs='q'",
        ),
    ):
        with pytest.raises(dt.CheckError, match=r"x is|the sum|the flag|pairs") as caught:
            f(*values)
        assert str(caught.value) == text
    draws = xr.DataArray([GOOD, BAD], dims=("draw", "country"))
    with pytest.raises(dt.CheckError, match=r"1 of 6 elements\n  at: country='Kenya', draw=1$"):
        f(draws, [1.0], True)
    gradient = f(np.abs(draws), [1.0], True)[1]
    np.testing.assert_allclose(gradient.transpose("draw", "country"), 2 * np.abs(draws))


@pytest.mark.compiled
@pytest.mark.parametrize("backend", COMPILED)
def test_dropped_checks_leave_no_code(backend):
    f = dt.function([X], dt.check(X > 0, "positive", X) * 2, backend, checks=False)
    assert f(BAD).values.tolist() == [2.0, -4.0, 6.0]
    assert f.output_nodes == ((X * 2).node,)
    assert len(f.positional.raw(BAD)) == 1


# -- texts -----------------------------------------------------------------------------------------


def positions_of(name, length):
    """Inputs, outputs and dims; so for all that follow."""
    k = dt.Dim(name, length=length)
    a, at = dt.tensor("a", dims=k), dt.tensor("at", dims=OBS, dtype="int64")
    return [a, at], [a.isel({name: at * 2})], [k]


def extremes(name, other):
    one, two = dt.Dim(name), dt.Dim(other)
    y, z = dt.tensor("y", dims=one), dt.tensor("z", dims=two)
    outer = y[y > 0] + z[z > 0]
    return [y, z], [outer.max(), outer.argmin(z[z > 0].dims[0])], [one, two]


def lengths(name, other):
    one, two = dt.Dim(name), dt.Dim(other)
    vector = pt.dvector("v")
    whole = dt.from_shaped(vector, dims=one)
    y = dt.tensor("y", dims=two)
    lifted = dt.apply(pt.diff, y, input_core_dims=[two], output_core_dims=two)
    return [whole, y], [whole + dt.from_shaped(vector[1:] * 2, dims=one), lifted], [one, two]


def written(name):
    k = dt.Dim(name, length=3)
    n, m = dt.tensor("n", dims=k, dtype="int64"), dt.int64("m")
    return [n, m], [dt.check(n > 0, "n is positive", n) ** m], [k]


def dims_within(dim):
    yield dim
    for parent in dim.parents:
        yield from dims_within(parent)


@pytest.mark.parametrize(
    ("build", "names", "others", "texts"),
    [
        (positions_of, ("k", 3), ("l", 3), ["positions computed for dim 'k' are outside"]),
        (extremes, ("a", "b"), ("z", "y"), ["max has no value over dim 'a'", "dim 'b'", "argmin"]),
        (lengths, ("a", "b"), ("z", "y"), ["axis 0 of a positional", "diff: dim 'b' differs"]),
        (written, ("k",), ("l",), ["n is positive", "integers have no negative powers"]),
    ],
)
def test_texts_follow_from_nodes(build, names, others, texts):
    """Code that was made for a graph with other names says what its own graph would say."""
    programs, places = [], []
    for spelling in (names, others):
        inputs, outputs, dims = build(*spelling)
        nodes = [x.node for x in outputs]
        program = build_program([x.node for x in inputs], nodes)
        order = toposort(nodes)
        numbers = {dim: at for at, dim in enumerate(dims)}
        found = set()
        for check in program.checks:
            assert check.message == check_messages(check.node)[check.about]
            base = check.about and next(d for d in dims_within(check.about) if d in numbers)
            found.add((order.index(check.node), base and numbers[base]))
        programs.append(program)
        places.append(found)
    assert places[0] == places[1]
    said = [check.message for check in programs[0].checks]
    for text in texts:
        assert any(text in message for message in said)
    spelled = {f"dim '{old}'": f"dim '{new}'" for old, new in zip(names, others, strict=True)}
    renamed = [re.sub("dim '.'", lambda found: spelled[found.group()], text) for text in said]
    assert sorted(renamed) == sorted(check.message for check in programs[1].checks)
