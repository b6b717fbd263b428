"""Programs of slices: their code, and the tree that combines the shares."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dimtensor.backends import Allowed
from dimtensor.compile.code import Code
from dimtensor.compile.obstacles import refusal
from dimtensor.compile.sliced.held import HeldSlices
from dimtensor.compile.sliced.restriction import Restriction
from dimtensor.dims import Binding, Dim, Dims
from dimtensor.graph import Node
from dimtensor.graph.partition.analysis import Combined, Split, split
from dimtensor.graph.rebuilding.substitute import map_dim


class Along(NamedTuple):
    """A leaf along the dim that is cut.

    Attributes
    ----------
    source : Node
        An input, data, or an expression of data whose value is computed once, from the whole.
    dims : tuple of Dim
        The axes of its array, in the order in which the code takes them.
    axis : int
        The axis that is cut.
    """

    source: Node
    dims: Dims
    axis: int

    def piece(self, array: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Return the values of a slice of the dim, contiguous: a view if the axis is the first."""
        piece = array[(*[slice(None)] * self.axis, slice(start, stop))]
        return np.ascontiguousarray(piece).reshape(piece.shape)


class SliceProgram:
    """Shares of slices of a dim in the outputs of a function, compiled for slices of any length.

    Parameters
    ----------
    inputs : sequence of Node or Dim
        Inputs of the function; a Dim stands for its length.
    outputs : sequence of Node
    dim : Dim
        The dim that is cut.
    backend : {"native", "jax", "python"}
    kernels : bool
    allow : frozenset of str
    stored : mapping of Node to str, optional
        Dtypes in which code takes data along the dim, where these are not their own.

    Attributes
    ----------
    operations : tuple of str
        How shares of each output are combined: ``"add"``, ``"maximum"``, ..., ``"concat"`` for an
        output that has the dim, ``""`` for one that does not depend on it and has no shares.
    along : tuple of Along
        Data along the dim, and constants computed from data along it.
    along_inputs : dict of int to Along
        Inputs along the dim, by their place among the inputs.
    code : Code
        Code of the shares.
    rests : list of Node or None
        What is counted once of each output.

    Raises
    ------
    PartitionError
        If an output cannot be computed from shares of slices.

    Notes
    -----
    Data along the dim are arguments of the code. What follows from the data of a slice alone is
    computed once for the slice, when they are bound. Expressions of data that mix positions, such
    as the mean of a predictor, are computed once, from the whole; where they have the dim, they are
    cut like data. Checks and masks of the shares are made slice by slice.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> y, mu = dt.data([1.0, 2.0, 4.0], dims=obs), dt.scalar("mu")
    >>> program = SliceProgram([mu.node], [(mu**2 + ((y - mu) ** 2).sum()).node], obs, "python")
    >>> program.operations, [each.axis for each in program.along]
    (('add',), [0])
    >>> held = program.hold()
    >>> shares = [held.share(held.pieces(*ends), ends[0]) for ends in [(0, 2), (2, 3)]]
    >>> mu = np.array(1.0)
    >>> program.total([share(mu) for share in shares], held.rest(mu))[0].item()
    11.0
    """

    def __init__(
        self,
        inputs: Sequence[Node | Dim],
        outputs: Sequence[Node],
        dim: Dim,
        backend: str = "native",
        kernels: bool = True,
        allow: Allowed = frozenset(),
        stored: Mapping[Node, str] | None = None,
    ):
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.dim = dim
        self._options = (backend, kernels, allow)
        self._stored = dict(stored or {})
        splits = [split(y, dim) for y in self.outputs]
        for found in splits:
            if found.obstacle is not None:
                raise refusal(found)
        self.cut: frozenset[Dim] = frozenset().union(*(found.cut for found in splits))
        self.operations = tuple(map(_operation, splits))
        restricted = Restriction(dim, self.cut, [*self.outputs, *_nodes(self.inputs)], self._stored)
        taken = [restricted.input(source) for source in self.inputs]
        pairs = [restricted.split(y, found) for y, found in zip(self.outputs, splits, strict=True)]
        parts = [part for part, _ in pairs if part is not None]
        self.rests = [rest for _, rest in pairs]
        self.length_input, self.start_input = restricted.length, restricted.start
        told = [x for x in (self.length_input, self.start_input) if x is not None]
        self._untold = restricted.untold()
        # axes are in the order in which those of the whole are
        known = {
            new: old.length for old, new in restricted.mapping.items() if old.length is not None
        }
        given = [*taken, *told, *self._untold]
        self.code = Code(given, parts, backend, kernels, allow, expected=known)
        self._original = restricted.sources
        self._late = restricted.mapping
        self._back = {new: old for old, new in restricted.mapping.items()}
        along = [self._along(slot) for slot in self.code.program.slots]
        n = len(self.inputs)
        self.along_inputs = {at: x for at, x in enumerate(along[:n]) if x is not None}
        self.along = tuple(x for x in along[n:] if x is not None)

    def _along(self, slot: Any) -> Along | None:
        source = self._original.get(slot.source)
        dims = self.whole_dims(slot.dims)
        axes = [axis for axis, dim in enumerate(dims) if dim in self.cut]
        return Along(source, dims, axes[0]) if source is not None and axes else None

    def __reduce__(self) -> tuple:
        options = (*self._options, self._stored)
        return SliceProgram, (self.inputs, self.outputs, self.dim, *options)

    @cached_property
    def rest_code(self) -> Code | None:
        """Code of the rests of outputs, as a function of the inputs without the dim."""
        rests = [rest for rest in self.rests if rest is not None]
        if not rests:
            return None
        given = [x for at, x in enumerate(self.inputs) if at not in self.along_inputs]
        told = [] if self.length_input is None else [self.length_input]
        return Code([*given, *told], rests, *self._options)

    @cached_property
    def rest_inputs(self) -> dict[int, list[int]]:
        """Inputs of the rests: how code of the rests transposes those of the shares."""
        if self.rest_code is None:
            return {}
        given = [at for at in range(len(self.inputs)) if at not in self.along_inputs]
        slots, wanted = self.code.program.slots, self.rest_code.program.slots
        pairs = zip(given, wanted[: len(given)], strict=True)
        return {at: [slots[at].dims.index(dim) for dim in slot.dims] for at, slot in pairs}

    @cached_property
    def output_dims(self) -> tuple[Dims, ...]:
        """The axes of each output, in order."""
        shares = iter(self.code.program.output_dims)
        rests = iter(() if self.rest_code is None else self.rest_code.program.output_dims)
        found = []
        for operation, rest in zip(self.operations, self.rests, strict=True):
            own = next(rests) if rest is not None else ()
            part = next(shares) if operation else own
            found.append(self.whole_dims(part))
        return tuple(found)

    def whole_dims(self, dims: Dims) -> Dims:
        """Return the dims of the whole for dims of a slice."""
        return tuple(map_dim(dim, self._back) for dim in dims)

    def hold(
        self,
        replaced: Mapping[Node, Any] | None = None,
        elsewhere: Collection[Node] = (),
        length: int | None = None,
        told: Binding | None = None,
    ) -> HeldSlices:
        """Bind the data of the whole, and hold the arrays that are cut.

        Parameters
        ----------
        replaced : mapping of Node to value, optional
            New values of data.
        elsewhere : collection of Node
            Data along the dim that are not in memory as a whole.
        length : int, optional
            Length of the dim, where neither the dim nor data in memory have it.
        told : Binding, optional
            Lengths and labels of dims, where inputs have told some; by default those of data.

        Returns
        -------
        HeldSlices

        Raises
        ------
        PartitionError
            If a constant is computed from the whole of data that are elsewhere.
        """
        return HeldSlices(self, replaced or {}, frozenset(elsewhere), length, told)

    def total(
        self, shares: Sequence[Sequence[Any]], rest: Sequence[np.ndarray | None] | None = None
    ) -> list[np.ndarray]:
        """Combine the shares of slices that make up the dim, in order, to the outputs.

        They are combined in a binary tree, which depends on the number of slices alone. So equal
        shares give equal bits, whoever computed them, and in whichever order.

        Parameters
        ----------
        shares : sequence of sequence of ndarray
            For each slice what its share returns; at least one.
        rest : list of ndarray or None, optional
            What :meth:`HeldSlices.rest` returns.
        """
        columns = zip(*shares, strict=True)
        parts = []
        for operation, dims in zip(self.operations, self.output_dims, strict=True):
            if not operation:
                continue
            values = [np.asarray(x) for x in next(columns)]
            if operation == "concat":
                axis = next(at for at, dim in enumerate(dims) if dim in self.cut)
                whole = values[0] if len(values) == 1 else np.concatenate(values, axis=axis)
            else:
                whole = tree(values, getattr(np, operation))
            parts.append(whole)
        return self.with_rest(parts, rest)

    def with_rest(
        self, parts: Sequence[np.ndarray], rest: Sequence[np.ndarray | None] | None
    ) -> list[np.ndarray]:
        """Add the rest of each output to what its shares combine to."""
        own = iter(parts)
        once = rest if rest is not None else [None] * len(self.outputs)
        found = []
        for operation, given in zip(self.operations, once, strict=True):
            if not operation:
                assert given is not None
                found.append(given)
                continue
            whole = next(own)
            found.append(np.asarray(whole if given is None else np.add(given, whole)))
        return found


