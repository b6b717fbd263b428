"""Passes on random kernels: they keep the rules, and what a kernel computes."""

import math
from collections.abc import Iterator
from functools import partial
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytensor.tensor as pt
import pytest

from dimtensor.compile.caching.cache import key_of
from dimtensor.kernels.ir.make import known
from dimtensor.kernels.ir.nodes import Carry, For
from dimtensor.kernels.ir.python import printed
from dimtensor.kernels.ir.verify import verify
from dimtensor.kernels.passes.pipeline import PASSES, optimized
from tests.kernels.interpret import interpreted
from tests.kernels.reading import parsed

NAMES = [each.name for each in PASSES]
# passes that another one works on the result of
AFTER = {"logarithm_sums": ("totals",)}
# passes that add up the terms of sums in another order
REORDERING = ("totals", "logarithm_sums", "strips_of_steps")
KINDS = ["scan", "elements", "sum", "rows", "calls", "table", "segments", "short"]
SHARES = [0.25, 0.2, 0.2, 0.1, 0.15, 0.1, 0.0, 0.0]
# a pass that matches loops over segments
SEGMENTS = [0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.7, 0.0]
# a pass that matches vectorized loops over a few positions
SHORT = [0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, 0.7]
ARGUMENTS = [("float64", 1), ("float64", 1), ("bool", 0)]


def expression(rng, names, depth=3):
    """Text of a number made of numbers with names."""
    if depth == 0 or rng.random() < 0.2:
        return str(rng.choice([*names, "0.5", "-1.25"]))
    parts = [expression(rng, names, depth - 1) for _ in range(2)]
    form = rng.choice(["{} + {}", "{} - {}", "{} * {}", "np.exp(-abs({})) + {}", "select"])
    if form == "select":
        usual, other = (f"np.log(1.0 + np.exp(-abs({each})))" for each in parts)
        return f"({usual} if c else {other})"
    return "(" + form.format(*parts) + ")"


def program(rng, shares=SHARES):
    """Source of a kernel of two vectors and a truth value: one loop nest after the other."""
    lines = ["c = z[()]", "n = x.shape[0]", "total = 0.0"]
    arrays = ["x", "y"]
    results, of_segments = [], []
    for at in range(rng.integers(3, 9)):
        kind = rng.choice(KINDS, p=shares)
        names = [f"{each}[i]" for each in arrays[-3:]]
        if kind == "sum":
            lines += ["for i in range(n):", f"    total += {expression(rng, names)}"]
            continue
        new = "zeros" if kind in ("rows", "table", "segments", "short") else "empty"
        lines.append(f"v{at} = np.{new}((n,), dtype=np.float64)")
        if kind == "rows":
            rows, columns = rng.permutation(["7", "n"])
            lines += [
                f"for i in range({rows}):",
                f"    r{at} = 0.0",
                f"    for k in range({columns}):",
            ]
            lines += [f"        b{at} = y[k]", f"        p{at} = b{at} * x[i]"]
            lines.append(f"        r{at} += {expression(rng, [f'b{at}', f'p{at}'])}")
            lines += [f"    v{at}[i] = r{at}", f"    total += r{at}"]
        elif kind == "scan":
            lines += [f"s{at} = 0.5", "for i in range(n):"]
            lines.append(f"    t{at} = {expression(rng, [f's{at}', *names[:2]])} * 0.25")
            lines += [f"    v{at}[i] = t{at}", f"    s{at} = t{at}"]
        elif kind == "segments":
            lines += [f"w{at} = np.empty((7,), dtype=np.float64)", "for p in range(7):"]
            lines += [f"    f{at} = p * 20", f"    e{at} = f{at} + 20", f"    r{at} = 0.0"]
            lines.append(f"    for i in range(f{at}, e{at}):")
            lines.append(f"        u{at} = {expression(rng, [*names, *of_segments])}")
            lines += [f"        v{at}[i] = u{at}", f"        r{at} += u{at}"]
            lines.append(f"    w{at}[p] = r{at}")
            of_segments = [f"w{at}[p]"]
        elif kind == "short":
            lines += ["for i in range(7):", f"    a{at} = {expression(rng, names)}"]
            lines += [f"    m{at} = 0.5", f"    m{at} += a{at}"]
            lines.append(f"    b{at} = {expression(rng, [f'a{at}', *names[:1]])}")
            lines += [f"    d{at} = b{at} > a{at}", f"    m{at} += b{at}"]
            lines += [f"    v{at}[i] = (m{at} if d{at} else a{at})", f"    total += m{at}"]
        elif kind == "table":
            lines += ["for i in range(7):", "    for k in range(n):"]
            lines.append(f"        v{at}[k] += {expression(rng, ['x[i]', 'y[k]'])}")
        elif kind == "calls":
            lines += ["for i in range(n):", f"    u{at} = g({names[0]})"]
            lines.append(f"    p{at} = {expression(rng, names)}")
            lines.append(f"    w{at} = (u{at} if {names[0]} > 0.0 else p{at})")
            lines += [f"    q{at} = w{at} * {names[0]}", f"    v{at}[i] = q{at}"]
        else:
            lines += ["for i in range(n):", f"    v{at}[i] = {expression(rng, names)}"]
        arrays.append(f"v{at}")
        results.append(f"v{at}")
    listed = "".join(f"{each}, " for each in ["total", *results[-1:]])
    return "\n    ".join(["def kernel(x, y, z):", *lines, f"return ({listed})\n"])


