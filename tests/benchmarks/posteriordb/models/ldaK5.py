"""Latent Dirichlet allocation with five topics."""

import dimtensor as dt
from tests.benchmarks.posteriordb.models._topics import bags_of_words

POSTERIORS = ("prideprejudice_chapter-ldaK5", "prideprejudice_paragraph-ldaK5")
AXES = {"theta": ("document", "topic"), "phi": ("topic", "word")}


def model(data, backend="numba"):
    topic, word = dt.Dim("topic", length=5), dt.Dim("word", coords=range(1, data["V"] + 1))
    alpha, beta = dt.data(data["alpha"], dims=topic), dt.data(data["beta"], dims=word)
    return bags_of_words(data, alpha, beta, backend)
