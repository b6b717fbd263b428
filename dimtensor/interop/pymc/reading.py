"""Import of PyMC models: `from_pymc`."""

from __future__ import annotations

import re
import warnings
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
from pytensor.compile.ops import ViewOp
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.configdefaults import config
from pytensor.graph.basic import Constant, equal_computations
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors, explicit_graph_inputs, io_toposort
from pytensor.tensor.elemwise import CAReduce, DimShuffle
from pytensor.tensor.type_other import NoneConst

from dimtensor.dims import Dim, Dims
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.modifiers.weights import weighted
from dimtensor.dist.supports import Integers, Support, real
from dimtensor.errors import GraphError, ModelWarning, OptionError, warn
from dimtensor.extras import require
from dimtensor.graph import toposort
from dimtensor.graph.dtypes import is_float
from dimtensor.interop.pymc.coords import dims_of
from dimtensor.interop.pymc.counterparts import NoCounterpartError
from dimtensor.interop.pymc.distributions import DistributionReader
from dimtensor.interop.pymc.drawing import drawn
from dimtensor.interop.pymc.expressions import ExpressionReader, is_scaled, read_by, unwrapped
from dimtensor.interop.pymc.lifted import (
    LiftedDensity,
    LiftedSupport,
    PotentialTerm,
    WithSupport,
    lifted_function,
    of_known_lengths,
)
from dimtensor.interop.pymc.placeholders import lower_named_axes
from dimtensor.interop.pymc.values import event_axes, labeled_array, shapes_of, value_of
from dimtensor.model.checks import ranges_left
from dimtensor.model.model import Model, model_of
from dimtensor.model.spec import new_spec
from dimtensor.model.variables import named, rv
from dimtensor.tensor.constructors import length
from dimtensor.tensor.inputs import data

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.backends import BackendName
    from dimtensor.tensor.core import DimTensor


def from_pymc(model: Any, *, backend: BackendName = "native") -> Model:
    """Convert a PyMC model to a dimtensor model with the same names, dims, labels and log density.

    Variables get the corresponding distributions of :mod:`dimtensor.dist`. Parameters become
    expressions over dims; axes without dims get those of the variables they are aligned with. A
    variable whose distribution has no counterpart keeps PyMC's log density, which is compiled like
    everything else, and PyMC's draws, one at a time.

    Parameters
    ----------
    model : pymc.Model
        With variables of ``pymc`` or ``pymc.dims``.
    backend : {"native", "jax", "python"}

    Returns
    -------
    Model
        With the observations of the PyMC model, and ``pm.Data`` as data. Axes without dims get
        dims named as in PyMC's results, ``x_dim_0`` and so on. A potential is a variable that is
        observed to be 0. Minibatches are replaced by the full data.

    Raises
    ------
    ArgumentError
        If `model` is not a PyMC model.
    OptionError
        If it has no variables.
    GraphError
        If a variable has no log density, or depends on unnamed random numbers. The message names
        the variable and its distribution.

    Warns
    -----
    ModelWarning
        If a variable is aligned by position with a dim that has other labels, or if the prior of a
        parameter may leave its range: the log density is NaN there.

    Notes
    -----
    Discrete variables have to be summed out before sampling: ``from_pymc(model).marginalize("z")``.

    Examples
    --------
    >>> import dimtensor as dt
    >>> import pymc as pm  # doctest: +SKIP
    >>> with pm.Model(coords={"county": ["Aitkin", "Anoka"]}) as model:  # doctest: +SKIP
    ...     mu = pm.Normal("mu", 0, 10)
    ...     pm.Normal("y", mu, 1, observed=[1.0, 2.0], dims="county")
    >>> dt.from_pymc(model).log_density().names  # doctest: +SKIP
    ['mu']
    """
    require("pymc", "pymc", "from_pymc")
    return _ModelReader(model).model(backend)


