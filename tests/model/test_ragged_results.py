"""Results along ragged dims have coords of the parents and of the numbers within them."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist

subject = dt.Dim("subject", coords=["Ann", "Bob", "Cem"])
OWNERS = np.array([2, 0, 2, 0, 2])
VALUES = np.array([1.0, 0.5, 2.0, -0.7, 0.3])


@pytest.fixture(scope="module")
def fitted():
    trial = dt.ragged("trial", within=subject, by=subject.coords[OWNERS])
    base = dt.rv("base", dist.Normal(0.0, 1.0), dims=subject)
    each = dt.rv("each", dist.Normal(base, 1.0), dims=trial)
    fit = dt.Model(dt.rv("y", dist.Normal(each, 0.5)), backend="python").observe({"y": VALUES})
    return trial, fit, fit.laplace(draws=30, seed=1)


def check(dataset) -> None:
    assert dataset["trial_subject"].values.tolist() == subject.coords[OWNERS].tolist()
    assert dataset["trial_index"].values.tolist() == [0, 0, 1, 1, 2]
    assert dataset["trial"].values.tolist() == ["Cem,0", "Ann,0", "Cem,1", "Ann,1", "Cem,2"]


def test_groups_have_the_coords(fitted) -> None:
    _, fit, post = fitted
    predicted = fit.predict(post, seed=1)["posterior_predictive"]
    likelihood = fit.log_likelihood(post)["log_likelihood"]
    for group in (post["posterior"], post["observed_data"], predicted, likelihood):
        check(group.to_dataset())
    assert post["posterior"]["subject"].values.tolist() == ["Ann", "Bob", "Cem"]


def test_draws_are_grouped_and_selected_by_parent(fitted) -> None:
    _, _, post = fitted
    each = post["posterior"]["each"]
    found = each.groupby("trial_subject").mean()
    for at in (0, 2):
        own = each.values[..., at == OWNERS]
        label = subject.coords[at]
        np.testing.assert_allclose(found.sel(trial_subject=label), own.mean(axis=-1))
        np.testing.assert_array_equal(each.where(each.trial_subject == label, drop=True), own)


def test_results_from_a_file_have_the_coords_and_are_read(fitted, tmp_path) -> None:
    trial, fit, post = fitted
    path = tmp_path / "post.nc"
    post.to_netcdf(path)
    import xarray as xr

    with xr.open_datatree(path) as again:
        check(again["posterior"].to_dataset())
        one, other = (fit.predict(x, seed=2)["posterior_predictive"]["y"] for x in (post, again))
        np.testing.assert_array_equal(one, other)
        wider = dt.Dim("subject", coords=["Ann", "Bob", "Cem", "Dov"])
        later = dt.ragged("trial", within=wider, by=["Dov", "Cem"])
        drawn = fit.predict(again, dims={subject: wider, trial: later}, seed=2)["predictions"]
        assert drawn["trial_subject"].values.tolist() == ["Dov", "Cem"]


def test_levels_of_nested_ragged_dims() -> None:
    document = dt.Dim("document", coords=["a", "b"])
    sentence = dt.ragged("sentence", within=document, lengths=[2, 1])
    word = dt.ragged("word", within=sentence, lengths=[1, 0, 2])
    x = dt.rv("x", dist.Normal(0.0, 1.0), dims=word)
    drawn = dt.Model(x, backend="python").draw(3, seed=1)["prior_predictive"]
    levels = {name: drawn[f"word_{name}"].values.tolist() for name in ("document", "index")}
    assert levels == {"document": ["a", "b", "b"], "index": [0, 0, 1]}
    assert drawn["word_sentence_index"].values.tolist() == [0, 0, 0]
