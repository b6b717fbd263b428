"""Private names of PyTensor."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pytensor import config
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.op import Op
from pytensor.graph.replace import _vectorize_node as vectorize_node
from pytensor.tensor.subtensor import _sum_grad_over_bcasted_dims as sum_over_broadcast_dims
from pytensor.tensor.utils import _parse_gufunc_signature as parse_gufunc_signature

from dimtensor.forks import taken_at_forks
from dimtensor.settings import settings

__all__ = [
    "batch_derivatives",
    "compiled_in",
    "core_node",
    "kept_as_asked",
    "nothing_kept",
    "parse_gufunc_signature",
    "props",
    "protected_inputs",
    "refuse_broadcast_of_batch",
    "refuse_broadcast_of_vector_index",
    "sum_over_broadcast_dims",
    "traceback_limit",
    "vectorize_node",
    "xtensor_class",
]


def core_node(op: Any, inputs: Sequence[Variable]) -> Apply:
    """Return the core node of a Blockwise, for one element of the batch."""
    return op._create_dummy_core_node(inputs)


def batch_derivatives(op: Any, *arguments: Any) -> Any:
    """Batch the gradients of the scalar operation of an Elemwise."""
    return op._bgrad(*arguments)


def props(op: Op) -> dict[str, Any]:
    """Return the properties that identify an operation."""
    return op._props_dict()


def refuse_broadcast_of_batch(op: Any, *arguments: Any) -> None:
    """Raise if a Blockwise would broadcast along a leading axis that its types do not broadcast."""
    op._check_runtime_broadcast(*arguments)


def refuse_broadcast_of_vector_index(op: Any, *arguments: Any) -> None:
    """Raise if values would be broadcast along an array of indices."""
    op._check_runtime_broadcast_of_vector_index(*arguments)


def protected_inputs(graph: FunctionGraph) -> Sequence[Variable]:
    """Return the inputs that code must not overwrite."""
    supervisor = getattr(graph, "_supervisor", None)
    return graph.inputs if supervisor is None else supervisor.protected


class _Nothing:
    """Class without instances, for missing classes."""


def traceback_limit() -> Any:
    """Return the configuration parameter for the traceback length of variables."""
    return vars(type(config))["traceback__limit"]


def xtensor_class(module: str, name: str) -> Any:
    """Return a class of the experimental pytensor.xtensor, if that is imported."""
    loaded = sys.modules.get(f"pytensor.xtensor.{module}")
    return _Nothing if loaded is None else getattr(loaded, name)


@contextmanager
def compiled_in(graph: FunctionGraph, mode: Any) -> Iterator[None]:
    """Compile inner graphs of operations in a mode in the context."""
    graph._compile_mode = mode
    try:
        yield
    finally:
        del graph._compile_mode


# or one thread would restore the setting of another
_changing = taken_at_forks(threading.RLock(), 1)


def nothing_kept[T](make: Callable[[], T]) -> T:
    """Call a function without PyTensor's disk cache of numba functions."""
    with _changing:
        parameter, before = vars(type(config))["numba__cache"], config.numba__cache
        try:
            parameter.val = False
            return make()
        finally:
            parameter.val = before  # an assignment is not interrupted


def kept_as_asked[T](make: Callable[[], T]) -> T:
    """Call a function with PyTensor's disk cache of numba functions, unless caching is off."""
    return make() if settings().cache else nothing_kept(make)
