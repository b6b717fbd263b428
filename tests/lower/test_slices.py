"""Lengths of slices of dims whose length comes with the call, against Python's."""

import itertools

import numpy as np
import pytensor
import pytensor.tensor as pt

import dimtensor as dt
from dimtensor.ops.slices import slice_length

ENDS = (None, -9, -3, -1, 0, 1, 4, 9)
STEPS = (1, 2, 3, -1, -2, -3)
SLICES = [slice(*each) for each in itertools.product(ENDS, ENDS, STEPS)]


def test_formulas():
    n = pt.lscalar()
    lengths = [slice_length(each, n) for each in SLICES]
    f = pytensor.function([n], lengths, mode="FAST_COMPILE", on_unused_input="ignore")
    for count in range(12):
        expected = [len(range(count)[each]) for each in SLICES]
        assert [int(found) for found in f(count)] == expected


def test_positions_along_a_slice_of_a_slice():
    """Dims that nothing but a formula has the length of."""
    x = dt.tensor("x", dims=dt.Dim("k"))
    part = x.isel(k=slice(1, -1))
    cut = [slice(None, None, -1), slice(-2, None, -2), slice(4, None, -1), slice(-3, -1, 1)]
    dims = [part.isel({part.dims[0]: each}).dims[0] for each in cut]
    f = dt.function([x], [x.sum(), *(dt.arange(dim) for dim in dims)], backend="python")
    for n in range(8):
        _, *found = f(np.ones(n))
        expected = [len(np.ones(n)[1:-1][each]) for each in cut]
        assert [len(each) for each in found] == expected
