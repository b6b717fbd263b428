"""nutpie: models that it takes, and its draws with the labels of the model."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.backends import backend_of
from dimtensor.backends.progress import Progress
from dimtensor.errors import (
    CheckError,
    DimtensorError,
    InputError,
    build_message,
    did_you_mean,
)
from dimtensor.interop.callbacks import SLOPE, expand_callback, gradient_callback, table_of
from dimtensor.interop.extras import require
from dimtensor.model.assembly import FLAT
from dimtensor.model.inference.runs import Draws, Run, statistics_of
from dimtensor.model.inference.starts import check_moved, no_start, starting_points
from dimtensor.model.records import label_text

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity

# nutpie's own name of the dim of unconstrained elements in the statistics
_STATISTICS_DIM = "unconstrained_parameter"
# labels that nutpie takes; others are given to it as text
_LABEL_KINDS = ("string", "integer", "floating", "boolean")
_STATISTICS = {
    "logp": "lp",
    "depth": "tree_depth",
    "maxdepth_reached": "reached_max_treedepth",
    "mean_tree_accept": "acceptance_rate",
}
# how names of statistics begin that have an element for each parameter, and what asks for them
_LONGER = {
    "gradient": "store_gradient",
    "unconstrained_draw": "store_unconstrained",
    "mass_matrix": "store_mass_matrix",
    "divergence": "store_divergences",
    "transform": "store_transformed",
}
# what would change the kind of what comes back, and what to do in its place
_INSTEAD = {
    "blocking": "it waits for the draws; nutpie.sample(model.to_nutpie(), blocking=False) does not",
    "return_raw_trace": "draws get their labels; see nutpie.sample(model.to_nutpie())",
    "zarr_store": "draws get their labels in memory; see nutpie.sample(model.to_nutpie())",
    "init_mean": "chains start around `initial`",
    "store_unconstrained": "flat vectors are kept with `unconstrained=True`",
}
_ADAPTATIONS = {"diag": "Diag", "draw_diag": "Diag", "low_rank": "LowRank", "flow": "Flow"}
# points at which a density that depends on an element may be flat in it
_LOOKED_AT = 10
# a variable has not the name of its dim
_VECTOR = "vector"


def to_nutpie(model: LogDensity) -> Any:
    """A model for ``nutpie.sample``, whose draws are named and labelled."""
    record = _Record(model, flat=False)
    points = starting_points(model.initial_point, model.logp_and_grad)
    compiled = _compiled(model, model.initial_point, points, record)
    _check_moved(model, points)
    return compiled


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


def sample(
    model: LogDensity,
    start: np.ndarray,
    *,
    draws: int,
    tune: int | None,
    chains: int,
    cores: int | None,
    seed: int,
    progress_bar: bool,
    save_warmup: bool,
    **options: Any,
) -> Run:
    """Run nutpie on the flat vectors.

    Compared with :func:`to_nutpie` one function less is compiled.
    """
    nutpie = require("nutpie", "sampling", "dt.sample")
    from dimtensor.upstream.nutpie import settings_text

    points = starting_points(start, model.logp_and_grad)
    compiled = _compiled(model, start, points, _Record(model, flat=True))
    _check_moved(model, points)
    started = time.perf_counter()
    with Progress("sampling", wanted=progress_bar) as progress:
        tell = _told_to(progress, options.pop("progress_callback", None))
        running = nutpie.sample(
            compiled,
            draws=draws,
            tune=tune,
            chains=chains,
            cores=cores,
            seed=seed,
            progress_bar=False,
            progress_callback=tell,
            save_warmup=save_warmup,
            blocking=False,
            return_raw_trace=True,
            **options,
        )
        vectors, told = _finished(running, model, start).get_arrow_trace()
    seconds = time.perf_counter() - started
    known = {"inference_library": "nutpie", "inference_library_version": nutpie.__version__}
    settings = settings_text(running)
    known |= {} if settings is None else {"inference_library_settings": settings}
    tuned = int(_column(told[0], "tuning").sum())
    asked = {name for name, x in options.items() if x}
    kept = [slice(tuned, None), slice(tuned)] if save_warmup else [slice(tuned, None)]
    found, *warmup = (_draws(vectors, told, rows, model.names, asked) for rows in kept)
    return Run(found, warmup[0] if warmup else None, seconds, known)


def _told_to(progress: Progress, other: Callable[[Any], Any] | None) -> Callable[[Any], None]:
    """What nutpie calls with the state of all chains, from a thread of its own."""

    def tell(chains: Sequence[Any]) -> None:
        progress.total = sum(chain.total_draws for chain in chains)
        diverged = sum(chain.divergences for chain in chains)
        note = f"{diverged:,} divergences" if diverged else ""
        progress(sum(chain.finished_draws for chain in chains), note)
        if other is not None:
            other(chains)

    return tell


def _finished(running: Any, model: LogDensity, start: np.ndarray) -> Any:
    """The trace of a sampler that runs; it is stopped if the waiting for it is."""
    try:
        return running.wait()
    except RuntimeError as error:
        if "initialization points failed" not in str(error):
            raise
        raise no_start(model, start) from error
    except BaseException as error:
        # a panic of Rust's is no Exception, which people catch
        if not isinstance(error, (Exception, KeyboardInterrupt, SystemExit)):
            raise DimtensorError(
                build_message(
                    "sample: nutpie came upon an error of its own, and its draws are lost",
                    [("nutpie says", str(error))],
                    "start elsewhere with initial={...}, or take sampler='blackjax' or 'numpyro'",
                )
            ) from error
        running.cancel()
        raise


def _draws(
    vectors: Sequence[Any],
    statistics: Sequence[Any],
    rows: slice,
    names: Sequence[str],
    asked: Collection[str],
) -> Draws:
    """Draws, or those of tuning, from rows of a table for each chain.

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
        dims = ("chain", "draw", _STATISTICS_DIM)
        told = told.assign({name: (dims, x) for name, x in longer.items()})
        told = told.assign_coords({_STATISTICS_DIM: np.asarray(names, dtype=object)})
    return Draws(np.stack([_column(table, _VECTOR, rows) for table in vectors]), told)


