"""Programs to be simplified: a class of groups and elements, and values by NumPy."""

from __future__ import annotations

import numpy as np

import dimtensor as dt

N, COUNTIES = 400, 7
RNG = np.random.default_rng(3)

COUNTY, HOUSE = dt.Dim("county", length=COUNTIES), dt.Dim("house")
FLOOR = dt.Dim("floor", length=2)

# the last county has no house
WHERE = RNG.integers(0, COUNTIES - 1, N)
LEVEL = RNG.integers(0, 2, N)
Y = RNG.normal(2.0, 1.0, N)
K = RNG.poisson(2.0, N).astype(float)
U = RNG.normal(size=COUNTIES)

where = dt.data(WHERE, dims=HOUSE, categories=COUNTY, name="where")
level = dt.data(LEVEL, dims=HOUSE, categories=FLOOR, name="level")
basement = dt.data(LEVEL.astype(float), dims=HOUSE, name="basement")
y = dt.data(Y, dims=HOUSE, name="y")
k = dt.data(K, dims=HOUSE, name="k")
uranium = dt.data(U, dims=COUNTY, name="uranium")

a = dt.tensor("a", dims=COUNTY)
f = dt.tensor("f", dims=FLOOR)
b, g, s = dt.scalar("b"), dt.scalar("g"), dt.scalar("s")

A, F = RNG.normal(size=COUNTIES), RNG.normal(size=2)
B, G, S = 0.4, -0.3, 1.3
