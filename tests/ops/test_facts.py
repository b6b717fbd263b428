"""Every scalar operation that the op table lowers to has a row of facts, and the facts are true."""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytensor.scalar as ps
import pytensor.scalar.math as psm
import pytensor.tensor as pt
import pytest
import scipy.special
from pytensor.graph.traversal import io_toposort
from pytensor.scalar.basic import ScalarInnerGraphOp
from pytensor.tensor.elemwise import Elemwise

import dimtensor
from dimtensor.graph.optable import TABLE
from dimtensor.kernels.native.functions.fortran import ROUTINES
from dimtensor.kernels.native.functions.generators import FUNCTIONS
from dimtensor.lower.basic import positional_function
from dimtensor.ops.facts import FACTS, facts_named, facts_of
from dimtensor.ops.special import Vanishing
from tests.architecture.imports import modules_of

PACKAGE = Path(dimtensor.__file__).parent


def scalar_ops(row):
    """Classes of the scalar operations in what a row lowers to, for each dtype that it takes."""
    found = set()
    for dtype in ("float64", "int64", "bool", "complex128"):
        operands = [pt.vector(dtype=dtype) for _ in range(row.arity)]
        try:
            result = positional_function(row.name)(*operands)
        except (TypeError, NotImplementedError, OverflowError):
            continue
        for node in io_toposort(operands, [result]):
            if isinstance(node.op, Elemwise):
                found.add(type(node.op.scalar_op))
    return found


@pytest.mark.parametrize("name", [n for n, row in TABLE.items() if row.kind != "reduction"])
def test_every_operation_has_facts(name):
    missing = {
        kind.__name__
        for kind in scalar_ops(TABLE[name])
        if kind not in FACTS and not issubclass(kind, ScalarInnerGraphOp)
    }
    assert not missing, f"dimtensor.ops.facts has no row for {missing}, of {name}"


def test_names_are_unique():
    """Kernels call functions by them, beside routines of LAPACK and of random numbers."""
    names = [facts.name for facts in FACTS.values()]
    assert all(names)
    assert len({*names, *ROUTINES, *FUNCTIONS}) == len(names) + len(ROUTINES) + len(FUNCTIONS)
    assert facts_named("gammaln") is FACTS[type(instance(psm.GammaLn))]


FINITE = [k for k, f in FACTS.items() if f.is_finite and k is not Vanishing]


@pytest.mark.parametrize("kind", FINITE, ids=lambda k: k.__name__)
def test_finite_functions_have_no_poles(kind):
    numbers = [-300.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 300.0]
    op = ps.Cast(ps.float64) if kind is ps.Cast else instance(kind)
    count = {ps.Clip: 3, ps.Switch: 3}.get(kind, op.nin if op.nin > 0 else 2)
    for operands in itertools.product(numbers, repeat=count):
        assert np.isfinite(op.impl(*operands)), operands


def two_floats():
    rng = np.random.default_rng(1)
    return rng.normal(size=20), rng.normal(size=20)


SAMPLES = {"bool": (np.array([True, True, False]), np.array([True, False, False]))}


def instance(kind):
    """An operation of a class, from what PyTensor names in lower case."""
    import pytensor.scalar as ps

    found = [v for v in vars(ps).values() if type(v) is kind]
    return found[0]


@pytest.mark.parametrize("kind", [k for k, f in FACTS.items() if f.sign], ids=lambda k: k.__name__)
def test_signs_are_those_of_numpy(kind):
    """A sign, put between two operands in Python, gives what the operation gives."""
    facts = FACTS[kind]
    x, y = SAMPLES["bool"] if facts.kind == "logic" else two_floats()
    op = instance(kind)
    found = np.array([op.impl(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)])
    wanted = eval(f"x {facts.sign} y", {"x": x, "y": y})
    if facts.kind == "extreme":
        wanted = np.where(wanted, x, y)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", FACTS, ids=lambda k: k.__name__)
