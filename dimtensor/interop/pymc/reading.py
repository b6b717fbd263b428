"""Models of PyMC as models of dimtensor."""

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
from dimtensor.errors import GraphError, ModelWarning, OptionError, build_message, warn
from dimtensor.extras import require
from dimtensor.graph import toposort
from dimtensor.graph.dtypes import is_float
from dimtensor.interop.pymc.coords import dims_of
from dimtensor.interop.pymc.distributions import Laws, UnknownLawError
from dimtensor.interop.pymc.drawing import drawn
from dimtensor.interop.pymc.expressions import ExpressionReader, is_scaled, passed, read_by
from dimtensor.interop.pymc.lifted import (
    LiftedDensity,
    LiftedSupport,
    OtherSupport,
    PotentialTerm,
    lifted_function,
)
from dimtensor.interop.pymc.stand_ins import lowered
from dimtensor.interop.pymc.values import event_axes, labelled_array, shapes_of, value_of
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


def from_pymc(model: Any, *, backend: BackendName = "numba") -> Model:
    """A model of PyMC as one of dimtensor, with the same names, dims, labels and log density.

    Variables get the distributions of :mod:`dimtensor.dist` that theirs are, and parameters are
    translated into expressions over dims, where what PyMC computes position by position gets dims
    from the variables that it meets. A variable whose distribution is not there has PyMC's own log
    density, which is compiled as all else is, and draws of PyMC's own, one after the other.

    Parameters
    ----------
    model : pymc.Model
        Its variables may be those of ``pymc`` and of ``pymc.dims``.
    backend : {"numba", "jax", "python"}

    Returns
    -------
    Model
        Observed as the model is, with ``pm.Data`` as data. Axes without dims get those that PyMC
        names in its results, ``x_dim_0`` and so on. A potential is a variable that is observed to
        be 0. Minibatches are read as the whole that they are chosen from.

    Raises
    ------
    ArgumentError
        If it is no model.
    OptionError
        If it has no variables.
    GraphError
        If a variable has no log density, or is computed from random numbers without a name. The
        message names it and its distribution.

    Warns
    -----
    ModelWarning
        Of variables with labels that are used along a dim with other labels, position by position,
        and of parameters whose priors may leave their range: the log density is NaN there.

    Notes
    -----
    What depends on the value of discrete variables has to be summed out before sampling:
    ``from_pymc(model).marginalize("z")``.

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
    return _Reading(model).model(backend)


class _Reading:
    """A model of PyMC while it is read."""

    def __init__(self, model: Any):
        self.theirs = model
        self.dims = dims_of(model)
        self.reader = ExpressionReader()
        self.laws = Laws(self.reader)
        self.outputs: list[DimTensor] = []
        self.observed: dict[DimTensor, xr.DataArray] = {}
        self.incomplete: dict[str, tuple[DimTensor, xr.DataArray]] = {}
        known = [*model.basic_RVs, *model.deterministics, *model.potentials]
        if not known:
            raise OptionError("from_pymc: the model has no variables")
        # a copy, whose named axes are lowered, with their variables in order
        graph = FunctionGraph(
            outputs=_of_whole_data(known), clone=True, copy_inputs=False, copy_orphans=False
        )
        self.variables = dict(zip(known, lowered(graph.outputs), strict=True))
        self.used = set(ancestors(list(self.variables.values())))
        self._lengths = self._lengths_of_axes()

    def model(self, backend: BackendName) -> Model:
        """The model, with its observations."""
        self._add_data()
        for theirs in self._in_order():
            self._add(theirs)
        read = {x for node in toposort([x.node for x in self.outputs]) for x in node.inputs}
        outputs = [x for x in self.outputs if x.node not in read]
        found = model_of(new_spec(outputs, backend=backend, ranges=False))
        for message in ranges_left(found.variables):
            warn(
                "from_pymc: the log density is NaN where a parameter is out of its range: "
                f"{message}",
                ModelWarning,
            )
        with warnings.catch_warnings():
            # values that are missing are variables that nothing observed depends on
            warnings.filterwarnings("ignore", "nothing that is observed depends", ModelWarning)
            found = found.observe(self.observed) if self.observed else found
            for x, values in self.incomplete.values():
                # discrete ones are summed out: they have no gradient
                whole = not is_float(x.node.dtype)
                found = found.observe({x: values}, missing="drop" if whole else "infer")
        return found

    def _in_order(self) -> list[Any]:
        """The variables of the model, each after those that it depends on."""
        outputs = list(self.variables.values())
        inputs = list(explicit_graph_inputs(outputs))
        place = {
            v: at
            for at, v in enumerate(v for node in io_toposort(inputs, outputs) for v in node.outputs)
        }
        return sorted(self.variables, key=lambda v: place.get(_drawn(self.variables[v]), -1))

    # -- dims --------------------------------------------------------------------------------------

    def _lengths_of_axes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of variables, computed where they do not follow from types.

        No random number is drawn for it.
        """
        found, unknown = {}, {}
        named = {v.name: v for v in self.theirs.data_vars}
        for theirs, variable in [*self.variables.items(), *((v, v) for v in named.values())]:
            shape = variable.type.shape
            if None in shape:
                unknown[theirs.name] = passed(variable)
            else:
                found[theirs.name] = tuple(shape)
        if unknown:
            found |= shapes_of(unknown)
        return found

    def axes_of(self, name: str) -> Dims:
        """The dims of a variable's axes, in order."""
        given = self.theirs.named_vars_to_dims.get(name) or ()
        lengths = self._lengths[name]
        names = [*given, *[None] * (len(lengths) - len(given))]
        found: list[Dim] = []
        for at, (key, n) in enumerate(zip(names, lengths, strict=True)):
            dim = Dim(f"{name}_dim_{at}", length=n) if key is None else self.dims[key]
            found.append(dim if dim not in found else dim.rename())
        return tuple(found)

    def _axes_of_term(self, name: str, variable: Any) -> Dims:
        """Dims of the axes of a potential: where it has none, those that it is computed along."""
        if self.theirs.named_vars_to_dims.get(name):
            return self.axes_of(name)
        found: list[Dim] = []
        for dim, other in zip(self.reader.axes_of(variable), self.axes_of(name), strict=True):
            found.append(other if dim is None or dim in found else dim)
        return tuple(found)

    # -- variables ---------------------------------------------------------------------------------

    def _add_data(self) -> None:
        """Data of the model; the lengths of dims that no data has whose values count are fixed."""
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
        if name in self.incomplete:  # the deterministic that puts both parts together
            found = self.incomplete[name][0]
            self.reader.add(variable, found, self.axes_of(name))
        elif _is_part(variable):
            found = self._add_incomplete(theirs)
        elif theirs in self.theirs.deterministics:
            axes = self.axes_of(name)
            found = named(name, self._read_new(variable, axes).expand(axes))
            self.reader.add(variable, found, axes)
        elif theirs in self.theirs.potentials:
            axes = self._axes_of_term(name, variable)
            # an element of each position, also where all are equal: they are added up
            found = rv(name, PotentialTerm(self._read_new(variable, axes).expand(axes)))
            self.observed[found] = labelled_array(np.zeros([1] * len(found.dims)), found.dims)
        else:
            axes = self.axes_of(name)
            found = rv(name, self._law(theirs, axes), dims=axes)
            value = found.codes if found.node.categories is not None else found
            self._add_drawn(variable, value, axes)
            if theirs in self.theirs.observed_RVs:
                (seen,) = _of_whole_data([self.theirs.rvs_to_values[theirs]])
                values = np.asarray(value_of(seen))
                self.observed[found] = labelled_array(values, axes)
        if all(found is not x for x in self.outputs):
            self.outputs.append(found)

    def _add_incomplete(self, theirs: Any) -> DimTensor:
        """A variable of which PyMC has the observed part and the missing one as two."""
        name = re.sub("_(un)?observed$", "", theirs.name)
        if name in self.incomplete:
            return self.incomplete[name][0]
        whole, mask = self.variables[theirs].owner.inputs
        parts = [self.theirs[f"{name}_{part}"] for part in ("observed", "unobserved")]
        transform = self.theirs.rvs_to_transforms.get(parts[1])
        if transform is not None and not self._is_usual(parts[1], transform):
            why = "its missing values have a transform of their own"
            raise self._refused(name, _kind_of(whole), why, "leave transform out")
        axes = self.axes_of(name)
        found = rv(name, self._law_of_whole(name, whole, axes), dims=axes)
        self._add_drawn(whole, found.codes if found.node.categories is not None else found, axes)
        absent = np.asarray(value_of(mask))
        values = np.full(absent.shape, np.nan)
        values[~absent] = value_of(self.theirs.rvs_to_values[parts[0]])
        self.incomplete[name] = (found, labelled_array(values, axes))
        return found

    def _read_new(self, variable: Any, axes: Dims) -> DimTensor:
        """A variable of the model by what it is computed from."""
        alone = getattr(variable.type, "broadcastable", (False,) * len(axes))
        own = tuple(
            None if one and dim.length != 1 else dim for dim, one in zip(axes, alone, strict=True)
        )
        return self.reader.read(variable, own)

    def _add_drawn(self, variable: Any, tensor: DimTensor, axes: Dims) -> None:
        """A random variable, also beneath names and another order of its axes."""
        self.reader.add(variable, tensor, axes)
        inner = passed(variable)
        self.reader.add(inner, tensor, axes)
        while inner.owner is not None and isinstance(inner.owner.op, DimShuffle):
            order = inner.owner.op.new_order
            if "x" in order or len(order) != inner.owner.inputs[0].type.ndim:
                break
            axes = tuple(axes[order.index(at)] for at in range(len(order)))
            inner = passed(inner.owner.inputs[0])
            self.reader.add(inner, tensor, axes)

    # -- distributions -----------------------------------------------------------------------------

    def _law(self, theirs: Any, axes: Dims) -> Distribution:
        found = self._unscaled(theirs, axes)
        weight: Any = 1.0
        for total, dim in zip(_totals(self.variables[theirs]), axes, strict=False):
            if NoneConst.equals(total):
                continue
            whole: Any = self.reader.read(total, ())
            if isinstance(total, Constant):
                whole = float(total.data)
            weight = weight * (whole / (length(dim) if dim.length is None else dim.length))
        return found if isinstance(weight, float) and weight == 1.0 else weighted(found, weight)

    def _unscaled(self, theirs: Any, axes: Dims) -> Distribution:
        """The distribution of a variable of which none counts more than once."""
        name, variable = theirs.name, self.variables[theirs]
        transform = self.theirs.rvs_to_transforms.get(theirs)
        kind = self.theirs.rvs_to_values[theirs].type
        try:
            found = self.laws.of(variable, axes, name)
        except UnknownLawError:
            return self._density(name, variable, axes, transform, kind)
        if transform is None or self._is_usual(theirs, transform):
            return found
        return OtherSupport(found, self._support(name, variable, axes, transform, kind))

    def _law_of_whole(self, name: str, variable: Any, axes: Dims) -> Distribution:
        """The distribution of a variable of which a part is missing."""
        from pymc.distributions.transforms import _default_transform

        try:
            return self.laws.of(variable, axes, name)
        except UnknownLawError:
            inner = passed(variable)
            usual = _default_transform(inner.owner.op, inner)
            return self._density(name, variable, axes, usual, inner.type)

    def _is_usual(self, theirs: Any, transform: Any) -> bool:
        """Whether a transform is the one that PyMC takes by itself."""
        from pymc.distributions.transforms import _default_transform

        if type(transform).__module__.startswith("pymc.dims"):
            return True  # whose distributions have no other ones
        inner = passed(self.variables[theirs])
        usual = _default_transform(inner.owner.op, inner)
        if type(usual) is not type(transform):
            return False
        # intervals have bounds of their own
        value, inputs = self.theirs.rvs_to_values[theirs].type(), inner.owner.inputs
        made = [each.backward(value, *inputs) for each in (usual, transform)]
        return equal_computations(made[:1], made[1:])

    def _density(
        self, name: str, variable: Any, axes: Dims, transform: Any, value_type: Any
    ) -> LiftedDensity:
        import pymc

        kind, support = _kind_of(variable), _plain_support(variable)
        if transform is not None:
            support = self._support(name, variable, axes, transform, value_type)
        inner = self._alone(variable)
        value = inner.type()
        try:
            with _precise():
                found = _with_infinities(_alone_of(pymc.logp(inner, value, warn_rvs=False), inner))
            apart = event_axes(inner)
            batch = inner.type.ndim - len(apart)
            # some have an axis of length 1 in place of none
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
        """A random variable of which PyMC sees no others, whose graphs it would change."""
        inner = passed(variable)
        above = set(ancestors([inner], blockers=list(self.reader.known)))
        stand_ins = {v: v.type() for v in self.reader.known if v in above and v.owner is not None}
        for v, stand_in in stand_ins.items():
            self.reader.add(stand_in, *self.reader.known[v])
        (alone,) = clone_replace([inner], stand_ins)
        return alone

    def _support(
        self, name: str, variable: Any, axes: Dims, transform: Any, kind: Any
    ) -> LiftedSupport:
        """Where a transform leads, as PyMC computes it, from values of a type."""
        variable = passed(variable)
        inputs = variable.owner.inputs
        x, y = kind(), variable.type()
        with _precise():
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
            build_message(
                f"from_pymc: the variable {name!r} has no counterpart: {why}",
                [("distribution", kind)],
                hint,
            )
        )


