"""Compiled functions: labeled values in, labeled values out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.backends import backend_of, check_backend
from dimtensor.compile.binding_values import CallFrame, Repeated, Settled, complete
from dimtensor.compile.by_name import is_dataset, named_values, titles
from dimtensor.compile.chunks.values import any_in_chunks
from dimtensor.compile.code import Code
from dimtensor.compile.devices.mesh import placement_for
from dimtensor.compile.devices.processes import check_agreement
from dimtensor.compile.failures import failure, unread
from dimtensor.compile.memory import LACKING, check_sizes, no_memory
from dimtensor.compile.program import Program
from dimtensor.compile.pure_functions import Levels
from dimtensor.dims import Binding, Dim, Dims
from dimtensor.errors import (
    ArgumentError,
    GraphError,
    InputError,
    OptionError,
    did_you_mean,
    listing,
    named_after,
    printable,
)
from dimtensor.graph import Node, toposort
from dimtensor.graph.checking.checks import unchecked, with_checks, without_checks
from dimtensor.hooks import Hook
from dimtensor.renderers import html
from dimtensor.tuning import KEPT_FRAMES
from dimtensor.values.data import bind_data, title_of
from dimtensor.values.exchange import exchanged
from dimtensor.values.labeled import LabeledPositions
from dimtensor.values.outputs import Held, Labeler
from dimtensor.values.ports import Reading, batch_names

if TYPE_CHECKING:
    from dimtensor.compile.chunks.plan import ChunkPlan

# (outputs, lengths, allowed rewrites, whether data-only parts are free) -> outputs
cheaper_outputs = Hook("rewriting by cost", plugin="saturation")


type ReadCall[R] = tuple[CompiledFunction[R], CallFrame, list[np.ndarray]]

_MISSING = object()


def node_of(value: Any) -> Node:
    """Return the node of a dims-tensor.

    Raises
    ------
    ArgumentError
        If the value is not a dims-tensor.
    """
    node = getattr(value, "node", value)
    if not isinstance(node, Node):
        hint = None
        if isinstance(value, (Mapping, list, tuple, set, frozenset)):
            hint = "tensors are given one by one, in a list or in a dict, which are not nested"
        raise ArgumentError(
            f"expected a dims-tensor, got {type(value).__name__}: {value!r}", hint=hint
        )
    return node


@named_after
class CompiledFunction[R](Levels):
    """Function of labeled values, made by :func:`dimtensor.function`.

    Call it with the inputs in order, by name, or both. The dims and labels of DataArrays may be in
    any order; the results are DataArrays. An input with more dims than declared batches the call. A
    Dataset, or a DataTree with a group ``posterior``, provides values of the inputs it contains.

    A call reads the values (:mod:`~dimtensor.values.ports`), finds the frame of their lengths and
    labels (:mod:`~dimtensor.compile.binding_values`), runs the code and labels the results. Several
    threads may call one function.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.tensor("x", dims=dt.Dim("k", coords=["a", "b"]))
    >>> f = dt.function([x], 2.0 * x, backend="python")
    >>> f([1.0, 2.0]).sel(k="b").item()
    4.0
    >>> dict(f((("draw", "k"), np.ones((3, 2)))).sizes)
    {'draw': 3, 'k': 2}
    """

    def __init__(
        self, code: Code, structure: Structure, replaced: Mapping[Node, Any] | None = None
    ):
        self._code = code
        self._structure = structure
        self._replaced = dict(replaced or {})
        self._names = {
            source.name: at for at, source in enumerate(code.inputs) if source.name is not None
        }
        self._order = tuple(source.name for source in code.inputs)
        data = [slot for slot in code.program.slots if _is_data(slot.source)]
        self._data_nodes: list[Node] = [slot.source for slot in data]  # type: ignore[misc]
        self._data_binding, self._data = bind_data(
            self._data_nodes, [slot.dims for slot in data], self._replaced
        )
        self._data_axes = [slot.dims for slot in data]
        if code.placement is not None and code.shares is not None:
            check_agreement(
                code.placement.mesh, self._data_nodes, self._data, self._data_axes,
                self._data_binding,
            )  # fmt: skip
        self._settled = Settled()
        self._late_ports = [at for at, port in enumerate(code.ports) if port.late_categories]
        self._frames: dict[tuple, CallFrame] = {}
        self._last: Repeated | None = None
        self._grown: dict[tuple, CompiledFunction[R]] = {}
        self._plans: dict[Dims, ChunkPlan] = {}

    @property
    def backend(self) -> str:
        """Name of the backend: ``native``, ``jax`` or ``python``."""
        return self._code.backend

    @property
    def stats(self) -> dict[str, float]:
        """Seconds spent so far on compiling, by step."""
        return self._code.stats

    @property
    def input_nodes(self) -> tuple[Node | Dim, ...]:
        """The inputs, in the order of the call."""
        return tuple(self._code.inputs)

    @property
    def output_nodes(self) -> tuple[Node, ...]:
        """The nodes of the results."""
        return self._code.outputs

    # -- calls ---------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> R:
        values = self._values(args, kwargs)
        found = self._read_again(values)
        if found is None and any_in_chunks(values):
            from dimtensor.compile.chunks.call import call_lazily

            return self._structure.rebuild(call_lazily(self, values))
        function, frame, arrays = found or self._read_anew(values)
        results, binding = function._run(frame, arrays)
        pairs = zip(frame.labelers, results, strict=False)
        return function._structure.rebuild([one.label(x, binding) for one, x in pairs])

    def in_memory(self, /, *args: Any) -> R:
        """Call the function; the results are in memory, values in chunks are if they must be."""
        if not any_in_chunks(args):
            return self._structure.rebuild([one.labeled(one.values) for one in self.held(*args)])
        from dimtensor.compile.chunks.call import in_memory

        return self._structure.rebuild(in_memory(self, args))

    def held(self, /, *args: Any) -> list[Held]:
        """Compute results that are labeled on demand, in order; values in chunks are loaded."""
        function, frame, arrays = self._read(args)
        results, binding = function._run(frame, arrays)
        return [Held(one, x, binding) for one, x in zip(frame.labelers, results, strict=False)]

    def _values(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """Return the values of the inputs, in order."""
        if args and is_dataset(args[0]):
            args, kwargs = (), named_values(self._code.inputs, args, kwargs)
        if len(args) == len(self._code.ports) and not kwargs:
            return args
        return self._match(args, kwargs)

    def _read(self, args: tuple[Any, ...]) -> ReadCall[R]:
        values = self._values(args, {})
        return self._read_again(values) or self._read_anew(values)

    def _read_again(self, values: Sequence[Any]) -> ReadCall[R] | None:
        """Read values like those of the last call; None if one differs in kind."""
        last = self._last
        known = None if last is None else last.arrays(values)
        if last is None or known is None:
            return None
        last.frame.check_inputs(known)
        return self, last.frame, known

    def _read_anew(self, values: Sequence[Any]) -> ReadCall[R]:
        """Read and check the arguments of a call.

        Returns
        -------
        function : CompiledFunction
            This function, or the one batched over additional dims of the arguments.
        frame : CallFrame
        arrays : list of ndarray
        """
        ports = self._code.ports
        readings = [port.read(value) for port, value in zip(ports, values, strict=True)]
        for reading in readings:
            if reading.extra:
                return self._batched(readings)._read(tuple(values))
        key = tuple([reading[1:3] for reading in readings])
        frame = self._frames.get(key)
        if frame is None:
            frame = self._keep(key, self._frame(readings))
        arrays = [reading.array for reading in readings]
        for at in self._late_ports:
            if not isinstance(values[at], LabeledPositions):
                arrays[at] = ports[at].look_up(arrays[at], frame.binding)
        frame.check_inputs(arrays)
        readers = [port.reader(value) for port, value in zip(ports, values, strict=True)]
        again = [reader for reader in readers if reader is not None]
        self._last = Repeated(frame, again) if len(again) == len(readers) else None
        return self, frame, arrays

    def _match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Match arguments to the inputs.

        Raises
        ------
        InputError
            If some are missing, unknown, given twice, or too many.
        """
        if not args and tuple(kwargs) == self._order:
            return list(kwargs.values())
        inputs = self._code.inputs
        if len(args) > len(inputs):
            plural = "" if len(inputs) == 1 else "s"
            raise InputError(
                f"the function takes {len(inputs)} input{plural}, {len(args)} are given",
                [("inputs", self._input_names())],
            )
        values: list[Any] = [*args, *[_MISSING] * (len(inputs) - len(args))]
        for name, value in kwargs.items():
            at = self._names.get(name)
            if at is None:
                guess = did_you_mean(name, [*self._names])
                raise InputError(
                    f"the function has no input {name!r}{guess}", [("inputs", self._input_names())]
                )
            if values[at] is not _MISSING:
                raise InputError(f"input {name!r} is given twice: by position and by name")
            values[at] = value
        missing = [at for at, value in enumerate(values) if value is _MISSING]
        if missing:
            lacking = " and ".join(title_of(inputs[at]) for at in missing)
            raise InputError(
                f"the function is called without {lacking}", [("inputs", self._input_names())]
            )
        return values

    def _input_names(self) -> str:
        return titles(self._code.inputs)

    def _batched(self, readings: Sequence[Reading]) -> CompiledFunction[R]:
        """Return the function batched over the additional dims of arguments."""
        code = self._code
        added = batch_names(readings, code.ports, code.dim_names)
        function = self._grown.get(added)
        if function is None:
            function = self._with(code.batched(added), self._replaced)
            self._grown[added] = function
        return function

    def _frame(self, readings: Sequence[Reading]) -> CallFrame:
        """Check the lengths and labels of a call, and make their frame."""
        code = self._code
        binding = self._data_binding.copy()
        for port, reading in zip(code.ports, readings, strict=True):
            port.tell(reading, binding)
        complete(binding, code.program)
        check_sizes(code.outputs, binding)
        return self._frame_of(binding)

    def _frame_of(self, binding: Binding) -> CallFrame:
        """Make the frame of lengths and labels."""
        code = self._code
        program, executable = code.compiled(code.known_lengths(binding))
        labelers, n = self._labelers(program, binding), len(code.inputs)
        try:
            return CallFrame(binding, program, executable, self._data, n, labelers, self._settled)
        except IndexError as error:  # raised by the data-only part
            raise unread(error, program, code.inputs, (), binding) from None
        except LACKING as error:
            raise no_memory(error, code.outputs, binding) from error.__cause__

    def _labelers(self, program: Program, binding: Binding) -> list[Labeler]:
        return [
            Labeler(axes, binding, name, node.categories)
            for axes, (node, name) in zip(program.output_dims, self._named_outputs(), strict=True)
        ]

    def _named_outputs(self) -> list[tuple[Node, str | None]]:
        outputs = self._code.outputs
        return list(zip(outputs, self._structure.names(outputs), strict=True))

    def _of(self, inputs: Sequence[Node | Dim], outputs: Sequence[Node]) -> CompiledFunction:
        """Compile other outputs with the same options and data."""
        code = self._code
        other = Code(inputs, outputs, code.backend, code.kernels, code.allow)
        return CompiledFunction(other, Structure("list"), self._replaced)

    def _keep(self, key: tuple, frame: CallFrame) -> CallFrame:
        frames = self._frames
        for oldest in list(frames)[: len(frames) - KEPT_FRAMES + 1]:
            frames.pop(oldest, None)  # another thread may have done it
        return frames.setdefault(key, frame)

    def _run(
        self, frame: CallFrame, arrays: Sequence[np.ndarray]
    ) -> tuple[Sequence[np.ndarray], Binding]:
        """Run the code; return results, masks and checks, and the call's lengths and labels."""
        program, binding = frame.program, frame.binding
        try:
            results = frame.run(arrays)
        except IndexError as error:
            values = [*arrays, *frame.fixed]
            raise unread(error, program, self._code.inputs, values, binding) from None
        except LACKING as error:
            raise no_memory(error, self._code.outputs, binding) from error.__cause__
        n = len(self._code.outputs)
        if program.masks:
            binding = binding.copy()
            masks = results[n : n + len(program.masks)]
            binding.masks.update(zip(program.masks, masks, strict=True))
            binding.check_derived()  # labels of masked dims
            n += len(program.masks)
        if program.checks and not all(results[n:]):
            values = [*arrays, *frame.fixed]
            raise failure(program, self._code.inputs, results[n:], values, binding)
        return results, binding

    # -- data ----------------------------------------------------------------------------------

    def with_data(
        self, data: Mapping[Any, Any] | None = None, /, **by_name: Any
    ) -> CompiledFunction[R]:
        """Return the function with other data, without compiling again.

        Parameters
        ----------
        data : mapping, optional
            New values by data tensor or by its name.
        **by_name
            New values by name.

        Returns
        -------
        CompiledFunction
            Lengths and labels of dims may change unless the dims fix them. Anything that was
            computed from the data when the expression was built does not change: the order of
            ``sortby``, the intervals and members of ``groupby_bins``, the values of ``isin``, the
            labels of ``swap_dims``, the weights of ``polyfit``, and the positions where a mask of
            data is true along a dim of known length.

        Raises
        ------
        InputError
            If there are no data of a name, or values have other dims.
        """
        replaced = exchanged(self._data_nodes, data, by_name, "function")
        return self._with(self._code, {**self._replaced, **replaced})

    def _with(self, code: Code, replaced: Mapping[Node, Any]) -> CompiledFunction[R]:
        return CompiledFunction(code, self._structure, replaced)

    # -- pickling and display ----------------------------------------------------------------------

    def __reduce__(self) -> tuple:
        return CompiledFunction, (self._code, self._structure, self._replaced)

    @printable
    def __repr__(self) -> str:
        outputs = ", ".join(
            "{" + ", ".join(dim._short for dim in node.dims) + "}" for node in self._code.outputs
        )
        return f"<CompiledFunction ({self._input_names()}) -> [{outputs}] on {self.backend}>"

    def _repr_html_(self) -> str:
        return html(self)


