"""Answers to items by ability, which depends on traits of persons; difficulties sum to zero."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._items import answers, around_zero

POSTERIORS = ("fims_Aus_Jpn_irt-2pl_latent_reg_irt",)


def model(data, backend="numba"):
    item, item_of, ability = answers(data)
    alpha = dt.rv("alpha", dist.LogNormal(1, 1), dims=item)
    beta = around_zero("beta", item)
    logit_p = alpha.sel(item=item_of) * ability - beta.sel(item=item_of)
    right = dt.rv("right", dist.Bernoulli(logit_p=logit_p))
    return dt.Model(right, backend=backend).observe({right: data["y"]})
