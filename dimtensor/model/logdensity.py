"""Log densities of named tensors as functions of a flat vector, for samplers."""
# over budget: one class, most of whose lines are docstrings of its methods

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.backends import check_backend
from dimtensor.compile.function import node_of
from dimtensor.errors import BroadcastWarning, InputError, OptionError, did_you_mean, listing
from dimtensor.graph import Node
from dimtensor.model.assembly import FLAT, assemble
from dimtensor.model.functions import ModelFunctions, check_recorded
from dimtensor.model.minibatch.batches import BatchOptions, Minibatches
from dimtensor.model.parameters import Parameter, check_complete, check_inverse, read_parameters
from dimtensor.model.records import as_dataset, as_numbers, as_vectors, check_names
from dimtensor.model.sliced.cluster import cluster_for
from dimtensor.model.sliced.streamed import StreamedDensity
from dimtensor.model.sliced.threads import threads_for
from dimtensor.model.terms import check_sums, check_terms, read_logp
from dimtensor.renderers import Rendered
from dimtensor.streams.stream import streamed
from dimtensor.tensor.handle import wrap
from dimtensor.values.data import as_mapping
from dimtensor.values.datasets import values_from
from dimtensor.values.exchange import exchanged

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.backends import BackendName
    from dimtensor.dims import Dim
    from dimtensor.dist.supports import Support
    from dimtensor.model.sliced.density import Evaluation
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import ArrayLike

_FLOAT = np.dtype("float64")


# Function of the draws and their verdict that returns advice on the model.
Advise = Callable[[Any, Any], list[str]]


@dataclass(frozen=True, eq=False)
class _DensityParts:
    """Fields of a log density, from which changed ones are made by `replace`."""

    expression: DimTensor
    terms: dict[str, DimTensor]
    parameters: tuple[Parameter, ...]
    deterministics: dict[str, DimTensor]
    backend: BackendName
    jacobian: bool
    functions: ModelFunctions
    advise: Advise | None = None


