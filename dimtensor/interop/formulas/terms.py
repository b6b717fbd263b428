"""Terms of a formula as random variables and data, and the data of new rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import dimtensor.dist as dist
from dimtensor.dims import Dim
from dimtensor.dist.distribution import Distribution
from dimtensor.errors import ArgumentError, OptionError, listing
from dimtensor.interop.formulas.design import EvaluatedFormula
from dimtensor.interop.formulas.grammar import FormulaDescription, column_of
from dimtensor.interop.formulas.priors import Scales
from dimtensor.interop.formulas.splines import Outside, bound_splines
from dimtensor.interop.formulas.tables import (
    as_pandas,
    check_levels,
    groups_of,
    levels_of,
    numbers_of,
)
from dimtensor.model.variables import named, rv
from dimtensor.tensor.inputs import data as make_data
from dimtensor.tensor.linalg.contract import dot

if TYPE_CHECKING:
    import pandas as pd

    from dimtensor.tensor.core import DimTensor


class _Design(NamedTuple):
    """Design of a group-specific term, and the prior of its standard deviations.

    Attributes
    ----------
    x : DimTensor or None
        The design matrix; None for an intercept.
    along : tuple of Dim
        The dim of the columns, if there are several.
    prior : Distribution
        Prior of the standard deviations.
    labels : list of str
        One label per column.
    """

    x: DimTensor | None
    along: tuple[Dim, ...]
    prior: Distribution
    labels: list[str]

    def times(self, effect: DimTensor) -> DimTensor:
        if self.x is None:
            return effect
        return dot(effect, self.x, dim=self.along) if self.along else effect * self.x


class FormulaTerms:
    """Terms of a formula as random variables and data."""

    def __init__(
        self,
        table: pd.DataFrame,
        design: EvaluatedFormula,
        description: FormulaDescription,
        obs: Dim,
        priors: Mapping[str, Any],
    ):
        self.table, self.design, self.obs = table, design, obs
        self.correlated = description.correlated
        self.splines = bound_splines(design, table)
        self.priors = dict(priors)
        self.made: dict[str, DimTensor] = {}
        self.common: dict[
            str, bool
        ] = {}  # whether the design matrix of a term has a dim of columns
        self.factors: dict[str, tuple[Dim, list[str]]] = {}
        self.within: dict[str, tuple[Any, bool]] = {}  # the expressions of group-specific terms
        self.levels: dict[str, list[Any]] = {}
        self.extra: list[str] = []
        self.rows: str | None = None  # data that only determine the number of rows

    # -- random variables ---------------------------------------------------------------------

    def variable(self, name: str, prior: Distribution, dims: Iterable[Dim] = ()) -> DimTensor:
        """Create a random variable with the user's prior, or a default one."""
        given = self.priors.pop(name, prior)
        if not isinstance(given, Distribution):
            raise ArgumentError(f"the prior of {name!r} is a distribution, not {given!r}")
        self.made[name] = rv(name, given, dims=[d for d in dims if d not in given.dims])
        return self.made[name]

    def predictor(self, scales: Scales, rest: tuple[Dim, ...], intercept: bool) -> DimTensor:
        """Return the linear predictor over rows and `rest`, the non-reference response levels."""
        total: Any = 0.0
        for name, term in self.design.common.items():
            if term.kind != "intercept":
                total = total + self._common(name, term, scales, rest)
        if any(term.kind == "intercept" for term in self.design.common.values()) and intercept:
            total = total + self.variable("Intercept", dist.Normal(*scales.intercept()), rest)
        for terms in self._blocks():
            total = total + self._varying(terms, scales, rest)
        if self.obs not in getattr(total, "dims", ()):  # determines the number of rows
            self.rows = f"{self.obs._short}_data"
            total = total + make_data(np.zeros(len(self.table)), dims=self.obs, name=self.rows)
        return total

    def _common(self, name: str, term: Any, scales: Scales, rest: tuple[Dim, ...]) -> DimTensor:
        kinds = [component.kind for component in term.components]
        columns, labels = _columns(name, term)
        self._keep_levels(term)
        self.common[name] = labels is not None
        if term.kind == "offset":
            return make_data(columns[:, 0], dims=self.obs, name=f"{name}_data")
        found = scales.common(columns, term.kind, all(kind == "categoric" for kind in kinds))
        x, along, scale = self._matrix(name, columns, labels, found)
        effect = self.variable(name, dist.Normal(0.0, scale), [*along, *rest])
        return dot(x, effect, dim=along) if along else x * effect

    def _matrix(
        self, name: str, columns: np.ndarray, labels: list[Any] | None, scales: np.ndarray
    ) -> tuple[DimTensor, tuple[Dim, ...], Any]:
        """Return the design matrix of a term as data, the dim of its columns, and their scales."""
        if labels is None:
            x = make_data(columns[:, 0], dims=self.obs, name=f"{name}_data")
            return x, (), float(scales[0])
        along = Dim(f"{name}_dim", coords=labels)
        x = make_data(columns, dims=[self.obs, along], name=f"{name}_data")
        return x, (along,), make_data(scales, dims=along)

    def _blocks(self) -> Iterable[dict[str, Any]]:
        """Return group-specific terms by name, in blocks with correlated effects."""
        blocks: dict[Any, dict[str, Any]] = {}
        for name, term in self.design.group.items():
            bar = self.correlated.get(name)
            key = name if bar is None else (bar, term.factor.name)
            blocks.setdefault(key, {})[name] = term
        return blocks.values()

    def _varying(
        self, terms: Mapping[str, Any], scales: Scales, rest: tuple[Dim, ...]
    ) -> DimTensor:
        """Return the contribution of a block of group-specific terms to the linear predictor."""
        designs = {name: self._within(name, term, scales) for name, term in terms.items()}
        group = self._group(next(iter(terms.values())).factor)
        where = self.made[f"{group._short}_data"]
        spreads = {
            name: self.variable(f"{name}_sigma", design.prior, [*design.along, *rest])
            for name, design in designs.items()
        }
        standard = self._standard(designs, group, rest)
        total: Any = 0.0
        for name, design in designs.items():
            if standard is None:
                prior = dist.Normal(0.0, spreads[name])
                effect = self.variable(name, prior, [group, *design.along, *rest])
            else:
                effect = named(name, spreads[name] * standard[name])
            total = total + design.times(effect.sel({group: where}))
        return total

    def _within(self, name: str, term: Any, scales: Scales) -> _Design:
        if term.kind == "intercept":
            return _Design(None, (), dist.HalfNormal(scales.varying()), ["1"])
        columns, labels = _columns(name, term.expr)
        self._keep_levels(term.expr)
        self.within[name] = term.expr, labels is not None
        x, along, scale = self._matrix(name, columns, labels, scales.slopes(columns))
        text = term.expr.name
        names = [text] if labels is None else [f"{text}[{label}]" for label in labels]
        return _Design(x, along, dist.HalfNormal(scale), names)

    def _standard(
        self, designs: Mapping[str, _Design], group: Dim, rest: tuple[Dim, ...]
    ) -> dict[str, DimTensor] | None:
        """Return standardized correlated effects by term, or None if effects are independent.

        They are the product of a Cholesky factor of the correlation matrix, with an LKJ prior, and
        independent standard normal variables.
        """
        first = next(iter(designs))
        labels = [label for design in designs.values() for label in design.labels]
        if first not in self.correlated or len(labels) == 1:
            return None
        text = self.correlated[first][1]
        for name in designs:
            if name in self.priors:
                raise OptionError(
                    f"the effects {name} have no prior of their own: those of {text} are "
                    "correlated",
                    [("variables", listing([f"{other}_sigma" for other in designs]))],
                    f"{text.replace('|', '||')} has independent effects, which take priors",
                )
        expressions = "+".join(name.rpartition("|")[0] for name in designs)
        name = f"{expressions}|{first.rpartition('|')[2]}"
        row = Dim(f"{name}_dim", coords=labels)
        col = row.rename()
        chol = self.variable(f"{name}_chol", dist.LKJCholesky(row, col, 1.0), rest)
        raw = self.variable(f"{name}_z", dist.Normal(0.0, 1.0), [group, row, *rest])
        effects = dot(chol, raw.rename({row: col}), dim=[col])
        found, at = {}, 0
        for term, design in designs.items():
            if design.along:
                positions = make_data(np.arange(at, at + len(design.labels)), dims=design.along)
                found[term] = effects.isel({row: positions})
            else:
                found[term] = effects.isel({row: at})
            at += len(design.labels)
        return found

    def _group(self, factor: Any) -> Dim:
        if factor.name in self.factors:
            return self.factors[factor.name][0]
        names = [column_of(component.name) for component in factor.components]
        if any(name not in self.table for name in names):
            raise OptionError(f"groups of a formula are columns of the table, not {factor.name}")
        taken = {*self.design.common, self.obs._short, "chain", "draw"}
        name = f"{factor.name}_group" if factor.name in taken else factor.name
        rows, groups = groups_of(self.table, names)
        group = Dim(name, coords=groups)
        self.factors[factor.name] = group, names
        data = make_data(rows, dims=self.obs, categories=group, name=f"{name}_data")
        self.made[f"{name}_data"] = data
        return group

    def _keep_levels(self, term: Any) -> None:
        for component in term.components:
            if component.kind == "categoric" and component.name in self.table:
                self.levels[component.name] = levels_of(self.table[component.name])

    # -- new rows -----------------------------------------------------------------------------

    def of_new(self, table: Any, outside: Outside) -> tuple[dict[str, Any], dict[Dim, Dim]]:
        """Return the data of new rows, and replacements of the dims of rows and groups."""
        parts = {name: (self.design.common[name], has_dim) for name, has_dim in self.common.items()}
        parts |= self.within
        used = {name for term, _ in parts.values() for name in term.var_names}
        used &= set(self.table.columns)  # others are names of the user
        used |= {name for _, names in self.factors.values() for name in names}
        frame = as_pandas(table, used | set(self.extra))
        check_levels(frame, self.levels)
        for spline in self.splines:
            spline.outside = outside
        values: dict[str, Any] = {}
        for name, (term, has_dim) in parts.items():
            columns = numbers_of(name, partial(term.eval_new_data, frame))
            named = ([self.obs._short, f"{name}_dim"], columns)
            values[f"{name}_data"] = named if has_dim else columns[:, 0]
        for name in self.extra:
            values[f"{name}_data"] = frame[name].to_numpy()
        n = len(frame)
        if self.rows is not None:
            values[self.rows] = np.zeros(n)
        dims = {}
        if self.obs.length is not None:
            labels = None if self.obs.coords is None else range(n)
            dims[self.obs] = Dim(self.obs._short, length=n, coords=labels)
        for group, names in self.factors.values():
            rows, _ = groups_of(frame, names)
            known = () if group.coords is None else group.coords
            more = sorted(set(rows).difference(known))
            if more:
                dims[group] = Dim(group._short, coords=[*known, *more])
            values[f"{group._short}_data"] = np.asarray(rows)
        return values, dims


def _columns(name: str, term: Any) -> tuple[np.ndarray, list[Any] | None]:
    """Return the design matrix of a term, and labels of its columns unless there is just one."""
    columns = numbers_of(name, lambda: term.data)
    if term.kind != "offset" and term.levels is not None:
        return columns, list(map(str, term.levels))
    return columns, list(range(columns.shape[1])) if columns.shape[1] > 1 else None
