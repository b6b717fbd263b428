"""What models of radon share: houses in counties, and effects of counties around a common one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dimtensor as dt
from dimtensor import dist


def houses(data: Mapping[str, Any]) -> tuple[dt.Dim, dt.DimTensor, dt.DimTensor]:
    """The counties, and of each house its county and the floor where radon is measured."""
    house = dt.Dim("house")
    county = dt.Dim("county", coords=range(1, data["J"] + 1))
    county_of = dt.data(data["county_idx"], dims=house, categories=county, name="county_of")
    return county, county_of, dt.data(data["floor_measure"], dims=house, name="floor")


def around(name: str) -> tuple[dt.DimTensor, dt.DimTensor]:
    """Mean and spread of an effect over counties."""
    mu = dt.rv(f"mu_{name}", dist.Normal(0, 10))
    return mu, dt.rv(f"sigma_{name}", dist.HalfNormal(1))


def centered(name: str, county: dt.Dim) -> dt.DimTensor:
    """An effect of each county, as a free variable."""
    return dt.rv(name, dist.Normal(*around(name)), dims=county)


def noncentered(name: str, county: dt.Dim) -> dt.DimTensor:
    """An effect of each county, computed of standard normal ones."""
    mu, spread = around(name)
    raw = dt.rv(f"{name}_raw", dist.Normal(0, 1), dims=county)
    return dt.named(name, mu + spread * raw)
