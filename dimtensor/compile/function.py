"""Compiled functions: labelled values in, labelled values out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dimtensor.backends import Executable, check_backend, compile_positional
from dimtensor.compile.boundary import Labelled, check_positions, extra_names
from dimtensor.compile.data import admit_value, bind_data, title_of
from dimtensor.compile.late import locate
from dimtensor.compile.lengths import bind_relabelled
from dimtensor.compile.outputs import to_dataarray
from dimtensor.compile.program import Program, build_program
from dimtensor.dims import Binding, Coords, Dim
from dimtensor.errors import CheckError, GraphError, InputError, build_message, listing
from dimtensor.graph import Node, toposort
from dimtensor.graph.attrs import LabelPosition
from dimtensor.graph.substitute import batch


def as_node(value: Any) -> Node:
    """The node of a dims-tensor.

    Raises
    ------
    InputError
        If the value is none.
    """
    node = getattr(value, "node", value)
    if not isinstance(node, Node):
        raise InputError(f"expected a dims-tensor, got {type(value).__name__}: {value!r}")
    return node


class CompiledFunction:
    """A function of labelled values, made by :func:`dimtensor.function`.

    Call it with the inputs in order, by name, or both. DataArrays come in any order of dims and of
    labels; the results are DataArrays. An input with more dims than declared batches the call.

    Attributes
    ----------
    backend : str
    stats : dict of str to float
        Seconds that the steps of compiling took.
    """

    def __init__(
        self,
        inputs: Sequence[Node | Dim],
        outputs: Sequence[Node],
        structure: Any,
        backend: str,
        data: Mapping[Node, Any] | None = None,
        parent: CompiledFunction | None = None,
    ):
        self.backend = check_backend(backend)
        self._inputs = tuple(inputs)
        self._outputs = tuple(outputs)
        self._structure = structure
        self._names = {_name_of(source): at for at, source in enumerate(inputs)}
        self._names.pop(None, None)
        self._replaced = dict(data or {})
        if parent is None:
            self.stats: dict[str, float] = {}
            self._variants: dict[tuple, tuple[Program, Executable]] = {}
            self._batched: dict[tuple, CompiledFunction] = {}
            started = time.perf_counter()
            self._program = build_program(self._inputs, self._outputs)
            self.stats["lower"] = time.perf_counter() - started
        else:
            self.stats, self._variants = parent.stats, parent._variants
            self._batched, self._program = {}, parent._program
        self._data = self._bind_data()
        self._checked: set[tuple[Node, Dim]] = set()

    # -- calls ---------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self._match(args, kwargs)
        labelled, batches = self._find_batches(values)
        if any(batches):
            return self._batched_function(batches, labelled)(*values)
        binding, arrays = self._admit(values, labelled)
        program, executable = self._compiled(binding)
        return self._label(self._run(program, executable, arrays, binding), binding, program)

    def _match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        n = len(self._inputs)
        if len(args) > n:
            raise InputError(
                build_message(
                    f"the function takes {n} inputs, {len(args)} are given",
                    [("inputs", self._input_names())],
                )
            )
        values: list[Any] = [*args, *[_MISSING] * (n - len(args))]
        for name, value in kwargs.items():
            at = self._names.get(name)
            if at is None:
                raise InputError(
                    build_message(
                        f"the function has no input {name!r}", [("inputs", self._input_names())]
                    )
                )
            if values[at] is not _MISSING:
                raise InputError(f"input {name!r} is given twice")
            values[at] = value
        missing = [
            title_of(source)
            for source, value in zip(self._inputs, values, strict=True)
            if value is _MISSING
        ]
        if missing:
            raise InputError(
                build_message(
                    f"missing inputs: {', '.join(missing)}", [("inputs", self._input_names())]
                )
            )
        return values

    def _input_names(self) -> str:
        return ", ".join(title_of(source) for source in self._inputs) or "none"

    def _find_batches(
        self, values: list[Any]
    ) -> tuple[list[Labelled | None], list[tuple[str, ...]]]:
        labelled: list[Labelled | None] = []
        extras: list[tuple[str, ...]] = []
        for source, value in zip(self._inputs, values, strict=True):
            if isinstance(source, Dim):
                labelled.append(None)
                extras.append(())
            else:
                names, parts = extra_names(value, source.dims, title_of(source))
                labelled.append(parts)
                extras.append(names)
        return labelled, extras

    def _batched_function(
        self, batches: list[tuple[str, ...]], labelled: list[Labelled | None]
    ) -> CompiledFunction:
        key = tuple(batches)
        function = self._batched.get(key)
        if function is None:
            new_dims = {name: Dim(name) for names in batches for name in names}
            replaced: dict[Node, Node] = {}
            inputs: list[Node | Dim] = []
            for source, names in zip(self._inputs, batches, strict=True):
                if names and isinstance(source, Node):
                    added = tuple(new_dims[name] for name in names)
                    replaced[source] = _with_dims(source, added)
                inputs.append(replaced.get(source, source) if isinstance(source, Node) else source)
            outputs = batch(self._outputs, replaced)
            function = CompiledFunction(
                inputs, outputs, self._structure, self.backend, self._replaced
            )
            self._batched[key] = function
        return function

    def _admit(
        self, values: list[Any], labelled: list[Labelled | None]
    ) -> tuple[Binding, list[np.ndarray]]:
        """Arrays for all positional inputs, in order, and what they say of dims."""
        data_binding, data = self._data
        binding = data_binding.copy()
        arrays: list[Any] = []
        slots = self._program.slots
        for at, (source, value) in enumerate(zip(self._inputs, values, strict=True)):
            if isinstance(source, Dim):
                arrays.append(_bind_dim(source, value, binding))
            else:
                arrays.append(admit_value(source, slots[at].dims, value, labelled[at], binding))
        bind_relabelled(self._program.relabelled, binding)
        binding.check_derived()
        for requirement in self._program.requirements:
            requirement.check(binding)
        arrays += data
        self._check_indexers(arrays, binding)
        arrays += [locate(slot.source, binding) for slot in slots[len(arrays) :]]
        return binding, arrays

    def _check_indexers(self, arrays: list[np.ndarray], binding: Binding) -> None:
        if not self._program.indexed:
            return
        by_source = {
            slot.source: array for slot, array in zip(self._program.slots, arrays, strict=False)
        }
        for leaf, dim in self._program.indexed:
            array = by_source.get(leaf)
            if array is None or (leaf, dim) in self._checked:
                continue
            check_positions(array, dim.bound_length(binding), dim, title_of(leaf))
            if leaf.kind == "data" and leaf not in self._replaced and dim.length is not None:
                self._checked.add((leaf, dim))

    def _compiled(self, binding: Binding) -> tuple[Program, Executable]:
        """Program and executable: one for all lengths, on JAX one for each set of lengths."""
        key: tuple = ()
        lengths: dict[Dim, int] = {}
        if self.backend == "jax" and self._program.static:
            unknown = {
                dim
                for slot in self._program.slots
                if isinstance(slot.source, Node)
                for dim in slot.dims
                if dim.length is None
            }
            unknown |= {source for source in self._inputs if isinstance(source, Dim)}
            for dim in sorted(unknown, key=lambda d: d.sort_key):
                length = dim.bound_length(binding)
                if length is not None:
                    lengths[dim] = length
            key = tuple(lengths.items())
        found = self._variants.get(key)
        if found is None:
            program = self._program
            if lengths:
                program = build_program(
                    self._inputs, self._outputs, lengths, order=self._program.order
                )
            executable = compile_positional(
                self.backend, program.inputs, program.outputs, program.static
            )
            if not self.stats.keys() - {"lower"}:
                executable.stats.update(self.stats)
                self.stats = executable.stats
            found = self._variants[key] = (program, executable)
        return found

    def _run(
        self, program: Program, executable: Executable, arrays: list[Any], binding: Binding
    ) -> Sequence[Any]:
        results = executable.call(*arrays)
        n = len(self._outputs) + len(program.masks)
        for node, mask in zip(program.masks, results[len(self._outputs) : n], strict=True):
            binding.masks[node] = np.asarray(mask)
        for message, fine in zip(program.messages, results[n:], strict=True):
            if not fine:
                raise CheckError(message)
        return results

    def _label(self, results: Sequence[Any], binding: Binding, program: Program) -> Any:
        labelled = [
            to_dataarray(array, axes, binding, node.name, node.categories)
            for array, axes, node in zip(results, program.output_dims, self._outputs, strict=False)
        ]
        return rebuild(self._structure, labelled)

    # -- data ----------------------------------------------------------------------------------

    def _bind_data(self) -> tuple[Binding, list[np.ndarray]]:
        slots = [
            (slot.source, slot.dims)
            for slot in self._program.slots[len(self._inputs) :]
            if isinstance(slot.source, Node)
        ]
        return bind_data([node for node, _ in slots], [dims for _, dims in slots], self._replaced)

    def with_data(self, data: Mapping[Any, Any] | None = None, **by_name: Any) -> CompiledFunction:
        """The same function on other data, without compiling again.

        Parameters
        ----------
        data : mapping, optional
            New values by data tensor or by its name.
        **by_name
            New values by name.

        Returns
        -------
        CompiledFunction
            Lengths and labels of dims that are not fixed may be others than before.

        Raises
        ------
        InputError
            If there are no such data, or the values have not their dims.
        """
        nodes = [
            slot.source
            for slot in self._program.slots
            if isinstance(slot.source, Node) and slot.source.kind == "data"
        ]
        names = {node.name: node for node in nodes if node.name is not None}
        replaced = dict(self._replaced)
        for key, value in {**(data or {}), **by_name}.items():
            node = names.get(key) if isinstance(key, str) else as_node(key)
            if node not in nodes:
                raise InputError(
                    build_message(
                        f"the function has no data {key!r}", [("data", listing(list(names)))]
                    )
                )
            replaced[node] = value  # type: ignore[index]
        return CompiledFunction(
            self._inputs, self._outputs, self._structure, self.backend, replaced, parent=self
        )

    # -- below the labels ------------------------------------------------------------------------

    @property
    def positional(self) -> PositionalFunction:
        """The function of plain arrays beneath, for callers that loop."""
        binding, data = self._data
        absent: list[Any] = [None] * len(self._inputs)
        self._check_indexers(absent + data, binding)
        program, executable = self._compiled(binding)
        late = [slot for slot in program.slots if isinstance(slot.source, LabelPosition)]
        fixed = [*data, *(locate(slot.source, binding) for slot in late)]
        return PositionalFunction(program, executable, len(self._inputs), len(self._outputs), fixed)

    def __reduce__(self) -> tuple:
        return (
            CompiledFunction,
            (self._inputs, self._outputs, self._structure, self.backend, self._replaced),
        )

    def __repr__(self) -> str:
        outputs = ", ".join(
            "{" + ", ".join(dim.short for dim in node.dims) + "}" for node in self._outputs
        )
        return f"<CompiledFunction ({self._input_names()}) -> [{outputs}] on {self.backend}>"


class PositionalFunction:
    """Plain arrays in, plain arrays out; nothing is checked, aligned or labelled.

    Attributes
    ----------
    input_dims, output_dims : list of tuple of Dim
        The order in which the arrays have their axes.
    raw : callable
        What the backend calls the function: a numba dispatcher, a pure JAX function, a Python
        function. It takes the inputs and then the arrays of `fixed`, and returns the outputs first.
    fixed : tuple of ndarray
        Data, in the order in which `raw` takes them.
    """

    __slots__ = ("_call", "_n_outputs", "fixed", "input_dims", "output_dims", "raw")

    def __init__(
        self,
        program: Program,
        executable: Executable,
        n_inputs: int,
        n_outputs: int,
        fixed: Sequence[Any],
    ):
        self.input_dims = [slot.dims for slot in program.slots[:n_inputs]]
        self.output_dims = program.output_dims
        self._call = executable.call
        self.raw = executable.raw
        self.fixed = tuple(fixed)
        self._n_outputs = n_outputs

    def __call__(self, *arrays: np.ndarray) -> Sequence[np.ndarray]:
        return self._call(*arrays, *self.fixed)[: self._n_outputs]


_MISSING = object()


def _name_of(source: Node | Dim) -> str | None:
    return source.name


def _bind_dim(dim: Dim, value: Any, binding: Binding) -> np.ndarray:
    """Length of a dim given as an input: a number, labels, or a dim."""
    source = f"input {dim.short!r}"
    if isinstance(value, Dim):
        value = value.coords if value.coords is not None else len(value)
    if np.ndim(value) == 0 and not isinstance(value, str):
        length = int(value)
    else:
        labels = Coords(value)
        length = len(labels)
        if dim.coords is None:
            binding.add_labels(dim, labels, source)
    binding.add_length(dim, length, source)
    return np.asarray(length, dtype=np.int64)


def _with_dims(node: Node, added: tuple[Dim, ...]) -> Node:
    """The same input with more dims."""
    from dimtensor.dims import union
    from dimtensor.graph import make
    from dimtensor.graph.attrs import InputAttrs

    if node.kind != "input":
        raise GraphError("an input made from a positional variable cannot be batched by a call")
    attrs: InputAttrs = node.attrs
    dims = union([attrs.dims, added], f"input {node.name!r}")
    return make("input", (), attrs._replace(dims=dims))


def rebuild(structure: Any, values: Sequence[Any]) -> Any:
    """Values in the structure of the outputs: one, a list, a tuple or a dict."""
    if structure is None:
        return values[0]
    if isinstance(structure, tuple) and structure and structure[0] == "dict":
        named = dict(zip(structure[1], values, strict=True))
        return {key: value.rename(key) for key, value in named.items()}
    return list(values)


def function(inputs: Any, outputs: Any, backend: str = "numba") -> CompiledFunction:
    """Compile outputs to a function of inputs; see :func:`dimtensor.function`."""
    sources = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    nodes = [source if isinstance(source, Dim) else as_node(source) for source in sources]
    if len(set(nodes)) != len(nodes):
        raise GraphError("an input is given twice")
    structure: Any
    if isinstance(outputs, Mapping):
        structure, values = ("dict", tuple(outputs)), list(outputs.values())
    elif isinstance(outputs, (list, tuple)):
        structure, values = "list", list(outputs)
    else:
        structure, values = None, [outputs]
    return CompiledFunction(nodes, [as_node(value) for value in values], structure, backend)


def free_inputs(outputs: Sequence[Node]) -> list[Node]:
    """The input nodes that outputs depend on, in the order of their creation."""
    found = [node for node in toposort(outputs) if node.kind == "input"]
    return sorted(found, key=lambda node: node.serial)
