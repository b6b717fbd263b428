"""What is compared for each program: values, and derivatives of all kinds."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dimtensor as dt
from tests.differential.generate import PLAIN
from tests.differential.named import Named, NumPy
from tests.differential.oracle import STEP, Key, Kink, Loss, Oracle, Shifts, inner, scaled, single
from tests.differential.program import Built, Program, all_steps, build, run

BOUND = 1e5  # derivatives beyond it are ill-conditioned, and say nothing


@dataclass
class Failure:
    """A check of a program that does not hold, or raises."""

    check: str
    found: str
    expected: str

    @property
    def wrong_number(self) -> bool:
        return not self.found.startswith("raises ")


class Case:
    """A program with what checks need: its tensors, its oracle, directions."""

    def __init__(self, program: Program, backend: str = "python"):
        self.program = program
        self.backend = backend
        self.built: Built = build(program)
        self.oracle = Oracle(program)
        sinks = [at for at in program.outputs if np.size(self.oracle.env[at].data)]
        self.loss = Loss(tuple(sinks[-3:]))
        self.rng = np.random.default_rng(len(program.steps))
        self.keys = single([i.number for i in program.inputs if i.is_float])
        self.extra: dict[Any, Any] = {}  # inputs of a check's own, and their values
        floats = [at for at in sinks if self.built.values[at].dtype.startswith("float")]
        self.y = floats[-1] if floats else None  # what is differentiated by itself

    @property
    def scalar(self) -> Any:
        return self.loss.tensor(self.built.values)

    def tensor(self, key: Key) -> Any:
        return self.built.values[min(key)]

    def direction(self, key: Key) -> Named:
        like = self.oracle.value(key)
        return Named(like.dims, self.rng.normal(size=np.shape(like.data)).round(2))

    def data(self, value: Named) -> Any:
        """A constant tensor."""
        return dt.data(np.asarray(value.data), dims=[self.built.dims[d] for d in value.dims])

    def directions(self, keys: Sequence[Key]) -> tuple[Shifts, list[Any]]:
        shifts = {key: self.direction(key) for key in keys}
        return shifts, [self.data(v) for v in shifts.values()]

    def intermediates(self) -> list[Key]:
        """Values that are no inputs: all numbers of each, in bodies, too."""
        groups: dict[Any, set[int]] = {}
        for at, tensor in self.built.values.items():
            groups.setdefault(tensor.node, set()).add(at)
        inputs = {x.node for x in self.built.inputs}
        top = {at for step in self.program.steps for at in step.results}
        return [
            frozenset(group)
            for node, group in groups.items()
            if node not in inputs
            and group & top
            and node.kind != "constant"
            and node.dtype.startswith("float")
            and min(group) in self.oracle.env
            and np.size(self.oracle.env[min(group)].data)
        ]

    def smallest(self, most: int) -> Key | None:
        """The largest input of not more elements."""
        sizes = {key: np.size(self.oracle.value(key).data) for key in self.keys}
        found = [key for key in self.keys if 0 < sizes[key] <= most]
        return max(found, key=lambda key: sizes[key]) if found else None


Compared = list[tuple[Any, Named]]
CHECKS: dict[str, tuple[Callable[[Case], Compared], float]] = {}


def check(name: str, rtol: float = 1e-7) -> Callable[[Any], Any]:
    def registered(function: Any) -> Any:
        CHECKS[name] = (function, rtol)
        return function

    return registered


@check("value")
def _value(case: Case) -> Compared:
    return [(case.built.values[at], case.oracle.env[at]) for at in case.program.outputs]


@check("value at infinities and NaN")
def _value_at_others(case: Case) -> Compared:
    """Of programs of plain operations; which infinity or none, not only where."""
    if not all(step.op in PLAIN for step in all_steps(case.program.steps)):
        return []
    # of zeros of both signs either one is the extreme, and products of a zero have both
    extremes = {"maximum", "minimum", "max", "min", "max by group", "clip"}
    special = [np.nan, np.inf, -np.inf]
    if not extremes.intersection(s.op for s in all_steps(case.program.steps)):
        special += [0.0, -0.0]
    point = {}
    for i in case.program.inputs:
        changed = np.array(i.array)
        if changed.size and i.is_float:
            which = case.rng.integers(0, changed.size)
            changed.flat[which] = case.rng.choice(special)
        point[i.number] = Named(i.value.dims, changed)
    others = [dt.tensor(f"o{i.number}", dims=[case.built.dims[d] for d in i.value.dims],
                        dtype=i.dtype) for i in case.program.inputs]  # fmt: skip
    for i, x in zip(case.program.inputs, others, strict=True):
        case.extra[x] = (i.value.dims, point[i.number].data)
    built = build(case.program, others)
    env = run(case.program, point, NumPy())
    return [(built.values[at], Exactly(env[at].dims, env[at].data)) for at in case.program.outputs]


@dataclass(frozen=True)
class Exactly(Named):
    """What may be infinite or no number, which then the result is, too."""


@check("grad")
def _grad(case: Case) -> Compared:
    gradients = dt.grad(case.scalar, [case.tensor(key) for key in case.keys])
    expected = [case.oracle.gradient(case.loss, key) for key in case.keys]
    return list(zip(gradients, expected, strict=True))


@check("grad by intermediates")
def _grad_by_intermediates(case: Case) -> Compared:
    compared: Compared = []
    found = case.intermediates()
    for key in found[:: max(1, len(found) // 3)][:3]:
        if np.size(case.oracle.value(key).data) <= 40:
            gradient = dt.grad(case.scalar, case.tensor(key))
            compared.append((gradient, case.oracle.gradient(case.loss, key)))
    return compared


@check("grad by slices of a flat vector")
def _grad_by_slices(case: Case) -> Compared:
    """Inputs are slices of a vector, as those of a sampler: by each slice, and by the vector."""
    parts = [i for i in case.program.inputs
             if i.is_float and not any(_late(case, d) for d in i.value.dims)]  # fmt: skip
    sizes = [i.array.size for i in parts]
    ends = np.cumsum([0, *sizes])
    flat = dt.tensor("flat", dims=dt.Dim("flat", length=int(ends[-1])))
    case.extra[flat] = (("flat",), np.concatenate([i.array.ravel() for i in parts]))
    slices = {}
    for i, start, stop in zip(parts, ends, ends[1:], strict=False):
        own = [case.built.dims[d] for d in i.value.dims]
        part = flat.isel(flat=slice(int(start), int(stop)))
        if not own:
            part = flat.isel(flat=int(start))
        elif len(own) == 1:
            part = part.relabel("flat", own[0])
        else:
            part = part.relabel("flat", dt.ProductDim(own)).unravel()
        slices[i.number] = part
    pairs = zip(case.program.inputs, case.built.inputs, strict=True)
    built = build(case.program, [slices.get(i.number, x) for i, x in pairs])
    loss = case.loss.tensor(built.values)
    gradients = dt.grad(loss, [flat, *slices.values()])
    expected = [case.oracle.gradient(case.loss, frozenset([i.number])) for i in parts]
    whole = Named(("flat",), np.concatenate([e.data.ravel() for e in expected]))
    return list(zip(gradients, [whole, *expected], strict=True))


def _late(case: Case, dim: str) -> bool:
    return case.program.dims[dim].late


@dataclass(frozen=True)
class Rough(Named):
    """What is computed with few digits: differences up to the slack are none."""

    slack: Any = 0.0


@check("float32", 1e-4)
def _float32(case: Case) -> Compared:
    """Values and gradients of inputs of single precision.

    What its rounding may change is told by the same program at inputs that differ by as much.
    """
    if any(step.params.get("method") == "dopri5" for step in all_steps(case.program.steps)):
        return []  # its tolerance is that of doubles
    inputs = case.program.inputs
    dtypes = ["float32" if i.is_float else i.dtype for i in inputs]
    single = [dt.tensor(f"f{i.number}", dims=[case.built.dims[d] for d in i.value.dims],
                        dtype=dtype) for i, dtype in zip(inputs, dtypes, strict=True)]  # fmt: skip
    for i, x, dtype in zip(inputs, single, dtypes, strict=True):
        case.extra[x] = (i.value.dims, i.array.astype(dtype))
    built = build(case.program, single)
    floats = [x for x in single if x.dtype == "float32"]
    gradients = dt.grad(case.loss.tensor(built.values), floats)
    assert all(g.dtype == "float32" for g in gradients)
    near = [Oracle(case.program, shaken(case)) for _ in range(3)]
    if any(other.decisions != case.oracle.decisions for other in near):
        return []
    small = [key for key in case.keys if np.size(case.oracle.value(key).data) <= 9]
    compared: Compared = []
    for at in case.program.outputs:
        own = [other.env[at] for other in (case.oracle, *near)]
        compared.append((built.values[at], _rough(own)))
    for gradient, key in zip(gradients, case.keys, strict=True):
        if key in small:
            own = [other.gradient(case.loss, key) for other in (case.oracle, *near)]
            compared.append((gradient, _rough(own)))
    return compared


def shaken(case: Case) -> dict[int, Named]:
    """The inputs, a little larger and smaller."""
    return {
        i.number: Named(i.value.dims, i.array * (1 + case.rng.choice([-1e-5, 1e-5], i.array.shape)))
        if i.is_float
        else i.value
        for i in case.program.inputs
    }


def _rough(values: Sequence[Named]) -> Rough:
    """The first of some values, with how far the others are from it at most."""
    exact, *others = values
    slack = sum(np.abs(np.transpose(o.data, [o.dims.index(d) for d in exact.dims]) - exact.data)
                for o in others)  # fmt: skip
    size = np.max(np.abs(exact.data), initial=1.0)
    return Rough(exact.dims, exact.data, 3 * np.max(slack, initial=0.0) + 1e-4 * size)


@check("jvp")
def _jvp(case: Case) -> Compared:
    shifts, tangents = case.directions(case.keys)
    y, at = case.built.values[case.y], case.y
    expected = case.oracle.directional(lambda env: env[at].data, shifts)
    wrt = [case.tensor(key) for key in case.keys]
    return [(dt.jvp(y, wrt, tangents), Named(case.oracle.env[at].dims, expected))]


@check("jvp by inputs along themselves")
def _jvp_of_aliases(case: Case) -> Compared:
    """Tangents that are the inputs, and an intermediate that is its own tangent."""
    wrt = [case.tensor(key) for key in case.keys]
    shifts = {key: case.oracle.value(key) for key in case.keys}
    at = case.y
    y, dims = case.built.values[at], case.oracle.env[at].dims
    expected = case.oracle.directional(lambda env: env[at].data, shifts)
    compared = [(dt.jvp(y, wrt, wrt), Named(dims, expected))]
    found = case.intermediates()
    if found:
        key = found[len(found) // 2]
        expected = case.oracle.directional(lambda env: env[at].data, {key: case.oracle.value(key)})
        compared.append((dt.jvp(y, case.tensor(key), case.tensor(key)), Named(dims, expected)))
    return compared


@check("vjp")
def _vjp(case: Case) -> Compared:
    """With a constant, and with the value itself as the cotangent."""
    at = case.y
    y, value = case.built.values[at], case.oracle.env[at]
    compared: Compared = []
    weights = case.direction(frozenset([at]))
    wrt = [case.tensor(key) for key in case.keys]
    for cotangent, fixed in ((case.data(weights), weights), (y, value)):
        gradients = dt.vjp(y, wrt, cotangent)
        product = Product(at, fixed)
        for gradient, key in zip(gradients, case.keys, strict=True):
            compared.append((gradient, case.oracle.gradient(product, key)))  # type: ignore[arg-type]
    return compared


@dataclass
class Product:
    """A value times fixed weights, summed."""

    at: int
    weights: Named

    def array(self, env: Any) -> Any:
        from tests.differential.named import NumPy

        return inner(NumPy(), env[self.at], self.weights)


@check("hessian", 2e-5)
def _hessian(case: Case) -> Compared:
    key = case.smallest(3)
    if key is None:
        return []
    x = case.tensor(key)
    return [(dt.hessian(case.scalar, x), case.oracle.hessian(case.loss, key))]


@check("hessian by an intermediate", 2e-5)
def _hessian_by_intermediate(case: Case) -> Compared:
    found = [k for k in case.intermediates() if 1 <= np.size(case.oracle.value(k).data) <= 3]
    if not found:
        return []
    key = found[0]
    x = case.tensor(key)
    if any(f"{d.name}'" in {e.name for e in x.dims} for d in x.dims):
        return []
    return [(dt.hessian(case.scalar, x), case.oracle.hessian(case.loss, key))]


@check("derivatives of derivatives", 2e-5)
def _second(case: Case) -> Compared:
    """The gradient's jvp, the jvp's gradient, and the jvp's jvp."""
    key = case.smallest(9)
    if key is None:
        return []
    shifts, tangents = case.directions(case.keys)
    oracle, loss, x = case.oracle, case.loss, case.tensor(key)
    wrt = [case.tensor(k) for k in case.keys]
    expected = Named(
        oracle.value(key).dims,
        oracle.along(lambda base: oracle.gradient(loss, key, base).data, shifts),
    )
    scalar, at = case.scalar, case.y
    one = dt.jvp(dt.grad(scalar, x), wrt, tangents)
    other = dt.grad(dt.jvp(scalar, wrt, tangents), x)
    y = case.built.values[at]
    twice = dt.jvp(dt.jvp(y, wrt, tangents), wrt, tangents)
    curved = oracle.along(
        lambda base: oracle.directional(lambda env: env[at].data, shifts, base), shifts
    )
    return [(one, expected), (other, expected), (twice, Named(oracle.env[at].dims, curved))]