def _column(table: Any, name: str, rows: slice = slice(None)) -> np.ndarray:
    """A column of a table of nutpie, with its vectors as rows; NaN, 0 or None where it has none."""
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


def prepared(options: Mapping[str, Any], own: Sequence[str]) -> Callable[..., Run]:
    """What samples with options that nutpie knows."""
    check_options(options, own)
    return partial(sample, **options)


def check_options(options: Mapping[str, Any], own: Sequence[str]) -> None:
    """Check what is passed on to nutpie before anything is compiled.

    Parameters
    ----------
    options : dict
    own : sequence of str
        Options of ``dt.sample`` itself, for the guess at what was meant.

    Raises
    ------
    InputError
        If nutpie knows no such option, does not take the value, or the option changes what comes
        back.
    """
    nutpie = require("nutpie", "sampling", "dt.sample")
    for name in options:
        if name in _INSTEAD:
            raise InputError(f"sample does not take {name!r}: {_INSTEAD[name]}")
    known = [name for name in inspect.signature(nutpie.sample).parameters if name not in _INSTEAD]
    adaptation = options.get("adaptation", "diag")
    if adaptation not in _ADAPTATIONS:
        guess = did_you_mean(adaptation, list(_ADAPTATIONS))
        raise InputError(f"sample: there is no adaptation {adaptation!r}{guess}")
    settings, names = _settings(_ADAPTATIONS[adaptation])
    for name, value in options.items():
        if name in known or settings is None:
            continue
        try:
            settings.update({name: value})
        except AttributeError:
            guess = did_you_mean(name, [*own, *known, *names])
            raise InputError(
                build_message(
                    f"sample has no option {name!r}{guess}",
                    [("options", ", ".join(own)), ("of nutpie", "target_accept, maxdepth, …")],
                )
            ) from None
        except (TypeError, ValueError) as error:
            raise InputError(f"sample does not take {name}={value!r}: {error}") from None


def _settings(kind: str) -> tuple[Any, list[str]]:
    """Nutpie's settings, which know what they take, and names of them."""
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