class _ModelReader:
    """Reader of a PyMC model."""

    def __init__(self, model: Any):
        self.theirs = model
        self.dims = dims_of(model)
        self.reader = ExpressionReader()
        self.laws = DistributionReader(self.reader)
        self.outputs: list[DimTensor] = []
        self.observed: dict[DimTensor, xr.DataArray] = {}
        self.incomplete: dict[str, tuple[DimTensor, xr.DataArray]] = {}
        known = [*model.basic_RVs, *model.deterministics, *model.potentials]
        if not known:
            raise OptionError("from_pymc: the model has no variables")
        # a copy with named axes lowered
        graph = FunctionGraph(
            outputs=_without_minibatches(known), clone=True, copy_inputs=False, copy_orphans=False
        )
        self.variables = dict(zip(known, lower_named_axes(graph.outputs), strict=True))
        self.used = set(ancestors(list(self.variables.values())))
        self._lengths = self._lengths_of_axes()

    def model(self, backend: BackendName) -> Model:
        """Return the model, with its observations."""
        self._add_data()
        for theirs in self._in_order():
            self._add(theirs)
        read = {x for node in toposort([x.node for x in self.outputs]) for x in node.inputs}
        outputs = [x for x in self.outputs if x.node not in read]
        found = model_of(new_spec(outputs, backend=backend, ranges=False))
        consequence = "from_pymc: the log density is NaN where a parameter leaves its range"
        for message in ranges_left(found.variables):
            warn(f"{consequence}: {message}", ModelWarning)
        with warnings.catch_warnings():
            # nothing observed depends on missing values
            warnings.filterwarnings("ignore", "nothing that is observed depends", ModelWarning)
            found = found.observe(self.observed) if self.observed else found
            for x, values in self.incomplete.values():
                # discrete ones are dropped: they have no gradient
                whole = not is_float(x.node.dtype)
                found = found.observe({x: values}, missing="drop" if whole else "infer")
        return found

    def _in_order(self) -> list[Any]:
        """Return the variables of the model in topological order."""
        outputs = list(self.variables.values())
        inputs = list(explicit_graph_inputs(outputs))
        place = {
            v: at
            for at, v in enumerate(v for node in io_toposort(inputs, outputs) for v in node.outputs)
        }
        return sorted(
            self.variables, key=lambda v: place.get(_root_variable(self.variables[v]), -1)
        )

    # -- dims --------------------------------------------------------------------------------------

    def _lengths_of_axes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of variables, evaluated if they are not static.

        No random number is drawn.
        """
        found, unknown = {}, {}
        named = {v.name: v for v in self.theirs.data_vars}
        for theirs, variable in [*self.variables.items(), *((v, v) for v in named.values())]:
            shape = variable.type.shape
            if None in shape:
                unknown[theirs.name] = unwrapped(variable)
            else:
                found[theirs.name] = tuple(shape)
        if unknown:
            found |= shapes_of(unknown)
        return found

    def axes_of(self, name: str) -> Dims:
        """Return the dims of a variable's axes, in order."""
        given = self.theirs.named_vars_to_dims.get(name) or ()
        lengths = self._lengths[name]
        names = [*given, *[None] * (len(lengths) - len(given))]
        found: list[Dim] = []
        for at, (key, n) in enumerate(zip(names, lengths, strict=True)):
            dim = Dim(f"{name}_dim_{at}", length=n) if key is None else self.dims[key]
            found.append(dim if dim not in found else dim.rename())
        return tuple(found)

    def _axes_of_term(self, name: str, variable: Any) -> Dims:
        """Return the dims of a potential's axes, inferred from its expression if it has none."""
        if self.theirs.named_vars_to_dims.get(name):
            return self.axes_of(name)
        found: list[Dim] = []
        for dim, other in zip(self.reader.axes_of(variable), self.axes_of(name), strict=True):
            found.append(other if dim is None or dim in found else dim)
        return tuple(found)

    # -- variables ---------------------------------------------------------------------------------

    def _add_data(self) -> None:
        """Read the data of the model, and fix the lengths of dims that no used data has."""
        used = [v for v in self.theirs.data_vars if v in self.used]
        read = read_by(self.variables.values())
        free = {
            key
            for v in used
            for key in (self.theirs.named_vars_to_dims.get(v.name) or () if v in read else ())
        }
        for key, dim in self.dims.items():
            if dim.length is None and key not in free:
                self.dims[key] = Dim(key, length=int(value_of(self.theirs.dim_lengths[key])))
        for key, known in self.theirs.dim_lengths.items():
            if isinstance(known, SharedVariable):
                self.reader.add(known, length(self.dims[key]), ())
        for variable in used:
            axes = self.axes_of(variable.name)
            values = np.asarray(value_of(variable))
            self.reader.add(variable, data(values, dims=axes, name=variable.name), axes)

    def _add(self, theirs: Any) -> None:
        name, variable = theirs.name, self.variables[theirs]
        if name in self.incomplete:  # the deterministic that joins both parts
            found = self.incomplete[name][0]
            self.reader.add(variable, found, self.axes_of(name))
        elif _is_partially_observed(variable):
            found = self._add_incomplete(theirs)
        elif theirs in self.theirs.deterministics:
            axes = self.axes_of(name)
            found = named(name, self._read_new(variable, axes).expand(axes))
            self.reader.add(variable, found, axes)
        elif theirs in self.theirs.potentials:
            axes = self._axes_of_term(name, variable)
            # expanded, since its elements are added up
            found = rv(name, PotentialTerm(self._read_new(variable, axes).expand(axes)))
            self.observed[found] = labeled_array(np.zeros([1] * len(found.dims)), found.dims)
        else:
            axes = self.axes_of(name)
            found = rv(name, self._law(theirs, axes), dims=axes)
            value = found.codes if found.node.categories is not None else found
            self._add_drawn(variable, value, axes)
            if theirs in self.theirs.observed_RVs:
                (seen,) = _without_minibatches([self.theirs.rvs_to_values[theirs]])
                values = np.asarray(value_of(seen))
                self.observed[found] = labeled_array(values, axes)
        if all(found is not x for x in self.outputs):
            self.outputs.append(found)

    def _add_incomplete(self, theirs: Any) -> DimTensor:
        """Read a partially observed variable, which PyMC splits into two."""
        name = re.sub("_(un)?observed$", "", theirs.name)
        if name in self.incomplete:
            return self.incomplete[name][0]
        whole, mask = self.variables[theirs].owner.inputs
        parts = [self.theirs[f"{name}_{part}"] for part in ("observed", "unobserved")]
        transform = self.theirs.rvs_to_transforms.get(parts[1])
        if transform is not None and not self._is_default_transform(parts[1], transform):
            why = "its missing values have a transform of their own"
            raise self._refused(name, _kind_of(whole), why, "leave transform out")
        axes = self.axes_of(name)
        found = rv(name, self._law_of_whole(name, whole, axes), dims=axes)
        self._add_drawn(whole, found.codes if found.node.categories is not None else found, axes)
        absent = np.asarray(value_of(mask))
        values = np.full(absent.shape, np.nan)
        values[~absent] = value_of(self.theirs.rvs_to_values[parts[0]])
        self.incomplete[name] = (found, labeled_array(values, axes))
        return found

    def _read_new(self, variable: Any, axes: Dims) -> DimTensor:
        """Read the expression of a deterministic or potential."""
        alone = getattr(variable.type, "broadcastable", (False,) * len(axes))
        own = tuple(
            None if one and dim.length != 1 else dim for dim, one in zip(axes, alone, strict=True)
        )
        return self.reader.read(variable, own)

    def _add_drawn(self, variable: Any, tensor: DimTensor, axes: Dims) -> None:
        """Record a random variable, and the variables that it renames or transposes."""
        self.reader.add(variable, tensor, axes)
        inner = unwrapped(variable)
        self.reader.add(inner, tensor, axes)
        while inner.owner is not None and isinstance(inner.owner.op, DimShuffle):
            order = inner.owner.op.new_order
            if "x" in order or len(order) != inner.owner.inputs[0].type.ndim:
                break
            axes = tuple(axes[order.index(at)] for at in range(len(order)))
            inner = unwrapped(inner.owner.inputs[0])
            self.reader.add(inner, tensor, axes)

    # -- distributions -----------------------------------------------------------------------------

    def _law(self, theirs: Any, axes: Dims) -> Distribution:
        found = self._unscaled(theirs, axes)
        weight: Any = 1.0
        for total, dim in zip(_minibatch_totals(self.variables[theirs]), axes, strict=False):
            if NoneConst.equals(total):
                continue
            whole: Any = self.reader.read(total, ())
            if isinstance(total, Constant):
                whole = float(total.data)
            weight = weight * (whole / (length(dim) if dim.length is None else dim.length))
        return found if isinstance(weight, float) and weight == 1.0 else weighted(found, weight)

    def _unscaled(self, theirs: Any, axes: Dims) -> Distribution:
        """Return the distribution of a variable without minibatch scaling."""
        name, variable = theirs.name, self.variables[theirs]
        transform = self.theirs.rvs_to_transforms.get(theirs)
        kind = self.theirs.rvs_to_values[theirs].type
        try:
            found = self.laws.of(variable, axes, name)
        except NoCounterpartError:
            return self._density(name, variable, axes, transform, kind)
        if transform is None or self._is_default_transform(theirs, transform):
            return found
        return WithSupport(found, self._support(name, variable, axes, transform, kind))

    def _law_of_whole(self, name: str, variable: Any, axes: Dims) -> Distribution:
        """Return the distribution of a partially observed variable."""
        from pymc.distributions.transforms import _default_transform

        try:
            return self.laws.of(variable, axes, name)
        except NoCounterpartError:
            inner = unwrapped(variable)
            usual = _default_transform(inner.owner.op, inner)
            return self._density(name, variable, axes, usual, inner.type)

    def _is_default_transform(self, theirs: Any, transform: Any) -> bool:
        """Return whether a transform is PyMC's default for the distribution."""
        from pymc.distributions.transforms import _default_transform

        if type(transform).__module__.startswith("pymc.dims"):
            return True  # they have default transforms only
        inner = unwrapped(self.variables[theirs])
        usual = _default_transform(inner.owner.op, inner)
        if type(usual) is not type(transform):
            return False
        # intervals may have different bounds
        value, inputs = self.theirs.rvs_to_values[theirs].type(), inner.owner.inputs
        made = [each.backward(value, *inputs) for each in (usual, transform)]
        return equal_computations(made[:1], made[1:])

    def _density(
        self, name: str, variable: Any, axes: Dims, transform: Any, value_type: Any
    ) -> LiftedDensity:
        import pymc

        kind = _kind_of(variable)
        support: Support = real if is_float(variable.type.dtype) else Integers()
        if transform is not None:
            support = self._support(name, variable, axes, transform, value_type)
        inner = self._alone(variable)
        value = of_known_lengths(inner.type, axes)
        try:
            with _full_precision():
                found = _with_infinities(_alone_of(pymc.logp(inner, value, warn_rvs=False), inner))
            apart = event_axes(inner)
            batch = inner.type.ndim - len(apart)
            # some log densities keep event axes, of length 1
            logp = found if found.type.ndim <= batch else found.sum(range(batch, found.type.ndim))
            lifted = lifted_function(self.reader, value, [logp], f"logp_{name}")
        except (NotImplementedError, RuntimeError, ValueError, GraphError) as error:
            why = f"PyMC has no log density of it ({str(error).splitlines()[0]})"
            hint = "give it one: pm.CustomDist(..., logp=...)"
            if summed_out := getattr(inner.owner.op, "marginalized_name", None):
                call = f"dt.from_pymc(model).marginalize({summed_out!r})"
                hint = f"read the model before pymc-extras marginalizes it: {call}"
            raise self._refused(name, kind, why, hint) from error
        function, tensors, cores = lifted
        given = {t.name or f"parameter_{at}": t for at, t in enumerate(tensors)}
        out = tuple(dim for at, dim in enumerate(axes) if at not in apart)[: logp.type.ndim]
        each = drawn(self.reader, inner)
        return LiftedDensity(kind, function, given, cores, axes, out, support, each)

    def _alone(self, variable: Any) -> Any:
        """Replace known ancestors by placeholders, since PyMC changes the graphs of random ones."""
        inner = unwrapped(variable)
        above = set(ancestors([inner], blockers=list(self.reader.known)))
        stand_ins = {v: v.type() for v in self.reader.known if v in above and v.owner is not None}
        for v, stand_in in stand_ins.items():
            self.reader.add(stand_in, *self.reader.known[v])
        (alone,) = clone_replace([inner], stand_ins)
        return alone

    def _support(
        self, name: str, variable: Any, axes: Dims, transform: Any, kind: Any
    ) -> LiftedSupport:
        """Lift a PyMC transform to a support."""
        variable = unwrapped(variable)
        inputs = variable.owner.inputs
        x, y = kind(), variable.type()
        with _full_precision():
            backward = [transform.backward(x, *inputs), transform.log_jac_det(x, *inputs).sum()]
            forward = [transform.forward(y, *inputs)]
        back, back_given, back_cores = lifted_function(self.reader, x, backward, f"from_{name}")
        there, there_given, there_cores = lifted_function(self.reader, y, forward, f"to_{name}")
        shape = kind.shape
        if None in shape:
            shape = shapes_of({name: transform.forward(variable, *inputs)})[name]
        free = []
        for at, n in enumerate(shape):
            same = at < len(axes) and axes[at].length == n
            free.append(axes[at] if same else Dim(f"{name}_free_{at}", length=int(n)))
        return LiftedSupport(
            transform.name or type(transform).__name__,
            there,
            back,
            (there_given, back_given),
            (there_cores, back_cores),
            axes,
            tuple(free),
        )

    def _refused(self, name: str, kind: str, why: str, hint: str) -> GraphError:
        return GraphError(
            f"from_pymc: the variable {name!r} has no counterpart: {why}",
            [("distribution", kind)],
            hint,
        )


