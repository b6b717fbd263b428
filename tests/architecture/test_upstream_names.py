"""What dimtensor uses of other libraries without their promise to keep it.

An upgrade that removes a private name or renames a rewrite would show far from its cause, or not at
all: a rewrite that is excluded by a name that nobody has is not excluded. This test names it.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import dimtensor
from tests.architecture.imports import modules_of
from tests.architecture.sources import nodes

PACKAGE = Path(dimtensor.__file__).parent
LIBRARIES = ("pytensor", "numba", "jax", "nutpie", "llvmlite", "numpy", "scipy", "xarray", "pandas")

# module, name in it (with dots for attributes), and where it is used
NAMES = [
    ("_weakref", "_remove_dead_weakref", "interning"),
    ("pytensor.graph.replace", "_vectorize_node", "upstream/pytensor"),
    ("pytensor.tensor.blockwise", "Blockwise._check_runtime_broadcast", "upstream/pytensor"),
    ("pytensor.tensor.blockwise", "Blockwise._create_dummy_core_node", "upstream/pytensor"),
    ("pytensor.tensor.utils", "_parse_gufunc_signature", "upstream/pytensor"),
    ("pytensor.tensor.subtensor", "_sum_grad_over_bcasted_dims", "upstream/pytensor"),
    (
        "pytensor.tensor.subtensor",
        "AdvancedIncSubtensor._check_runtime_broadcast_of_vector_index",
        "upstream/pytensor",
    ),
    ("pytensor.xtensor.type", "XTensorType", "interop/pymc/placeholders"),
    ("pytensor.xtensor.basic", "XTensorFromTensor", "plugins/pytensor_mode"),
    ("pytensor.xtensor.basic", "TensorFromXTensor", "plugins/pytensor_mode"),
    ("pytensor.tensor.elemwise", "Elemwise._bgrad", "upstream/pytensor"),
    ("pytensor.tensor.linalg", "Solve._props_dict", "upstream/pytensor"),
    ("pytensor.tensor.subtensor", "indices_from_subtensor", "backends/jax/indexing"),
    ("pytensor.compile.aliasing", "Supervisor", "plugins/pytensor_mode"),
    ("pytensor.compile.aliasing", "insert_deepcopy", "plugins/pytensor_mode"),
    ("pytensor.link.basic", "JITLinker.create_jitable_thunk", "plugins/pytensor_mode"),
    ("pytensor.link.numba.linker", "NumbaLinker.fgraph_convert", "plugins/pytensor_mode"),
    ("pytensor.link.numba.linker", "NumbaLinker.jit_compile", "plugins/pytensor_mode"),
    ("pytensor.link.numba.dispatch.basic", "numba_funcify", "kernels/foreign"),
    ("pytensor.tensor.blockwise", "vectorize_node_fallback", "ops/loop/batching"),
    ("pytensor.link.jax.dispatch", "jax_funcify", "backends/jax"),
    ("pytensor.link.jax.dispatch.shape", "JAXShapeTuple", "backends/jax/graph"),
    ("pytensor.scalar.loop", "ScalarLoop", "backends/jax/special"),
    ("pytensor.compile.mode", "optdb", "kernels/compiler, interop/scans/steps"),
    ("numba.core.cgutils", "voidptr_t", "kernels/routines"),
    ("numba.core.cgutils", "unpack_tuple", "kernels/routines"),
    ("numba.core.cgutils", "alloca_once_value", "kernels/routines"),
    ("numba.core.cgutils", "get_or_insert_function", "kernels/routines"),
    ("numba.core.types", "StarArgTuple.from_types", "kernels/routines"),
    ("numba.extending", "intrinsic", "upstream/numba"),
    ("numba.core.errors", "NumbaError", "upstream/numba"),
    ("formulae.terms.terms", "Model._get_encoding_bools", "upstream/formulae"),
    ("llvmlite.binding.newpassmanagers", "NewPassManager._dispose", "upstream/llvmlite"),
    ("jax._src.callback", "logger.addFilter", "upstream/jax"),
    ("jax._src.compilation_cache", "_cache", "upstream/jax"),
    ("jax._src.compilation_cache", "_cache_initialized", "upstream/jax"),
    ("jax._src.compilation_cache", "_cache_initialized_mutex", "upstream/jax"),
    ("jax._src.config", "compilation_cache_dir.value", "upstream/jax"),
    ("jax._src.config", "enable_compilation_cache.value", "upstream/jax"),
    ("jax._src.config", "persistent_cache_min_compile_time_secs", "upstream/jax"),
    ("jax._src.config", "persistent_cache_min_entry_size_bytes", "upstream/jax"),
    ("jax._src.config", "include_full_tracebacks_in_locations", "upstream/jax"),
    ("jax._src.source_info_util", "user_context", "upstream/jax"),
    ("jax._src.source_info_util", "user_frame", "upstream/jax"),
    ("jax._src.lib", "xla_client.Traceback.get_traceback", "upstream/jax"),
    (
        "jax._src.lib.mlir.dialects",
        "hlo.get_version_from_compatibility_requirement",
        "upstream/jax",
    ),
    ("jax._src.lib.mlir.dialects", "hlo.get_current_version", "upstream/jax"),
    ("jax._src.lib.mlir.dialects", "hlo.StablehloCompatibilityRequirement.WEEK_4", "upstream/jax"),
    ("jax.core", "max_dim", "backends/jax/symbolic"),
    ("jax.custom_derivatives", "SymbolicZero", "backends/jax/special"),
    ("nutpie", "_lib.PyNutsSettings", "upstream/nutpie"),
    ("nutpie", "_lib.ProgressType.none", "upstream/nutpie"),
    ("nutpie.compiled_pyfunc", "from_pyfunc", "interop/nutpie_models"),
    ("nutpie.compiled_pyfunc", "PyFuncModel._make_sampler", "upstream/nutpie"),
    ("nutpie.compile_pymc", "CompiledPyMCModel._make_sampler", "upstream/nutpie"),
    ("llvmlite.binding", "create_pass_builder", "kernels/native/machine"),
    ("llvmlite.binding", "create_pipeline_tuning_options", "kernels/native/machine"),
    ("llvmlite.binding", "create_mcjit_compiler", "kernels/native/machine"),
    ("numpy._core._multiarray_umath", "_ARRAY_API", "upstream/numpy"),
    ("numpy.random._generator", "__file__", "upstream/numpy"),
    ("numpy.random", "PCG64.ctypes", "kernels/native/linking/externals"),
    ("scipy.special.cython_special", "__pyx_capi__", "kernels/native/linking/externals"),
    ("scipy.linalg.cython_lapack", "__pyx_capi__", "kernels/native/linking/externals"),
    ("scipy.linalg.cython_blas", "__pyx_capi__", "kernels/native/linking/externals"),
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


# a string that the source of a module of theirs contains: an attribute that they look for
READ = [
    ("pytensor.graph.rewriting.basic", "_compile_mode", "upstream/pytensor"),
    ("pytensor.compile.aliasing", "_supervisor", "upstream/pytensor"),
]


@pytest.mark.parametrize(("module", "name", "user"), READ)
def test_the_attribute_is_read(module, name, user):
    source = inspect.getsource(importlib.import_module(module))
    assert name in source, f"dimtensor/{user} sets {name}, which {module} does not read any more"


def test_nutpie_takes_what_it_is_given():
    pytest.importorskip("nutpie")
    from nutpie.compile_pymc import CompiledPyMCModel

    taken = set(inspect.signature(CompiledPyMCModel).parameters)
    source = (PACKAGE / "interop" / "nutpie_models.py").read_text()
    given = [
        {keyword.arg for keyword in node.keywords}
        for node in nodes(source, ast.Call)
        if ast.unparse(node.func) == "CompiledPyMCModel"
    ]
    assert given
    assert set().union(*given) <= taken


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def foreign_names(modules):
    """Private names and modules of other libraries that are used, by module.

    ``x._name`` is foreign if nothing of the package has this name.
    """
    own = {"_replace", "_asdict", "_fields", "_make", "_getframe"}  # of Python itself
    for text in modules.values():
        own.update(node.name for node in nodes(text, ast.FunctionDef, ast.ClassDef))
        own.update(node.id for node in nodes(text, ast.Name) if isinstance(node.ctx, ast.Store))
        for node in nodes(text, ast.Attribute):
            if isinstance(node.ctx, ast.Store) and ast.unparse(node.value) in ("self", "cls"):
                own.add(node.attr)
        for node in nodes(text, ast.Constant):
            if isinstance(node.value, str):
                own.add(node.value)  # slots
    found = {}
    for name, text in modules.items():
        attributes = {node.attr for node in nodes(text, ast.Attribute)}
        used = {each for each in attributes if is_private(each) and each not in own}
        for node in nodes(text, ast.Import, ast.ImportFrom):
            for module, names in imported(node):
                if module.split(".")[0] in LIBRARIES:
                    parts = [*module.split("."), *names]
                    used.update(part for part in parts if is_private(part))
        if used:
            found[name] = used
    return found


def imported(node):
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [(node.module or "", [alias.name for alias in node.names])]
    return [(a.name, []) for a in node.names] if isinstance(node, ast.Import) else []


def test_private_names_are_used_in_one_place_and_listed():
    texts = {name: path.read_text() for name, path in modules_of(PACKAGE).items()}
    found = foreign_names(texts)
    elsewhere = {k: v for k, v in found.items() if not k.startswith("dimtensor.upstream.")}
    assert not elsewhere, f"use them in dimtensor/upstream: {elsewhere}"
    listed = {p for module, name, _ in NAMES for p in f"{module}.{name}".split(".")}
    listed |= {name for _, name, _ in READ}
    missing = set().union(*found.values()) - listed
    assert not missing, f"list them: {missing}"


def test_private_names_are_found():
    assert foreign_names({"m": "from jax._src import x"}) == {"m": {"_src"}}
    assert foreign_names({"m": "import numpy._core.y as y"}) == {"m": {"_core"}}
    assert foreign_names({"m": "from pytensor.a import _b"}) == {"m": {"_b"}}
    assert foreign_names({"m": "y = x._theirs"}) == {"m": {"_theirs"}}
    assert not foreign_names({"m": "from dimtensor.a import _b\nself._c = 1\ny = x._c"})


def rewrite_names():
    """Strings by which dimtensor asks for rewrites, or asks for them to be left out."""
    from dimtensor.interop.scans import steps

    found = dict.fromkeys([*steps.INCLUDED, *steps.EXCLUDED], "interop/scans/steps")
    asking = {"including", "excluding", "requiring", "RewriteDatabaseQuery", "get_mode"}
    for name, path in modules_of(PACKAGE).items():
        for node in nodes(path.read_text(), ast.Call, ast.Assign):
            strings: list[ast.AST] = []
            if isinstance(node, ast.Assign):
                if isinstance(node.targets[0], ast.Name) and node.targets[0].id in (
                    "UNWANTED",
                    "_SIMPLIFIED",
                ):
                    strings = [node.value]
            elif getattr(node.func, "attr", getattr(node.func, "id", "")) in asking:
                strings = [*node.args, *(keyword.value for keyword in node.keywords)]
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


@pytest.mark.plugin("pytensor_mode")
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
