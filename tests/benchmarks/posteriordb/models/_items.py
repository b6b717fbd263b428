"""What two models of answers to items share: abilities by traits, and effects that sum to zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import dimtensor as dt
from dimtensor import dist


def answers(data: Mapping[str, Any]) -> tuple[dt.Dim, dt.DimTensor, dt.DimTensor]:
    """The items, and of each answer its item and the ability of its person."""
    answer = dt.Dim("answer")
    item = dt.Dim("item", coords=range(1, data["I"] + 1))
    person = dt.Dim("person", coords=range(1, data["J"] + 1))
    trait = dt.Dim("trait", length=data["K"])
    item_of = dt.data(data["ii"], dims=answer, categories=item, name="item_of")
    person_of = dt.data(data["jj"], dims=answer, categories=person, name="person_of")
    w = np.array(data["W"], float)
    w[:, 1:] = (w[:, 1:] - w[:, 1:].mean(axis=0)) / (2 * w[:, 1:].std(axis=0, ddof=1))
    traits = dt.data(w, dims=[person, trait], name="traits")
    slopes = dt.rv("lambda_adj", dist.StudentT(3, 0, 1), dims=trait)
    theta = dt.rv("theta", dist.Normal(dt.dot(traits, slopes, dim=trait), 1))
    return item, item_of, theta.sel(person=person_of)


def around_zero(name: str, dim: dt.Dim) -> dt.DimTensor:
    """Wide normal effects that sum to zero; all but the last are free, with the name ``_free``."""
    wide, last = dist.Normal(0, 3), dim[dim.coords[-1] :]

    def effects(free: dt.DimTensor) -> dt.DimTensor:
        return dt.concat([free, -free.sum().expand(last)], dim.name)

    prior = dist.custom(
        lambda free: wide.logp(effects(free)).sum(), dt.real, event_dims=dim[: dim.coords[-2]]
    )
    return dt.named(name, effects(dt.rv(f"{name}_free", prior)))
