"""Models for nutpie: callbacks, layout of draws, and the threads of its samplers."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.backends import backend_of
from dimtensor.caches import when_gone
from dimtensor.interop.callbacks import SLOPE, expand_callback, gradient_callback, table_of
from dimtensor.interop.sampler_threads import Gate, delist, enlist
from dimtensor.model.assembly import FLAT
from dimtensor.model.inference.raised import REFUSED, named_gradient
from dimtensor.values.datasets import arrays_of, label_text

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity

# nutpie's own name of the dim of unconstrained elements in the statistics
STATISTICS_DIM = "unconstrained_parameter"
# Name of the variable of flat vectors, which differs from the name of its dim.
VECTOR = "vector"
# Kinds of labels that nutpie takes; others become text.
_LABEL_KINDS = ("string", "integer", "floating", "boolean")
# Seconds between two checks whether threads have ended, while they are stopped and after it.
_PERIOD, _SHORT = 0.1, 0.002
# Seconds to wait for threads in the middle of a draw.
_PATIENCE = 60.0


class NutpieThreads:
    """Threads of the samplers that nutpie makes of one model; a context that waits for their end.

    Attributes
    ----------
    running : dict
        Samplers some of whose threads have not ended.
    """

    def __init__(self, gate: Gate):
        self._gate = gate
        self._sampling = False
        self.running: dict[Any, Any] = {}

    def seen(self, own: Any) -> Callable[[Any], None]:
        """Notice a sampler, by a copy of the model that its threads alone hold."""
        key, sign = object(), _Sign()
        when_gone(sign, partial(self.running.pop, key, None))
        self.running[key] = None
        object.__setattr__(own, "sign_of_life", sign)  # the class is frozen
        enlist(self)
        return lambda sampler: self.running.__setitem__(key, sampler)

    def stop(self) -> None:
        self._gate.close()
        if not self._gate.holds:  # otherwise who waits for the draws stops the sampler
            self._abort()

    def are_over(self) -> bool:
        return not self._sampling and self._all_ended()

    def _all_ended(self) -> bool:
        if self.running:
            from dimtensor.upstream.nutpie import drop_released

            drop_released()
        return not self.running

    def __enter__(self) -> None:
        enlist(self)
        self._sampling = True

    def __exit__(self, kind: Any, error: BaseException | None, raised: object) -> None:
        self._gate.close()
        try:
            self._end(error)
        finally:
            self._sampling = False
            if self.are_over():
                self._gate.leave()
            delist(self)

    def _end(self, error: BaseException | None) -> None:
        """Stop the threads and wait for them; an interruption ends the waiting."""
        if self._all_ended():
            return
        # nutpie waits for its threads without listening to interruptions
        aborting = threading.Thread(target=self._abort, name="dimtensor-stops-nutpie", daemon=True)
        try:
            aborting.start()
        except RuntimeError:  # at the end of the interpreter no thread starts
            self._abort()
        while aborting.is_alive():
            aborting.join(_PERIOD)
        while error is not None:  # where nutpie was interrupted, frames hold its sampler
            traceback.clear_frames(error.__traceback__)
            error = error.__cause__ or error.__context__
        until = time.monotonic() + _PATIENCE
        while not self._all_ended() and time.monotonic() < until:
            time.sleep(_SHORT)

    def _abort(self) -> None:
        """Stop after the draws that the chains are at."""
        for sampler in list(self.running.values()):
            with suppress(BaseException):  # a chain that panics says so to who waits for the draws
                sampler.abort()


class _Sign:
    """Token whose lifetime tells how long its owner lives."""


class Record:
    """Layout of a draw for nutpie: names, shapes, dims and labels, in order.

    Either everything that the model records, or the flat vector alone.
    """

    def __init__(self, model: LogDensity, flat: bool):
        import pandas as pd

        self.flat = flat
        names = pd.Index(model.names)
        self.coords: dict[str, Any] = {STATISTICS_DIM: names}
        self.dims: dict[str, tuple[str, ...]]
        self.shapes: list[tuple[int, ...]]
        if flat:
            self.names, self.shapes = [VECTOR], [(model.size,)]
            self.dims, self.coords[FLAT] = {VECTOR: (FLAT,)}, names
            return
        dataset = model.constrain(model.initial_point)
        found = arrays_of(dataset)
        self.names, arrays = [*map(str, found)], [*found.values()]
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


def compiled_model(
    model: LogDensity,
    start: np.ndarray,
    points: Callable[[Any], np.ndarray],
    record: Record,
    gate: Gate,
) -> Any:
    with suppress(*REFUSED):  # chains start around this point, where checks may hold
        named_gradient(model)(start)  # they start at the same time; only one should compile
    by_machine = backend_of(model.backend).native and model.functions.evaluator is None
    build = _machine_code if by_machine else _python_code
    return build(model, gate.through(points), record, gate)


def _python_code(model: LogDensity, starting_points: Callable, record: Record, gate: Gate) -> Any:
    from nutpie.compiled_pyfunc import from_pyfunc

    expand: Callable[[np.ndarray], dict[str, np.ndarray]]
    if record.flat:

        def expand(x: np.ndarray) -> dict[str, np.ndarray]:
            return {VECTOR: np.array(x)}
    else:
        everything = model.functions.positional("record")

        def expand(x: np.ndarray) -> dict[str, np.ndarray]:
            return record.split(np.asarray(everything(np.array(x))[0]))

    return from_pyfunc(
        ndim=model.size,
        make_logp_fn=lambda: gate.through(_refusing(model), _normal, REFUSED),
        make_expand_fn=lambda seed1, seed2, chain: expand,
        expanded_dtypes=[np.dtype("float64")] * len(record.names),
        expanded_shapes=record.shapes,
        expanded_names=record.names,
        coords=record.coords,
        dims=record.dims,
        make_initial_point_fn=starting_points,
    )


def _normal(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Compute a placeholder density, for chains that were stopped."""
    return -0.5 * float(x @ x), -x


def _refusing(model: LogDensity) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Return the density as a function; points where a check fails are rejected proposals."""

    def logp(x: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            value, gradient = model.logp_and_grad(x)
            return value, np.where(gradient == 0.0, SLOPE, gradient)
        except REFUSED as error:
            error.__dict__["is_recoverable"] = True  # nutpie asks for it
            raise

    return logp


def _machine_code(model: LogDensity, starting_points: Callable, record: Record, gate: Gate) -> Any:
    """Make a model of machine-code callbacks, as nutpie does for PyMC models."""
    from nutpie.compile_pymc import CompiledPyMCModel

    functions = model.functions
    gradient = functions.c_function("logp_and_grad")

    stop = functions.get("logp_and_grad").positional.conditions.stop
    fine = [np.True_] * max(0, stop - 2)

    def after_all(x: np.ndarray, *fixed: Any) -> list[Any]:
        return [*_normal(x), *fine]

    gradient.call_through(lambda call: gate.through(call, after_all))
    expanded = None if record.flat else functions.c_function("record")
    gate.functions += [each for each in (gradient, expanded) if each is not None]
    gate.leave()
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
        # nutpie holds references to these objects while it samples
        shared_data={"functions": (gradient, expanded)},
        shared_var_keys={},
        user_data=table,
        n_expanded=record.size,
        shape_info=(record.names, slices, record.shapes),
        logp_func=None,
        expand_func=None,
    )
