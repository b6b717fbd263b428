"""Every method of tensors along a ragged dim is that of each parent, or refuses."""

from __future__ import annotations

import numpy as np
import pytest

import dimtensor as dt

subject = dt.Dim("subject", coords=["Ann", "Bob", "Cem"])
SORTED, MIXED = [0, 0, 0, 1, 1, 2, 2, 2, 2], [2, 0, 1, 2, 0, 2, 1, 0, 2]
VALUES = np.array([3.0, 1.0, 2.0, 5.0, np.nan, 2.0, 2.0, 0.5, 7.0])

# methods along the dim t, by name; those with the name of a dim take it as `t`
ALONG = {
    "all": lambda x, t: (x > 1).all(t),
    "any": lambda x, t: (x > 4).any(t),
    "argmax": lambda x, t: x.argmax(t, skipna=True),
    "argmin": lambda x, t: x.argmin(t, skipna=True),
    "bfill": lambda x, t: x.bfill(t),
    "count": lambda x, t: x.count(t),
    "cumprod": lambda x, t: x.cumprod(t, skipna=True),
    "cumsum": lambda x, t: x.cumsum(t, skipna=True),
    "cumulative": lambda x, t: x.cumulative(t).mean(skipna=True),
    "diff": lambda x, t: x.diff(t),
    "ffill": lambda x, t: x.ffill(t, limit=1),
    "head": lambda x, t: x.head({t: 2}),
    "isel": lambda x, t: x.isel({t: 1}),
    "log_softmax": lambda x, t: x.fillna(0.0).log_softmax(t),
    "logsumexp": lambda x, t: x.fillna(0.0).logsumexp(t),
    "max": lambda x, t: x.max(t, skipna=True),
    "mean": lambda x, t: x.mean(t, skipna=True),
    "median": lambda x, t: x.median(t, skipna=True),
    "min": lambda x, t: x.min(t),
    "prod": lambda x, t: x.prod(t),
    "quantile": lambda x, t: x.quantile([0.2, 0.7], t, skipna=True, method="hazen"),
    "rank": lambda x, t: x.rank(t, pct=True),
    "rolling": lambda x, t: x.rolling({t: 2}, min_periods=1).sum(skipna=True),
    "rolling_exp": lambda x, t: x.rolling_exp({t: 3}).mean(skipna=True),
    "sel": lambda x, t: x.sel({t: 0}),
    "shift": lambda x, t: x.shift({t: 1}) + x.shift({t: -1}, fill_value=0.0),
    "softmax": lambda x, t: x.fillna(0.0).softmax(t),
    "std": lambda x, t: x.std(t, ddof=1, skipna=True),
    "sum": lambda x, t: x.sum(t, skipna=True),
    "tail": lambda x, t: x.tail({t: 1}),
    "thin": lambda x, t: x.thin({t: 2}),
    "var": lambda x, t: x.var(t),
    "weighted": lambda x, t: x.fillna(0.0).weighted(dt.arange(x.dims["trial"]) + 1.0).mean(t),
}
REFUSED = {
    "argsort": lambda x, t: x.argsort(t),
    "coarsen": lambda x, t: x.coarsen({t: 1}).mean(),
    "cumulative_integrate": lambda x, t: x.cumulative_integrate(t),
    "differentiate": lambda x, t: x.differentiate(t),
    "drop_isel": lambda x, t: x.drop_isel({t: 0}),
    "drop_sel": lambda x, t: x.drop_sel({t: [("Ann", 0)]}),
    "dropna": lambda x, t: x.dropna(t),
    "groupby": lambda x, t: x.groupby(dt.data(np.arange(9) % 2, dims=x.dims)),
    "groupby_bins": lambda x, t: x.groupby_bins(dt.data(np.arange(9.0), dims=x.dims), 2),
    "integrate": lambda x, t: x.integrate(t),
    "interp": lambda x, t: x.interp({t: [0.5]}),
    "interpolate_na": lambda x, t: x.interpolate_na(t),
    "pad": lambda x, t: x.pad({t: 1}),
    "polyfit": lambda x, t: x.polyfit(t, 1),
    "reindex": lambda x, t: x.reindex({t: [("Ann", 0), ("Bob", 5)]}),
    "resample": lambda x, t: x.resample({t: "D"}).mean(),
    "roll": lambda x, t: x.roll({t: 1}),
    "sort": lambda x, t: x.sort(t),
    "sortby": lambda x, t: x.sortby(t),
    "swap_dims": lambda x, t: x.expand(dt.Dim("z", length=2)).ravel(),
    "unravel": lambda x, t: x.expand(dt.Dim("z", length=2)).ravel(),
    "ravel": lambda x, t: x.expand(dt.Dim("z", length=2)).ravel(),
}
# element by element, attributes, conversions, other names of a dim
OTHERS = {
    "as_labels", "astype", "broadcast_like", "categories", "clip", "codes", "combine_first", "dims",
    "dt", "dtype", "eval", "expand", "expand_dims", "fillna", "idxmax", "idxmin", "imag", "inc",
    "isin", "isnull", "item", "known_values", "loc", "name", "ndim", "node", "notnull", "plot",
    "real", "relabel", "rename", "rename_dim", "set", "sizes", "squeeze", "to_dataframe",
    "to_series", "to_shaped", "to_xtensor", "transpose", "values", "where",
}  # fmt: skip


def test_the_table_has_all_methods() -> None:
    names = {name for name in dir(dt.DimTensor) if not name.startswith("_")}
    assert names == set(ALONG) | set(REFUSED) | OTHERS


