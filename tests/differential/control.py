"""Loops and conditionals, with bodies that are programs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.differential.named import Named, NumPy, elementwise, expanded, taken, union
from tests.differential.program import (
    CONSTRUCTS,
    Construct,
    Region,
    Step,
    indented,
    packed,
    run_steps,
)

Lines = Callable[[Region], list[str]]
COUNTER = 0.1  # what a counted loop multiplies its counter by, which makes a float of it
CHECKPOINTS = ("", "", "", ", checkpoint=dt.checkpoint_levels(1)", ", checkpoint=[2]")


def _register(name: str, lines: Any, array: Any, draw: Any) -> None:
    CONSTRUCTS[name] = Construct(name, lines, array, draw)


def _taking(region: Region, split: int, *names: str) -> list[str]:
    """The lines that take parameters apart: states, and what comes besides."""
    parts = (region.params[:split], region.params[split:])
    return [f"{packed(p)} = {name}" for p, name in zip(parts, names, strict=False) if p]


# -- bodies ----------------------------------------------------------------------------------------


def _grown(scope: Any, params: dict[int, Named]) -> Any:
    """The scope of a body after some random steps, first of them what is asked for."""
    child = scope.inner(params)
    if scope.wanted:
        child.wanted = scope.wanted[1:]
        for _ in range(20):
            if child.grow(scope.wanted[0]):
                break
        scope.nested = child.nested or bool(child.steps)
    if not (scope.small and scope.wanted):
        child.grow_any(scope.choose.integer(0 if scope.wanted else 1, 2 if scope.wanted else 3))
    return child


def _after(child: Any, state: Named, over: str | None) -> int:
    """What a step makes of a state: a value of the body, mostly pulled towards zero."""

    def fits(value: Named) -> bool:
        return set(value.dims) <= set(state.dims)

    at = child.pick(fits)
    if at is None or child.choose.flag(4):
        return child.pick(fits) if at is None else at
    bounded, half, total = child.fresh(), child.fresh(), child.fresh()
    own = [n for n in child.own if fits(child.env[n])]
    other = child.choose.one(own) if own else at
    child.attempt(Step("tanh", (at,), {}, (bounded,)))
    child.attempt(Step("affine", (other,), {"how": "times", "c": 0.5}, (half,)))
    if child.attempt(Step("add", (half, bounded), {}, (total,))):
        return total
    return at


def _outputs(child: Any, count: int, avoid: str | None) -> list[int]:
    """Values of a body that it gives, without a dim."""
    found = []
    for _ in range(count):
        at = child.pick(lambda v: avoid not in v.dims)
        if at is not None:
            found.append(at)
    return found


def _start_values(scope: Any, over: str | None, count: int) -> list[int]:
    found = [
        scope.pick(lambda v: over not in v.dims and np.size(v.data) <= 40) for _ in range(count)
    ]
    return [at for at in found if at is not None]


# -- loops along a dim -----------------------------------------------------------------------------


def _draw_along(choose: Any, scope: Any, name: str) -> Step | None:
    if scope.depth > 1:
        return None
    dim = scope.any_dim(choose, ())
    if dim is None:
        return None
    n = scope.length(dim)
    reverse = name != "map" and choose.flag(3)
    inits = [] if name == "map" else _start_values(scope, dim, choose.integer(1, 2))
    if name != "map" and not inits:
        return None
    lanes = [scope.pick(lambda v: dim in v.dims) for _ in range(choose.integer(0, 2))]
    lanes = [at for at in lanes if at is not None]
    if scope.is_late(dim) and not lanes:
        return None
    if name == "map" and not lanes:
        return None
    states = {scope.fresh(): scope.env[at] for at in inits}
    lib = NumPy()
    elements = {
        scope.fresh(): taken(lib, scope.env[at], dim, n - 1 if reverse else 0) if n
        else Named(*_rest(scope.env[at], dim))
        for at in lanes
    }  # fmt: skip
    child = _grown(scope, {**states, **elements})
    after = [_after(child, state, dim) for state in states.values()]
    if name in ("scan", "map"):
        ys = _outputs(child, choose.integer(1, 2), dim)
    else:
        ys = []
    if name == "map" and not ys:
        return None
    region = Region((*states, *elements), tuple(child.steps), (*after, *ys))
    count = len(states) + len(ys) if name == "scan" else len(ys) or len(states)
    params = {
        "dim": dim, "n": n, "reverse": reverse, "states": len(states),
        "options": "" if name == "map" else choose.one(CHECKPOINTS) if n == 9 else "",
    }  # fmt: skip
    return Step(
        name, (*inits, *lanes), params, tuple(scope.fresh() for _ in range(count)), (region,)
    )


def _rest(x: Named, dim: str) -> tuple[tuple[str, ...], Any]:
    rest = {d: n for d, n in x.sizes.items() if d != dim}
    return tuple(rest), np.ones(tuple(rest.values()))


def _along_array(lib: Any, call: Any, step: Step, operands: Sequence[Named]) -> list[Named]:
    count = step.params["states"]
    (region,) = step.regions
    every = step.op == "cumulate"
    sizes = [s.sizes for s in operands[:count]]

    def body(states: list[Named], elements: list[Named]) -> tuple[list[Named], list[Named]]:
        given = call(region, [*states, *elements])
        after, ys = given[:count], given[count:]
        if every:
            ys = [expanded(lib, s, size) for s, size in zip(after, sizes, strict=True)]
        return after, ys

    p = step.params
    final, ys = lib.scan(
        body, list(operands[:count]), list(operands[count:]), p["dim"], p["n"], p["reverse"]
    )
    return {"scan": [*final, *ys], "reduce": final, "cumulate": ys, "map": ys}[step.op]


def _along_lines(step: Step, body: Lines) -> list[str]:
    (region,) = step.regions
    p, count = step.params, step.params["states"]
    name = f"f{step.results[0]}"
    inits, lanes = packed(step.operands[:count]), packed(step.operands[count:])
    after, ys = packed(region.outputs[:count]), packed(region.outputs[count:])
    xs = lanes if len(step.operands) > count else "None"
    if step.op == "map":
        inner = [*_taking(region, 0, "s", "e"), *body(region), f"return {ys}"]
        call = f"{packed(step.results)} = dt.map({name}, {lanes}, dim={p['dim']})"
        return [f"def {name}(e):", *indented(inner), call]
    given = f"{after}, {ys}" if step.op == "scan" else after
    inner = [*_taking(region, count, "s", "e"), *body(region), f"return {given}"]
    options = f"dim={p['dim']}, reverse={p['reverse']}{p['options']}"
    call = f"dt.{step.op}({name}, {inits}, {xs}, {options})"
    left = packed(step.results)
    if step.op == "scan":
        left = f"{packed(step.results[:count])}, {packed(step.results[count:])}"
    return [f"def {name}(s, e):", *indented(inner), f"{left} = {call}"]


for _name in ("scan", "cumulate", "reduce", "map"):
    _register(
        _name,
        _along_lines,
        _along_array,
        lambda choose, scope, name=_name: _draw_along(choose, scope, name),
    )


# -- counted loops ---------------------------------------------------------------------------------


def _draw_fori(choose: Any, scope: Any) -> Step | None:
    inits = _start_values(scope, None, choose.integer(1, 2))
    if scope.depth > 1 or not inits:
        return None
    start, count = choose.one([0, 1, 2]), choose.one([3, 2, 1, 0, 5])
    counter = scope.fresh()
    states = {scope.fresh(): scope.env[at] for at in inits}
    child = _grown(scope, {counter: Named((), np.asarray(start * COUNTER)), **states})
    after = [_after(child, state, None) for state in states.values()]
    region = Region((counter, *states), tuple(child.steps), tuple(after))
    params = {"start": start, "stop": start + count}
    return Step("fori_loop", tuple(inits), params, tuple(scope.fresh() for _ in inits), (region,))


def _fori_array(lib: Any, call: Any, step: Step, operands: Sequence[Named]) -> list[Named]:
    start, stop = step.params["start"], step.params["stop"]
    counts = Named(("#",), lib.xp.arange(start, stop) * COUNTER)
    region = step.regions[0]

    def body(states: list[Named], elements: list[Named]) -> Any:
        return call(region, [*elements, *states]), []

    return lib.scan(body, list(operands), [counts], "#", stop - start, False)[0]


def _fori_lines(step: Step, body: Lines) -> list[str]:
    (region,) = step.regions
    name = f"f{step.results[0]}"
    counter = f"v{region.params[0]} = i * {COUNTER}"
    inner = [counter, f"{packed(region.params[1:])} = s", *body(region),
             f"return {packed(region.outputs)}"]  # fmt: skip
    p = step.params
    call = f"dt.fori_loop({p['start']}, {p['stop']}, {name}, {packed(step.operands)})"
    return [f"def {name}(i, s):", *indented(inner), f"{packed(step.results)} = {call}"]


_register("fori_loop", _fori_lines, _fori_array, _draw_fori)


# -- while loops -----------------------------------------------------------------------------------


def _draw_while(choose: Any, scope: Any) -> Step | None:
    inits = _start_values(scope, None, choose.integer(1, 2))
    if scope.depth > 1 or not inits:
        return None
    by_element = choose.flag()
    values = [scope.env[at] for at in inits]
    if by_element and any(not set(values[0].dims) <= set(v.dims) for v in values):
        return None  # a body is traced on states that do not have the condition's dims yet
    states = dict(zip([scope.fresh() for _ in values], values, strict=True))
    child = _grown(scope, states)
    after = [_after(child, state, None) for state in states.values()]
    region = Region(tuple(states), tuple(child.steps), tuple(after))
    if by_element and _keeps_positions(region):
        return None
    asked = tuple(scope.fresh() for _ in values)
    what, steps = asked[0], ()
    if not by_element:
        what = scope.fresh()
        steps = (Step("sum", (asked[0],), {"dims": values[0].dims}, (what,)),)
    condition = Region(asked, steps, (what,))
    most = choose.one([4, 2, 1, 6])
    reached = _reached(scope, region, condition, values, most)
    if reached is None:
        return None
    params = {"most": most, "limit": round(choose.one(reached), 3)}
    results = tuple(scope.fresh() for _ in inits)
    return Step("while_loop", tuple(inits), params, results, (region, condition))


def _reached(scope: Any, body: Region, condition: Region, states: list, most: int) -> Any:
    """Numbers between what the condition looks at in steps: limits that stop at different steps."""
    lib, seen = NumPy(), []
    sizes = [s.sizes for s in states]
    for _ in range(most):
        env = {**scope.env, **dict(zip(condition.params, states, strict=True))}
        run_steps(condition.steps, env, lib)
        seen += np.ravel(env[condition.outputs[0]].data).tolist()
        env = {**scope.env, **dict(zip(body.params, states, strict=True))}
        with np.errstate(all="ignore"):
            run_steps(body.steps, env, lib)
        after = [env[at] for at in body.outputs]
        states = [expanded(lib, s, size) for s, size in zip(after, sizes, strict=True)]
    if not np.all(np.isfinite(seen)):
        return None
    ordered = sorted(set(seen))
    between = [(a + b) / 2 for a, b in itertools.pairwise(ordered)]
    return [*between, max(ordered, default=0.0) + 1.0]


def _while_array(lib: Any, call: Any, step: Step, operands: Sequence[Named]) -> list[Named]:
    body, condition = step.regions
    limit = step.params["limit"]

    def holds(states: list[Named]) -> Named:
        (value,) = call(condition, states)
        return Named(value.dims, lib.above(limit - value.data))

    states = list(operands)
    mask = holds(states)
    if hasattr(lib, "decisions") and not lib.muted:
        lib.decisions.pop()
    states = [expanded(lib, s, union(s, mask)) for s in states]
    return lib.loop(holds, lambda s: call(body, s), states, step.params["most"])


def _while_lines(step: Step, body: Lines) -> list[str]:
    region, condition = step.regions
    name, test = f"f{step.results[0]}", f"c{step.results[0]}"
    asked = [*_taking(condition, len(condition.params), "s"), *body(condition),
             f"return v{condition.outputs[0]} < {step.params['limit']}"]  # fmt: skip
    inner = [*_taking(region, len(region.params), "s"), *body(region),
             f"return {packed(region.outputs)}"]  # fmt: skip
    call = f"dt.while_loop({test}, {name}, {packed(step.operands)}, {step.params['most']})"
    return [f"def {test}(s):", *indented(asked), f"def {name}(s):", *indented(inner),
            f"{packed(step.results)} = {call}"]  # fmt: skip


_register("while_loop", _while_lines, _while_array, _draw_while)

# -- conditionals ----------------------------------------------------------------------------------


def _draw_branch(choose: Any, scope: Any, by_element: bool) -> Step | None:
    if scope.depth > 1:
        return None
    condition = scope.pick(lambda v: bool(v.dims) == by_element)
    count = choose.integer(0, 2)
    operands = [scope.pick() for _ in range(count)]
    if condition is None:
        return None
    outputs, regions = choose.integer(1, 2), []
    for _ in range(2):
        params = {scope.fresh(): scope.env[at] for at in operands}
        child = _grown(scope, params)
        given = [child.pick(lambda v: np.size(v.data) <= 60) for _ in range(outputs)]
        if None in given:
            return None
        regions.append(Region(tuple(params), tuple(child.steps), tuple(given)))
    if by_element and any(map(_keeps_positions, regions)):
        return None
    value = np.ravel(scope.env[condition].data)
    limit = round(float(value[len(value) // 2]) + choose.one([0.1, -0.1]), 3) if value.size else 0.0
    name = "if_else by element" if by_element else "if_else"
    results = tuple(scope.fresh() for _ in range(outputs))
    return Step(name, (condition, *operands), {"limit": limit}, results, tuple(regions))


def _keeps_positions(region: Region) -> bool:
    """Whether a body selects by a mask, which cannot get the dims of a condition around it."""
    return any(
        step.op == "positive part" or any(map(_keeps_positions, step.regions))
        for step in region.steps
    )


def _branch_array(lib: Any, call: Any, step: Step, operands: Sequence[Named]) -> list[Named]:
    value, *arguments = operands
    condition = Named(value.dims, lib.above(value.data - step.params["limit"]))
    one, other = step.regions
    return lib.branch(condition, lambda: call(one, arguments), lambda: call(other, arguments))


def _branch_lines(step: Step, body: Lines) -> list[str]:
    lines, at = [], step.results[0]
    for name, region in zip((f"f{at}", f"g{at}"), step.regions, strict=True):
        parameters = ", ".join(f"v{p}" for p in region.params)
        inner = [*body(region), f"return {packed(region.outputs)}"]
        lines += [f"def {name}({parameters}):", *indented(inner)]
    condition, *arguments = step.operands
    given = "".join(f", v{a}" for a in arguments)
    test = f"v{condition} > {step.params['limit']}"
    return [*lines, f"{packed(step.results)} = dt.if_else({test}, f{at}, g{at}{given})"]


for _by_element in (False, True):
    _register(
        "if_else by element" if _by_element else "if_else",
        _branch_lines,
        _branch_array,
        lambda choose, scope, by_element=_by_element: _draw_branch(choose, scope, by_element),
    )

# -- associative scans -----------------------------------------------------------------------------

_COMBINED: dict[str, tuple[str, Callable[..., Any]]] = {
    "plus": ("one + other", lambda lib, a, b: a + b),
    "times": ("one * other", lambda lib, a, b: a * b),
    "larger": ("dt.maximum(one, other)", lambda lib, a, b: lib.xp.where(lib.above(a - b), a, b)),
    "logaddexp": (
        "dt.logaddexp(one, other)",
        lambda lib, a, b: lib.xp.log(lib.xp.exp(a) + lib.xp.exp(b)),
    ),
}


def _draw_associative(choose: Any, scope: Any) -> Step | None:
    found = scope.pick_dim(1)
    if found is None:
        return None
    at, dim = found
    params = {"dim": dim, "n": scope.length(dim), "how": choose.one(list(_COMBINED)),
              "reverse": choose.flag(3)}  # fmt: skip
    return Step("associative_scan", (at,), params, (scope.fresh(),))


def _associative_array(lib: Any, call: Any, step: Step, operands: Sequence[Named]) -> list[Named]:
    function = _COMBINED[step.params["how"]][1]
    dim, n = step.params["dim"], step.params["n"]
    x = Named(operands[0].dims, 1.03 * operands[0].data)
    order = list(reversed(range(n))) if step.params["reverse"] else list(range(n))
    rows = [taken(lib, x, dim, order[0])]
    for t in order[1:]:
        rows.append(
            elementwise(lib, lambda a, b: function(lib, a, b), rows[-1], taken(lib, x, dim, t))
        )
    if step.params["reverse"]:
        rows.reverse()
    return [Named((dim, *rows[0].dims), lib.xp.stack([row.data for row in rows]))]


def _associative_lines(step: Step, body: Lines) -> list[str]:
    p = step.params
    function = f"lambda one, other: {_COMBINED[p['how']][0]}"
    call = f"dt.associative_scan({function}, 1.03 * v{step.operands[0]}"
    return [f"v{step.results[0]} = {call}, dim={p['dim']}, reverse={p['reverse']})"]


_register("associative_scan", _associative_lines, _associative_array, _draw_associative)
