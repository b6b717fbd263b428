"""Imports point one way, without a cycle, and importing dimtensor stays cheap."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

import dimtensor
from tests.architecture.imports import (
    LAYERS,
    cycle_breakers,
    cycles,
    direction_violations,
    imports_of,
    modules_of,
    pytensor_violations,
)
from tests.architecture.sources import nodes

PACKAGE = Path(dimtensor.__file__).parent

# What a plain `import dimtensor` must not load.
HEAVY = (
    "arviz",
    "blackjax",
    "hypothesis",
    "jax",
    "matplotlib",
    "networkx",
    "numba",
    "numpyro",
    "nutpie",
    "pandas",
    "pymc",
    "pytensor",
    "pytest",
    "scipy",
    "xarray",
)


@pytest.fixture(scope="module")
def imports():
    found = imports_of(PACKAGE)
    assert len(found) > 50, "the walk sees next to nothing"
    return found


def test_layers_import_in_one_direction(imports):
    violations = direction_violations(imports, "dimtensor")
    assert not violations, "\n".join(violations)


def test_the_documented_order_is_that_of_the_tests():
    text = (PACKAGE.parent / "docs/design/index.md").read_text()
    order = re.search(r"^    typing < .*?\n\n", text, re.MULTILINE | re.DOTALL)[0]
    assert re.findall(r"\w+", order) == list(LAYERS)


def test_no_module_is_in_an_import_cycle(imports):
    assert cycles(imports, "dimtensor") == []


# Imports inside functions that would be part of a cycle at the top, and why they stay.
IN_CYCLES = {
    ("kernels.native.linking.loaded", "kernels.native.machine"): "LLVM's linker, where ours fails",
    ("ops.derivatives.products", "ops.along"): "a derivative that is an op with derivatives",
    ("ops.derivatives.products", "ops.loop.frontend"): "a derivative that is a loop",
    ("ops.derivatives.structural", "ops.loop.conditional"): "a derivative that has two branches",
    ("ops.loop.op", "ops.loop.derivatives.jacobian_pattern"): "a method that PyTensor calls",
}


def test_imports_inside_functions_that_break_a_cycle_are_few(imports):
    found = {
        (one.importer.removeprefix("dimtensor."), one.imported.removeprefix("dimtensor."))
        for one in cycle_breakers(imports, modules_of(PACKAGE))
    }
    assert found - IN_CYCLES.keys() == set(), "use dimtensor.hooks, or move what is imported"
    assert IN_CYCLES.keys() - found == set(), "these are no longer needed here"
    assert len(IN_CYCLES) < 20


def test_every_hook_is_provided():
    script = """
    import gc, importlib, os, pkgutil
    import dimtensor as dt
    from dimtensor import hooks, plugins
    dt.tensor
    for name in hooks._PROVIDERS:
        importlib.import_module(name)
    found = [x for x in gc.get_objects() if type(x) is hooks.Hook]
    for hook in found:
        hook._load()
    assert len(found) > 10, found
    folders = plugins.__path__[0]
    there = [x for x in found if x.plugin is None or os.path.isdir(f"{folders}/{x.plugin}")]
    print(*[x.name for x in there if not x._functions])
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_dims_and_graph_do_without_pytensor(imports):
    assert pytensor_violations(imports) == []


def test_only_what_is_above_it_asks_the_facade():
    """`from dimtensor import dist` asks for all public names, of which the module may be one."""
    asked = re.compile(r"^from dimtensor import", re.MULTILINE)
    found = [name for name, path in modules_of(PACKAGE).items() if asked.search(path.read_text())]
    assert [name for name in found if not name.startswith("dimtensor.testing.")] == [
        "dimtensor.public"
    ]


def test_modules_and_functions_keep_their_budget():
    long = [line for path in modules_of(PACKAGE).values() for line in over_budget(path)]
    assert not long, "\n".join(long)


def test_packages_keep_their_budget():
    assert crowded(PACKAGE) == []


def crowded(package: Path) -> list[str]:
    """Packages of more than 15 modules: they have groups that are packages of their own."""
    counts = Counter(path.parent for path in modules_of(package).values())
    return [f"{folder} has {count} modules" for folder, count in counts.items() if count > 15]