def ragged(owners):
    return dt.ragged("trial", within=subject, by=subject.coords[owners])


@pytest.mark.parametrize("owners", [SORTED, MIXED], ids=["sorted", "mixed"])
@pytest.mark.parametrize("name", ALONG)
def test_a_method_is_that_of_each_parent(name, owners) -> None:
    trial = ragged(owners)
    x = dt.tensor("x", dims=trial)
    y = ALONG[name](x, "trial")
    found = y.eval({x: VALUES}, backend="python")
    for at, label in enumerate(subject.coords):
        own = VALUES[np.equal(owners, at)]
        plain = dt.tensor("x", dims=dt.Dim("trial", length=len(own)))
        expected = ALONG[name](plain, "trial").eval({plain: own}, backend="python")
        part = found.sel(subject=label)
        if "trial_index" in part.dims:
            part = part.rename(trial_index="trial")
        assert part.dims == expected.dims
        np.testing.assert_allclose(part, expected, rtol=1e-12)


@pytest.mark.parametrize("name", REFUSED)
def test_other_methods_refuse(name) -> None:
    x = dt.data(VALUES, dims=ragged(MIXED))
    with pytest.raises(dt.RaggedDimError, match=r"(different|other) labels of dim 'subject'"):
        REFUSED[name](x, "trial")


FUNCTIONS_REFUSED = {
    "convolve": lambda x, t: dt.convolve(x, dt.ones(dt.Dim("lag", length=2)), t),
    "eye": lambda x, t: dt.eye(t),
    "fft": lambda x, t: dt.fft.fft(x, t),
    "searchsorted": lambda x, t: dt.searchsorted(x, 2.0, t),
}


@pytest.mark.parametrize("name", FUNCTIONS_REFUSED)
def test_functions_refuse(name) -> None:
    trial = ragged(SORTED)
    with pytest.raises(dt.RaggedDimError, match=r"(different|other) labels of dim 'subject'"):
        FUNCTIONS_REFUSED[name](dt.tensor("x", dims=trial), trial)


def test_a_known_condition_drops_positions_of_all() -> None:
    x = dt.data(VALUES, dims=ragged(MIXED))
    kept = x.where(x > 1.5, drop=True)
    with np.errstate(invalid="ignore"):
        keep = VALUES > 1.5
    assert kept.values.tolist() == VALUES[keep].tolist()
    sums = np.bincount(np.array(MIXED)[keep], VALUES[keep], minlength=3)
    assert kept.sum("trial").values.tolist() == sums.tolist()


def test_columns_of_the_parents_are_refused() -> None:
    with pytest.raises(dt.RaggedDimError, match="each trial belongs to one subject"):
        dt.one_hot(ragged(MIXED).owner)


@pytest.mark.parametrize("owners", [SORTED, MIXED, [1], []], ids=["sorted", "mixed", "one", "none"])
def test_the_whole_of_two_ragged_dims_has_the_positions_of_both(owners) -> None:
    trial, kind = ragged(np.array(owners, int)), dt.Dim("kind", coords=["u", "v"])
    visit = dt.ragged("visit", within=subject, by=["Cem", "Ann", "Cem"])
    x = dt.tensor("x", dims=trial)
    y = dt.data([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]], dims=[kind, visit])
    whole = dt.concat([x, y], [trial, visit], name="event")
    values = np.nan_to_num(VALUES[: len(owners)])
    found = dt.evaluate([whole, whole.cumsum("event"), whole.sum("event")], {x: values})
    joined, sums, total = (part.transpose("kind", ...).values for part in found)
    parents = np.concatenate([np.array(owners, int), [2, 0, 2]])
    both = np.stack([np.concatenate([values, row]) for row in ([1.0, 2, 4], [8.0, 16, 32])])
    np.testing.assert_array_equal(joined, both)
    for at in range(3):
        own = parents == at
        np.testing.assert_allclose(sums[:, own], both[:, own].cumsum(axis=1))
        np.testing.assert_allclose(total[:, at], both[:, own].sum(axis=1))
    numbers = [int((parents[:k] == at).sum()) for k, at in enumerate(parents)]
    labels = list(zip(np.array(subject.coords)[parents].tolist(), numbers, strict=True))
    assert whole.dims[-1 if whole.dims[0] is kind else 0].coords.tolist() == labels


def test_other_parents_are_joined_with_their_positions() -> None:
    other = dt.Dim("subject", coords=["Dov", "Eve"])
    later = dt.ragged("trial", within=other, by=["Eve", "Dov", "Eve"])
    x, y = dt.data(VALUES, dims=ragged(MIXED)), dt.data([1.0, 2.0, 3.0], dims=later)
    sums = dt.concat([x, y], "trial").sum("trial", skipna=True)
    expected = [*np.bincount(MIXED, np.nan_to_num(VALUES), 3), 2.0, 4.0]
    assert sums.dims[0].coords.tolist() == ["Ann", "Bob", "Cem", "Dov", "Eve"]
    np.testing.assert_allclose(sums.values, expected)


def test_one_and_the_same_ragged_dim_twice() -> None:
    x = dt.data(VALUES, dims=ragged(MIXED))
    twice = dt.concat([x, x], "trial")
    assert twice.count("trial").values.tolist() == (2 * x.count("trial")).values.tolist()


def test_a_concatenation_with_parents_that_arrive_later_is_refused() -> None:
    late = dt.tensor("y", dims=dt.ragged("trial", within=subject))
    with pytest.raises(dt.RaggedDimError, match="whose parents are known, and dim 'trial' is none"):
        dt.concat([dt.data(VALUES, dims=ragged(MIXED)), late], "trial")
