"""Checks that need several devices: run in a process of their own, with 8 made of one processor.

``XLA_FLAGS=--xla_force_host_platform_device_count=8 python -m tests.compile.devices.on_devices``
prints the result of each check as JSON.
"""

from __future__ import annotations

import json
import pickle
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.interop import watching
from tests.differential.generate import random_program
from tests.differential.named import NumPy
from tests.differential.program import build, run
from tests.graph.test_partition import CONSTANTS, DATA, GROUP, OBS, SPLIT, A, B, M, X, numbers
from tests.random_programs.choosing import Seeded

CHECKS: dict[str, Callable[[], None]] = {}
COLLECTIVES = r"= \S+ (all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter)\S*\("


def check(name: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    def put(function: Callable[[], None]) -> Callable[[], None]:
        CHECKS[name] = function
        return function

    return put


def collectives(function: Any, *arrays: Any) -> list[str]:
    """The collective operations in compiled code."""
    import jax

    with jax.enable_x64(True):
        text = jax.jit(function).lower(*arrays).compile().as_text()
    return re.findall(COLLECTIVES, text)


def close(result: Any, expected: Any) -> None:
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


# positions selected by values, whose number differs between devices
MASKED = ("filtered", "filtered by values")


def check_length(length: int) -> None:
    """All kinds of shares equal NumPy's value of the whole, in one function."""
    v = numbers(length)
    names = [
        name
        for name, (_, operation, _) in SPLIT.items()
        if name not in MASKED
        and (length or not (operation in ("maximum", "minimum") or name.startswith("mean")))
    ]
    mapped = {"scaled": X * B, "transposed": M + X, "raveled": (M * 2).ravel()}
    outputs = {**{name: SPLIT[name][0] for name in names}, **mapped, "constant": B + 1}
    inputs = dt.inputs_of(list(outputs.values()))
    f = dt.function(inputs, outputs, backend="jax", shard={OBS: "data"})
    point = {**v, "m": (("k", "obs"), v["m"]), "who": np.array(list("abc"))[v["who"]]}
    found = f(*[point[x.name] for x in inputs])
    for name in names:
        close(found[name], SPLIT[name][2](v))
    close(found["scaled"], v["x"] * 0.7)
    close(found["transposed"].transpose("k", "obs"), v["m"] + v["x"])
    close(found["raveled"], (v["m"] * 2).ravel())
    close(found["constant"], 1.7)


for each in (0, 1, 7, 8, 9, 29):
    CHECKS[f"length {each}"] = lambda length=each: check_length(length)


@check("constants of the whole")
def constants() -> None:
    names = [name for name in CONSTANTS if name != "above the mean"]
    f = dt.function([A, B], [CONSTANTS[name][0] for name in names], "jax", shard={OBS: "data"})
    for name, value in zip(names, f(0.3, 0.7), strict=True):
        close(value, CONSTANTS[name][1](*DATA, 0.3, 0.7))


def regression(n: int, seed: int = 0) -> tuple[Any, dict[str, np.ndarray]]:
    """Value and gradients of a likelihood with a look-up, on data; and the data."""
    rng = np.random.default_rng(seed)
    v = {
        "x": rng.normal(size=n), "y": rng.normal(size=n), "k": rng.integers(0, 3, n),
    }  # fmt: skip
    theta, s = dt.tensor("theta", dims=GROUP), dt.scalar("s")
    x, y = dt.data(v["x"], OBS, "x"), dt.data(v["y"], OBS, "y")
    k = dt.data(np.array(list("abc"))[v["k"]], OBS, "k", GROUP)
    loss = ((y - theta.sel(group=k) * x * s) ** 2).sum() + (theta**2).sum()
    outputs = [loss, dt.grad(loss, theta), dt.grad(loss, s)]
    return dt.function([theta, s], outputs, "jax", shard={"obs": "data"}), v


def by_hand(v: dict[str, np.ndarray], theta: np.ndarray, s: float) -> list[Any]:
    residual = v["y"] - theta[v["k"]] * v["x"] * s
    slope = -2 * residual * v["x"]
    by_group = np.bincount(v["k"], slope * s, minlength=3)
    total = (residual**2).sum() + (theta**2).sum()
    return [total, by_group + 2 * theta, (slope * theta[v["k"]]).sum()]


THETA, S = np.array([1.0, -2.0, 0.5]), 0.7


@check("one all-reduce of value and gradients")
def one_all_reduce() -> None:
    for n in (16, 19):
        f, v = regression(n)
        for value, expected in zip(f(THETA, S), by_hand(v, THETA, S), strict=True):
            close(value, expected)
        assert collectives(f.jax, THETA, S) == ["all-reduce"]


@check("quotients of sums follow one all-reduce")
def epilogues() -> None:
    kinds = dt.Dim("kind", coords=list("abcd"))
    x, theta = dt.tensor("x", OBS), dt.scalar("theta")
    kind = dt.tensor("kind of", OBS, categories=kinds)
    means = x.groupby(kind).mean()
    outputs = {
        "means": means, "scaled": 1 - theta * means, "of b": means.sel(kind="b"),
        "loss": (theta * x).sum(), "exp": dt.exp((theta * x).mean()),
        "counts": x.groupby(kind).count(), "range": x.max() - x.min(),
        "product": x.prod(), "each": theta * x,
    }  # fmt: skip
    for n in (1, 7, 16, 29):
        rng = np.random.default_rng(n)
        values, labels = rng.normal(size=n), np.array(list("abc"))[rng.integers(0, 3, n)]
        by = pd.Series(values).groupby(labels).mean().reindex(list("abcd")).to_numpy()
        f = dt.function([x, kind, theta], outputs, "jax", shard={OBS: "data"})
        found = f(values, labels, S)
        close(found["means"], by)
        close(found["scaled"], 1 - S * by)
        close(found["of b"], by[1])
        close(found["loss"], S * values.sum())
        close(found["exp"], np.exp(S * values.mean()))
        close(found["counts"], [(labels == each).sum() for each in "abcd"])
        close(found["range"], np.ptp(values))
        close(found["product"], values.prod())
        close(found["each"], S * values)
    f = dt.function([x, kind, theta], [means, (theta * x).sum()], "jax", shard={OBS: "data"})
    assert collectives(f.jax, values[:16], np.arange(16) % 4, S) == ["all-reduce"]
    with pytest.raises(dt.LabelError, match="input 'kind of': dim 'kind' has no label 'e'"):
        f(values[:2], ["a", "e"], S)
    with pytest.raises(dt.PartitionError, match="proceeds from one position to the next"):
        dt.function([x, kind], [means, x.cumsum(OBS)], "jax", shard={OBS: "data"})


@check("variances take two all-reduces")
def variances() -> None:
    kinds = dt.Dim("kind", coords=list("abcd"))
    x, theta = dt.tensor("x", OBS), dt.scalar("theta")
    kind = dt.tensor("kind of", OBS, categories=kinds)
    groups = x.groupby(kind)
    outputs = {
        "var": groups.var(skipna=True), "sum": (theta * x).sum(skipna=True),
        "std": groups.std(ddof=1, skipna=True), "all": x.var(), "each": theta * x,
        "centered": x - groups.mean(skipna=True).sel(kind=kind),
    }  # fmt: skip
    loss = dt.log(dt.exp(theta * x).sum()) + (theta * x).std()
    for devices in range(1, 9):
        n = 3 * devices + devices % 3 if devices != 7 else 5
        rng = np.random.default_rng(devices)
        values, labels = rng.normal(1e3, 1.0, n), np.array(list("abc"))[rng.integers(0, 3, n)]
        values[rng.random(n) < 0.1] = np.nan
        by = pd.Series(values).groupby(labels)
        with dt.mesh({OBS: "data"}, {"data": devices}):
            f = dt.function([x, kind, theta], outputs, "jax")
            g = dt.function([x, theta], [loss, dt.grad(loss, theta)], "jax")
        found = f(values, labels, S)
        np.testing.assert_allclose(found["var"], by.var(ddof=0).reindex(list("abcd")), rtol=1e-9)
        np.testing.assert_allclose(found["std"], by.std().reindex(list("abcd")), rtol=1e-9)
        np.testing.assert_allclose(found["all"], np.var(values), rtol=1e-9)
        np.testing.assert_allclose(found["sum"], np.nansum(S * values), rtol=1e-12)
        np.testing.assert_allclose(found["each"], S * values)
        centered = values - by.transform("mean")
        np.testing.assert_allclose(found["centered"], centered, rtol=1e-7, atol=1e-9)
        rows = rng.normal(size=n)
        value, slope = g(rows, S)
        weights = np.exp(S * rows) / np.exp(S * rows).sum()
        close(value, np.log(np.exp(S * rows).sum()) + S * rows.std())
        close(slope, weights @ rows + rows.std())
    f = dt.function([x, kind], [groups.var(), x.sum()], "jax", shard={OBS: "data"})
    assert collectives(f.jax, np.arange(16.0), np.arange(16) % 4) == ["all-reduce"] * 2
    data = dt.data(np.arange(19.0) ** 2, OBS, name="x")
    held = dt.function([theta], (theta * data).std(), "jax", shard={OBS: "data"})
    close(held(2.0), 2 * np.std(np.arange(19.0) ** 2))
    row, column = dt.Dim("row"), dt.Dim("column")
    table, n = dt.tensor("table", [row, column]), rng.normal(size=(7, 5))
    with dt.mesh({row: "data", column: "space"}, {"data": 4, "space": 2}):
        f = dt.function([table], [table.std(row), (table - table.mean(row)).var()], "jax")
    of_columns, whole = f((("row", "column"), n))
    close(of_columns, n.std(0))
    close(whole, (n - n.mean(0)).var())


@check("integers are summed exactly in the all-reduce of the others")
def integers() -> None:
    signed, unsigned, x = (
        dt.tensor("i", OBS, "int64"), dt.tensor("u", OBS, "uint64"), dt.tensor("x", OBS)
    )  # fmt: skip
    f = dt.function([signed, unsigned, x], [signed.sum(), unsigned.sum(), x.sum()], "jax",
                    shard={OBS: "data"})  # fmt: skip
    rng = np.random.default_rng(0)
    v = rng.integers(-(2**63), 2**63, 40), rng.integers(0, 2**64, 40, "uint64"), np.full(40, 0.1)
    with np.errstate(over="ignore"):
        expected = [each.sum() for each in v]
    for value, one in zip(f(*v), expected, strict=True):
        close(float(value), float(one))
    assert [f(*v)[at].item() for at in (0, 1)] == [int(one) for one in expected[:2]]
    assert collectives(f.jax, *v) == ["all-reduce"]


@check("results along the dim stay on their devices")
def mapped() -> None:
    import jax

    f = dt.function([X, B], X * B, "jax", shard={OBS: "data"})
    x = np.arange(16.0)
    assert collectives(f.jax, x, S) == []
    with jax.enable_x64(True):
        (result,) = jax.jit(f.jax)(x, S)
    assert result.sharding.spec == jax.sharding.PartitionSpec("data")
    close(result, x * S)


@check("other data")
def other_data() -> None:
    f, _ = regression(19)
    _, v = regression(12, seed=1)
    g = f.with_data(x=v["x"], y=v["y"], k=np.array(list("abc"))[v["k"]])
    for value, expected in zip(g(THETA, S), by_hand(v, THETA, S), strict=True):
        close(value, expected)


@check("a pickled function")
def pickled() -> None:
    f, v = regression(9)
    g = pickle.loads(pickle.dumps(f))
    close(g(THETA, S)[0], by_hand(v, THETA, S)[0])
    assert collectives(g.jax, THETA, S) == ["all-reduce"]


@check("a batched call")
def batched() -> None:
    f, v = regression(9)
    many = np.stack([THETA, 2 * THETA])
    value, gradient, _ = f((("draw", "group"), many), S)
    for at in range(2):
        close(value[at], by_hand(v, many[at], S)[0])
        close(gradient.transpose("draw", "group")[at], by_hand(v, many[at], S)[1])


@check("labels in another order")
def permuted() -> None:
    rng = np.random.default_rng(3)
    labels = [f"house {at}" for at in range(19)]
    obs = dt.Dim("obs", coords=labels)
    values = xr.DataArray(rng.normal(size=19), dims="obs", coords={"obs": labels})
    x, y = dt.data(values[rng.permutation(19)], obs), dt.tensor("y", dims=obs)
    f = dt.function([y], {"sum": (x * y).sum(), "each": x * y}, "jax", shard={obs: "data"})
    other = xr.DataArray(rng.normal(size=19), dims="obs", coords={"obs": labels})
    found = f(other[rng.permutation(19)])
    close(found["sum"], (values * other).sum())
    close(found["each"].sel(obs="house 7"), values.sel(obs="house 7") * other.sel(obs="house 7"))


@check("a failed check")
def failed_check() -> None:
    positive = dt.check(X > 0, "x is positive", X)
    f = dt.function([X], positive.sum(), "jax", shard={OBS: "data"})
    x = np.arange(1.0, 10.0)
    close(f(x), x.sum())
    for at in (0, 8):
        x = np.arange(1.0, 10.0)
        x[at] = -1.0
        with pytest.raises(dt.CheckError, match=f"x is positive\n.*\n.*obs={at}$"):
            f(x)


@check("rows of zeros and infinities are not copied")
def no_padding() -> None:
    """The gradient has no NaN where a copied row would have one."""
    loss = dt.where(X > 0, dt.log(X * B), 0.0).sum()
    f = dt.function([X, B], [loss, dt.grad(loss, B), dt.grad(loss, X)], "jax", shard={OBS: "data"})
    x = np.array([1.0, 2.0, 0.0, 4.0, 0.0])
    value, slope, each = f(x, 2.0)
    close(value, np.log(2 * x[x > 0]).sum())
    close(slope, 3 / 2)
    close(each, [1.0, 0.5, 0.0, 0.25, 0.0])


@check("derivatives by JAX")
def derivatives_by_jax() -> None:
    import jax

    f, v = regression(19)
    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(lambda theta: f.jax(theta, S)[0]))(THETA)
        many = jax.vmap(lambda theta: f.jax(theta, S)[0])(np.stack([THETA, -THETA]))
    close(slope, by_hand(v, THETA, S)[1])
    close(many, [by_hand(v, THETA, S)[0], by_hand(v, -THETA, S)[0]])


