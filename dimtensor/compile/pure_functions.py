"""Access to the pure functions of plain arrays beneath a compiled function."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dimtensor.backends import backend_of
from dimtensor.compile.binding_values import Settled, check_indexers, complete
from dimtensor.compile.code import Code
from dimtensor.compile.memory import LACKING, no_memory
from dimtensor.compile.positional import PositionalFunction
from dimtensor.dims import Binding, Dim, dim_set
from dimtensor.errors import GraphError, InputError
from dimtensor.graph import Node
from dimtensor.graph.node import tensor_of
from dimtensor.kernels.generated import function_of_source
from dimtensor.values.outputs import Labeler

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.backends.native.c_function import CFunction


def positional_function(
    code: Code, data: Sequence[np.ndarray], binding: Binding, settle: Settled | None = None
) -> PositionalFunction:
    """Return the function of plain arrays of code with its data.

    Parameters
    ----------
    code : Code
    data : sequence of ndarray
        In the order in which the code takes them.
    binding : Binding
        Lengths and labels of the dims of the data.
    settle : Settled, optional
        Cache of what follows from the data alone.

    Raises
    ------
    PositionError, DimError, LabelError
        If the data contradict each other, or the function looks up labels of inputs.
    """
    complete(binding, code.program)
    check_indexers(code.program, data, len(code.inputs), binding)
    lengths = code.known_lengths(binding)
    program, executable = code.compiled(lengths)
    specialize = None
    if code.specializes and len(lengths) < len(code.open_dims):

        def specialize(found: dict[Dim, int]) -> Any:
            return code.compiled({d: found[d] for d in code.open_dims if d in found})[1]

    try:
        return PositionalFunction(
            program, executable, code.inputs, code.outputs, data, binding, specialize, settle
        )
    except LACKING as error:
        raise no_memory(error, code.outputs, binding) from error.__cause__


class Levels:
    """Base class of compiled functions: their functions of plain arrays on each backend.

    All of these take the inputs in the same order, as plain arrays with axes in the order of
    ``positional.input_dims``, and return arrays with axes in the order of
    ``positional.output_dims``. They are stateless.
    """

    _code: Code
    _data: list[np.ndarray]
    _data_nodes: list[Node]
    _data_binding: Binding
    _data_axes: list[tuple[Dim, ...]]
    _settled: Settled

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs by name, or by number if they have none, in the order of the call.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x, n = dt.scalar("x"), dt.Dim("n")
        >>> dt.function([x, n], x * dt.arange(n), backend="python").inputs["x"] is x
        True
        """
        return {
            str(at) if source.name is None else source.name: (
                source if isinstance(source, Dim) else tensor_of(source)
            )
            for at, source in enumerate(self._code.inputs)
        }

    @property
    def data(self) -> dict[str, xr.DataArray]:
        """The data of the function by name, or by number if they have none, with labels.

        After `with_data` these are the new values.

        Examples
        --------
        >>> import dimtensor as dt
        >>> y, x = dt.data([1.0, 2.0], dims=dt.Dim("k"), name="y"), dt.scalar("x")
        >>> f = dt.function([x], (y * x).sum(), backend="python")
        >>> f.data["y"].values.tolist(), f.with_data(y=[5.0]).data["y"].values.tolist()
        ([1.0, 2.0], [5.0])
        """
        return {
            str(at) if node.name is None else node.name: Labeler(
                axes, self._data_binding, node.name, node.categories
            ).label(array, self._data_binding)
            for at, (node, array, axes) in enumerate(
                zip(self._data_nodes, self._data, self._data_axes, strict=True)
            )
        }

    def _data_for(self, code: Code) -> list[np.ndarray]:
        """Return the data in the order in which a backend's code takes them."""
        held = dict(zip(self._data_nodes, self._data, strict=True))
        return [held[slot.source] for slot in code.program.slots if slot.source in held]

    def _positional_of(self, code: Code) -> PositionalFunction:
        binding = self._data_binding.copy()
        return positional_function(code, self._data_for(code), binding, self._settled)

    @cached_property
    def positional(self) -> PositionalFunction:
        """Function of plain arrays.

        Raises
        ------
        PositionError, DimError, LabelError
            If the data contradict each other, or the function looks up labels of inputs.
        """
        return self._positional_of(self._code)

    @property
    def fixed(self) -> tuple[np.ndarray, ...]:
        """Arguments of `numba` after the inputs: data, data-only results and large constants."""
        return self._positional_on("native").fixed

    @cached_property
    def numba(self) -> Any:
        """Jitted function to be called from other functions that numba compiles.

        It takes the arrays of the inputs and then those of `fixed`, as data are not part of the
        code. It returns a tuple, in which outputs without dims are scalars. If a check fails, it
        raises ``ValueError``.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.tensor("x", dims=dt.Dim("n"))
        >>> f = dt.function([x], [(x**2).sum()])
        >>> f.numba  # doctest: +SKIP
        CPUDispatcher(<function kernel at 0x...>)
        """
        positional = self._positional_on("native")
        if not positional.program.masks and not positional.program.checks:
            return positional.raw
        return _checked(positional)

    @property
    def address(self) -> int:
        """Address of a C function that writes its results into given buffers.

        ``int32_t f(void *const *arrays, void *const *results, const uint64_t *closure)`` takes the
        addresses of the inputs' contiguous arrays, the addresses of buffers for the outputs, which
        must not overlap with any other array, and `closure`. It is thread-safe, and does not need
        the GIL if `path` is machine code. It returns 0 on success, -1 if a check fails, and another
        number for other failures, such as a lack of memory.

        Raises
        ------
        GraphError
            If the length of a dim depends on the inputs: use `c_function`.
        """
        return self._c_function.address

    @property
    def closure(self) -> int:
        """Address for the C function's last argument, valid as long as this function exists."""
        return self._c_function.closure

    @cached_property
    def _c_function(self) -> CFunction:
        return self.c_function()

    def c_function(self, *shapes: Sequence[int], held: Sequence[np.ndarray] = ()) -> CFunction:
        """Return a C function for inputs of given shapes, with its own closure.

        Parameters
        ----------
        *shapes : sequence of int
            One per input, axes in the order of ``positional.input_dims``. Optional if all lengths
            are known from dims and data.
        held : sequence of ndarray
            Values of the last inputs, which are then not arguments of the C function.

        Returns
        -------
        CFunction
            Has the attributes ``address`` and ``closure``.

        Raises
        ------
        GraphError
            If a length is not known without the shapes.
        InputError
            If a length differs from that of its dim.
        """
        from dimtensor.backends.native.c_function import CFunction

        positional = self._positional_on("native")
        n = len(self._code.inputs) - len(held)
        sources, axes = self._code.inputs[:n], positional.input_dims[:n]
        if not shapes:
            shapes = tuple(tuple(_length(dim, positional.binding) for dim in dims) for dims in axes)
        if len(shapes) != n:
            raise InputError(f"the C function takes {n} arrays, there are {len(shapes)} shapes")
        given = []
        for source, dims, shape in zip(sources, axes, shapes, strict=True):
            known = [dim._bound_length(positional.binding) for dim in dims]
            if len(shape) != len(dims) or any(
                length not in (None, n) for length, n in zip(known, shape, strict=True)
            ):
                raise InputError(f"an array of dims {dim_set(dims)} cannot have shape {shape}")
            given.append(np.empty(tuple(shape), _dtype(source)))
        fixed = [
            np.require(value, _dtype(source), ["C", "A"])
            for value, source in zip(held, self._code.inputs[n:], strict=True)
        ]
        results = [
            (node.dtype, len(dims))
            for node, dims in zip(self._code.outputs, positional.output_dims, strict=True)
        ]
        fixed += positional.fixed
        return CFunction(positional.executable, given, fixed, results, positional.conditions)

    @cached_property
    def jax(self) -> PureFunction:
        """Pure JAX function, for ``jit``, ``grad``, ``vmap`` and ``shard_map``.

        It takes the arrays of the inputs and returns a tuple of arrays. It computes in 64 bits if
        JAX's 64-bit mode is on. It cannot raise errors of checks: see
        :meth:`PureFunction.conditions`.
        """
        return PureFunction(self)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        gradient: Any = False,
        data: Literal["inside", "inputs"] = "inside",
        lengths: Mapping[Any, int] | None = None,
        platforms: Sequence[str] | None = None,
    ) -> Path:
        """Export the function as StableHLO, for programs without dimtensor.

        Each dim of unknown length becomes one symbolic length of the module, which then takes
        arrays of any length from 1 on. :func:`dimtensor.load_exported` loads it with labels; the
        file ``load.py`` in the folder loads it with JAX alone.

        Parameters
        ----------
        path : path-like
            A folder, created if needed. Files: ``function.jax`` (for JAX), ``module.mlir``
            (readable StableHLO), ``module.stablehlo`` (portable StableHLO), ``manifest.json``
            (dims, labels, dtypes, checks, versions) and ``load.py``.
        gradient : bool, or inputs or names of them
            Inputs to differentiate a scalar output with respect to; the derivatives are additional
            outputs. True means all floating-point inputs.
        data : {"inside", "inputs"}
            Whether the data of the function are constants of the module, or named inputs after
            those of the function, with symbolic lengths; their values are then saved in
            ``data.npz``.
        lengths : mapping of Dim or str to int, optional
            Lengths to fix in the module.
        platforms : sequence of str, optional
            Target platforms, such as ``("cpu", "cuda")``. Default: the current one.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        GraphError
            If a length depends on values, if an operation does not support symbolic lengths or runs
            on the host, or if there is no such gradient.
        LabelError
            If the function looks up labels of inputs.
        MissingExtraError
            If JAX or flatbuffers is not installed.
        ExportError
            If the folder cannot be written, or labels cannot be written to a file.
        OptionError
            If an option is not among its choices.

        Examples
        --------
        >>> import tempfile, dimtensor as dt
        >>> x = dt.tensor("x", dims=dt.Dim("n"))
        >>> f = dt.function([x], (x**2).sum(), backend="python")
        >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
        ...     value, slopes = dt.load_exported(f.export(folder, gradient=True))([1.0, 2.0])
        >>> float(value), slopes["x"].values  # doctest: +SKIP
        (5.0, array([2., 4.]))
        """
        from dimtensor.interop.export.writing import export_function

        return export_function(self, path, gradient, data, lengths, platforms)  # type: ignore[arg-type]

    @property
    def source(self) -> str:
        """Readable source of the loop nests.

        Raises
        ------
        GraphError
            If the backend does not generate loop nests.
        """
        return self._kernel("source").source

    @property
    def once_source(self) -> str:
        """Readable source of the data-only part, which runs once per data set; may be empty.

        Its results are arguments of the main function, after the data.

        Raises
        ------
        GraphError
            If the backend does not generate loop nests.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x, k = dt.scalar("x"), dt.data([1.0, 2.0], dims=dt.Dim("n"))
        >>> f = dt.function([x], (k * x - dt.special.gammaln(k)).sum())
        >>> "f0(" in f.once_source, "f0(" in f.source  # doctest: +SKIP
        (True, False)
        """
        self._kernel("source")
        once = self.positional.executable.once
        return "" if once is None else once.kernel.source

    @property
    def assembly(self) -> str:
        """Assembly of the loop nests for this processor.

        Raises
        ------
        GraphError
            If the backend does not generate machine code.
        """
        return self._kernel("assembly").assembly

    @property
    def path(self) -> str:
        """Kind of code that runs: machine code, or the fallback and its reason.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.scalar("x")
        >>> dt.function([x], x * 2, backend="python").path
        'the python interpreter'
        """
        return backend_of(self._code.backend).path(self.positional.executable)

    def _kernel(self, what: str) -> Any:
        kernel = self.positional.executable.kernel
        if kernel is None:
            raise GraphError(
                f"functions of this backend or without kernels have no {what}; for JAX, look at "
                "jax.make_jaxpr(f.jax)(*arrays)"
            )
        return kernel

    def _positional_on(self, backend: str) -> PositionalFunction:
        """Return the function of plain arrays for a given backend."""
        if self._code.backend == backend:
            return self.positional
        known = self.__dict__.setdefault("_elsewhere", {})
        if backend not in known:
            known[backend] = self._positional_of(self._code.on(backend))
        return known[backend]


