"""Terms of a log density out of which variables are summed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from dimtensor.compile.function import free_inputs
from dimtensor.dims import without
from dimtensor.errors import GraphError, listing
from dimtensor.graph import Node, toposort
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.rebuilding.substitute import expand_node, rebuild
from dimtensor.marginal.frontend import Marginal, unknown_of
from dimtensor.marginal.normal.information import InformationChain
from dimtensor.marginal.predictive_densities import (
    Prediction,
    by_parent,
    normal_of_terms,
    normal_predictions,
    one_step_ahead,
)
from dimtensor.marginal.unknowns import Factor, Unknown
from dimtensor.tensor.handle import TensorHandle, constant, wrap

if TYPE_CHECKING:
    from dimtensor.model.density import BoundGraph
    from dimtensor.tensor.core import DimTensor

# Number of joint states above which bounds of dependent states are not computed.
MOST_BOUNDS = 10_000
# Operations that are elementwise.
_BESIDE = ("input", "data", "constant", "elemwise", "cast", "named", "check")


@dataclass(frozen=True)
class MarginalTerms:
    """Terms of a log density after marginalization.

    Attributes
    ----------
    terms : dict of str to DimTensor
        By variable; joint terms of several variables have all of their names.
    refused : dict of str to str
        Reasons why variables have no log density element by element.
    ahead : dict of str to DimTensor
        One-step-ahead log densities of variables along a chain.
    steps : str
    together : dict of str to tuple of str
        Variables of each term.
    of_parents : dict of str to DimTensor
        Terms of each parent of a ragged dim, whose sums are those of `terms`.
    """

    terms: dict[str, DimTensor]
    refused: dict[str, str]
    steps: str
    ahead: dict[str, DimTensor]
    not_ahead: dict[str, str]
    together: dict[str, tuple[str, ...]]
    of_parents: dict[str, DimTensor]

    def of(self, names: Sequence[str], ahead: bool = False) -> dict[str, DimTensor]:
        """Return terms of single variables, or of elements given earlier ones.

        Raises
        ------
        GraphError
            If one has none.
        """
        found = {**self.terms, **self.ahead} if ahead else self.terms
        for name in names:
            if name not in self.refused or (ahead and name in self.ahead):
                continue
            if ahead:
                raise GraphError(
                    f"there is no log density of each element of {name!r} given those before it: "
                    f"{self.not_ahead[name]}"
                )
            hint = "grouped=True is that of those which share it, together"
            if name in self.ahead:
                hint += "; one_step_ahead=True is that of each element given those before it"
            raise GraphError(
                f"there is no log density of {name!r} element by element: {self.refused[name]}",
                hint=hint,
            )
        return {name: found[name] for name in names if name in found}

    def groups(self, names: Sequence[str]) -> dict[str, DimTensor]:
        """Return terms of variables, jointly for those that share a marginalized variable.

        Raises
        ------
        GraphError
            If one has a log density together with others than these.
        """
        found = {}
        for label, members in self.together.items():
            others = [name for name in members if name not in names]
            if others and len(others) < len(members):
                raise GraphError(
                    f"there is no log density of {listing(sorted({*members} - {*others}))} by "
                    f"themselves: what is summed out depends on {listing(others)}, too"
                )
            if not others:
                found[label] = self.of_parents.get(label, self.terms[label])
        return found


def unknowns_of(placed: BoundGraph) -> list[Unknown]:
    """Return the marginalized variables of a model and their states.

    Raises
    ------
    OptionError
        If the states of one are not known.
    """
    found: list[Unknown] = []
    for name, node in placed.summed.items():
        states = placed.spec.marginalized.get(name)
        counted = node.categories is None and node.dtype != "bool" and not is_float(node.dtype)
        if states is None and counted:
            states = known_states(placed.distributions[name].support, found)
        found.append(unknown_of(node, name, states))
    return found


def known_states(support: Any, known: Sequence[Unknown] = ()) -> range | None:
    """Return all values of a support with two bounds; None for other supports.

    Bounds may depend on unknowns whose states are known.
    """
    if not support.discrete:
        return None
    low, high = support.bounds()
    low, high = _number(low, False, known), _number(high, True, known)
    return None if low is None or high is None else range(low, high + 1)


def _number(bound: Any, largest: bool, known: Sequence[Unknown]) -> int | None:
    """Evaluate the widest bound of all elements."""
    if not isinstance(bound, TensorHandle):
        return None if bound is None else int(bound)
    inputs = free_inputs([bound.node])
    read = [unknown for unknown in known if unknown.node in inputs]
    nodes = toposort([bound.node])
    if len(read) < len(inputs) or any(x.kind == "rv" for x in nodes):
        return None
    if read:
        ways = math.prod(int(unknown.states.length or 0) for unknown in read)
        if ways > MOST_BOUNDS or any(x.kind not in _BESIDE for x in nodes):
            return None  # elements of other positions may have other states
        each = {u.node: u.value(u.named_states(0)) for u in read}
        (node,) = rebuild([bound.node], {x: value.node for x, value in each.items()})
        bound = wrap(node)
    values = wrap(bound.node).eval().values
    return int(values.max() if largest else values.min()) if values.size else 0


def summed_terms(placed: BoundGraph) -> MarginalTerms:
    """Sum marginalized variables out of the terms of a log density."""
    terms = placed.terms()
    unknowns = unknowns_of(placed)
    nodes = {name: x.node for name, x in terms.items()}
    marginal = Marginal(nodes, unknowns, associative_scan=placed.spec.associative_scan)
    found: dict[str, DimTensor] = {}
    refused: dict[str, str] = {}
    ahead: dict[str, DimTensor] = {}
    not_ahead: dict[str, str] = {}
    together: dict[str, tuple[str, ...]] = {}
    of_parents: dict[str, DimTensor] = {}
    # partially observed variables have a density of their known values
    hidden = {unknown.name for unknown in unknowns} - set(placed.spec.observed)
    for origins, parts in _together(marginal.parts):
        names = sorted(origins - hidden)
        if not origins & {unknown.name for unknown in unknowns}:
            (name,) = names
            found[name], together[name] = terms[name], (name,)
            continue
        observed = [name for name in names if name in placed.spec.observed]
        reason = _why_not(placed, names, observed, parts)
        if not reason:
            found[names[0]], together[names[0]] = _sum(parts), (names[0],)
            continue
        refused |= dict.fromkeys(names, reason)
        for name in observed:
            dims = placed.values[name].dims
            given, why = one_step_ahead(marginal.steps, parts, name, dims, marginal.flattenings)
            if given is None:
                not_ahead[name] = why
            else:
                ahead[name] = given
        label = names[0] if len(names) == 1 else " and ".join(names or sorted(origins))
        found[label], together[label] = _sum(parts), tuple(names)
        of_each = by_parent(marginal.steps, parts, marginal.flattenings)
        if of_each is not None:
            of_parents[label] = of_each
    return MarginalTerms(found, refused, marginal.text, ahead, not_ahead, together, of_parents)


def predictions(placed: BoundGraph) -> dict[str, Prediction]:
    """Return means and standard deviations of observations given earlier ones.

    Missing elements have them, too.

    Raises
    ------
    GraphError
        If an observed variable has no normal density given earlier elements.
    """
    terms = {name: x.node for name, x in placed.terms().items()}
    observed = {name: placed.values[name].node for name in placed.spec.observed}
    for name in observed:
        d = placed.distributions[name]
        if name in placed.summed or d.name not in ("Normal", "MvNormal"):
            _refuse_predictions(name, f"its distribution is {d.name}, not Normal or MvNormal")
    masks = [x for (kind, _), x in placed.sources.items() if kind in ("kept", "parts")]
    known = {x: expand_node(constant(True, "bool"), x.dims) for x in masks}
    unknowns = unknowns_of(placed)
    hidden = {unknown.name for unknown in unknowns}
    marginal = Marginal(terms, unknowns)
    if len(marginal.steps) > 1 or any(isinstance(x, InformationChain) for x in marginal.steps):
        marginal = Marginal(terms, unknowns, matrices=True)
    found: dict[str, Prediction] = {}
    for origins, parts in _together(marginal.parts):
        own = {name: x for name, x in observed.items() if name in origins}
        for name, x in own.items():
            readers = [n for n in sorted(origins - {name}) if x in toposort([terms[n]])]
            if origins & hidden and readers:
                _refuse_predictions(name, f"{listing(readers)} depends on its values")
        if not own:
            continue
        discrete = [u.name for u in unknowns if u.name in origins and not u.continuous]
        if discrete:
            why = f"it is a mixture given earlier elements, over {listing(discrete)}"
            _refuse_predictions(next(iter(own)), why)
        if origins & hidden:
            each = normal_predictions(marginal.steps, parts, own, known, marginal.flattenings)
        else:
            ((name, x),) = own.items()
            apart = without(x.dims, placed.distributions[name].event_dims)

            def term(moved: Mapping[Node, Node], node: Node = terms[name]) -> list[Any]:
                return [wrap(rebuild([node], moved)[0])]

            each = normal_of_terms(term, own, apart, known)
        if isinstance(each, str):
            _refuse_predictions(next(iter(own)), each)
        else:
            found |= each
    return found


def _refuse_predictions(name: str, why: str) -> NoReturn:
    raise GraphError(f"there are no one-step-ahead residuals of {name!r}: {why}")


def _why_not(
    placed: BoundGraph, names: Sequence[str], observed: Sequence[str], parts: Sequence[Factor]
) -> str:
    """Say why a sum is no log density of one observed variable; empty if it is one."""
    if len(names) != 1 or not observed:
        return f"what is summed out depends on {listing(names)} together"
    dims = set(placed.values[names[0]].dims)
    if all(set(part.dims) == dims for part in parts):
        return ""
    apart = [dim for dim in parts[0].dims if all(dim in part.dims for part in parts)]
    along = ", ".join(dim._short for dim in apart)
    each = f"for each position along {along}" if along else "for all of them"
    return f"its elements share what is summed out, and there is one density {each}"


def _sum(parts: Sequence[Factor]) -> DimTensor:
    total: Any = None
    alike = len({frozenset(part.dims) for part in parts}) == 1
    for part in parts:
        x = wrap(part.full())
        x = x if alike or not x.dims else x.sum()
        total = x if total is None else total + x
    return total


def _together(parts: Sequence[Factor]) -> list[tuple[set[str], list[Factor]]]:
    """Group parts that have terms in common."""
    groups: list[tuple[set[str], list[Factor]]] = []
    for part in parts:
        origins, members = set(part.origins), [part]
        for group in [g for g in groups if g[0] & origins]:
            groups.remove(group)
            origins |= group[0]
            members = [*group[1], *members]
        groups.append((origins, members))
    return groups
