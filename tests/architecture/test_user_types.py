"""Type checkers find mistakes in code that uses dimtensor, and nothing in code that is right."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dimtensor as dt

pytestmark = pytest.mark.slow

RIGHT = """
import dimtensor as dt
import xarray as xr

k = dt.Dim("k", coords=["a", "b"])
x: dt.DimTensor = dt.tensor("x", dims=k)
a = dt.scalar("a")
slope: dt.DimTensor = dt.grad((x * a).sum(), x)
slopes: list[dt.DimTensor] = dt.grad((x * a).sum(), [x, a])
rows: dt.DimTensor = dt.jacobian(x * a, x)
other: dt.DimTensor = dt.substitute(x, {"x": x + 1.0}, dims={k: k})
many: dict[str, dt.DimTensor] = dt.substitute({"x": x}, {})
grown: dt.DimTensor = dt.vectorize(x, {a: dt.Dim("draw", length=2)})
changed: dt.DimTensor = dt.rewrite(x, lambda t: t + 1.0 if t is x else None)
chosen: dt.DimTensor = dt.if_else(a > 0.0, lambda: x, lambda: 2.0 * x)
value: xr.DataArray = dt.evaluate(x, {x: [1.0, 2.0]})
f = dt.function([x], x * 2.0, backend="python")
result: xr.DataArray = f([1.0, 2.0])
g = dt.function([x], {"twice": x * 2.0})
results: dict[str, xr.DataArray] = g([1.0, 2.0])
pair: tuple[xr.DataArray, ...] = dt.function([x], (x, x))([1.0, 2.0])
print(result.sum(), x.sum("k").dims, x.mean().eval())
"""

# What a checker infers, without an annotation; `Pair` stays what it is.
INFERRED = """
from typing import Any, Literal, NamedTuple, assert_type

import dimtensor as dt
import numpy as np
import pandas as pd
import xarray as xr


class Pair(NamedTuple):
    level: dt.DimTensor
    slope: dt.DimTensor


T = dt.DimTensor
t = dt.Dim("t", coords=[0, 1, 2])
draw = dt.Dim("draw", length=2)
x, a, flag = dt.tensor("x", dims=t), dt.scalar("a"), dt.scalar("flag", dtype="bool")

assert_type(dt.scan(lambda s, e: (s + e, s), 0.0, x, dim=t), tuple[T, T])
assert_type(dt.scan(lambda s, e: (s + e, (s, e)), a, x, dim=t), tuple[T, tuple[T, T]])
assert_type(dt.scan(lambda s, e: (s + e, None), a, x, dim=t, reverse=True), tuple[T, None])
assert_type(dt.scan(lambda s, e: ((s[1], s[0] + e), s[0]), (0.0, a), x, t), tuple[tuple[T, T], T])
last, path = dt.scan(lambda s, e: ((s[1], e, s[0]), {"y": e}), (0, 1.0, a), x, dim=t)
assert_type(last, tuple[T, T, T])
assert_type(path, dict[str, T])
assert_type(dt.scan(lambda s, e: ({"n": s["n"] + e}, e), {"n": 0}, x, t), tuple[dict[str, T], T])
assert_type(dt.scan(lambda s, e: (s, e[0] + e[1]), None, (x, x), dim=t), tuple[None, T])


def step(state: Pair, element: T) -> tuple[Pair, T]:
    return Pair(state.level + element, state.slope), element


def untyped(state, element):
    return state + element, element