def _is_data(source: Any) -> bool:
    return isinstance(source, Node) and source.kind == "data"


class Structure(NamedTuple):
    """Container of the outputs: none, a list, a tuple or a dict."""

    kind: str
    keys: tuple = ()

    @classmethod
    def of(cls, outputs: Any) -> tuple[Structure, list[Any]]:
        """Return the structure of outputs, and the outputs in order."""
        if isinstance(outputs, Mapping):
            return cls("dict", tuple(outputs)), list(outputs.values())
        if isinstance(outputs, (list, tuple)):
            return cls("tuple" if isinstance(outputs, tuple) else "list"), list(outputs)
        return cls("one"), [outputs]

    def names(self, outputs: Sequence[Node]) -> list[str | None]:
        """Return the names of the results: keys of a dict, else the names of inputs and data."""
        if self.kind == "dict":
            return list(self.keys)
        return [unchecked(node).name for node in outputs]

    def rebuild(self, values: list[Any]) -> Any:
        """Put values into the structure."""
        if self.kind == "one":
            return values[0]
        if self.kind == "dict":
            return dict(zip(self.keys, values, strict=True))
        return tuple(values) if self.kind == "tuple" else values


def allowed(names: Any) -> frozenset[str]:
    """Check the names of inexact rewrites that a user permits.

    Raises
    ------
    OptionError
        If there is no rewrite of a name.
    """
    given = [names] if isinstance(names, str) else list(names)
    if not given:
        return frozenset()
    from dimtensor.optimize.target import ASKED_FOR

    for name in given:
        if name not in ASKED_FOR:
            raise OptionError(
                f"allow: there is no rewrite {name!r}{did_you_mean(name, ASKED_FOR)}",
                [("may be asked for", listing(ASKED_FOR))],
            )
    return frozenset(given)


