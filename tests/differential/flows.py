"""Solutions of differential equations, with right-hand sides that are programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.differential.control import Lines, _after, _grown, _register, _start_values
from tests.differential.named import Named, elementwise, expanded
from tests.differential.program import Region, Step, indented, packed

BETWEEN = 0.1  # two times
# The first slope is computed of what the solution starts from: a number of the start's own, so that
# it is not also the value of another operation, by which the gradient is then another one.
START = 1.0173
MIDPOINTS = (2, 4, 6, 8)  # steps of the rules that are extrapolated
OPTIONS = {"rk4": "steps={steps}", "dopri5": "rtol=1e-11, atol=1e-11"}


def _draw(choose: Any, scope: Any) -> Step | None:
    dim = scope.any_dim(choose, (), late=False)
    if scope.depth > 1 or dim is None or not 1 <= scope.length(dim) <= 9:
        return None
    inits = _start_values(scope, dim, choose.integer(1, 2))
    if not inits:
        return None
    time = scope.fresh()
    states = {scope.fresh(): scope.env[at] for at in inits}
    child = _grown(scope, {time: Named((), np.asarray(0.0)), **states})
    slopes = [_after(child, state, dim) for state in states.values()]
    region = Region((time, *states), tuple(child.steps), tuple(slopes))
    method = choose.one(["rk4", "rk4", "dopri5"])
    steps = 1 if method == "dopri5" else choose.one([1, 2])
    params = {"dim": dim, "n": scope.length(dim), "steps": steps, "method": method}
    return Step("ode", tuple(inits), params, tuple(scope.fresh() for _ in inits), (region,))


def _array(lib: Any, call: Any, step: Step, operands: Sequence[Named]) -> list[Named]:
    """The classical method of order 4, or one whose error is less than that of chosen steps.

    That is Gragg's midpoint rule, extrapolated to order 8: Hairer, Nørsett and Wanner (1993),
    section II.9.
    """
    (region,) = step.regions
    n, count = step.params["n"], step.params["steps"]
    h = BETWEEN / count
    sizes = [y.sizes for y in operands]

    def slopes(t: float, ys: list[Named]) -> list[Named]:
        found = call(region, [Named((), lib.xp.asarray(t)), *ys])
        return [expanded(lib, s, size) for s, size in zip(found, sizes, strict=True)]

    def moved(ys: list[Named], by: float, ks: list[Named]) -> list[Named]:
        return [
            elementwise(lib, lambda a, b: a + by * b, y, k) for y, k in zip(ys, ks, strict=True)
        ]

    def extrapolated(t: float, ys: list[Named]) -> list[Named]:
        first = slopes(t, ys)
        total = [elementwise(lib, lambda a: 0 * a, y) for y in ys]
        for m in MIDPOINTS:
            weight = np.prod([m**2 / (m**2 - o**2) for o in MIDPOINTS if o != m])
            before, now = ys, moved(ys, h / m, first)
            for k in range(1, m):
                before, now = now, moved(before, 2 * h / m, slopes(t + k * h / m, now))
            total = moved(total, weight, now)
        return total

    def classical(t: float, ys: list[Named]) -> list[Named]:
        k1 = slopes(t, ys)
        k2 = slopes(t + h / 2, moved(ys, h / 2, k1))
        k3 = slopes(t + h / 2, moved(ys, h / 2, k2))
        k4 = slopes(t + h, moved(ys, h, k3))
        for k, weight in ((k1, 1), (k2, 2), (k3, 2), (k4, 1)):
            ys = moved(ys, weight * h / 6, k)
        return ys

    advance = extrapolated if step.params["method"] == "dopri5" else classical
    rows = [[elementwise(lib, lambda a: START * a, y) for y in operands]]
    for at in range((n - 1) * count):
        rows.append(advance(h * at, rows[-1]))
    return [
        Named((step.params["dim"], *y.dims), lib.xp.stack([row[at].data for row in rows[::count]]))
        for at, y in enumerate(operands)
    ]


def _lines(step: Step, body: Lines) -> list[str]:
    (region,) = step.regions
    name, p = f"f{step.results[0]}", step.params
    inner = [f"v{region.params[0]} = t", f"{packed(region.params[1:])} = s", *body(region),
             f"return {packed(region.outputs)}"]  # fmt: skip
    start = f"({''.join(f'{START} * v{at}, ' for at in step.operands)})"
    call = (
        f"dt.ode({name}, {start}, {BETWEEN} * dt.arange({p['dim']}), "
        f"method={p['method']!r}, {OPTIONS[p['method']].format(**p)})"
    )
    return [f"def {name}(t, s):", *indented(inner), f"{packed(step.results)} = {call}"]


_register("ode", _lines, _array, _draw)
