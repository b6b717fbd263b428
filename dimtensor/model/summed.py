"""Discrete variables of a model that are summed out of its log density, and their recovery."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dimtensor.compile.function import free_inputs
from dimtensor.compile.function import function as compile_function
from dimtensor.dims import Dim, Dims, RenamedDim
from dimtensor.errors import GraphError, InputError, build_message, listing
from dimtensor.graph import toposort
from dimtensor.graph.dtypes import is_float
from dimtensor.graph.rebuilding.substitute import rebuild, relabel_node
from dimtensor.marginal.factors import Factor
from dimtensor.marginal.frontend import Marginal, unknown_of
from dimtensor.marginal.predictive_densities import one_step_ahead
from dimtensor.marginal.recovery import positions, probabilities
from dimtensor.marginal.unknowns import Unknown
from dimtensor.model.predictive.generation import CHAIN, DRAW, SEED
from dimtensor.random import generator
from dimtensor.random.seeds import seed_for
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.inputs import tensor
from dimtensor.values.datasets import values_from

if TYPE_CHECKING:
    from dimtensor.model.density import Placed
    from dimtensor.tensor.core import DimTensor

HOW = ("draws", "probabilities", "most probable")
# a bound is computed for so many states together of what it depends on
MOST_BOUNDS = 10_000
# what reads the elements beside it alone
_BESIDE = ("input", "data", "constant", "elemwise", "cast", "named", "check")


@dataclass(frozen=True)
class Summed:
    """Terms of a log density without the variables that are summed out.

    Attributes
    ----------
    terms : dict of str to DimTensor
        By name of the variable that a term is the log density of; those that belong to several
        variables are called by all of their names.
    refused : dict of str to str
        Why there is no log density of a variable, element by element.
    ahead : dict of str to DimTensor
        Log densities of elements of variables along a chain, given those before.
    steps : str
    together : dict of str to tuple of str
        Which variables a term is the log density of.
    """

    terms: dict[str, DimTensor]
    refused: dict[str, str]
    steps: str
    ahead: dict[str, DimTensor]
    not_ahead: dict[str, str]
    together: dict[str, tuple[str, ...]]

    def of(self, names: Sequence[str], ahead: bool = False) -> dict[str, DimTensor]:
        """Terms of variables by themselves, or of elements given those before.

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
                build_message(
                    f"there is no log density of {name!r} element by element: {self.refused[name]}",
                    hint=hint,
                )
            )
        return {name: found[name] for name in names if name in found}

    def groups(self, names: Sequence[str]) -> dict[str, DimTensor]:
        """Terms of variables, in which those that share what is summed out are together.

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
                found[label] = self.terms[label]
        return found


def unknowns_of(placed: Placed) -> list[Unknown]:
    """The variables of a model that are summed out, and their states.

    Raises
    ------
    OptionError
        If nothing says which values one may have.
    """
    found: list[Unknown] = []
    for name, node in placed.summed.items():
        states = placed.model._marginal.get(name)
        counted = node.categories is None and node.dtype != "bool" and not is_float(node.dtype)
        if states is None and counted:
            states = known_states(placed.distributions[name].support, found)
        found.append(unknown_of(node, name, states))
    return found


def known_states(support: Any, known: Sequence[Unknown] = ()) -> range | None:
    """All values in a support with two bounds; None where it has not.

    Bounds may depend on unknowns whose states are known.
    """
    if not support.discrete:
        return None
    low, high = support.bounds()
    low, high = _number(low, False, known), _number(high, True, known)
    return None if low is None or high is None else range(low, high + 1)


def _number(bound: Any, largest: bool, known: Sequence[Unknown]) -> int | None:
    """The widest bound of all elements."""
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


def summed_terms(placed: Placed) -> Summed:
    """The terms of a model's log density without what is summed out of it."""
    terms = placed.terms()
    unknowns = unknowns_of(placed)
    nodes = {name: x.node for name, x in terms.items()}
    marginal = Marginal(nodes, unknowns, associative_scan=placed.model._associative_scan)
    found: dict[str, DimTensor] = {}
    refused: dict[str, str] = {}
    ahead: dict[str, DimTensor] = {}
    not_ahead: dict[str, str] = {}
    together: dict[str, tuple[str, ...]] = {}
    # of what is observed in part the known values have a density
    hidden = {unknown.name for unknown in unknowns} - set(placed.model.observed)
    for origins, parts in _together(marginal.parts):
        names = sorted(origins - hidden)
        if not origins & {unknown.name for unknown in unknowns}:
            (name,) = names
            found[name], together[name] = terms[name], (name,)
            continue
        observed = [name for name in names if name in placed.model.observed]
        reason = _why_not(placed, names, observed, parts)
        if not reason:
            found[names[0]], together[names[0]] = _sum(parts), (names[0],)
            continue
        refused |= dict.fromkeys(names, reason)
        for name in observed:
            given, why = one_step_ahead(marginal.steps, parts, name, placed.values[name].dims)
            if given is None:
                not_ahead[name] = why
            else:
                ahead[name] = given
        label = names[0] if len(names) == 1 else " and ".join(names or sorted(origins))
        found[label], together[label] = _sum(parts), tuple(names)
    return Summed(found, refused, marginal.text, ahead, not_ahead, together)


