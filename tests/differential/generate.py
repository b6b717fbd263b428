"""Random programs, grown step by step on values that NumPy computes along the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tests.differential.along
import tests.differential.control
import tests.differential.elementwise
import tests.differential.flows
import tests.differential.library
import tests.differential.places  # noqa: F401 (the tables of operations fill by import)
from dimtensor.testing.strategies import Choose
from tests.differential.named import Named, NumPy, union
from tests.differential.program import (
    CONSTRUCTS,
    OPS,
    DimOf,
    Env,
    Input,
    Program,
    Step,
    run_step,
)
from tests.random_programs.choosing import Seeded

LARGEST = 30.0  # of values: what follows stays in range
MARGIN = 2e-3  # from kinks
MAX_SIZE = 120


class Scope:
    """Steps that grow, and the values that they can read."""

    def __init__(self, choose: Choose, dims: dict[str, DimOf], env: Env, depth: int = 0):
        self.choose = choose
        self.dims = dims
        self.env = env
        self.depth = depth
        self.own: list[int] = []
        self.steps: list[Step] = []
        self.wanted: tuple[str, ...] = ()  # constructs that the next body has within each other
        self.nested = False
        self.small = False
        self.plain = False
        self.integers: list[int] = []  # inputs

    # -- what operations ask when they are drawn ---------------------------------------------------

    def pick(self, accepts: Callable[[Named], Any] = lambda x: True) -> int | None:
        """The number of a value, later ones more often."""
        found = [at for at, value in self.env.items() if accepts(value)]
        if not found:
            return None
        if self.own and self.choose.flag():
            found = [at for at in found if at in self.own] or found
        return found[-1 - self.choose.integer(0, len(found) - 1)]

    def pick_dim(
        self, least: int = 0, most: int = 1000, late: bool = True
    ) -> tuple[int, str] | None:
        """A value and one of its dims, of so many positions."""

        def fits(dim: str) -> bool:
            return least <= self.length(dim) <= most and (late or not self.is_late(dim))

        at = self.pick(lambda x: any(fits(d) for d in x.dims))
        if at is None:
            return None
        return at, self.choose.one([d for d in self.env[at].dims if fits(d)])

    def length(self, dim: str) -> int:
        return self.dims[dim].length

    def is_late(self, dim: str) -> bool:
        return self.dims[dim].late

    def new_dim(self, length: int, other_than: Sequence[str]) -> str:
        """A dim of that length, one that is there or a new one."""
        known = [
            name for name, d in self.dims.items() if d == DimOf(length) and name not in other_than
        ]
        if known and self.choose.flag():
            return self.choose.one(known)
        name = f"d{len(self.dims)}"
        self.dims[name] = DimOf(length)
        return name

    def any_dim(self, choose: Choose, other_than: Sequence[str], late: bool = True) -> str | None:
        found = [n for n, d in self.dims.items() if n not in other_than and (late or not d.late)]
        return choose.one(found) if found else None

    def too_large(self, *operands: int, extra: int = 1, limit: int = MAX_SIZE) -> bool:
        sizes = union(*[self.env[at] for at in operands])
        return len(sizes) > 3 or np.prod([*sizes.values(), extra]) > limit

    # -- growing -----------------------------------------------------------------------------------

    def fresh(self) -> int:
        """A number that no value has, in whatever scope."""
        self.choose.count += 1
        return self.choose.count

    def inner(self, env: Env) -> Scope:
        """The scope of a body; it sees all values, and has those given besides."""
        child = Scope(self.choose, self.dims, {**self.env, **env}, self.depth + 1)
        child.own = list(env)
        child.small = self.small
        child.plain = self.plain
        return child

    def add_integers(self) -> None:
        """An input of integers, one of them 0."""
        (dim, *_), number = self.dims, self.fresh()
        values = (np.arange(self.dims[dim].length) * 2 + 3) % 7 - 3.0
        self.env[number] = Named((dim,), values)
        self.integers.append(number)

    def attempt(self, step: Step) -> bool:
        """Take a step if what it gives is finite, of moderate size and away from kinks."""
        lib = NumPy()
        try:
            with np.errstate(all="ignore"):
                values = run_step(step, self.env, lib)
        except np.linalg.LinAlgError:
            return False
        if lib.margin < MARGIN or not all(moderate(v) for v in values):
            return False
        self.steps.append(step)
        self.env.update(zip(step.results, values, strict=True))
        self.own += step.results
        return True

    def grow(self, name: str) -> bool:
        """Try to add a step of an operation or construct."""
        if name in CONSTRUCTS:
            step = CONSTRUCTS[name].draw(self.choose, self)
        else:
            drawn = OPS[name].draw(self.choose, self)
            step = None if drawn is None else Step(name, *drawn, (self.fresh(),))
        return step is not None and self.attempt(step)

    def grow_any(self, count: int) -> None:
        """So many steps of any operations, loops only while there are few levels of them."""
        for _ in range(1 if self.small else count):
            names = (
                list(SIMPLE)
                if self.small
                else names_of_any_kind(
                    self.choose, self.depth < 2 and self.choose.flag(3), self.plain
                )
            )
            self.grow_some(names, 1)

    def grow_some(self, names: Sequence[str], count: int, attempts: int = 3) -> None:
        """So many steps of random operations."""
        for _ in range(count):
            for _ in range(attempts):
                if self.grow(self.choose.one(names)):
                    break


def moderate(value: Named) -> bool:
    data = np.asarray(value.data)
    return bool(np.all(np.isfinite(data)) and (not data.size or np.abs(data).max() <= LARGEST))


ELEMENTWISE = tuple(name for name, op in OPS.items() if op.family in ("unary", "binary", "kinked"))
OTHER = tuple(name for name in OPS if name not in ELEMENTWISE)
# What NumPy computes as dimtensor does where numbers are infinite or undefined.
PLAIN = frozenset((
    "sin", "cos", "tanh", "exp", "negative", "square", "abs", "add", "subtract", "multiply",
    "divide", "affine", "where", "mask", "clip", "maximum", "minimum", "sum", "mean", "max", "min",
    "cumsum", "cumprod", "prod", "reverse", "shift", "roll", "shift by several",
    "roll by several", "take", "slice", "gather", "pointwise", "diff", "update",
    "scatter", "group", "expand", "relabel", "ravel", "concat", "stack", "pad", "sum by group",
    "max by group", "scan", "cumulate", "reduce", "map", "fori_loop", "if_else",
    "if_else by element",
))  # fmt: skip
SIMPLE = ("multiply", "sin", "tanh", "affine", "add", "sum")
LENGTHS = (3, 2, 9, 1, 0, 8, 3, 40)


def names_of_any_kind(choose: Choose, loops: bool = True, plain: bool = False) -> list[str]:
    """Operations, each family about as likely as its weight says."""
    allowed = [name for name in (*OPS, *CONSTRUCTS) if not plain or name in PLAIN]
    families: dict[str, list[str]] = {}
    for name in allowed:
        if name in OPS:
            families.setdefault(OPS[name].family, []).append(name)
    weights = {"unary": 4, "binary": 4, "kinked": 2, "reduction": 2, "along": 2, "product": 1,
               "linear": 1, "selection": 2, "update": 2, "shape": 2}  # fmt: skip
    picked: list[str] = []
    for family, weight in weights.items():
        if family in families:
            picked += [choose.one(families[family]) for _ in range(weight)]
    constructs = [name for name in allowed if name in CONSTRUCTS]
    return picked + ([choose.one(constructs) for _ in range(3)] if loops else [])


def start(choose: Choose, lengths: Sequence[int], late: bool = False, zeros: bool = False) -> Scope:
    """Dims, and inputs on two dims, on one, on the other, a scalar: away from zero or not."""
    choose.count = -1
    dims = {name: DimOf(n) for name, n in zip("ab", lengths, strict=False)}
    if late:
        dims["a"] = DimOf(dims["a"].length, late=True)
    scope = Scope(choose, dims, {})
    rng = np.random.default_rng(choose.integer(0, 10**6))
    own = list(dims)
    for names in (own, own[:1], own[-1:], ()):
        shape = tuple(dims[d].length for d in names)
        size = rng.uniform(0.2, 1.4, shape) * rng.choice([-1.0, 1.0, 1.0], shape)
        if zeros and size.size > 1:
            size.flat[rng.integers(0, size.size)] = rng.choice([0.0, -0.0])
        number = scope.fresh()
        scope.env[number] = Named(tuple(names), np.asarray(size.round(3)))
    return scope


def finish(scope: Scope, note: str = "") -> Program:
    """The program, with what is read by nobody as outputs."""
    inputs = tuple(Input(at, scope.env[at]) for at in range(4))
    inputs += tuple(Input(at, scope.env[at], "int64") for at in scope.integers)
    read = {at for step in scope.steps for at in _read(step)}
    sinks = tuple(at for step in scope.steps for at in step.results if at not in read)
    return Program(dict(scope.dims), inputs, tuple(scope.steps), sinks, note)


def _read(step: Step) -> set[int]:
    found = set(step.operands)
    for region in step.regions:
        found |= set(region.outputs)
        for inner in region.steps:
            found |= _read(inner)
    return found


def random_program(choose: Choose, steps: int | None = None) -> Program:
    """A program of up to 15 operations; see :data:`tests.differential.program.OPS`."""
    lengths = [choose.one(LENGTHS), choose.one(LENGTHS[:4])]
    if lengths[0] == 40:
        lengths[1] = min(lengths[1], 2)
    scope = start(choose, lengths, late=choose.flag(4), zeros=choose.flag(4))
    if choose.flag(4):
        scope.add_integers()
    scope.plain = choose.flag(4)
    count = choose.integer(2, 9) if steps is None else steps
    for _ in range(count):
        scope.grow_some(names_of_any_kind(choose, plain=scope.plain), 1)
    return finish(scope)


def nested_program(choose: Choose, number: int) -> Program:
    """A construct within another one, every ordered pair in turn."""
    names = tuple(CONSTRUCTS)
    outer, inner = names[number // len(names) % len(names)], names[number % len(names)]
    return pair_program(choose, outer, inner)


def pair_program(choose: Choose, outer: str, inner: str, small: bool = False) -> Program:
    """A construct whose body has another one, with steps before and between unless it is small."""
    while True:
        lengths = [3, 2] if small else [choose.one((3, 2, 9, 3)), choose.one((2, 3))]
        scope = start(choose, lengths, late=not small and choose.flag(4))
        scope.small = small
        if not small:
            scope.grow_some(names_of_any_kind(choose, loops=False), choose.integer(0, 2))
        before = len(scope.steps)
        scope.wanted = (inner,)
        if scope.grow(outer) and (scope.nested or not scope.steps[before].regions):
            return finish(scope, f"{inner} in {outer}")


def op_program(name: str) -> Program:
    """One operation on inputs of several dims."""
    for seed in range(200):
        scope = start(Seeded(seed), (3, 2))
        if scope.grow(name) and np.size(scope.env[scope.own[-1]].data):
            return finish(scope, name)
    raise AssertionError(f"{name} is never drawn")
