"""Functions with state: pure steps ``(state, inputs) -> (state, outputs)``, and holders of states.

A step does not modify its state but returns the next one; a :class:`StateHolder` stores it.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from dimtensor.compile.by_name import is_dataset, named_values
from dimtensor.compile.function import CompiledFunction, Structure, function, node_of
from dimtensor.compile.positional import PositionalFunction
from dimtensor.dims import Dim, dim_labels, dim_set
from dimtensor.errors import (
    DimError,
    DtypeError,
    GraphError,
    InputError,
    LabelError,
    did_you_mean,
    listing,
    printable,
)
from dimtensor.forks import freed_in_children
from dimtensor.graph import Node
from dimtensor.graph.infer import describe
from dimtensor.values.datasets import values_from
from dimtensor.values.labeled import as_labeled, axis_names, is_dataarray

State = dict[str, Any]


class StatefulFunction:
    """Pure function ``(state, inputs) -> (state, outputs)``, made by :func:`dimtensor.function`.

    A state is a dict of DataArrays by the names of the state tensors, or a Dataset. Its values have
    the dims and dtypes of the state tensors, as does the next state. Additional dims batch the
    steps, as those of inputs do. A Dataset, or a DataTree with a group ``posterior``, provides the
    values of the inputs, or states, it contains; its other variables are ignored.

    Attributes
    ----------
    function : CompiledFunction
        Takes the states and then the inputs; returns a list of the next states and the outputs.

    Examples
    --------
    >>> import dimtensor as dt
    >>> total, x = dt.scalar("total"), dt.scalar("x")
    >>> f = dt.function([x], total * 2, updates={total: total + x}, backend="python")
    >>> state, twice = f.step({"total": 1.0}, 10.0)
    >>> float(state["total"]), float(twice)
    (11.0, 2.0)
    >>> running = f.start(total=0.0)
    >>> [float(running(x)) for x in (1.0, 2.0, 3.0)]
    [0.0, 2.0, 6.0]
    >>> float(running.state["total"])
    6.0
    """

    def __init__(self, function: CompiledFunction, states: Sequence[Node], structure: Structure):
        self.function = function
        self._states = {str(node.name): node for node in states}
        self._structure = structure
        self._readers: dict[str, CompiledFunction] = {}

    @property
    def state_names(self) -> tuple[str, ...]:
        """Names of the state tensors, in the order of the updates."""
        return tuple(self._states)

    @property
    def backend(self) -> str:
        """Name of the backend: ``native``, ``jax`` or ``python``."""
        return self.function.backend

    @property
    def stats(self) -> dict[str, float]:
        """Seconds spent so far on compiling, by step."""
        return self.function.stats

    @property
    def positional(self) -> PositionalFunction:
        """Step function of plain arrays: states and inputs to next states and outputs."""
        return self.function.positional

    def step(self, state: Mapping[Any, Any], /, *args: Any, **kwargs: Any) -> tuple[State, Any]:
        """Compute the next state and the outputs, without modifying the given state.

        Parameters
        ----------
        state : mapping of str (or DimTensor) to value, Dataset or DataTree
            The state, for instance one that a step returned. Values as for any input.
        *args, **kwargs
            The inputs, as in a call of a function without state.

        Returns
        -------
        dict of str to DataArray, outputs

        Raises
        ------
        InputError
            If states or inputs are missing, unknown or malformed.
        DimError
            If a state would change its dims, because another state or an input has additional dims.
        CheckError
            If a check fails.
        """
        values = self._ordered(self._named(state))
        if args and is_dataset(args[0]):
            inputs = self.function.input_nodes[len(values) :]
            args, kwargs = (), named_values(inputs, args, kwargs)
        results = self.function(*values, *args, **kwargs)
        following = {}
        for (name, node), value, result in zip(self._states.items(), values, results, strict=False):
            _require_same_dims(node, value, result)
            result.name = name
            following[name] = result
        outputs = results[len(values) :]
        if self._structure.kind == "dict":
            for name, result in zip(self._structure.keys, outputs, strict=True):
                result.name = name
        return following, self._structure.rebuild(outputs)

    def start(self, state: Mapping[Any, Any] | None = None, /, **by_name: Any) -> StateHolder:
        """Return a callable that holds a state and advances it with every call.

        Parameters
        ----------
        state : mapping of str (or DimTensor) to value, Dataset or DataTree, optional
            The state to start from.
        **by_name
            The same by name.

        Raises
        ------
        InputError, DimError, LabelError, DtypeError
            If a state is missing or unknown, or a value does not fit its tensor.
        """
        given = {**self._named({} if state is None else state), **self._named(by_name)}
        values = dict(zip(self._states, self._ordered(given), strict=True))
        return StateHolder(self, self._read(values))

    def with_data(
        self, data: Mapping[Any, Any] | None = None, /, **by_name: Any
    ) -> StatefulFunction:
        """Return the function with other data, without compiling again.

        See :class:`~dimtensor.compile.function.CompiledFunction`.
        """
        changed = self.function.with_data(data, **by_name)
        return StatefulFunction(changed, [*self._states.values()], self._structure)

    def _named(self, state: Mapping[Any, Any]) -> State:
        """Map values to the names of states.

        Raises
        ------
        InputError
            If there is no such state.
        """
        if is_dataset(state):
            found = values_from(state, [*self._states.values()])
            return {str(node.name): value for node, value in found.items()}
        if not isinstance(state, Mapping):
            raise InputError(
                f"a state is a mapping of names to values, not {type(state).__name__}: "
                f"the states are {self._known()}"
            )
        named = {}
        for key, value in state.items():
            name = key if isinstance(key, str) else node_of(key).name
            if name not in self._states:
                guess = did_you_mean(name, self.state_names)
                raise InputError(
                    f"the function has no state {name!r}{guess}", [("states", self._known())]
                )
            named[name] = value
        return named

    def _ordered(self, named: State) -> list[Any]:
        """Return the values of all states, in order.

        Raises
        ------
        InputError
            If one is missing.
        """
        missing = [name for name in self._states if name not in named]
        if missing:
            raise InputError(
                f"the state lacks {listing(missing)}",
                [("given", listing(named)), ("states", self._known())],
            )
        return [named[name] for name in self._states]

    def _known(self) -> str:
        return ", ".join(f"{name} {dim_set(node.dims)}" for name, node in self._states.items())

    def _read(self, values: State) -> State:
        """Convert values to new DataArrays with dims and labels in order, as steps return them."""
        read = {}
        for name, value in values.items():
            node = self._states[name]
            if node.categories is not None and dim_labels(node.categories) is None:
                read[name] = copy.deepcopy(value)  # its labels come with the inputs
                continue
            reader = self._readers.get(name)
            if reader is None:
                reader = self._readers[name] = function([node], [node], "python")
            (read[name],) = reader(value)
        return read

    def __reduce__(self) -> tuple:
        return (StatefulFunction, (self.function, [*self._states.values()], self._structure))

    @printable
    def __repr__(self) -> str:
        return f"<StatefulFunction of {self._known() or 'no state'}: {self.function!r}>"


class StateHolder:
    """Stateful function together with its current state.

    A call advances the state by a step and returns the outputs. If a step fails, the state is
    unchanged. Calls from several threads run one after another. A copy starts from the same state
    and is independent.

    Attributes
    ----------
    function : StatefulFunction
    """

    def __init__(self, function: StatefulFunction, state: State):
        self.function = function
        # its arrays are never modified, so copies of the holder may share them
        self._state = dict(state)
        self._lock = freed_in_children(threading.Lock())

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            self._state, outputs = self.function.step(self._state, *args, **kwargs)
        return outputs

    @property
    def state(self) -> State:
        """Copy of the state: a dict of DataArrays by name."""
        return {
            name: value.copy() if is_dataarray(value) else copy.deepcopy(value)
            for name, value in self._state.items()
        }

    def set_state(self, state: Mapping[Any, Any] | None = None, /, **by_name: Any) -> None:
        """Replace the values of some or all states.

        Parameters
        ----------
        state : mapping of str (or DimTensor) to value, Dataset or DataTree, optional
        **by_name
            The same by name.

        Raises
        ------
        InputError, DimError, LabelError, DtypeError
            If there is no such state, or a value does not fit it; then no state is replaced.
        """
        function = self.function
        given = function._named({} if state is None else state)
        values = function._read({**given, **function._named(by_name)})
        with self._lock:
            self._state = {**self._state, **values}

    def __copy__(self) -> StateHolder:
        return StateHolder(self.function, self._state)

    def __deepcopy__(self, memo: Any) -> StateHolder:
        return StateHolder(self.function, self._state)

    def __reduce__(self) -> tuple:
        return (StateHolder, (self.function, self._state))

    @printable
    def __repr__(self) -> str:
        sizes = (f"{name} {dict(getattr(v, 'sizes', {}))}" for name, v in self._state.items())
        return f"<StateHolder of {', '.join(sizes) or 'no state'} on {self.function.backend}>"


def stateful(
    inputs: Any,
    outputs: Any,
    updates: Mapping[Node, Node],
    backend: str = "native",
    kernels: bool = True,
    checks: Any = True,
    allow: Any = (),
    simplify: Any = False,
) -> StatefulFunction:
    """Compile a function with state; see :func:`dimtensor.function`.

    Parameters
    ----------
    updates : mapping of Node to Node
        The next value of each state.
    """
    sources = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    given = [source for source in sources if not isinstance(source, Dim)]
    for state, following in updates.items():
        _check_update(state, following)
        if state in map(node_of, given):
            raise GraphError(
                f"{state.name!r} is a state, because it has an update, and is also among the inputs"
            )
    structure, values = Structure.of(outputs)
    compiled = function(
        [*updates, *sources],
        [*updates.values(), *values],
        backend,
        kernels,
        checks,
        allow,
        simplify,
    )
    return StatefulFunction(compiled, [*updates], structure)


def _check_update(state: Node, following: Node) -> None:
    if state.kind != "input" or state.name is None:
        raise GraphError(
            f"a state is a named input, {describe(state)} is none",
            hint='dt.tensor("name", dims=...) makes one',
        )
    details = [
        ("state", f"{dim_set(state.dims)} {state.dtype}"),
        ("update", f"{dim_set(following.dims)} {following.dtype}"),
    ]
    if state.dims != following.dims:
        raise DimError(
            f"state {state.name!r} has an update of other dims",
            details,
            "declare the state with all dims that it needs; expand the update over a dim "
            "that it lacks",
        )
    if state.dtype != following.dtype:
        raise DtypeError(
            f"state {state.name!r} has an update of another dtype",
            details,
            f'declare the state with dtype="{following.dtype}", or use astype on the update',
        )
    if state.categories is not following.categories:
        raise LabelError(
            f"state {state.name!r} and its update do not hold labels of the same dim",
            [("state", describe(state)), ("update", describe(following))],
        )


def _require_same_dims(state: Node, value: Any, result: Any) -> None:
    """Check that a step does not change the dims of a state."""
    if is_dataarray(value):
        before = value.dims
    else:
        labeled = as_labeled(value, state.dims, "the state")
        before = tuple(axis_names(state.dims).values()) if labeled is None else labeled.names
    if set(before) != set(result.dims):
        raise DimError(
            f"state {state.name!r} changes its dims in a step",
            [
                ("went in", "{" + ", ".join(map(str, before)) + "}"),
                ("came out", "{" + ", ".join(map(str, result.dims)) + "}"),
            ],
            "where another state or an input has additional dims, start from a state that "
            "has them, too",
        )
