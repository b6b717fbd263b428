"""The contenders of a case solve one problem: they agree at the smallest size."""

import importlib
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
LOOPS = ("garch", "arma", "hmm", "kalman", "ode", "newton", "rnn")
COMPARED = ("radon", "normal", "effect", "glm", "mixture", "gp", *LOOPS)


@pytest.fixture
def run(monkeypatch):
    monkeypatch.syspath_prepend(HERE)  # where `make bench` runs
    return importlib.import_module("run")


def results_of(run, prepared):
    call, arguments = prepared
    return run.flattened(call(*arguments))


@pytest.mark.compiled
@pytest.mark.parametrize("case", COMPARED)
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
    for who in ("dimtensor_numba", "dimtensor_jax", "pytensor"):
        results = results_of(run, getattr(module, who)(problem))
        run.check_agreement(case, n, who, results, expected)


def test_disagreement_is_found(run):
    with pytest.raises(AssertionError, match="jax on radon, n=919"):
        run.check_agreement("radon", 919, "jax", np.array([1.0 + 1e-8]), np.array([1.0]))


def test_every_case_can_be_run(run):
    files = {path.stem.rstrip("_") for path in (HERE / "cases").glob("[a-z]*.py")}
    assert set(run.CASES) == files - {"axes", "vectors"}
    for case in run.CASES:
        module = importlib.import_module(f"cases.{case}_" if case == "import" else f"cases.{case}")
        if hasattr(module, "measure"):
            continue
        assert min(module.SIZES) > 0
        for who in getattr(module, "CONTENDERS", run.CONTENDERS):
            assert callable(getattr(module, who.replace("-", "_")))


@pytest.mark.compiled
@pytest.mark.parametrize(
    "case", ["mixture_marginal", "hmm_marginal", "occupancy", "kalman_marginal"]
)
def test_what_is_summed_out_is_what_is_written_without(case, run):
    module = importlib.import_module(f"cases.{case}")
    n = min(module.SIZES)
    problem = module.problem(n)
    expected = results_of(run, module._dimtensor(problem, True, "python"))
    results = results_of(run, module._dimtensor(problem, False, "python"))
    run.check_agreement(case, n, "marginal", results, expected)
