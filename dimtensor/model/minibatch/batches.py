"""Mini-batches of a log density."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.arrays import check_whole
from dimtensor.dims import Dim
from dimtensor.errors import (
    ArgumentError,
    InputError,
    OptionError,
    PositionError,
    did_you_mean,
    listing,
    printable,
)
from dimtensor.model.minibatch.estimate import Estimate, split_of
from dimtensor.model.minibatch.strata import Strata
from dimtensor.model.minibatch.streamed import ChunkBatches, random_rows, reader_of
from dimtensor.random.seeds import checked_seed
from dimtensor.streams.reading import RowReader
from dimtensor.tensor.handle import TensorHandle
from dimtensor.values.data import title_of

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity
    from dimtensor.typing import ArrayLike


class Minibatch(NamedTuple):
    """Rows of a mini-batch: a tuple of arrays, and so a pytree of JAX.

    Attributes
    ----------
    positions : ndarray of int
        Of the rows along the dim.
    weight : ndarray
        The number of rows that each row of the batch represents: one for all, or one for each.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> y, mu = dt.data(np.arange(10.0), dims=obs, name="y"), dt.scalar("mu")
    >>> density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
    >>> positions, weight = next(iter(density.minibatch(obs, size=5, seed=1)))
    >>> positions.shape, weight.item()
    ((5,), 2.0)
    """

    positions: np.ndarray
    weight: np.ndarray


class StreamedMinibatch(NamedTuple):
    """Rows of a mini-batch whose data are read from streams: a pytree of JAX.

    Attributes
    ----------
    positions, weight : ndarray
        As of :class:`Minibatch`.
    rows : tuple of ndarray
        Values of the streams in these rows, labels as positions.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> y, mu = dt.stream(np.arange(10.0), dims=obs, name="y"), dt.scalar("mu")
    >>> density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
    >>> batch = density.minibatch(obs, size=2).take([3, 9])
    >>> batch.weight.item(), batch.rows[0].tolist()
    (5.0, [3.0, 9.0])
    """

    positions: np.ndarray
    weight: np.ndarray
    rows: tuple[np.ndarray, ...]


class BatchOptions(NamedTuple):
    """Arguments of :meth:`LogDensity.minibatch`."""

    size: int
    seed: int | None = None
    by: Any = None
    replace: bool = False


class Minibatches:
    """Log density of a model, estimated from random rows; made by :meth:`Model.minibatch`.

    What is counted once, such as priors, is computed exactly. The shares of the rows of a batch
    are multiplied by the number of rows that each represents. The expected value over random
    batches is the log density of all rows, and the gradient's is its gradient.

    Iterating yields batches without end, the same for the same seed. A batch is a tuple of the
    positions of rows and their weight, and so a pytree of JAX. All have the same number of rows.
    The rows are shuffled, and taken in pieces. When fewer rows are left than a batch has, these are
    left out, and all are shuffled again: they are a random subset, so that each batch is one, too,
    and its estimate is unbiased.

    Batches of streams hold the values of their rows. Arrays in memory and in files, of NumPy or
    mapped, give batches of independent random subsets of all rows: no order of all rows is kept.
    Other stores read a whole chunk for a row, so there the rows of a batch are of one random chunk.
    This is unbiased, too, and noisier where the rows of a chunk resemble each other.

    Attributes
    ----------
    density : LogDensity
    dim : Dim
    size : int
        Rows of a batch.
    length : int
        Number of all rows.

    Examples
    --------
    >>> import itertools, dimtensor as dt
    >>> obs = dt.Dim("obs")
    >>> y, mu = dt.data(np.arange(10.0), dims=obs, name="y"), dt.scalar("mu")
    >>> logp = {"mu": -(mu**2), "y": -((y - mu) ** 2)}
    >>> density = dt.LogDensity(logp, {mu: dt.real}, backend="python")
    >>> batches = density.minibatch(obs, size=5, seed=1)
    >>> batches
    <Minibatches of 5 of 10 rows along 'obs'>
    >>> x = np.array([2.0])
    >>> first, second = itertools.islice(batches, 2)  # half of the rows each
    >>> estimates = [batches.logp(x, batch) for batch in (first, second)]
    >>> float(np.mean(estimates).round(9)), density.logp(x)
    (-149.0, -149.0)
    """

    def __init__(self, density: LogDensity, dim: Dim | str, options: BatchOptions):
        size, seed, by, replace = options
        check_whole("minibatch", size=size)
        found = split_of(density, dim)
        self.density = density
        self.dim = found.dim
        self.size = int(size)
        self._reader = reader_of([density.expression.node], found.dim)
        self.length = _length_of(density, found.dim, self._reader)
        self._seed = checked_seed(seed, "minibatch")
        self._replace = replace
        title = self.dim._title
        if not self.length:
            raise OptionError(f"minibatch: {title} has no rows")
        if not replace and size > self.length:
            raise OptionError(
                f"minibatch: size={size} is more than the {self.length} rows along {title}",
                hint=f"size={self.length}; with replace=True rows occur several times",
            )
        self._chunks: ChunkBatches | None = None
        if self._reader is not None and not self._reader.gathers_rows:
            self._chunks = ChunkBatches(self._reader, self.size)
            if by is not None:
                raise OptionError(
                    "minibatch: the rows of a batch are of one chunk, and strata need rows from "
                    f"anywhere, as {self._reader.columns[0].title} is read chunk by chunk",
                    hint="files of NumPy and memory maps have strata",
                )
        is_stream = self._reader is not None
        self._groups = _RowStrata.of(density, self.dim, self.length, by, is_stream)
        if size < len(self._groups.names):
            raise OptionError(
                f"minibatch: size={size} is less than the number of strata, "
                f"{len(self._groups.names)}: each needs a row in a batch",
                [("strata", listing(self._groups.names))],
                f"size={len(self._groups.names)}",
            )
        draws_rows = is_stream and by is None
        self._strata = None if draws_rows else Strata(self._groups.numbers, self.size)
        self._estimate = Estimate(density, found, by is not None, self.size, self.length)
        self._ready: dict[str, Callable[..., Any]] = {}

    def __iter__(self) -> Iterator[Minibatch | StreamedMinibatch]:
        rng = np.random.default_rng(self._seed)
        if self._chunks is not None:
            for positions, represented, rows in self._chunks.draw(self._replace, rng):
                yield StreamedMinibatch(positions, np.asarray(represented), rows)
        if self._strata is None:
            weight = np.asarray(self.length / self.size)
            drawn = random_rows(self.length, self.size, self._replace, rng)
        else:
            weights = self._strata.weights
            weight = weights if self._groups.is_asked else np.asarray(weights[0])
            drawn = self._strata.batches(rng, self._replace)
        for positions in drawn:
            yield self._batch(positions, weight)

    def _batch(self, positions: np.ndarray, weight: np.ndarray) -> Minibatch | StreamedMinibatch:
        if self._reader is None:
            return Minibatch(positions, weight)
        order = np.argsort(positions, kind="stable")
        values = self._reader.take(positions[order])
        back = np.argsort(order)
        return StreamedMinibatch(positions, weight, tuple(x[back] for x in values))

    def take(self, positions: ArrayLike) -> Minibatch | StreamedMinibatch:
        """Make a batch of given rows.

        Each row represents as many rows as there are for each row of its stratum in the batch.

        Parameters
        ----------
        positions : array of int
            Positions along the dim; a row may occur several times.

        Returns
        -------
        Minibatch or StreamedMinibatch

        Raises
        ------
        OptionError
            If a stratum has no row in the batch.
        PositionError
            If there is no such row.
        InputError
            If these are no positions.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs = dt.Dim("obs")
        >>> y, mu = dt.data(np.arange(10.0), dims=obs, name="y"), dt.scalar("mu")
        >>> density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
        >>> batch = density.minibatch(obs, size=2).take([3, 9])
        >>> batch.positions.tolist(), batch.weight.item()
        ([3, 9], 5.0)
        """
        rows = np.array(positions)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or not rows.size:
            raise InputError(
                "minibatch: positions are integers along one axis, at least one",
                [("given", f"dtype {rows.dtype}, shape {rows.shape}")],
            )
        rows = rows.astype(np.int64, copy=False)
        if rows.view(np.uint64).max() >= self.length:  # as one of below zero, too
            wrong = next(at for at in (rows.min(), rows.max()) if not 0 <= at < self.length)
            raise PositionError(
                f"minibatch: there is no row {wrong}: {self.dim._title} has {self.length}"
            )
        if not self._groups.is_asked:
            return self._batch(rows, np.asarray(self.length / rows.size))
        groups = self._groups
        assert self._strata is not None
        numbers = groups.numbers[rows]
        counts = np.bincount(numbers, minlength=len(groups.names))
        if not counts.all():
            missing = [name for name, count in zip(groups.names, counts, strict=True) if not count]
            raise OptionError(
                "minibatch: a batch has at least one row of each stratum",
                [("strata without", listing(missing))],
            )
        weights = (self._strata.lengths / counts)[numbers]
        return self._batch(rows, weights)

    @property
    def whole(self) -> Minibatch | StreamedMinibatch:
        """The batch of all rows, whose estimate is the log density."""
        return self.take(np.arange(self.length))

    # -- estimates -------------------------------------------------------------------------------

    def logp_and_grad(
        self, x: ArrayLike, batch: Minibatch | StreamedMinibatch
    ) -> tuple[float, np.ndarray]:
        """Estimate the log density and its gradient.

        Parameters
        ----------
        x : ndarray
            Shape (size,), as of :meth:`LogDensity.logp_and_grad`.
        batch : Minibatch

        Returns
        -------
        float, ndarray

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs = dt.Dim("obs")
        >>> y, mu = dt.data(np.arange(10.0), dims=obs, name="y"), dt.scalar("mu")
        >>> density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
        >>> batches = density.minibatch(obs, size=2)
        >>> value, gradient = batches.logp_and_grad(np.zeros(1), batches.take([3, 9]))
        >>> value, gradient.tolist()  # 5 * (9 + 81), 5 * 2 * (3 + 9)
        (-450.0, [120.0])
        """
        value, gradient = self._function("logp_and_grad")(self.density._vector(x), batch)
        return float(value), gradient

    def logp(self, x: ArrayLike, batch: Minibatch | StreamedMinibatch) -> float:
        """Estimate the log density; see :meth:`logp_and_grad`.

        Parameters
        ----------
        x : ndarray of shape (size,)
        batch : Minibatch

        Returns
        -------
        float

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs = dt.Dim("obs")
        >>> y, mu = dt.data(np.arange(10.0), dims=obs, name="y"), dt.scalar("mu")
        >>> density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
        >>> batches = density.minibatch(obs, size=2)
        >>> batches.logp(np.zeros(1), batches.take([3, 9]))
        -450.0
        """
        return float(self._function("logp")(self.density._vector(x), batch)[0])

    def _function(self, kind: str) -> Callable[[np.ndarray, Minibatch | StreamedMinibatch], Any]:
        found = self._ready.get(kind)
        if found is None:
            positional = self._estimate.function(kind).positional
            lengths = self._estimate.lengths
            orders = self._estimate.orders(kind)

            def found(x: np.ndarray, batch: Minibatch | StreamedMinibatch) -> Any:
                if len(batch) == 2:
                    return positional(x, *batch, *lengths)
                values = zip(batch.rows, orders, strict=True)
                streamed = [np.ascontiguousarray(x.transpose(order)) for x, order in values]
                return positional(x, batch.positions, batch.weight, *streamed, *lengths)

            self._ready[kind] = found
        return found

    def to_blackjax(self) -> Callable[[Any, Any], Any]:
        """Return the estimate as a pure JAX function of the flat vector and a batch.

        It may be jitted, differentiated with respect to the vector, and vmapped, as the function of
        :meth:`LogDensity.to_blackjax`. ``jax.grad`` of it is what ``blackjax.sgld`` takes.

        Returns
        -------
        callable
            From an array of shape (size,) and a ``Minibatch`` to a scalar.

        Raises
        ------
        MissingExtraError
            If JAX is not installed.

        Examples
        --------
        >>> import dimtensor as dt
        >>> obs = dt.Dim("obs")
        >>> y, mu = dt.data(np.arange(10.0), dims=obs, name="y"), dt.scalar("mu")
        >>> density = dt.LogDensity({"y": -((y - mu) ** 2)}, {mu: dt.real}, backend="python")
        >>> batches = density.minibatch(obs, size=2)
        >>> float(batches.to_blackjax()(np.zeros(1), batches.take([3, 9])))
        -450.0
        """
        from dimtensor.interop.blackjax import minibatch_to_blackjax

        return minibatch_to_blackjax(self.density, self._estimate)

    @printable
    def __repr__(self) -> str:
        if self._chunks is not None:
            return (
                f"<Minibatches of {self.size} rows of a chunk, of {self.length} along "
                f"{self.dim._short!r}>"
            )
        strata = f", in {len(self._groups.names)} strata" if self._groups.is_asked else ""
        return (
            f"<Minibatches of {self.size} of {self.length} rows along {self.dim._short!r}{strata}>"
        )


def _length_of(density: LogDensity, dim: Dim, reader: RowReader | None) -> int:
    """Return the number of all rows, which data in memory and streams have in common."""
    known = density.functions.known
    if reader is None:
        return known.length(dim)
    for node in known.arrays:
        if dim in node.dims:
            reader.expect(known.length(dim), title_of(node))
    assert reader.length is not None
    return reader.length


class _RowStrata(NamedTuple):
    """Strata: the number of each row's, their names, and whether there are any."""

    numbers: np.ndarray
    names: list[Any]
    is_asked: bool

    @classmethod
    def of(cls, density: LogDensity, dim: Dim, length: int, by: Any, is_stream: bool) -> _RowStrata:
        """Read the strata of rows; of streams without strata, the rows have no numbers.

        Raises
        ------
        InputError
            If there is no such data, or not one value for each row.
        ArgumentError
            If values have labels, which would not be compared with those of the dim.
        """
        if by is None:
            return cls(np.zeros(0 if is_stream else length, np.int64), [None], False)
        labels = None
        name = by if isinstance(by, str) else getattr(by, "name", None)
        if isinstance(by, (str, TensorHandle)):
            known = density.functions.known
            nodes = {node.name: node for node in known.arrays if node.dims == (dim,)}
            if name not in nodes:
                raise InputError(
                    f"minibatch: there are no data {name!r} along {dim._title}"
                    f"{did_you_mean(str(name), [str(each) for each in nodes])}",
                    [("data along it", listing(list(nodes)))],
                )
            values = known.arrays[nodes[name]]
            categories = nodes[name].categories
            labels = None if categories is None else categories._bound_labels(known.binding)
        elif isinstance(by, (list, tuple, np.ndarray)):
            values = np.asarray(by)
        else:
            raise ArgumentError(
                f"minibatch: by is a name of data or an array, not {type(by).__name__}: its labels "
                f"would not be compared with those of {dim._title}",
                hint="by=np.asarray(values) takes the values in the order of the rows",
            )
        if values.shape != (length,):
            raise InputError(
                f"minibatch: by has shape {values.shape}, and {dim._title} has {length} rows"
            )
        found, numbers = np.unique(values, return_inverse=True)
        names = found.tolist() if labels is None else [labels.values[at] for at in found]
        return cls(numbers.astype(np.int64), names, True)