@check("substitute")
def _substitute(case: Case) -> Compared:
    """Gradients at other points: at a number, at another input, at an expression of itself."""
    one, scalar = case.keys[1], case.keys[3]
    x, s = case.tensor(one), case.tensor(scalar)
    gradients = dt.grad(case.scalar, [x, s])
    moved = scaled(0.9, case.oracle.value(one))
    compared: Compared = []
    number = Named((), np.asarray(0.7))
    for replaced, point in (
        ({x: 0.9 * x, s: 0.7}, {min(one): moved, min(scalar): number}),
        ({s: 0.7}, {min(scalar): number}),
    ):
        oracle = Oracle(case.program, {**case.oracle.point, **point})
        if not oracle.defined:
            continue
        found = dt.substitute(gradients, replaced)
        expected = [oracle.gradient(case.loss, key) for key in (one, scalar)]
        compared += list(zip(found, expected, strict=True))
    return compared


@check("vectorize")
def _vectorize(case: Case) -> Compared:
    """Values and gradients for several values of one input or two."""
    one, scalar = case.keys[1], case.keys[3]
    draw = dt.Dim("draw", length=2)
    case.built.dims["draw"] = draw
    gradients = dt.grad(case.scalar, [case.tensor(one), case.tensor(scalar)])
    own, wide = case.oracle.value(scalar), case.oracle.value(one)
    both = Named(("draw",), np.array([float(own.data), 0.83]))
    several = Named(("draw", *wide.dims), np.stack([0.91 * wide.data, wide.data]))
    y, at = case.built.values[case.y], case.y
    compared: Compared = []
    for replaced in ({scalar: both}, {scalar: both, one: several}):
        tensors = {case.tensor(key): case.data(value) for key, value in replaced.items()}
        oracles = []
        for k in range(2):
            moved = {min(key): Named(v.dims[1:], v.data[k]) for key, v in replaced.items()}
            oracles.append(Oracle(case.program, {**case.oracle.point, **moved}))
        if not all(oracle.defined for oracle in oracles):
            continue
        found = dt.vectorize([y, *gradients], tensors)
        parts = [[o.env[at], *[o.gradient(case.loss, key) for key in (one, scalar)]]
                 for o in oracles]  # fmt: skip
        for result, first, second in zip(found, *parts, strict=True):
            if "draw" in {d.name for d in result.dims}:
                rows = [
                    first.data,
                    np.transpose(second.data, [second.dims.index(d) for d in first.dims]),
                ]
                compared.append((result, Named(("draw", *first.dims), np.stack(rows))))
    return compared