class LogDensity(Rendered):
    """The log density of a model as a function of one flat vector of real numbers.

    The elements of the vector are those of the parameters in the order of `supports`, each raveled
    with its dims in canonical order (sorted by name). Where a support is not all real numbers they
    are transformed, and the log Jacobian of the transform is added to the log density.

    Parameters
    ----------
    logp : dict of str to DimTensor, or DimTensor
        Terms by name, of parameters and of data (``dt.data``), each of which is summed over all of
        its own dims; or their sum, which has no dims.
    supports : dict of DimTensor (or its name) to Support
        All symbolic inputs that `logp` depends on, and where their values lie.
    backend : {"native", "jax", "python"}
        Of `logp` and `logp_and_grad`, which are compiled at their first call. Functions of labeled
        values (`constrain`, `unconstrain`) are interpreted.
    jacobian : bool
        Whether the log Jacobians of the transforms are added. Without them the maximum is that of
        the density of the parameters themselves.
    deterministics : dict of str to DimTensor, optional
        Expressions of parameters and data that are recorded with every draw.
    threads : int, optional
        Number of threads that compute value and gradient in slices of the data, if there is enough
        work for slices. Their bits do not depend on it.

    Attributes
    ----------
    parameters : tuple of Parameter
        Tensor, resolved support and free dims of each.
    expression : DimTensor
        The log density of the parameters, without Jacobians.
    terms : dict of str to DimTensor
        Terms by name; empty for one expression.
    backend : str
    jacobian : bool
    deterministics : dict of str to DimTensor
    functions : ModelFunctions
        The compiled functions beneath, for bridges to samplers.

    Raises
    ------
    DimError
        If `logp` has dims, or a support needs a dim that is not named.
    GraphError
        If `logp` depends on inputs without a support or not on one that has one, or if the length
        of a parameter is known neither from its dims nor from data; if something that is recorded
        has the name of a dim, or is called chain or draw, and would be lost among labels.
    LabelError
        If there is no input of a name.
    ArgumentError
        If a key is no input, or a value no support.
    OptionError
        If a parameter is computed.
    PartitionError
        If there are threads, and no dim along which the log density can be cut.

    Warns
    -----
    BroadcastWarning
        If one sum adds terms that lack dims of each other, each of which is then counted once for
        every position along the dims that it lacks.

    Examples
    --------
    >>> import dimtensor as dt
    >>> school = dt.Dim("school", coords=["A", "B"])
    >>> effect = dt.tensor("effect", dims=school)
    >>> scale = dt.scalar("scale")
    >>> logp = {"effect": -0.5 * effect**2, "scale": -scale}
    >>> model = dt.LogDensity(logp, {scale: dt.positive, effect: dt.real}, backend="python")
    >>> model.names
    ['scale', 'effect[A]', 'effect[B]']
    >>> value, gradient = model.logp_and_grad(np.array([0.0, 1.0, 2.0]))
    >>> value, gradient.tolist()
    (-3.5, [0.0, -1.0, -2.0])
    >>> model.logp(np.array([0.0, 1.0, 2.0]))
    -3.5
    >>> model.constrain(np.array([0.0, 1.0, 2.0]))["effect"].sel(school="B").item()
    2.0
    >>> model.unconstrain({"scale": 1.0, "effect": [1.0, 2.0]}).tolist()
    [0.0, 1.0, 2.0]
    >>> model.flat_vector(np.zeros((4, 3))).sizes["draw"]
    4
    >>> twice = model.with_deterministics({"twice": 2 * scale})
    >>> twice.constrain(np.array([0.0, 1.0, 2.0]))["twice"].item()
    2.0
    """

    def __init__(
        self,
        logp: DimTensor | Mapping[str, DimTensor],
        supports: Mapping[Any, Any],
        backend: BackendName = "native",
        *,
        jacobian: bool = True,
        deterministics: Mapping[str, DimTensor] | None = None,
        threads: int | None = None,
    ):
        backend = check_backend(backend)
        expression, terms = read_logp(logp)
        check_names({}, {name: x.dims for name, x in terms.items()}, "term")
        given = as_mapping(deterministics, "deterministics")
        recorded = {name: wrap(node_of(x)) for name, x in given.items()}
        nodes = [x.node for x in recorded.values()]
        parameters = read_parameters(expression.node, nodes, supports)
        _check_names(parameters, recorded)
        check_recorded(recorded)
        assembly = assemble(expression, parameters, jacobian)
        evaluation = StreamedDensity if streamed([expression.node]) else None
        functions = ModelFunctions(assembly, parameters, recorded, backend, evaluation=evaluation)
        if threads is not None:
            functions = functions.evaluated_by(threads_for(functions, threads, "LogDensity"))
        self._set(
            _DensityParts(expression, terms, parameters, recorded, backend, jacobian, functions)
        )
        check_sums(expression.node, functions.binding)

    def _set(self, parts: _DensityParts) -> None:
        self._parts = parts
        self.expression = parts.expression
        self.terms = parts.terms
        self.parameters = parts.parameters
        self.deterministics = parts.deterministics
        self.backend = parts.backend
        self.jacobian = parts.jacobian
        self.functions = parts.functions
        self.advise = parts.advise
        self._shape = (sum(p.size(self.functions.binding) for p in self.parameters),)

    def _replaced(self, **changes: Any) -> LogDensity:
        """Return a log density of other parts, which shares compiled functions."""
        other: LogDensity = object.__new__(type(self))
        other._set(replace(self._parts, **changes))
        return other

    @property
    def _supports(self) -> dict[Node, Support]:
        return {p.tensor.node: p.support for p in self.parameters}

    # -- the vector ------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of elements of the flat vector."""
        return self._shape[0]

    @cached_property
    def names(self) -> list[str]:
        """Names of the elements of the flat vector, with the labels of their dims.

        The free elements of a simplex belong to no label; they are numbered.
        """
        return [name for p in self.parameters for name in p.element_names(self.functions.binding)]

    @property
    def initial_point(self) -> np.ndarray:
        """Default start of searches and chains: zeros."""
        return np.zeros(self.size)

    # -- expressions -------------------------------------------------------------------------------

    @property
    def unconstrained(self) -> DimTensor:
        """The flat vector as an input: what `constrained` and the log density are functions of."""
        return self.functions.assembly.flat

    @property
    def constrained(self) -> dict[str, DimTensor]:
        """The parameters as expressions of `unconstrained`, by name.

        Examples
        --------
        >>> import dimtensor as dt
        >>> tau = dt.scalar("tau")
        >>> model = dt.LogDensity(-tau, {tau: dt.positive}, backend="python")
        >>> model.constrained["tau"].eval({model.unconstrained: [0.0]}).item()
        1.0
        """
        found = self.functions.assembly.constrained
        return {p.name: found[p.tensor] for p in self.parameters}

    @property
    def density(self) -> DimTensor:
        """The log density as an expression of `unconstrained`, with Jacobians where they count."""
        return self.functions.assembly.value

    # -- values and gradients --------------------------------------------------------------------

    def logp_and_grad(self, x: ArrayLike) -> tuple[float, np.ndarray]:
        """Log density and its gradient.

        Parameters
        ----------
        x : ndarray of float64
            Shape (size,).

        Returns
        -------
        float, ndarray
            The gradient has the shape of `x`.

        Raises
        ------
        InputError
            If `x` has another shape; if an observation in a stream is missing.
        StreamError
            If a stream cannot be read.
        LabelError, PositionError, DtypeError
            If values in a stream are not those of the tensor; the text has chunk and row.
        PartitionError, GraphError
            If the chunks of a stream cannot be computed separately.

        Examples
        --------
        >>> import dimtensor as dt
        >>> s = dt.scalar("s")
        >>> density = dt.LogDensity(-s, {s: dt.positive}, backend="python")
        >>> value, gradient = density.logp_and_grad(np.zeros(1))  # x - exp(x), Jacobian included
        >>> value, gradient.tolist()
        (-1.0, [0.0])
        """
        if type(x) is not np.ndarray or x.dtype is not _FLOAT or x.shape != self._shape or (
            not x.flags.carray
        ):  # fmt: skip
            x = self._vector(x)
        value, gradient = self._value_and_gradient(x)
        return float(value), gradient

    def logp(self, x: ArrayLike) -> float:
        """Log density; see :meth:`logp_and_grad`.

        Parameters
        ----------
        x : ndarray of shape (size,)

        Returns
        -------
        float

        Raises
        ------
        InputError, StreamError, LabelError, PositionError, DtypeError, PartitionError, GraphError
            As of :meth:`logp_and_grad`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> s = dt.scalar("s")
        >>> density = dt.LogDensity(-s, {s: dt.positive}, backend="python")
        >>> density.logp(np.zeros(1))
        -1.0
        """
        return float(self._value(self._vector(x))[0])

    def _vector(self, x: Any) -> np.ndarray:
        """Convert to a vector for machine code: float64, contiguous, aligned."""
        vector = as_numbers(x, ["C", "A"])
        if vector.shape != self._shape:
            raise InputError(
                f"the vector has shape {vector.shape}, the model has {self.size} "
                "unconstrained elements",
                [("parameters", self._described_sizes())],
            )
        return vector

    # both compile at the first call, and an attribute takes their place: a method of itself in an
    # attribute would be a cycle

    def _value_and_gradient(self, x: np.ndarray) -> Any:
        vars(self)["_value_and_gradient"] = found = self.functions.positional("logp_and_grad")
        return found(x)

    def _value(self, x: np.ndarray) -> Any:
        vars(self)["_value"] = found = self.functions.positional("logp")
        return found(x)

    # -- labeled values ---------------------------------------------------------------------------

    def flat_vector(self, x: ArrayLike) -> xr.DataArray:
        """Flat vectors with a name for each axis; see :meth:`constrain`.

        Parameters
        ----------
        x : array of shape (..., size) or DataArray

        Returns
        -------
        DataArray
            Its last dim is that of the elements; dims before it that have no name are numbered.

        Examples
        --------
        >>> import dimtensor as dt
        >>> s = dt.scalar("s")
        >>> density = dt.LogDensity(-s, {s: dt.positive}, backend="python")
        >>> density.flat_vector(np.zeros((4, 1))).sizes["draw"]
        4
        """
        return as_vectors(x, self.size, FLAT)

    def constrain(self, x: ArrayLike) -> xr.Dataset:
        """Labeled values of parameters and deterministics.

        Parameters
        ----------
        x : ndarray or DataArray
            Vectors along the last axis. The leading axes of an array are called draw, or chain and
            draw; a DataArray names its own.

        Returns
        -------
        Dataset
            Leading dims come first. Where two variables have different dims of one name (a dim and
            a selection of it), the dim of the later one gets the name of the variable behind its
            own.

        Raises
        ------
        InputError
            If the vectors have another length.

        Examples
        --------
        >>> import dimtensor as dt
        >>> s = dt.scalar("s")
        >>> density = dt.LogDensity(-s, {s: dt.positive}, backend="python")
        >>> density.constrain([[0.0], [np.log(2.0)]])["s"].values.tolist()  # of two draws
        [1.0, 2.0]
        """
        vectors = self.flat_vector(x)
        leading = [dim for dim in vectors.dims if dim != FLAT]
        kind = "constrain" if self.deterministics else "parameters"
        return as_dataset(self.functions.labeled(kind, vectors), leading)

    def log_terms(self, x: ArrayLike, names: Iterable[str] | None = None) -> xr.Dataset:
        """Terms of the log density, element by element: what ArviZ calls a log likelihood.

        Parameters
        ----------
        x : ndarray or DataArray
            As for :meth:`constrain`.
        names : iterable of str, optional
            All terms by default.

        Returns
        -------
        Dataset
            Each term with its own dims, the leading ones first.

        Raises
        ------
        InputError
            If there is no term of a name.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x, k = dt.scalar("x"), dt.Dim("k", coords=["a", "b"])
        >>> y = dt.data([1.0, 3.0], dims=k)
        >>> model = dt.LogDensity({"y": -((y - x) ** 2)}, {x: dt.real}, backend="python")
        >>> model.log_terms([1.0])["y"].sel(k="b").item()
        -4.0
        """
        wanted = list(self.terms) if names is None else list(names)
        check_terms(self.terms, wanted)
        vectors = self.flat_vector(x)
        # a term may have the name of a parameter
        recorded = {f"term {name}": self.terms[name] for name in wanted}
        values = self.functions.recording(recorded).labeled("constrain", vectors)
        found = {name: values[f"term {name}"].rename(name) for name in wanted}
        return as_dataset(found, [dim for dim in vectors.dims if dim != FLAT])

    def unconstrain(self, values: Mapping[Any, Any]) -> np.ndarray:
        """Compute the flat vector of values of the parameters.

        Parameters
        ----------
        values : dict, Dataset or DataTree
            Values by parameter or its name, labeled as for :func:`dimtensor.function`. Additional
            dims batch; deterministics are passed over, and whatever else a Dataset holds.

        Returns
        -------
        ndarray
            Shape (..., size), additional dims leading in the order of their names.

        Raises
        ------
        InputError
            If a parameter is missing, something is no parameter, or a value lies outside of the
            support of its parameter.

        Examples
        --------
        >>> import dimtensor as dt
        >>> s = dt.scalar("s")
        >>> density = dt.LogDensity(-s, {s: dt.positive}, backend="python")
        >>> density.unconstrain({"s": 1.0})
        array([0.])
        """
        names = {parameter.name: at for at, parameter in enumerate(self.parameters)}
        given: dict[int, Any] = {}
        if hasattr(type(values), "data_vars"):
            found = values_from(values, [p.tensor.node for p in self.parameters])
            values = {node.name: value for node, value in found.items()}
        for key in as_mapping(values, "values"):
            name = key if isinstance(key, str) else node_of(key).name
            if name in names:
                given[names[name]] = values[key]
            elif name not in self.deterministics:
                raise InputError(
                    f"the model has no parameter {name!r}{did_you_mean(name, list(names))}",
                    [("parameters", listing(list(names)))],
                )
        missing = [name for name, at in names.items() if at not in given]
        if missing:
            raise InputError(f"missing parameters: {', '.join(map(repr, missing))}")
        ordered = [given[at] for at in range(len(names))]
        flat, *aligned = self.functions.labeled("unconstrain", *ordered)
        flat = flat.transpose(..., FLAT)
        again = self.functions.labeled("parameters", flat)
        check_inverse(self.parameters, self.functions.binding, flat, again, aligned)
        return np.ascontiguousarray(flat.values)

    # -- other models ----------------------------------------------------------------------------

    def with_data(self, data: Mapping[Any, Any] | None = None, **by_name: ArrayLike) -> LogDensity:
        """Replace data, without compiling again.

        Parameters
        ----------
        data : dict of DimTensor (or its name) to value, optional
        **by_name
            New values by name of the data.

        Returns
        -------
        LogDensity
            Its parameters may be of other lengths, where their dims get lengths with the data.

        Raises
        ------
        InputError
            If the model has no such data, or the values have not their dims.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x, y = dt.scalar("x"), dt.data(1.0, name="y")
        >>> density = dt.LogDensity({"y": -((x - y) ** 2)}, {x: dt.real}, backend="python")
        >>> density.with_data(y=3.0).logp(np.array([1.0]))
        -4.0
        """
        replaced = exchanged(self.functions.data_nodes, data, by_name, "model")
        return self._replaced(functions=self.functions.on_data(replaced))

    def with_deterministics(self, deterministics: Mapping[str, DimTensor]) -> LogDensity:
        """Record more expressions; compiled functions are shared.

        Parameters
        ----------
        deterministics : dict of str to DimTensor

        Returns
        -------
        LogDensity

        Examples
        --------
        >>> import dimtensor as dt
        >>> s = dt.scalar("s")
        >>> density = dt.LogDensity(-s, {s: dt.positive}, backend="python")
        >>> more = density.with_deterministics({"half": s / 2.0})
        >>> more.constrain([0.0])["half"].item()
        0.5
        """
        given = as_mapping(deterministics, "deterministics")
        added = {name: wrap(node_of(x)) for name, x in given.items()}
        return self._recording({**self.deterministics, **added})

    def _recording(self, deterministics: dict[str, DimTensor]) -> LogDensity:
        """Record other expressions."""
        nodes = [x.node for x in deterministics.values()]
        _check_names(self.parameters, deterministics)
        check_complete(self.expression.node, nodes, self._supports)
        functions = self.functions.recording(deterministics)
        return self._replaced(functions=functions, deterministics=deterministics)

    def minibatch(
        self,
        dim: Dim | str,
        *,
        size: int,
        seed: int | None = None,
        by: Any = None,
        replace: bool = False,
    ) -> Minibatches:
        """Estimate the log density and its gradient from random rows of the data.

        Parameters
        ----------
        dim : Dim or str
            The dim along which rows are drawn. The log density must be a sum over it, and what is
            counted once; see :func:`dimtensor.partition`.
        size : int
            Rows of a batch.
        seed : int, optional
        by : DimTensor, str or array, optional
            Strata: data along the dim, or their name, or a value for each row. Each batch has rows
            of each stratum in proportion to its size, at least one.
        replace : bool
            Whether rows are drawn independently of each other. By default each row is drawn once
            before all are shuffled again.

        Returns
        -------
        Minibatches
            Iterable of batches, and the estimate as a function of the flat vector and a batch.

        Raises
        ------
        PartitionError
            If rows are mixed; `line` is that of the expression that does.
        OptionError
            If the size is above the number of rows or below the number of strata, or the log
            density does not depend on the dim; if a stream is read chunk by chunk, and the size is
            above the rows of a chunk, or there are strata.
        GraphError
            If the log density is no sum over rows, or a stream is read by a Python function, which
            gives its chunks from the first one on.
        InputError
            If there are no such data, or not one value for each row.
        UnknownDimError
            If there is no dim of this name.
        ArgumentError
            If `by` has labels of its own.

        Notes
        -----
        Rows of streams are read batch by batch: of arrays in files from anywhere, of other stores
        from one random chunk; see :class:`Minibatches`.

        Parameters with a value for each row have priors that are estimated, too; the gradient is
        zero where they belong to other rows, and as long as all parameters.

        References
        ----------
        Robbins and Monro 1951, "A stochastic approximation method", The Annals of Mathematical
        Statistics 22.

        Examples
        --------
        >>> import itertools, dimtensor as dt
        >>> obs = dt.Dim("obs")
        >>> y, mu = dt.data(np.arange(10.0), dims=obs, name="y"), dt.scalar("mu")
        >>> density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
        >>> batches = density.minibatch(obs, size=2, seed=1)
        >>> x = np.zeros(1)
        >>> for batch in itertools.islice(batches, 500):  # gradient ascent
        ...     value, gradient = batches.logp_and_grad(x, batch)
        ...     x = x + 0.002 * gradient
        >>> bool(abs(x[0] - 4.5) < 0.5)
        True
        """
        return Minibatches(self, dim, BatchOptions(size, seed, by, replace))

    # -- other libraries ---------------------------------------------------------------------------

    def to_nutpie(self) -> Any:
        """Make a model for ``nutpie.sample``.

        With the native backend the sampler calls machine code, and its chains run in parallel; with
        other backends it calls Python.

        Returns
        -------
        object
            First argument of ``nutpie.sample``.

        Raises
        ------
        MissingExtraError
            If nutpie is not installed.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.scalar("x")
        >>> density = dt.LogDensity({"x": -(x**2)}, {x: dt.real}, backend="python")
        >>> density.to_nutpie().n_dim
        1
        """
        from dimtensor.interop.nutpie import to_nutpie

        return to_nutpie(self)

    def to_blackjax(self) -> Callable[[Any], Any]:
        """Return the log density as a pure JAX function of the flat vector.

        It may be jitted, differentiated and vmapped. It computes in 64 bits whatever the process's
        flag says, and returns a value of the dtype of the vector: for gradients in 64 bits call it
        inside of ``jax.enable_x64(True)``.

        Returns
        -------
        callable
            From an array of shape (size,) to a scalar.

        Raises
        ------
        MissingExtraError
            If JAX is not installed.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.scalar("x")
        >>> density = dt.LogDensity({"x": -(x**2)}, {x: dt.real}, backend="python")
        >>> float(density.to_blackjax()(np.array([3.0])))
        -9.0
        """
        from dimtensor.interop.blackjax import to_blackjax

        return to_blackjax(self)

    # -- looking ---------------------------------------------------------------------------------

    @property
    def stats(self) -> dict[str, dict[str, float]]:
        """Seconds that the steps of compiling took, by function."""
        return self.functions.stats

    def _described_sizes(self) -> str:
        return ", ".join(f"{p.name}: {p.size(self.functions.binding)}" for p in self.parameters)

    def __reduce__(self) -> tuple:
        supports = {p.tensor: p.support for p in self.parameters}
        logp = self.terms or self.expression
        arguments = (logp, supports, self.backend, self.jacobian, self.deterministics)
        functions = self.functions
        return (_restored, (*arguments, functions.replaced, functions.evaluation))


