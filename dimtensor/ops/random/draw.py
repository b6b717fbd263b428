"""Draw: independent numbers from a generator that is an array of words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op

from dimtensor.ops.constants import integer_of
from dimtensor.ops.differentiable import WithoutGradient
from dimtensor.ops.random.conditions import valid_parameters
from dimtensor.ops.random.rows import ROWS
from dimtensor.ops.random.words import N_WORDS, child_words, generator_of, seed_words, words_of


class Draw(WithoutGradient, Op):
    """Numbers of one distribution, and the generator after them.

    Parameters
    ----------
    name : str
        A row of :data:`dimtensor.ops.random.rows.ROWS`.
    n_streams : int
        How many leading axes have generators of their own.
    n_axes : int
        How many axes after these are drawn from one generator, in row-major order.

    Notes
    -----
    Inputs are the words of shape ``(*streams, 6)``, the length of each of `n_axes` axes as an
    integer scalar, of distributions of vectors the length of a vector, and the parameters. These
    have ``n_streams + n_axes`` axes, and the axis of a vector where the row says so; an axis
    that is known to have length 1 is broadcast. Outputs are the words afterwards and the draws.
    Where parameters are those of no distribution, NaN for one, nothing is drawn: the number is NaN,
    or 0 of integers.

    On the native backend and in Python draws are those of NumPy's ``Generator`` with a ``PCG64``.

    Examples
    --------
    >>> import numpy as np
    >>> from dimtensor.ops.random.words import seed_words
    >>> words, x = Draw("normal", 0, 1)(seed_words(1), 3, [0.0], [1.0])
    >>> bool((x.eval() == np.random.default_rng(1).normal(0.0, 1.0, 3)).all())
    True
    """

    __props__ = ("name", "n_streams", "n_axes")

    def __init__(self, name: str, n_streams: int, n_axes: int):
        self.row = ROWS[name]
        self.name = name
        self.n_streams = n_streams
        self.n_axes = n_axes
        self.n_lengths = n_axes + self.row.is_vector

    def make_node(self, words: Any, *rest: Any) -> Apply:
        words = pt.as_tensor_variable(words)
        if words.type.dtype != "uint64" or words.type.ndim != self.n_streams + 1:
            raise TypeError(f"the words of a generator are unsigned integers, not {words.type}")
        lengths = [pt.as_tensor_variable(n).astype("int64") for n in rest[: self.n_lengths]]
        parameters = [
            pt.as_tensor_variable(x).astype("int64" if name in self.row.integers else "float64")
            for name, x in zip(self.row.parameters, rest[self.n_lengths :], strict=True)
        ]
        for name, x in zip(self.row.parameters, parameters, strict=True):
            if x.type.ndim != self.n_streams + self.n_axes + (name in self.row.along):
                raise TypeError(f"{self.name}: {name} has {x.type.ndim} axes")
        streams = words.type.shape[:-1]
        shape = [integer_of(n) for n in lengths]
        values = pt.tensor(dtype=self.row.dtype, shape=(*streams, *shape))
        after = pt.tensor(dtype="uint64", shape=(*streams, N_WORDS))
        return Apply(self, [words, *lengths, *parameters], [after, values])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        words, *rest = inputs
        shape = tuple(int(n) for n in rest[: self.n_axes])
        vector = tuple(int(n) for n in rest[self.n_axes : self.n_lengths])
        streams = words.shape[:-1]
        parameters = [
            self._broadcast(x, v, (*streams, *shape))
            for x, v in zip(rest[self.n_lengths :], node.inputs[1 + self.n_lengths :], strict=True)
        ]
        after = np.empty((*streams, N_WORDS), dtype=np.uint64)
        values = np.empty((*streams, *shape, *vector), dtype=self.row.dtype)
        for at in np.ndindex(*streams):
            generator = generator_of(words[at])
            here = [x[at] for x in parameters]
            if self.row.is_vector:
                values[at] = self._vectors(generator, here, shape, *vector)
            else:
                values[at] = self._numbers(generator, here, shape)
            after[at] = words_of(generator.bit_generator)
        output_storage[0][0] = after
        output_storage[1][0] = values

    def _broadcast(self, x: np.ndarray, variable: Variable, shape: tuple[int, ...]) -> np.ndarray:
        ones = variable.type.broadcastable
        for length, n, one in zip(shape, x.shape, ones, strict=False):
            if n != length and not one:
                raise ValueError(f"{self.name}: a parameter has length {n} and not {length}")
        return np.broadcast_to(x, (*shape, *x.shape[len(shape) :]))

    def _numbers(
        self, generator: np.random.Generator, parameters: list[Any], shape: tuple[int, ...]
    ) -> np.ndarray:
        method = getattr(generator, self.name)
        with np.errstate(all="ignore"):
            valid = valid_parameters(self.row, parameters, np)
        if np.all(valid):
            return method(*parameters, size=shape)
        values = np.full(shape, np.nan if self.row.dtype == "float64" else 0, self.row.dtype)
        values[valid] = method(*(x[valid] for x in parameters))
        return values

    def _vectors(
        self, generator: np.random.Generator, parameters: list[Any], shape: tuple[int, ...], n: int
    ) -> np.ndarray:
        if self.name == "permutation":
            draws = [generator.permutation(n) for _ in np.ndindex(*shape)]
            return np.array(draws, dtype=np.int64).reshape(*shape, n)
        values = np.zeros((*shape, n), dtype=np.int64)
        method = getattr(generator, self.name)
        for at in np.ndindex(*shape):
            here = [x[at] for x in parameters]
            if valid_parameters(self.row, here, np):
                values[at] = method(*here)
        return values

    def infer_shape(self, node: Any, shapes: Any) -> list[Any]:
        streams = tuple(shapes[0][:-1])
        lengths = tuple(node.inputs[1 : 1 + self.n_lengths])
        return [tuple(shapes[0]), (*streams, *lengths)]


class Seed(WithoutGradient, Op):
    """Words of generators, as ``numpy.random.default_rng`` makes them of each seed.

    The input is an integer tensor of shape ``(*streams,)``, read as unsigned; the output has shape
    ``(*streams, 6)``.

    Examples
    --------
    >>> import numpy as np
    >>> from dimtensor.ops.random.words import seed_words
    >>> bool((Seed()(np.int64(7)).eval() == seed_words(7)).all())
    True
    """

    __props__ = ()

    def make_node(self, seed: Any) -> Apply:
        seed = pt.as_tensor_variable(seed)
        if np.dtype(seed.type.dtype).kind not in "iu":
            raise TypeError(f"a seed is an integer, not {seed.type.dtype}")
        after = pt.tensor(dtype="uint64", shape=(*seed.type.shape, N_WORDS))
        return Apply(self, [seed.astype("uint64")], [after])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        (seeds,) = inputs
        words = np.empty((*seeds.shape, N_WORDS), dtype=np.uint64)
        for at in np.ndindex(*seeds.shape):
            words[at] = seed_words(int(seeds[at]))
        output_storage[0][0] = words

    def infer_shape(self, node: Any, shapes: Any) -> list[Any]:
        return [(*shapes[0], pt.constant(N_WORDS))]


class Split(WithoutGradient, Op):
    """A generator for every position of a new axis, independent of each other.

    Inputs are words of shape ``(*streams, 6)`` and a length n, the output has shape
    ``(*streams, n, 6)``. A child is seeded by the words of its parent and its position.

    Examples
    --------
    >>> from dimtensor.ops.random.words import seed_words
    >>> Split()(seed_words(1), 4).eval().shape
    (4, 6)
    """

    __props__ = ()

    def make_node(self, words: Any, length: Any) -> Apply:
        words = pt.as_tensor_variable(words)
        length = pt.as_tensor_variable(length).astype("int64")
        shape = (*words.type.shape[:-1], integer_of(length), N_WORDS)
        return Apply(self, [words, length], [pt.tensor(dtype="uint64", shape=shape)])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Any) -> None:
        words, length = inputs
        streams = words.shape[:-1]
        children = np.empty((*streams, int(length), N_WORDS), dtype=np.uint64)
        for at in np.ndindex(*streams):
            for position in range(int(length)):
                children[(*at, position)] = child_words(words[at], position)
        output_storage[0][0] = children

    def infer_shape(self, node: Any, shapes: Any) -> list[Any]:
        return [(*shapes[0][:-1], node.inputs[1], pt.constant(N_WORDS))]