def with_scans(function):
    """The loops that carry a state, and the others, marked as the emitter marks them."""

    def marked(each):
        if not isinstance(each, For):
            return each
        carries = any(isinstance(x, Carry) for x in each.body)
        body = tuple(map(marked, each.body))
        return each.replace(body=body, is_scan=carries, is_parallel=not carries)

    return function.replace(body=tuple(map(marked, function.body)))


def with_wide_loops(function):
    """The loops over seven positions, marked as long ones are."""
    body = [
        each.replace(is_wide=True) if isinstance(each, For) and known(each.stop) == 7 else each
        for each in function.body
    ]
    return function.replace(body=tuple(body))


def run(function, arrays):
    namespace = {"np": np, "math": math, "g": np.tanh}
    exec(printed(function), namespace)
    with np.errstate(all="ignore"):
        return namespace["kernel"](*arrays)


def fresh_name(numbers: Iterator[int], start: str) -> str:
    """A name that no program has."""
    return f"{start}9{next(numbers)}"


@pytest.mark.parametrize("name", NAMES)
def test_random_kernels(name, monkeypatch):
    monkeypatch.setattr("dimtensor.kernels.passes.array_reuse.REUSED_ARRAY_ELEMENTS", 0)
    if name == "vector_hints":
        monkeypatch.setattr("dimtensor.kernels.passes.lines.VECTORIZED_OPERATIONS", 3)
    monkeypatch.setattr("dimtensor.kernels.passes.loop_fission.FISSION_STATEMENTS", 4)
    monkeypatch.setattr("dimtensor.kernels.passes.loop_fission.FISSIONED_STATEMENTS", 2)
    changed = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        shares = {"outer_fusion": SEGMENTS, "loop_fission": SHORT}.get(name, SHARES)
        before = with_scans(parsed(program(rng, shares), ARGUMENTS, {"g": "float64"}))
        if name == "loop_fission":
            before = with_wide_loops(before)
        numbers = count()
        forms = []
        for more in ([], [name]):
            off = {*NAMES} - {*AFTER.get(name, ()), *more}
            forms.append(optimized(before, partial(fresh_name, numbers), off, verify))
        changed += forms[0] != forms[1]
        length = 2500 if name in REORDERING and rng.random() < 0.5 else 150
        arrays = (*rng.normal(size=(2, length)), np.asarray(rng.random() < 0.5))
        for one, other in zip(run(before, arrays), run(forms[1], arrays), strict=True):
            if name in REORDERING:
                np.testing.assert_allclose(other, one, rtol=1e-12)
            else:
                np.testing.assert_array_equal(other, one)
    assert changed >= 4, "the programs have nothing that the pass is about"


def test_a_pass_that_breaks_a_rule_is_found(monkeypatch):
    rng = np.random.default_rng(0)
    function = parsed(program(rng), ARGUMENTS, {"g": "float64"})
    kept = optimized(function, str, NAMES, verify)
    assert kept == function
    broken = PASSES[0]._replace(rewrite=lambda statements, results, fresh: list(statements[1:]))
    monkeypatch.setattr("dimtensor.kernels.passes.pipeline.PASSES", (broken,))
    with pytest.raises(Exception, match="c is read before it is defined"):
        optimized(function, str, (), verify)


x, m = pt.dvector("x"), pt.dmatrix("m")
# a graph that a pass over nests matches
MATCHED = {
    "logarithm_sums": [pt.log(x * x + 1.0).sum()],
    "totals": [(x * x).sum()],
    "strip_mining": [pt.gammainc(2.0, pt.abs(x)) + pt.exp(x) * x - x / 3.0],
    "unroll_and_jam": [(m * x).sum(axis=1)],
}


@pytest.mark.parametrize("name", MATCHED)
def test_passes_over_nests(name, monkeypatch):
    """Without one the source is another, and the values are the same."""
    rng = np.random.default_rng(1)
    values = {x: rng.normal(size=2050), m: rng.normal(size=(5, 2050))}
    inputs = [m, x] if name == "unroll_and_jam" else [x]
    found = {}
    for off in ("", f"-{name}"):
        monkeypatch.setenv("DIMTENSOR_PASSES", off)
        found[off] = f = interpreted(inputs, MATCHED[name])
        found[off, "values"] = f(*(values[each] for each in inputs))
    assert found[""].source != found[f"-{name}"].source
    for one, other in zip(found["", "values"], found[f"-{name}", "values"], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_names():
    assert len({*NAMES}) == len(NAMES)


def test_code_of_other_passes_is_another_in_the_cache(monkeypatch):
    description = SimpleNamespace(fingerprint="a graph")
    before = key_of(description, "numba")
    monkeypatch.setenv("DIMTENSOR_PASSES", "-totals")
    assert key_of(description, "numba") != before
