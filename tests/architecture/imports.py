"""Reads the import statements of a package and judges their direction."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.sources import tree

LAYERS = (
    "typing",
    "tuning",
    "hooks",
    "renderers",
    "errors",
    "extras",
    "arrays",
    "spellings",
    "settings",
    "files",
    "caches",
    "interning",
    "scopes",
    "forks",
    "traversal",
    "dims",
    "graph",
    "cost",
    "values",
    "upstream",
    "ops",
    "optimize",
    "lower",
    "kernels",
    "backends",
    "compile",
    "datasets",
    "tensor",
    "streams",
    "special",
    "random",
    "dist",
    "supports",
    "gp",
    "marginal",
    "model",
    "display",
    "explanation",
)
# They may import everything and are imported lazily.
OUTSIDE = ("interop", "plugins", "testing", "__main__")
# The dims and their graph are independent of how they are computed.
WITHOUT_PYTENSOR = (
    "tuning",
    "hooks",
    "renderers",
    "errors",
    "extras",
    "arrays",
    "spellings",
    "settings",
    "files",
    "caches",
    "interning",
    "scopes",
    "forks",
    "traversal",
    "dims",
    "graph",
    "cost",
    "values",
)


@dataclass(frozen=True)
class Import:
    """One module importing another one."""

    importer: str
    imported: str
    line: int
    lazy: bool  # inside a function
    typing_only: bool  # under `if TYPE_CHECKING`

    @property
    def runs_at_import(self) -> bool:
        return not (self.lazy or self.typing_only)

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def modules_of(package: Path) -> dict[str, Path]:
    """Files of a package by dotted name."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_of(package: Path) -> list[Import]:
    """Every import statement of a package; those of the package itself point at a module of it."""
    modules = modules_of(package)
    found = []
    for name, path in modules.items():
        is_package = path.name == "__init__.py"
        for node, lazy, typing_only in _statements(
            tree(path.read_text()), lazy=False, typing_only=False
        ):
            found += [
                Import(name, target, node.lineno, lazy, typing_only)
                for target in _targets(node, name, is_package, modules)
            ]
    return found


def _statements(
    parent: ast.AST, *, lazy: bool, typing_only: bool
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool, bool]]:
    for child in ast.iter_child_nodes(parent):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child, lazy, typing_only
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.body:
                block = ast.Module([statement], [])
                yield from _statements(block, lazy=lazy, typing_only=True)
            block = ast.Module(child.orelse, [])
            yield from _statements(block, lazy=lazy, typing_only=typing_only)
        elif isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from _statements(child, lazy=lazy or inside, typing_only=typing_only)


def _targets(
    node: ast.Import | ast.ImportFrom, importer: str, is_package: bool, modules: dict[str, Path]
) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        parents = importer.split(".")
        parents = parents[: len(parents) - node.level + is_package]
        base = ".".join([*parents, base] if base else parents)
    targets = []
    for alias in node.names:
        full = f"{base}.{alias.name}"
        targets.append(full if full in modules else base)
    return sorted(set(targets))


def layer_of(module: str) -> str:
    """First name below the package; empty for the package itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def direction_violations(imports: list[Import], root: str) -> list[str]:
    """Imports against the order of the layers, each with the rule that it breaks."""
    return [
        f"{one}: {reason}"
        for one in imports
        if one.imported.split(".")[0] == root and (reason := _broken_rule(one))
    ]


def _broken_rule(one: Import) -> str:
    source, target = layer_of(one.importer), layer_of(one.imported)
    if source in ("", "public"):
        # The façade is above all; what it loads is the business of the test of sys.modules.
        return ""
    for layer in (source, target):
        if layer and layer not in LAYERS + OUTSIDE:
            return f"{layer!r} has no place in the order of the layers"
    if source in OUTSIDE or source == target:
        return ""
    if target == "":
        return "a layer imports from the modules of other layers, not from the package's façade"
    if target in OUTSIDE:
        return f"{target} is imported inside functions only" if one.runs_at_import else ""
    if source == "typing" and one.typing_only:
        return ""  # aliases name types of all layers, and import none of them
    if target == "display" and one.typing_only:
        return ""  # the type of what a renderer returns
    if LAYERS.index(target) > LAYERS.index(source):
        return f"{target} comes after {source}"
    return ""


def pytensor_violations(imports: list[Import]) -> list[str]:
    """Imports of PyTensor where there must be none."""
    return [
        str(one)
        for one in imports
        if layer_of(one.importer) in WITHOUT_PYTENSOR and one.imported.split(".")[0] == "pytensor"
    ]


def cycles(imports: list[Import], root: str) -> list[list[str]]:
    """Groups of modules that import each other while being imported."""
    edges = [
        (one.importer, one.imported)
        for one in imports
        if one.runs_at_import and one.imported.split(".")[0] == root
    ]
    looped = {importer for importer, imported in edges if importer == imported}
    return [group for group in _components(edges) if len(group) > 1 or group[0] in looped]


def cycle_breakers(imports: list[Import], modules: Collection[str]) -> list[Import]:
    """Function-level imports that would be part of a cycle at the top of their modules.

    All of them are moved there together, and importing a module imports the packages that it is in.
    """
    runs = [one for one in imports if not one.typing_only and one.imported in modules]
    edges = [
        (one.importer, target)
        for one in runs
        for target in {one.imported, *(_packages(one.imported) - _packages(one.importer))}
        if target != one.importer
    ]
    group = {module: number for number, c in enumerate(_components(edges)) for module in c}
    return [one for one in runs if one.lazy and group.get(one.importer) == group[one.imported]]


def _packages(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts))}


def _components(edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Strongly connected components of a graph (Tarjan 1972)."""
    successors: dict[str, set[str]] = {}
    for source, target in edges:
        successors.setdefault(source, set()).add(target)
        successors.setdefault(target, set())
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(successors[module]):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            group = stack[stack.index(module) :]
            del stack[-len(group) :]
            found.append(sorted(group))

    for module in sorted(successors):
        if module not in index:
            visit(module)
    return found