class _Record:
    """Layout of a draw for nutpie: names, shapes, dims and labels, in order.

    Either everything that the model records, or the flat vector alone.
    """

    def __init__(self, model: LogDensity, flat: bool):
        import pandas as pd

        self.flat = flat
        names = pd.Index(model.names)
        self.coords: dict[str, Any] = {_STATISTICS_DIM: names}
        self.dims: dict[str, tuple[str, ...]]
        self.shapes: list[tuple[int, ...]]
        if flat:
            self.names, self.shapes = [_VECTOR], [(model.size,)]
            self.dims, self.coords[FLAT] = {_VECTOR: (FLAT,)}, names
            return
        dataset = model.constrain(model.initial_point)
        self.names = [str(name) for name in dataset.data_vars]
        arrays = [dataset[name] for name in self.names]
        self.shapes = [array.shape for array in arrays]
        self.dims = {
            name: tuple(map(str, array.dims))
            for name, array in zip(self.names, arrays, strict=True)
        }
        for array in arrays:
            for dim in array.dims:
                index = array.indexes.get(dim, pd.RangeIndex(array.sizes[dim]))
                if pd.api.types.infer_dtype(index) not in _LABEL_KINDS:
                    index = pd.Index([label_text(label) for label in index])
                self.coords[str(dim)] = index

    @property
    def size(self) -> int:
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def split(self, vector: np.ndarray) -> dict[str, np.ndarray]:
        """Arrays by name out of the vector of all."""
        arrays, start = {}, 0
        for name, shape in zip(self.names, self.shapes, strict=True):
            stop = start + int(np.prod(shape))
            arrays[name] = vector[start:stop].reshape(shape)
            start = stop
        return arrays


def _compiled(
    model: LogDensity, start: np.ndarray, points: Callable[[Any], np.ndarray], record: _Record
) -> Any:
    require("nutpie", "sampling", "to_nutpie")
    with suppress(CheckError):  # chains start around this point, where checks may hold
        model.logp_and_grad(start)  # they start at the same time; only one should compile
    build = _machine_code if backend_of(model.backend).native else _python_code
    return build(model, points, record)


def _python_code(model: LogDensity, starting_points: Callable, record: _Record) -> Any:
    from nutpie.compiled_pyfunc import from_pyfunc

    expand: Callable[[np.ndarray], dict[str, np.ndarray]]
    if record.flat:

        def expand(x: np.ndarray) -> dict[str, np.ndarray]:
            return {_VECTOR: np.array(x)}
    else:
        everything = model.functions.positional("record")

        def expand(x: np.ndarray) -> dict[str, np.ndarray]:
            return record.split(np.asarray(everything(np.array(x))[0]))

    return from_pyfunc(
        ndim=model.size,
        make_logp_fn=lambda: _refusing(model),
        make_expand_fn=lambda seed1, seed2, chain: expand,
        expanded_dtypes=[np.dtype("float64")] * len(record.names),
        expanded_shapes=record.shapes,
        expanded_names=record.names,
        coords=record.coords,
        dims=record.dims,
        make_initial_point_fn=starting_points,
    )


def _refusing(model: LogDensity) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Value and gradient; a point where a check fails is refused, and the chain goes on."""

    def logp(x: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            value, gradient = model.logp_and_grad(x)
            return value, np.where(gradient == 0.0, SLOPE, gradient)
        except CheckError as error:
            error.is_recoverable = True  # type: ignore[attr-defined]  # nutpie asks for it
            raise

    return logp


def _machine_code(model: LogDensity, starting_points: Callable, record: _Record) -> Any:
    """A model of callbacks, as nutpie makes one of a PyMC model."""
    from nutpie.compile_pymc import CompiledPyMCModel

    functions = model.functions
    gradient = functions.c_function("logp_and_grad")
    expanded = None if record.flat else functions.c_function("record")
    table = table_of(model.size, gradient, expanded, record.size)
    stops = np.cumsum([int(np.prod(shape)) for shape in record.shapes])
    slices = [slice(a, b) for a, b in zip([0, *stops[:-1]], stops, strict=True)]
    return CompiledPyMCModel(
        _n_dim=model.size,
        dims=record.dims,
        _coords=record.coords,
        _shapes=dict(zip(record.names, record.shapes, strict=True)),
        compiled_logp_func=gradient_callback(),
        compiled_expand_func=expand_callback(),
        initial_point_func=starting_points,
        # nutpie keeps what is here as long as it samples
        shared_data={"functions": (gradient, expanded)},
        shared_var_keys={},
        user_data=table,
        n_expanded=record.size,
        shape_info=(record.names, slices, record.shapes),
        logp_func=None,
        expand_func=None,
    )