def over_budget(path: Path) -> list[str]:
    """Functions of more than 80 lines beside their docstring, and modules of more than 500.

    A module whose length has a reason says it (``# over budget: why``); a function has none.
    """
    text = path.read_text()
    found = [
        f"{path.name}:{node.lineno} {node.name} has {length} lines"
        for node in nodes(text, ast.FunctionDef, ast.AsyncFunctionDef)
        if (length := lines_of_code(node)) > 80
    ]
    length = len(text.splitlines())
    if length > 500 and "# over budget: " not in text:
        found.append(f"{path} has {length} lines")
    return found


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function, those of its docstring not counted."""
    first, length = function.body[0], (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        length -= (first.end_lineno or 0) - first.lineno + 1
    return length


# what asks for numba, and why
OF_NUMBA = {
    "backends.linkers": "PyTensor's linkers of numba and JAX run ops of dimtensor",
    "compile.pure_functions": "`f.numba`",
    "kernels.foreign": "routines for operations without a rule",
    "kernels.routines": "LAPACK in kernels that numba compiles",
    "plugins.pytensor_mode.loop_nests": "PyTensor's own linker, where a graph is left to it",
    "upstream.numba": "names that numba may change",
}


def test_few_modules_ask_for_numba(imports):
    found = {
        one.importer.removeprefix("dimtensor.")
        for one in imports
        if one.imported.startswith(("numba", "pytensor.link.numba"))
        or one.imported == "dimtensor.upstream.numba"
    }
    assert found == {name for name in OF_NUMBA if f"dimtensor.{name}" in modules_of(PACKAGE)}


# -- the tests of the tests --------------------------------------------------------------------


def package(folder: Path, files: dict[str, str]) -> Path:
    for name, text in {"__init__.py": "", **files}.items():
        path = folder / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        for parent in path.parents:
            if parent == folder:
                break
            (parent / "__init__.py").touch()
    return folder / "toy"


@pytest.mark.parametrize(
    ("importer", "statement", "complaint"),
    [
        ("dims/a.py", "from toy.graph import node", "graph comes after dims"),
        ("dims/a.py", "import toy.graph.node", "graph comes after dims"),
        ("dims/a.py", "from toy import graph", "graph comes after dims"),
        ("dims/a.py", "from ..graph import node", "graph comes after dims"),
        ("dims/a.py", "def f():\n    from toy.graph import node", "graph comes after dims"),
        ("dims/a.py", "if TYPE_CHECKING:\n    import toy.graph", "graph comes after dims"),
        (
            "dims/a.py",
            "class A:\n    try:\n        import toy.graph\n    except: ...",
            "graph comes",
        ),
        ("dims/a.py", "from toy import something", "not from the package's façade"),
        ("dims/a.py", "def f():\n    import toy.display", "display comes after dims"),
        ("dims/a.py", "import toy.interop", "interop is imported inside functions only"),
        ("dims/a.py", "import toy.graphs", "'graphs' has no place"),
        ("surprise/a.py", "import toy.dims", "'surprise' has no place"),
    ],
)
def test_a_seeded_violation_is_found(tmp_path, importer, statement, complaint):
    toy = package(
        tmp_path, {"graph/node.py": "", "display/a.py": "", "interop/a.py": "", importer: statement}
    )
    (violation,) = direction_violations(imports_of(toy), "toy")
    assert complaint in violation
    assert violation.startswith("toy." + importer.removesuffix(".py").replace("/", "."))


@pytest.mark.parametrize(
    ("importer", "statement"),
    [
        ("graph/a.py", "from toy.dims import dim"),
        ("graph/a.py", "from toy.graph.node import Node"),
        ("dims/a.py", "def f():\n    from toy.interop import reading"),
        ("dims/a.py", "if TYPE_CHECKING:\n    from toy.display import show"),
        ("display/a.py", "from toy.model import density"),
        ("dims/a.py", "import numpy as np"),
        ("__init__.py", "from toy.graph import node"),
    ],
)
def test_an_import_in_order_is_left_alone(tmp_path, importer, statement):
    toy = package(
        tmp_path,
        {"graph/node.py": "", "dims/dim.py": "", "model/density.py": "", importer: statement},
    )
    assert imports_of(toy)
    assert direction_violations(imports_of(toy), "toy") == []


def test_a_seeded_cycle_is_found(tmp_path):
    toy = package(
        tmp_path,
        {
            "dims/a.py": "import toy.dims.b",
            "dims/b.py": "from toy.dims import c",
            "dims/c.py": "from toy.dims.a import x",
            "dims/d.py": "from toy.dims.a import x",
        },
    )
    assert cycles(imports_of(toy), "toy") == [["toy.dims.a", "toy.dims.b", "toy.dims.c"]]


def test_a_lazy_import_makes_no_cycle(tmp_path):
    toy = package(
        tmp_path,
        {
            "dims/a.py": "import toy.dims.b",
            "dims/b.py": "def f():\n    import toy.dims.a",
            "dims/c.py": "if TYPE_CHECKING:\n    import toy.dims.d",
            "dims/d.py": "import toy.dims.c",
        },
    )
    assert cycles(imports_of(toy), "toy") == []


def test_a_seeded_import_that_breaks_a_cycle_is_found(tmp_path):
    toy = package(
        tmp_path,
        {
            "dims/a.py": "import toy.dims.b\nimport toy.graph.c",
            "dims/b.py": "def f():\n    import toy.dims.a",
            "graph/__init__.py": "import toy.dims.d",
            "graph/c.py": "",
            "dims/d.py": "def f():\n    import toy.dims.a\n    import toy.dims.e",
            "dims/e.py": "if TYPE_CHECKING:\n    import toy.dims.d",
        },
    )
    found = cycle_breakers(imports_of(toy), modules_of(toy))
    assert [str(one) for one in found] == [
        "toy.dims.b:2 imports toy.dims.a",
        "toy.dims.d:2 imports toy.dims.a",
    ]


def test_seeded_pytensor_in_the_dims_is_found(tmp_path):
    toy = package(tmp_path, {"dims/a.py": "def f():\n    import pytensor.tensor as pt"})
    assert pytensor_violations(imports_of(toy)) == ["toy.dims.a:2 imports pytensor.tensor"]


def test_code_over_budget_is_found(tmp_path):
    body = "    pass\n" * 80
    path = tmp_path / "long.py"
    text = '    """One line.\n\n    Another.\n    """\n'
    path.write_text(f"def long():\n{body}\ndef told():\n{text}{body[9:]}")
    assert over_budget(path) == ["long.py:1 long has 81 lines"]
    path.write_text("# over budget: a table\n" + "a = 1\n" * 501)
    assert over_budget(path) == []
    path.write_text("a = 1\n" * 501)
    assert over_budget(path) == [f"{path} has 501 lines"]


def test_a_crowded_package_is_found(tmp_path):
    toy = package(tmp_path, {f"dims/a{number}.py": "" for number in range(14)})
    assert crowded(toy) == []
    (toy / "dims" / "b.py").touch()
    assert crowded(toy) == [f"{toy / 'dims'} has 16 modules"]


# -- what an import loads ----------------------------------------------------------------------


def loaded_by(statement: str, of: Sequence[str] = HEAVY) -> list[str]:
    """Which of some libraries, the heavy ones, a fresh interpreter has after a statement."""
    script = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    modules = json.loads(done.stdout.splitlines()[-1])
    return [name for name in of if name in modules]


def test_importing_dimtensor_loads_no_heavy_library():
    assert loaded_by("import dimtensor as dt; dt.Dim('a', coords=[1]), dt.DimError") == []


def test_the_first_tensor_loads_pytensor_alone():
    assert loaded_by("import dimtensor as dt; dt.scalar('x') + 1") == ["pytensor"]


def test_a_calendar_part_may_be_what_is_asked_for_first():
    months = """
