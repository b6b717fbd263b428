"""Allow-list of operations in an exported module.

A module is checked when it is written and when it is loaded. That is no sandbox: a module computes
what its author wrote, for as long as that takes, and calls the linear algebra routines listed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dimtensor.errors import LISTED, ExportError

_LAPACK = {
    "sdcz": ("gees", "geev", "gehrd", "geqrf", "gesdd", "getrf", "gtsv", "potrf", "trsm"),
    "sd": ("orgqr", "syevd", "sytrd"),
    "cz": ("ungqr", "heevd", "hetrd"),
}
_GPU = ("geqrf", "gesvd", "gesvdj", "gesdd", "getrf", "orgqr", "potrf", "syevd", "sytrd")
# The custom calls with a stability promise of JAX, without those that allocate uninitialized memory
# or run kernels embedded in the module or TensorFlow: dimtensor emits none of these.
CALLS = frozenset(
    [
        *(f"lapack_{t}{name}_ffi" for ts, names in _LAPACK.items() for name in names for t in ts),
        *(f"{library}_{name}_ffi" for library in ("cusolver", "hipsolver") for name in _GPU),
        *("cusparse_gtsv2_ffi", "cu_threefry2x32_ffi", "hip_threefry2x32_ffi"),
        *("cu_lu_pivots_to_permutation", "hip_lu_pivots_to_permutation"),
        *("Eigh", "LuDecomposition", "ProductOfElementaryHouseholderReflectors", "Qr"),
        *("ApproxTopK", "stablehlo.dynamic_approx_top_k", "stablehlo.dynamic_top_k"),
        *("stablehlo.dynamic_reduce_window", "stablehlo.dynamic_rng_bit_generator"),
        *("shape_assertion", "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"),
    ]
)
_OTHERS = frozenset({"builtin.module", "func.func", "func.call", "func.return"})
# communication with other devices or the host
_REFUSED = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("infeed", "outfeed", "send", "recv", "after_all", "create_token", "partition_id"),
        *("replica_id", "all_gather", "all_reduce", "all_to_all", "reduce_scatter"),
        *("collective_broadcast", "collective_permute", "cross-replica-sum"),
    )
)
_BITS = {"float": "f", "int": "i", "uint": "ui"}


def require_allowed(exported: Any) -> None:
    """Check that a function that JAX exported consists of what may be written and read.

    Raises
    ------
    ExportError
        If it calls other code, has side effects, or is for several devices.
    """
    found = list(dict.fromkeys([*_of_header(exported), *_of_module(exported)]))
    if found:
        more = ", …" if len(found) > LISTED else ""
        raise ExportError(
            f"the module may compute and do nothing else: it {', '.join(found[:LISTED])}{more}"
        )


def _of_header(exported: Any) -> Iterator[str]:
    """Return the faults of a module that JAX's metadata show."""
    import jax
    import jax.export

    n = len(exported.in_avals)
    if exported.in_tree != jax.tree.structure(((0,) * n, {})):
        yield "takes other arguments than arrays by position"
    if exported.out_tree != jax.tree.structure((0,) * len(exported.out_avals)):
        yield "returns something else than a tuple of arrays"
    if exported.nr_devices != 1 or any((*exported.in_shardings_hlo, *exported.out_shardings_hlo)):
        yield "is for several devices"
    oldest = jax.export.minimum_supported_calling_convention_version
    newest = jax.export.maximum_supported_calling_convention_version
    if not oldest <= exported.calling_convention_version <= newest:
        yield "is called in a way that this JAX does not have"
    if exported.ordered_effects or exported.unordered_effects:
        yield "has side effects"
    if exported.disabled_safety_checks:
        yield "was exported without JAX's checks"
    if exported.has_vjp():
        yield "has a derivative of its own"
    kept = exported.module_kept_var_idx
    if list(kept) != sorted({*kept} & {*range(n)}):
        yield "keeps inputs that it does not have"


def _of_module(exported: Any) -> Iterator[str]:
    """Return the faults of a module's operations and of the types of its entry."""
    from dimtensor.upstream.jax import opened_module, types_of_main

    with opened_module(exported) as module:
        todo = [(module, "")]
        calls: dict[str, set[str]] = {}
        while todo:
            operation, caller = todo.pop()
            name = operation.name
            if name == "func.func":
                caller = operation.attributes["sym_name"].value
            elif name == "func.call":
                calls.setdefault(caller, set()).add(operation.attributes["callee"].value)
            if name == "stablehlo.custom_call":
                target = operation.attributes["call_target_name"].value
                if target not in CALLS:
                    yield f"calls {target}"
            elif name in _REFUSED or not (name in _OTHERS or name.startswith("stablehlo.")):
                yield f"has the operation {name}"
            for region in operation.regions:
                for block in region:
                    todo += [(one.operation, caller) for one in block]
        if _circular(calls):
            yield "has functions that call themselves"
        inputs, results = types_of_main(module)
        kept = [exported.in_avals[at] for at in exported.module_kept_var_idx]
        inputs = inputs[1:] if len(exported.platforms) > 1 else inputs
        if not (_agree(inputs, kept) and _agree(results, exported.out_avals)):
            yield "has an entry of other types than it says"


def _circular(calls: dict[str, set[str]]) -> bool:
    """Return whether a function is recursive, with which XLA would not end."""
    left = {caller: set(called) for caller, called in calls.items()}
    while ends := {name for called in left.values() for name in called} - left.keys():
        left = {caller: called - ends for caller, called in left.items()}
        left = {caller: called for caller, called in left.items() if called}
    return bool(left)


def _agree(types: Sequence[Any], avals: Sequence[Any]) -> bool:
    return len(types) == len(avals) and all(map(_agrees, types, avals))


def _agrees(tensor: Any, aval: Any) -> bool:
    """Return whether an MLIR type matches an abstract array of JAX."""
    if not hasattr(tensor, "shape") or len(tensor.shape) != len(aval.shape):
        return False
    lengths = (length if isinstance(length, int) else None for length in aval.shape)
    dynamic = type(tensor).get_dynamic_size()
    same = all(
        (one is None and other == dynamic) or one == other
        for one, other in zip(lengths, tensor.shape, strict=True)
    )
    return same and str(tensor.element_type) == _element(str(aval.dtype))


def _element(dtype: str) -> str:
    """Return the MLIR name of a dtype."""
    if dtype == "bool":
        return "i1"
    if dtype.startswith("complex"):
        return f"complex<f{int(dtype[7:]) // 2}>"
    kind = dtype.rstrip("0123456789")
    return _BITS.get(kind, dtype) + dtype[len(kind) :]
