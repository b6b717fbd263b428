"""nutpie's sampler: its options, and its draws with the labels of a model."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.backends.progress import Progress
from dimtensor.errors import (
    ArgumentError,
    CheckError,
    DimtensorError,
    OptionError,
    did_you_mean,
)
from dimtensor.extras import require
from dimtensor.interop.nutpie_models import (
    STATISTICS_DIM,
    VECTOR,
    NutpieThreads,
    Record,
    compiled_model,
)
from dimtensor.interop.sampler_threads import Gate, the_end
from dimtensor.model.inference.raised import computation_error, named_gradient
from dimtensor.model.inference.runs import PARTIAL, Draws, Run, statistics_of
from dimtensor.model.inference.samplers import SamplerSettings
from dimtensor.model.inference.starts import check_moved, no_start, starting_points
from dimtensor.spellings import guessed

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity

_STATISTICS = {
    "logp": "lp",
    "depth": "tree_depth",
    "maxdepth_reached": "reached_max_treedepth",
    "mean_tree_accept": "acceptance_rate",
}
# Prefixes of the names of vector statistics, and the options that ask for them.
_LONGER = {
    "gradient": "store_gradient",
    "unconstrained_draw": "store_unconstrained",
    "mass_matrix": "store_mass_matrix",
    "divergence": "store_divergences",
    "transform": "store_transformed",
}
# Options that change the type of the result, and the alternative to each.
_INSTEAD = {
    "blocking": "it waits for the draws; nutpie.sample(model.to_nutpie(), blocking=False) does not",
    "return_raw_trace": "draws get their labels; see nutpie.sample(model.to_nutpie())",
    "zarr_store": "draws get their labels in memory; see nutpie.sample(model.to_nutpie())",
    "init_mean": "chains start around `initial`",
    "store_unconstrained": "flat vectors are kept with `unconstrained=True`",
}
_ADAPTATIONS = {"diag": "Diag", "draw_diag": "Diag", "low_rank": "LowRank", "flow": "Flow"}
# Seconds between two checks whether sampling should end.
_PERIOD = 0.1
# Number of points where the gradient is looked at: an element may have no slope at some of them.
_LOOKED_AT = 10


def to_nutpie(model: LogDensity) -> Any:
    """Make a model for ``nutpie.sample``, whose draws are named and labeled."""
    require("nutpie", "sampling", "to_nutpie")
    from dimtensor.upstream.nutpie import with_samplers_seen

    record = Record(model, flat=False)
    points = starting_points(model.initial_point, model.logp_and_grad)
    gate = Gate(holds=False)
    compiled = compiled_model(model, model.initial_point, points, record, gate)
    _check_moved(model, points)
    return with_samplers_seen(compiled, NutpieThreads(gate).seen)


def _check_moved(model: LogDensity, points: Callable[[Any], np.ndarray]) -> None:
    """Check that the log density depends on all elements where chains may start."""
    gradients: list[np.ndarray] = []
    for at in range(_LOOKED_AT):
        with suppress(CheckError):
            gradients.append(model.logp_and_grad(points(at))[1])
        if gradients and np.any([gradient != 0.0 for gradient in gradients], axis=0).all():
            return
    if gradients:
        check_moved(model.names, gradients)


def _run(
    options: Mapping[str, Any], model: LogDensity, start: np.ndarray, settings: SamplerSettings
) -> Run:
    """Run nutpie on the flat vectors.

    Compared with :func:`to_nutpie` one function less is compiled.
    """
    options = dict(options)
    nutpie = require("nutpie", "sampling", "dt.sample")
    from dimtensor.upstream.nutpie import settings_text, with_samplers_seen

    density = named_gradient(model)
    points = starting_points(start, density)
    gate = Gate(holds=True)
    threads = NutpieThreads(gate)
    compiled = compiled_model(model, start, points, Record(model, flat=True), gate)
    compiled = with_samplers_seen(compiled, threads.seen)
    _check_moved(model, points)
    started = time.perf_counter()
    asked = {name for name, x in options.items() if x}
    known = {"inference_library": "nutpie", "inference_library_version": nutpie.__version__}
    with Progress("sampling", wanted=settings.progress_bar) as progress, threads:
        callback = _progress_callback(progress, options.pop("progress_callback", None))
        running = _started(
            nutpie,
            compiled,
            draws=settings.draws,
            tune=settings.tune,
            chains=settings.chains,
            cores=settings.cores,
            seed=settings.seed,
            progress_bar=False,
            progress_callback=callback,
            save_warmup=settings.save_warmup,
            blocking=False,
            return_raw_trace=True,
            **options,
        )
        try:
            vectors, told = _finished(running, gate, model, start).get_arrow_trace()
        except BaseException as error:
            with suppress(Exception):
                seconds = time.perf_counter() - started
                error.__dict__[PARTIAL] = _partial_run(running, model.names, asked, seconds, known)
            raise
    seconds = time.perf_counter() - started
    text = settings_text(running)
    known |= {} if text is None else {"inference_library_settings": text}
    tuned = int(_column(told[0], "tuning").sum())
    kept = [slice(tuned, None), slice(tuned)] if settings.save_warmup else [slice(tuned, None)]
    found, *warmup = (_draws(vectors, told, rows, model.names, asked) for rows in kept)
    return Run(found, warmup[0] if warmup else None, seconds, known)


def _started(nutpie: Any, compiled: Any, **options: Any) -> Any:
    """Start a sampler in a thread without signal handlers: nutpie loses what they raise."""
    if threading.current_thread() is not threading.main_thread():
        return nutpie.sample(compiled, **options)
    # an interruption waits for the start, which does not take long; what has started is stopped
    with ThreadPoolExecutor(1, "dimtensor-starts-nutpie") as thread:
        return thread.submit(nutpie.sample, compiled, **options).result()


def _progress_callback(
    progress: Progress, other: Callable[[Any], Any] | None
) -> Callable[[Any], None]:
    """Make the callback that nutpie calls with the state of all chains, from its own thread."""

    def report(chains: Sequence[Any]) -> None:
        progress.total = sum(chain.total_draws for chain in chains)
        diverged = sum(chain.divergences for chain in chains)
        note = f"{diverged:,} divergences" if diverged else ""
        progress(sum(chain.finished_draws for chain in chains), note)
        if other is not None:
            other(chains)

    return report


def _finished(running: Any, gate: Gate, model: LogDensity, start: np.ndarray) -> Any:
    """Wait for the trace of a running sampler; stop it if the waiting is interrupted."""
    from dimtensor.upstream.nutpie import is_not_yet

    try:
        while gate.failure is None and not gate.closed:
            try:
                return running.wait(timeout=_PERIOD)
            except TimeoutError as error:
                if not is_not_yet(error):
                    raise
    except RuntimeError as error:
        if gate.closed:
            raise the_end() from error
        gate.close()
        if "initialization points failed" not in str(error):
            raise
        raise no_start(model, start) from error
    except (Exception, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of Rust's is no Exception, which people catch
        raise DimtensorError(
            "sample: nutpie came upon an error of its own, and its draws are lost",
            [("nutpie says", str(error))],
            "start elsewhere with initial={...}, or take sampler='blackjax' or 'numpyro'",
        ) from error
    failure, given = gate.failure, gate.failed_at
    if failure is None:
        raise the_end()
    if isinstance(failure, DimtensorError) or not isinstance(failure, Exception):
        raise failure
    raise computation_error(model, failure, given) from failure


def _partial_run(
    running: Any, names: Sequence[str], asked: Collection[str], seconds: float, known: dict
) -> Run | None:
    """Return the draws after tuning of a sampler that runs or has stopped; None if it has none."""
    vectors, told = running.inspect().get_arrow_trace()
    tuned = [int(_column(table, "tuning").sum()) for table in told]
    lengths = [table.num_rows - first for table, first in zip(told, tuned, strict=True)]
    kept, number = _kept_chains(lengths)
    if not number:
        return None
    rows = slice(tuned[kept[0]], tuned[kept[0]] + number)
    found = _draws([vectors[at] for at in kept], [told[at] for at in kept], rows, names, asked)
    return Run(found, None, seconds, known)


def _kept_chains(lengths: Sequence[int]) -> tuple[list[int], int]:
    """Choose chains, and a number of draws that each of them has, so that most draws are kept.

    >>> _kept_chains([100, 90, 20])
    ([0, 1], 90)
    """
    order = sorted(range(len(lengths)), key=lambda at: -lengths[at])
    number_of_chains = max(range(len(order)), key=lambda n: (n + 1) * lengths[order[n]]) + 1
    return sorted(order[:number_of_chains]), lengths[order[number_of_chains - 1]]


def _draws(
    vectors: Sequence[Any],
    statistics: Sequence[Any],
    rows: slice,
    names: Sequence[str],
    asked: Collection[str],
) -> Draws:
    """Make draws (or tuning draws) from rows of a table for each chain.

    nutpie makes a DataTree of them, which takes longer than to draw from a small model.
    """
    plain, longer = {}, {}
    for name in statistics[0].column_names:
        if name in ("chain", "draw"):
            continue
        if b"shape" not in statistics[0].column(name).field.metadata:
            parts = [_column(table, name, rows) for table in statistics]
            plain[_STATISTICS.get(name, name)] = np.stack(parts)
        elif all(option in asked for start, option in _LONGER.items() if name.startswith(start)):
            longer[name] = np.stack([_column(table, name, rows) for table in statistics])
    told = statistics_of(plain)
    if longer:
        dims = ("chain", "draw", STATISTICS_DIM)
        told = told.assign({name: (dims, x) for name, x in longer.items()})
        told = told.assign_coords({STATISTICS_DIM: np.asarray(names, dtype=object)})
    return Draws(np.stack([_column(table, VECTOR, rows) for table in vectors]), told)


def _column(table: Any, name: str, rows: slice = slice(None)) -> np.ndarray:
    """Return a column of nutpie's table, vectors as rows; NaN, 0 or None for nulls."""
    import pyarrow

    own = table.column(name)
    shape, column = own.field.metadata.get(b"shape"), pyarrow.array(own)[rows]
    if shape is None:
        if column.null_count and pyarrow.types.is_integer(column.type):
            column = column.fill_null(0)
        return column.to_numpy(zero_copy_only=False)
    length = int(shape)
    if not column.null_count:
        return column.flatten().to_numpy().reshape(len(column), length)
    found = np.full((len(column), length), np.nan)
    found[column.is_valid().to_numpy(zero_copy_only=False)] = (
        column.flatten().to_numpy().reshape(-1, length)
    )
    return found