def function(
    inputs: Any,
    outputs: Any,
    backend: str = "native",
    kernels: bool = True,
    checks: Any = True,
    allow: Any = (),
    simplify: Any = False,
    shard: Any = None,
) -> CompiledFunction:
    """Compile outputs to a function of inputs; see :func:`dimtensor.function`."""
    sources = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    nodes = [source if isinstance(source, Dim) else node_of(source) for source in sources]
    if len(set(nodes)) < len(nodes):
        node = next(x for x in nodes if nodes.count(x) > 1)
        raise GraphError(f"{title_of(node)} is given twice among the inputs")
    structure, values = Structure.of(outputs)
    results = [node_of(v) for v in values]
    if checks is False:
        results = without_checks(results)
    elif checks is not True:
        many = checks if isinstance(checks, (list, tuple)) else [checks]
        results = with_checks(results, [node_of(x) for x in many])
    if simplify is not False:
        lengths = None if simplify is True else checked_lengths(simplify)
        once = kernels and backend_of(check_backend(backend)).compiles
        results = cheaper_outputs(results, lengths, allowed(allow), once)
    placement = placement_for(shard, results, backend)
    code = Code(nodes, results, backend, kernels, allowed(allow), placement)
    return CompiledFunction(code, structure)


def checked_lengths(lengths: Any) -> Mapping[Dim, int]:
    """Check a mapping of dims to lengths.

    Raises
    ------
    ArgumentError
        If it is something else.
    """
    sound = isinstance(lengths, Mapping) and all(
        isinstance(dim, Dim) and type(length) is int and length >= 0
        for dim, length in lengths.items()
    )
    if not sound:
        raise ArgumentError(
            f"lengths are given by dim, as whole numbers, not as {lengths!r}", hint="{dim: 1000}"
        )
    return lengths


def free_inputs(outputs: Sequence[Node]) -> list[Node]:
    """Return the inputs that outputs depend on, in the order of their creation; not streams."""
    found = [x for x in toposort(outputs) if x.kind == "input" and x.attrs.stream is None]
    return sorted(found, key=lambda node: node._serial)
