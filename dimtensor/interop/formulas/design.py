"""Evaluation of the terms of a formula, without indicator matrices of labels."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dimtensor.interop.formulas.tables import numbers_of

if TYPE_CHECKING:
    import pandas as pd


class DesignMatrix(NamedTuple):
    """Design matrix of a term with a fixed number of values per row; its other elements are 0.

    Attributes
    ----------
    values : ndarray
        Rows first.
    at : ndarray of int, or None
        The column of each value; None for a dense matrix.
    width : int
        Number of columns.
    """

    values: np.ndarray
    at: np.ndarray | None
    width: int

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of each column, with other `values`."""
        if self.at is None:
            return values.sum(axis=0)
        return np.bincount(self.at.ravel(), values.ravel(), self.width)

    def means(self) -> np.ndarray:
        return self.sums(self.values) / len(self.values)

    def spreads(self) -> np.ndarray:
        """Return the standard deviations of columns, and 1 for (nearly) constant ones."""
        if self.at is None:
            spread, size = self.values.std(axis=0), np.abs(self.values).max(axis=0)
        else:
            means = self.means()
            zeros = len(self.values) - self.sums(np.ones_like(self.values))
            squares = self.sums((self.values - means[self.at]) ** 2) + zeros * means**2
            spread, size = np.sqrt(squares / len(self.values)), np.zeros(self.width)
            np.maximum.at(size, self.at, np.abs(self.values))
        return np.where(spread > 1e-12 * size, spread, 1.0)


class Coding:
    """Coding of a categorical predictor: the column of each level, or the values of contrasts.

    Attributes
    ----------
    levels : list
    labels : list of str
        Labels of the columns.
    column : ndarray of int
        The column of each level, -1 for the reference level; for treatment contrasts.
    contrasts : ndarray or None
        Values of the columns for each level, for other contrasts.
    """

    def __init__(self, values: Any, full: bool):
        from formulae.categorical import Treatment

        contrast = getattr(values, "contrast", None) or Treatment()
        own, column = getattr(values, "levels", None), _unboxed(values)
        if own is None:
            ordered = hasattr(column, "cat") and column.cat.ordered
            own = column.cat.categories if ordered else sorted(set(column.tolist()))
        self.levels = list(own)
        self.column, self.contrasts = np.arange(len(self.levels)), None
        if not isinstance(contrast, Treatment):
            code = contrast.code_with_intercept if full else contrast.code_without_intercept
            matrix = code(self.levels)
            self.labels, self.contrasts = list(matrix.labels), matrix.matrix
            return
        kept = self.levels
        if not full:
            reference = contrast.reference
            at = 0 if reference is None else self.levels.index(reference)
            self.column = np.where(self.column == at, -1, self.column - (self.column > at))
            kept = self.levels[:at] + self.levels[at + 1 :]
        self.labels = list(map(str, kept))

    def codes(self, values: Any, name: str) -> np.ndarray:
        """Return the position of each value among the levels.

        Raises
        ------
        ValueError
            If there are other values.
        """
        import pandas as pd

        column = np.asarray(_unboxed(values))
        codes = pd.Index(self.levels).get_indexer(column)
        if (codes < 0).any():
            more = sorted(set(column.tolist()).difference(self.levels), key=str)
            text = f"The levels ({', '.join(map(str, more))}) in {name!r} are not in the table "
            raise ValueError(text + "of the model")
        return codes


def _values(component: Any, table: pd.DataFrame) -> Any:
    """Return the labels of a component of a term."""
    if hasattr(component, "call"):
        return component.call.eval(table, component.env)
    return table[component.name]


def _unboxed(values: Any) -> pd.Series:
    """Return a column without the contrasts that ``C(...)`` adds."""
    import pandas as pd
    from formulae.categorical import CategoricalBox

    return pd.Series(values.data if isinstance(values, CategoricalBox) else values)


