"""What dimtensor uses of other libraries without their promise to keep it.

An upgrade that removes a private name or renames a rewrite would show far from its cause, or not at
all: a rewrite that is excluded by a name that nobody has is not excluded. This test names it.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import dimtensor
from tests.architecture.imports import modules_of

PACKAGE = Path(dimtensor.__file__).parent
LIBRARIES = ("pytensor", "numba", "jax", "nutpie", "llvmlite", "numpy", "scipy", "xarray", "pandas")

# module, name in it (with dots for attributes), and where it is used
NAMES = [
    ("pytensor.graph.replace", "_vectorize_node", "ops/loop/batching"),
    ("pytensor.tensor.blockwise", "Blockwise._create_dummy_core_node", "kernels/batches"),
    ("pytensor.tensor.utils", "_parse_gufunc_signature", "kernels/signatures"),
    ("pytensor.tensor.subtensor", "_sum_grad_over_bcasted_dims", "ops/derivatives/structural"),
    (
        "pytensor.tensor.subtensor",
        "AdvancedIncSubtensor._check_runtime_broadcast_of_vector_index",
        "backends/jax_indexing",
    ),
    ("pytensor.tensor.subtensor", "indices_from_subtensor", "backends/jax_indexing"),
    ("pytensor.compile.aliasing", "Supervisor", "interop/pytensor"),
    ("pytensor.compile.aliasing", "insert_deepcopy", "interop/pytensor"),
    ("pytensor.link.basic", "JITLinker.create_jitable_thunk", "interop/pytensor"),
    ("pytensor.link.numba.linker", "NumbaLinker.fgraph_convert", "interop/pytensor"),
    ("pytensor.link.numba.linker", "NumbaLinker.jit_compile", "interop/pytensor"),
    ("pytensor.link.numba.dispatch.basic", "numba_funcify", "kernels/shared"),
    ("pytensor.link.jax.dispatch", "jax_funcify", "backends/jax"),
    ("pytensor.link.jax.dispatch.shape", "JAXShapeTuple", "backends/jax_graph"),
    ("pytensor.scalar.loop", "ScalarLoop", "backends/jax_special"),
    ("pytensor.compile.mode", "optdb", "kernels/compiler, interop/pytensor"),
    ("numba.core.cgutils", "voidptr_t", "kernels/fortran"),
    ("numba.core.cgutils", "unpack_tuple", "kernels/fortran"),
    ("numba.core.cgutils", "alloca_once_value", "kernels/fortran"),
    ("numba.core.cgutils", "get_or_insert_function", "kernels/fortran"),
    ("numba.core.types", "StarArgTuple.from_types", "kernels/fortran"),
    ("numba.extending", "intrinsic", "kernels/fortran"),
    ("numba.core.errors", "NumbaError", "interop/pytensor"),
    ("jax._src.compilation_cache", "_cache", "backends/jax_cache"),
    ("jax._src.compilation_cache", "_cache_initialized", "backends/jax_cache"),
    ("jax._src.compilation_cache", "_cache_initialized_mutex", "backends/jax_cache"),
    ("jax._src.config", "compilation_cache_dir.value", "backends/jax_cache"),
    ("jax._src.config", "enable_compilation_cache.value", "backends/jax_cache"),
    ("jax._src.config", "persistent_cache_min_compile_time_secs", "backends/jax_cache"),
    ("jax._src.config", "persistent_cache_min_entry_size_bytes", "backends/jax_cache"),
    ("jax.custom_derivatives", "SymbolicZero", "backends/jax_special"),
    ("nutpie", "_lib", "interop/nutpie"),
    ("nutpie.compiled_pyfunc", "from_pyfunc", "interop/nutpie"),
    ("llvmlite.binding", "create_pass_builder", "kernels/native/machine"),
    ("llvmlite.binding", "create_pipeline_tuning_options", "kernels/native/machine"),
    ("llvmlite.binding", "create_mcjit_compiler", "kernels/native/machine"),
    ("numpy._core._multiarray_umath", "_ARRAY_API", "kernels/native/wrapper"),
    ("scipy.special.cython_special", "__pyx_capi__", "kernels/native/externals"),
    ("scipy.linalg.cython_lapack", "__pyx_capi__", "kernels/native/externals"),
    ("scipy.linalg.cython_blas", "__pyx_capi__", "kernels/native/externals"),
]


@pytest.mark.parametrize(("module", "name", "user"), NAMES)
def test_the_name_is_there(module, name, user):
    pytest.importorskip(module.split(".")[0])
    try:
        value = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        pytest.fail(f"dimtensor/{user} uses {module}.{name}, which this version lacks: {error}")


def test_every_private_import_is_listed():
    listed = {(module, name.split(".")[0]) for module, name, _ in NAMES}
    private_modules = {module for module, _, _ in NAMES if "._" in module}
    for path in modules_of(PACKAGE).values():
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or node.level:
                continue
            if (node.module or "").split(".")[0] not in LIBRARIES:
                continue
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_private = "._" in inner
                known = (node.module, alias.name) in listed or inner in private_modules
                assert not is_private or known, f"{path}:{node.lineno} imports {inner}: list it"


def rewrite_names():
    """Strings by which dimtensor asks for rewrites, or asks for them to be left out."""
    from dimtensor.interop import pytensor as mode

    found = dict.fromkeys([*mode._INCLUDED, *mode._EXCLUDED, *mode._SIMPLIFIED], "interop/pytensor")
    asking = {"including", "excluding", "requiring", "RewriteDatabaseQuery", "get_mode"}
    for name, path in modules_of(PACKAGE).items():
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            strings: list[ast.AST] = []
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in asking:
                strings = [*node.args, *(keyword.value for keyword in node.keywords)]
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "UNWANTED":
                strings = [node.value]
            for part in strings:
                for each in ast.walk(part):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        found.setdefault(each.value, name)
    return found


def known_names(database):
    """Names and tags in a database of rewrites, and in those inside of it."""
    found = set(database.__db__)
    for entries in database.__db__.values():
        for entry in entries:
            if hasattr(entry, "__db__"):
                found |= known_names(entry)
    return found


def test_every_rewrite_that_is_named_exists():
    from pytensor.compile.mode import optdb, predefined_modes

    known = known_names(optdb) | set(predefined_modes)
    names = rewrite_names()
    assert {"canonicalize", "inplace", "shape_unsafe"} <= set(names)
    gone = {name: user for name, user in names.items() if name not in known}
    assert not gone, f"this version of PyTensor has no rewrites of these names: {gone}"


def test_a_name_that_nobody_has_is_found():
    from pytensor.compile.mode import optdb

    assert "local_add_canonizer" in known_names(optdb)
    assert "local_that_was_never_there" not in known_names(optdb)