@check("meshes")
def meshes() -> None:
    """Some devices, two axes, explicit axes, the mesh of jax.set_mesh."""
    import jax

    x, loss = np.arange(11.0), (X * B).sum()
    explicit = jax.make_mesh((4,), ("data",), devices=jax.devices()[:4])
    placements = [
        dt.mesh({OBS: "data"}, {"data": 3}),
        dt.mesh({OBS: ("rows", "columns")}, {"rows": 2, "columns": 3}),
        dt.mesh({OBS: "rows"}, {"rows": 2, "columns": 4}),
        dt.mesh({"obs": "data"}, explicit),
    ]
    with jax.set_mesh(explicit):
        placements.append(dt.mesh({OBS: "data"}))
        assert placements[-1].mesh == explicit
    for placement in placements:
        with placement:
            f = dt.function([X, B], [loss, X * B], "jax")
        close(f(x, S)[0], (x * S).sum())
        close(f(x, S)[1], x * S)
        assert dt.function([X, B], loss, "jax").positional.executable.placing is None
        with jax.enable_x64(True):
            close(jax.jit(f.jax)(x, S)[0], (x * S).sum())
    assert "over rows and columns (6 devices)" in repr(placements[1])


@check("32 bits")
def in_32_bits() -> None:
    f, v = regression(19)
    value, gradient, _ = f.jax(THETA.astype("float32"), np.float32(S))
    assert str(value.dtype) == str(gradient.dtype) == "float32"
    np.testing.assert_allclose(value, by_hand(v, THETA, S)[0], rtol=1e-5)