class EvaluatedTerm:
    """A common term, or the expression of a group-specific one, with its design matrix.

    Labels are looked up: their indicator matrix, which formulae makes dense, has as many columns as
    there are levels.

    Attributes
    ----------
    name, kind : str
        As formulae has them; the kind is "numeric", "categoric", "interaction" or "offset".
    var_names : set of str
    components : list
        formulae's components, which interact.
    columns : DesignMatrix
    labels : list or None
        Labels of the columns; None for a single column without one.
    """

    def __init__(self, term: Any, full: Any, table: pd.DataFrame):
        self.name, self.kind, self.components = term.name, term.kind, term.components
        self.var_names = term.var_names
        self._codings: dict[int, Coding] = {}
        labels = []
        for at, component in enumerate(self.components):
            if component.kind == "categoric":
                spans = full.get(component.name, False) if isinstance(full, dict) else full
                coding = Coding(_values(component, table), spans)
                self._codings[at] = coding
                labels.append(coding.labels)
            else:
                component.set_data(False)
                many = component.value.shape[1] if component.value.ndim == 2 else 1
                labels.append(list(map(str, range(many))) if many > 1 else [])
        self.columns = self._evaluated(table, False)
        several = [each for at, each in enumerate(labels) if each or at in self._codings]
        self.labels: list[Any] | None = None
        if self._codings or (len(self.components) > 1 and several):
            self.labels = [", ".join(each) for each in product(*several)]
        elif several:
            self.labels = list(range(self.columns.width))

    @property
    def labeled(self) -> bool:
        """True if all components are labels."""
        return len(self._codings) == len(self.components)

    @property
    def _looked_up(self) -> list[Coding]:
        return [coding for coding in self._codings.values() if coding.contrasts is None]

    @property
    def weighted(self) -> bool:
        """True if values of the design matrix may differ from 1."""
        indicators = self._looked_up
        plain = len(indicators) == len(self.components)
        return not plain or any((each.column < 0).any() for each in indicators)

    def of_new(self, table: pd.DataFrame) -> DesignMatrix:
        """Return the design matrix of new rows.

        Raises
        ------
        InputError
            If it cannot be computed, or is not finite.
        """
        return self._evaluated(table, True)

    def _evaluated(self, table: pd.DataFrame, new: bool) -> DesignMatrix:
        blocks: list[tuple[np.ndarray, np.ndarray, int]] = []

        def values() -> np.ndarray:
            blocks.extend(self._block(at, table, new) for at in range(len(self.components)))
            found = blocks[0][0]
            for one, _, _ in blocks[1:]:
                found = (found[:, :, None] * one[:, None, :]).reshape(len(found), -1)
            return found

        numbers = numbers_of(self.name, values)
        count = prod(columns for _, _, columns in blocks)
        if not count or not self._looked_up:
            return DesignMatrix(numbers[:, :count], None, count)
        places = np.zeros((1, 1), np.int64)
        for _, at, columns in blocks:
            places = (places[:, :, None] * columns + at[:, None, :]).reshape(
                max(len(places), len(at)), -1
            )
        return DesignMatrix(numbers, places, count)

    def _block(self, at: int, table: pd.DataFrame, new: bool) -> tuple[np.ndarray, np.ndarray, int]:
        """Return values of a component, their columns, and the number of columns."""
        component, coding = self.components[at], self._codings.get(at)
        if coding is None:
            found = component.eval_new_data(table) if new else component.value
            values = np.asarray(found, dtype=float)
            values = values[:, None] if values.ndim == 1 else values
            return values, np.arange(values.shape[1])[None], values.shape[1]
        codes = coding.codes(_values(component, table), component.name)
        if coding.contrasts is not None:
            count = len(coding.labels)
            return coding.contrasts[codes].astype(float), np.arange(count)[None], count
        column = coding.column[codes][:, None]
        return (column >= 0).astype(float), np.maximum(column, 0), len(coding.labels)


class GroupTerm(NamedTuple):
    """A group-specific term.

    Attributes
    ----------
    expr : EvaluatedTerm or None
        None for an intercept.
    factor : Any
        formulae's term of the groups, which is not evaluated.
    """

    expr: EvaluatedTerm | None
    factor: Any


class EvaluatedFormula(NamedTuple):
    """Terms of a formula with their design matrices.

    Attributes
    ----------
    response : Any
        The response's values and kind, as formulae has them.
    intercept : bool
    common : dict of str to EvaluatedTerm
    group : dict of str to GroupTerm
    """

    response: Any
    intercept: bool
    common: dict[str, EvaluatedTerm]
    group: dict[str, GroupTerm]

    def terms(self) -> dict[str, EvaluatedTerm]:
        """Return the terms with design matrices by name."""
        within = {name: term.expr for name, term in self.group.items() if term.expr is not None}
        return self.common | within


def evaluated(terms: Any, table: pd.DataFrame, environment: Any) -> EvaluatedFormula:
    """Evaluate the terms of a formula.

    This is ``Model.eval`` of formulae with other design matrices.
    """
    from formulae.matrices import ResponseMatrix

    from dimtensor.upstream.formulae import codings

    terms.set_types(table, environment)
    terms.add_extra_terms(codings(terms), table, environment)
    coded = codings(terms)
    common = {
        term.name: EvaluatedTerm(term, coded.get(term.name, [False])[0], table)
        for term in terms.common_terms
        if term.kind != "intercept"
    }
    with_intercept = {t.factor.name for t in terms.group_terms if t.expr.kind == "intercept"}
    group = {}
    for term in terms.group_terms:
        full = term.factor.name not in with_intercept
        plain = term.expr.kind == "intercept"
        group[term.name] = GroupTerm(
            None if plain else EvaluatedTerm(term.expr, full, table), term.factor
        )
    response = ResponseMatrix(terms.response)
    response.evaluate(table, environment)
    intercept = any(term.kind == "intercept" for term in terms.common_terms)
    return EvaluatedFormula(response, intercept, common, group)