import dimtensor as dt
month = dt.date_range("month", start="2021-01-01", periods=2, freq="MS")
assert month.dt.days_in_month.values.tolist() == [31, 28]
assert month.dt.month.values.tolist() == [1, 2]
"""
    assert loaded_by(months, ["pytensor"]) == ["pytensor"]


@pytest.mark.parametrize(
    "statement",
    [
        "from dimtensor.dist import Normal; Normal(0, 1); import dimtensor as dt",
        "from dimtensor.tensor.inputs import scalar; scalar('x') + 1; import dimtensor as dt",
        "from dimtensor import *; import dimtensor as dt; assert tensor is dt.tensor",
        "import dimtensor as dt; 'exp' in dir(dt)",
    ],
)
def test_names_are_the_same_whatever_is_imported_first(statement):
    same = "assert dt.tensor is dt.public.tensor and dt.real is dt.public.real"
    assert loaded_by(f"{statement}; {same}; dt.linalg.inv, dt.fft.rfft, dt.dist.Normal") == [
        "pytensor"
    ]


def test_a_model_of_arrays_is_evaluated_without_labels():
    model = """
import numpy as np, dimtensor as dt
from dimtensor import dist
obs, kind = dt.Dim("obs", length=3), dt.Dim("kind", coords=["a", "b"])
mu = dt.rv("mu", dist.Normal(0, 1), dims=kind)
one = dt.rv("one", dist.Normal(mu.isel(kind=dt.data([0, 1, 0], dims=obs)), 1), dims=obs)
count = dt.rv("count", dist.Poisson(dt.exp(mu)), dims=kind)
seen = {one: np.zeros(3), count: [1, 2]}
density = dt.Model(one, count, backend="python").observe(seen).log_density()
density.logp_and_grad(np.zeros(2))
"""
    assert not {"pandas", "xarray"} & {*loaded_by(model)}


def test_missing_observations_and_slices_of_integers_need_no_labels():
    model = """