def test_what_commutes_does(kind):
    facts = FACTS[kind]
    if not facts.sign:
        assert not facts.commutes
        return
    x, y = (
        SAMPLES["bool"] if facts.kind == "logic" else (np.array([0.0, 2.0]), np.array([-0.0, 3.0]))
    )
    op = instance(kind)
    with np.errstate(all="ignore"):
        one = [op.impl(a, b) for a, b in zip(x, y, strict=True)]
        other = [op.impl(b, a) for a, b in zip(x, y, strict=True)]
    same = all(
        a == b and np.signbit(a) == np.signbit(b)
        for a, b in zip(map(float, one), map(float, other), strict=True)
    )
    assert same or not facts.commutes


@pytest.mark.parametrize(
    "kind", [k for k, f in FACTS.items() if f.function], ids=lambda k: k.__name__
)
def test_functions_are_those_of_c(kind):
    import ctypes

    function = getattr(ctypes.CDLL(None), FACTS[kind].function)
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    at = 1.25 if FACTS[kind].function == "acosh" else 0.375
    np.testing.assert_allclose(instance(kind).impl(at), function(at), rtol=1e-14)


@pytest.mark.parametrize("kind", [k for k, f in FACTS.items() if f.scipy], ids=lambda k: k.__name__)
def test_functions_are_those_of_scipy(kind):
    from dimtensor.ops import special

    name, count = FACTS[kind].scipy
    function = getattr(scipy.special, name)
    arguments = [0.3, 0.45, 0.6, 0.2][:count]
    op = kind() if kind.__module__ == special.__name__ else instance(kind)
    found = op.impl(*arguments)
    wanted = function(*arguments) if name != "ndtri_exp" else scipy.special.ndtri_exp(0.3)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_costs_are_in_order():
    import pytensor.scalar as ps

    assert facts_of(ps.add).is_quick
    assert facts_of(ps.true_div).is_cheap
    assert not facts_of(ps.true_div).is_quick
    assert not facts_of(ps.exp).is_cheap
    assert facts_of(ps.exp).vectorizes
    assert not facts_of(ps.erf).vectorizes


def compared_by_name(text):
    """Lines that ask a class for its name to find out what it is."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Attribute)
        and node.left.attr == "__name__"
        and isinstance(node.left.value, ast.Call)
        and ast.unparse(node.left.value.func) == "type"
    ]


def test_operations_are_told_apart_by_class():
    folders = ("ops", "optimize", "lower", "kernels", "backends", "interop")
    found = {
        name: lines
        for name, path in modules_of(PACKAGE).items()
        if name.split(".")[1:2]
        and name.split(".")[1] in folders
        and (lines := compared_by_name(path.read_text()))
    }
    assert not found, f"an upgrade that renames a class would go unnoticed: {found}"


def test_names_of_classes_are_found():
    assert compared_by_name("if type(op).__name__ in ('Add', 'Mul'): pass") == [1]
    assert not compared_by_name("if type(op) in (Add, Mul): pass")


# -- dtypes, exactness, steps ----------------------------------------------------------------------

SPECIAL = [
    kind
    for kind in FACTS
    if issubclass(kind, (ps.Cast, ps.Complex, ps.Real, ps.Imag, ps.Conj, Vanishing))
]  # of which an instance needs a dtype, or is no function of reals
ORDINARY = [kind for kind in FACTS if kind not in SPECIAL]


def made(kind):
    """An instance of a class, from PyTensor's modules or ours."""
    from dimtensor.ops import special

    found = [v for module in (ps, psm, special) for v in vars(module).values()]
    found += [v.scalar_op for v in found if isinstance(v, Elemwise)]
    return next(v for v in found if type(v) is kind)


def arity(kind):
    if FACTS[kind].scipy:
        return FACTS[kind].scipy[1]
    op = made(kind)
    return {ps.Clip: 3, ps.Switch: 3}.get(kind, op.nin if op.nin > 0 else 2)


@pytest.mark.parametrize("kind", ORDINARY, ids=lambda k: k.__name__)
def test_dtypes_of_results_are_those_of_pytensor(kind):
    if FACTS[kind].is_step and arity(kind) == 1:
        return  # an operation has the dtype that it was made with
    dtype = "bool" if FACTS[kind].kind == "logic" else "int64"
    operands = [ps.get_scalar_type(dtype)() for _ in range(arity(kind))]
    found = made(kind).make_node(*operands).outputs[0].type.dtype
    gives = FACTS[kind].gives
    assert {"bool": found == "bool", "float": "float" in found, "operands": found == dtype}[gives]


