"""Sampling from log densities."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.arrays import check_whole
from dimtensor.compile.devices.mesh import Placement, check_used, read_placement
from dimtensor.compile.devices.shares import shares_of
from dimtensor.errors import (
    ArgumentError,
    GraphError,
    InputError,
    OptionError,
    SamplingWarning,
    warn,
)
from dimtensor.model.inference.diagnostics import judge
from dimtensor.model.inference.memory import check_draws
from dimtensor.model.inference.runs import PARTIAL, Run, holding, keeping, labeled
from dimtensor.model.inference.samplers import Sampler, SamplerSettings, sampler_of
from dimtensor.model.inference.starts import check_data
from dimtensor.model.logdensity import LogDensity, in_slices
from dimtensor.model.records import check_leading
from dimtensor.model.sliced.threads import chains_at_once
from dimtensor.model.terms import check_terms
from dimtensor.random.seeds import checked_seed
from dimtensor.spellings import spelled
from dimtensor.values.admission import real_numbers

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.dims import Dim
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import Data


@spelled("function")
def sample(
    model: LogDensity,
    draws: int = 1000,
    *,
    sampler: str = "nutpie",
    tune: int | None = None,
    chains: int = 4,
    cores: int | None = None,
    threads: int | None = None,
    client: Any = None,
    seed: int | None = None,
    progress_bar: bool = True,
    extra: Mapping[str, DimTensor] | None = None,
    initial: Data | None = None,
    save_warmup: bool = False,
    unconstrained: bool = False,
    log_likelihood: bool | str | Iterable[str] = False,
    report: bool = True,
    shard: Placement | Mapping[Dim | str, str | tuple[str, ...]] | None = None,
    **options: Any,
) -> xr.DataTree:
    """Draw from the posterior of a model with the No-U-Turn sampler.

    Parameters
    ----------
    model : LogDensity
    draws : int
        Draws of each chain after tuning.
    sampler : {"nutpie", "blackjax", "numpyro"}
        Whose. nutpie calls the machine code of the log density, the other two its JAX function,
        whatever the backend of the model. Groups and names are the same.
    tune : int, optional
        Draws of each chain for tuning. Where it is left out nutpie decides, and others tune for
        1,000.
    chains : int
    cores : int, optional
        Chains that run at the same time; where it is left out, as many as there are cores, or cores
        for all of their threads. Of nutpie alone: on JAX all chains are one program.
    threads : int, optional
        Threads of each chain, which compute the log density in slices of the data, if there is
        enough work for slices; otherwise the report says that there is not. Draws do not depend on
        their number. They pay for data beyond some 10,000 rows, where cores outnumber chains.
    client : distributed.Client, optional
        Cluster of dask that computes the log density in the same slices. The data are sent to its
        workers once; draws depend neither on their number nor on losses of workers, and are those
        of ``threads=1``. With too little work for slices this process computes the log density, and
        the report says so. It pays where an evaluation takes longer than some 20 ms.
    seed : int, optional
        One is drawn where it is left out; it is among the attributes of the result.
    progress_bar : bool
        Whether the progress is shown.
    extra : dict of str to DimTensor, optional
        More expressions to record, beside the model's deterministics.
    initial : dict or ndarray, optional
        Where the chains start, each at most 1 away from there in every unconstrained element, or 2
        where the log density is finite at none of 100 points that near: values of all parameters,
        or a flat vector. By default zeros of the flat vector.
    save_warmup : bool
        Whether the draws of tuning are kept in groups of their own.
    unconstrained : bool
        Whether the elements of the flat vectors are kept under the names of their parameters, in
        the group ``unconstrained_posterior``.
    log_likelihood : bool, str or iterable of str
        Terms of the log density, by name, that are kept element by element in the group
        ``log_likelihood``; True keeps all.
    report : bool
        Whether a line is printed when the draws are there: how many, how long it took, divergences,
        and the worst R-hat and effective sample size of the parameters with their names.
    shard : dict of Dim or str to str, or Placement, optional
        Axes of a mesh of devices by dim, for samplers on JAX: see :func:`dimtensor.mesh`. By
        default that of the context. ``{"chain": "chains"}`` runs chains on devices of their own;
        their number need not be a multiple of that of the devices.
    **options
        ``target_accept`` and ``maxdepth``; on JAX also ``dense_mass``; what else ``nutpie.sample``
        takes: ``adaptation``, ...

    Returns
    -------
    DataTree
        Groups ``posterior`` and ``sample_stats`` with the dims ``chain`` and ``draw``, then the
        model's with their labels: what ArviZ's functions take. Attributes say the library, its
        version, the seed, the tuning and how many seconds sampling took.

    Warns
    -----
    SamplingWarning
        If there are divergences or, with 100 draws of a chain or more, an R-hat above 1.01 or fewer
        than 100 effective draws for each chain.

    Raises
    ------
    MissingExtraError
        If the sampler is not installed.
    DimError
        If a dim of the model is named chain or draw.
    ArgumentError
        If there is no seed, or no such option.
    OptionError
        If a number is below 1 or no integer, or a seed is below 0 or has more than 63 bits.
    InputError
        If initial values lie outside of their supports.
    PartitionError
        If there are threads or a client, and no dim along which the log density can be cut.
    ComputationError
        If an operation of the log density raises an error, which is the cause of this one.
    MemoryLimitError
        If so many draws do not fit into memory.
    CheckError
        If the log density is not finite where the chains start, or a check of it fails there; if a
        check of something that is recorded fails. Where data are NaN it is said which, before
        anything is compiled.

    Notes
    -----
    Whatever fails after sampling does not lose the draws: the error has all groups that could be
    made, as its attribute ``draws``. So has an error or an interruption in the middle: draws after
    tuning, of the chains and the number that all of these have, so that most are kept.

    References
    ----------
    Hoffman and Gelman 2014, "The No-U-Turn Sampler", Journal of Machine Learning Research 15.
    Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021, "Rank-Normalization, Folding, and
    Localization", Bayesian Analysis 16.

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.scalar("x")
    >>> model = dt.LogDensity(-0.5 * x**2, {x: dt.real}, backend="python")
    >>> tree = dt.sample(
    ...     model, draws=5, tune=20, chains=2, seed=1, progress_bar=False, report=False
    ... )
    >>> dict(tree["posterior"]["x"].sizes)
    {'chain': 2, 'draw': 5}
    """
    optional = {"tune": tune, "cores": cores}
    given = {name: number for name, number in optional.items() if number is not None}
    _check(model, {"draws": draws, "chains": chains, **given}, seed)
    chosen = sampler_of(sampler)
    placements = _placements(model, chosen, sampler, shard)
    run_it = chosen.prepare(options, list(inspect.signature(sample).parameters)[1:-1])
    model = in_slices(model, threads, client, "sample")
    if any(placements) and model.functions.evaluator is not None:
        raise OptionError(
            "sample: a log density that is computed by threads, on a cluster or from a stream is "
            "not on devices"
        )
    if cores is None and threads is not None and model.functions.evaluator is not None:
        cores = chains_at_once(threads)
    model = model.with_deterministics(extra) if extra else model
    terms = _kept_terms(model, log_likelihood)
    _check_dims(model, terms)
    start = start_of(model, initial)
    kept = save_warmup or chosen.keeps_warmup
    check_draws("sample", model.size, draws, chains, tune or 0, kept)
    check_data(model, start)
    seed = any_seed() if seed is None else int(seed)
    settings = SamplerSettings(
        draws, tune, chains, cores, seed, progress_bar, save_warmup, *placements
    )
    try:
        run = run_it(model, start, settings)
    except BaseException as error:
        _hold_partial(model, error, seed, unconstrained)
        raise
    told = {"seed": seed, "sampling_time": run.seconds, **run.attributes}
    tree = labeled(model, replace(run, attributes=told), unconstrained, terms)
    asked_for_slices = threads is not None or client is not None
    with keeping(tree):
        _judge(model, tree, run.seconds, report)
        if report and asked_for_slices and model.functions.evaluator is None:
            print("the log density was computed as a whole: there is too little work for slices")
    return tree


def _hold_partial(model: LogDensity, error: BaseException, seed: int, unconstrained: bool) -> None:
    """Let an error hold the draws before it, if its sampler tells them."""
    run: Run | None = error.__dict__.pop(PARTIAL, None)
    if run is None:
        return
    told = {"seed": seed, "sampling_time": run.seconds, **run.attributes}
    try:
        holding(error, labeled(model, replace(run, attributes=told), unconstrained, []))
    except Exception as other:
        found = getattr(other, "draws", None)
        if found is not None:
            holding(error, found)


def _judge(model: LogDensity, tree: xr.DataTree, seconds: float, report: bool) -> None:
    names = [parameter.name for parameter in model.parameters]
    statistics = tree["sample_stats"].to_dataset()
    posterior = tree["posterior"].to_dataset()
    verdict = judge(posterior[names], statistics["diverging"], seconds)
    if report:
        print(verdict)
    complaint = verdict.complaint
    if complaint is not None and model.advise is not None:
        complaint = verdict.complaint_with(model.advise(posterior, verdict))
    if complaint is not None:
        warn(complaint, SamplingWarning)


def _placements(
    model: LogDensity, chosen: Sampler, name: str, shard: Any
) -> tuple[Placement | None, Placement | None]:
    """Return the placements of the log density and of chains on devices, None if not placed."""
    value = [model.functions.assembly.value.node]
    if not getattr(chosen, "on_devices", False):
        if shard is not None:
            raise OptionError(
                f"sample: the devices of shard are those of JAX, and {name} computes on processors",
                hint='sampler="numpyro", or "blackjax"',
            )
        return None, None
    placement = read_placement(shard)
    if placement is None:
        return None, None
    of_data = placement.of_data
    if of_data is not None:
        if shard is not None:
            check_used(of_data, value)
        if shares_of(of_data, value) is None:
            of_data = None
    return of_data, placement.of_chains


def _check_dims(model: LogDensity, kept: list[str]) -> None:
    recorded = [p.tensor for p in model.parameters] + list(model.deterministics.values())
    recorded += [model.terms[name] for name in kept]
    check_leading([dim._short for x in recorded for dim in x.dims], "sample")


def any_seed() -> int:
    """Draw a seed."""
    return int(np.random.SeedSequence().generate_state(1)[0] // 2)


def _kept_terms(model: LogDensity, asked: bool | str | Iterable[str]) -> list[str]:
    if asked is True and not model.terms:
        raise GraphError("sample: the log density is not given in terms by name")
    if isinstance(asked, bool):
        return list(model.terms) if asked else []
    names = [asked] if isinstance(asked, str) else list(asked)
    check_terms(model.terms, names)
    return names


def _check(model: Any, numbers: Mapping[str, int], seed: int | None) -> None:
    if not isinstance(model, LogDensity):
        text = f"sample takes a log density, not {type(model).__name__}"
        hint = "a model that has observed is sampled by its method: fit.sample(1000, seed=1)"
        raise ArgumentError(text, hint=hint)
    check_whole("sample", **numbers)
    checked_seed(seed, "sample")


def check_unknowns(model: LogDensity) -> None:
    """Check that there is something to move.

    Raises
    ------
    GraphError
        If there are no parameters, or all of them are empty.
    """
    if not model.size:
        raise GraphError(
            "nothing is unknown: the log density has no parameters with elements",
            [("parameters", ", ".join(p.name for p in model.parameters) or "none")],
            "draw() gives draws of what is not observed without a posterior",
        )


def start_of(model: LogDensity, initial: Any) -> np.ndarray:
    """Return the flat vector at which a search or chains start."""
    check_unknowns(model)
    if initial is None:
        return model.initial_point
    start = model.unconstrain(initial) if isinstance(initial, Mapping) else initial
    start = real_numbers(start, "the start of the chains")
    if start.shape != (model.size,):
        raise InputError(
            f"the chains start at one vector of shape ({model.size},), not {start.shape}"
        )
    return start
