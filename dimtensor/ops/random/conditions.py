"""Conditions on the parameters of distributions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dimtensor.caches import bounded
from dimtensor.ops.random.rows import DrawRow


def valid_parameters(row: DrawRow, parameters: Sequence[Any], lib: Any) -> Any:
    """Return whether the parameters of a draw are valid, elementwise.

    Parameters
    ----------
    row : DrawRow
    parameters : sequence of array
        All of one shape, apart from axes of vectors.
    lib : module
        NumPy, or JAX's.
    """
    given = dict(zip(row.parameters, parameters, strict=True))
    valid: Any = True
    for condition in row.valid:
        valid = valid & evaluate(condition, given, lib)
    if row.name == "multinomial":
        p = given["pvals"]
        valid = valid & lib.all((p >= 0) & (p <= 1), axis=-1) & (p[..., :-1].sum(-1) <= 1 + 1e-12)
    if row.name == "multivariate_hypergeometric":
        colors = given["colors"]
        total = colors.sum(-1)
        valid = valid & lib.all(colors >= 0, axis=-1) & (total < 10**9)
        valid = valid & (given["nsample"] <= total)
    return valid


def evaluate(condition: str, parameters: Mapping[str, Any], lib: Any) -> Any:
    """Evaluate a condition of a row.

    Parameters
    ----------
    condition : str
        A comparison of sums, products, `abs` and `np.sqrt` of parameters, which are in braces.
    parameters : dict of str to array, tensor or number
    lib : module
        It has `abs` and `sqrt` of parameters.
    """

    def value(x: ast.expr) -> Any:
        match x:
            case ast.Constant(number):
                return number
            case ast.Name(name):
                return parameters[name]
            case ast.BinOp(left, operation, right) | ast.Compare(left, [operation], [right]):
                return _OPERATIONS[type(operation)](value(left), value(right))
            case ast.Call(ast.Name("abs"), [operand]):
                return lib.abs(value(operand))
            case ast.Call(ast.Attribute(ast.Name("np"), "sqrt"), [operand]):
                return lib.sqrt(value(operand))
        raise AssertionError(f"a condition has no {ast.unparse(x)}")

    return value(_parsed(condition))


_OPERATIONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Lt: operator.lt, ast.LtE: operator.le,
}  # fmt: skip


@bounded(256)
def _parsed(condition: str) -> ast.expr:
    return ast.parse(condition.replace("{", "").replace("}", ""), mode="eval").body
