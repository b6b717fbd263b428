"""Parsing of formulas by formulae, refusing those of which it would drop a part."""

from __future__ import annotations

import copy
import operator
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from dimtensor.errors import OptionError
from dimtensor.extras import require
from dimtensor.interop.formulas.arguments import Arguments
from dimtensor.interop.formulas.expansion import Expansion
from dimtensor.interop.formulas.syntax import parse, spine, text_of, unreadable
from dimtensor.interop.formulas.tables import Columns

_LEVELS = re.compile(r"C\(\s*([^\W\d]\w*)\s*\)")
_OPERATORS = {
    "PLUS": operator.add,
    "MINUS": operator.sub,
    "STAR_STAR": operator.pow,
    "COLON": operator.matmul,
    "STAR": operator.mul,
    "SLASH": operator.truediv,
    "PIPE": operator.or_,
}


class FormulaDescription(NamedTuple):
    """Terms of a parsed formula.

    Attributes
    ----------
    terms : formulae.terms.Model
    correlated : dict of str to (int, str)
        Group-specific terms with correlated effects: the number and the text of their bar.
    """

    terms: Any
    correlated: dict[str, tuple[int, str]]


def parse_formula(
    formula: str, table: Columns, namespace: Mapping[str, Any], attributes: bool
) -> FormulaDescription:
    """Parse a formula, without evaluating it.

    Parts are copied for each term. formulae would encode a shared part as the last term needs it,
    though ``a`` in ``a / b`` lacks the reference level and ``a:b`` has all levels.

    Parameters
    ----------
    formula : str
    table : Columns
    namespace : mapping
        User's names, in addition to columns and the functions of formulas.
    attributes : bool
        Whether attributes of these may be called.

    Raises
    ------
    OptionError
        If it cannot be parsed, formulae would drop a part of it, it calls a function that is not
        allowed, or has too many terms.
    """
    require("formulae", "formula", "dt.from_formula")
    from formulae.terms.terms import Model

    tree = parse(formula)
    expansion = Expansion(formula, Arguments(formula, table, namespace, attributes))
    expansion.check(tree)
    resolve = _resolver()
    try:
        terms = resolve(tree)
        blocks = [resolve(bar) for bar in expansion.bars]
    except Exception as error:  # operators that formulae's terms lack, among others
        raise unreadable(formula, str(error)) from error
    terms = terms if isinstance(terms, Model) else Model(terms)
    for term in terms.terms:
        own = getattr(term, "expr", term)
        if hasattr(own, "components"):
            own.components = [copy.deepcopy(part) for part in own.components]
    _check_names(formula, terms)
    correlated: dict[str, tuple[int, str]] = {}
    seen: set[str] = set()
    for number, (bar, block) in enumerate(zip(expansion.bars, blocks, strict=True)):
        for term in block.group_terms if isinstance(block, Model) else [block]:
            if term.name in seen:
                raise OptionError(
                    f"the effects {term.name} are in the formula {formula!r} twice",
                    [("again in", f"({text_of(bar)})")],
                    "(x | g) includes an intercept; (0 + x | g) has a slope alone",
                )
            seen.add(term.name)
            if bar.operator.lexeme == "|":
                correlated[term.name] = number, f"({text_of(bar)})"
    return FormulaDescription(terms, correlated)


def column_of(name: str) -> str:
    """Return the column of a grouping factor: ``k`` for ``C(k)``."""
    found = _LEVELS.fullmatch(name)
    return name if found is None else found[1]


def _check_names(formula: str, terms: Any) -> None:
    """Check that different terms have different names, which identify them."""
    names: set[str] = set()
    for term in terms.common_terms:
        if term.name in names:
            reason = f"two terms have the name {term.name!r}, and are not the same"
            raise unreadable(formula, reason, "rename a column of the table")
        names.add(term.name)


@cache
def _resolver() -> Any:
    """Return a resolver of syntax trees to terms that keeps parentheses in their names."""
    from formulae.resolver import Resolver
    from formulae.terms import Call, Response, Term
    from formulae.terms.call_resolver import CallResolver, LazyOperator

    class Parenthesized(LazyOperator):
        def __str__(self) -> str:
            return f"({super().__str__()})"

    class Calls(CallResolver):
        def visitGroupingExpr(self, node: Any) -> Any:
            found = super().visitGroupingExpr(node)
            if type(found) is LazyOperator:
                return Parenthesized(found.op, *found.args)
            return found

    class Terms(Resolver):
        def visitBinaryExpr(self, node: Any) -> Any:
            first, operators = spine(node)
            found = first.accept(self)
            for each in operators:
                right = each.right.accept(self)
                if each.operator.kind == "TILDE":
                    found = Response(found) + right
                else:
                    found = _OPERATORS[each.operator.kind](found, right)
            return found

        def visitCallExpr(self, node: Any) -> Any:
            return Term(Call(Calls(node).resolve()))

    return lambda tree: Terms(tree).resolve()
