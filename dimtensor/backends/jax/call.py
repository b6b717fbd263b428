"""Calling code of JAX with NumPy's arrays: in 64 bits, with few arrays crossing the border."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dimtensor.backends.jax.xla_cache import persistently
from dimtensor.caches import WeakIds, clears
from dimtensor.forks import freed_in_children
from dimtensor.kernels.generated import function_of_source
from dimtensor.scopes import heard
from dimtensor.tuning import AWAITED_BYTES, PACKED_ELEMENTS

_PACKED = np.dtype("float64")
# bytes by which memory has to be aligned for XLA to read it where it lies
_ALIGNED = 64

# arrays on the device by the host's, for as long as that is alive
_placed: WeakIds[np.ndarray, Any] = WeakIds()
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
    dtypes : sequence of str, optional
        Of the arrays; functions that are bound take no others.
    """

    def __init__(
        self,
        pure: Callable[..., Any],
        shared: Sequence[Callable[..., Any]],
        static: bool,
        stats: dict[str, float],
        dtypes: Sequence[str] = (),
    ):
        import jax

        self._pure = pure
        self._shared = shared
        self._static = static
        self._stats = stats
        self._dtypes = tuple(map(np.dtype, dtypes))
        self._in_64_bits = jax.enable_x64
        self._compiling = freed_in_children(threading.Lock())
        self._jitted = jax.jit(pure) if static else pure
        # by the number of arrays of a call, which precede the bound ones
        self._packings: dict[int, _Packing] = {}
        self._whole = self._of_first(())

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        """All arrays with the call; numbers are taken, too."""
        shared = [value(borrow=True) for value in self._shared]
        given = (one if hasattr(one, "shape") else np.asarray(one) for one in (*arrays, *shared))
        return self._whole(*given)

    def bind(self, data: Sequence[Any]) -> Callable[..., list[np.ndarray]]:
        """Bind data, which are transferred once, and return a function of the other arrays.

        It raises TypeError for arguments that are not arrays, or have another dtype.
        """
        n = len(self._dtypes) - len(data)
        return self._of_first(tuple(map(place, data)), self._dtypes[:n])

    def _of_first(
        self, placed: tuple[Any, ...], dtypes: tuple[np.dtype, ...] | None = None
    ) -> Callable[..., list[np.ndarray]]:
        """Return a function that specializes itself for the shapes of its first call."""
        run: Callable[..., list[np.ndarray]] | None = None

        def check(arrays: tuple[Any, ...]) -> None:
            if dtypes is not None and not _are(arrays, dtypes):
                raise TypeError("these are not as many arrays of the dtypes that are taken")

        def other(*arrays: Any) -> list[np.ndarray]:
            """Arrays unlike those of the first call."""
            check(arrays)
            with self._in_64_bits(True):
                results = self._jitted(*arrays, *placed)
                for result in results[:1]:
                    result.block_until_ready()  # see `AWAITED_BYTES`
                return [np.asarray(result) for result in results]

        def call(*arrays: Any) -> list[np.ndarray]:
            nonlocal run
            if run is None:
                if not self._static:
                    return other(*arrays)
                check(arrays)
                run = self._packing(arrays, placed).straight(placed, other, self._in_64_bits)
            return run(*arrays)

        return call

    def _packing(self, arrays: tuple[Any, ...], placed: tuple[Any, ...]) -> _Packing:
        """Compile for these arrays ahead of the call, which finds the result in JAX's caches.

        What runs during a call may compile functions of its own, in a callback, so the place of
        the persistent cache is not to be held then.
        """
        with self._compiling:
            packing = self._packings.get(len(arrays))
            if packing is None:
                started = time.perf_counter()
                packing = _Packing(self._pure, arrays, placed)
                heard(lambda: self._compile(packing, arrays, placed))
                self._stats["jit"] = time.perf_counter() - started
                self._packings[len(arrays)] = packing
            return packing

    def _compile(self, packing: _Packing, arrays: tuple[Any, ...], placed: tuple[Any, ...]) -> None:
        with self._in_64_bits(True):
            lowered = packing.jitted.lower(*packing.pack(arrays), *placed)
            persistently(lowered.compile)


def _are(arrays: Sequence[Any], dtypes: tuple[np.dtype, ...]) -> bool:
    try:
        return tuple(array.dtype for array in arrays) == dtypes
    except AttributeError:
        return False