import numpy as np, dimtensor as dt
from dimtensor import dist
obs, kind = dt.Dim("obs", coords=range(1, 5)), dt.Dim("kind", coords=["a", "b"])
mu = dt.rv("mu", dist.Uniform(0, 1 + dt.data(2.0)))
one = dt.rv("one", dist.Normal(mu, 1), dims=obs[1:3])
which = dt.rv("which", dist.Categorical(dt.stack([mu / 4, 1 - mu / 4], kind), dim=kind), dims=obs)
gone = np.array(["a", "b", np.nan, "a"], dtype=object)
seen = {one: np.array([0.5, np.nan, 0.25]), which: gone}
density = dt.Model(one, which, backend="python").observe(seen, missing="drop").log_density()
value, slope = density.logp_and_grad(np.zeros(1))
# mu is 1.5, and has the density of a uniform one in terms of its logit
x, p = np.array([0.5, 0.25]), 1.5 / 4
expected = -0.5 * ((x - 1.5) ** 2 + np.log(2 * np.pi)).sum() + 2 * np.log(p) + np.log(1 - p)
assert abs(value - expected - np.log(0.25)) < 1e-12
"""
    assert not {"pandas", "xarray"} & {*loaded_by(model)}


def test_constants_of_densities_are_folded_without_special_functions():
    fold = """
import numpy as np
import pytensor.tensor as pt
from pytensor.graph.fg import FunctionGraph
from dimtensor.optimize.rules import rewrite
from dimtensor.ops.special import log_ndtr
constants = [pt.gammaln(pt.constant(np.array(2.5))), log_ndtr(pt.constant(np.array(10.0)))]
graph = FunctionGraph([], constants, clone=True)
rewrite(graph)
gamma, normal = (v.data for v in graph.outputs)
assert abs(gamma - 0.2846828704729192) < 1e-15
assert abs(normal / -7.619853024160527e-24 - 1) < 1e-14
"""
    assert loaded_by(fold, ["scipy.special"]) == []
    assert loaded_by("import scipy.special", ["scipy.special"]) == ["scipy.special"]


def test_loading_machine_code_takes_nothing_that_makes_it():
    load = "from dimtensor.backends.native.stored import load\nimport dimtensor.kernels.native.code"
    makers = ["dimtensor.kernels.native.translate", "dimtensor.kernels.ir.nodes"]
    assert loaded_by(load, makers) == []
    assert loaded_by("import dimtensor.kernels.native.translate", makers) == makers


def test_a_heavy_library_would_be_seen():
    assert loaded_by("import dimtensor, xarray") == ["pandas", "xarray"]