assert_type(dt.scan(step, Pair(a, a), x, dim=t), tuple[Pair, T])
assert_type(dt.scan(untyped, 0.0, x, dim=t)[0], T)
assert_type(dt.scan(lambda s, e: (0.0, e), 1, x, dim=t), tuple[T, T])
dt.scan(lambda s, e: ((s[0], (s[1][0] + e, a)), e), (a, (a, a)), x, dim=t)
dt.scan(lambda s, e: ([s[0] + e["x"], s[1]], None), [a, a], {"x": x}, dim=t)
assert_type(
    dt.ode(lambda at, y: (-y[0], y[0] - y[1], y[1], -y[3]), (0.9, 0.1, 0.0, 0), x),
    tuple[T, T, T, T],
)
assert_type(dt.fori_loop(0, 5, lambda i, s: (s[1], s[0] + s[1]), (0, 1)), tuple[T, T])
assert_type(dt.reduce(lambda s, e: s + e, 0, x, dim=t), T)
assert_type(dt.reduce(lambda s, e: (s[0] + e, s[1]), (0.0, a), x, dim=t), tuple[T, T])
assert_type(dt.cumulate(lambda s, e: s + e, a, x, dim=t, checkpoint=dt.checkpoint_levels(2)), T)
assert_type(dt.cumulate(lambda s, e: {"n": s["n"] + e}, {"n": 0}, x, dim=t), dict[str, T])
assert_type(dt.map(lambda e: e * 2, x, dim=t), T)
assert_type(dt.map(lambda e: (e[0], e[1] + 1), (x, x), dim=t), tuple[T, T])
assert_type(dt.filter(lambda e: e > 0, x, dim=t), T)
assert_type(dt.filter(lambda e: e[0] > 0, (x, x), dim=t), tuple[T, T])
assert_type(dt.fori_loop(0, 5, lambda i, s: s + i, 0), T)
assert_type(dt.fori_loop(0, 5, lambda i, s: (s[1], s[0] + i), (0, a)), tuple[T, T])
assert_type(dt.while_loop(lambda s: s < 9, lambda s: s * 2, 1, 50), T)
assert_type(dt.while_loop(lambda s: s < 9, lambda s: s * 2, a, return_finished=True), tuple[T, T])
assert_type(dt.while_loop(lambda s: s[0] < 9, lambda s: (s[0] + 1, s[1]), (0, a)), tuple[T, T])
assert_type(dt.ode(lambda at, y: -a * y, 1.0, x), T)
assert_type(dt.ode(lambda at, y: (y[1], -y[0]), (1.0, 0.0), x, "rk4"), tuple[T, T])
assert_type(dt.ode(lambda at, y: {"y": -y["y"]}, {"y": a}, x), dict[str, T])
assert_type(dt.associative_scan(dt.maximum, x, dim=t), T)
assert_type(dt.associative_scan(lambda p, q: (p[0] * q[0], p[1]), (x, x), t), tuple[T, T])
assert_type(dt.if_else(flag, lambda: x, lambda: 2.0 * x), T)
assert_type(dt.if_else(flag, lambda: x, lambda: 0.0), T)
assert_type(dt.if_else(flag, lambda: (x, a), lambda: (2.0 * x, a)), tuple[T, T])
assert_type(dt.if_else(x > 0, dt.sqrt, lambda v: -v, x), T)

frame = xr.DataArray([1.0, 2.0, 3.0], dims="t")
assert_type(dt.align(x, frame), tuple[T, xr.DataArray])
assert_type(dt.align(x, x, x, join="inner"), tuple[T, T, T])
assert_type(dt.reindex(frame, t), xr.DataArray)
assert_type(dt.reindex(x, t), T)

assert_type(x.argmax("t"), T)
assert_type(x.argmax(), T)
assert_type(x.argmin(["t"], skipna=True), dict[str, T])
assert_type(x.argmax(...), dict[str, T])
assert_type(x.idxmax("t", skipna=True, fill_value=0), T)
assert_type(x.sum().item(), float)
assert_type(x.idxmax().item(str), str)
assert_type(x.argmax().item(int), int)
assert_type(x.quantile([0.1, 0.9], method="hazen"), T)
assert_type(x.weighted(x).quantile(0.5), T)
assert_type(x.polyfit("t", 1), T)
assert_type(x.polyfit("t", 1, full=True), dict[str, T])
assert_type(x.polyfit("t", 1, cov="unscaled"), dict[str, T])
key = dt.data(["u", "v", "u"], dims=t, categories=dt.Dim("key", coords=["u", "v"]))
assert_type(x.groupby(key).cumsum(), T)
assert_type(x.groupby(key) - x.groupby(key).mean(), T)
assert_type(x.groupby(key).map("mean"), T)

assert_type(dt.grad(x.sum(), x), T)
assert_type(dt.grad(x.sum(), [x, a]), list[T])
assert_type(dt.value_and_grad(x.sum(), x), tuple[T, T])
assert_type(dt.jacobian(x, x), T)
assert_type(dt.hessian(x.sum(), x), T)
assert_type(dt.vjp(x, x, x), T)
assert_type(dt.jvp(x, x, x), T)
assert_type(dt.substitute(x, {x: x}), T)
assert_type(dt.substitute([x], {x: x}), list[T])
assert_type(dt.substitute({"x": x}, {x: x}), dict[str, T])
assert_type(dt.vectorize(x, {a: draw}), T)
assert_type(dt.vectorize([x], {a: draw}), list[T])
assert_type(dt.evaluate(x, {x: frame}), xr.DataArray)
assert_type(dt.evaluate([x, a]), list[xr.DataArray])
assert_type(dt.evaluate((x, a)), tuple[xr.DataArray, ...])
assert_type(dt.evaluate({"x": x}), dict[str, xr.DataArray])
assert_type(x.eval(), xr.DataArray)
assert_type(dt.function([x], x)(frame), xr.DataArray)
assert_type(dt.function([x], [x, x])(frame), list[xr.DataArray])
assert_type(dt.function([x], (x, x))(frame), tuple[xr.DataArray, ...])
assert_type(dt.function([x], {"x": x})(frame), dict[str, xr.DataArray])
positional = x.to_shaped([t])
assert_type(dt.from_shaped(positional, [t]), T)
assert_type(float(x.sum()), float)
assert_type(dt.stack([x, x], draw), T)
assert_type(dt.dot(x, x), T)
"""

# each line has one mistake
WRONG = """
import dimtensor as dt