def _of_whole_data(outputs: list[Any]) -> list[Any]:
    """Graphs with the data that minibatches are chosen from in place of them."""
    from pymc.data import MinibatchOp

    found = {v for v in ancestors(outputs) if v.owner is not None}
    chosen = {
        v: v.owner.inputs[v.owner.outputs.index(v)]
        for v in found
        if isinstance(v.owner.op, MinibatchOp)
    }
    return clone_replace(outputs, chosen, rebuild_strict=False) if chosen else outputs


def _totals(variable: Any) -> list[Any]:
    """How many elements there are along each axis, of which a variable has a sample."""
    node = variable.owner
    return list(node.inputs[1:]) if is_scaled(node.op) else []


def _is_part(variable: Any) -> bool:
    """Whether it is the observed or the missing part of a variable."""
    from pymc.distributions.distribution import PartialObservedRV

    return variable.owner is not None and isinstance(variable.owner.op, PartialObservedRV)


def _plain_support(variable: Any) -> Support:
    return real if variable.type.dtype.startswith("float") else Integers()


def _drawn(variable: Any) -> Any:
    """A variable without names and another order of its axes."""
    if variable.owner is not None and isinstance(variable.owner.op, ViewOp):
        return variable  # an expression with a name
    variable = passed(variable)
    while variable.owner is not None and isinstance(variable.owner.op, DimShuffle):
        variable = passed(variable.owner.inputs[0])
    return variable


