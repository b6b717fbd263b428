"""The contenders of a case solve one problem: they agree at the smallest size."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import dimtensor as dt

HERE = Path(__file__).parent
LOOPS = ("garch", "arma", "hmm", "kalman", "ode", "newton", "rnn")
COMPARED = ("radon", "normal", "effect", "glm", "mixture", "gp", "car", "rolling", *LOOPS)
# what is compared in the short tests too: numba needs seconds for most of the loops by hand
QUICK = ("radon", "effect", "rolling")


@pytest.fixture
def run(monkeypatch):
    monkeypatch.syspath_prepend(HERE)  # where `make bench` runs
    return importlib.import_module("run")


def results_of(run, prepared):
    call, arguments = prepared
    return run.flattened(call(*arguments))


@pytest.mark.compiled
@pytest.mark.parametrize("case", QUICK)
def test_the_problem_of_dimtensor_is_that_of_hand(case, run):
    module = importlib.import_module(f"cases.{case}")
    n = min(module.SIZES)
    problem = module.problem(n)
    expected = results_of(run, module.hand(problem))
    results = results_of(run, module._dimtensor(problem, "python"))
    run.check_agreement(case, n, "dimtensor", results, expected)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("case", COMPARED)
def test_all_contenders_agree(case, run):
    module = importlib.import_module(f"cases.{case}")
    n = min(module.SIZES)
    problem = module.problem(n)
    expected = results_of(run, module.hand(problem))
    contenders = {
        "dimtensor": lambda: module._dimtensor(problem, "python"),
        "dimtensor_numba": lambda: module.dimtensor_numba(problem),
        "dimtensor_jax": lambda: module.dimtensor_jax(problem),
        "pytensor": lambda: module.pytensor(problem),
    }
    for who, prepared in contenders.items():
        results = results_of(run, prepared())
        run.check_agreement(case, n, who, results, expected)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("program", ["sum", "softmax", "cumsum", "forward"])
def test_programs_along_ragged_dims_agree(program, run):
    import jax

    case = importlib.import_module("cases.ragged")
    with jax.enable_x64(True):
        lines = list(case.lines_of(program, parents=20, rounds=1))
    assert [line["who"] for line in lines] == ["hand", "dimtensor-numba", "dimtensor-jax", "jax"]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", ["radon", "eight_schools", "item_response", "series"])
def test_texts_for_two_libraries_have_one_density(name, run, rng):
    texts = importlib.import_module("probabilistic")
    p = texts.problem(name)
    fit, other = texts.dimtensor(name, p), texts.pymc(name, p)
    values, point = {}, {}
    for rv in other.free_RVs:
        value = np.exp(0.2 * rng.normal(size=rv.type.shape))
        values[rv.name] = (("store", "day"), value) if rv.ndim == 2 else value
        transform = other.rvs_to_transforms[rv]
        moved = transform.forward(value, *rv.owner.inputs).eval() if transform else value
        point[other.rvs_to_values[rv].name] = moved
    expected = float(other.compile_logp(jacobian=False)(point))
    found = sum(float(term.sum()) for term in fit.logp(values).values())
    np.testing.assert_allclose(found, expected, rtol=1e-8)  # a constant of float32 in PyMC


def test_disagreement_is_found(run):
    with pytest.raises(AssertionError, match="jax on radon, n=919"):
        run.check_agreement("radon", 919, "jax", np.array([1.0 + 1e-8]), np.array([1.0]))


def test_every_case_can_be_run(run):
    files = {path.stem.rstrip("_") for path in (HERE / "cases").glob("[a-z]*.py")}
    assert set(run.CASES) == files - {"axes", "vectors", "peers"}
    for case in run.CASES:
        module = importlib.import_module(f"cases.{case}_" if case == "import" else f"cases.{case}")
        if hasattr(module, "measure"):
            continue
        assert min(module.SIZES) > 0
        for who in getattr(module, "CONTENDERS", run.CONTENDERS):
            assert callable(getattr(module, who.replace("-", "_")))


@pytest.mark.compiled
@pytest.mark.parametrize(
    "case", ["mixture_marginal", "hmm_marginal", "occupancy", "nmixture", "kalman_marginal"]
)
def test_what_is_summed_out_is_what_is_written_without(case, run):
    module = importlib.import_module(f"cases.{case}")
    n = min(module.SIZES)
    problem = module.problem(n)
    expected = results_of(run, module._dimtensor(problem, True, "python"))
    results = results_of(run, module._dimtensor(problem, False, "python"))
    run.check_agreement(case, n, "marginal", results, expected)


def test_contenders_that_are_not_installed_are_said(run, monkeypatch, capsys):
    monkeypatch.setitem(run.NEEDED, "numpyro", ("no_such_library",))
    assert run.available("hmm_marginal", ["hand", "marginal", "numpyro"]) == ["hand", "marginal"]
    assert '"who": "numpyro", "skipped": "no no_such_library"' in capsys.readouterr().out


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["Gamma", "Binomial"])
def test_densities_agree(name, run):
    from dimtensor import dist

    lines = list(importlib.import_module("cases.dists").lines_of(dist.TABLE[name], 1000))
    assert {"dimtensor-numba", "dimtensor-jax", "scipy"} <= {line["who"] for line in lines}


@pytest.mark.plugin("saturation")
@pytest.mark.parametrize("number", range(10))
def test_programs_that_are_simplified_compute_the_same(number, run):
    case = importlib.import_module("cases.simplify")
    program = case.PROGRAMS[number]
    results = []
    for simplify in (False, True):
        f, values = case.prepared(program, 0.02, simplify, "python")
        results.append(run.flattened(f(*values)))
    run.check_agreement("simplify", 1, program.__name__, results[1], results[0])
    inputs, outputs, _ = program(1)
    allow = "reassociate" if program in (case.factorization, case.regression, case.factors) else ()
    found = dt.simplify(outputs, allow=allow)
    cheaper = [case.factorization, case.glm, case.pnmf, case.radon, case.poisson, case.regression]
    if program in (*cheaper, case.kronecker, case.factors):
        assert found.after < 0.55 * found.before
    assert found.after <= found.before
    assert set(dt.inputs_of(outputs)) == set(inputs)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.plugin("pytensor_mode")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of PyTensor to PyMC
@pytest.mark.parametrize("name", ["rugby", "mixture", "survival"])
def test_models_of_pymc_have_one_density_in_both_modes(name, run):
    pytest.importorskip("pymc")
    density = importlib.import_module("cases.pymc_mode").density
    ours, x = density(name, dt.pytensor_mode(strict=True))
    theirs, _ = density(name, "FAST_COMPILE")
    for one, other in zip(ours(x), theirs(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
