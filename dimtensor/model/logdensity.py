"""Log densities of named tensors as functions of a flat vector, for samplers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.backends import check_backend
from dimtensor.compile.function import node_of
from dimtensor.errors import BroadcastWarning, InputError, build_message
from dimtensor.graph import Node
from dimtensor.model.assembly import assemble
from dimtensor.model.functions import ModelFunctions
from dimtensor.model.parameters import check_complete, read_parameters
from dimtensor.model.parts.bridging import Bridging
from dimtensor.model.parts.labelling import Labelling
from dimtensor.model.records import as_numbers, check_names
from dimtensor.model.terms import check_sums, read_logp
from dimtensor.renderers import Rendered
from dimtensor.tensor.handle import wrap
from dimtensor.values.data import as_mapping
from dimtensor.values.exchange import exchanged

if TYPE_CHECKING:
    from dimtensor.backends import BackendName
    from dimtensor.dist.supports import Support
    from dimtensor.tensor.core import DimTensor

_FLOAT = np.dtype("float64")


class LogDensity(Rendered, Labelling, Bridging):
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
    backend : {"numba", "jax", "python"}
        What `logp` and `logp_and_grad` are compiled with, each when it is first called. What deals
        with labels (`constrain`, `unconstrain`) is interpreted, and compiles nothing.
    jacobian : bool
        Whether the log Jacobians of the transforms are added. Without them the maximum is that of
        the density of the parameters themselves.
    deterministics : dict of str to DimTensor, optional
        What else is recorded under a name with every draw: expressions of parameters and data.

    Attributes
    ----------
    parameters : tuple of Parameter
        Tensor, resolved support and free dims of each.
    expression : DimTensor
        The log density of the parameters, without Jacobians.
    terms : dict of str to DimTensor
        As they were given; empty for one expression.
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

    # Advice of the model, for draws that fail the diagnostics.
    _advice: Callable[[Any, Any], list[str]] | None = None

    def __init__(
        self,
        logp: DimTensor | Mapping[str, DimTensor],
        supports: Mapping[Any, Any],
        backend: BackendName = "numba",
        *,
        jacobian: bool = True,
        deterministics: Mapping[str, DimTensor] | None = None,
    ):
        self.backend = check_backend(backend)
        self.jacobian = jacobian
        self.expression, self.terms = read_logp(logp)
        check_names({}, {name: x.dims for name, x in self.terms.items()}, "term")
        given = as_mapping(deterministics, "deterministics")
        recorded = {name: wrap(node_of(x)) for name, x in given.items()}
        nodes = [x.node for x in recorded.values()]
        self.parameters = read_parameters(self.expression.node, nodes, supports)
        self._check_names(recorded)
        self.deterministics = recorded
        assembly = assemble(self.expression, self.parameters, jacobian)
        self._attach(ModelFunctions(assembly, self.parameters, recorded, self.backend))
        check_sums(self.expression.node, self.functions.binding)

    def _check_names(self, recorded: Mapping[str, DimTensor]) -> None:
        parameters = {p.name: p.tensor.dims for p in self.parameters}
        check_names(parameters, {name: x.dims for name, x in recorded.items()})

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
        """A vector to start from: zeros."""
        return np.zeros(self.size)

    def _attach(self, functions: ModelFunctions) -> None:
        self.functions = functions
        self._shape = (sum(p.size(functions.binding) for p in self.parameters),)
        for name in ("_value_and_gradient", "_value"):
            vars(self).pop(name, None)

    def _with(self, functions: ModelFunctions) -> LogDensity:
        other = object.__new__(type(self))  # copy.copy would make it anew, as pickle does
        other.__dict__.update(self.__dict__)
        other.__dict__.pop("names", None)
        other._attach(functions)
        return other

    # -- values and gradients --------------------------------------------------------------------

    def logp_and_grad(self, x: np.ndarray) -> tuple[float, np.ndarray]:
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
            If `x` has another shape.

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

    def logp(self, x: np.ndarray) -> float:
        """Log density; see :meth:`logp_and_grad`.

        Parameters
        ----------
        x : ndarray of shape (size,)

        Returns
        -------
        float

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
        """A vector as machine code takes it: float64, contiguous, aligned."""
        vector = as_numbers(x, ["C", "A"])
        if vector.shape != self._shape:
            raise InputError(
                build_message(
                    f"the vector has shape {vector.shape}, the model has {self.size} "
                    "unconstrained elements",
                    [("parameters", self._described_sizes())],
                )
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

    # -- other models ----------------------------------------------------------------------------

    def with_data(self, data: Mapping[Any, Any] | None = None, **by_name: Any) -> LogDensity:
        """The same model on other data, without compiling again.

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
        return self._with(self.functions.on_data(replaced))

    def with_deterministics(self, deterministics: Mapping[str, DimTensor]) -> LogDensity:
        """The same model with more expressions recorded; compiled functions are shared.

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
        """Return the same log density with other expressions recorded."""
        nodes = [x.node for x in deterministics.values()]
        self._check_names(deterministics)
        check_complete(self.expression.node, nodes, self._supports)
        other = self._with(self.functions.recording(deterministics))
        other.deterministics = deterministics
        return other

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
        return (_restored, (*arguments, self.functions.replaced))


def _restored(
    logp: DimTensor | Mapping[str, DimTensor],
    supports: Mapping[Any, Any],
    backend: BackendName,
    jacobian: bool,
    deterministics: Mapping[str, DimTensor],
    replaced: Mapping[Node, Any],
) -> LogDensity:
    with warnings.catch_warnings():  # who made the model has read it
        warnings.simplefilter("ignore", BroadcastWarning)
        model = LogDensity(
            logp, supports, backend, jacobian=jacobian, deterministics=deterministics
        )
    return model.with_data(replaced) if replaced else model