def _why_not(
    placed: Placed, names: Sequence[str], observed: Sequence[str], parts: Sequence[Factor]
) -> str:
    """Why a sum is no log density of one observed variable; empty if it is."""
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
    """Parts that have terms in common."""
    groups: list[tuple[set[str], list[Factor]]] = []
    for part in parts:
        origins, members = set(part.origins), [part]
        for group in [g for g in groups if g[0] & origins]:
            groups.remove(group)
            origins |= group[0]
            members = [*group[1], *members]
        groups.append((origins, members))
    return groups


# -- recovery --------------------------------------------------------------------------------------


def recovered(
    placed: Placed, names: Sequence[str], how: str, seed: int | None, draws: Any
) -> dict[str, Any]:
    """Values or probabilities of variables that were summed out, for draws of all others.

    Parameters
    ----------
    placed : Placed
    names : sequence of str
    how : {"draws", "probabilities", "most probable"}
    seed : int, optional
    draws : Dataset
        With the dims chain and draw.
    """
    terms = {name: x.node for name, x in placed.terms().items()}
    unknowns = unknowns_of(placed)
    asked = [unknown for unknown in unknowns if unknown.name in names]
    rng = generator(SEED)

    def noise(dims: Dims) -> DimTensor:
        nonlocal rng
        x, rng = rng.gumbel(0.0, 1.0, dims=tuple(dict.fromkeys((*dims, CHAIN, DRAW))))
        return x

    def normal(dims: Dims) -> DimTensor:
        nonlocal rng
        x, rng = rng.normal(0.0, 1.0, dims=tuple(dict.fromkeys((*dims, CHAIN, DRAW))))
        return x

    if how == "probabilities":
        asked = [unknown for unknown in asked if not unknown.continuous]
        found = probabilities(terms, unknowns)
        outputs = {f"{u.name}_probability": _labelled(*found[u.name], u) for u in asked}
    else:
        noises = (noise, normal) if how == "draws" else (None, None)
        picked = positions(terms, unknowns, *noises)
        outputs = {u.name: picked[u.name] if u.continuous else u.at(picked[u.name]) for u in asked}
    wide = {
        x.node: tensor(name, (CHAIN, DRAW, *x.dims), x.dtype, x.categories).node
        for name, x in placed.parameters.items()
    }
    nodes = rebuild([x.node for x in outputs.values()], wide)
    inputs = free_inputs(nodes)
    given = [x for x in inputs if x is not SEED.node]
    values = {x.name: value for x, value in values_from(draws, given).items()}
    sources = [*map(wrap, inputs), CHAIN, DRAW]
    function = compile_function(
        sources, dict(zip(outputs, map(wrap, nodes), strict=True)), "python"
    )
    missing = [str(x.name) for x in given if x.name not in values]
    if missing:
        raise InputError(
            build_message(
                f"{listing([u.name for u in asked])} cannot be recovered: the draws lack "
                f"{listing(missing)}",
                [("draws", listing([str(name) for name in draws.data_vars]))],
            )
        )
    seed = seed_for(seed, f"recover {listing([u.name for u in asked], len(asked))}")
    arguments = [seed if x is SEED.node else values[x.name] for x in inputs]
    return function(*arguments, draws.sizes["chain"], draws.sizes["draw"])


def _labelled(x: DimTensor, dim: Dim, unknown: Unknown) -> DimTensor:
    """Probabilities along a dim that is called as users know it."""
    labels: Dim = unknown.states
    if unknown.node.categories is None:
        values = unknown.values or range(int(dim.length or 0))
        labels = Dim(f"{unknown.name}_state", coords=list(values))
    elif any(d.name == labels.name for d in x.dims):
        labels = RenamedDim(labels)
    return wrap(relabel_node(x.node, (dim, labels)))
