"""Parameters of distributions have the places that they have in PyMC."""

from __future__ import annotations

import inspect

import pytest

from dimtensor import dist

pm = pytest.importorskip("pymc")

# dims have no place in PyMC; those of a matrix are there the number of its rows
DIMS = {"dim", "row", "col"}
# Places with another meaning or name, each with the reason.
OTHERWISE = {
    ("Cauchy", "mu"): "alpha is the location there",
    ("Cauchy", "sigma"): "beta is the scale there",
    ("EulerMaruyama", "sde"): "a function, which is no step",
    ("EulerMaruyama", "dt"): "a step, which is no function",
    ("LKJCholeskyCov", "sd"): "after the number of rows there",
    ("LKJCorr", "eta"): "after the number of rows there",
    ("MatrixNormal", "rows"): "rowcov there",
    ("MatrixNormal", "cols"): "after rowchol there",
    ("RandomWalk", "step"): "after the start there",
    ("RandomWalk", "start"): "before the steps there",
}


def by_place(function) -> list[str]:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters
    return [name for name, each in parameters.items() if each.kind in kinds]


@pytest.mark.parametrize(
    "name",
    [x for x in sorted(dist.__dir__()) if x[0].isupper() and hasattr(getattr(pm, x, 0), "dist")],
)
def test_what_has_a_place_has_it_in_pymc(name):
    theirs, ours = by_place(getattr(pm, name).dist), by_place(getattr(dist, name))
    mine = [each for each in ours if each not in DIMS]
    moved = {one for one, other in zip(mine, theirs, strict=False) if one != other}
    assert moved == {parameter for distribution, parameter in OTHERWISE if distribution == name}
