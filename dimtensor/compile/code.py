"""Code of a function: lowered once, compiled per backend and, on JAX, per set of lengths."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from pytensor import config

from dimtensor.backends import (
    Allowed,
    CompileOptions,
    Executable,
    backend_of,
    check_backend,
    compile_positional,
)
from dimtensor.backends.progress import announced
from dimtensor.compile.caching import cache
from dimtensor.compile.caching.description import Recipe, lower_description, program_of
from dimtensor.compile.caching.fingerprint import describe_graph
from dimtensor.compile.devices.mesh import Placement
from dimtensor.compile.devices.stages import staged_executable, stages_of
from dimtensor.compile.memory import check_intermediates
from dimtensor.compile.program import Program, check_inputs, masks_for_labels, program_for
from dimtensor.dims import Binding, Dim, union
from dimtensor.errors import GraphError
from dimtensor.forks import taken_at_forks
from dimtensor.graph import Node, make, toposort
from dimtensor.graph.forms import FormlessError
from dimtensor.graph.rebuilding.exchange import substitute
from dimtensor.lower import plan_axes
from dimtensor.scopes import heard
from dimtensor.tuning import COLLECTED_OBJECTS
from dimtensor.upstream.pytensor import traceback_limit
from dimtensor.values.ports import LengthPort, Port, TensorPort

# number of compilations in this process, by backend
compilations: Counter[str] = Counter()


_lock = taken_at_forks(threading.RLock(), 0)
_is_compiling = False


def compiling[T](make: Callable[[], T]) -> T:
    """Call a function that lowers and compiles, in one thread at a time.

    PyTensor's rewriting and its registration of ops are not thread-safe.

    Meanwhile the garbage collector runs less often. A graph consists of many objects that are all
    in use; collections after every few thousand of them take half of the time of a cache hit.

    PyTensor records the stack where a variable is made, which takes a seventh of the time of
    lowering and rewriting. As PyTensor does when it compiles, this limits the recording: the lines
    would be those of dimtensor.
    """
    global _is_compiling
    with _lock:
        if _is_compiling:
            return make()
        often = gc.get_threshold()
        traced = traceback_limit()
        lines = config.traceback__limit
        try:
            _is_compiling = True
            if often[0]:  # 0 is never
                gc.set_threshold(max(COLLECTED_OBJECTS, often[0]), *often[1:])
            traced.val = config.traceback__compile_limit
            return heard(make)
        finally:  # in this order: nothing interrupts an assignment
            _is_compiling = False
            traced.val = lines
            gc.set_threshold(*often)


class _Lowered(NamedTuple):
    """Lowered graph of a description that is not compiled yet."""

    key: str | None
    recipe: Recipe
    program: Program


class Code:
    """Part of a compiled function that does not depend on its data.

    Parameters
    ----------
    inputs : sequence of Node or Dim
    outputs : sequence of Node
    backend : {"native", "jax", "python"}
    kernels : bool
        Whether the native backend generates fused loop nests instead of single operations.
    allow : frozenset of str
        Inexact rewrites that the user permits.
    placement : Placement, optional
        Of dims on devices.
    expected : mapping of Dim to int, optional
        Lengths that the layout plan assumes for dims of late length.

    Attributes
    ----------
    shares : DeviceShares or None
        The shares of a device, if the outputs depend on a dim that is placed.
    program : Program
    ports : tuple of Port
        Readers of the arguments of a call.
    """

    def __init__(
        self,
        inputs: Sequence[Node | Dim],
        outputs: Sequence[Node],
        backend: str,
        kernels: bool = True,
        allow: Allowed = frozenset(),
        placement: Placement | None = None,
        expected: Mapping[Dim, int] | None = None,
    ):
        self.backend = check_backend(backend)
        self.kernels = kernels
        self.allow = allow
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.placement = placement
        self._expected = expected
        self._stages = None
        if placement is not None:
            self._stages = stages_of(placement, self.inputs, self.outputs)
        self.shares = None if self._stages is None else self._stages.shares
        self._lowered: _Lowered | None = None
        self._stats: dict[str, float] = {}
        self._compiled: dict[tuple, tuple[Program, Executable]] = {}
        self.program = compiling(self._find_program)
        self.ports: tuple[Port, ...] = tuple(
            LengthPort(source) if isinstance(source, Dim) else TensorPort(source, slot.dims)
            for source, slot in zip(self.inputs, self.program.slots, strict=False)
        )
        self._batched: dict[tuple, Code] = {}

    def __reduce__(self) -> tuple:
        # devices and machine code belong to the process
        options = (self.backend, self.kernels, self.allow, self.placement)
        return Code, (self.inputs, self.outputs, *options)

    def _find_program(self) -> Program:
        """Return the program of cached code, or lower the graph.

        Some backends compile the description of a graph, so graphs with equal descriptions share
        code. Other backends, and graphs without a description, lower the graph itself.
        """
        started = time.perf_counter()
        if backend_of(self.backend).described and self.kernels:
            check_inputs(self.inputs, self.outputs)
            with contextlib.suppress(FormlessError):
                return self._from_description(started)
        order = plan_axes(self.outputs, self._expected)
        program = program_for(self.backend, self.inputs, self.outputs, order=order)
        self._stats = {"lower": time.perf_counter() - started}
        return program

    def _from_description(self, started: float) -> Program:
        masks = masks_for_labels(self.outputs)
        description = describe_graph(self.inputs, self.outputs, masks, self._expected)
        key = cache.key_of(description, self.backend, self.allow) if cache.is_on() else None
        kept = None
        if key is not None:
            kept = cache.find(key, description, self.backend, self.allow)
        if kept is not None:
            program = program_of(description, kept.recipe, self.inputs, self.outputs)
            self._compiled[()] = program, kept.executable
            self._stats = {"cache": time.perf_counter() - started}
            return program
        lowered, recipe = lower_description(description)
        program = program_of(description, recipe, self.inputs, self.outputs)
        self._lowered = _Lowered(key, recipe, lowered)
        self._stats = {"lower": time.perf_counter() - started}
        return program

    @property
    def stats(self) -> dict[str, float]:
        """Seconds spent so far on lowering and compiling, by step.

        For cached code this is the time of finding and loading it, as ``cache``.
        """
        total = dict(self._stats)
        for _, executable in list(self._compiled.values()) if "cache" not in total else ():
            for one in (executable, executable.once):
                for step, seconds in one.stats.items() if one is not None else ():
                    total[step] = total.get(step, 0.0) + seconds
        return total

    @property
    def specializes(self) -> bool:
        """True if code is compiled per set of lengths, as on JAX."""
        return backend_of(self.backend).specializes and self.program.static

    def compiled(self, lengths: Mapping[Dim, int]) -> tuple[Program, Executable]:
        """Return the program and the executable for given lengths of the open dims."""
        key = tuple(lengths.items())
        found = self._compiled.get(key)
        if found is None:
            found = compiling(lambda: self._find_compiled(key, lengths))
        return found

    def _find_compiled(self, key: tuple, lengths: Mapping[Dim, int]) -> tuple[Program, Executable]:
        found = self._compiled.get(key)
        if found is None:
            with announced(f"a function of {len(self.inputs)} inputs for {self.backend}"):
                found = self._compiled[key] = self._compile(lengths)
            # after compilation: if it is interrupted, it can be repeated from the same graph
            self._lowered = None
        return found

    def _compile(self, lengths: Mapping[Dim, int]) -> tuple[Program, Executable]:
        if self.specializes:
            check_intermediates(self.outputs, lengths)
        program = graph = self.program
        if self._lowered is not None:
            graph = self._lowered.program
        elif lengths:
            program = graph = program_for(
                self.backend, self.inputs, self.outputs, lengths, program.order
            )
        compilations[self.backend] += 1
        if self.placement is not None and self._stages is not None and self.shares is not None:
            n = len(self.inputs)
            return program, staged_executable(
                self._stages, program, self.placement, lengths, self.allow, n
            )
        options = CompileOptions(program.static, self.kernels, self.allow, len(self.inputs))
        executable = compile_positional(self.backend, graph.inputs, graph.outputs, options)
        if self._lowered is not None:
            key, recipe, _ = self._lowered
            if key is not None:
                cache.keep(key, cache.CachedCode(recipe, executable))
        return program, executable

    def on(self, backend: str) -> Code:
        """Return the code of the function for another backend."""
        if self.backend == backend:
            return self
        return Code(self.inputs, self.outputs, backend, self.kernels, self.allow)

    def known_lengths(self, binding: Binding) -> dict[Dim, int]:
        """Return the lengths that the code for a call is specialized on."""
        if not self.specializes:
            return {}
        lengths = {dim: dim._bound_length(binding) for dim in self.open_dims}
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
        return sorted(dims, key=lambda dim: dim._sort_key)

    @cached_property
    def dim_names(self) -> frozenset[str]:
        """Names of all dims in the graph."""
        nodes = [*toposort(self.outputs), *(i for i in self.inputs if isinstance(i, Node))]
        return frozenset(dim.name for node in nodes for dim in node.dims if dim.name is not None)

    def batched(self, added: tuple[tuple[str, ...], ...]) -> Code:
        """Return the code batched over additional dims of its inputs.

        Parameters
        ----------
        added : tuple of tuple of str
            For each input the names of its additional dims.
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
            outputs = substitute(self.outputs, grown)
            code = Code(inputs, outputs, self.backend, self.kernels, self.allow, self.placement)
            self._batched[added] = code
        return code


def with_dims(node: Node, added: Sequence[Dim]) -> Node:
    """Add dims to an input.

    Raises
    ------
    GraphError
        If the node was not made by ``dt.tensor``.
    """
    if node.kind != "input":
        raise GraphError(
            "an input made from a positional variable has the axes of the variable, it cannot be "
            "batched by a call"
        )
    dims = union([node.attrs.dims, tuple(added)], f"input {node.name!r}")
    return make("input", (), node.attrs._replace(dims=dims))
