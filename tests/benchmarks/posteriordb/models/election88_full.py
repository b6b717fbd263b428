"""Support in an election by state, region, age and education of those asked."""

import dimtensor as dt
from dimtensor import dist

POSTERIORS = ("election88-election88_full",)


def model(data, backend="numba"):
    voter = dt.Dim("voter")
    term = dt.Dim("term", coords=["intercept", "black", "female", "previous", "female:black"])
    names = ("black", "female", "v_prev_full")
    black, female, previous = (dt.data(data[name], dims=voter, name=name) for name in names)
    beta = dt.rv("beta", dist.Normal(0, 100), dims=term)
    design = dt.stack([1.0, black, female, previous, female * black], term)
    logit_p = dt.dot(beta, design, dim=term)
    groups = {"a": "age", "b": "edu", "c": "age_edu", "d": "state", "e": "region_full"}
    for letter, name in groups.items():
        group = dt.Dim(name, coords=range(1, data[f"n_{name}"] + 1))
        group_of = dt.data(data[name], dims=voter, categories=group, name=f"{name}_of")
        spread = dt.rv(f"sigma_{letter}", dist.Uniform(0, 100))
        effect = dt.rv(letter, dist.Normal(0, spread), dims=group)
        logit_p = logit_p + effect.sel({group: group_of})
    vote = dt.rv("vote", dist.Bernoulli(logit_p=logit_p))
    return dt.Model(vote, backend=backend).observe({vote: data["y"]})
