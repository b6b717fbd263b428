"""What is imported is declared, with a lowest version that `make lowest` tries."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import dimtensor
from tests.architecture.imports import imports_of
from tests.architecture.sources import nodes

ROOT = Path(dimtensor.__file__).parent.parent
PYPROJECT = ROOT / "pyproject.toml"
pytestmark = pytest.mark.skipif(not PYPROJECT.is_file(), reason="this is an installed package")

OWN = {
    "dimtensor", "tests", "tools", "examples", "docs",
    "cases", "shapes", "conftest", "probabilistic", "run",
}  # fmt: skip
# what JAX, BlackJAX, nutpie and nbclient bring
WITH_ANOTHER = {"jaxlib": "jax", "optax": "blackjax", "pyarrow": "nutpie", "nbformat": "nbclient"}
# IPython is asked where it runs already; pymc-extras is timed beside us where it is installed, and
# asks for an earlier PyMC than ours; type checkers bring _typeshed
NOT_NEEDED = {"IPython", "celerite2", "dynamax", "pymc_extras", "_typeshed"}


def project():
    return tomllib.loads(PYPROJECT.read_text())["project"]


def names(requirements):
    """Distributions, which here are called as what they are imported as."""
    found = {re.split(r"[^A-Za-z0-9_-]", one)[0] for one in requirements}
    return {name.replace("-", "_") for name in found} - {"dimtensor"}


def third_party(modules):
    roots = {module.split(".")[0] for module in modules if module}
    return {WITH_ANOTHER.get(r, r) for r in roots - sys.stdlib_module_names - OWN} - NOT_NEEDED


def test_what_the_package_imports_is_declared():
    extras = project()["optional-dependencies"]
    core = names(project()["dependencies"])
    optional = names(one for extra in set(extras) - {"dev"} for one in extras[extra])
    found = imports_of(Path(dimtensor.__file__).parent)
    # what an extra's own module imports at its top is imported where that module is
    of_extras = {f"dimtensor.upstream.{library}" for library in optional - core}
    for one in found:
        is_testing = one.importer.startswith("dimtensor.testing")
        on_demand = not one.runs_at_import or is_testing
        assert one.imported not in of_extras or on_demand, f"{one}: it belongs to an extra"
        for library in third_party([one.imported]) - core:
            assert library in optional, f"{one}: not declared in pyproject.toml"
            at_home = one.importer == f"dimtensor.upstream.{library}"
            assert on_demand or at_home, f"{one}: it belongs to an extra"


def test_what_tests_and_examples_import_is_declared():
    extras = project()["optional-dependencies"]
    declared = names(project()["dependencies"])
    declared |= names(one for requirements in extras.values() for one in requirements)
    files = [
        path for part in ("tests", "examples", "tools") for path in (ROOT / part).rglob("*.py")
    ]
    assert len(files) > 100
    for path in files:
        for node in nodes(path.read_text(), ast.Import, ast.ImportFrom):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                modules = [node.module]
            missing = third_party(modules) - declared
            assert not missing, f"{path}:{node.lineno} imports {missing}"


def test_every_dependency_has_a_lowest_version():
    extras = project()["optional-dependencies"]
    every = project()["dependencies"] + [one for extra in extras.values() for one in extra]
    bare = [one for one in every if ">=" not in one and not one.startswith("dimtensor[")]
    assert not bare


def test_declared_and_explained_are_the_same():
    """docs/design/dependencies.md names the core and the bounds of what users install."""
    text = (ROOT / "docs/design/dependencies.md").read_text()
    extras = project()["optional-dependencies"]
    users = ("jax", "sampling", "blackjax", "numpyro", "pymc")
    every = [*project()["dependencies"], *(one for extra in users for one in extras[extra])]
    for one in every:
        if one.startswith("dimtensor["):
            continue
        name, version = one.split(">=")
        name, bounds = name.split("[")[0], f">= {version}".replace(",<", ", < ")
        assert f"{name} ({bounds})" in text, one
