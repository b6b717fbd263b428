"""Values of unusual classes: masked arrays, objects that raise, labels unequal to themselves."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.errors import DtypeError, InputError, LabelError, OptionError

K = dt.Dim("k")
HIDDEN = np.ma.array([1.0, 1000.0, 3.0], mask=[False, True, False])
MISSING = [1.0, np.nan, 3.0]
x = dt.tensor("x", dims=K)


@pytest.mark.parametrize(
    "value",
    [HIDDEN, HIDDEN.astype("i8"), HIDDEN.astype(object), [1.0, np.ma.masked, 3.0], list(HIDDEN)],
    ids=["floats", "integers", "objects", "a list", "scalars"],
)
def test_masked_elements_are_missing(value: Any) -> None:
    np.testing.assert_array_equal(dt.data(value, dims=K), MISSING)
    np.testing.assert_array_equal(dt.data(("k", value), dims=K), MISSING)
    np.testing.assert_array_equal((x * 2.0).eval({x: value}), 2.0 * np.array(MISSING))
    f = dt.function([], dt.data([0.0], dims=K, name="d") + 1.0, "python")
    np.testing.assert_array_equal(f.with_data(d=value)(), np.array(MISSING) + 1.0)


def test_rows_of_masked_arrays_keep_their_masks():
    both = dt.data([HIDDEN, HIDDEN], dims=[dt.Dim("row", length=2), K])
    np.testing.assert_array_equal(both.eval().transpose("row", "k"), [MISSING, MISSING])


def test_masked_observations_are_not_counted():
    mu = dt.rv("mu", dist.Normal(0.0, 10.0))
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0), dims=K), backend="python")
    with pytest.raises(InputError, match="observations of 'y' are missing: 1 of 3"):
        model.observe(y=HIDDEN)
    fit = model.observe(y=HIDDEN, missing="drop")
    # the mean of 1 and 3, drawn towards 0 by the prior: 4 / (2 + 1 / 100)
    assert fit.mode()["posterior"]["mu"].item() == pytest.approx(4.0 / 2.01, rel=1e-5)
    places = dt.Dim("place", coords=["here", "there"])
    where = np.ma.array(["here", "there", "here"], mask=[False, True, False])
    with pytest.raises(LabelError, match="has no label nan"):
        dt.data(where, dims=K, categories=places)


def test_integers_that_floats_do_not_hold_are_not_masked():
    with pytest.raises(InputError, match=r"integers that are no floats.*\n.*9007199254740993"):
        dt.data(np.ma.array([1, 2, 2**53 + 1], mask=[1, 0, 0]), dims=K)


def test_masked_labels_positions_and_vectors_are_refused():
    y = dt.data([1.0, 2.0, 3.0], dims=dt.Dim("k", coords=[1.0, 2.0, 3.0]))
    for select in (lambda: y.sel(k=HIDDEN), lambda: y.isel(k=HIDDEN.astype(int))):
        with pytest.raises(InputError, match=r"1 of 3 elements are masked(.|\n)*compressed\(\)"):
            select()
    with pytest.raises(InputError, match="1 of 3 elements are masked"):
        dt.Dim("k", coords=HIDDEN)
    with pytest.raises(LabelError, match="a label is masked"):
        dt.Dim("k", coords=[1, np.ma.masked])
    with pytest.raises(InputError, match="array 0: 1 of 3 elements are masked"):
        dt.function([x], x * 2.0, "python").positional(HIDDEN)
    assert np.isnan((dt.data(1.0) + np.ma.masked).item())


class Raises:
    def __array__(self, *_: Any, **options: Any) -> Any:
        raise KeyError("no array")


class Repr(Raises):
    def __repr__(self) -> str:
        raise KeyError("no repr")


@pytest.mark.parametrize("value", [Raises(), Repr(), [1.0, Raises()]], ids=["it", "repr", "list"])
def test_what_methods_raise_is_the_cause_of_an_error(value: Any) -> None:
    f = dt.function([x], x * 2.0, "python")
    y = dt.data([1.0, 2.0], dims=dt.Dim("k", coords=["a", "b"]))
    for read in (lambda: dt.data(value, dims=K), lambda: f(value), lambda: y.isel(k=value)):
        with pytest.raises(InputError, match="raised: KeyError: 'no array'") as caught:
            read()
        assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(InputError, match=r"nothing says which dims|raised: KeyError"):
        y + value


def test_texts_and_dates_are_no_numbers_of_a_dtype():
    for value in (["1", "2"], np.array(["1", "2"]), np.array(["2020", "NaT"], "M8[D]")):
        with pytest.raises(DtypeError, match="but tensors hold numbers"):
            dt.data(value, dims=K, dtype="float64")


def test_whole_floats_for_integers_say_what_is_meant():
    n = dt.tensor("n", dims=K, dtype="int64")
    f = dt.function([n], n * 2, "python")
    with pytest.raises(DtypeError, match=r'hint: all of them are whole: .*astype\("int64"\)'):
        f([1.0, 2.0])
    with pytest.raises(DtypeError, match="hint: convert the values with astype"):
        f([1.0, 2.5])
    with pytest.raises(DtypeError, match=r"do not fit into int64: 1180591620717411303424"):
        f([2**70])
    assert (x * 1.0).eval({x: [2**70]}).item() == 2.0**70
    with pytest.raises(dt.DimError, match="hint: write an integer: length=3"):
        dt.Dim("k", length=3.0)  # type: ignore[arg-type]
    with pytest.raises(DtypeError, match=r"hint: a position is an integer: isel\(k=1\)"):
        dt.data([1.0, 2.0], dims=K).isel(k=1.0)


class Comparing:
    def __init__(self, equal: Any):
        self._equal = equal

    def __eq__(self, other: object) -> Any:
        return self._equal(self, other)

    def __hash__(self) -> int:
        return 7


def _raise(*_: Any) -> Any:
    raise RuntimeError("broken")


@pytest.mark.parametrize(
    "label",
    [Comparing(_raise), Comparing(lambda *_: False), Comparing(lambda *_: np.zeros(2)), (1, [2])],
    ids=["raises", "never", "array", "list in tuple"],
)
def test_a_label_equals_itself(label: Any) -> None:
    with pytest.raises(LabelError, match=r"cannot be a label|does not change"):
        dt.Dim("k", coords=[label])
    with pytest.raises(LabelError, match=r"is no label of dim 'k'"):
        x.sel(k=label)


def test_a_label_that_equals_no_others_leaves_other_dims_alone():
    label = Comparing(lambda one, other: one is other or _raise())
    dim = dt.Dim("k", coords=[label, "other"])
    assert dim.position(label) == 0
    assert dim.position("other") == 1
    assert dt.Dim("k", coords=[7, "other"]) is dt.Dim("k", coords=[7, "other"]) is not dim
    assert Comparing(lambda *_: True) not in dim


def test_every_distribution_is_pickled():
    for name, row in dist.TABLE.items():
        d = getattr(dist, name)(**row.example)
        again = pickle.loads(pickle.dumps(d))
        assert again.logp(0.5) is d.logp(0.5), name


def test_a_positional_function_is_not_pickled():
    f = dt.function([x], x * 2.0, "python")
    with pytest.raises(dt.GraphError, match=r"hint: pickle the function itself"):
        pickle.dumps(f.positional)


@pytest.mark.parametrize("seed", [-1, 2**63, True, 1.5, "1", np.array([1])], ids=repr)
def test_seeds_are_integers_of_63_bits(seed: Any) -> None:
    mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python")
    fit = model.observe(y=1.0)
    post = fit.laplace(1, seed=np.int8(1))
    for take in (
        lambda: model.draw(1, seed=seed),
        lambda: fit.predict(post, seed=seed),
        lambda: fit.laplace(1, seed=seed),
        lambda: fit.sample(1, seed=seed),
        lambda: dt.random.generator(seed),
    ):
        with pytest.raises(OptionError, match=r"seed is an integer|not between 0 and 2"):
            take()


def test_arrays_replace_variables_by_their_labels():
    dim = dt.Dim("k", coords=["a", "b"])
    mu = dt.rv("mu", dist.Normal(0.0, 1.0), dims=dim)
    y = dt.rv("y", dist.DiracDelta(mu))
    for value in ([1.0, 2.0], dt.data([1.0, 2.0], dims=dim).eval()[::-1]):
        found = dt.Model(y, backend="python").do(mu=value).draw(1, seed=1)["prior_predictive"]["y"]
        assert found.values.ravel().tolist() == [1.0, 2.0]
