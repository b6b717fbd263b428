"""Log densities in slices on several threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dimtensor.arrays import check_whole
from dimtensor.backends import backend_of
from dimtensor.compile.sliced.cuts import SliceCut, cut_for, dims_to_cut
from dimtensor.compile.sliced.evaluation import SlicedEvaluation
from dimtensor.compile.sliced.pool import Pool, available_cores
from dimtensor.errors import OptionError
from dimtensor.model.sliced.density import DensitySlices, Pair
from dimtensor.model.sliced.streamed import StreamedDensity

if TYPE_CHECKING:
    from dimtensor.model.functions import ModelFunctions


@dataclass(frozen=True)
class ThreadedEvaluation:
    """Evaluation of a log density in slices, by threads.

    Attributes
    ----------
    number : int
        Results do not depend on it.
    """

    number: int

    def __call__(self, functions: ModelFunctions) -> ThreadedDensity | StreamedDensity | None:
        """Make the evaluator; None if data in memory have too little work for slices."""
        if functions.streams:
            return StreamedDensity(functions, self.number)
        cut = density_cut(functions)
        return None if cut is None else ThreadedDensity(functions, cut, self.number)


def density_cut(functions: ModelFunctions) -> SliceCut | None:
    """Choose how the log density is cut, of distinct rows where it is computed from them.

    Returns
    -------
    SliceCut or None
        None if there is too little work for slices.

    Raises
    ------
    PartitionError
        If there is no dim of data along which it can be cut.
    """
    parts = functions.computed
    dims = functions.shared.get("dims to cut")
    if dims is None:
        dims = functions.shared["dims to cut"] = dims_to_cut([parts.value.node], ["data"])
    binding = functions.binding.copy()
    for dim, length in () if functions.rows is None else functions.rows.lengths.items():
        binding.add_length(dim, length, "distinct rows")
    return cut_for([parts.value.node, parts.gradient.node], dims, binding)


def threads_for(functions: ModelFunctions, number: int, what: str) -> ThreadedEvaluation:
    """Check a number of threads, and that the log density can be cut.

    Raises
    ------
    OptionError
        If it is no number of threads, or the log density is computed in another way.
    PartitionError
        If there is no dim of data along which the log density can be cut.
    """
    check_whole(what, threads=number)
    if backend_of(functions.backend).specializes:
        raise OptionError(
            f"{what}: threads are those of machine code, and JAX has its own",
            hint='take backend="native"',
        )
    known = functions.evaluation
    if not (known is None or known is StreamedDensity or isinstance(known, ThreadedEvaluation)):
        raise OptionError(
            f"{what}: threads={number} is given, and the log density is computed in another way "
            f"already, by {type(known).__name__}"
        )
    if not functions.streams:
        dims_to_cut([functions.assembly.logp.node], ["data"])
    return ThreadedEvaluation(int(number))


def chains_at_once(threads: int) -> int:
    """Return the number of chains whose threads are no more than the cores."""
    return max(1, available_cores() // threads)


class ThreadedDensity:
    """Evaluator of a log density in slices, by threads."""

    def __init__(self, functions: ModelFunctions, cut: SliceCut, threads: int):
        self.cut = cut
        self.pool = Pool(threads)
        self._functions = functions
        self._slices = DensitySlices(functions, cut.dim, rows=True)
        self._evaluate = SlicedEvaluation(self._slices.held, cut, self.pool)

    def logp_and_grad(self, x: np.ndarray) -> Pair:
        """Return value and gradient at a flat vector."""
        try:
            return self._evaluate(x, *self._slices.lengths)
        except Exception as error:
            self._whole(x)  # its error has the labels of the whole
            raise error

    @cached_property
    def _whole(self) -> Callable[[np.ndarray], Pair]:
        return self._functions.evaluated_by(None).positional("logp_and_grad")
