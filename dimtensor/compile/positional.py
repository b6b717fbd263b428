"""Compiled functions of plain arrays, without labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np

from dimtensor.arrays import array_of
from dimtensor.backends import Executable
from dimtensor.compile.binding_values import Settled, located
from dimtensor.compile.failures import failure, unread
from dimtensor.compile.memory import LACKING, no_memory
from dimtensor.compile.program import Program
from dimtensor.dims import Binding, Dim, Dims, dim_set
from dimtensor.errors import GraphError, InputError
from dimtensor.graph import Node
from dimtensor.values.admission import in_dtype

_DTYPE, _SHAPE, _NDIM = attrgetter("dtype"), attrgetter("shape"), attrgetter("ndim")


class PositionalFunction:
    """Function of plain arrays, which are neither aligned nor labeled.

    Arrays have the dtypes of the inputs, and their axes in the order of `input_dims`. Results have
    their axes in the order of `output_dims`, and may be views. Lengths are not checked by name;
    checks of the function (:func:`dimtensor.check`) are made.

    Parameters
    ----------
    program : Program
    executable : Executable
    inputs : sequence of Node or Dim
    outputs : sequence of Node
    data : sequence of ndarray
    binding : Binding
        Lengths and labels of the data's dims.
    specialize : callable, optional
        Returns the executable for given lengths, on backends that compile per set of lengths.
    settle : Settled, optional
        Cache of the data-only results.

    Attributes
    ----------
    input_dims, output_dims : list of tuple of Dim
        The axes of arrays, in order.

    Examples
    --------
    >>> import numpy as np, dimtensor as dt
    >>> x = dt.tensor("x", dims=[dt.Dim("b", length=2), dt.Dim("a", length=3)])
    >>> plain = dt.function([x], [x.sum("a"), x * 2], backend="python").positional
    >>> order = plain.input_dims[0]
    >>> plain(np.ones([dim.length for dim in order]))[0].tolist()
    [3.0, 3.0]
    """

    def __init__(
        self,
        program: Program,
        executable: Executable,
        inputs: Sequence[Node | Dim],
        outputs: Sequence[Node],
        data: Sequence[np.ndarray],
        binding: Binding,
        specialize: Callable[[dict[Dim, int]], Executable] | None = None,
        settle: Settled | None = None,
    ):
        held = [*data, *located(program, binding)]
        self.program = program
        self.executable = executable
        self.binding = binding
        self.input_dims = [slot.dims for slot in program.slots[: len(inputs)]]
        self.output_dims = program.output_dims
        self._inputs = inputs
        self._settle = settle or Settled()
        self._held = held
        self._outputs = outputs
        self._n_outputs = len(outputs)
        self._first_check = self._n_outputs + len(program.masks)
        self._extra = bool(program.masks or program.checks)
        self._dtypes = tuple(np.dtype("int64" if isinstance(x, Dim) else x.dtype) for x in inputs)
        self._ndims = tuple(map(len, self.input_dims))
        self._trusting = not executable.checks
        self._call: Callable[..., Sequence[Any]]
        if specialize is not None and executable.native is None:
            dims = [slot.dims for slot in program.slots]
            self._call = _Specialized(dims, specialize, held, self._settle)
        else:
            self._call = executable.bind(self._settle(executable, held))

    @cached_property
    def fixed(self) -> tuple[np.ndarray, ...]:
        """Arguments of `raw` after the inputs: data, data-only results and large constants."""
        executable = self.executable
        return (*self._settle(executable, self._held), *executable.constants)

    @property
    def raw(self) -> Any:
        """The backend's function: a numba dispatcher, a pure JAX function, or a Python function.

        It takes the inputs and then the arrays of `fixed`, and returns the outputs first.
        """
        return self.executable.raw

    @property
    def conditions(self) -> range:
        """Positions of the conditions of checks among the results of `raw`."""
        return range(self._first_check, self._first_check + len(self.program.checks))

    def __call__(self, *arrays: np.ndarray) -> Sequence[np.ndarray]:
        if self._trusting and not self._are_taken(arrays):
            arrays = tuple(self._admitted(arrays))
        try:
            results = self._call(*arrays)
        except TypeError as error:
            return self(*self._admitted(arrays, error))
        except IndexError as error:
            values = [*arrays, *self._held]
            raise unread(error, self.program, self._inputs, values, self.binding) from None
        except LACKING as error:
            raise no_memory(error, self._outputs, self._bound(arrays)) from error.__cause__
        if self._extra:
            fine = results[self._first_check :]
            if not all(fine):
                values = [*arrays, *self._held]
                raise failure(self.program, self._inputs, fine, values, self.binding)
            return results[: self._n_outputs]
        return results

    def _bound(self, arrays: Sequence[np.ndarray]) -> Binding:
        """Return the lengths of dims in a call."""
        binding = self.binding.copy()
        for dims, array in zip(self.input_dims, arrays, strict=False):
            for dim, length in zip(dims, np.shape(array), strict=False):
                if binding.length(dim) is None:
                    binding.add_length(dim, length, "an array")
        return binding

    def __reduce__(self) -> NoReturn:
        raise GraphError(
            "a positional function is code of this process, which is not pickled",
            hint="pickle the function itself, and take .positional of it where it is loaded",
        )

    def __copy__(self) -> PositionalFunction:
        return self

    def __deepcopy__(self, memo: Any) -> PositionalFunction:
        return self

    def _are_taken(self, arrays: Sequence[Any]) -> bool:
        """Return True for plain NumPy arrays with the dtypes and axes of the inputs."""
        return (
            all(type(array) is np.ndarray for array in arrays)
            and tuple(map(_DTYPE, arrays)) == self._dtypes
            and tuple(map(_NDIM, arrays)) == self._ndims
        )

    def _admitted(self, arrays: Sequence[Any], error: TypeError | None = None) -> list[np.ndarray]:
        """Convert arrays to contiguous ones of the inputs' dtypes.

        Raises
        ------
        InputError
            If there are too many or too few, if one has another shape, or if a cast is not safe.
        """
        if len(arrays) != len(self._inputs):
            raise InputError(
                f"the function takes {len(self._inputs)} arrays, {len(arrays)} are given"
            ) from error
        admitted = []
        for at, (array, dtype, dims) in enumerate(
            zip(arrays, self._dtypes, self.input_dims, strict=True)
        ):
            array = array_of(array, f"array {at}", gaps=False)
            known = [dim.length for dim in dims]
            fits = array.ndim == len(dims) and all(
                length in (None, given) for length, given in zip(known, array.shape, strict=True)
            )
            if not fits or not np.can_cast(array.dtype, dtype, "safe"):
                raise InputError(
                    f"array {at} is not what the function takes",
                    [
                        ("given", f"dtype {array.dtype}, shape {array.shape}"),
                        ("expected", f"dtype {dtype}, axes {dim_set(dims)} in this order"),
                    ],
                ) from error
            ready = np.require(array, dtype, ["C", "A"]).reshape(array.shape)
            admitted.append(in_dtype(ready, dtype))
        same = all(one is other for one, other in zip(admitted, arrays, strict=True))
        if same and error is not None:  # the arrays were not the cause
            raise error
        return admitted


class _Specialized:
    """Dispatcher to executables that are compiled per set of lengths, at the first call."""

    def __init__(
        self,
        dims: Sequence[Dims],
        specialize: Callable[[dict[Dim, int]], Executable],
        held: Sequence[np.ndarray],
        settle: Settled,
    ):
        self._dims = dims
        self._specialize = specialize
        self._held = held
        self._settle = settle
        self._calls: dict[tuple, Callable[..., Sequence[Any]]] = {}
        self._ndims = tuple(len(each) for each in dims[: len(dims) - len(held)])

    def __call__(self, *arrays: np.ndarray) -> Sequence[Any]:
        for array in arrays:
            kind = type(array)
            if kind is not np.ndarray and not kind.__module__.startswith("jax"):
                raise TypeError("these are not all arrays of NumPy's own class or of JAX")
        shapes = tuple(map(_SHAPE, arrays))
        found = self._calls.get(shapes)
        if found is None:
            if tuple(map(len, shapes)) != self._ndims:
                raise TypeError("these are not arrays with the axes that are taken")
            executable = self._specialize(self.lengths([*shapes, *map(np.shape, self._held)]))
            found = executable.bind(self._settle(executable, self._held))
            self._calls[shapes] = found
        return found(*arrays)

    def lengths(self, shapes: Sequence[tuple[int, ...]]) -> dict[Dim, int]:
        """Return the lengths of open dims, given the shapes of arrays."""
        return {
            dim: length
            for dims, shape in zip(self._dims, shapes, strict=True)
            for dim, length in zip(dims, shape, strict=True)
            if dim.length is None
        }
