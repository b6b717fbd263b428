"""Posteriors of models: draws by a sampler, modes and approximations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import check_whole
from dimtensor.errors import OptionError
from dimtensor.model.checks import check_observed
from dimtensor.model.density import log_density
from dimtensor.model.inference import pointwise
from dimtensor.model.inference.advice import advice
from dimtensor.model.inference.approximate import Mode, find_mode, normal_at
from dimtensor.model.inference.memory import check_draws
from dimtensor.model.inference.results import add_known_groups
from dimtensor.model.inference.runs import Draws, Run, keeping, labeled
from dimtensor.model.inference.sample import any_seed, check_unknowns, start_of
from dimtensor.model.inference.sample import sample as sample_density
from dimtensor.model.logdensity import advised, in_slices
from dimtensor.random.seeds import checked_seed, seed_for

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.logdensity import LogDensity
    from dimtensor.model.spec import ModelSpec


def sample(
    spec: ModelSpec,
    draws: int = 1000,
    *,
    log_likelihood: bool = False,
    log_prior: bool = False,
    prior: bool = False,
    **options: Any,
) -> xr.DataTree:
    """Draw from the posterior; see :meth:`dimtensor.Model.sample`."""
    check_observed(spec, "sample", prior)
    density = advised(spec.log_density, partial(advice, spec))
    tree = sample_density(density, draws, **options)
    with keeping(tree):
        add_known_groups(spec, tree)
        tree = pointwise.log_likelihood(spec, tree) if log_likelihood else tree
    with keeping(tree):
        return pointwise.log_prior(spec, tree) if log_prior else tree


def mode(
    spec: ModelSpec, initial: Any = None, threads: int | None = None, client: Any = None
) -> xr.DataTree:
    """Maximize the posterior density; see :meth:`dimtensor.Model.mode`."""
    density = in_slices(log_density(spec, jacobian=False), threads, client, "mode")
    found = find_mode(density, start_of(density, initial))
    attributes = _provenance("scipy", _scipy_version(), found.seconds)
    attributes |= {
        "inference_method": "mode",
        "converged": int(found.converged),  # files have no bool among attributes
        "evaluations": found.evaluations,
        "message": found.message,
    }
    return _as_chain(spec, found.vector[None], {"lp": np.array([found.value])}, attributes)


def laplace(
    spec: ModelSpec,
    draws: int,
    seed: int | None,
    initial: Any,
    threads: int | None,
    client: Any,
    prior: bool,
) -> xr.DataTree:
    """Draw from the normal approximation at the mode; see :meth:`dimtensor.Model.laplace`."""
    density = _density(spec, "laplace", {"draws": draws}, seed, threads, client, prior)
    found: Mode = find_mode(density, start_of(density, initial), "laplace")
    normal = normal_at(density, found)
    seed = any_seed() if seed is None else int(seed)
    vectors, log_q = normal.draw(draws, seed_for(seed, "laplace"))
    log_p = np.array([density.logp(x) for x in vectors])
    attributes = _provenance("scipy", _scipy_version(), found.seconds)
    attributes |= {"inference_method": "laplace", "seed": seed}
    tree = _as_chain(spec, vectors, {"lp": log_p, "log_q": log_q}, attributes)
    tree["posterior"].attrs["log_evidence"] = normal.log_evidence
    return tree


def pathfinder(
    spec: ModelSpec,
    draws: int,
    seed: int | None,
    paths: int,
    maxiter: int,
    initial: Any,
    threads: int | None,
    client: Any,
    prior: bool,
) -> xr.DataTree:
    """Draw by Pathfinder; see :meth:`dimtensor.Model.pathfinder`."""
    from dimtensor.interop.blackjax_variational import pathfinder

    numbers = {"draws": draws, "paths": paths, "maxiter": maxiter}
    density = _density(spec, "pathfinder", numbers, seed, threads, client, prior)
    seed = any_seed() if seed is None else int(seed)
    found = pathfinder(density, start_of(density, initial), draws, paths, seed, maxiter)
    tree = _from_blackjax(spec, found, "pathfinder", seed)
    tree["posterior"].attrs["elbo"] = found.elbo.tolist()
    return tree


def advi(
    spec: ModelSpec,
    draws: int,
    seed: int | None,
    steps: int,
    samples: int,
    learning_rate: float,
    full_rank: bool,
    threads: int | None,
    client: Any,
    prior: bool,
) -> xr.DataTree:
    """Draw from a variational approximation; see :meth:`dimtensor.Model.advi`."""
    import xarray as xr

    from dimtensor.interop.blackjax_variational import advi

    if not isinstance(learning_rate, (int, float)) or not learning_rate > 0:
        raise OptionError(f"advi: learning_rate is above 0, not {learning_rate!r}")
    numbers = {"draws": draws, "steps": steps, "samples": samples}
    density = _density(spec, "advi", numbers, seed, threads, client, prior)
    check_unknowns(density)
    seed = any_seed() if seed is None else int(seed)
    found = advi(density, draws, seed, steps, samples, float(learning_rate), bool(full_rank))
    method = "full-rank advi" if full_rank else "mean-field advi"
    tree = _from_blackjax(spec, found, method, seed)
    tree["optimization"] = xr.DataTree(xr.Dataset({"elbo": ("step", found.elbo)}))
    return tree


def _density(
    spec: ModelSpec,
    what: str,
    numbers: Mapping[str, int],
    seed: int | None,
    threads: int | None,
    client: Any,
    prior: bool,
) -> LogDensity:
    """Check the arguments of an approximation, and return the log density, perhaps in slices."""
    check_whole(what, **numbers)
    checked_seed(seed, what)
    check_observed(spec, what, prior)
    check_draws(what, spec.log_density.size, numbers["draws"])
    return in_slices(spec.log_density, threads, client, what)


def _from_blackjax(spec: ModelSpec, found: Any, method: str, seed: int) -> xr.DataTree:
    attributes = _provenance(found.library, found.version, found.seconds)
    attributes |= {"inference_method": method, "seed": seed}
    statistics = {"lp": found.log_p, "log_q": found.log_q}
    return _as_chain(spec, found.vectors, statistics, attributes)


def _as_chain(
    spec: ModelSpec,
    vectors: np.ndarray,
    statistics_of: Mapping[str, np.ndarray],
    attributes: Mapping[str, Any],
) -> xr.DataTree:
    """Label unconstrained vectors as the draws of one chain."""
    import xarray as xr

    statistics = xr.Dataset(
        {name: (("chain", "draw"), each[None]) for name, each in statistics_of.items()}
    )
    run = Run(Draws(vectors[None], statistics), None, 0.0, dict(attributes))
    tree = labeled(spec.log_density, run, True, ())
    with keeping(tree):
        return add_known_groups(spec, tree)


def _provenance(library: str, version: str, seconds: float) -> dict[str, Any]:
    return {
        "inference_library": library,
        "inference_library_version": version,
        "sampling_time": seconds,
    }


def _scipy_version() -> str:
    import scipy

    return scipy.__version__
