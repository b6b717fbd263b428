"""Recovery of variables that were summed out of a log density, from draws of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dimtensor.compile.function import free_inputs
from dimtensor.compile.function import function as compile_function
from dimtensor.dims import Dim, Dims, RenamedDim
from dimtensor.errors import InputError, OptionError, escaped, listing
from dimtensor.graph import toposort
from dimtensor.graph.rebuilding.substitute import rebuild, relabel_node
from dimtensor.marginal.recovery import positions, probabilities
from dimtensor.marginal.unknowns import Unknown
from dimtensor.model.density import BoundGraph
from dimtensor.model.inference.results import LEADING, extended, posterior_of, with_leading
from dimtensor.model.marginal.terms import summed_terms, unknowns_of
from dimtensor.model.predictive.drawing import draw_variables, with_missing
from dimtensor.model.predictive.generation import CHAIN, DRAW, SEED
from dimtensor.model.records import beside
from dimtensor.model.variables import name_of
from dimtensor.random import generator
from dimtensor.random.seeds import checked_seed, required_seed, seed_for
from dimtensor.tensor.handle import wrap
from dimtensor.tensor.inputs import tensor
from dimtensor.values.datasets import values_from

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.spec import ModelSpec
    from dimtensor.tensor.core import DimTensor

HOW = ("draws", "probabilities", "most probable")


def elimination(spec: ModelSpec) -> str:
    """Describe how variables are summed out; see :attr:`dimtensor.Model.elimination_order`."""
    return escaped(summed_terms(BoundGraph(spec, noncentered=False)).steps)


def recover(
    spec: ModelSpec, post: Any, variables: Iterable[Any], how: str, seed: int | None
) -> xr.DataTree:
    """Add marginalized variables to draws of the others; see :meth:`dimtensor.Model.recover`."""
    names = [name_of(x, spec.marginalized, "summed-out variable") for x in variables]
    if how not in HOW:
        raise OptionError(f"recover: how is {listing(HOW)}, not {how!r}")
    seed = required_seed(seed, "recover") if how == "draws" else checked_seed(seed, "recover")
    draws = posterior_of(post)
    placed = BoundGraph(spec, noncentered=False)
    found = _values(placed, names or list(spec.marginalized), how, seed, draws)
    new = {name: x.rename(name) for name, x in found.items()}
    whole = beside(draws, new, LEADING)
    if how != "probabilities":
        whole = beside(whole, _named_expressions(placed, whole), LEADING)
    return extended(post, {"posterior": with_leading(whole, post)})


def with_recovered(
    spec: ModelSpec,
    draws: xr.Dataset,
    targets: Iterable[str],
    has_other_elements: Callable[[Dim], bool],
    seed: int | None,
) -> xr.Dataset:
    """Add draws of those marginalized variables that observations are informative of.

    Parameters
    ----------
    spec : ModelSpec
    draws : Dataset
    targets : iterable of str
        Variables that will be drawn.
    has_other_elements : callable
        Whether the elements along a dim are not those that were observed.
    seed : int or None
    """
    nodes = spec.graph.nodes
    targets = [name for name in targets if name in nodes]
    above = {x.name for x in toposort([nodes[name] for name in targets])}
    lacking = [name for name in spec.marginalized if name in above and name not in draws
               and name not in spec.observed and not any(map(has_other_elements, nodes[name].dims))
               ]  # fmt: skip
    if not lacking or not spec.observed:
        return draws
    shared = summed_terms(BoundGraph(spec, noncentered=False)).refused
    readers = toposort([spec.variables[name].node for name in shared if name in spec.observed])
    known = toposort([spec.variables[name].node for name in spec.observed])
    informed = [name for name in lacking
                if nodes[name] in (known if name in targets else readers)]  # fmt: skip
    return posterior_of(recover(spec, draws, informed, "draws", seed)) if informed else draws


def _named_expressions(placed: BoundGraph, draws: xr.Dataset) -> dict[str, xr.DataArray]:
    """Compute the named expressions of marginalized variables that the draws determine."""
    spec = placed.spec
    hidden = {node: name for name, node in placed.summed.items()}
    targets = {}
    for name, x in placed.named.items():
        read = [hidden[node] for node in toposort([x.node]) if node in hidden]
        above = [n.name for n in toposort([spec.graph.named[name]]) if n.kind == "rv"]
        known = all(one in draws or one in spec.observed for one in above)
        if read and known and all(one in draws for one in read):
            targets[name] = spec.graph.named[name]
    if not targets:
        return {}
    draws = with_missing(spec, draws, targets)
    lengths = {CHAIN: draws.sizes["chain"], DRAW: draws.sizes["draw"]}
    found = draw_variables(spec, targets, draws, None, lengths, backend="python")
    return {name: x.rename(name) for name, x in found.items()}


def _values(
    placed: BoundGraph, names: Sequence[str], how: str, seed: int | None, draws: Any
) -> dict[str, Any]:
    """Compute values or probabilities of marginalized variables, for draws of all others."""
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
        outputs = {f"{u.name}_probability": _labeled(*found[u.name], u) for u in asked}
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
            f"{listing([u.name for u in asked])} cannot be recovered: the draws lack "
            f"{listing(missing)}",
            [("draws", listing([str(name) for name in draws.data_vars]))],
        )
    seed = seed_for(seed, f"recover {listing([u.name for u in asked], len(asked))}")
    arguments = [seed if x is SEED.node else values[x.name] for x in inputs]
    return function(*arguments, draws.sizes["chain"], draws.sizes["draw"])


def _labeled(x: DimTensor, dim: Dim, unknown: Unknown) -> DimTensor:
    """Give probabilities the dim of the states, under the name that users know."""
    labels: Dim = unknown.states
    if unknown.node.categories is None:
        values = unknown.values or range(int(dim.length or 0))
        labels = Dim(f"{unknown.name}_state", coords=list(values))
    elif any(d.name == labels.name for d in x.dims):
        labels = RenamedDim(labels)
    return wrap(relabel_node(x.node, (dim, labels)))
