"""Latent Dirichlet allocation: what its models share, whatever the number of topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import dimtensor as dt
from dimtensor import dist


def bags_of_words(
    data: Mapping[str, Any], alpha: dt.Tensor, beta: dt.Tensor, backend: str
) -> dt.Model:
    """How often words occur in documents: in which order they do tells nothing."""
    (topic,), (word,) = alpha.dims, beta.dims
    document = dt.Dim("document", coords=range(1, data["M"] + 1))
    (documents, words), counts = np.unique([data["doc"], data["w"]], axis=1, return_counts=True)
    found = dt.Dim("found")  # a word in a document
    document_of = dt.data(documents, dims=found, categories=document, name="document_of")
    word_of = dt.data(words, dims=found, categories=word, name="word_of")
    theta = dt.rv("theta", dist.Dirichlet(alpha, over=topic), dims=document)
    phi = dt.rv("phi", dist.Dirichlet(beta, over=word), dims=topic)
    chance = dt.dot(theta.sel(document=document_of), phi.sel(word=word_of), dims=topic)
    times = dt.rv("times", dist.custom(lambda times: times * dt.log(chance), dt.positive))
    return dt.Model(times, backend=backend).observe({times: ("found", counts)})
