"""Functions on several devices equal NumPy's value of the whole, with one all-reduce."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import dimtensor as dt
from tests.compile.devices.on_devices import CHECKS
from tests.optional import jax

OBS, WEEK = dt.Dim("obs"), dt.Dim("week")
X = dt.tensor("x", dims=[OBS, WEEK])
B = dt.scalar("b")


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    """Tracebacks of the checks on 8 devices, of those that failed."""
    assert jax.device_count()
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    environment = {**os.environ, "XLA_FLAGS": flags}
    command = [sys.executable, "-m", "tests.compile.devices.on_devices"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=1500, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", CHECKS)
def test_eight_devices_equal_one(found: dict[str, str], name: str):
    assert not found[name], found[name]


@pytest.mark.compiled
def test_one_device():
    with dt.mesh({OBS: "data"}, {"data": 1}):
        f = dt.function([X, B], {"sum": (X * B).sum(OBS), "each": X * B}, "jax")
        other = dt.function([B], B * 2, "jax")
    x = np.arange(6.0).reshape(3, 2)
    result = f((("obs", "week"), x), 2.0)
    np.testing.assert_allclose(result["sum"], x.sum(0) * 2)
    np.testing.assert_allclose(result["each"], x * 2)
    assert float(other(2.0)) == 4.0


def test_functions_on_processors_have_no_devices():
    with dt.mesh({OBS: "data"}):
        assert float(dt.function([B], B * 2, "python")(2.0)) == 4.0
    with pytest.raises(dt.OptionError, match="the devices are those of JAX"):
        dt.function([X], X.sum(), "python", shard={OBS: "data"})
    with pytest.raises(dt.OptionError, match="by threads or by devices, not by both"):
        dt.function([X], X.sum(), "python", shard={OBS: "data"}, threads=2)
    with pytest.raises(dt.OptionError, match="a function of states is not computed by devices"):
        dt.function([B], B, "python", shard={OBS: "data"}, updates={B: B + 1})
    density = dt.LogDensity(-(B**2), {B: dt.real}, backend="python")
    with pytest.raises(dt.OptionError, match="nutpie computes on processors"):
        dt.sample(density, draws=2, shard={OBS: "data"}, progress_bar=False)
    with pytest.raises(dt.OptionError, match="nutpie computes on processors"):
        dt.sample(density, draws=2, shard={"chain": "chains"}, progress_bar=False)


def test_placements_of_chains_and_of_data():
    lengths = {"chains": 1, "data": 1}
    both = dt.mesh({"chain": "chains", OBS: "data"}, lengths)
    assert both.of_chains == dt.mesh({"chain": "chains"}, both.mesh)
    assert both.of_data == dt.mesh({OBS: "data"}, both.mesh)
    assert both.of_chains.of_data is None
    assert both.of_data.of_chains is None
    density = dt.LogDensity(-(B**2), {B: dt.real}, backend="python")
    shard = dt.mesh({"chain": "chains", "day": "data"}, lengths)
    with pytest.raises(dt.UnknownDimError, match="the outputs have no dim 'day'"):
        dt.sample(density, draws=2, sampler="numpyro", shard=shard, progress_bar=False)


def test_positions_that_are_mixed():
    with pytest.raises(dt.PartitionError, match="slices of dim 'obs' cannot be computed separate"):
        dt.function([X], X.cumsum(OBS), "jax", shard={OBS: "data"})
    with pytest.raises(dt.GraphError, match="depends on values, and devices compute with fixed"):
        dt.function([X], X.sum(WEEK)[X.sum(WEEK) > 0].sum(), "jax", shard={OBS: "data"})


def test_dims_and_axes_that_are_not_there():
    with pytest.raises(dt.UnknownDimError, match="the outputs have no dim 'day'"):
        dt.function([X], X.sum(), "jax", shard={"day": "data"})
    day = dt.Dim("day")
    both = dt.mesh({"obs": "rows", day: "columns"}, {"rows": 1, "columns": 1})
    moved = X.relabel(OBS, day)
    with pytest.raises(dt.GraphError, match="dim 'day' has the positions of dim 'obs', and both"):
        dt.function([X], [X.sum(), moved.sum()], "jax", shard=both)
    others = [dt.tensor("y", dt.Dim("obs", length=n)).sum() for n in (2, 3)]
    with pytest.raises(dt.GraphError, match="two dims are cut over one axis"):
        dt.function(dt.inputs_of(others[:1]), others, "jax", shard={"obs": "data"})
    with pytest.raises(dt.OptionError, match="there is no axis 'dat'"):
        dt.mesh({OBS: "dat"}, {"data": 1})
    with pytest.raises(dt.OptionError, match="two dims are cut over one axis, 'data'"):
        dt.mesh({OBS: "data", WEEK: "data"})
    with pytest.raises(dt.OptionError, match="1000 devices are asked for"):
        dt.mesh({OBS: "data"}, {"data": 1000})
    with pytest.raises(dt.OptionError, match="is neither a mesh of JAX nor lengths by axis"):
        dt.mesh({OBS: "data"}, 3)
    with pytest.raises(
        dt.OptionError, match="the lengths of the axes 'rows', 'columns' are needed"
    ):
        dt.mesh({OBS: ("rows", "columns")})
    for axes in ("data", {}, {OBS: 1}, {1: "data"}, {OBS: ()}):
        with pytest.raises(dt.ArgumentError, match="mesh takes"):
            dt.mesh(axes)
