"""Evaluation of the terms of a formula, without design matrices of groups."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class EvaluatedFormula(NamedTuple):
    """Terms of a formula with the values of their columns.

    Attributes
    ----------
    response : Any
        The response's values and kind, as formulae has them.
    common : dict
        Common terms by name.
    group : dict
        Group-specific terms by name: expressions with values, and grouping factors without.
    """

    response: Any
    common: dict[str, Any]
    group: dict[str, Any]


def evaluated(terms: Any, table: pd.DataFrame, environment: Any) -> EvaluatedFormula:
    """Evaluate the terms of a formula, and replace its group-specific terms in place.

    A grouping factor is data that look up effects: its indicator matrix, which formulae makes
    dense, has as many columns as there are groups.
    """
    from formulae.matrices import ResponseMatrix

    terms.group_terms = [_looked_up()(term.expr, term.factor) for term in terms.group_terms]
    terms.eval(table, environment)
    response = ResponseMatrix(terms.response)
    response.evaluate(table, environment)
    common, group = terms.common_terms, terms.group_terms
    return EvaluatedFormula(response, {t.name: t for t in common}, {t.name: t for t in group})


@cache
def _looked_up() -> type:
    """Return the class of group-specific terms whose grouping factor is not evaluated."""
    from formulae.terms.terms import GroupSpecificTerm

    class LookedUpTerm(GroupSpecificTerm):
        def set_data(self, spans_intercept: bool) -> None:
            self.expr.set_data(spans_intercept)
            self.kind = self.expr.kind

    return LookedUpTerm
