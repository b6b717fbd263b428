"""Latent Dirichlet allocation with two topics."""

import dimtensor as dt
from tests.benchmarks.posteriordb.models._topics import bags_of_words

POSTERIORS = ("three_docs1200-ldaK2", "three_men1-ldaK2", "three_men2-ldaK2", "three_men3-ldaK2")
AXES = {"theta": ("document", "topic"), "phi": ("topic", "word")}


def model(data, backend="numba"):
    topic, word = dt.Dim("topic", length=2), dt.Dim("word", coords=range(1, data["V"] + 1))
    return bags_of_words(data, dt.ones(topic), dt.ones(word), backend)
