"""Cross-validation by refitting: how well a model predicts held-out observations.

Vehtari, Gelman and Gabry 2017, "Practical Bayesian model evaluation using leave-one-out
cross-validation and WAIC", Statistics and Computing 27, section 2.3 for folds; Bürkner, Gabry and
Vehtari 2020, "Approximate leave-future-out cross-validation for Bayesian time series models",
Journal of Statistical Computation and Simulation 90, section 2 for what is ahead.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from dimtensor.arrays import check_whole
from dimtensor.dims import Dim
from dimtensor.errors import (
    GraphError,
    ModelWarning,
    OptionError,
    SamplingWarning,
    UnknownDimError,
    listing,
    printable,
)
from dimtensor.extras import require
from dimtensor.graph import toposort
from dimtensor.model.checking.given_others import given_others
from dimtensor.model.checking.processes import options_without, run_all
from dimtensor.model.density import BoundGraph
from dimtensor.model.inference.pointwise import Which, logp
from dimtensor.model.inference.posterior import sample
from dimtensor.model.marginal.terms import summed_terms
from dimtensor.model.variables import name_of
from dimtensor.random.seeds import later_seed, required_seed
from dimtensor.renderers import html
from dimtensor.spellings import spelled
from dimtensor.tensor.handle import TensorHandle

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.model import Model
    from dimtensor.model.spec import ModelSpec
    from dimtensor.typing import DimLike

_OWN = ("report", "progress_bar", "cores", "extra", "save_warmup", "log_likelihood")


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation:
    """Log predictive densities of observations, each given those of other folds.

    Attributes
    ----------
    pointwise : Dataset
        For each observed variable the logarithm of the mean density of its values; NaN where
        nothing was predicted.
    folds : DataArray
        Fold in which each position was predicted; -1 for none.
    n_samples : int
        Draws of each fold.
    divergences : DataArray
        Number of divergent draws of each fold.
    compilations : int
        Number of compilations of log densities, in all processes.
    """

    pointwise: xr.Dataset
    folds: xr.DataArray
    n_samples: int
    divergences: xr.DataArray
    compilations: int

    @property
    def _values(self) -> np.ndarray:
        values = np.concatenate([x.values.ravel() for x in self.pointwise.data_vars.values()])
        return values[~np.isnan(values)]

    @property
    def elpd(self) -> float:
        """Expected log predictive density: the sum over all predictions."""
        return float(self._values.sum())

    @property
    def se(self) -> float:
        """Standard error of `elpd`, as of a sum of independent terms."""
        values = self._values
        return math.sqrt(len(values) * float(values.var()))

    def to_arviz(self, name: str | None = None) -> Any:
        """Convert to an ``ELPDData`` of one variable, for ArviZ's ``compare``.

        Parameters
        ----------
        name : str, optional
            Needed where several variables were left out.

        Raises
        ------
        OptionError
            If it is needed, or there is none of the name.
        MissingExtraError
            If ArviZ is not installed.
        """
        arviz = require("arviz", "sampling", "to_arviz")
        known = list(self.pointwise.data_vars)
        chosen = known[0] if name is None and len(known) == 1 else name
        if chosen not in known:
            raise OptionError(
                f"to_arviz: which variable is meant? {listing(known)} were left out, not {name!r}"
            )
        values = self.pointwise[chosen]
        values = values.where(values.notnull(), drop=True)
        n = int(values.notnull().sum())
        return arviz.ELPDData(
            elpd=float(values.sum()),
            se=math.sqrt(n * float(values.var())),
            p=math.nan,
            n_samples=self.n_samples,
            n_data_points=n,
            scale="log",
            warning=False,
            good_k=math.nan,
            elpd_i=values,
        )

    def _values_of(self, fold: int) -> np.ndarray:
        """Return log predictive densities of the predicted positions of a fold."""
        along = str(self.folds.dims[0])
        there = self.pointwise.isel({along: np.flatnonzero(self.folds.values == fold)})
        values = np.concatenate([x.values.ravel() for x in there.data_vars.values()])
        return values[~np.isnan(values)]

    def _repr_html_(self) -> str:
        return html(self)

    @printable
    def __repr__(self) -> str:
        count = len(self._values)
        return (
            f"<CrossValidation over {self.folds.name}: {self.divergences.size} folds, "
            f"{count} predictions, elpd {self.elpd:.1f}, standard error {self.se:.1f}, "
            f"{int(self.divergences.sum())} divergences>"
        )


class _Units(NamedTuple):
    """Units with a log density of their own: elements, or groups of them along a dim."""

    terms: Which | Literal["given"]  # "given": each position given those that are known
    dim: str
    places: np.ndarray | None  # label of the group of each position

    def positions(self, predicted: np.ndarray, example: xr.DataArray) -> np.ndarray:
        """Return the positions of predicted units along the dim."""
        if self.places is None:
            return predicted
        places, labels = self.places[predicted], example.coords.get(self.dim)
        if labels is None:
            return np.unique(places)
        return np.flatnonzero(np.isin(labels.values, places))


class _Fold(NamedTuple):
    """Training and predicted positions along a dim."""

    known: np.ndarray
    predicted: np.ndarray


@spelled("function")
def cross_validate(
    fit: Model,
    dim: DimLike,
    *,
    folds: int | None = None,
    ahead: int | None = None,
    first: int | None = None,
    seed: int,
    processes: int | None = None,
    draws: int = 1000,
    **options: Any,
) -> CrossValidation:
    """Fit a model to parts of its observations, and look at how it predicts the others.

    What is left out is masked in the log density, which is compiled once: the model keeps all of
    its parameters, those of a time or a group that is left out, too. Of observations that share
    what was summed out, such as the level of a series, those at each position that is left out have
    their log density given those that are known; groups have one log predictive density.

    Parameters
    ----------
    fit : Model
        With observations.
    dim : Dim, DimTensor or str
        A dim of observations, positions of which are left out together; or data with categories,
        such as the county of every house: then whole groups are left out.
    folds : int, optional
        In how many parts what is left out is divided, at random; 10 by default. As many as there
        are positions leave one out.
    ahead : int, optional
        Leave the future out in place of folds: as many positions are predicted from all before
        them, then those are known and as many after them are predicted.
    first : int, optional
        How many positions are known at first, where the future is left out; half of them by
        default.
    seed : int
    processes : int, optional
        As many as there are processors by default.
    draws : int
        Of each chain.
    **options
        Those of :func:`dimtensor.sample`, such as ``tune`` and ``chains``.

    Returns
    -------
    CrossValidation

    Raises
    ------
    UnknownDimError
        If nothing observed has the dim.
    OptionError
        If a number is out of its range, `folds` is given with `ahead`, or `first` without it.
    GraphError
        If other observations depend on what is left out, or it has one log density together.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> day = dt.Dim("day", length=4)
    >>> mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    >>> y = dt.rv("y", dist.Normal(mu, 1.0), dims=day)
    >>> fit = dt.Model(y, backend="python").observe({y: [0.0, 1.0, 0.5, 0.2]})
    >>> found = dt.cross_validate(
    ...     fit, day, folds=2, seed=1, processes=1, draws=20, tune=50, chains=1
    ... )
    >>> found.pointwise["y"].sizes["day"], found.folds.max().item()
    (4, 1)
    """
    import xarray as xr

    sampling = options_without(options, _OWN, "cross_validate")
    seed = required_seed(seed, "cross_validate")
    spec = fit.spec
    along, groups, names = _left_out(spec, dim)
    _check(spec, names)
    length = {fit.observed[name].sizes[along] for name in names}.pop()
    units = np.arange(length) if groups is None else groups
    if ahead is None:
        if first is not None:
            raise OptionError(
                "cross_validate: first= says where the future begins: give ahead=, too"
            )
        parts = _folds(units, 10 if folds is None else folds, seed)
    elif folds is not None:
        raise OptionError(
            f"cross_validate: folds={folds} leaves positions out at random, and ahead={ahead} the "
            "future: give one of them"
        )
    else:
        parts = _future(length, ahead, first, groups)
    which = _units_of(spec, along, dim, groups, names)
    shared = (spec, along, names, which, draws, sampling)
    arguments = [(part, later_seed(seed, at)) for at, part in enumerate(parts)]
    results, compiled = run_all(
        _one, shared, arguments, processes, "cross_validate", "cross-validating"
    )
    pointwise = {name: xr.full_like(x, np.nan, dtype=float) for name, x in results[0][0].items()}
    example = next(iter(pointwise.values()))
    number = np.full(example.sizes[which.dim], -1)
    for at, (part, (found, _, _)) in enumerate(zip(parts, results, strict=True)):
        places = which.positions(part.predicted, example)
        number[places] = at
        for name, values in found.items():
            pointwise[name][{which.dim: places}] = values.isel({which.dim: places})
    labels = example.coords.get(which.dim)
    coords = None if labels is None else {which.dim: labels}
    return CrossValidation(
        xr.Dataset(pointwise),
        xr.DataArray(number, coords, which.dim, along if groups is None else _name_of(dim)),
        results[0][2],
        xr.DataArray([diverged for _, diverged, _ in results], dims="fold"),
        compiled,
    )


def _name_of(dim: Any) -> str:
    return str(dim.node.name) if isinstance(dim, TensorHandle) else str(dim)


def _left_out(fit: ModelSpec, dim: Any) -> tuple[str, np.ndarray | None, list[str]]:
    """Return the name of the cross-validated dim, groups of its positions, and its variables."""
    groups = None
    dims = {each._short: each for name in fit.observed for each in fit.variables[name].node.dims}
    if isinstance(dim, Dim):
        along = dim._short
    elif isinstance(dim, str) and dim in dims:
        along = dim
    else:
        name = name_of(dim, fit.graph.inputs, "data")
        values = fit.defaults.get(name)
        if values is None or values.ndim != 1:
            raise OptionError(f"cross_validate: {name!r} says no group for the positions of a dim")
        along, groups = str(values.dims[0]), np.unique(values.values, return_inverse=True)[1]
    names = [name for name, x in fit.observed.items() if along in x.dims]
    if not names:
        raise UnknownDimError(
            f"cross_validate: nothing that is observed has the dim {along!r}",
            [("dims of observations", listing(list(dims)))],
        )
    return along, groups, names


def _check(fit: ModelSpec, names: list[str]) -> None:
    inferred = [name for name in names if fit.missing.get(name) == "infer"]
    if inferred:
        raise GraphError(
            f"cross_validate: missing observations of {listing(inferred)} are inferred; drop them: "
            "observe(..., missing='drop')"
        )
    nodes = {fit.variables[name].node: name for name in names}
    for other in fit.observed:
        above = toposort(list(fit.variables[other].node.inputs))
        for node in above:
            if node in nodes:
                raise GraphError(
                    f"cross_validate: {other!r} depends on {nodes[node]!r}, which would be "
                    "left out and known at the same time",
                    hint="write it as one variable, or as data",
                )


def _units_of(
    fit: ModelSpec, along: str, dim: Any, groups: np.ndarray | None, names: list[str]
) -> _Units:
    """Decide on the units of prediction: elements, or all that share a marginalized variable."""
    placed = BoundGraph(fit, noncentered=False)
    if not placed.summed:
        return _Units("elements", along, None)
    summed = summed_terms(placed)
    if not summed.refused.keys() & set(names):
        return _Units("elements", along, None)
    shared = [set(members) for members in summed.together.values() if {*members} & {*names}]
    terms = [summed.terms[x] for x, members in summed.together.items() if {*members} & {*names}]
    dims = [{each._short for each in term.dims} for term in terms]
    if groups is None:
        apart = all(members <= set(names) for members in shared)
        whole = apart and all(along in one for one in dims)
        return _Units("groups" if whole else "given", along, None)
    name = name_of(dim, fit.graph.inputs, "data")
    of = fit.graph.inputs[name].categories
    if of is not None and all(of._short in one for one in dims):
        summed.groups(names)
        return _Units("groups", of._short, fit.defaults[name].values)
    raise GraphError(
        f"cross_validate: groups of {name!r} share what is summed out, and have no log density "
        "of their own",
        [("there is one for", listing(sorted(set[str]().union(*dims))) or "all of them")],
        f"leave out positions along {along!r}: each has a log density given those that are known",
    )


def _folds(units: np.ndarray, folds: int, seed: int) -> list[_Fold]:
    """Divide units at random into parts of nearly equal size."""
    check_whole("cross_validate", folds=folds)
    count = int(units.max()) + 1
    folds = min(folds, count)
    if folds < 2:
        raise OptionError(f"cross_validate: there are 2 folds or more, not {folds}")
    order = np.random.default_rng(seed).permutation(count)
    number = np.empty(count, dtype=int)
    number[order] = np.arange(count) % folds
    of_position = number[units]
    return [
        _Fold(np.flatnonzero(of_position != at), np.flatnonzero(of_position == at))
        for at in range(folds)
    ]


def _future(length: int, ahead: int, first: int | None, groups: Any) -> list[_Fold]:
    """Make folds of a growing past and the positions after it."""
    first = max(length // 2, 1) if first is None else first
    check_whole("cross_validate", ahead=ahead, first=first)
    if groups is not None:
        raise OptionError("cross_validate: the future is left out along a dim, not by groups")
    if first >= length:
        raise OptionError(
            f"cross_validate: first={first} leaves no future of {length} positions to predict"
        )
    starts = range(first, length, ahead)
    return [
        _Fold(np.arange(start), np.arange(start, min(start + ahead, length))) for start in starts
    ]


def _one(shared: Any, argument: Any) -> tuple[Mapping[str, xr.DataArray], int, int]:
    """Compute log predictive densities, divergences and number of draws of one fold."""
    import xarray as xr
    from scipy.special import logsumexp

    fit, along, names, which, draws, options = shared
    part, seed = argument
    included = {}
    for name in names:
        mask = np.zeros(fit.observed[name].sizes[along], dtype=bool)
        mask[part.known] = True
        included[name] = xr.DataArray(mask, dims=along)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        warnings.simplefilter("ignore", SamplingWarning)
        cores = 1 if options.get("sampler", "nutpie") == "nutpie" else None
        options = {"progress_bar": False, "report": False, "unconstrained": False} | options
        training = replace(fit, included=included)
        post = sample(training, draws, seed=seed, cores=cores, **options)
    diverged = int(post["sample_stats"]["diverging"].sum())
    if which.terms == "given":
        draws = post["posterior"].to_dataset()
        total = draws.sizes["chain"] * draws.sizes["draw"]
        return given_others(fit, draws, names, along, *part), diverged, total
    terms = logp(fit, post["posterior"].to_dataset(), names, which.terms)
    total, found = post["posterior"].sizes["chain"] * post["posterior"].sizes["draw"], {}
    for key, values in terms.items():
        name = str(key)
        dims = [dim for dim in values.dims if dim not in ("chain", "draw")]
        if which.terms == "elements":
            dims = list(fit.observed[name].dims)
        values = values.transpose("chain", "draw", *dims)
        mean = logsumexp(values.values, axis=(0, 1)) - math.log(total)
        if which.terms == "elements":
            found[name] = fit.observed[name].copy(data=mean).where(fit.observed[name].notnull())
        else:
            found[name] = values.isel(chain=0, draw=0, drop=True).copy(data=mean)
    return found, diverged, total
