"""What was summed out, recovered: beside sums and maxima over all values of random models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import dimtensor as dt
from dimtensor.marginal.frontend import read_unknowns
from dimtensor.marginal.recovery import positions, probabilities
from dimtensor.random import generator
from tests.marginal.programs import THETA, Program, program, trees


def parts(model: Program):
    terms = {name: term.node for name, term in model.terms.items()}
    return terms, read_unknowns(list(model.unknowns.values()), {})


def in_order(model: Program, name: str, array) -> np.ndarray:
    """A DataArray with the axes that NumPy's arrays have."""
    dims = [dim for dim in ("i", "g", "o", "t", "v") if dim in array.dims]
    return array.transpose(*[d for d in array.dims if d not in dims and "states" not in d], *dims,
                           *[d for d in array.dims if "states" in d]).values  # fmt: skip


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_probabilities_and_best_values(seed):
    check(program(seed))


@pytest.mark.parametrize("seed", range(4))
def test_probabilities_and_best_values_of_trees_with_classes(seed):
    check(trees(np.random.default_rng(seed)))


def check(model: Program) -> None:
    theta = 0.7
    expected = model.enumerate(theta)
    terms, unknowns = parts(model)
    chances = {name: x for name, (x, _) in probabilities(terms, unknowns).items()}
    best = positions(terms, unknowns, None)
    found = {"p": dt.evaluate(chances, {THETA: theta}), "best": dt.evaluate(best, {THETA: theta})}
    for name in model.unknowns:
        np.testing.assert_allclose(
            in_order(model, name, found["p"][name]), expected.probabilities(name), atol=1e-10
        )
    assignment = {name: in_order(model, name, found["best"][name]) for name in model.unknowns}
    assert theta * expected.energy(assignment) == pytest.approx(expected.best, abs=1e-10)


@pytest.mark.parametrize("seed", [1100, 1101, 1102, 1103, 1106, 1109])
def test_draws_have_the_joint_probabilities(seed):
    model, theta, n = program(seed), 0.7, 4000
    expected = model.enumerate(theta)
    terms, unknowns = parts(model)
    draw = dt.Dim("draw", length=n)
    rng = generator(3)

    def noise(dims):
        nonlocal rng
        x, rng = rng.gumbel(0.0, 1.0, dims=tuple(dict.fromkeys((*dims, draw))))
        return x

    found = dt.evaluate(positions(terms, unknowns, noise), {THETA: theta})
    arrays = {name: in_order(model, name, found[name]) for name in model.unknowns}
    flat = [arrays[name].reshape(n, -1) for name in model.unknowns]
    rows = [tuple(row) for row in np.concatenate(flat, axis=1)]
    weight = {
        tuple(np.concatenate([a[name].ravel() for name in model.unknowns])): w
        for a, w in zip(expected.assignments, expected.weights, strict=True)
    }
    seen = dict.fromkeys(weight, 0)
    for row in rows:
        seen[row] += 1
    # assignments that are hardly expected are counted together
    large = [key for key, w in weight.items() if w * n >= 5]
    counts = [seen[key] for key in large]
    chances = [weight[key] * n for key in large]
    counts.append(n - sum(counts))
    chances.append(n - sum(chances))
    if chances[-1] < 1e-6:
        assert counts.pop() == 0
        chances.pop()
    assert stats.chisquare(counts, chances).pvalue > 1e-4
