"""Answers to items whose discriminations and difficulties are correlated."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("sat-hier_2pl",)
PARTS = {"xi": ("xi1", "xi2")}
AXES = {"xi": ("trait", "item"), "L_Omega": ("trait", "other")}


def model(data, backend="numba"):
    answer = dt.Dim("answer")
    item = dt.Dim("item", coords=range(1, data["I"] + 1))
    person = dt.Dim("person", coords=range(1, data["J"] + 1))
    item_of = dt.data(data["ii"], dims=answer, categories=item, name="item_of")
    person_of = dt.data(data["jj"], dims=answer, categories=person, name="person_of")
    trait = dt.Dim("trait", coords=["log_discrimination", "difficulty"])
    other = trait.rename("other")

    theta = dt.rv("theta", dist.Normal(0, 1), dims=person)
    mu = dt.rv("mu", dist.Normal(0, dt.data([1.0, 5.0], dims=trait)))
    tau = dt.rv("tau", dist.Exponential(0.1), dims=trait)
    correlation = dt.rv("L_Omega", dist.LKJCholesky(trait, other, eta=4))
    xi = dt.rv("xi", dist.MvNormal(mu, chol=tau * correlation), dims=item)
    discrimination = dt.exp(xi.sel(trait="log_discrimination"))
    difficulty = xi.sel(trait="difficulty")
    ability = theta.sel(person=person_of)
    logit_p = discrimination.sel(item=item_of) * (ability - difficulty.sel(item=item_of))
    right = dt.rv("right", dist.Bernoulli(logit_p=logit_p))
    return dt.Model(right, backend=backend).observe({right: data["y"]})
