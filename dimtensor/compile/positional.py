"""Compiled code without labels: plain arrays in, plain arrays out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dimtensor.backends import Executable
from dimtensor.compile.program import Program
from dimtensor.dims import Dim, Dims


class PositionalFunction:
    """Plain arrays in, plain arrays out; nothing is checked, aligned or labelled.

    The arrays have the dtypes and the dims of the inputs, contiguous, axes in the order that is
    stated. The results have their axes in the order that is stated, too, and may be views.

    Attributes
    ----------
    input_dims, output_dims : list of tuple of Dim
        The order in which the arrays have their axes.
    raw : callable
        What the backend calls the function: a numba dispatcher, a pure JAX function, a Python
        function. It takes the inputs and then the arrays of `fixed`, and returns the outputs first.
    fixed : tuple of ndarray
        Data and large constants, in the order in which `raw` takes them.

    Examples
    --------
    >>> import numpy as np, dimtensor as dt
    >>> x = dt.tensor("x", dims=[dt.Dim("b", length=2), dt.Dim("a", length=3)])
    >>> plain = dt.function([x], [x.sum("a"), x * 2], backend="python").positional
    >>> order = plain.input_dims[0]
    >>> plain(np.ones([dim.length for dim in order]))[0].tolist()
    [3.0, 3.0]
    """

    __slots__ = (
        "_call", "_data", "_executable", "_n_outputs", "fixed", "input_dims", "output_dims",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        executable: Executable,
        n_inputs: int,
        n_outputs: int,
        fixed: Sequence[Any],
        specialise: Callable[[dict[Dim, int]], Executable] | None = None,
    ):
        self.input_dims = [slot.dims for slot in program.slots[:n_inputs]]
        self.output_dims = program.output_dims
        self._executable = executable
        self._data = tuple(map(executable.place, fixed))
        self.fixed = (*fixed, *executable.constants)
        self._n_outputs = n_outputs
        self._call: Callable[..., Sequence[Any]] = executable.call
        if specialise is not None:
            self._call = _Specialised([slot.dims for slot in program.slots], specialise)

    @property
    def raw(self) -> Any:
        """What the backend calls the function."""
        return self._executable.raw

    def __call__(self, *arrays: np.ndarray) -> Sequence[np.ndarray]:
        return self._call(*arrays, *self._data)[: self._n_outputs]


class _Specialised:
    """Runs the code for the lengths that the arrays of a call have, compiled at the first one."""

    def __init__(self, dims: Sequence[Dims], specialise: Callable[[dict[Dim, int]], Executable]):
        self._dims = dims
        self._specialise = specialise
        self._calls: dict[tuple, Callable[..., Sequence[Any]]] = {}

    def __call__(self, *arrays: np.ndarray) -> Sequence[Any]:
        shapes = tuple(map(np.shape, arrays))
        call = self._calls.get(shapes)
        if call is None:
            lengths = {
                dim: length
                for dims, shape in zip(self._dims, shapes, strict=True)
                for dim, length in zip(dims, shape, strict=True)
                if dim.length is None
            }
            call = self._calls[shapes] = self._specialise(lengths).call
        return call(*arrays)
