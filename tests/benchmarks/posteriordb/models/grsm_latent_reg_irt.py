"""Ratings of items on one scale, by attitudes that depend on traits of persons."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._items import answers, around_zero

POSTERIORS = ("science_irt-grsm_latent_reg_irt",)


def model(data, backend="numba"):
    item, item_of, ability = answers(data)
    grade = dt.Dim("grade", coords=range(max(data["y"]) + 1))
    step = grade[1:]
    alpha = dt.rv("alpha", dist.LogNormal(1, 1), dims=item)
    beta, kappa = around_zero("beta", item), around_zero("kappa", step)
    position = alpha.sel(item=item_of) * ability - beta.sel(item=item_of)
    logits = dt.concat([dt.zeros(grade[:0]), (position - kappa).cumsum(step)], "grade")
    rating = dt.rv("rating", dist.Categorical(logits=logits, dim=grade))
    return dt.Model(rating, backend=backend).observe({rating: data["y"]})
