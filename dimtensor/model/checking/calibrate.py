"""Simulation-based calibration: whether a posterior is that of the model that made the data.

Talts, Betancourt, Simpson, Vehtari and Gelman 2018, "Validating Bayesian Inference Algorithms with
Simulation-Based Calibration", arXiv:1804.06788: if parameters are drawn from the prior, and data
given them, then the rank of each parameter among draws of its posterior is uniform.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dimtensor.arrays import check_whole
from dimtensor.errors import (
    GraphError,
    ModelWarning,
    OptionError,
    SamplingWarning,
    listing,
    printable,
)
from dimtensor.model.checking.processes import options_without, run_all
from dimtensor.model.records import as_dataset
from dimtensor.model.variables import name_of
from dimtensor.random.seeds import later_seed, required_seed
from dimtensor.renderers import html, picture
from dimtensor.values.datasets import values_from

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.model import Model

_OWN = (
    "draws",
    "report",
    "progress_bar",
    "chains",
    "cores",
    "extra",
    "save_warmup",
    "log_likelihood",
)


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """Ranks of parameters that were drawn from the prior, among draws of their posteriors.

    Attributes
    ----------
    ranks : Dataset
        Number of draws below the true value, by variable, with the dim ``simulation``.
    highest : int
        Highest possible rank: the number of draws of a posterior.
    truth : Dataset
        Parameters that the data were simulated with.
    divergences : DataArray
        Number of divergent draws of each simulation.
    compilations : int
        Number of compilations of log densities, in all processes.
    """

    ranks: xr.Dataset
    highest: int
    truth: xr.Dataset
    divergences: xr.DataArray
    compilations: int

    @property
    def simulations(self) -> int:
        """Number of simulated posteriors."""
        return self.ranks.sizes["simulation"]

    @property
    def p_values(self) -> xr.Dataset:
        """P-values of a chi-squared test for uniform ranks, for each element of each variable."""
        from scipy import stats

        bins = self._bins()
        found = {}
        for name, ranks in self.ranks.data_vars.items():
            counts = _counts(ranks, bins, self.highest)
            expected = self._expected(bins)
            statistic = ((counts - expected) ** 2 / expected).sum("bin")
            found[name] = statistic.copy(data=stats.chi2(bins - 1).sf(statistic.values))
        return self.ranks.drop_vars(self.ranks.data_vars).assign(found)

    def _bins(self) -> int:
        # with five expected ranks in a bin the statistic is nearly chi-squared
        return max(2, min(20, self.highest + 1, self.simulations // 5))

    def _expected(self, bins: int) -> np.ndarray:
        edges = _edges(bins, self.highest)
        return self.simulations * np.diff(edges) / (self.highest + 1)

    def _histogram(self, name: Any, bins: int) -> np.ndarray:
        """Count the ranks of all elements in each bin."""
        counts = _counts(self.ranks[name], bins, self.highest)
        return counts.transpose("bin", ...).values.reshape(bins, -1).sum(axis=1)

    def to_arviz(self) -> xr.DataTree:
        """Ranks from 0 to 1 in the group ``prior_sbc``, which ArviZ's ``plot_ecdf_pit`` reads."""
        from dimtensor.model.inference.storage import Results

        # in the middle of what a rank stands for
        values = (self.ranks + 0.5) / (self.highest + 1)
        values = values.rename(simulation="sample").expand_dims(chain=1)
        values = values.rename(sample="draw")
        return Results.from_dict({"prior_sbc": values.assign_coords(chain=[0])})

    def plot(self, path: Any = None) -> Any:
        """Draw how far the ranks are from uniform, with what chance alone allows for.

        Parameters
        ----------
        path : path-like, optional
            Also save the picture.

        Returns
        -------
        matplotlib.figure.Figure
            For each variable the empirical distribution function of the ranks less that of uniform
            ones, a line for each element, in a band that 95 of 100 lines do not leave. A line that
            goes up and then down belongs to posteriors that are too narrow, one that goes down
            first to ones that are too wide; a line that stays above, to ones that are too high.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        figure = picture(self)
        if path is not None:
            figure.savefig(path, dpi=150)
        return figure

    @printable
    def __repr__(self) -> str:
        worst = self.p_values
        lines = [
            f"<Calibration of {self.simulations} posteriors, ranks 0 to {self.highest}, "
            f"{int(self.divergences.sum())} divergences>"
        ]
        width = max((len(str(name)) for name in worst.data_vars), default=0)
        for name, p in worst.data_vars.items():
            # of many elements the smallest is small by chance
            least = min(1.0, float(p.min()) * p.size)
            elements = f"{p.size} element{'' if p.size == 1 else 's'}"
            lines.append(f"  {str(name).ljust(width)}  {elements.ljust(14)} p = {least:.3g}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return html(self)


def _edges(bins: int, highest: int) -> np.ndarray:
    return np.round(np.linspace(0, highest + 1, bins + 1))


def _counts(ranks: xr.DataArray, bins: int, highest: int) -> xr.DataArray:
    import xarray as xr

    edges = xr.DataArray(_edges(bins, highest), dims="edge")
    at_least = (ranks >= edges).sum("simulation")
    counts = -at_least.diff("edge")
    return counts.rename(edge="bin")


def calibrate(
    model: Model,
    n: int = 100,
    *,
    seed: int,
    ranks: int = 99,
    thin: int = 10,
    variables: Iterable[Any] | None = None,
    processes: int | None = None,
    method: Literal["sample", "laplace"] = "sample",
    **options: Any,
) -> Calibration:
    """Check a model and a sampler by data that the model itself makes.

    Parameters and data are drawn from the prior `n` times, and each time the posterior is sampled.
    The log density is compiled once for all of them.

    Parameters
    ----------
    model : Model
        Its outputs, and what is observed, are drawn; observed values play no role.
    n : int
        Simulations.
    seed : int
    ranks : int
        Draws of each posterior that the true value is ranked among.
    thin : int
        Every so manyth draw of the sampler is one of them: ranks are uniform for independent draws.
    variables : iterable of DimTensor or str, optional
        Whose ranks; all that are not observed, and named expressions without dims of their own are
        left out.
    processes : int, optional
        As many as there are processors by default.
    method : {"sample", "laplace"}
        How posteriors are computed. The normal approximation at the mode takes a fraction of the
        time, and finds mistakes that shift or scale the posterior; its own error makes ranks of
        skewed posteriors uneven, too. Its draws are independent: `thin` plays no role.
    **options
        Those of :func:`dimtensor.sample`, such as ``tune`` and ``target_accept``.

    Returns
    -------
    Calibration

    Raises
    ------
    OptionError
        If a number is below 1, or there is no such method.
    GraphError
        If the model has no random outputs.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    >>> y = dt.rv("y", dist.Normal(mu, 1.0))
    >>> found = dt.calibrate(
    ...     dt.Model(y, backend="python"), 4, seed=1, ranks=9, thin=1, tune=50, processes=1
    ... )
    >>> found.ranks["mu"].sizes["simulation"], found.highest
    (4, 9)
    """
    import xarray as xr

    check_whole("calibrate", n=n, ranks=ranks, thin=thin)
    if method not in ("sample", "laplace"):
        raise OptionError(f"calibrate: there is no method {method!r}; take 'sample' or 'laplace'")
    thin = 1 if method == "laplace" else thin
    seed = required_seed(seed, "calibrate")
    sampling = options_without(options, _OWN, "calibrate")
    outcomes = _outcomes(model)
    names = _ranked(model, outcomes, variables)
    drawn = model.draw(n, seed=seed)
    shared = (model, names, ranks, thin, method, sampling)
    arguments = []
    data = _by_name(model, drawn["prior_predictive"], outcomes)
    truth = _by_name(model, drawn["prior"], names)
    for at in range(n):
        one = [
            {name: x.isel(chain=0, draw=at, drop=True) for name, x in group.items()}
            for group in (data, truth)
        ]
        arguments.append((*one, later_seed(seed, at)))
    results, compiled = run_all(_one, shared, arguments, processes, "calibrate", "calibrating")
    found, diverged = zip(*results, strict=True)
    along = xr.DataArray(np.arange(n), dims="simulation", name="simulation")
    values = as_dataset(truth, ("chain", "draw")).isel(chain=0, drop=True)
    return Calibration(
        xr.concat(list(found), along),
        ranks,
        values.rename(draw="simulation"),
        xr.DataArray(list(diverged), {"simulation": along}, "simulation"),
        compiled,
    )


def _outcomes(model: Model) -> list[str]:
    """Return the names of the variables that are drawn in place of data."""
    found = [str(x.node.name) for x in model.outputs if x.node.kind == "rv"]
    found += [name for name in model.observed if name not in found]
    if not found:
        raise GraphError("calibrate: no output of the model is a random variable")
    return found


def _ranked(model: Model, outcomes: list[str], asked: Iterable[Any] | None) -> list[str]:
    known = [name for name in model.variables if name not in outcomes]
    if asked is None:
        names = known
    else:
        names = [name_of(x, [*known, *model.spec.graph.named], "parameter") for x in asked]
    if not names:
        raise GraphError(
            "calibrate: the model has no parameters", [("outcomes", listing(outcomes))]
        )
    return names


def _one(shared: Any, argument: Any) -> tuple[xr.Dataset, int]:
    """Compute the ranks of one simulation and its number of divergences."""
    model, names, ranks, thin, method, options = shared
    data, truth, seed = argument
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        warnings.simplefilter("ignore", SamplingWarning)
        fit = model.observe(data)
        if method == "laplace":
            post = fit.laplace(ranks, seed=seed, **options)
        else:
            post = fit.sample(
                ranks * thin, seed=seed, chains=1, progress_bar=False, report=False,
                unconstrained=False, **options,
            )  # fmt: skip
    draws = _by_name(model, post["posterior"], names)
    found = {
        name: (x.isel(draw=slice(thin - 1, None, thin)) < truth[name]).sum(("chain", "draw"))
        for name, x in draws.items()
    }
    diverging = post["sample_stats"].get("diverging")
    return as_dataset(found, ()).drop_attrs(), 0 if diverging is None else int(diverging.sum())


def _by_name(model: Model, group: Any, names: Iterable[str]) -> dict[str, xr.DataArray]:
    """Return variables of a group, with dims named as in the model."""
    found = values_from(group, [model[name].node for name in names])
    return {str(node.name): x for node, x in found.items()}
