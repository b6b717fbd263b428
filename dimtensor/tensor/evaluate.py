"""Compilation to functions of labeled values, and evaluation without them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from dimtensor.backends import BackendName, check_backend
from dimtensor.caches import Recent
from dimtensor.compile.devices.mesh import Placement
from dimtensor.compile.function import CompiledFunction, Structure, free_inputs
from dimtensor.compile.function import function as _function
from dimtensor.compile.sliced.function import on_threads
from dimtensor.compile.stateful import StatefulFunction, stateful
from dimtensor.dims import Dim
from dimtensor.errors import ArgumentError, InputError, OptionError, did_you_mean, listing
from dimtensor.graph import Node, toposort
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.graph.walk import LEAF_KINDS, held_bytes
from dimtensor.tensor.handle import TensorHandle, as_node, wrap
from dimtensor.tensor.inputs import tensor
from dimtensor.values.data import as_mapping, title_of
from dimtensor.values.datasets import as_dataset, values_from

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import Expressions

# functions of the expressions evaluated last, so that a cell that runs again compiles nothing
_explored: Recent[tuple, CompiledFunction] = Recent(count=64, nbytes=1 << 25)


class _CompileOptions(TypedDict, total=False):
    """Options of compiled functions, for type checkers; see :func:`function`."""

    kernels: bool
    checks: bool | DimTensor | Sequence[DimTensor]
    allow: str | Sequence[str]
    simplify: bool | Mapping[Dim, int]
    shard: Placement | Mapping[Dim | str, str | tuple[str, ...]] | None


class _Options(_CompileOptions, total=False):
    """Options of functions without shared variables."""

    updates: None
    threads: int | None


@overload
def function(
    inputs: Any, outputs: DimTensor, backend: BackendName = "native", **options: Unpack[_Options]
) -> CompiledFunction[xr.DataArray]: ...


@overload
def function[K](
    inputs: Any,
    outputs: Mapping[K, DimTensor],
    backend: BackendName = "native",
    **options: Unpack[_Options],
) -> CompiledFunction[dict[K, xr.DataArray]]: ...


@overload
def function(
    inputs: Any,
    outputs: tuple[DimTensor, ...],
    backend: BackendName = "native",
    **options: Unpack[_Options],
) -> CompiledFunction[tuple[xr.DataArray, ...]]: ...


@overload
def function(
    inputs: Any,
    outputs: Sequence[DimTensor],
    backend: BackendName = "native",
    **options: Unpack[_Options],
) -> CompiledFunction[list[xr.DataArray]]: ...


@overload
def function(
    inputs: Any,
    outputs: Any,
    backend: BackendName = "native",
    *,
    updates: Mapping[DimTensor, Any],
    **options: Unpack[_CompileOptions],
) -> StatefulFunction: ...


def function(
    inputs: Expressions,
    outputs: Expressions,
    backend: BackendName = "native",
    *,
    updates: Mapping[DimTensor, Any] | None = None,
    kernels: bool = True,
    checks: bool | DimTensor | Sequence[DimTensor] = True,
    allow: str | Sequence[str] = (),
    simplify: bool | Mapping[Dim, int] = False,
    threads: int | None = None,
    shard: Placement | Mapping[Dim | str, str | tuple[str, ...]] | None = None,
) -> CompiledFunction | StatefulFunction:
    """Compile a function from inputs to outputs.

    Parameters
    ----------
    inputs : DimTensor, Dim or list of them
        Symbolic inputs. The value of a Dim is a length or labels; it is needed only where no tensor
        has the dim.
    outputs : DimTensor, list of DimTensor, or dict of str to DimTensor
        What the function returns, in the same structure.
    backend : {"native", "jax", "python"}
        ``"native"`` generates machine code; ``"numba"`` is a synonym. ``"python"`` interprets the
        graph without compiling, for exploring and testing.
    updates : mapping of DimTensor to DimTensor, optional
        Next states by states: named tensors, which are no inputs, mapped to expressions of states
        and inputs with the dims and the dtype of the state.
    kernels : bool
        Whether the native backend compiles the graph to one function of loop nests. Otherwise
        PyTensor makes a function of each operation, which is slower and serves for comparison.
    checks : bool, DimTensor or list of DimTensor
        True evaluates the checks (:func:`dimtensor.check`) that the outputs depend on. Checks of
        these tensors are evaluated in addition. False drops all checks but those of operations.
    allow : {"reassociate"} or list of them, optional
        Rewrites that are not exact for all floating-point numbers. With ``"reassociate"`` sums and
        products in a step of a loop are reordered, so that the shortest chain depends on the state,
        and `simplify` may use rules that can lose digits.
    simplify : bool or mapping of Dim to int
        Whether to compile the cheapest form of the outputs that :func:`dimtensor.simplify` finds. A
        mapping has the lengths of dims that have none. Results may differ in the last digits.
    threads : int, optional
        Number of threads that compute a call in slices of the longest dim that can be cut
        (:func:`dimtensor.partition`), if there is enough work for slices. Results do not depend on
        it, not even in their last bits; those without threads differ from them in these.
    shard : dict of Dim or str to str, or Placement, optional
        Axes of a mesh of devices by dim, on JAX: see :func:`dimtensor.mesh`. By default that of the
        context.

    Returns
    -------
    CompiledFunction
        Called with positional or keyword arguments: DataArrays (dims and labels in any order),
        Series, ndarrays of up to one dimension, pairs ``(dims, ndarray)``, numbers. Results are
        DataArrays. An input with additional dims batches the call over them. Of dask arrays results
        are dask arrays, which are computed on demand.
    StatefulFunction
        With `updates`: ``f.step(state, *inputs)`` returns the next state and the outputs;
        ``f.start(name=value)`` returns an object that holds the state, and takes the inputs.

    Raises
    ------
    DimError, DtypeError
        If an update has other dims, or another dtype, than its state.
    GraphError
        If the outputs depend on inputs that are not given, or on a length that no input has, or if
        one of `checks` has no check.
    ArgumentError
        If an input or an output is no tensor.
    OptionError
        If there is no such backend, or no such rewrite; if there are threads and updates, or JAX.
    PartitionError
        If there are threads, and no dim along which all outputs can be cut.

    Examples
    --------
    >>> import numpy as np, dimtensor as dt
    >>> k = dt.Dim("k", coords=["a", "b"])
    >>> x = dt.tensor("x", dims=k)
    >>> f = dt.function([x], x * 2, backend="python")
    >>> f(np.array([1.0, 2.0])).sel(k="b").item()
    4.0

    A running total, as a pure step and as an object:

    >>> total = dt.tensor("total", dims=k)
    >>> add = dt.function([x], x.sum(), updates={total: total + x}, backend="python")
    >>> state, _ = add.step({"total": np.zeros(2)}, np.array([1.0, 2.0]))
    >>> running = add.start(state)
    >>> float(running(x=np.array([1.0, 1.0])))
    2.0
    >>> running.state["total"].values.tolist()
    [2.0, 3.0]
    """
    if updates is not None:
        if threads is not None:
            raise OptionError("function: a function of states is not computed by threads")
        if shard is not None:
            raise OptionError("function: a function of states is not computed by devices")
        changes = {as_node(s): as_node(following, [as_node(s)]) for s, following in updates.items()}
        return stateful(inputs, outputs, changes, backend, kernels, checks, allow, simplify)
    if threads is not None and shard is not None:
        raise OptionError("function: slices are computed by threads or by devices, not by both")
    found = _function(inputs, outputs, backend, kernels, checks, allow, simplify, shard)
    return found if threads is None else on_threads(found, threads)


@overload
def evaluate(
    x: DimTensor, values: Mapping[Any, Any] | None = None, backend: BackendName = "python"
) -> xr.DataArray: ...
@overload
def evaluate(
    x: tuple[Any, ...], values: Mapping[Any, Any] | None = None, backend: BackendName = "python"
) -> tuple[xr.DataArray, ...]: ...
@overload
def evaluate(
    x: list[Any], values: Mapping[Any, Any] | None = None, backend: BackendName = "python"
) -> list[xr.DataArray]: ...
@overload
def evaluate[K](
    x: Mapping[K, Any], values: Mapping[Any, Any] | None = None, backend: BackendName = "python"
) -> dict[K, xr.DataArray]: ...


def evaluate(
    x: Expressions, values: Mapping[Any, Any] | None = None, backend: BackendName = "python"
) -> Any:
    """Compute the value of an expression, or of several in a list or dict.

    Parameters
    ----------
    x : DimTensor, list or dict
    values : mapping, Dataset or DataTree, optional
        Values of the inputs, by tensor or by name; lengths or labels by dim. Unused variables of a
        Dataset, or of the group ``posterior`` of a DataTree, are ignored. Random variables may have
        values, too, such as draws. Arrays of dask are computed chunk by chunk, and loaded as a
        whole only where the expression needs all positions of a dim.
    backend : {"python", "native", "jax"}

    Returns
    -------
    DataArray, or a list or dict of them

    Raises
    ------
    InputError
        If the value of an input is missing, or belongs to no input.
    ArgumentError
        If an output is no tensor.
    GraphError
        If the value is not known, as that of a random variable.
    CheckError
        If a condition of :func:`dimtensor.check` does not hold.
    OptionError
        If there is no such backend.

    Examples
    --------
    >>> import dimtensor as dt
    >>> a = dt.scalar("a")
    >>> float(dt.evaluate(a + 1, {a: 2.0}))
    3.0

    An expression of random variables, for draws of them:

    >>> mu = dt.rv("mu", dt.dist.Normal(0.0, 1.0))
    >>> post = dt.Model(mu, backend="python").draw(2, seed=1)["prior_predictive"]
    >>> dict(dt.evaluate(mu**2, post).sizes)
    {'chain': 1, 'draw': 2}
    """
    backend = check_backend(backend)
    structure, outputs = Structure.of(x)
    if structure.kind == "one":
        nodes = [as_node(x)]
    else:
        keys = structure.keys or range(1, len(outputs) + 1)
        named = zip(keys, outputs, strict=True)
        nodes = [as_node(_one(output), what=f"output {key!r}") for key, output in named]
    if values is not None and any(node.kind == "rv" for node in toposort(nodes)):
        nodes, values = _in_place_of_variables(nodes, values)
    known = free_inputs(nodes)
    if hasattr(type(values), "data_vars"):
        values = _from_dataset(nodes, known, values)
    given = _given(known, as_mapping(values, "values"))
    dims = [key for key in given if isinstance(key, Dim)]
    key = (tuple(nodes), tuple(dims), structure, backend)
    compiled = _explored.get(key)
    if compiled is None:
        results = structure.rebuild([*map(wrap, nodes)])
        compiled = _function([*map(wrap, known), *dims], results, backend)
        compiled = _explored.put(key, compiled, held_bytes(nodes))
    return compiled.in_memory(*[given[source] for source in (*known, *dims)])


def _in_place_of_variables(nodes: list[Node], values: Any) -> tuple[list[Node], Any]:
    """Replace random variables that have values by inputs; return the outputs and the values.

    Raises
    ------
    InputError
        If draws lack a variable.
    """
    variables = {str(node.name): node for node in toposort(nodes) if node.kind == "rv"}
    if hasattr(type(values), "data_vars"):
        dataset = as_dataset(values)
        names = {str(name) for name in dataset.data_vars}
    else:
        given = as_mapping(values, "values")
        named = {key: key if isinstance(key, str) else _variable(key) for key in given}
        values = {named[key] if named[key] in variables else key: x for key, x in given.items()}
        names = {name for name in named.values() if name is not None}
    inputs = {
        node: tensor(name, node.dims, node.dtype, node.categories).node
        for name, node in variables.items()
        if name in names
    }
    nodes = rebuild(nodes, inputs)
    lacking = [str(node.name) for node in toposort(nodes) if node.kind == "rv"]
    if lacking:
        raise InputError(
            f"evaluate: there are no values of {listing(lacking)}, and the expression depends "
            "on them",
            [("values of", listing(sorted(names)))],
            "dt.Model(..., x).predict(post, names=['x'], seed=1) draws them, where the "
            "expression is x = dt.named('x', ...)"
            if hasattr(type(values), "data_vars")
            else f"give them, too: {{..., {lacking[0]!r}: value}}",
        )
    return nodes, values


def _variable(key: Any) -> str | None:
    return key.node.name if isinstance(key, TensorHandle) and key.node.kind == "rv" else None


def _from_dataset(nodes: list[Node], known: list[Node], dataset: Any) -> Mapping[Any, Any]:
    """Take the values of inputs from a Dataset, and lengths or labels of dims without inputs."""
    order = toposort(nodes)
    carried = {dim for node in order if node.kind in LEAF_KINDS for dim in node.dims}
    used = dict.fromkeys(dim for node in order for dim in node.dims)
    late = [dim for dim in used if dim.length is None and not dim.parents and dim not in carried]
    return {
        source if isinstance(source, Dim) else wrap(source): value
        for source, value in values_from(dataset, [*known, *late]).items()
    }


def _one(output: Any) -> Any:
    """Return an output that is no container.

    Raises
    ------
    ArgumentError
        If it is a container.
    """
    if isinstance(output, (Mapping, list, tuple, set, frozenset)):
        raise ArgumentError(
            f"an output is a tensor, not a {type(output).__name__}: {output!r}",
            hint="outputs are a tensor, or a list or a dict of tensors, which are not nested",
        )
    return output


def _given(known: list[Node], values: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the values by input node or dim.

    Raises
    ------
    InputError
        If a value is missing or of no input.
    """
    names = {node.name: node for node in known if node.name is not None}
    among = set(known)
    given: dict[Any, Any] = {}
    for key, value in values.items():
        if isinstance(key, Dim):
            given[key] = value
            continue
        if not isinstance(key, (str, TensorHandle, Node)):
            raise InputError(f"values are given by tensor, by name or by dim, not by {key!r}")
        node = names.get(key) if isinstance(key, str) else as_node(key)
        if node not in among:
            what = repr(key) if isinstance(key, str) else title_of(as_node(key))
            guess = did_you_mean(key, [*names]) if isinstance(key, str) else ""
            raise InputError(
                f"the expression does not depend on {what}{guess}", [("inputs", listing(names))]
            )
        given[node] = value
    missing = [title_of(node) for node in known if node not in given]
    if missing:
        raise InputError(
            f"the value depends on inputs that are not given: {', '.join(missing)}",
            hint="x.eval({tensor: value}), by tensor or by name",
        )
    return given


