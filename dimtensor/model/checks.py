"""Checks of generative models: ranges of parameters, observations, names."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dimtensor.compile.function import function as compile_function
from dimtensor.dims import dim_set
from dimtensor.dist.conditions import Condition, is_known
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.modifiers.flat import FlatOn
from dimtensor.dist.supports import Support
from dimtensor.dist.table import Range
from dimtensor.dist.tabulated import TableDistribution
from dimtensor.errors import (
    GraphError,
    InputError,
    ModelWarning,
    build_message,
    listing,
    plain_repr,
    warn,
)
from dimtensor.graph import Node, toposort
from dimtensor.model.emptiness import warn_of_empty as warn_of_empty
from dimtensor.model.missing import places
from dimtensor.model.records import check_slashes
from dimtensor.model.variables import ModelGraph, Variable, put
from dimtensor.streams.stream import stream_tensor
from dimtensor.tensor.inputs import data as make_data

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.spec import ModelSpec
    from dimtensor.tensor.core import DimTensor


def check_ranges(variables: Mapping[str, Variable]) -> None:
    """Check that variables which are parameters of others cannot be out of their range.

    Also through signs, sums and products with numbers, and the like, and in distributions that are
    parts of others.

    Raises
    ------
    GraphError
        If one can be.
    """
    for message in ranges_left(variables):
        raise GraphError(message)


def ranges_left(variables: Mapping[str, Variable]) -> Iterator[str]:
    """Yield a message for each parameter that may leave its range."""
    for variable in variables.values():
        for d in _tables(variable.distribution):
            ranges = {param.name: param.range for param in d._parametrization.params}
            for name, given in d.parameters.items():
                found = _interval(given.node, variables)
                if found is None or _fits(found, ranges[name]):
                    continue
                source = found.source
                yield build_message(
                    f"{name} of {variable.name!r} is {ranges[name].spoken}, and "
                    + ("the variable " if found.itself else "what is computed from ")
                    + f"{source.name!r} may be something else",
                    [
                        (variable.name, _written(variable)),
                        (source.name, _written(source, support=True)),
                    ],
                    f"give {source.name!r} a distribution on the numbers that {name} may be, "
                    "or transform it: dt.exp(x)",
                )


def _written(variable: Variable, support: bool = False) -> str:
    """Write the distribution and the dims of a variable."""
    d = variable.distribution
    return f"{d!r}, {f'{d.support}, ' if support else ''}of dims {dim_set(variable.node.dims)}"


def _tables(d: Distribution) -> Iterator[TableDistribution]:
    """Yield the distributions of the table among a distribution and its parts."""
    if isinstance(d, TableDistribution):
        yield d
        return
    for part in d._nested():
        yield from _tables(part)


class _Interval(NamedTuple):
    """Interval of the values of an expression of one variable."""

    source: Variable
    itself: bool
    low: float
    high: float
    discrete: bool


# Operations that rearrange or select elements.
_MOVES = ("named", "expand", "relabel", "merge", "split", "index", "sort", "cast")
# Elementwise operations that are monotone, those of two operands if one is a number.
_MONOTONE = ("negative", "exp", "log", "add", "subtract", "multiply", "divide")


def _interval(node: Node, variables: Mapping[str, Variable]) -> _Interval | None:
    """Infer the interval of an expression; None if it is not known."""
    steps = []
    while node.kind != "rv":
        below = _operand(node)
        if below is None:
            return None
        node, step = below
        steps.append(step)
    source = variables.get(node.attrs.name)
    ends = None if source is None else _ends(source.distribution.support)
    if source is None or ends is None:
        return None
    found: _Interval | None = _Interval(source, True, *ends, source.distribution.discrete)
    for step in reversed(steps):
        if found is not None:
            found = step(found)
    return found


def _operand(node: Node) -> tuple[Node, Callable[[_Interval], _Interval | None]] | None:
    """Return the only operand of an expression and its map of intervals, None if there are more."""
    if node.kind in _MOVES:
        return node.inputs[0], lambda x: x
    operands = [x for x in node.inputs if x.kind != "constant" or x.dims]
    if node.kind != "elemwise" or node.attrs not in _MONOTONE or len(operands) != 1:
        return None
    return operands[0], partial(_monotone_interval, node)


def _monotone_interval(node: Node, x: _Interval) -> _Interval | None:
    """Map an interval by a monotone operation, whose other operand, if any, is a number."""
    name, numbers = node.attrs, [n.attrs.value for n in node.inputs if n.kind == "constant"]
    if name in ("multiply", "divide") and 0 in numbers:
        return None
    if name == "divide" and node.inputs[0].kind == "constant":
        return None
    if not all(map(math.isfinite, numbers)) or (name == "log" and not x.low >= 0):
        return None

    def at(end: float) -> float:
        operands = (n.attrs.value if n.kind == "constant" else end for n in node.inputs)
        return float(getattr(np, name)(*operands))

    with np.errstate(all="ignore"):
        ends = (at(x.low), at(x.high))
        low, high = ends[::-1] if at(1.0) > at(2.0) else ends
    whole = name not in ("exp", "log", "divide") and all(n == math.floor(n) for n in numbers)
    return x._replace(itself=False, low=low, high=high, discrete=x.discrete and whole)


def _ends(support: Support | None) -> tuple[float, float] | None:
    """Return the bounds of a support; NaN for tensors, None if the support has no bounds."""
    if support is None or not support.is_elementwise:
        return None
    known = [x if x is None or isinstance(x, float) else math.nan for x in support.bounds()]
    low = -math.inf if known[0] is None else known[0]
    return low, math.inf if known[1] is None else known[1]


def _fits(found: _Interval, allowed: Range) -> bool:
    """Return True if an interval is within a range, or if the range is not known."""
    if allowed.whole and not found.discrete:
        return False
    # an end of the support that is the end of an open range is met with probability 0
    return not (found.low < allowed.low or found.high > allowed.high)


def check_inside(spec: ModelSpec, changed: Collection[str]) -> None:
    """Check that observations can have been drawn, as far as parameters are known.

    Parameters
    ----------
    spec : ModelSpec
    changed : collection of str
        Observations and data of other values than before.

    Raises
    ------
    InputError
        If some lie outside of the support of their distribution, or have no finite density.
    """
    conditions: list[tuple[str, Condition]] = []
    for name, known in spec.observed.in_memory.plain.items():
        variable = spec.variables[name]
        node = variable.node
        below = {x.name for x in toposort([node]) if x.kind in ("rv", "data", "input")}
        if node.categories is not None or below.isdisjoint(changed):
            continue
        inputs = put(node.inputs, partial(_value_of, spec))
        d = node.attrs.spec.build(inputs)
        given = (known if known.complete else known.filled(1.0)).given
        value = make_data(given, dims=node.dims, name=name)
        single = known.complete or not d.event_dims
        found = [x for x in d._conditions(value) if is_known(x.holds)] if single else []
        conditions += [(name, one) for one in found]
    if not conditions:
        return
    outputs = compile_function([], [one.holds for _, one in conditions], "python").held()
    for (name, one), output in zip(conditions, outputs, strict=True):
        if not output.values.all():
            _refuse(spec.variables[name], one, ~output.labeled(output.values), spec)


def _value_of(spec: ModelSpec, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """Replace inputs and observed variables by their values."""
    if node.kind != "rv":
        if node.name not in spec.data:
            return None
        value = spec.data[str(node.name)]
    elif node.name in spec.observed.streams:
        return stream_tensor(node, spec.observed.streams[str(node.name)]).node
    elif node.name in spec.observed and spec.observed.plain[str(node.name)].complete:
        value = spec.observed.plain[str(node.name)].given
    else:
        return None
    dtype = None if node.categories is not None else node.dtype
    return make_data(value, node.dims, node.name, node.categories, dtype=dtype).node


def _refuse(variable: Variable, one: Condition, broken: xr.DataArray, spec: ModelSpec) -> None:
    """Raise the error of observations that do not fulfill a condition.

    Raises
    ------
    InputError
        If they are there.
    """
    node, d, observed = variable.node, variable.distribution, spec.observed[variable.name]
    if not set(broken.dims) <= set(observed.dims):
        return
    together = broken.dims != observed.dims and d.event_dims
    if not together:
        broken = (broken & observed.notnull()).transpose(*observed.dims)
    if not bool(broken.any()):
        return
    where = places(broken) if broken.dims else []
    rows = observed.transpose(*broken.dims, ...).values[broken.values]
    zero = not together and not d.discrete and bool((rows == 0).all())
    raise InputError(
        f"observations of {node.name!r} {one.otherwise}: {int(broken.sum())} of {broken.size}",
        [
            (variable.name, _written(variable, support=True)),
            *([("at", listing(where))] if where else []),
            ("values", listing([plain_repr(x) for x in np.ravel(rows)])),
        ],
        "dist.hurdle gives zeros a probability of their own" if zero else None,
    )


def check_proper(terms: Mapping[str, DimTensor], spec: ModelSpec, free: Mapping[str, Node]) -> None:
    """Check that something depends on variables whose own density is flat.

    Raises
    ------
    GraphError
        If nothing does: the posterior is not proper.
    """
    for name, node in free.items():
        variable = spec.variables.get(name)
        d = None if variable is None else variable.distribution
        flat = isinstance(d, TableDistribution) and d.name in ("Flat", "HalfFlat")
        if not flat and (not isinstance(d, FlatOn) or d.is_proper):
            continue
        others = [term.node for other, term in terms.items() if other != name]
        if node not in set(toposort(others)):
            raise GraphError(
                f"no density depends on {name!r}, and its own is flat: its posterior is not proper",
                described(spec.variables, [name]),
                "give it another distribution, or leave it out",
            )


def warn_of_unaffected(variables: Mapping[str, Variable], observed: Collection[str]) -> None:
    """Warn of variables that nothing observed depends on.

    Warns
    -----
    ModelWarning
        If there are some: their posterior is their prior.
    """
    used = set(toposort([variables[name].node for name in observed]))
    alone = [name for name, v in variables.items() if v.node not in used]
    if alone:
        warn(
            "nothing that is observed depends on some random variables",
            ModelWarning,
            described(variables, alone),
            hint="their posterior is what they have without observations; leave them out",
        )


def described(variables: Mapping[str, Variable], names: Collection[str]) -> list[tuple[str, str]]:
    """Variables with their distributions and dims, for messages."""
    return [(n, _written(variables[n])) for n in names]


def check_observed(spec: ModelSpec, what: str, prior: bool) -> None:
    """Check that something is observed, so that draws are of a posterior.

    Raises
    ------
    GraphError
        If nothing is, and draws of the prior are not asked for.
    """
    if spec.observed or prior:
        return
    outputs = [x.node.name for x in spec.outputs if x.node.kind == "rv"]
    names = outputs or list(spec.variables)[-1:]
    values = ", ".join(f"{name}: ..." for name in names)
    raise GraphError(
        f"{what}: nothing is observed, so the draws would be those of the prior",
        [("variables", listing(list(spec.variables)))],
        f"did you mean fit = model.observe({{{values}}}), and fit.{what}(...)? "
        f"model.{what}(prior=True) draws all variables from the prior, and so does "
        "model.draw(1000, seed=1)",
    )


def check_result_names(graph: ModelGraph) -> None:
    """Check that everything that a model has can stand in results under its name.

    Raises
    ------
    OptionError
        If not.
    """
    variables = {name: v.node for name, v in graph.variables.items()}
    for kind, nodes in (
        ("random variable", variables), ("expression", graph.named), ("name of data", graph.inputs),
    ):  # fmt: skip
        check_slashes({name: node.dims for name, node in nodes.items()}, kind)
