"""Answers of students in a section of a test: one ability for each."""

import numpy as np

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("lsat_data-lsat_model",)


def model(data, backend="numba"):
    student, question = dt.Dim("student"), dt.Dim("question", coords=range(1, data["T"] + 1))
    alpha = dt.rv("alpha", dist.Normal(0, 100), dims=question)
    theta = dt.rv("theta", dist.Normal(0, 1), dims=student)
    beta = dt.rv("beta", dist.HalfNormal(100))
    right = dt.rv("right", dist.Bernoulli(logit_p=beta * theta - alpha))
    # patterns of answers, with how many students there are up to each
    answers = np.repeat(data["response"], np.diff(data["culm"], prepend=0), axis=0)
    return dt.Model(right, backend=backend).observe({right: (("student", "question"), answers)})