class NutpieSampler:
    """No-U-Turn sampler of nutpie, whose chains are threads that call machine code."""

    keeps_warmup = True

    def prepare(self, options: Mapping[str, Any], known: Sequence[str]) -> Callable[..., Run]:
        """Check the options; see :class:`dimtensor.model.inference.samplers.Sampler`."""
        check_options(options, known)
        return partial(_run, options)


def check_options(options: Mapping[str, Any], own: Sequence[str]) -> None:
    """Check the options for nutpie, before anything is compiled.

    Parameters
    ----------
    options : dict
    own : sequence of str
        Options of ``dt.sample`` itself, for the guess at what was meant.

    Raises
    ------
    ArgumentError
        If nutpie has no such option, or the option changes what comes back.
    OptionError
        If nutpie does not take the value.
    """
    nutpie = require("nutpie", "sampling", "dt.sample")
    for name in options:
        if name in _INSTEAD:
            raise ArgumentError(f"sample does not take {name!r}: {_INSTEAD[name]}")
    known = [name for name in inspect.signature(nutpie.sample).parameters if name not in _INSTEAD]
    adaptation = options.get("adaptation", "diag")
    if adaptation not in _ADAPTATIONS:
        guess = did_you_mean(adaptation, list(_ADAPTATIONS))
        raise OptionError(f"sample: there is no adaptation {adaptation!r}{guess}")
    accept = options.get("target_accept", 0.5)
    if not isinstance(accept, (int, float, np.floating)) or not 0.0 < accept < 1.0:
        raise OptionError(f"sample: target_accept is between 0 and 1, not {accept!r}")
    settings, names = _settings(_ADAPTATIONS[adaptation])
    for name, value in options.items():
        if name in known or settings is None:
            continue
        try:
            settings.update({name: value})
        except AttributeError:
            guess = guessed(name, [*own, *known, *names])
            raise ArgumentError(
                f"sample has no option {name!r}{guess}",
                [("options", ", ".join(own)), ("of nutpie", "target_accept, maxdepth, …")],
            ) from None
        except (TypeError, ValueError) as error:
            raise OptionError(f"sample does not take {name}={value!r}: {error}") from None


def _settings(kind: str) -> tuple[Any, list[str]]:
    """Return nutpie's settings, which check the values of options, and their names."""
    from dimtensor.upstream.nutpie import settings_of

    settings = settings_of(kind)
    if settings is None:  # another version: it finds out for itself
        return None, []
    return settings, _leaf_names(settings.as_dict())


def _leaf_names(tree: Mapping[str, Any]) -> list[str]:
    names = []
    for name, value in tree.items():
        names += _leaf_names(value) if isinstance(value, Mapping) else [name]
    return names


SAMPLER = NutpieSampler()