@pytest.mark.parametrize("kind", ORDINARY, ids=lambda k: k.__name__)
def test_steps_are_constant_between_jumps(kind):
    """All others move, at one of some places, where an operand does."""
    if FACTS[kind].kind in ("comparison", "logic", "choice") or FACTS[kind].gives == "bool":
        assert not FACTS[kind].is_step
        return
    count, moved = arity(kind), False
    places = (0.3, 1.3, -0.7) if count == 1 else (0.3, 1.0, 1.3, -0.7)
    for first, at in itertools.product(places, range(count)):
        place = [first, 0.4, 0.7, 0.2][:count]
        near = [x + 1e-4 * (k == at) for k, x in enumerate(place)]
        with np.errstate(all="ignore"), contextlib.suppress(ValueError):  # outside of the domain
            one, other = (made(kind).impl(*map(np.float64, x)) for x in (place, near))
            moved |= bool(one != other and np.isfinite([one, other]).all())
    assert moved != FACTS[kind].is_step


def rounded_root(x):
    """The correctly rounded root, from exact arithmetic."""
    root = np.sqrt(x)
    low, high = ((Fraction(root) + Fraction(np.nextafter(root, end))) / 2 for end in (0.0, np.inf))
    assert low**2 <= Fraction(x) <= high**2
    return root


EXACT = {
    "add": lambda x, y: float(Fraction(x) + Fraction(y)),
    "multiply": lambda x, y: float(Fraction(x) * Fraction(y)),
    "subtract": lambda x, y: float(Fraction(x) - Fraction(y)),
    "divide": lambda x, y: float(Fraction(x) / Fraction(y)),
    "reciprocal": lambda x: float(1 / Fraction(x)),
    "square": lambda x: float(Fraction(x) ** 2),
    "sqrt": lambda x: rounded_root(abs(x)),
    "negative": lambda x: float(-Fraction(x)),
    "absolute": lambda x: float(abs(Fraction(x))),
    "maximum": max,
    "minimum": min,
    "floor": lambda x: float(math.floor(Fraction(x))),
    "ceil": lambda x: float(math.ceil(Fraction(x))),
    "trunc": lambda x: float(math.trunc(Fraction(x))),
    "rint": lambda x: float(round(Fraction(x))),
    "round": lambda x: math.copysign(math.floor(abs(Fraction(x)) + Fraction(1, 2)), x),
    "sign": lambda x: math.copysign(1.0, x),
    "clip": lambda x, low, high: min(max(x, low), high),
    "identity": lambda x: x,
    "second": lambda x, y: y,
    "where": lambda c, x, y: x if c else y,
}
BITS = {"comparison", "logic"}  # exact as their results are no floats


@pytest.mark.parametrize(
    "kind",
    [
        k
        for k in ORDINARY
        if FACTS[k].exact and FACTS[k].kind not in BITS and FACTS[k].gives != "bool"
    ],
    ids=lambda k: k.__name__,
)
def test_exact_results_are_correctly_rounded(kind):
    rng = np.random.default_rng(2)
    for _ in range(200):
        operands = (rng.normal(size=arity(kind)) * 10.0 ** rng.integers(-3, 4)).tolist()
        if FACTS[kind].name == "sqrt":
            operands = [abs(operands[0])]
        if FACTS[kind].name == "clip":
            operands[1:] = sorted(operands[1:])
        assert float(made(kind).impl(*map(np.float64, operands))) == EXACT[FACTS[kind].name](
            *operands
        )


@pytest.mark.parametrize(
    "name", [f.name for f in FACTS.values() if f.function], ids=lambda name: name
)
def test_intrinsics_are_those_of_llvm(name):
    """LLVM gives the declarations of intrinsics attributes. Later versions have more of them."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(f"declare double @llvm.{name}.f64(double)")
    assert "memory(none)" in str(module) or not facts_named(name).intrinsic