def differs(found: Any, expected: Named, rtol: float) -> bool:
    """Whether a result, a DataArray, is another one; what is huge is not compared."""
    wanted = np.asarray(expected.data)
    if isinstance(expected, Exactly) and set(found.dims) == set(expected.dims):
        values = found.transpose(*expected.dims).values
        return values.shape != wanted.shape or not np.allclose(
            values, wanted, rtol=1e-9, atol=1e-9, equal_nan=True
        )
    if not np.all(np.isfinite(wanted)) or (wanted.size and np.abs(wanted).max() > BOUND):
        return False
    if set(found.dims) != set(expected.dims):
        return True
    values = found.transpose(*expected.dims).values
    if isinstance(expected, Rough):
        if expected.slack > 0.1 * max(1.0, float(np.abs(wanted).max(initial=0.0))):
            return False
        return values.shape != wanted.shape or not np.all(np.abs(values - wanted) <= expected.slack)
    scale = max(1.0, float(np.abs(wanted).max())) if wanted.size else 1.0
    return values.shape != wanted.shape or not np.allclose(
        values, wanted, rtol=rtol, atol=rtol * scale
    )


def evaluated(case: Case, expressions: Sequence[Any]) -> list[Any]:
    """The expressions at the program's point, by one compiled function."""
    known = set(dt.inputs_of(expressions))
    pairs = zip(case.built.inputs, case.program.inputs, strict=True)
    feed = {x: (i.value.dims, i.array) for x, i in pairs if x in known}
    feed.update((x, value) for x, value in case.extra.items() if x in known)
    return dt.evaluate(expressions, feed, backend=case.backend)


