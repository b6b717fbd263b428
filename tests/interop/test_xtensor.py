"""The border to PyTensor's tensors with named axes, and to models of PyMC."""

from __future__ import annotations

import numpy as np
import pytensor
import pytest

import dimtensor as dt

A, B = dt.Dim("a", length=2), dt.Dim("b")


def xtensor(names=("b", "a"), shape=(None, 2)):
    from pytensor.xtensor import xtensor

    return xtensor("x", dims=names, shape=shape)


def test_named_axes_meet_the_dims_of_their_names():
    x = xtensor()
    for dims in ([A, B], [B, A]):
        y = dt.from_shaped(x, dims=dims)
        assert set(y.dims) == {A, B}
        f = pytensor.function([x], y.sum("b").to_shaped(), mode="FAST_COMPILE")
        assert f(np.arange(6.0).reshape(3, 2)).tolist() == [6.0, 9.0]


def test_named_axes_make_dims_where_none_are_given():
    y = dt.from_shaped(xtensor())
    assert y.sizes == {"a": 2, "b": None}


def test_other_names_are_refused():
    with pytest.raises(dt.DimError, match=r"axes: b, a\n  dims: a, c"):
        dt.from_shaped(xtensor(), dims=[A, dt.Dim("c")])
    with pytest.raises(dt.DimError, match="length"):
        dt.from_shaped(xtensor(), dims=[dt.Dim("a", length=5), B])


def test_expressions_go_out_with_the_names_of_their_dims():
    x = xtensor()
    out = (dt.from_shaped(x, dims=[A, B]) * dt.data([1.0, 10.0], dims=A)).to_xtensor()
    assert out.type.dims == ("a", "b")
    f = pytensor.function([x], out.sum("a"), mode="FAST_COMPILE")
    assert f(np.arange(6.0).reshape(3, 2)).tolist() == [10.0, 32.0, 54.0]


def test_a_model_of_pymc_gives_its_dims_and_takes_expressions():
    pm = pytest.importorskip("pymc")
    import pymc.dims as pmd

    with pm.Model(coords={"country": ["Italy", "Kenya"]}) as model:
        dims = dt.dims_of(model)
        country = dims["country"]
        assert country is dt.Dim("country", coords=["Italy", "Kenya"])
        x = pmd.Normal("x", dims="country")
        inside = dt.from_shaped(x, dims=[country])
        pmd.Deterministic("italy", inside.sel(country="Italy").to_xtensor())
        pmd.Potential("beyond", (-3.0 * inside.sel(country="Kenya") ** 2).to_xtensor())
        logp = model.compile_logp(mode="FAST_COMPILE")
    value = np.array([0.5, 2.0])
    normal = -0.5 * (value**2).sum() - np.log(2 * np.pi)
    np.testing.assert_allclose(logp({"x": value}), normal - 12.0, rtol=1e-12)
    assert model["italy"].type.ndim == 0


def test_dims_without_coords_have_the_length_that_is_fixed():
    pm = pytest.importorskip("pymc")
    with pm.Model() as model:
        model.add_coord("fixed", length=pytensor.tensor.constant(3))
        pm.Data("y", np.zeros(4), dims="obs")
        found = dt.dims_of(model)
    assert found["fixed"].length == 3
    assert found["obs"].length is None
    with pytest.raises(dt.ArgumentError, match=r"a pymc.Model is expected, not dict"):
        dt.dims_of({})