k = dt.Dim("k", length=2)
x = dt.tensor("x", dims=k)
dt.function([x], x, backend="nmuba")
dt.grad(x.sum(), x).smu()
dt.jacobian(x, x).append(x)
dt.substitute(x, {x: x}).values()
dt.substitute([x], {x: x}).sum()
dt.vectorize(x, {x: k}).keys()
first: int = dt.evaluate(x)
second: int = dt.function([x], x)([1.0])
dt.function([x], {"x": x})([1.0]).sum()
dt.if_else(x > 0.0, lambda: x, lambda: x).keys()
dt.rewrite(x, lambda t: 3)
dt.exp(x).nodes
dt.tensor("x", dim=k)
x.sum(dimension="k")
third: int = dt.data_of(x)
dt.scan(lambda s, e: (s + e, s), 0.0, x, dim=k)[1].keys()
dt.scan(lambda s, e: s + e, 0.0, x, dim=k)
dt.scan(lambda s, e: (s + e, s), 0.0, x, dim=k, checkpoints=2)
dt.reduce(lambda s, e: s + e, 0.0, x, dim=k).append(x)
dt.cumulate(lambda s, e: (s[0] + e, s[1]), (0.0, x.sum()), x, dim=k).sum()
dt.map(lambda e: e.summ(), x, dim=k)
dt.filter(lambda e: 1, x, dim=k)
dt.filter(lambda e: e > 0, x, dim=k).keys()
dt.fori_loop(0.5, 3, lambda i, s: s + i, 0)
dt.fori_loop(0, 3, lambda i, s: s + i, 0).keys()
dt.while_loop(lambda s: s < 9, lambda s: s * 2, 1, 50)[0].keys()
dt.while_loop(lambda s: s < 9, lambda s: s * 2, 1, max_step=50)
dt.ode(lambda t, y: -y, 1.0, x, "euler")
dt.ode(lambda t, y: -y, 1.0, x).keys()
dt.associative_scan(dt.maximum, x, dim=k).keys()
dt.align(x, x, join="within")
dt.align(x, x)[0].keys()
dt.align(x, x)[2]
dt.reindex(x, k).keys()
x.argmax("k").keys()
x.argmax(["k"]).sum()
fourth: str = x.mean().item()
fifth: int = x.idxmax().item(str)
x.quantile(0.5, method="liner")
x.quantile("half")
x.sum(min_counts=1)
x.polyfit("k", 1).keys()
x.polyfit("k", 1, full=True).sum()
x.weighted(x).median()
x.groupby(x).meann()
dt.grad(x.sum(), [x]).sum()
dt.hessian(x.sum(), x).keys()
dt.evaluate([x]).sum()
dt.function([x], [x])([1.0]).sum()
sixth: int = x.to_shaped([k])
"""


def lines_with_errors(command: list[str], path: Path) -> tuple[set[int], str]:
    done = subprocess.run(
        [*command, str(path)],
        capture_output=True, text=True, timeout=300, check=False, cwd=path.parent,
        env={**os.environ, "MYPYPATH": str(Path(dt.__file__).parents[1])},
    )  # fmt: skip
    pattern = re.compile(re.escape(path.name) + r":(\d+)(?::\d+)?(?: -|:) error")
    return {int(number) for number in pattern.findall(done.stdout)}, done.stdout + done.stderr


def mypy() -> list[str]:
    pytest.importorskip("mypy")
    quiet = ["--follow-imports=silent", "--ignore-missing-imports", "--config-file="]
    return [sys.executable, "-m", "mypy", *quiet]


def pyright() -> list[str]:
    # basedpyright is pyright from PyPI, with the Node.js that it runs on
    beside = str(Path(sys.executable).parent)  # which need not be on the PATH
    program = shutil.which("basedpyright", path=beside) or shutil.which("pyright")
    if program is None:
        pytest.skip("pyright is not installed")
    return [program, "--pythonpath", sys.executable]


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_mistakes_are_found_and_nothing_else(checker, tmp_path):
    command = checker()
    right, inferred, wrong = (tmp_path / f"{n}.py" for n in ("right", "inferred", "wrong"))
    right.write_text(RIGHT)
    inferred.write_text(INFERRED)
    wrong.write_text(WRONG)
    here = str(Path(dt.__file__).parents[1])  # this package, whatever else is installed
    config = {"typeCheckingMode": "basic", "extraPaths": [here]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    for path in (right, inferred):
        found, text = lines_with_errors(command, path)
        assert not found, text
    found, text = lines_with_errors(command, wrong)
    lines = WRONG.splitlines()
    planted = {at for at, line in enumerate(lines, 1) if line and at > 5}
    assert {lines[at - 1] for at in planted - found} == set(), text
    assert found <= planted, text