class PureFunction:
    """Function of arrays that JAX can transform, specialized on their lengths."""

    def __init__(self, function: Levels):
        code = function._code  # not the function, which keeps this one
        self._binding = function._data_binding
        self._code = code.on("jax")
        self._settled = Settled()
        self._data = function._data_for(self._code)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        return self._results(arrays)[: len(self._code.outputs)]

    def conditions(self, *arrays: Any) -> tuple[Any, ...]:
        """Evaluate the conditions of the function's checks."""
        first = len(self._code.outputs) + len(self._code.program.masks)
        return self._results(arrays)[first:]

    def _results(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        import jax.numpy as jnp

        code = self._code
        if len(arrays) != len(code.inputs):
            raise InputError(f"the function takes {len(code.inputs)} arrays, not {len(arrays)}")
        binding = self._binding.copy()
        arrays = [jnp.asarray(array) for array in arrays]
        for slot, array in zip(code.program.slots, arrays, strict=False):
            if array.ndim != len(slot.dims):
                raise InputError(
                    f"an array of dims {dim_set(slot.dims)} has {array.ndim} axes instead of "
                    f"{len(slot.dims)}"
                )
            for dim, length in zip(slot.dims, array.shape, strict=True):
                binding.add_length(dim, length, "an array")
        complete(binding, code.program)
        program, executable = code.compiled(code.known_lengths(binding))
        held = PositionalFunction(
            program, executable, code.inputs, code.outputs, self._data, binding,
            settle=self._settled,
        )  # fmt: skip
        return tuple(executable.raw(*arrays, *held.fixed))


def _dtype(source: Node | Dim) -> str:
    return "int64" if isinstance(source, Dim) else source.dtype


def _length(dim: Dim, binding: Binding) -> int:
    length = dim._bound_length(binding)
    if length is None:
        raise GraphError(
            f"the length of {dim._title} comes with the inputs, a C function has to know it",
            hint="give the shapes of the inputs: f.c_function(*shapes)",
        )
    return length


def _checked(positional: PositionalFunction) -> Any:
    """Wrap a jitted function in one that raises an error if a check fails."""
    import numba

    n = len(positional.input_dims) + len(positional.fixed)
    arguments = ", ".join(f"x{at}" for at in range(n))
    lines = [f"def checked({arguments}):", f"    found = inner({arguments})"]
    for place, check in zip(positional.conditions, positional.program.checks, strict=True):
        lines.append(f"    if not found[{place}]:")
        lines.append(f"        raise ValueError({check.message!r})")
    results = "".join(f"found[{at}], " for at in range(len(positional.output_dims)))
    lines.append(f"    return ({results})")
    checked = function_of_source("\n".join(lines), "checked", {"inner": positional.raw})
    return numba.njit(checked, nogil=True)
