"""Terms of a formula as random variables and data, and the data of new rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import dimtensor.dist as dist
from dimtensor.dims import Dim
from dimtensor.dist.distribution import Distribution
from dimtensor.errors import ArgumentError, OptionError, listing
from dimtensor.interop.formulas.design import (
    DesignMatrix,
    EvaluatedFormula,
    EvaluatedTerm,
    GroupTerm,
)
from dimtensor.interop.formulas.grammar import FormulaDescription, column_of
from dimtensor.interop.formulas.priors import Scales
from dimtensor.interop.formulas.splines import Outside, bound_splines
from dimtensor.interop.formulas.tables import (
    as_pandas,
    check_levels,
    groups_of,
    levels_of,
)
from dimtensor.model.variables import named, rv
from dimtensor.tensor.inputs import data as make_data
from dimtensor.tensor.linalg.contract import dot
from dimtensor.values.data import as_mapping

if TYPE_CHECKING:
    import pandas as pd

    from dimtensor.tensor.core import DimTensor


class _Design(NamedTuple):
    """Design matrix of a term as data, with which its effects are multiplied.

    Attributes
    ----------
    x : DimTensor or None
        Values; None where all are 1.
    at : DimTensor or None
        Positions of the values along the dim of the columns; None for a dense matrix.
    along : tuple of Dim
        The dim of the columns, if they have labels.
    basis : tuple of Dim
        The dim along which the values of a row are added, if there are several.
    """

    x: DimTensor | None
    at: DimTensor | None = None
    along: tuple[Dim, ...] = ()
    basis: tuple[Dim, ...] = ()

    def times(self, effect: DimTensor, where: Mapping[Dim, DimTensor]) -> DimTensor:
        """Return the product with effects, which are looked up by group in `where`."""
        effect = effect.sel(where) if where else effect
        if self.at is not None:
            effect = effect.isel({self.along[0]: self.at})
        if self.x is None:
            return effect
        return dot(effect, self.x, dim=self.basis) if self.basis else effect * self.x


class _Varying(NamedTuple):
    """Design of a group-specific term, and the prior of its standard deviations.

    Attributes
    ----------
    design : _Design
    prior : Distribution
        Prior of the standard deviations.
    labels : list of str
        One label per column.
    """

    design: _Design
    prior: Distribution
    labels: list[str]


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
        self.priors = dict(as_mapping(priors, "priors"))
        self.made: dict[str, DimTensor] = {}
        self.factors: dict[str, tuple[Dim, list[str]]] = {}
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
            total = total + self._common(name, term, scales, rest)
        if self.design.intercept and intercept:
            total = total + self.variable("Intercept", dist.Normal(*scales.intercept()), rest)
        for terms in self._blocks():
            total = total + self._varying(terms, scales, rest)
        if self.obs not in getattr(total, "dims", ()):  # determines the number of rows
            self.rows = f"{self.obs._short}_data"
            total = total + make_data(np.zeros(len(self.table)), dims=self.obs, name=self.rows)
        return total

    def _common(
        self, name: str, term: EvaluatedTerm, scales: Scales, rest: tuple[Dim, ...]
    ) -> DimTensor:
        self._keep_levels(term)
        if term.kind == "offset":
            values = self._values(name, term, term.columns)[f"{name}_data"]
            return make_data(values, dims=self.obs, name=f"{name}_data")
        found = scales.common(term.columns, term.kind, term.labeled)
        design, scale = self._matrix(name, term, found)
        effect = self.variable(name, dist.Normal(0.0, scale), [*design.along, *rest])
        return design.times(effect, {})

    def _matrix(self, name: str, term: EvaluatedTerm, scales: np.ndarray) -> tuple[_Design, Any]:
        """Return the design matrix of a term as data, and the scales of its columns."""
        along = () if term.labels is None else (Dim(f"{name}_dim", coords=term.labels),)
        scale = make_data(scales, dims=along) if along else float(scales[0])
        several = term.columns.values.shape[1]
        dense = term.columns.at is None
        basis: tuple[Dim, ...] = along if dense else ()
        if not dense and several > 1:
            basis = (Dim(f"{name}_basis", length=several),)
        data = {
            key: make_data(values, dims=[self.obs, *basis], name=key)
            for key, values in self._values(name, term, term.columns).items()
        }
        at = None if dense else data.pop(f"{name}_data")
        return _Design(next(iter(data.values()), None), at, along, basis), scale

    def _values(
        self, name: str, term: EvaluatedTerm, columns: DesignMatrix
    ) -> dict[str, np.ndarray]:
        """Return the data of a term by name, over rows, and the values of a row if several."""
        flat = columns.values.shape[1] == 1 and (columns.at is not None or term.labels is None)
        cut = (slice(None), 0) if flat else ()
        if columns.at is None:
            return {f"{name}_data": columns.values[cut]}
        at = np.broadcast_to(columns.at, columns.values.shape)[cut]
        weights = {f"{name}_weight": columns.values[cut]} if term.weighted else {}
        return {f"{name}_data": at} | weights

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
            name: self.variable(f"{name}_sigma", prior, [*design.along, *rest])
            for name, (design, prior, _) in designs.items()
        }
        standard = self._standard(designs, group, rest)
        total: Any = 0.0
        for name, (design, _, _) in designs.items():
            if standard is None:
                prior = dist.Normal(0.0, spreads[name])
                effect = self.variable(name, prior, [group, *design.along, *rest])
            else:
                effect = named(name, spreads[name] * standard[name])
            total = total + design.times(effect, {group: where})
        return total

    def _within(self, name: str, term: GroupTerm, scales: Scales) -> _Varying:
        if term.expr is None:
            return _Varying(_Design(None), dist.HalfNormal(scales.varying()), ["1"])
        self._keep_levels(term.expr)
        design, scale = self._matrix(name, term.expr, scales.slopes(term.expr.columns))
        text, labels = term.expr.name, term.expr.labels
        names = [text] if labels is None else [f"{text}[{label}]" for label in labels]
        return _Varying(design, dist.HalfNormal(scale), names)

    def _standard(
        self, designs: Mapping[str, _Varying], group: Dim, rest: tuple[Dim, ...]
    ) -> dict[str, DimTensor] | None:
        """Return standardized correlated effects by term, or None if effects are independent.

        They are the product of a Cholesky factor of the correlation matrix, with an LKJ prior, and
        independent standard normal variables.
        """
        first = next(iter(designs))
        labels = [label for varying in designs.values() for label in varying.labels]
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
        for term, (design, _, own) in designs.items():
            if design.along:
                positions = make_data(np.arange(at, at + len(own)), dims=design.along)
                found[term] = effects.isel({row: positions})
            else:
                found[term] = effects.isel({row: at})
            at += len(own)
        return found

    def _group(self, factor: Any) -> Dim:
        if factor.name in self.factors:
            return self.factors[factor.name][0]
        names = [column_of(component.name) for component in factor.components]
        if any(name not in self.table for name in names):
            raise OptionError(f"groups of a formula are columns of the table, not {factor.name}")
        taken = {*self.design.common, "Intercept", self.obs._short, "chain", "draw"}
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
        terms = self.design.terms()
        used = {name for term in terms.values() for name in term.var_names}
        used &= set(self.table.columns)  # others are names of the user
        used |= {name for _, names in self.factors.values() for name in names}
        frame = as_pandas(table, used | set(self.extra))
        check_levels(frame, self.levels)
        for spline in self.splines:
            spline.outside = outside
        values: dict[str, Any] = {}
        for name, term in terms.items():
            columns = term.of_new(frame)
            suffix = "dim" if columns.at is None else "basis"
            for key, numbers in self._values(name, term, columns).items():
                dims = [self.obs._short, f"{name}_{suffix}"][: numbers.ndim]
                values[key] = (dims, numbers)
        for name in self.extra:
            values[f"{name}_data"] = frame[name].to_numpy()
        n = len(frame)
        if self.rows is not None:
            values[self.rows] = np.zeros(n)
        wider = {}
        if self.obs.length is not None:
            labels = None if self.obs.coords is None else range(n)
            wider[self.obs] = Dim(self.obs._short, length=n, coords=labels)
        for group, names in self.factors.values():
            rows, _ = groups_of(frame, names)
            known = () if group.coords is None else group.coords
            more = sorted(set(rows).difference(known))
            if more:
                wider[group] = Dim(group._short, coords=[*known, *more])
            values[f"{group._short}_data"] = np.asarray(rows)
        return values, wider