def advised(density: LogDensity, advise: Advise) -> LogDensity:
    """Give a log density a source of advice on the model, for draws that fail the diagnostics."""
    return density._replaced(advise=advise)


def evaluated(density: LogDensity, evaluation: Evaluation | None) -> LogDensity:
    """Return the log density with another way of computing its value and gradient."""
    return density._replaced(functions=density.functions.evaluated_by(evaluation))


def threaded(density: LogDensity, threads: int | None, what: str) -> LogDensity:
    """Return the log density in slices on threads; the same if there is no number of them."""
    if threads is None:
        return density
    return evaluated(density, threads_for(density.functions, threads, what))


def in_slices(density: LogDensity, threads: int | None, client: Any, what: str) -> LogDensity:
    """Return the log density in slices, on threads or on a cluster; the same if neither is given.

    Raises
    ------
    OptionError
        If both are given.
    """
    if client is None:
        return threaded(density, threads, what)
    if threads is not None:
        raise OptionError(
            f"{what}: threads={threads} are of this process, and client is of a cluster, whose "
            "workers have threads of their own",
            hint="leave threads out; workers get theirs when they start",
        )
    return evaluated(density, cluster_for(density.functions, client, what))


def _check_names(parameters: Sequence[Parameter], recorded: Mapping[str, DimTensor]) -> None:
    own = {p.name: p.tensor.dims for p in parameters}
    check_names(own, {name: x.dims for name, x in recorded.items()})


def _restored(
    logp: DimTensor | Mapping[str, DimTensor],
    supports: Mapping[Any, Any],
    backend: BackendName,
    jacobian: bool,
    deterministics: Mapping[str, DimTensor],
    replaced: Mapping[Node, Any],
    evaluation: Evaluation | None,
) -> LogDensity:
    with warnings.catch_warnings():  # who made the model has read it
        warnings.simplefilter("ignore", BroadcastWarning)
        model = LogDensity(
            logp, supports, backend, jacobian=jacobian, deterministics=deterministics
        )
    model = model.with_data(replaced) if replaced else model
    return model if evaluation is None else evaluated(model, evaluation)
