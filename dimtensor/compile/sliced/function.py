"""Compiled functions that are computed in slices of a dim, by threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from dimtensor.arrays import check_whole
from dimtensor.backends import backend_of
from dimtensor.compile.binding_values import CallFrame, check_indexers, located
from dimtensor.compile.code import Code
from dimtensor.compile.function import CompiledFunction, Structure
from dimtensor.compile.positional import PositionalFunction
from dimtensor.compile.program import masks_for_labels
from dimtensor.compile.sliced.cuts import SliceCut, cut_for, dims_to_cut
from dimtensor.compile.sliced.evaluation import MachineCall, SlicedEvaluation
from dimtensor.compile.sliced.pool import Pool
from dimtensor.compile.sliced.program import SliceProgram
from dimtensor.compile.sliced.storage import narrow_storage
from dimtensor.dims import Binding, Dim, Dims
from dimtensor.errors import OptionError
from dimtensor.graph import Node
from dimtensor.values.outputs import Labeler


def on_threads(function: CompiledFunction, threads: int) -> ThreadedFunction:
    """Return the function in slices, on threads."""
    return ThreadedFunction(function._code, function._structure, function._replaced, threads)


class ThreadedFunction[R](CompiledFunction[R]):
    """Compiled function whose calls are computed in slices, by threads.

    The dim that is cut and the number of slices depend on the lengths of a call. Calls with too
    little work for slices are those of a compiled function without threads.

    Raises
    ------
    OptionError
        If the number of threads is below 1, or the backend is JAX.
    PartitionError
        If there is no dim along which all outputs can be cut.
    """

    def __init__(
        self,
        code: Code,
        structure: Structure,
        replaced: Mapping[Node, Any] | None = None,
        threads: int = 1,
    ):
        super().__init__(code, structure, replaced)
        check_whole("function", threads=threads)
        if backend_of(code.backend).specializes:
            raise OptionError(
                "function: threads are those of machine code, and JAX has its own",
                hint='take backend="native"',
            )
        self._pool = Pool(threads)
        self._cut_outputs = [*code.outputs, *masks_for_labels(code.outputs)]
        told = {source for source in code.inputs if isinstance(source, Dim)}
        self.dims_to_cut = [dim for dim in dims_to_cut(self._cut_outputs) if dim not in told]
        self._programs: dict[Dim, SliceProgram] = {}

    @property
    def threads(self) -> int:
        """Number of threads, on which results do not depend."""
        return self._pool.threads

    def cut(self, binding: Binding) -> SliceCut | None:
        """Choose a cut for the lengths of a call; None if there is too little work for slices."""
        return cut_for(self._cut_outputs, self.dims_to_cut, binding)

    def _with(self, code: Code, replaced: Mapping[Node, Any]) -> CompiledFunction[R]:
        return ThreadedFunction(code, self._structure, replaced, self.threads)

    def _frame_of(self, binding: Binding) -> CallFrame:
        cut = self.cut(binding)
        if cut is None:
            return super()._frame_of(binding)
        slices = self._programs.get(cut.dim)
        if slices is None:
            code = self._code
            stored = narrow_storage(self._cut_outputs, cut.dim, self._replaced)
            options = (code.backend, code.kernels, code.allow, stored)
            slices = SliceProgram(code.inputs, self._cut_outputs, cut.dim, *options)
            self._programs[cut.dim] = slices
        program = self._code.program
        whole = partial(super()._frame_of, binding)
        call = _SlicedCall(slices, program, binding, self._replaced, cut, self._pool, whole)
        fixed = (*self._data, *located(program, binding))
        return _SlicedFrame(binding, program, fixed, self._labelers(program, binding), call,
                            len(self._code.inputs), len(self._data))  # fmt: skip

    @cached_property
    def positional(self) -> Any:
        """Function of plain arrays; see :attr:`CompiledFunction.positional`."""
        return _SlicedPositional(self)

    @cached_property
    def _whole(self) -> PositionalFunction:
        return self._positional_of(self._code)

    def _positional_on(self, backend: str) -> PositionalFunction:
        return self._whole if backend == self._code.backend else super()._positional_on(backend)

    def __reduce__(self) -> tuple:
        plain: CompiledFunction = CompiledFunction(self._code, self._structure, self._replaced)
        return on_threads, (plain, self.threads)


class _SlicedFrame(CallFrame):
    """Frame of calls that are computed in slices."""

    __slots__ = ()
    _call: _SlicedCall

    def __init__(
        self,
        binding: Binding,
        program: Any,
        fixed: tuple[np.ndarray, ...],
        labelers: Sequence[Labeler],
        call: _SlicedCall,
        n_inputs: int,
        n_data: int,
    ):
        self.binding = binding
        self.program = program
        self.labelers = labelers
        self.limits = check_indexers(program, fixed[:n_data], n_inputs, binding)
        self.fixed = fixed
        self._settled = ()
        self._call = call
        self.aliases = None

    def run(self, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Compute results and masks, and, if one is false, checks."""
        by_machine = self._call.by_machine
        found = None if by_machine is None else by_machine(arrays)
        return super().run(arrays) if found is None else found