class _Packing:
    """A function whose small arrays enter as one vector and leave as one.

    Arrays of the shapes of the first call are packed; others have to go the plain way.
    """

    def __init__(self, pure: Callable[..., Any], arrays: Sequence[Any], placed: Sequence[Any]):
        import jax

        small = [
            at
            for at, array in enumerate(arrays)
            if isinstance(array, np.ndarray)
            and array.dtype == _PACKED
            and 0 < array.size <= PACKED_ELEMENTS
        ]
        self._shapes = [np.shape(array) for array in arrays]
        self._dtypes = [array.dtype for array in arrays]
        self._placed_shapes = [array.shape for array in placed]
        self._small = small
        self._large = [at for at in range(len(arrays)) if at not in small]
        stops = np.cumsum([0, *(int(np.prod(self._shapes[at])) for at in small)]).tolist()
        # one more than there are numbers, so that no result is the vector itself
        self._length = stops[-1] + 1
        self._places = [
            slice(start, stop) if self._shapes[at] else start
            for start, stop, at in zip(stops, stops[1:], small, strict=False)
        ]
        self._pure = pure
        # set when the function is traced
        self._spans: list[tuple[int, Any, tuple[int, ...] | None]] = []
        self._apart: list[int] = []
        self._awaited: int | None = None
        self.jitted = jax.jit(self._run)

    def pack(self, arrays: Sequence[Any]) -> list[Any]:
        """Arrange arrays of the shapes of the first call as the function takes them."""
        if not self._small:
            return list(arrays)
        vector, entering = shared_vector(self._length)
        for place, at in zip(self._places, self._small, strict=True):
            vector[place] = np.ravel(arrays[at]) if self._shapes[at] else arrays[at]
        return [entering, *[arrays[at] for at in self._large]]

    def straight(
        self,
        placed: Sequence[Any],
        other: Callable[..., list[np.ndarray]],
        in_64_bits: Callable[[bool], Any],
    ) -> Callable[..., list[np.ndarray]]:
        """Generate a call without loops over arrays, once the function is traced.

        Beside a call of XLA, which leaves nothing of Python's in the cache, each line of Python
        takes several times as long as it does alone.

        The vector, and JAX's array of its memory, are used again when their call is done. JAX
        reads it where it lies until then, and no result is a view of it.

        Parameters
        ----------
        placed : sequence of array
            On the device, after the arrays of a call.
        other : callable
            Takes arrays of other shapes and dtypes.
        in_64_bits : callable
        """
        if [array.shape for array in placed] != self._placed_shapes:
            return other
        names: dict[str, Any] = {
            "asarray": np.asarray,
            "jitted": self.jitted,
            "spare": [],
            "shared_vector": shared_vector,
            "other": other,
            "in_64_bits": in_64_bits,
        }
        given = [f"a{at}" for at in range(len(self._shapes))]
        lines = [f"def call({', '.join(given)}):"]
        if given:
            names |= {f"shape{at}": shape for at, shape in enumerate(self._shapes)}
            names |= {f"dtype{at}": dtype for at, dtype in enumerate(self._dtypes)}
            differs = " or ".join(
                f"a{at}.shape != shape{at} or a{at}.dtype is not dtype{at}"
                for at in range(len(given))
            )
            away = f"return other({', '.join(given)})"
            lines += ["    try:", f"        if {differs}:", f"            {away}"]
            lines += ["    except AttributeError:", f"        {away}"]
        if self._small:
            lines += ["    try:", "        both = spare.pop()", "    except IndexError:"]
            lines.append(f"        both = shared_vector({self._length})")
            lines.append("    vector, entering = both")
            for place, at in zip(self._places, self._small, strict=True):
                names[f"place{at}"] = place
                value = f"a{at}.ravel()" if len(self._shapes[at]) > 1 else f"a{at}"
                lines.append(f"    vector[place{at}] = {value}")
        entering = ["entering"] if self._small else []
        entering += [given[at] for at in self._large]
        for at, array in enumerate(placed):
            names[f"placed{at}"] = array
            entering.append(f"placed{at}")
        # NumPy's arrays are turned into JAX's here, by the mode of the thread
        lines.append("    with in_64_bits(True):")
        lines.append(f"        results = jitted({', '.join(entering)})")
        if self._awaited is not None:
            lines.append(f"        results[{self._awaited}].block_until_ready()")
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
            lines.append("    spare.append(both)")
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
        for at, array in zip(self._large, rest, strict=False):
            arrays[at] = array
        results = self._pure(*arrays, *rest[len(self._large) :])
        small = [
            at
            for at, one in enumerate(results)
            if one.dtype == _PACKED and one.size <= PACKED_ELEMENTS
        ]
        if len(small) < 2:
            return self._to_leave(results)
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
        return self._to_leave([joined, *[results[at] for at in self._apart]])

    def _to_leave(self, results: Sequence[Any]) -> tuple[Any, ...]:
        """Note which of the results is the largest, if it is to be awaited."""
        sizes = [one.size * one.dtype.itemsize for one in results]
        large = max(sizes, default=0)
        self._awaited = sizes.index(large) if large >= AWAITED_BYTES else None
        return tuple(results)


def shared_vector(length: int) -> tuple[np.ndarray, Any]:
    """Make a float vector and a JAX array that shares its memory.

    To make JAX's array of one of NumPy's takes 10 microseconds, which are spent once where the
    device is the processor. Elsewhere the vector itself is taken, and read at each call.
    """
    import jax

    room = np.empty(length + _ALIGNED // 8)
    start = -room.ctypes.data % _ALIGNED // 8
    vector = room[start : start + length]
    if jax.default_backend() != "cpu":
        return vector, vector
    with jax.enable_x64(True):
        found = jax.dlpack.from_dlpack(vector)
    same = found.unsafe_buffer_pointer() == vector.ctypes.data
    return vector, found if same else vector


def place(array: Any) -> Any:
    """Transfer an array to JAX's device; a read-only array is transferred once.

    Data are as they were when they came here first: writing into the memory beneath a read-only
    view changes nothing.
    """
    import jax

    known = _placed.get(array)
    if known is not None:
        return known
    with jax.enable_x64(True):
        # a copy by NumPy: for a copy by JAX a function is compiled per shape
        placed = jax.device_put(np.array(array))
    return placed if array.flags.writeable else _placed.put(array, placed)
