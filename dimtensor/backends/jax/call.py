"""Calling code of JAX with NumPy's arrays: in 64 bits, with few arrays crossing the border."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dimtensor.backends.jax.xla_cache import persistent_cache
from dimtensor.caches import clears
from dimtensor.kernels.generated import function_of_source

# Every array that enters or leaves costs microseconds, whatever its size: arrays of at most so many
# elements travel in one.
_SMALL = 1024
_PACKED = np.dtype("float64")

# arrays on the device by the id of the host's, for as long as that is alive
_placed: dict[int, tuple[weakref.ref, Any]] = {}
clears(_placed.clear)


class HostCall:
    """Runs a function of JAX arrays on NumPy's, in 64 bits.

    Parameters
    ----------
    pure : callable
        Takes arrays, gives a tuple of arrays.
    shared : sequence of callable
        Give the values of PyTensor's shared variables, which follow the arrays of a call.
    static : bool
        Whether it can be jitted.
    stats : dict
        Gets ``jit``, the seconds of tracing and XLA.
    """

    def __init__(
        self,
        pure: Callable[..., Any],
        shared: Sequence[Callable[..., Any]],
        static: bool,
        stats: dict[str, float],
    ):
        import jax

        self._pure = pure
        self._shared = shared
        self._stats = stats
        self._in_64_bits = jax.enable_x64
        self._compiling = threading.Lock()
        self._jitted = jax.jit(pure) if static else pure
        self._packing: _Packing | None = None
        self._compiled = not static

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        if self._shared:
            arrays = (*arrays, *[value(borrow=True) for value in self._shared])
        if not self._compiled:
            self._compile(arrays)
        # NumPy's arrays are turned into JAX's here, by the mode of the thread
        with self._in_64_bits(True):
            packing = self._packing
            if packing is not None:
                results = packing.call(arrays)
                if results is None and not all(hasattr(array, "shape") for array in arrays):
                    arrays = tuple(map(np.asarray, arrays))
                    results = packing.call(arrays)
                if results is not None:
                    return results
            return [np.asarray(result) for result in self._jitted(*arrays)]

    def _compile(self, arrays: Sequence[Any]) -> None:
        """Compile for these arrays ahead of the call, which finds the result in JAX's caches.

        What runs during a call may compile functions of its own, in a callback, so the place of
        the persistent cache is not to be held then.
        """
        with self._compiling:
            if self._compiled:
                return
            started = time.perf_counter()
            packing = _Packing(self._pure, arrays)
            with self._in_64_bits(True):
                lowered = packing.jitted.lower(*(packing.pack(arrays) or ()))
                with persistent_cache():
                    lowered.compile()
            packing.call = packing.straight()
            self._packing = packing
            self._stats["jit"] = time.perf_counter() - started
            self._compiled = True


class _Packing:
    """A function whose small arrays enter as one vector and leave as one.

    Arrays of the shapes of the first call are packed; others have to go the plain way.

    Attributes
    ----------
    call : callable
        Gives the results for a tuple of arrays; None if their shapes differ, or one has no shape.
    """

    call: Callable[[Sequence[Any]], list[np.ndarray] | None]

    def __init__(self, pure: Callable[..., Any], arrays: Sequence[Any]):
        import jax

        small = [
            at
            for at, array in enumerate(arrays)
            if isinstance(array, np.ndarray) and array.dtype == _PACKED and 0 < array.size <= _SMALL
        ]
        self._shapes = [np.shape(array) for array in arrays]
        self._small = small if len(small) > 1 else []
        self._large = [at for at in range(len(arrays)) if at not in self._small]
        stops = np.cumsum([0, *(int(np.prod(self._shapes[at])) for at in self._small)]).tolist()
        self._length = stops[-1]
        self._places = [
            slice(start, stop) if self._shapes[at] else start
            for start, stop, at in zip(stops, stops[1:], self._small, strict=False)
        ]
        self._pure = pure
        # set when the function is traced
        self._spans: list[tuple[int, Any, tuple[int, ...] | None]] = []
        self._apart: list[int] = []
        self.jitted = jax.jit(self._run)

    def pack(self, arrays: Sequence[Any]) -> list[Any]:
        """The arrays that the function takes, of arrays of the shapes of the first call."""
        if not self._small:
            return list(arrays)
        vector = np.empty(self._length)
        for place, at in zip(self._places, self._small, strict=True):
            vector[place] = np.ravel(arrays[at]) if self._shapes[at] else arrays[at]
        return [vector, *[arrays[at] for at in self._large]]

    def straight(self) -> Callable[[Sequence[Any]], list[np.ndarray] | None]:
        """A call without loops over arrays, once the function is traced.

        Beside a call of XLA, which leaves nothing of Python's in the cache, each line of Python
        takes several times as long as it does alone.

        The vector is used again when its call is done. JAX may read it where it lies until then,
        and no result is a view of it: of an array that it holds whole it would be.
        """
        names: dict[str, Any] = {"asarray": np.asarray, "empty": np.empty, "jitted": self.jitted}
        names["spare"] = []
        given = [f"a{at}" for at in range(len(self._shapes))]
        lines = [
            "def call(arrays):",
            f"    if len(arrays) != {len(given)}:",
            "        return None",
        ]
        if given:
            lines.append(f"    {', '.join(given)}, = arrays")
            names |= {f"shape{at}": shape for at, shape in enumerate(self._shapes)}
            differs = " or ".join(f"a{at}.shape != shape{at}" for at in range(len(given)))
            lines += ["    try:", f"        if {differs}:", "            return None"]
            lines += ["    except AttributeError:", "        return None"]
        if self._small:
            lines += ["    try:", "        vector = spare.pop()", "    except IndexError:"]
            lines.append(f"        vector = empty({self._length})")
            for place, at in zip(self._places, self._small, strict=True):
                names[f"place{at}"] = place
                value = f"a{at}.ravel()" if len(self._shapes[at]) > 1 else f"a{at}"
                lines.append(f"    vector[place{at}] = {value}")
        entering = ["vector"] if self._small else []
        entering += [given[at] for at in self._large]
        lines.append(f"    results = jitted({', '.join(entering)})")
        if self._spans:
            found = [""] * (len(self._spans) + len(self._apart))
            lines.append("    joined = asarray(results[0])")
            for at, span, shape in self._spans:
                names[f"span{at}"], names[f"form{at}"] = span, shape
                found[at] = f"joined[span{at}]"
                if shape is not None:
                    found[at] += f".reshape(form{at})"
            for number, at in enumerate(self._apart, start=1):
                found[at] = f"asarray(results[{number}])"
            lines.append(f"    found = [{', '.join(found)}]")
        else:
            lines.append("    found = [asarray(result) for result in results]")
        if self._small:
            lines.append("    spare.append(vector)")
        lines.append("    return found")
        return function_of_source("\n".join(lines) + "\n", "call", names)

    def _run(self, *packed: Any) -> tuple[Any, ...]:
        import jax.numpy as jnp

        arrays: list[Any] = [None] * len(self._shapes)
        rest = packed
        if self._small:
            vector, *rest = packed  # type: ignore[assignment]
            for at, place in zip(self._small, self._places, strict=True):
                arrays[at] = vector[place].reshape(self._shapes[at])
        for at, array in zip(self._large, rest, strict=True):
            arrays[at] = array
        results = self._pure(*arrays)
        small = [
            at for at, one in enumerate(results) if one.dtype == _PACKED and one.size <= _SMALL
        ]
        if len(small) < 2:
            return tuple(results)
        stops = np.cumsum([results[at].size for at in small]).tolist()
        starts = [0, *stops[:-1]]
        self._apart = [at for at in range(len(results)) if at not in small]
        shapes = [results[at].shape for at in small]
        self._spans = [
            # a number and an ellipsis make a view without axes
            (at, slice(start, stop) if shape else (start, ...), shape if len(shape) > 1 else None)
            for at, start, stop, shape in zip(small, starts, stops, shapes, strict=True)
        ]
        joined = jnp.concatenate([results[at].ravel() for at in small])
        return joined, *[results[at] for at in self._apart]


def place(array: Any) -> Any:
    """The array on JAX's device; for read-only arrays the same one again.

    Data are as they were when they came here first: writing into the memory beneath a read-only
    view changes nothing.
    """
    import jax

    key = id(array)
    known = _placed.get(key)
    if known is not None and known[0]() is array:
        return known[1]
    with jax.enable_x64(True):
        placed = jax.numpy.array(array)
    if not array.flags.writeable:
        forget = _placed.pop  # while the interpreter ends, the name of the table may be gone
        _placed[key] = (weakref.ref(array, lambda _: forget(key, None)), placed)
    return placed
