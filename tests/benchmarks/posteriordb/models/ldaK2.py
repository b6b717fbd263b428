"""Latent Dirichlet allocation with two topics: the topic of each word is summed out."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("three_docs1200-ldaK2", "three_men1-ldaK2", "three_men2-ldaK2", "three_men3-ldaK2")
AXES = {"theta": ("document", "topic"), "phi": ("topic", "word")}


def model(data, backend="numba"):
    token = dt.Dim("token")
    topic = dt.Dim("topic", length=2)
    document = dt.Dim("document", coords=range(1, data["M"] + 1))
    word = dt.Dim("word", coords=range(1, data["V"] + 1))
    document_of = dt.data(data["doc"], dims=token, categories=document, name="document_of")
    theta = dt.rv("theta", dist.Dirichlet(dt.ones(topic), dim=topic), dims=document)
    phi = dt.rv("phi", dist.Dirichlet(dt.ones(word), dim=word), dims=topic)
    z = dt.rv("z", dist.Categorical(theta.sel(document=document_of), dim=topic))
    w = dt.rv("w", dist.Categorical(phi.sel(topic=z), dim=word))
    return dt.Model(w, backend=backend).observe({w: data["w"]}).marginalize(z)
