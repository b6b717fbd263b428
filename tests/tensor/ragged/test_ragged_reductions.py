"""Reductions, broadcasting and selections along ragged dims, beside NumPy loops over parents."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import dimtensor as dt
from dimtensor.dims import RaggedDim
from tests.backend_names import BACKENDS
from tests.optional import jax, jnp

OWNERS = np.array([0, 0, 0, 2, 2, 3])
MIXED = np.array([2, 0, 3, 0, 2, 0])
VALUES = np.array([1.5, -2.0, 0.5, 4.0, 3.0, 7.0])
BASE = np.array([10.0, 20.0, 30.0, 40.0])
subject = dt.Dim("subject", coords=["Ann", "Bob", "Cem", "Dov"])
k = dt.Dim("k", length=3)


def labels_of(owners: np.ndarray) -> list[str]:
    return [str(subject.coords[at]) for at in owners]


def of_known(owners: np.ndarray):
    return dt.ragged("trial", within=subject, by=labels_of(owners))


@pytest.fixture(params=["sorted", "mixed", "late lengths", "late parents"])
def case(request):
    """Owners, the ragged dim, and the values of its further inputs."""
    if request.param == "sorted":
        return OWNERS, of_known(OWNERS), {}
    if request.param == "mixed":
        return MIXED, of_known(MIXED), {}
    if request.param == "late lengths":
        lengths = dt.tensor("lengths", dims=subject, dtype="int64")
        return OWNERS, dt.ragged("trial", within=subject, lengths=lengths), {lengths: [3, 0, 2, 1]}
    trial = dt.ragged("trial", within=subject)
    return MIXED, trial, {trial.owner: labels_of(MIXED)}


def run(y, feed, backend="python"):
    used = dt.inputs_of(y)  # lengths are none of a sum over everything
    return y.eval({x: value for x, value in feed.items() if x in used}, backend=backend)


def by_parent(function, owners, values, n=4):
    return np.array([function(values[owners == at]) for at in range(n)])


NOTHING = {"max": -np.inf, "min": np.inf, "mean": np.nan, "var": np.nan, "std": np.nan,
           "median": np.nan}  # fmt: skip
REDUCTIONS = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "max": np.max, "min": np.min, "var": np.var,
    "std": np.std, "logsumexp": logsumexp, "median": np.median, "count": len,
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_are_those_of_each_parent(case, name) -> None:
    owners, trial, feed = case
    x = dt.tensor("x", dims=trial)
    nothing = NOTHING.get(name)

    def reference(values):
        if not len(values) and nothing is not None:
            return nothing
        return -np.inf if name == "logsumexp" and not len(values) else REDUCTIONS[name](values)

    y = getattr(x, name)(trial)
    assert y.dims == (subject,)
    found = run(y, {x: VALUES, **feed})
    np.testing.assert_allclose(found, by_parent(reference, owners, VALUES), rtol=1e-12)
    if name not in ("median",):
        whole = run(getattr(x, name)(), {x: VALUES, **feed})
        np.testing.assert_allclose(whole, REDUCTIONS[name](VALUES), rtol=1e-12)


def test_any_and_all(case) -> None:
    owners, trial, feed = case
    x = dt.tensor("x", dims=trial)
    found = run((x > 2).any(trial), {x: VALUES, **feed})
    assert found.values.tolist() == by_parent(lambda v: (v > 2).any(), owners, VALUES).tolist()
    found = run((x > 2).all("trial"), {x: VALUES, **feed})
    assert found.values.tolist() == by_parent(lambda v: (v > 2).all(), owners, VALUES).tolist()


def test_further_dims_and_missing_values(case) -> None:
    owners, trial, feed = case
    x = dt.tensor("x", dims=[trial, k])
    values = np.arange(18.0).reshape(6, 3)
    values[1, 2] = np.nan
    feed = {x: (("trial", "k"), values), **feed}
    sums = run(x.sum(trial, skipna=True), feed).transpose("subject", "k")
    np.testing.assert_allclose(sums, by_parent(lambda v: np.nansum(v, axis=0), owners, values))
    both = run(x.max([trial, k], skipna=True), feed)
    expected = [np.nanmax(values[owners == at]) if (owners == at).any() else np.nan
                for at in range(4)]  # fmt: skip
    np.testing.assert_allclose(both, expected)
    means = run(x.mean(["trial", "subject"], skipna=True), feed)
    np.testing.assert_allclose(means, np.nanmean(values, axis=0))


def test_values_of_parents_are_looked_up(case) -> None:
    owners, trial, feed = case
    x, base = dt.tensor("x", dims=trial), dt.tensor("base", dims=subject)
    feed = {x: VALUES, base: BASE, **feed}
    assert run(base + x, feed).values.tolist() == (BASE[owners] + VALUES).tolist()
    assert run(dt.where(x > 0, base, x), feed).values.tolist() == (
        np.where(VALUES > 0, BASE[owners], VALUES).tolist()
    )
    repeated = base.expand(trial) + 0 * x
    assert run(repeated, feed).values.tolist() == BASE[owners].tolist()
    assert (x + base).dims == (trial,)
    assert run(dt.dot(x, base, dim=trial), feed).values.tolist() == pytest.approx(
        by_parent(np.sum, owners, VALUES * BASE[owners]).tolist()
    )
    table = dt.tensor("table", dims=[subject, k])
    which = dt.tensor("which", dims=trial, dtype="int64")
    places, cells = np.array([0, 1, 2, 0, 1, 2]), np.arange(12.0).reshape(4, 3)
    feed = {table: (("subject", "k"), cells), which: places, **feed}
    assert run(table.isel(k=which) + 0 * x, feed).values.tolist() == (
        cells[owners, places].tolist()
    )


def test_positions_of_extremes() -> None:
    for owners in (OWNERS, MIXED):
        parents = dt.Dim("subject", coords=["Ann", "Cem", "Dov"])
        at = np.searchsorted([0, 2, 3], owners)
        trial = dt.ragged("trial", within=parents, by=parents.coords[at])
        x = dt.tensor("x", dims=trial)
        found = run(x.argmax(trial), {x: VALUES})
        assert found.values.tolist() == by_parent(np.argmax, at, VALUES, 3).tolist()
        labels = run(x.idxmin(trial), {x: VALUES}).values.tolist()
        firsts = by_parent(np.argmin, at, VALUES, 3).tolist()
        assert labels == list(zip(["Ann", "Cem", "Dov"], firsts, strict=True))
    x = dt.tensor("x", dims=of_known(OWNERS))
    with pytest.raises(dt.CheckError, match="has no elements along dim 'trial'"):
        run(x.argmax("trial"), {x: VALUES})


@pytest.mark.parametrize("name", ["sum", "prod", "max", "logsumexp", "var"])
def test_gradients_go_to_the_elements_of_the_parent(case, name) -> None:
    owners, trial, feed = case
    x, base = dt.tensor("x", dims=trial), dt.tensor("base", dims=subject)
    weight = np.array([1.0, 5.0, -2.0, 3.0])

    def loss(values, bases):
        z = values * bases[owners]
        function = {"max": lambda v: v.max() if len(v) else 0.0, "var": lambda v: v.var() if len(v)
                    else 0.0, "logsumexp": lambda v: logsumexp(v) if len(v) else 0.0}  # fmt: skip
        return sum(
            w * function.get(name, getattr(np, name, None))(z[owners == at])
            for at, w in enumerate(weight)
        )

    reduced = getattr(x * base, name)(trial)
    some = dt.ones(trial).sum(trial) > 0  # an empty parent has no gradient
    total = (dt.where(some, reduced, 0.0) * dt.data(weight, dims=subject)).sum()
    slopes = dt.evaluate(dt.grad(total, [x, base]), {x: VALUES, base: BASE, **feed},
                         backend="python")  # fmt: skip
    step = 1e-6
    for at in range(6):
        moved = VALUES + step * (np.arange(6) == at), VALUES - step * (np.arange(6) == at)
        slope = (loss(moved[0], BASE) - loss(moved[1], BASE)) / (2 * step)
        assert slopes[0].values[at] == pytest.approx(slope, rel=1e-5, abs=1e-5)
    for at in range(4):
        moved = BASE + step * (np.arange(4) == at), BASE - step * (np.arange(4) == at)
        slope = (loss(VALUES, moved[0]) - loss(VALUES, moved[1])) / (2 * step)
        assert slopes[1].values[at] == pytest.approx(slope, rel=1e-5, abs=1e-5)


TIES = np.array([[3.0, 1.0, 3.0, 2.0, 2.0, 0.5], [1.0, np.nan, 2.0, 9.0, 9.0, -1.0]])


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("owners", [OWNERS, MIXED], ids=["sorted", "mixed"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_equal_extremes_share_the_gradient(backend, owners, name) -> None:
    """As in JAX: NaN has no gradient, and is the extreme of its parent."""
    c = dt.Dim("c", length=2)
    weight, some = np.array([1.0, 5.0, -2.0, 3.0]), np.bincount(owners, minlength=4) > 0
    x = dt.tensor("x", dims=[of_known(owners), c])
    reduced = dt.where(dt.data(some, dims=subject), getattr(x, name)("trial"), 0.0)
    slope = dt.grad((reduced * dt.data(weight, dims=subject)).sum(), x)
    found = dt.evaluate(slope, {x: (("c", "trial"), TIES)}, backend=backend)

    def loss(values):
        of_each = getattr(jax.ops, f"segment_{name}")(values, owners, 4)
        return jnp.where(some, of_each, 0.0) @ weight

    with jax.enable_x64(True):
        expected = [jax.grad(loss)(jnp.asarray(values)) for values in TIES]
    np.testing.assert_allclose(found.transpose("c", "trial"), expected, rtol=1e-12)


@pytest.mark.compiled
@pytest.mark.parametrize("backend", BACKENDS)
def test_all_backends(backend) -> None:
    trial = of_known(MIXED)
    x, base = dt.tensor("x", dims=trial), dt.tensor("base", dims=subject)
    z = x + base
    first = z.logsumexp(trial).isel(subject=0)
    outputs = [z.sum(trial), z.max(trial), z.softmax(trial), dt.grad(first, base)]
    found = dt.function([x, base], outputs, backend=backend)(VALUES, BASE)
    expected = dt.function([x, base], outputs, backend="python")(VALUES, BASE)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.compiled
def test_other_lengths_at_a_call_compile_nothing() -> None:
    lengths = dt.tensor("lengths", dims=subject, dtype="int64")
    trial = dt.ragged("trial", within=subject, lengths=lengths)
    x = dt.tensor("x", dims=trial)
    f = dt.function([lengths, x], x.sum(trial), backend="native")
    assert f([3, 0, 2, 1], VALUES).values.tolist() == [0.0, 0.0, 7.0, 7.0]
    code = f.source
    assert f([0, 1, 0, 2], VALUES[:3]).values.tolist() == [0.0, 1.5, 0.0, -1.5]
    assert f.source == code
    with pytest.raises(dt.CheckError, match="the lengths of dim 'trial' add up to its length"):
        f([1, 1, 1, 1], VALUES)


def test_nested_ragged_dims() -> None:
    document = dt.Dim("document", coords=["p", "q"])
    sentence = dt.ragged("sentence", within=document, lengths=[2, 1])
    word = dt.ragged("word", within=sentence, lengths=[2, 0, 3])
    x, weight = dt.tensor("x", dims=word), dt.tensor("weight", dims=document)
    tone = dt.tensor("tone", dims=sentence)
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    feed = {x: values, weight: [10.0, 20.0], tone: [0.1, 0.2, 0.3]}
    assert run(x.sum(word), feed).values.tolist() == [3.0, 0.0, 12.0]
    assert run(x.sum([word, sentence]), feed).values.tolist() == [3.0, 12.0]
    assert run(x.sum(word).sum(sentence), feed).values.tolist() == [3.0, 12.0]
    assert run(x.mean([word, sentence]), feed).values.tolist() == [1.5, 4.0]
    assert float(run(x.mean(), feed)) == 3.0
    assert run(weight + tone + x, feed).values.tolist() == pytest.approx(
        [11.1, 12.1, 23.3, 24.3, 25.3]
    )
    with pytest.raises(dt.RaggedDimError, match="is over dim 'document', and not over dim 'sent"):
        x.sum([word, document])
    one = x.sel(document="q")
    assert run(one.sum("word"), feed).values.tolist() == [12.0]
    assert word.to_index().names == ["document", "sentence_index", "word_index"]
    assert word.coords[2] == ("q", 0, 0)


def test_selection_of_parents() -> None:
    for owners in (OWNERS, MIXED):
        trial = of_known(owners)
        x = dt.tensor("x", dims=trial)
        one = x.sel(subject="Cem")
        assert one.dims == (dt.Dim("trial", length=2),)
        assert run(one, {x: VALUES}).values.tolist() == VALUES[owners == 2].tolist()
        assert run(x.isel(subject=-1).cumsum(), {x: VALUES}).values.tolist() == (
            VALUES[owners == 3].cumsum().tolist()
        )
        two = x.sel(subject=["Cem", "Ann"])
        assert run(two.sum("trial"), {x: VALUES}).to_series().to_dict() == {
            "Cem": VALUES[owners == 2].sum(), "Ann": VALUES[owners == 0].sum()
        }  # fmt: skip
        assert float(run(x.sel(trial=("Ann", 1)), {x: VALUES})) == VALUES[owners == 0][1]


def test_selection_by_number_within_the_parent(case) -> None:
    owners, trial, feed = case
    x = dt.tensor("x", dims=trial)
    feed = {x: VALUES, **feed}
    for number in (0, -1, 1):
        found = run(x.isel(trial=number), feed)
        assert found.dims == ("subject",)
        expected = []
        for at in range(4):
            own = VALUES[owners == at]
            there = len(own) > number if number >= 0 else len(own) >= -number
            expected.append(own[number] if there else np.nan)
        np.testing.assert_array_equal(found, expected)
    which = dt.tensor("which", dims=subject, dtype="int64")
    with pytest.raises(dt.CheckError, match="outside of the length of their parent"):
        run(x.isel(trial=which), {**feed, which: [0, 0, 0, 0]})
    number = dt.arange(trial)
    first = run(x.isel(trial=0 * number), feed).values
    assert first.tolist() == [VALUES[owners == at][0] for at in owners]


@pytest.mark.parametrize("key", [slice(1, None), slice(None, -1), slice(None, None, -1), slice(2)])
def test_slices_are_of_each_parent(key) -> None:
    for owners in (OWNERS, MIXED):
        x = dt.tensor("x", dims=of_known(owners))
        taken = x.isel(trial=key)
        assert isinstance(taken.dims[0], RaggedDim)
        found = run(taken.sum("trial"), {x: VALUES})
        assert found.values.tolist() == by_parent(lambda v: v[key].sum(), owners, VALUES).tolist()
        expected = np.concatenate([VALUES[owners == at][key] for at in range(4)])
        if not np.array_equal(owners, MIXED) or key != slice(2):
            assert run(taken, {x: VALUES}).values.tolist() == expected.tolist()


def test_masks_of_known_positions_stay_ragged() -> None:
    trial = of_known(MIXED)
    x = dt.data(VALUES, dims=trial)
    kept = x[x > 1]
    keep = VALUES > 1
    assert kept.sum("trial").values.tolist() == (
        by_parent(np.sum, MIXED[keep], VALUES[keep]).tolist()
    )
    z = dt.tensor("z", dims=trial)
    with pytest.raises(dt.RaggedDimError, match=r"a mask of dim 'trial' that is computed"):
        z[z > 1]


def test_labels_within_parents() -> None:
    days = ["mon", "tue", "wed", "mon", "wed", "tue"]
    visit = dt.ragged("visit", within=subject, by=labels_of(OWNERS), coords=days)
    x = dt.data(VALUES, dims=visit)
    assert visit.coords[3] == ("Cem", "mon")
    np.testing.assert_array_equal(x.sel(visit="wed").values, [0.5, np.nan, 3.0, np.nan])
    assert x.sel(visit=["mon", "tue"]).sum("visit").values.tolist() == [-0.5, 0.0, 4.0, 7.0]
    assert x.sel(subject="Cem").dims == (dt.Dim("visit", coords=["mon", "wed"]),)
    with pytest.raises(dt.LabelError, match="has a label more than once within one of"):
        dt.ragged("visit", within=subject, by=labels_of(OWNERS), coords=["a"] * 6)


def test_results_have_a_multiindex_that_goes_in_again() -> None:
    trial = of_known(MIXED)
    x = dt.tensor("x", dims=trial)
    f = dt.function([x], x * 2, backend="python")
    found = f(VALUES)
    assert isinstance(found.indexes["trial"], pd.MultiIndex)
    assert found.indexes["trial"].names == ["subject", "trial_index"]
    assert found.sel(subject="Cem").values.tolist() == (2 * VALUES[MIXED == 2]).tolist()
    assert f(found[::-1]).values.tolist() == (4 * VALUES).tolist()
    table = pd.DataFrame({"subject": labels_of(MIXED), "rt": VALUES})
    assert f(table.rt).values.tolist() == (2 * VALUES).tolist()
    assert dt.data(table.rt, dims=trial).sum(trial).values.tolist() == (
        by_parent(np.sum, MIXED, VALUES).tolist()
    )


def test_identity_and_pickles() -> None:
    one = dt.ragged("trial", within=subject, lengths=[3, 0, 2, 1])
    assert one is of_known(OWNERS)
    assert one is not of_known(MIXED)
    assert pickle.loads(pickle.dumps(one)) is one
    assert len(one) == 6
    assert one.lengths.values.tolist() == [3, 0, 2, 1]
    assert one.owner.values.tolist() == labels_of(OWNERS)
    assert repr(one) == "RaggedDim('trial', within subject, 6 positions)"
    renamed = dt.data(VALUES, dims=one).rename_dim("trial", "visit")
    assert renamed.sum("visit").values.tolist() == [0.0, 0.0, 7.0, 7.0]
    assert (renamed + dt.data(BASE, dims=subject)).values.tolist() == (
        (VALUES + BASE[OWNERS]).tolist()
    )


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"lengths": [1, -1, 0, 0]}, dt.InputError, "integers of at least 0, not -1"),
        ({"lengths": [1.5, 1, 0, 0]}, dt.InputError, "integers of at least 0"),
        ({"lengths": [1, 2]}, dt.DimError, "length"),
        ({"by": ["Ann", "Eve"]}, dt.LabelError, "Eve"),
        ({"by": ["Ann"], "lengths": [1, 0, 0, 0]}, dt.ArgumentError, "not both"),
        ({"lengths": [1, 0, 0, 0], "coords": [1, 2]}, dt.DimError, "1 positions and 2 labels"),
    ],
)
def test_what_is_no_ragged_dim(options, error, match) -> None:
    with pytest.raises(error, match=match):
        dt.ragged("trial", within=subject, **options)


def test_dims_that_do_not_combine() -> None:
    trial = of_known(OWNERS)
    visit = dt.ragged("visit", within=subject, lengths=[1, 1, 1, 1])
    x, y = dt.tensor("x", dims=trial), dt.tensor("y", dims=visit)
    with pytest.raises(dt.RaggedDimError, match="would combine each"):
        x + y
    assert (x.sum(trial) + y).dims == (visit,)
    with pytest.raises(dt.RaggedDimError, match="each trial belongs to one subject"):
        dt.zeros([trial, subject])
    assert (x + dt.tensor("a", dims=subject.rename("other"))).ndim == 2


@pytest.mark.parametrize("backend", ["python", pytest.param("native", marks=pytest.mark.compiled)])
def test_logsumexp_of_infinities(backend):
    inf = np.inf
    values = [[-inf, -inf], [inf, 1.0], [], [-inf, 2.0], [np.nan, 1.0], [-800.0, -800.0]]
    parent = dt.Dim("parent", coords=list("abcdef"))
    child = dt.ragged("child", within=parent, lengths=[len(each) for each in values])
    x = dt.data(np.concatenate(values), dims=child)
    found = dt.evaluate(x.logsumexp(child), backend=backend)
    expected = [logsumexp(each) if each else -inf for each in values]
    np.testing.assert_allclose(found, expected)
