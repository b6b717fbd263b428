"""The public interface: a snapshot of names and signatures, and one word for one thing.

A change of the interface is seen in review: ``DIMTENSOR_GOLDEN=write`` writes the snapshot anew.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

import dimtensor as dt
from dimtensor import datasets, dist, fft, gp, linalg, random, special, supports
from tests.golden.compare import check_golden

NAMESPACES = {
    "dt": dt, "dt.datasets": datasets, "dt.dist": dist, "dt.fft": fft, "dt.linalg": linalg,
    "dt.gp": gp, "dt.random": random, "dt.special": special, "dt.supports": supports,
}  # fmt: skip
# the two supports that most models need, and what NumPy has in both places
TWICE = {"real", "positive", "diagonal", "kron", "trace"}


def names_of(namespace: ModuleType) -> list[str]:
    listed = getattr(namespace, "__all__", None) or dir(namespace)
    found = [name for name in listed if not name.startswith("_")]
    return sorted(x for x in found if not isinstance(getattr(namespace, x), ModuleType))


def signature_of(value: object) -> str:
    """Parameters without their types: these are seen by type checkers."""
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    parameters = [
        each.replace(annotation=each.empty)
        for each in signature.parameters.values()
        if each.name not in ("self", "cls")
    ]
    text = str(signature.replace(parameters=parameters, return_annotation=signature.empty))
    return re.sub(r"<([\w.]+) [^<>]*(<[^<>]*>)?[^<>]*>", r"<\1>", text)


def public() -> Iterator[tuple[str, str]]:
    """Every public name with its parameters; members after their class, inherited ones too."""
    seen: set[type] = set()
    for prefix, namespace in NAMESPACES.items():
        for name in names_of(namespace):
            value = getattr(namespace, name)
            if inspect.isclass(value) and issubclass(value, BaseException):
                yield f"{prefix}.{name}", ""
                continue
            yield f"{prefix}.{name}", signature_of(value) if callable(value) else ""
            if not inspect.isclass(value):
                continue
            for member in sorted(x for x in dir(value) if not x.startswith("_")):
                owner = next((cls for cls in value.__mro__ if member in vars(cls)), value)
                if owner in seen and owner is not value:
                    continue
                static = inspect.getattr_static(value, member)
                function = getattr(static, "__func__", static)
                shown = signature_of(function) if inspect.isfunction(function) else ""
                yield f"{prefix}.{name}.{member}", shown
            seen.update(value.__mro__)


@pytest.mark.plugin("pictures")
@pytest.mark.plugin("pytensor_mode")
@pytest.mark.plugin("saturation")
def test_the_interface_is_what_was_agreed_on():
    check_golden("interface.txt", "\n".join(f"{name}{shown}" for name, shown in public()))


def test_a_name_is_in_one_namespace():
    homes: dict[int, list[str]] = {}
    for prefix, namespace in NAMESPACES.items():
        for name in names_of(namespace):
            homes.setdefault(id(getattr(namespace, name)), []).append(f"{prefix}.{name}")
    twice = [found for found in homes.values() if len(found) > 1]
    assert {name.rpartition(".")[2] for found in twice for name in found} == TWICE


def test_names_of_the_package_are_fewer_than_245():
    assert len(names_of(dt)) < 245
    assert len([name for name in dir(dt.Dim) if not name.startswith("_")]) < 25


def parameters() -> Iterator[tuple[str, str]]:
    for name, shown in public():
        for found in re.findall(r"[(,] ?\*{0,2}(\w+)", shown):
            yield name, found


@pytest.mark.parametrize(
    ("word", "instead"),
    [
        ("over", "dim"),
        ("along", "dim"),
        ("axis", "dim"),
        ("core_dims", "input_core_dims, as in xarray.apply_ufunc"),
        ("weights_dim", "dim"),
        ("degree", "dim"),
        ("random_seed", "seed"),
        ("size", "dims"),
        ("shape", "dims"),
    ],
)
def test_one_thing_has_one_word(word, instead):
    # of blocks and batches, and a parameter of gamma distributions, as in NumPy
    allowed = {
        "dt.BlockDim",
        "dt.LogDensity.minibatch",
        "dt.Model.minibatch",
        "dt.random.Generator.gamma",
        "dt.random.Generator.standard_gamma",
    }
    found = {name for name, parameter in parameters() if parameter == word} - allowed
    assert not found, f"write {instead}"
