"""Draws of a model's variables given draws, observations or data of others."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.backends import backend_of
from dimtensor.backends.progress import Progress
from dimtensor.dims import Binding, Dim
from dimtensor.errors import InputError, listing
from dimtensor.graph import Node, toposort
from dimtensor.model.inference.chunked import CHUNK
from dimtensor.model.missing import completed, missing_name
from dimtensor.model.predictive.generation import DRAW, DrawFunction, as_input
from dimtensor.model.predictive.new_labels import known_positions, padded
from dimtensor.model.records import beside
from dimtensor.random.seeds import seed_for
from dimtensor.values.datasets import values_from
from dimtensor.values.labeled import Labeled, labels_of, with_row_numbers
from dimtensor.values.ports import LengthPort

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.spec import ModelSpec


# Number of drawn elements from which compiling takes less time than it saves.
MANY = 5_000_000
# Elements of an intermediate array for each of a result that no draws are separated for.
_MODERATE = 4


def draw_variables(
    spec: ModelSpec,
    targets: Mapping[str, Node],
    draws: Any,
    seed: int | None,
    lengths: Mapping[Dim, Any],
    wider: Mapping[Dim, Dim] | None = None,
    prefixes: Mapping[str, xr.DataArray] | None = None,
    backend: str | None = None,
) -> dict[str, xr.DataArray]:
    """Draw or compute variables of a model.

    Parameters
    ----------
    spec : ModelSpec
    targets : dict of str to Node
        Random variables and named expressions.
    draws : Dataset or dict
        Draws of other variables; those that it lacks are drawn.
    seed : int or None
    lengths : dict of Dim to int or labels
        Lengths and labels of dims, those of chains and draws among them.
    wider : dict of Dim to Dim, optional
        Dims that were exchanged, for dims with more labels.
    prefixes : dict of str to DataArray, optional
        Observed elements of series that are forecast along wider dims.
    backend : str, optional

    Raises
    ------
    InputError
        If a value is missing that targets depend on.
    """
    wider, prefixes, variables = wider or {}, prefixes or {}, spec.variables
    above = {str(n.name) for n in toposort(list(targets.values())) if n.kind == "rv"}
    given = dict.fromkeys(name for name in variables if name in above and name in draws)
    fixed = {
        name: as_input(variables[name].node)
        for name in spec.observed
        if name in above and name not in targets and name not in given
    }
    prefixes = {name: x for name, x in prefixes.items() if name in above and name not in given}
    known = {**{name: spec.observed[name] for name in fixed}, **prefixes}
    unknown = [name for name, x in known.items() if bool(x.isnull().any())]
    if unknown:
        raise InputError(
            f"predictions depend on observations that are missing: {listing(unknown)}",
            [("draws", listing([str(name) for name in getattr(draws, "data_vars", ())]))],
            f"draws of observe(..., missing='infer') have {missing_name(unknown[0])!r}",
        )
    nodes = [variables[name].node for name in given]
    drawn = values_from(draws, nodes) if nodes else {}
    labeled = {**{str(v.name): x for v, x in drawn.items()}, **prefixes}
    grown = {
        name: positions
        for name, x in labeled.items()
        if (positions := known_positions(name, variables[name], x, wider))
    }
    values: dict[Any, Any] = {**spec.defaults, **{n: spec.observed[n] for n in fixed}, **lengths}
    if backend is None:
        many = _count(targets.values(), values, draws) >= MANY
        backend = spec.backend if many and backend_of(spec.backend).native else "python"
    key = (tuple(targets.items()), tuple(given), tuple(fixed), tuple(prefixes), backend,
           tuple((name, *at.items()) for name, at in grown.items()))  # fmt: skip
    compiled = spec.graph.compiled
    function = compiled.get(key)
    if function is None:
        function = compiled[key] = DrawFunction(targets, given, fixed, grown, prefixes, backend)
    if given:
        nodes = [x for x in function.inputs if x.name in given]
        values |= {
            x.name: padded(variables[str(x.name)].node, value, grown.get(str(x.name), ()))
            for x, value in values_from(draws, nodes).items()
        }
    values = {**_late_from_observations(spec, function.late), **values}
    for name, start in prefixes.items():
        values[name] = padded(variables[name].node, start, grown[name])
    numbered = spec.row_numbered | {n: spec.observed.plain[n].numbered for n in fixed}
    for name in numbered.keys() & values:
        values[name] = with_row_numbers(values[name], numbered[name])
    if given:
        anew = sorted(above & {*variables} - {*given, *fixed} | {*grown})
        seed = seed_for(seed, f"predict {anew}")
    function.require(values, {*wider.values()})
    with Progress(f"drawing {listing(list(targets), limit=3)}"):
        return _by_draws(function, values, seed, _lengths(values, draws))


def _by_draws(
    function: DrawFunction, values: Mapping[Any, Any], seed: int | None, lengths: Mapping[str, int]
) -> dict[str, xr.DataArray]:
    """Call a function for some draws at a time if its intermediate arrays are large."""
    import xarray as xr

    total, size = lengths["draw"], _draws_at_once(function, lengths)
    if size >= total:
        return function(values, seed)
    found: dict[str, list[xr.DataArray]] = {}
    for number, start in enumerate(range(0, total, size)):
        count = min(size, total - start)
        part = {key: _some_draws(x, slice(start, start + count)) for key, x in values.items()}
        own = None if seed is None else seed_for(seed, f"draws {number}")
        for name, x in function({**part, DRAW: count}, own).items():
            if "draw" in x.dims or not start:
                found.setdefault(name, []).append(x)
    return {
        name: xr.concat(parts, "draw", join="override") if len(parts) > 1 else parts[0]
        for name, parts in found.items()
    }


def _draws_at_once(function: DrawFunction, lengths: Mapping[str, int]) -> int:
    """Return the number of draws of each chain at which intermediate arrays are of moderate size.

    Arrays not much larger than the results limit no number.
    """

    def largest(arrays: Iterable[tuple[Dim, ...]]) -> int:
        sizes = [[lengths.get(d._short, d.length or 1) for d in dims] for dims in arrays]
        return max(map(math.prod, sizes), default=1)

    size = largest(function.arrays)
    if size <= _MODERATE * largest(function.results):
        return max(1, lengths["draw"])
    return max(1, CHUNK // (8 * size * max(1, lengths["chain"])))


def _some_draws(value: Any, part: slice) -> Any:
    return value.isel(draw=part) if "draw" in getattr(value, "dims", ()) else value


def with_missing(
    spec: ModelSpec, draws: xr.Dataset, targets: Mapping[str, Node], prefixes: Collection[str] = ()
) -> xr.Dataset:
    """Complete observations that targets depend on by draws of their missing elements."""
    above = {x.name for x in toposort(list(targets.values())) if x.kind == "rv"}
    for name, x in spec.observed.items():
        read = name in prefixes or (name in above and name not in targets)
        if read and name not in draws and missing_name(name) in draws:
            unknown = draws[missing_name(name)]
            whole = completed(spec.variables[name].node, x, unknown, ("chain", "draw"))
            draws = beside(draws, {name: whole}, ("chain", "draw"))
    return draws


def _late_from_observations(spec: ModelSpec, dims: Iterable[Dim]) -> dict[Dim, Any]:
    """Return labels or lengths of dims that observations have and no input."""
    binding = Binding()
    for name, x in spec.observed.in_memory.items():
        for dim in spec.variables[name].node.dims:
            binding.add_length(dim, x.sizes[dim._short], f"observations of {name!r}")
            numbered = dim._short in spec.observed.plain[name].numbered
            if dim._short in x.indexes and not numbered:
                own = labels_of(x.indexes[dim._short])
                binding.add_labels(dim, own, f"observations of {name!r}")
    found: dict[Dim, Any] = {}
    for dim in dims:
        labels, length = dim._bound_labels(binding), dim._bound_length(binding)
        if length is not None:
            found[dim] = length if labels is None else labels.values
    return found


def _count(targets: Iterable[Node], values: Mapping[Any, Any], draws: Any) -> int:
    """Count the elements of targets over all draws, as far as values tell lengths."""
    known = _lengths(values, draws)
    each = known.get("chain", 1) * known.get("draw", 1)
    return each * sum(
        math.prod(known.get(d._short, 1) if d.length is None else d.length for d in node.dims)
        for node in targets
    )


def _lengths(values: Mapping[Any, Any], draws: Any) -> dict[str, int]:
    """Return lengths by names of dims."""
    known: dict[str, int] = dict(getattr(draws, "sizes", {}))
    for key, value in values.items():
        if isinstance(key, Dim):
            known[key._short] = LengthPort(key).read(value).lengths[0]
        elif isinstance(value, Labeled):
            known |= dict(zip(map(str, value.names), value.values.shape, strict=True))
        else:
            known |= {str(dim): n for dim, n in value.sizes.items()}
    return known
