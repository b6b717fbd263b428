"""A backend is one folder, registered in one place; nobody else asks for its name."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytensor.tensor as pt
import pytest

import dimtensor
import dimtensor as dt
from dimtensor.backends import BACKENDS, SYNONYMS, backend_of, compile_positional
from dimtensor.errors import OptionError
from dimtensor.optimize.target import Target
from tests.architecture.imports import modules_of
from tests.architecture.sources import nodes
from tests.backend_names import BACKENDS as ALL_BACKENDS

PACKAGE = Path(dimtensor.__file__).parent


def names_compared(text):
    """Lines that compare something with the name of a backend."""
    return [
        node.lineno
        for node in nodes(text, ast.Compare, ast.MatchValue)
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and part.value in (*BACKENDS, *SYNONYMS)
    ]


def test_nobody_else_asks_for_names_of_backends():
    found = {
        name: lines
        for name, path in modules_of(PACKAGE).items()
        if not name.startswith("dimtensor.backends") and (lines := names_compared(path.read_text()))
    }
    assert not found, f"ask for an attribute of dimtensor.backends.Backend: {found}"


def test_names_that_are_compared_are_found():
    assert names_compared("if backend == 'jax': pass") == [1]
    assert names_compared("if backend in ('numba', 'other'): pass") == [1]
    assert not names_compared("f(backend='jax')")


@pytest.mark.parametrize("name", BACKENDS)
def test_a_backend_is_a_folder(name):
    assert (PACKAGE / "backends" / name / "__init__.py").is_file()
    backend = backend_of(name)
    assert backend.name == name
    flags = ("described", "specializes", "native")
    assert {type(getattr(backend, each)) for each in flags} == {bool}
    assert isinstance(backend.target, Target)


@pytest.mark.parametrize("name", ALL_BACKENDS)
def test_a_backend_keeps_the_protocol(name):
    x = pt.vector("x", shape=(3,))
    executable = compile_positional(name, [x], [x * 2, x.sum()])
    twice, total = executable.call(np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(twice, [2.0, 4.0, 6.0])
    assert float(total) == 6.0
    assert backend_of(name).path(executable) in ("machine code", "JAX", "the python interpreter")
    assert sum(executable.stats.values()) > 0


@pytest.mark.parametrize(("synonym", "name"), SYNONYMS.items())
def test_a_synonym_is_another_name_of_a_backend(synonym, name):
    x = dt.scalar("x")
    assert backend_of(synonym) is backend_of(name)
    assert dt.function([x], x, synonym).backend == name
    assert dt.LogDensity(-(x**2), {"x": dt.real}, synonym).backend == name
    mu = dt.rv("mu", dt.dist.Normal(0.0, 1.0))
    assert dt.Model(mu, backend=synonym).backend == name


def test_there_is_no_other():
    with pytest.raises(OptionError, match=r"no backend .nubma. \(did you mean .numba.\?\)"):
        backend_of("nubma")