class EvaluationMixin(TensorHandle):
    """Values of expressions."""

    __slots__ = ()

    def eval(
        self, values: Mapping[Any, Any] | None = None, backend: BackendName = "python"
    ) -> xr.DataArray:
        """Compute the value of this expression as a DataArray; see :func:`dimtensor.evaluate`.

        Parameters
        ----------
        values : dict of DimTensor (or its name) to value, optional
            Values of all inputs.
        backend : {"python", "native", "jax"}

        Returns
        -------
        DataArray

        Raises
        ------
        GraphError
            If the expression depends on random variables.
        CheckError
            If a condition of :func:`dimtensor.check` does not hold.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.scalar("x")
        >>> (x**2).eval({x: 3.0}).item()
        9.0
        """
        found: xr.DataArray = evaluate(wrap(self.node), values, backend)
        return found


class Tensors(list):
    """List of tensors that compares by identity, because ``==`` of tensors is elementwise."""

    def __contains__(self, x: object) -> bool:
        return any(x is tensor for tensor in self)

    def index(self, x: Any, *ends: Any) -> int:
        """Return the position of a tensor."""
        return [id(tensor) for tensor in self].index(id(x), *ends)

    def count(self, x: Any) -> int:
        """Count the occurrences of a tensor."""
        return [id(tensor) for tensor in self].count(id(x))


def inputs_of(outputs: Expressions) -> Tensors:
    """Return the symbolic inputs of expressions, in the order in which they were made.

    Parameters
    ----------
    outputs : DimTensor, list or dict

    Returns
    -------
    list of DimTensor
        ``x in dt.inputs_of(y)`` compares by identity.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x, y = dt.scalar("x"), dt.scalar("y")
    >>> [tensor.name for tensor in dt.inputs_of(x * y)]
    ['x', 'y']
    """
    _, many = Structure.of(outputs)
    return Tensors(wrap(node) for node in free_inputs([as_node(o) for o in many]))


def walk(outputs: Expressions) -> list[Node]:
    """Return the nodes of expressions in topological order, each after its inputs.

    Parameters
    ----------
    outputs : DimTensor, list or dict

    Returns
    -------
    list of Node

    Examples
    --------
    >>> import dimtensor as dt
    >>> [node.kind for node in dt.walk(dt.exp(dt.scalar("x")))]
    ['input', 'elemwise']
    """
    _, many = Structure.of(outputs)
    return toposort([as_node(o) for o in many])