# What dimtensor documents that it refuses.
REFUSED = (
    "has this dim and no other",
    "a dtype widens and never narrows",
    "does not fit into a tensor of",
)


def is_refused(error: Exception) -> bool:
    return any(text in str(error) for text in REFUSED)


def prepared(case: Case, name: str) -> Compared | Failure:
    """What a check compares, or why its expressions cannot be built."""
    # directions depend on the check alone, so that a program that shrinks keeps them
    case.rng = np.random.default_rng(zlib.crc32(name.encode()))
    try:
        return [] if case.y is None else CHECKS[name][0](case)
    except Kink:
        return []
    except Exception as error:
        return [] if is_refused(error) else raised(name, error)


def raised(name: str, error: Exception) -> Failure:
    return Failure(name, f"raises {type(error).__name__}: {error}"[:600], "a value")


def compared(name: str, results: Sequence[Any], pairs: Compared) -> Failure | None:
    """The first result that is another one than expected."""
    for at, (result, (_, expected)) in enumerate(zip(results, pairs, strict=True)):
        if differs(result, expected, CHECKS[name][1]):
            return Failure(
                f"{name} [{at}]",
                f"{result.dims} {np.asarray(result.values).tolist()}"[:600],
                f"{expected.dims} {np.asarray(expected.data).tolist()}"[:600],
            )
    return None


