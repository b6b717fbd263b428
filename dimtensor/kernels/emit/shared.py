"""Names, constants and the namespace that all parts of a function share."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from pytensor.graph.basic import Constant, Variable
from pytensor.scalar.basic import get_scalar_type

from dimtensor.kernels.foreign import NumbaFunction
from dimtensor.kernels.ir.nodes import Array
from dimtensor.kernels.ir.python import global_name, library_name
from dimtensor.kernels.native.functions.library import has_vectors
from dimtensor.ops.facts import facts_of
from dimtensor.optimize.plan import UnsupportedGraph
from dimtensor.settings import settings


class TooDeep(Exception):
    """An element has to be computed before the one that it was asked for by."""

    def __init__(self, *element: Any):
        super().__init__("an element of many operations in a row")
        self.element = element


class Shared:
    """State that all blocks of a function share.

    Attributes
    ----------
    namespace : dict
        Global names of the source.
    constants : list of (str, ndarray)
        Extra arguments of the function.
    is_native : bool
        Whether the function becomes machine code here, or is left to numba.
    verifies : bool
        Whether the function is verified before and after each pass.
    passes_off : frozenset of str
        Names of passes that are switched off.
    """

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}
        self.constants: list[tuple[str, np.ndarray]] = []
        self._constant_arrays: dict[Variable, Array] = {}
        self._functions: dict[Any, str] = {}
        asked = settings()
        self.is_native, self.verifies = asked.native != "off", asked.verify
        self.passes_off = asked.passes_off
        if not (self.is_native and has_vectors("log")):
            self.passes_off |= {"logarithm_sums"}
        self._counter = itertools.count()
        self._function_counter = itertools.count()

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self._counter)}"

    def function(self, function: Any) -> str:
        """Name a function that the source calls."""
        name = f"f{next(self._function_counter)}"
        self.namespace[name] = function
        return name

    def constant(self, variable: Constant) -> Array:
        found = self._constant_arrays.get(variable)
        if found is None:
            data = np.ascontiguousarray(variable.data)
            found = Array(self.fresh("c"), data.dtype.name, data.ndim)
            self._constant_arrays[variable] = found
            self.constants.append((found.name, data))
        return found

    def scalar_function(self, op: Any, dtypes: Sequence[str], out: str) -> str:
        """Name a scalar operation; where numba compiles, it calls PyTensor's function."""
        row = facts_of(op).name
        if row and library_name(row, out) is not None:
            return row
        key = (op, tuple(dtypes))
        name = self._functions.get(key)
        if name is None:
            node = op.make_node(*[get_scalar_type(dtype)() for dtype in dtypes])
            if node.outputs[0].type.dtype != out:
                raise UnsupportedGraph(f"{op} gives {node.outputs[0].type.dtype}, not {out}")
            if row:
                self.namespace[global_name(row, dtypes, out)] = NumbaFunction(node)
            name = self._functions[key] = row or self.function(NumbaFunction(node))
        return name