def _kind_of(variable: Any) -> str:
    """What the distribution of a variable is called."""
    return type(_drawn(variable).owner.op).__name__.removesuffix("RV").strip("_")


def _precise() -> AbstractContextManager[Any]:
    """Numbers in as many bits as parameters have: by itself PyTensor takes log(2) in 16 bits."""
    return config.change_flags(cast_policy="numpy+floatX")


def _alone_of(logp: Any, variable: Any) -> Any:
    """The log density of a variable, which an operation of several gives in a tuple."""
    if not isinstance(logp, (tuple, list)):
        return logp
    if getattr(variable.owner.op, "n_dependent_rvs", len(logp)) > 1:
        raise ValueError("it has one together with other variables")
    return logp[0]


def _with_infinities(logp: Any) -> Any:
    """A log density that is -inf, not an error, where parameters are out of their ranges."""
    from pymc.logprob.utils import local_check_parameter_to_ninf_switch
    from pytensor.graph.rewriting.basic import in2out

    graph = FunctionGraph(outputs=[logp], clone=False)
    in2out(local_check_parameter_to_ninf_switch).rewrite(graph)
    for node in graph.toposort():  # sums of numbers along an axis, as in that of CAR
        if isinstance(node.op, CAReduce) and not node.inputs[0].type.ndim:
            graph.replace(node.outputs[0], node.inputs[0].astype(node.outputs[0].type.dtype))
    return graph.outputs[0]