def tree(
    values: Sequence[np.ndarray] | np.ndarray, combine: Callable[[Any, Any], Any]
) -> np.ndarray:
    """Combine values by a binary tree, whose leaves are the values in order.

    Parameters
    ----------
    values : sequence of ndarray
        Of one shape.
    combine : callable
        Elementwise, of two arrays: it is called once for each level of the tree.

    Examples
    --------
    >>> tree(np.array(list("abcde"), object), np.frompyfunc(lambda x, y: f"({x}{y})", 2, 1))
    '(((ab)(cd))e)'
    """
    level = np.array(values, copy=True if len(values) == 1 else None)
    while len(level) > 1:
        paired = len(level) // 2 * 2
        pairs = combine(level[:paired:2], level[1::2])
        level = pairs if paired == len(level) else np.concatenate([pairs, level[paired:]])
    found: np.ndarray = level[0]
    return found


def subtrees[T](
    values: Mapping[tuple[int, int], T], number: int, combine: Callable[[T, T], T]
) -> dict[tuple[int, int], T]:
    """Combine nodes of the tree of :func:`tree` as far as their neighbors are there.

    Parameters
    ----------
    values : mapping of (int, int) to value
        By level, from the values up, and place in the level.
    number : int
        Of all values of the tree.

    Returns
    -------
    dict
        The roots of what is there: of all values one.

    Examples
    --------
    >>> join = lambda x, y: f"({x}{y})"
    >>> some = subtrees({(0, at): "abcde"[at] for at in [1, 2, 3, 4]}, 5, join)
    >>> some
    {(0, 1): 'b', (1, 1): '(cd)', (2, 1): 'e'}
    >>> subtrees({**some, (0, 0): "a"}, 5, join)
    {(3, 0): '(((ab)(cd))e)'}
    """
    found = dict(values)
    level = 0
    while number > 1:
        for at in sorted(place for of, place in found if of == level and place % 2 == 0):
            if at + 1 == number:
                found[level + 1, at // 2] = found.pop((level, at))
            elif (level, at + 1) in found:
                pair = found.pop((level, at)), found.pop((level, at + 1))
                found[level + 1, at // 2] = combine(*pair)
        level, number = level + 1, (number + 1) // 2
    return found


def combined(
    operations: Sequence[str], one: Sequence[np.ndarray], other: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Combine the shares of two slices, output by output."""
    each = zip(operations, one, other, strict=True)
    return [np.asarray(getattr(np, operation)(x, y)) for operation, x, y in each]


def _nodes(sources: Iterable[Node | Dim]) -> list[Node]:
    return [source for source in sources if isinstance(source, Node)]


def _operation(found: Split) -> str:
    if isinstance(found.role, Combined):
        return found.role.operation
    return "" if found.role is None else "concat"
