"""Observations of a model: arrays that get their labels when these are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.errors import GraphError, printable
from dimtensor.values.labeled import with_row_numbers
from dimtensor.values.outputs import Held

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.streams.stream import StreamedValues


class Observation:
    """Values of one random variable, some of which may be missing.

    Importing xarray takes longer than a small model's first gradient, and values that came without
    labels need none of it.

    Parameters
    ----------
    value : Held or DataArray
    values : ndarray, optional
        Replacement of the values of `value`.
    numbered : tuple of str
        Axes of `value` whose rows a default index numbers; those of a Held are known.
    """

    def __init__(
        self,
        value: Held | xr.DataArray,
        values: np.ndarray | None = None,
        numbered: tuple[str, ...] = (),
    ):
        self.numbered = value.numbered if isinstance(value, Held) else numbered
        self._held = value if isinstance(value, Held) else None
        if not isinstance(value, Held):
            self.array = value  # in place of the property
        elif values is not None:
            self.values = values

    @cached_property
    def array(self) -> xr.DataArray:
        assert self._held is not None
        return self._held.labeled(self.values)

    @cached_property
    def values(self) -> np.ndarray:
        return self.array.values if self._held is None else self._held.values

    @cached_property
    def absent(self) -> np.ndarray:
        """Mask of missing values."""
        if self._held is None:
            return self.array.isnull().values
        if self.values.dtype == object:  # labels, and NaN
            gone = [x != x for x in self.values.ravel().tolist()]
            return np.array(gone, bool).reshape(self.values.shape)
        if self.values.dtype.kind in "mM":
            return np.isnat(self.values)
        if self.values.dtype.kind not in "fc":  # numbers or labels, none of which is missing
            return np.zeros(self.values.shape, bool)
        return np.isnan(self.values)

    @property
    def complete(self) -> bool:
        return not self.absent.any()

    @property
    def given(self) -> Any:
        """Values in a form that ``dt.data`` takes."""
        if self._held is None or self.numbered:
            return with_row_numbers(self.array, self.numbered)
        return self._held.names, self.values

    @property
    def there(self) -> Any:
        """Mask of known values, in a form that ``dt.data`` takes."""
        return self.array.notnull() if self._held is None else (self._held.names, ~self.absent)

    def filled(self, other: Any) -> Observation:
        """Replace missing values."""
        if self._held is None:
            return Observation(self.array.fillna(other), numbered=self.numbered)
        return Observation(self._held, np.where(self.absent, other, self.values))

    def astype(self, dtype: str) -> Observation:
        """Convert to another dtype."""
        if self.values.dtype == np.dtype(dtype):
            return self
        if self._held is None:
            return Observation(self.array.astype(dtype), numbered=self.numbered)
        return Observation(self._held, self.values.astype(dtype))

    def __reduce__(self) -> tuple:
        return Observation, (self.array, None, self.numbered)


class StreamedObservation(Observation):
    """Values of one random variable that are read from a stream; none is missing."""

    def __init__(self, stream: StreamedValues):
        self.stream = stream
        self.numbered = ()

    @property
    def array(self) -> xr.DataArray:
        raise GraphError(
            f"observations of {self.stream.name!r} are read from a stream, and this needs all of "
            "them in memory",
            hint="observe the values themselves; log densities, samplers, predictions and log "
            "likelihoods read streams",
        )

    @property
    def values(self) -> np.ndarray:
        return self.array.values

    @property
    def complete(self) -> bool:
        return True

    def __reduce__(self) -> tuple:
        return StreamedObservation, (self.stream,)


class Observations(Mapping[str, "xr.DataArray"]):
    """Labeled observations by name, which are labeled lazily."""

    def __init__(self, values: Mapping[str, Observation | xr.DataArray] | None = None):
        self.plain = {
            name: x if isinstance(x, Observation) else Observation(x)
            for name, x in (values or {}).items()
        }

    @property
    def streams(self) -> dict[str, StreamedValues]:
        """Streams of observations, by name."""
        return {n: x.stream for n, x in self.plain.items() if isinstance(x, StreamedObservation)}

    @property
    def in_memory(self) -> Observations:
        """The observations that are not read from streams."""
        streams = self.streams
        return Observations({n: x for n, x in self.plain.items() if n not in streams})

    def __getitem__(self, name: str) -> xr.DataArray:
        return self.plain[name].array

    def __contains__(self, name: object) -> bool:
        return name in self.plain

    def __iter__(self) -> Iterator[str]:
        return iter(self.plain)

    def __len__(self) -> int:
        return len(self.plain)

    @printable
    def __repr__(self) -> str:
        return repr({**self.streams, **{name: x.array for name, x in self.in_memory.plain.items()}})
