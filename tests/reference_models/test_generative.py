"""Models written with random variables have Stan's log densities, value and gradient."""

from __future__ import annotations

import inspect
import io
import tokenize

import numpy as np
import pytest

from tests.reference_models.generative import PROGRAMS, Generative
from tests.reference_models.reference import load

# Lines of the blocks data to model of posteriordb's Stan programs, without comments
LINES_OF_STAN = {
    "eight_schools": 20, "radon_mn": 33, "kidiq": 19, "GLMM_Poisson": 33, "low_dim_gauss_mix": 18,
    "arK": 23, "hmm_example": 36, "dogs": 31, "M0": 32,
}  # fmt: skip
BACKENDS = [
    "python",
    pytest.param("numba", marks=pytest.mark.compiled),
    pytest.param("jax", marks=[pytest.mark.compiled, pytest.mark.slow]),
]


def _of_stan(program: Generative) -> dict[str, list[str]]:
    """For each variable the parameters of Stan that it is made of."""
    return {name: list(program.parts.get(name, [name])) for name in program.fit.free}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_log_density_is_that_of_stan(name, backend):
    reference = load(name)
    program = PROGRAMS[name](reference["data"], backend)
    density, stan = program.fit.log_density(), _of_stan(program)
    assert {part for parts in stan.values() for part in parts} == set(reference["parameters"])
    # Stan's vector has the parameters in another order
    sizes = {p.name: p.size(density.functions.binding) for p in density.parameters}
    sizes = {part: sizes[name] // len(parts) for name, parts in stan.items() for part in parts}
    starts, at = {}, 0
    for parameter in reference["parameters"]:
        starts[parameter], at = at, at + sizes[parameter]
    order = np.concatenate(
        [starts[part] + np.arange(sizes[part]) for p in density.parameters for part in stan[p.name]]
    )
    for point in reference["points"]:
        value, gradient = density.logp_and_grad(np.array(point["unconstrained"])[order])
        expected = point["log_prob"]["jacobian"] + program.constant
        assert abs(value - expected) <= 1e-8 * max(1, abs(expected)), point["label"]
        slopes = np.array(point["gradient"]["jacobian"])[order]
        assert np.linalg.norm(gradient - slopes) <= 1e-8 * np.linalg.norm(slopes), point["label"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_log_densities_by_variable_add_up(name):
    reference, summed_out = load(name), {"z"} if name == "hmm_example" else set()
    program = PROGRAMS[name](reference["data"], "python")
    (point,) = [p for p in reference["points"] if p["label"] == "draw1"]
    known = {key: np.array(value) for key, value in point["constrained"].items()}
    stan = _of_stan(program)
    values = {name: known[parts[0]] for name, parts in stan.items() if name not in program.parts}
    for name, parts in program.parts.items():
        dims = [dim._short for dim in program.fit[name].dims]
        values[name] = (dims[::-1], [known[part] for part in parts])
    terms = program.fit.logp(values)
    assert set(terms) == set(program.fit.variables) - summed_out
    total = sum(float(term.sum()) for term in terms.values())
    expected = point["log_prob"]["nojacobian"] + program.constant
    np.testing.assert_allclose(total, expected, rtol=1e-10)


@pytest.mark.parametrize("name", LINES_OF_STAN)
def test_the_text_is_no_longer_than_that_of_stan(name):
    source = io.StringIO(inspect.getsource(PROGRAMS[name].model))
    silent = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
              tokenize.ENDMARKER)  # fmt: skip
    found = [x for x in tokenize.generate_tokens(source.readline) if x.type not in silent]
    lines = {line for x in found for line in range(x.start[0], x.end[0] + 1)}
    assert len(lines) <= LINES_OF_STAN[name]


def test_all_programs_are_there():
    assert set(PROGRAMS) == set(LINES_OF_STAN)
