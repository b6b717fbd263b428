"""Random number generators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dimtensor.dims import Dim
from dimtensor.errors import ArgumentError, DimError, DtypeError, named_after, printable
from dimtensor.graph import make
from dimtensor.graph.attrs import WORD, StreamAttrs
from dimtensor.graph.dtypes import is_integer
from dimtensor.graph.infer import describe
from dimtensor.random.arrangements import Arrangements
from dimtensor.random.methods import IndependentDraws
from dimtensor.random.seeds import required_seed
from dimtensor.spellings import spelled_methods
from dimtensor.tensor.core import DimTensor
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.inputs import data


@named_after
@spelled_methods
@dataclass(eq=False, frozen=True)
class Generator(IndependentDraws, Arrangements):
    """Immutable random number generator: each draw returns values and the next generator.

    Made by :func:`generator`. It can be a state of a loop or an operand of a branch, as it is a
    tree of tensors with one leaf. Of draws, dims that the generator has are drawn from streams of
    their own; all others come from one stream, in row-major order of ``dims=`` and then of the
    parameters' dims.

    Parameters
    ----------
    words : DimTensor of uint64
        With the dim :data:`WORD`.

    Notes
    -----
    On the native backend and in Python a generator is a ``PCG64``, and numbers are those of
    ``numpy.random.default_rng`` of the same seed, drawn by NumPy's functions. On JAX it is a key of
    Threefry; the numbers are others.

    Examples
    --------
    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs", length=3)
    >>> rng = dt.random.generator(1)
    >>> x, rng = rng.normal(0.0, 1.0, dims=obs)
    >>> y, rng = rng.poisson(dt.exp(x))
    >>> x.values.round(3).tolist(), y.dims == x.dims
    ([0.346, 0.822, 0.33], True)
    """

    words: DimTensor

    @property
    def dims(self) -> tuple[Dim, ...]:
        """Dims of independent generators."""
        return tuple(dim for dim in self.words.dims if dim != WORD)

    @printable
    def __repr__(self) -> str:
        used = f", used by {self._used}" if self._used else ""
        dims = ", ".join(dim._short for dim in self.dims)
        return f"Generator({{{dims}}}{used})"

    def split(self, dim: Dim) -> Generator:
        """Split into independent generators along a dim.

        Parameters
        ----------
        dim : Dim
            One that the generator does not have.

        Returns
        -------
        Generator
            With the dim in addition; this one is used up.

        Raises
        ------
        DimError
            If the generator has the dim.

        Examples
        --------
        >>> import dimtensor as dt
        >>> chain = dt.Dim("chain", length=4)
        >>> rng = dt.random.generator(1).split(chain)
        >>> x, rng = rng.normal(0.0, 1.0)
        >>> x.sizes
        {'chain': 4}
        """
        if not isinstance(dim, Dim):
            raise DimError(f"a generator is split along a Dim, not {dim!r}")
        words = make("stream", (self.words.node,), StreamAttrs(dim, WORD))
        self._use("split")
        return self._next(words)


def generator(seed: int | DimTensor) -> Generator:
    """Make a generator of random numbers.

    Parameters
    ----------
    seed : int or DimTensor
        A number from 0 to 2**63 - 1; a tensor of integers, whose dims become those of the
        generator; or the words of a generator, a tensor of uint64 with the dim
        :data:`dimtensor.random.WORD`. Other seeds than numbers are arguments of functions.

    Returns
    -------
    Generator

    Raises
    ------
    ArgumentError
        If there is no seed.
    OptionError
        If it is out of range.
    DtypeError
        If it is a tensor of something else.

    Examples
    --------
    A function of its seed:

    >>> import dimtensor as dt
    >>> obs = dt.Dim("obs", length=2)
    >>> seed = dt.scalar("seed", dtype="int64")
    >>> x, _ = dt.random.generator(seed).uniform(0.0, 1.0, dims=obs)
    >>> f = dt.function([seed], x, backend="python")
    >>> f(seed=1).values.round(3).tolist(), f(seed=2).values.round(3).tolist()
    ([0.512, 0.95], [0.262, 0.298])
    """
    if isinstance(seed, TensorHandle):
        node = seed.node
        if WORD in node.dims:
            if node.dtype != "uint64":
                raise DtypeError(f"words of a generator are of uint64: {describe(node)}")
            return Generator(wrap(node))
        if not is_integer(node.dtype) or node.categories is not None:
            raise DtypeError(f"a seed is a tensor of integers: {describe(node)}")
    elif seed is None:
        raise ArgumentError(
            "a seed is an integer or a tensor of integers, not None; name one, so that draws can "
            "be repeated"
        )
    else:
        node = data(np.int64(required_seed(seed, "generator")), dims=()).node
    return Generator(wrap(make("seed", (node,), WORD)))
