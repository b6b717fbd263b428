"""One class name, one meaning: names of classes are unique in the package."""

from __future__ import annotations

import ast
from pathlib import Path

import dimtensor
from tests.architecture.imports import layer_of, modules_of
from tests.architecture.sources import tree

PACKAGE = Path(dimtensor.__file__).parent
# Their classes are named within the layer: `ir.Store` is a statement, `graph.kinds.Split` a kind.
ENGINE = {"backends", "cost", "graph", "kernels", "lower", "ops"}


def repeated(package: Path, engine: set[str]) -> dict[str, list[str]]:
    """Modules of each class name that two modules share, of which one is not of the engine."""
    found: dict[str, list[str]] = {}
    for module, path in modules_of(package).items():
        for node in tree(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
    return {
        name: modules
        for name, modules in found.items()
        if len(modules) > 1 and any(layer_of(module) not in engine for module in modules)
    }


def test_class_names_are_unique() -> None:
    assert repeated(PACKAGE, ENGINE) == {}


def test_a_repeated_class_name_is_found(tmp_path: Path) -> None:
    for layer, name in (("dims", "Node"), ("graph", "Node"), ("ops", "Split"), ("lower", "Split")):
        folder = tmp_path / "toy" / layer
        folder.mkdir(parents=True)
        (folder / "a.py").write_text(f"class {name}: ...")
    assert repeated(tmp_path / "toy", ENGINE) == {"Node": ["toy.dims.a", "toy.graph.a"]}
