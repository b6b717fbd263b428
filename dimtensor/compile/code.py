"""The code of a function: lowered once, compiled for each backend and set of lengths it needs."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from functools import cached_property

from dimtensor.backends import Executable, check_backend, compile_positional
from dimtensor.compile.ports import LengthPort, Port, TensorPort
from dimtensor.compile.program import Program, build_program
from dimtensor.dims import Binding, Dim, union
from dimtensor.errors import GraphError
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.substitute import substitute

# PyTensor's rewriting and the registration of ops are not made for several threads
_compiling = threading.RLock()


class Code:
    """Everything of a compiled function that does not depend on the data it holds.

    Parameters
    ----------
    inputs : sequence of Node or Dim
    outputs : sequence of Node
    backend : {"numba", "jax", "python"}
    kernels : bool
        Whether numba gets loop nests; else one function per operation, as PyTensor writes them.

    Attributes
    ----------
    program : Program
    ports : tuple of Port
        Where the values of a call come in.
    """

    def __init__(
        self,
        inputs: Sequence[Node | Dim],
        outputs: Sequence[Node],
        backend: str,
        kernels: bool = True,
    ):
        self.backend = check_backend(backend)
        self.kernels = kernels
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        started = time.perf_counter()
        with _compiling:
            self.program = build_program(self.inputs, self.outputs)
        self._seconds = time.perf_counter() - started
        self.ports: tuple[Port, ...] = tuple(
            LengthPort(source) if isinstance(source, Dim) else TensorPort(source, slot.dims)
            for source, slot in zip(self.inputs, self.program.slots, strict=False)
        )
        self._compiled: dict[tuple, tuple[Program, Executable]] = {}
        self._batched: dict[tuple, Code] = {}

    @property
    def stats(self) -> dict[str, float]:
        """Seconds that the steps of lowering and compiling took so far."""
        total = {"lower": self._seconds}
        for _, executable in list(self._compiled.values()):
            for step, seconds in executable.stats.items():
                total[step] = total.get(step, 0.0) + seconds
        return total

    @property
    def specialises(self) -> bool:
        """Whether code is compiled for every set of lengths: JAX needs them all to compile."""
        return self.backend == "jax" and self.program.static

    def compiled(self, lengths: Mapping[Dim, int]) -> tuple[Program, Executable]:
        """The program and the code for given lengths of the open dims."""
        key = tuple(lengths.items())
        found = self._compiled.get(key)
        if found is None:
            with _compiling:
                found = self._compiled.get(key)
                if found is None:
                    found = self._compiled[key] = self._compile(lengths)
        return found

    def _compile(self, lengths: Mapping[Dim, int]) -> tuple[Program, Executable]:
        program = self.program
        if lengths:
            program = build_program(self.inputs, self.outputs, lengths, order=program.order)
        executable = compile_positional(
            self.backend, program.inputs, program.outputs, program.static, self.kernels
        )
        return program, executable

    def known_lengths(self, binding: Binding) -> dict[Dim, int]:
        """The lengths on which the code for a call is specialised."""
        if not self.specialises:
            return {}
        lengths = {dim: dim.bound_length(binding) for dim in self.open_dims}
        return {dim: length for dim, length in lengths.items() if length is not None}

    @cached_property
    def open_dims(self) -> list[Dim]:
        """Dims of inputs and data whose lengths come with the data."""
        dims = {
            dim
            for slot in self.program.slots
            if isinstance(slot.source, Node)
            for dim in slot.dims
            if dim.length is None
        }
        dims |= {source for source in self.inputs if isinstance(source, Dim)}
        return sorted(dims, key=lambda dim: dim.sort_key)

    @cached_property
    def dim_names(self) -> frozenset[str]:
        """Names of all dims in the graph."""
        nodes = [*toposort(self.outputs), *(i for i in self.inputs if isinstance(i, Node))]
        return frozenset(dim.name for node in nodes for dim in node.dims if dim.name is not None)

    def batched(self, added: tuple[tuple[str, ...], ...]) -> Code:
        """The code with more dims in its inputs.

        Parameters
        ----------
        added : tuple of tuple of str
            For each input the names of the dims that it has in addition.
        """
        code = self._batched.get(added)
        if code is None:
            dims = {name: Dim(name) for names in added for name in names}
            grown = {
                source: with_dims(source, [dims[name] for name in names])
                for source, names in zip(self.inputs, added, strict=True)
                if names and isinstance(source, Node)
            }
            inputs = [
                grown.get(source, source) if isinstance(source, Node) else source
                for source in self.inputs
            ]
            code = Code(inputs, substitute(self.outputs, grown), self.backend, self.kernels)
            self._batched[added] = code
        return code


def with_dims(node: Node, added: Sequence[Dim]) -> Node:
    """The same input with more dims.

    Raises
    ------
    GraphError
        If it is not an input made by ``dt.tensor``.
    """
    if node.kind != "input":
        raise GraphError(
            "an input made from a positional variable has the axes of the variable, it cannot be "
            "batched by a call"
        )
    dims = union([node.attrs.dims, tuple(added)], f"input {node.name!r}")
    return make("input", (), node.attrs._replace(dims=dims))