class _SlicedCall:
    """Computes outputs, masks and checks of a program in slices.

    Parameters
    ----------
    slices : SliceProgram
    program : Program
        Of the whole: its order of axes.
    binding : Binding
    replaced : mapping of Node to value
        New values of data.
    cut : SliceCut
    pool : Pool
    whole : callable
        Makes the frame without slices. It is what calls whose slices raise an error are repeated
        by, so that errors are those of the whole.
    """

    def __init__(
        self,
        slices: SliceProgram,
        program: Any,
        binding: Binding,
        replaced: Mapping[Node, Any],
        cut: SliceCut,
        pool: Pool,
        whole: Callable[[], CallFrame],
    ):
        self._whole = whole
        self._fine = [np.asarray(True)] * len(program.checks)
        own = slices.code.program.slots
        pairs = zip(program.slots[: len(slices.inputs)], own, strict=False)
        self._inputs = [_order(slot.dims, slices.whole_dims(part.dims)) for slot, part in pairs]
        wanted = [*program.output_dims, *(program.order.sort(mask.dims) for mask in program.masks)]
        found = zip(slices.output_dims, wanted, strict=True)
        self._outputs = [_order(dims, order) for dims, order in found]
        length = cut.dim._bound_length(binding)
        assert length is not None
        held = slices.hold(replaced, length=length, told=binding)
        self._evaluate = SlicedEvaluation(held, cut, pool, told=True)
        self._is_ordered = not any([*self._inputs, *self._outputs])

    @property
    def by_machine(self) -> MachineCall | None:
        """Function that computes outputs and masks by machine code, or returns None."""
        return self._evaluate.by_machine if self._is_ordered else None

    def __call__(self, *arrays: np.ndarray) -> Sequence[np.ndarray]:
        given = _transposed(arrays, self._inputs)
        try:
            total = self._evaluate(*given)
        except Exception:
            found = self._whole().run(arrays)
            if all(found[len(found) - len(self._fine) :]):  # the whole has neither error nor check
                raise
            return found
        return [*_transposed(total, self._outputs), *self._fine]


def _transposed(
    arrays: Sequence[np.ndarray], orders: Sequence[list[int] | None]
) -> list[np.ndarray]:
    """Transpose arrays; None leaves one as it is."""
    pairs = zip(arrays, orders, strict=True)
    return [x if order is None else x.transpose(order) for x, order in pairs]


def _order(given: Dims, wanted: Dims) -> list[int] | None:
    """Return how axes are transposed; None if they are in order."""
    return None if given == wanted else [given.index(dim) for dim in wanted]


class _SlicedPositional:
    """Function of plain arrays, in slices; see :class:`PositionalFunction`."""

    def __init__(self, function: ThreadedFunction):
        program = function._code.program
        self._function = function
        self._inputs = function._code.inputs
        # numbers that are the lengths of dims: arrays of one shape do not say which
        self._lengths = [at for at, each in enumerate(self._inputs) if isinstance(each, Dim)]
        self.program = program
        self.input_dims = [slot.dims for slot in program.slots[: len(self._inputs)]]
        self.output_dims = program.output_dims
        self._frames: dict[tuple, CallFrame] = {}
        self._last: MachineCall | None = None

    @property
    def executable(self) -> Any:
        """Code of the whole."""
        return self._function._whole.executable

    def __call__(self, *arrays: np.ndarray) -> Sequence[np.ndarray]:
        last = self._last
        found = None if last is None else last(arrays)
        return self._computed(arrays) if found is None else found

    def _computed(self, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        if len(arrays) != len(self._inputs):
            return self._function._whole(*arrays)  # which says what it takes
        shapes = tuple([np.shape(x) for x in arrays])
        key = (shapes, *(int(arrays[at]) for at in self._lengths))
        frame = self._frames.get(key)
        if frame is None:
            if tuple(map(len, shapes)) != tuple(map(len, self.input_dims)):
                return self._function._whole(*arrays)
            frame = self._frames[key] = self._function._frame_of(self._binding(arrays))
        found, _ = self._function._run(frame, arrays)
        self._last = None
        if isinstance(frame, _SlicedFrame) and not (self.program.masks or self._lengths):
            self._last = frame._call.by_machine
        return found[: len(self.output_dims)]

    def _binding(self, arrays: Sequence[np.ndarray]) -> Binding:
        binding = self._function._data_binding.copy()
        for source, dims, array in zip(self._inputs, self.input_dims, arrays, strict=True):
            if isinstance(source, Dim):
                binding.add_length(source, int(array), "an array")
            for dim, length in zip(dims, array.shape, strict=True):
                binding.add_length(dim, length, "an array")
        return binding
