"""Latent Dirichlet allocation with five topics: the topic of each word is summed out."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("prideprejudice_chapter-ldaK5", "prideprejudice_paragraph-ldaK5")
AXES = {"theta": ("document", "topic"), "phi": ("topic", "word")}


def model(data, backend="numba"):
    token = dt.Dim("token")
    topic = dt.Dim("topic", length=5)
    document = dt.Dim("document", coords=range(1, data["M"] + 1))
    word = dt.Dim("word", coords=range(1, data["V"] + 1))
    document_of = dt.data(data["doc"], dims=token, categories=document, name="document_of")
    theta = dt.rv(
        "theta", dist.Dirichlet(dt.data(data["alpha"], dims=topic), dim=topic), dims=document
    )
    phi = dt.rv("phi", dist.Dirichlet(dt.data(data["beta"], dims=word), dim=word), dims=topic)
    z = dt.rv("z", dist.Categorical(theta.sel(document=document_of), dim=topic))
    w = dt.rv("w", dist.Categorical(phi.sel(topic=z), dim=word))
    return dt.Model(w, backend=backend).observe({w: data["w"]}).marginalize(z)
