"""What cannot be known before the data arrives is refused at the call, by name, before it runs."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from tests.backend_names import BACKENDS

OBS = dt.Dim("obs")
X = dt.tensor("x", dims=OBS)
FIVE = np.arange(5.0)
NONE = np.zeros(0)


@pytest.mark.parametrize("position", [5, 7, -6])
def test_position_outside_of_the_dim(position: int) -> None:
    message = rf"position {position} is outside of dim 'obs': it has length 5"
    with pytest.raises(dt.PositionError, match=message):
        X.isel(obs=position).eval({X: FIVE})
    with pytest.raises(dt.PositionError, match=message):
        X.isel(obs=[0, position]).eval({X: FIVE})
    with pytest.raises(dt.PositionError, match=message):
        X.isel(obs=position).set(0.0).eval({X: FIVE})


@pytest.mark.parametrize("position", [0, 4, -5])
def test_position_at_the_end_of_the_dim(position: int) -> None:
    assert X.isel(obs=position).eval({X: FIVE}).item() == FIVE[position]
    assert X.isel(obs=[position]).eval({X: FIVE}).item() == FIVE[position]


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
def test_extreme_over_no_positions(name: str) -> None:
    with pytest.raises(dt.DimError, match=f"{name} has no value over dim 'obs': it has length 0"):
        getattr(X, name)("obs").eval({X: NONE})
    with pytest.raises(dt.DimError, match=f"{name} over dim 'obs' of length 0 has no value"):
        getattr(dt.tensor("y", dims=dt.Dim("obs", length=0)), name)("obs")


def test_extreme_over_what_a_mask_leaves() -> None:
    for name in ("min", "max", "argmin", "argmax"):
        found = getattr(X[X > 1.5], name)()
        expected = {"min": 2.0, "max": 4.0, "argmin": 0, "argmax": 2}
        assert found.eval({X: FIVE}).item() == expected[name]
        with pytest.raises(dt.CheckError, match=f"{name} has no value over dim 'obs'"):
            found.eval({X: -FIVE})


DTYPES = ["bool", "int8", "int64", "uint8", "uint64", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_extremes_over_what_a_mask_leaves_of_each_dtype(backend: str, dtype: str) -> None:
    y = dt.tensor("y", dims=OBS, dtype=dtype)
    left = y[X > 1.5]
    f = dt.function([X, y], [getattr(left, name)() for name in ("min", "max")], backend=backend)
    for values in ([1, 0, 1], [0, 0, 0], [1, 1, 1]):
        given = np.array([0, *values, 1], dtype=dtype)
        found = f(np.array([1.0, 2.0, 3.0, 4.0, 0.0]), given)
        assert [x.item() for x in found] == [min(given[1:4]), max(given[1:4])]
        assert {str(x.dtype) for x in found} == {dtype}


@pytest.mark.parametrize("length", [None, 0])
def test_what_has_a_value_over_no_positions(length: int | None) -> None:
    y = dt.tensor("y", dims=dt.Dim("k", length=length))
    for x in (y, y[y > 0]):
        assert np.isnan(x.median().eval({y: NONE}).item())
        assert x.logsumexp().eval({y: NONE}).item() == -np.inf
        assert x.sum().eval({y: NONE}).item() == 0.0


def test_look_up_along_a_dim_without_positions() -> None:
    at = dt.tensor("at", dims=dt.Dim("k"), dtype="int64")
    found = X.isel(obs=at * 2)
    assert found.eval({X: NONE, at: np.zeros(0, dtype=int)}).shape == (0,)
    with pytest.raises(dt.PositionError, match="looked up along dim 'obs': it has length 0"):
        found.eval({X: NONE, at: np.array([0])})


@pytest.mark.parametrize("k", [dt.Dim("k"), dt.Dim("k", length=3)])
def test_indexer_outside_of_the_dim(k: dt.Dim) -> None:
    y, at = dt.tensor("y", dims=k), dt.tensor("at", dims=OBS, dtype="int64")
    with pytest.raises(
        dt.PositionError, match=r"input 'at' has positions outside of dim 'k' .* 3: 3, -4"
    ):
        y.isel(k=at).eval({y: np.ones(3), at: np.array([0, 3, -4])})
    computed = y.isel(k=at * 2)
    with pytest.raises(dt.CheckError, match="positions computed for dim 'k' are outside"):
        computed.eval({y: np.ones(3), at: np.array([0, 2])})


def test_indexer_of_data_outside_of_a_known_dim() -> None:
    y = dt.tensor("y", dims=dt.Dim("k", length=2))
    with pytest.raises(dt.PositionError, match="has positions outside of dim 'k' of length 2: 2"):
        y.isel(k=dt.data([0, 2], dims=OBS)).eval({y: np.ones(2)})


def test_mask_of_data_has_the_length_of_the_dim() -> None:
    mask = dt.data([True, False, True], dims=OBS)
    assert X[mask].eval({X: FIVE[:3]}).values.tolist() == [0.0, 2.0]
    with pytest.raises(dt.DimError, match="inputs disagree about the length of dim 'obs'"):
        X[mask].eval({X: FIVE})


def test_mask_of_data_brings_its_labels() -> None:
    array = xr.DataArray([True, False, True], dims="obs", coords={"obs": list("abc")})
    mask = dt.data(array, dims=OBS)
    assert X[mask].eval({X: FIVE[:3]}).obs.values.tolist() == ["a", "c"]


def test_selection_from_what_a_mask_leaves_has_its_labels() -> None:
    f = dt.function(X, X[X > 1.5].isel(obs=[1, 0]), backend="python")
    array = xr.DataArray(FIVE, dims="obs", coords={"obs": list("abcde")})
    assert f(array).obs.values.tolist() == ["d", "c"]
    assert f(array[::-1]).obs.values.tolist() == ["d", "e"]


def test_label_behind_a_mask_is_refused_where_it_is_written() -> None:
    k = dt.tensor("k", dims=dt.Dim("k", coords=["a", "b"]))
    with pytest.raises(dt.LabelError, match="which labels dim 'k' has is known when its mask is"):
        k[k > 0].sel(k="a")
    assert k[k > 0].isel(k=0).eval({k: np.array([-1.0, 2.0])}).item() == 2.0


def test_relabeled_dim_has_the_length_of_the_other() -> None:
    n = dt.Dim("n")
    y = dt.tensor("y", dims=n)
    moved = X.relabel("obs", n)
    assert moved.mean().eval({X: FIVE}).item() == 2.0
    assert (moved + y).eval({X: FIVE, y: FIVE}).values.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]
    for length in (1, 4):
        with pytest.raises(dt.DimError, match="disagree about the length of dim 'n'"):
            (moved + y).eval({X: FIVE, y: np.ones(length)})


def test_relabeled_dim_of_known_length() -> None:
    three = dt.Dim("three", length=3)
    with pytest.raises(dt.DimError, match=r"dim 'three' has length 3, the dim 'obs' .* length 5"):
        X.relabel("obs", three).eval({X: FIVE})
    with pytest.raises(dt.DimError, match="relabel: dim 'k' has length 2, dim 'three' has 3"):
        dt.tensor("k", dims=dt.Dim("k", length=2)).relabel("k", three)


def test_a_relabeled_dim_of_known_length_is_known_to_code() -> None:
    """Which short lengths let it write out; of a slice of an input the length is not known."""
    three = dt.Dim("three", length=3)
    first = X.isel(obs=slice(3))
    (obs,) = first.dims
    moved = first.relabel(obs, three)
    assert first.to_shaped([obs]).type.shape == (None,)
    assert moved.to_shaped([three]).type.shape == (3,)
    value, slope = dt.evaluate((moved.sum(), dt.grad((moved**2).sum(), X)), {X: FIVE})
    assert value.item() == 3.0
    assert slope.values.tolist() == [0.0, 2.0, 4.0, 0.0, 0.0]
    with pytest.raises(dt.DimError, match=r"dim 'three' has length 3, the dim 'obs' .* length 2"):
        moved.eval({X: FIVE[:2]})


def test_two_dims_in_the_place_of_one_are_as_long() -> None:
    other = dt.Dim("other")
    z = dt.tensor("z", dims=other)
    joint = X.relabel("obs", dt.Dim("n")) + z.relabel("other", dt.Dim("n"))
    with pytest.raises(dt.DimError, match="disagree about the length of dim 'n'"):
        joint.eval({X: FIVE, z: np.ones(1)})


def test_input_that_no_output_needs_tells_a_length() -> None:
    s = dt.scalar("s")
    f = dt.function([X, s], [s.expand(OBS), (s.expand(OBS)[1:] * 2).sum()], backend="python")
    found = f(xr.DataArray(FIVE[:3], dims="obs", coords={"obs": list("abc")}), 2.0)
    assert found[0].values.tolist() == [2.0, 2.0, 2.0]
    assert found[0].obs.values.tolist() == ["a", "b", "c"]
    assert found[1].item() == 8.0


@pytest.mark.parametrize(
    "backend",
    BACKENDS,
)
def test_computed_positional_variable_has_the_lengths_of_its_dims(backend: str) -> None:
    import pytensor.tensor as pt

    vector = pt.vector("vector")
    whole = dt.from_shaped(vector, dims=OBS)
    doubled = dt.from_shaped(vector * 2, dims=dt.Dim("k", length=4))
    rest = dt.from_shaped(vector[1:], dims=dt.Dim("rest"))
    f = dt.function([whole], [doubled.sum(), rest.mean()], backend=backend)
    assert [float(value) for value in f(FIVE[:4])] == [12.0, 2.0]
    with pytest.raises(dt.CheckError, match="axis 0 of a positional variable is not as long as"):
        f(FIVE)
    g = dt.function([whole], dt.from_shaped(vector[1:], dims=OBS) + whole, backend="python")
    with pytest.raises(dt.CheckError, match="is not as long as dim 'obs'"):
        g(FIVE)