@check("sampling")
def sampling() -> None:
    import jax

    from dimtensor.interop.jax_samplers import pure_density

    mu = dt.rv("mu", dt.dist.Normal(0, 1), dims=GROUP)
    sd = dt.rv("sd", dt.dist.HalfNormal(1))
    y = dt.rv("y", dt.dist.Normal(mu.sel(group=dt.tensor("k", OBS, categories=GROUP)), sd))
    rng = np.random.default_rng(5)
    fit = dt.Model(y, data={"k": rng.choice(list("abc"), 21)}).observe(y=rng.normal(size=21))
    density = fit.log_density()
    x = rng.normal(size=4)
    expected, slope = density.logp_and_grad(x)
    placement = dt.mesh({OBS: "data"})
    with jax.enable_x64(True):
        pure = pure_density(density, placement)
        both = jax.value_and_grad(pure.function)
        value, gradient = both(x, *pure.fixed)
    close(value, expected)
    close(gradient, slope)
    assert collectives(both, x, *pure.fixed) == ["all-reduce"]
    options = {"sampler": "numpyro", "draws": 3, "tune": 3, "chains": 2, "seed": 1}
    quiet = {"progress_bar": False, "report": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = fit.sample(**options, **quiet, shard={"obs": "data"})
        with placement:
            other = fit.sample(**options, **quiet)
    assert one["posterior"].equals(other["posterior"])
    assert one["posterior"].sizes["draw"] == 3


def fitted() -> tuple[Any, dict[str, Any]]:
    """A model of 21 observations, and options of its sampling."""
    mu, sd = dt.rv("mu", dt.dist.Normal(0, 1)), dt.rv("sd", dt.dist.HalfNormal(1))
    y = dt.rv("y", dt.dist.Normal(mu, sd), dims=OBS)
    fit = dt.Model(y).observe(y=np.random.default_rng(5).normal(size=21))
    quiet = {"progress_bar": False, "report": False}
    return fit, {"draws": 4, "tune": 4, "chains": 3, "seed": 1, **quiet}


@check("chains of NumPyro")
def chains_of_numpyro() -> None:
    """Chains on devices equal those on one to rounding, which steps amplify; so there are few."""
    fit, options = fitted()
    both = dt.mesh({"chain": "chains", OBS: "data"}, {"chains": 2, "data": 3})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = fit.sample(sampler="numpyro", **options)
        other = fit.sample(sampler="numpyro", **options, shard={"chain": "chains"})
        with both:
            third = fit.sample(sampler="numpyro", save_warmup=True, **options)
    first, *others = one["posterior"]["mu"].values
    assert all(not np.isclose(first, each).any() for each in others)
    assert one["posterior"].sizes == other["posterior"].sizes == third["posterior"].sizes
    close(other["posterior"]["mu"], one["posterior"]["mu"])
    assert third["warmup_posterior"].sizes == {"chain": 3, "draw": 4}
    close(third["posterior"]["mu"], one["posterior"]["mu"])


@check("chains of BlackJAX")
def chains_of_blackjax() -> None:
    fit, options = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = fit.sample(sampler="blackjax", **options)
        other = fit.sample(sampler="blackjax", **options, shard={"chain": "chains"})
    close(one["posterior"]["mu"], other["posterior"]["mu"])
    assert one["posterior"].sizes == other["posterior"].sizes


@check("an interruption of sampling")
def interruption() -> None:
    """A program on all devices ends, and the process does not."""
    fit, options = fitted()
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt() -> None:
        while not any(watch.steps > 100 for watch in watching._watched.values()):
            time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    options |= {"draws": 5_000_000, "chains": 2, "sampler": "numpyro"}
    shard = dt.mesh({"chain": "chains", OBS: "data"}, {"chains": 2, "data": 3})
    try:
        with pytest.raises(KeyboardInterrupt):
            fit.sample(**options, shard=shard)
    finally:
        signal.signal(signal.SIGINT, previous)


SITE = dt.Dim("site")


@check("two dims that are cut")
def two_dims() -> None:
    m, x, z, b = dt.tensor("m", [OBS, SITE]), dt.tensor("x", OBS), dt.tensor("z", SITE), B
    rest = m - x * b - z
    loss = (rest**2).sum() + (x**2).sum() + (z * b).sum() + b
    gradients = [dt.grad(loss, variable) for variable in (b, x, z)]
    results = {
        "loss": loss, "max": m.max(), "mean": m.mean(), "rows": (m * b).sum(SITE) + x,
        "columns": (m + b).sum(OBS), "each": m * b + x - z, "raveled": (m * 2).ravel(),
        "constant": b + 1, "counted": (z * b).sum(),
    }  # fmt: skip
    shard = dt.mesh({OBS: "data", SITE: "space"}, {"data": 4, "space": 2})
    f = dt.function([m, x, z, b], {**results, **dict(zip("bxz", gradients, strict=True))}, "jax",
                    shard=shard)  # fmt: skip
    for n, k in ((8, 4), (7, 5), (3, 1)):
        rng = np.random.default_rng(n)
        vm, vx, vz = rng.normal(size=(n, k)), rng.normal(size=n), rng.normal(size=k)
        found = f((("obs", "site"), vm), vx, vz, S)
        residual = vm - vx[:, None] * S - vz
        expected = {
            "loss": (residual**2).sum() + (vx**2).sum() + (vz * S).sum() + S, "max": vm.max(),
            "mean": vm.mean(), "rows": (vm * S).sum(1) + vx, "columns": (vm + S).sum(0),
            "each": vm * S + vx[:, None] - vz, "raveled": (vm * 2).ravel(), "constant": S + 1,
            "counted": (vz * S).sum(), "b": -2 * (residual * vx[:, None]).sum() + vz.sum() + 1,
            "x": -2 * (residual * S).sum(1) + 2 * vx, "z": -2 * residual.sum(0) + S,
        }  # fmt: skip
        for name, value in expected.items():
            order = [dim for dim in ("obs", "site") if dim in found[name].dims]
            close(found[name].transpose(*order, ...), value)
    data = [dt.data(vm, [OBS, SITE], "m"), dt.data(vx, OBS, "x"), dt.data(vz, SITE, "z")]
    centered = data[0] - data[0].mean(SITE) - data[1].mean()
    total = ((centered * b - data[2]) ** 2).sum() + b**2
    g = dt.function([b], [total, dt.grad(total, b)], "jax", shard=shard)
    middle = vm - vm.mean(1)[:, None] - vx.mean()
    close(g(S)[0], ((middle * S - vz) ** 2).sum() + S**2)
    close(g(S)[1], 2 * ((middle * S - vz) * middle).sum() + 2 * S)
    assert collectives(g.jax, S) == ["all-reduce"]


@check("random programs with two dims that are cut")
def random_programs_in_two_dims() -> None:
    checked = 0
    for seed in range(200, 230):
        program = random_program(Seeded(seed))
        built, env = build(program), run(program, program.point, NumPy())
        if len(program.dims) < 2:
            continue
        first, second = [built.dims[name] for name in program.dims][:2]
        cut = [
            (built.values[at], env[at])
            for at in {at for step in program.steps for at in step.results}
            if can_be_cut(built.values[at], first) and can_be_cut(built.values[at], second)
        ]
        if not cut:
            continue
        inputs = dt.inputs_of([x for x, _ in cut])
        axes = {first: "data", second: "space"}
        with dt.mesh(axes, {"data": 2 + seed % 3, "space": 2}):
            f = dt.function(inputs, [x for x, _ in cut], "jax")
        point = {f"v{i.number}": (i.value.dims, i.array) for i in program.inputs}
        for value, (_, whole) in zip(f(*[point[x.name] for x in inputs]), cut, strict=True):
            result = value.transpose(*whole.dims).values
            np.testing.assert_allclose(result, np.asarray(whole.data), rtol=1e-9, atol=1e-9)
            checked += 1
    assert checked > 10


@check("random programs")
def random_programs() -> None:
    checked = 0
    for seed in range(200, 215):
        program = random_program(Seeded(seed))
        built, env = build(program), run(program, program.point, NumPy())
        point = {f"v{i.number}": (i.value.dims, i.array) for i in program.inputs}
        for name in program.dims:
            cut = [
                (built.values[at], env[at])
                for at in {at for step in program.steps for at in step.results}
                if can_be_cut(built.values[at], built.dims[name])
            ]
            if not cut:
                continue
            inputs = dt.inputs_of([x for x, _ in cut])
            with dt.mesh({built.dims[name]: "data"}, {"data": (2, 3, 8)[seed % 3]}):
                f = dt.function(inputs, [x for x, _ in cut], "jax")
            for value, (_, whole) in zip(f(*[point[x.name] for x in inputs]), cut, strict=True):
                result = value.transpose(*whole.dims).values
                np.testing.assert_allclose(result, np.asarray(whole.data), rtol=1e-9, atol=1e-9)
                checked += 1
    assert checked > 20


def can_be_cut(x: Any, dim: dt.Dim) -> bool:
    try:
        return dt.partition(x, dim).operation is not None
    except dt.PartitionError:
        return False


def main() -> None:
    results = {}
    for name in sys.argv[1:] or CHECKS:
        try:
            CHECKS[name]()
            results[name] = ""
        except Exception:
            results[name] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