def compared_closely(case: Case, name: str, results: Sequence[Any]) -> Failure | None:
    """The same by an oracle that takes differences over shorter steps, where it takes any."""
    case.oracle.step = STEP / 8
    try:
        pairs = prepared(case, name)
    finally:
        case.oracle.step = STEP
    if not pairs or isinstance(pairs, Failure):
        return pairs or None
    return compared(name, results, pairs)


def failures(
    program: Program, backend: str = "python", names: Sequence[str] | None = None
) -> list[Failure]:
    """All checks of a program that fail: by one function, by one for each if that raises."""
    try:
        case = Case(program, backend)
    except Exception as error:
        return [] if is_refused(error) else [raised("build", error)]
    wanted = [(name, prepared(case, name)) for name in names or CHECKS]
    found = [pairs for _, pairs in wanted if isinstance(pairs, Failure)]
    checks = [(name, pairs) for name, pairs in wanted if not isinstance(pairs, Failure) and pairs]
    try:
        groups = [checks] if checks else []
        results = [evaluated(case, [x for _, pairs in checks for x, _ in pairs])] if checks else []
    except Exception:
        groups, results = [[one] for one in checks], []
        for name, pairs in checks:
            try:
                results.append(evaluated(case, [x for x, _ in pairs]))
            except Exception as error:
                found.append(raised(name, error))
                results.append(None)
    for group, values in zip(groups, results, strict=True):
        at = 0
        for name, pairs in group if values is not None else ():
            own = values[at : at + len(pairs)]
            failure = compared(name, own, pairs)
            if failure:
                failure = compared_closely(case, name, own)
            at += len(pairs)
            found += [failure] if failure else []
    return found
