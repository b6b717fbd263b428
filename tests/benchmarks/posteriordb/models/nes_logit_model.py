"""Votes by income."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("nes_logit_data-nes_logit_model",)


def model(data, backend="numba"):
    person, term = dt.Dim("person"), dt.Dim("term", coords=["income"])
    income = dt.data(data["income"], dims=person, name="income")
    alpha = dt.rv("alpha", dist.Flat())
    beta = dt.rv("beta", dist.Flat(), dims=term)
    vote = dt.rv("vote", dist.Bernoulli(logit_p=alpha + beta.sel(term="income") * income))
    return dt.Model(vote, backend=backend).observe({vote: data["vote"]})