def _without_minibatches(outputs: list[Any]) -> list[Any]:
    """Replace minibatches by the full data."""
    from pymc.data import MinibatchOp

    found = {v for v in ancestors(outputs) if v.owner is not None}
    chosen = {
        v: v.owner.inputs[v.owner.outputs.index(v)]
        for v in found
        if isinstance(v.owner.op, MinibatchOp)
    }
    return clone_replace(outputs, chosen, rebuild_strict=False) if chosen else outputs


def _minibatch_totals(variable: Any) -> list[Any]:
    """Return the total size along each axis of a minibatch variable."""
    node = variable.owner
    return list(node.inputs[1:]) if is_scaled(node.op) else []


def _is_partially_observed(variable: Any) -> bool:
    """Return whether a variable is a part of a partially observed one."""
    from pymc.distributions.distribution import PartialObservedRV

    return variable.owner is not None and isinstance(variable.owner.op, PartialObservedRV)


def _root_variable(variable: Any) -> Any:
    """Strip named axes and transpositions off a variable."""
    if variable.owner is not None and isinstance(variable.owner.op, ViewOp):
        return variable  # a deterministic
    variable = unwrapped(variable)
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = unwrapped(variable.owner.inputs[0])
    return variable


def _kind_of(variable: Any) -> str:
    """Return the name of the distribution of a variable."""
    return type(_root_variable(variable).owner.op).__name__.removesuffix("RV").strip("_")


def _full_precision() -> AbstractContextManager[Any]:
    """Make constants as wide as variables; PyTensor would compute log(2) in 16 bits."""
    return config.change_flags(cast_policy="numpy+floatX")


def _alone_of(logp: Any, variable: Any) -> Any:
    """Unpack the log density of a variable whose op has several outputs."""
    if not isinstance(logp, (tuple, list)):
        return logp
    if getattr(variable.owner.op, "n_dependent_rvs", len(logp)) > 1:
        raise ValueError("it has one together with other variables")
    return logp[0]


def _with_infinities(logp: Any) -> Any:
    """Return -inf instead of raising an error where parameters are out of range."""
    from pymc.logprob.utils import local_check_parameter_to_ninf_switch
    from pytensor.graph.rewriting.basic import in2out

    graph = FunctionGraph(outputs=[logp], clone=False)
    in2out(local_check_parameter_to_ninf_switch).rewrite(graph)
    for node in graph.toposort():  # sums of scalars, as in the density of CAR
        if isinstance(node.op, CAReduce) and not node.inputs[0].type.ndim:
            graph.replace(node.outputs[0], node.inputs[0].astype(node.outputs[0].type.dtype))
    return graph.outputs[0]
