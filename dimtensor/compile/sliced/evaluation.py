"""Evaluation of a program in slices, on the threads of a pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dimtensor.compile.sliced.cuts import SliceCut
from dimtensor.compile.sliced.held import BoundSlice, HeldSlices
from dimtensor.compile.sliced.machine import MachineSlices, machine_slices
from dimtensor.compile.sliced.pool import Pool

type MachineCall = Callable[[Sequence[np.ndarray]], Sequence[np.ndarray] | None]


class SlicedEvaluation:
    """Function of plain arrays that is computed in slices on threads.

    Slices that are machine code are called without Python between them, unless they write along an
    inner axis. If one fails, all are computed again by Python, which raises its error.

    Parameters
    ----------
    held : HeldSlices
    cut : SliceCut
    pool : Pool
    told : bool
        Whether slices are told their lengths, which data need not tell.

    Attributes
    ----------
    by_machine : callable or None
        Computes the outputs by machine code, or returns None if a slice fails, or the arrays are of
        other kinds than those of the first call.
    """

    def __init__(self, held: HeldSlices, cut: SliceCut, pool: Pool, *, told: bool = False):
        assert held.length is not None
        self._held = held
        self._program = held.program
        self._pool = pool
        self._ends = cut.ends(held.length)
        self._shares = [
            held.share(held.pieces(start, stop), start, stop - start if told else None)
            for start, stop in self._ends
        ]
        self._machine: MachineSlices | None = None
        self._asked = False
        self.by_machine: MachineCall | None = None

    def __call__(self, *arrays: np.ndarray) -> Sequence[np.ndarray]:
        """Compute the outputs, with axes in the order of ``SliceProgram.output_dims``."""
        if not self._asked:
            self._machine = machine_slices(self._held, self._shares, self._ends, arrays)
            self._asked = True
            if self._machine is not None:
                self.by_machine = partial(self._machine, self._pool)
        found = None if self.by_machine is None else self.by_machine(arrays)
        return self._by_python(arrays) if found is None else found

    def _by_python(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        along = self._program.along_inputs  # which are made contiguous slice by slice
        arrays = [x if at in along or x.flags.carray else np.ascontiguousarray(x)
                  for at, x in enumerate(arrays)]  # fmt: skip
        calls: list[Callable[[], Any]] = [partial(self._held.rest, *arrays)]
        for share, ends in zip(self._shares, self._ends, strict=True):
            calls.append(partial(self._share, share, ends, arrays))
        once, *shares = self._pool.run(calls)
        return self._program.total(shares, once)

    def _share(
        self, share: BoundSlice, ends: tuple[int, int], arrays: Sequence[np.ndarray]
    ) -> Sequence[np.ndarray]:
        along = self._program.along_inputs
        return share(
            *(along[at].piece(x, *ends) if at in along else x for at, x in enumerate(arrays))
        )
