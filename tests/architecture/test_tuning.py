"""Numeric limits of the engine stand in `dimtensor/tuning`, each with its reason."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import dimtensor as dt
from dimtensor import tuning
from tests.architecture.sources import nodes, tree

PACKAGE = Path(dt.__file__).parent
LAYERS = ("graph", "cost", "ops", "optimize", "lower", "kernels", "backends", "compile")
# Numbers that follow from a format, a library, a processor or a formula.
CONSTANTS = {
    "backends/jax/call.py": {"_ALIGNED"},
    "backends/store.py": {"_CHECKSUM"},
    "compile/memory.py": {"_ADDRESSES"},
    "cost/memory.py": {"_ADDRESSED"},
    "graph/printing/formula.py": {"_ANY", "_UNARY", "_ATOM"},
    "kernels/ir/make.py": {"_MANY"},
    "kernels/ir/python.py": {"_SELECT", "_NOT", "_COMPARE", "_UNARY", "_ATOM"},
    "kernels/native/arrays.py": {"_LINE", "_BEYOND_MEMORY"},
    "kernels/native/builder.py": {"_FIRST_DOMAIN", "_FIRST_LOOP", "_FIRST_PROPERTY"},
    "kernels/native/flat.py": {"CONDITION", "_HEAD"},
    "kernels/native/functions/bessel.py": {"_END"},
    "kernels/native/functions/elementary.py": {"LOG2E", "ROUND"},
    "kernels/native/functions/gamma.py": {"_FROM"},
    "kernels/native/functions/generators.py": {"WORDS", "_STATE", "_BINOMIAL", "_MULTIPLIER"},
    "kernels/native/functions/normal.py": {"_NEAR", "_MIDDLE"},
    "kernels/native/functions/powers.py": {"_SMALLEST"},
    "kernels/native/functions/special.py": {"_FROM"},
    "kernels/native/functions/waves.py": {"_FAR"},
    "kernels/native/functions/workspace.py": {"_HEAD"},
    "kernels/native/linking/symbols.py": {"_LARGEST_KEPT"},
    "kernels/native/linking/objects.py": {
        "_ADDRESS", "_SYMBOLS", "_RELOCATIONS", "_EMPTY", "_ALLOCATED", "_EXECUTABLE",
        "_PER_THREAD", "_UNDEFINED", "_ABSOLUTE", "_FIRST_SPECIAL",
    },
    "kernels/native/parts.py": {"_CELL"},
    "kernels/native/teams/team_code.py": {
        "_DONE", "_SLEEPERS", "_STOPPED", "_WAITS", "_COUNT", "_CALLS", "_FAILED", "_MUTEX",
        "_PATIENCE", "_BEGUN", "_ENDED", "SIZE",
    },
    "kernels/native/values.py": {"OUT_OF_MEMORY", "INTERRUPTED", "FIRST_ERROR"},
    "kernels/native/wrapper.py": {
        "ARRAY_DATA", "ARRAY_NDIM", "ARRAY_SHAPE", "ARRAY_DESCR", "ARRAY_FLAGS",
        "DESCR_BYTE_ORDER", "DESCR_NUMBER", "_SIZE", "TUPLE_ITEMS", "CONTIGUOUS_ALIGNED",
        "_OWN_DATA", "_NEW_FLAGS", "_METH_FASTCALL", "_PYARRAY_TYPE", "_PYARRAY_NEW", "_ANY",
    },
    "kernels/passes/logarithm_products.py": {"_LEAST", "_MOST"},
    "ops/derivatives/matrix_functions.py": {"_TERMS"},
    "ops/derivatives/scalars/partials.py": {"_LARGE"},
    "optimize/loops/sum_order.py": {"_FIXED", "_OF_ELEMENTS"},
    "ops/random/rows.py": {"FINITE", "_MOST"},
    "ops/random/words.py": {"N_WORDS", "_LOW"},
    "optimize/rules/constants.py": {"_TAIL"},
}  # fmt: skip
# Comparisons with a number that follows from a format, a library or a formula.
COMPARISONS = {
    "backends/jax/random.py": {"kappa > 1000000.0", "a >= 1025"},
    "cost/quantities.py": {"abs(scaled) < 999.5"},
    "kernels/native/functions/table.py": {"out.bits == 64"},
    "kernels/native/values.py": {"self.bits == 64"},
    "kernels/native/wrapper.py": {"object.__basicsize__ != 16"},
    "kernels/rules/decompositions.py": {"n <= 48"},  # a template, whose text is compiled
    "kernels/rules/seeding.py": {"total < 1000000000"},
    "ops/interpret.py": {"len(node.inputs) + len(node.outputs) > 32"},
    "ops/random/conditions.py": {"total < 10 ** 9"},
}


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Tuple(elts=elements):
            return bool(elements) and all(map(_is_number, elements))
    return False


def _named_numbers(text: str) -> Iterator[str]:
    """Yield the names that a module, or a class of it, gives to numbers and to pairs of them."""
    scopes: list[ast.Module | ast.ClassDef] = [tree(text), *nodes(text, ast.ClassDef)]
    for statement in (each for scope in scopes for each in scope.body):
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = [node.id for each in targets for node in ast.walk(each)
                     if isinstance(node, ast.Name)]  # fmt: skip
            if _is_number(statement.value) and names and names[0].isupper():
                # a long tuple has coefficients
                value = statement.value
                if not isinstance(value, ast.Tuple) or len(names) == len(value.elts):
                    yield from names


def _compared_numbers(text: str) -> Iterator[str]:
    for node in nodes(text, ast.Compare):
        for side in (node.left, *node.comparators):
            numbers = [part.value for part in ast.walk(side) if isinstance(part, ast.Constant)]
            if _is_number(side) and any(number > 8 for number in numbers):
                yield ast.unparse(node)


def _modules() -> Iterator[tuple[str, str]]:
    for path in sorted(path for layer in LAYERS for path in (PACKAGE / layer).rglob("*.py")):
        yield str(path.relative_to(PACKAGE)), path.read_text()


def test_limits_stand_in_one_module() -> None:
    """A new limit goes into `dimtensor/tuning`; what is no limit goes into the list above."""
    for name, text in _modules():
        assert set(_named_numbers(text)) == CONSTANTS.get(name, set()), name
        assert set(_compared_numbers(text)) == COMPARISONS.get(name, set()), name


def test_each_limit_has_a_reason_and_a_reader() -> None:
    text = Path(tuning.__file__).read_text()
    names = [name for name in vars(tuning) if name.isupper()]
    assert len(names) > 100
    read = {
        node.id
        for path in PACKAGE.rglob("*.py")
        for node in nodes(path.read_text(), ast.Name)
        if node.id.isupper() and path != Path(tuning.__file__)
    }
    assert set(names) <= read, "nobody reads these"
    explained = False
    for line in text.split("from __future__ import annotations")[1].splitlines():
        if re.match("[A-Z]", line):
            assert explained, f"no reason: {line}"
        elif line.startswith("#") and not line.startswith("# ---"):
            explained = True
        else:
            explained = False
