"""Regressions: the parts of a formula as random variables and data, and predictions for tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import dimtensor.dist as dist
from dimtensor.dims import Dim
from dimtensor.dist.distribution import Distribution
from dimtensor.errors import InputError, build_message, did_you_mean, listing
from dimtensor.interop.extras import require
from dimtensor.interop.formulas.families import OF_TRIALS, Family, family_of, response_of
from dimtensor.interop.formulas.grammar import FUNCTIONS, column_of, described
from dimtensor.interop.formulas.priors import Scales
from dimtensor.interop.formulas.tables import (
    as_pandas,
    check_levels,
    columns_of,
    groups_of,
    levels_of,
    numbers_of,
)
from dimtensor.model.model import Model
from dimtensor.model.variables import named, rv
from dimtensor.tensor.inputs import data as make_data
from dimtensor.tensor.linalg.contract import dot

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dimtensor.backends import BackendName
    from dimtensor.tensor.core import DimTensor


class Regression(Model):
    """The model of a formula: a :class:`dimtensor.Model` whose predictions take tables."""

    _formula: _Terms

    def predict(
        self,
        post: Any,
        data: Any = None,
        *,
        dims: Mapping[Dim, Any] | None = None,
        **options: Any,
    ) -> xr.DataTree:
        """Draws of the response given draws of other variables.

        Parameters
        ----------
        post : DataTree or Dataset
        data : DataFrame or dict, optional
            A table with new rows: of the columns of the predictors, in any order. Groups that were
            not there when the model was made are drawn from their distribution.
        dims : dict, optional
        **options
            These and others as of :meth:`dimtensor.Model.predict`.

        Returns
        -------
        DataTree

        Raises
        ------
        InputError
            If the table lacks a column, or values.
        LabelError
            If a categorical predictor has new levels.
        """
        if data is None or isinstance(data, Mapping):
            return super().predict(post, data, dims=dims, **options)
        terms = self.__dict__.get("_formula")
        if terms is None:
            raise InputError(
                "a regression that was pickled has forgotten its formula: make it again, or "
                "predict for a dict of its data"
            )
        values, wider = terms.of_new(data)
        return super().predict(post, values, dims={**wider, **(dims or {})}, **options)

    def __getstate__(self) -> dict[str, Any]:
        # what a formula was called with may not be sent to other processes
        return {key: value for key, value in super().__getstate__().items() if key != "_formula"}


class _Terms:
    """What the terms of a formula are: random variables, data, and the way to data of new rows."""

    def __init__(self, table: pd.DataFrame, design: Any, obs: Dim, priors: Mapping[str, Any]):
        self.table, self.design, self.obs = table, design, obs
        self.priors = dict(priors)
        self.made: dict[str, DimTensor] = {}
        self.common: dict[str, bool] = {}  # whether the design of a term has a dim of its own
        self.factors: dict[str, tuple[Dim, list[str]]] = {}
        self.within: dict[str, tuple[Any, bool]] = {}  # of group-specific terms: the expression
        self.levels: dict[str, list[Any]] = {}
        self.extra: list[str] = []
        self.rows: str | None = None  # data that no term is of

    # -- random variables ---------------------------------------------------------------------

    def variable(self, name: str, prior: Distribution, dims: Iterable[Dim] = ()) -> DimTensor:
        """A random variable with its prior, or the one that is asked for."""
        given = self.priors.pop(name, prior)
        if not isinstance(given, Distribution):
            raise InputError(f"the prior of {name!r} is a distribution, not {given!r}")
        self.made[name] = rv(name, given, dims=[d for d in dims if d not in given.dims])
        return self.made[name]

    def predictor(self, scales: Scales, rest: tuple[Dim, ...], intercept: bool) -> DimTensor:
        """The linear predictor: of the rows, and of `rest`, the levels of the response but one."""
        common = {} if self.design.common is None else self.design.common.terms
        total: Any = 0.0
        for name, term in common.items():
            if term.kind != "intercept":
                total = total + self._common(name, term, scales, rest)
        if any(term.kind == "intercept" for term in common.values()) and intercept:
            total = total + self.variable("Intercept", dist.Normal(*scales.intercept()), rest)
        groups = {} if self.design.group is None else self.design.group.terms
        for name, term in groups.items():
            total = total + self._varying(name, term, scales, rest)
        if self.obs not in getattr(total, "dims", ()):  # what else tells how many rows there are?
            self.rows = f"{self.obs.short}_data"
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
        if labels is None:
            x = make_data(columns[:, 0], dims=self.obs, name=f"{name}_data")
            return x * self.variable(name, dist.Normal(0.0, float(found[0])), rest)
        along = Dim(f"{name}_dim", coords=labels)
        x = make_data(columns, dims=[self.obs, along], name=f"{name}_data")
        scale = make_data(found, dims=along)
        return dot(x, self.variable(name, dist.Normal(0.0, scale), [along, *rest]), dims=[along])

    def _varying(self, name: str, term: Any, scales: Scales, rest: tuple[Dim, ...]) -> DimTensor:
        group = self._group(term.factor)
        where = self.made[f"{group.short}_data"]
        if term.kind == "intercept":
            prior = dist.HalfNormal(scales.varying())
            spread = self.variable(f"{name}_sigma", prior, rest)
            effect = self.variable(name, dist.Normal(0.0, spread), [group, *rest])
            return effect.sel({group: where})
        columns, labels = _columns(name, term.expr)
        self._keep_levels(term.expr)
        self.within[name] = term.expr, labels is not None
        found = scales.slopes(columns)
        if labels is None:
            x = make_data(columns[:, 0], dims=self.obs, name=f"{name}_data")
            spread = self.variable(f"{name}_sigma", dist.HalfNormal(float(found[0])), rest)
            effect = self.variable(name, dist.Normal(0.0, spread), [group, *rest])
            return effect.sel({group: where}) * x
        along = Dim(f"{name}_dim", coords=labels)
        x = make_data(columns, dims=[self.obs, along], name=f"{name}_data")
        prior = dist.HalfNormal(make_data(found, dims=along))
        spread = self.variable(f"{name}_sigma", prior, [along, *rest])
        effect = self.variable(name, dist.Normal(0.0, spread), [group, along, *rest])
        return dot(effect.sel({group: where}), x, dims=[along])

    def _group(self, factor: Any) -> Dim:
        if factor.name in self.factors:
            return self.factors[factor.name][0]
        names = [column_of(component.name) for component in factor.components]
        if any(name not in self.table for name in names):
            raise InputError(f"groups of a formula are columns of the table, not {factor.name}")
        common = {} if self.design.common is None else self.design.common.terms
        taken = {*common, self.obs.short, "chain", "draw"}
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

    def of_new(self, table: Any) -> tuple[dict[str, Any], dict[Dim, Dim]]:
        """Values of all data for new rows, and dims with what is new of rows and groups."""
        common = {} if self.design.common is None else self.design.common.terms
        parts = {name: (common[name], has_dim) for name, has_dim in self.common.items()}
        parts |= self.within
        used = {name for term, _ in parts.values() for name in term.var_names}
        used &= set(self.table.columns)  # others are names of the caller
        used |= {name for _, names in self.factors.values() for name in names}
        frame = as_pandas(table, used | set(self.extra))
        check_levels(frame, self.levels)
        values: dict[str, Any] = {}
        for name, (term, has_dim) in parts.items():
            columns = numbers_of(name, partial(term.eval_new_data, frame))
            named = ([self.obs.short, f"{name}_dim"], columns)
            values[f"{name}_data"] = named if has_dim else columns[:, 0]
        for name in self.extra:
            values[f"{name}_data"] = frame[name].to_numpy()
        n = len(frame)
        if self.rows is not None:
            values[self.rows] = np.zeros(n)
        dims = {}
        if self.obs.length is not None:
            labels = None if self.obs.coords is None else range(n)
            dims[self.obs] = Dim(self.obs.short, length=n, coords=labels)
        for group, names in self.factors.values():
            rows, _ = groups_of(frame, names)
            known = () if group.coords is None else group.coords
            more = sorted(set(rows).difference(known))
            if more:
                dims[group] = Dim(group.short, coords=[*known, *more])
            values[f"{group.short}_data"] = np.asarray(rows)
        return values, dims


def _columns(name: str, term: Any) -> tuple[np.ndarray, list[Any] | None]:
    """The columns of a term, and their labels where they have some or are several."""
    columns = numbers_of(name, lambda: term.data)
    if term.kind != "offset" and term.levels is not None:
        return columns, list(map(str, term.levels))
    return columns, list(range(columns.shape[1])) if columns.shape[1] > 1 else None


def from_formula(
    formula: str,
    data: Any,
    family: str = "gaussian",
    *,
    link: str | None = None,
    priors: Mapping[str, Distribution] | None = None,
    obs: Dim | None = None,
    backend: BackendName = "numba",
) -> Regression:
    """The model of a regression by its formula.

    Parameters
    ----------
    formula : str
        ``"y ~ 1 + x + (1 + x | county)"``: as of R's lme4 and Bambi, read by formulae.
    data : DataFrame
        Of pandas, polars, or what else narwhals knows.
    family : str
        Of the response: ``"gaussian"``, ``"t"``, ``"bernoulli"``, ``"binomial"``, ``"poisson"``,
        ``"negativebinomial"``, ``"gamma"``, ``"beta"``, ``"categorical"``, ``"ordinal"`` (or
        ``"cumulative"``), ``"exponential"``, ``"weibull"``, ``"wald"``, ``"lognormal"``,
        ``"laplace"``, ``"asymmetriclaplace"``, ``"exgaussian"``, ``"vonmises"``,
        ``"beta_binomial"``; ``"poisson"``, ``"binomial"`` and ``"negativebinomial"`` after
        ``"zero_inflated_"``, and the first, the third, ``"gamma"`` and ``"lognormal"`` after
        ``"hurdle_"``.
    link : str, optional
        ``"identity"``, ``"log"``, ``"inverse"``, ``"logit"``, ``"probit"`` or ``"cloglog"``, where
        the family has it.
    priors : dict of str to Distribution, optional
        Of variables by name, in place of the defaults.
    obs : Dim, optional
        The dim of the rows.
    backend : {"numba", "jax", "python"}

    Returns
    -------
    Regression
        A :class:`dimtensor.Model` that has observed the response. Its ``predict`` takes tables.
        Coefficients have the names of their terms, ``Intercept``, ``x``, ``1|county``, their
        deviations those with ``_sigma``; what groups is a dim with labels of the data, the columns
        of a categorical predictor are a dim ``g_dim``.

    Raises
    ------
    MissingExtraError
        If formulae is not installed.
    InputError
        If the formula cannot be read, or there is no such family, link, column or variable.

    Examples
    --------
    >>> import dimtensor as dt
    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": [1.0, 2.0, 2.5], "x": [0.0, 1.0, 2.0], "g": ["a", "b", "a"]})
    >>> fit = dt.from_formula("y ~ 1 + x + (1 | g)", table, backend="python")
    >>> list(fit.free)
    ['x', 'Intercept', '1|g_sigma', '1|g', 'sigma']
    """
    chosen, link = family_of(family, link)
    table, design = _read(formula, data)
    terms = _Terms(table, design, Dim("obs") if obs is None else obs, priors or {})
    output, seen = _response(terms, family, chosen, link)
    if terms.priors:
        unknown = next(iter(terms.priors))
        raise InputError(
            build_message(
                f"from_formula: there is no variable {unknown!r} to have a prior"
                f"{did_you_mean(unknown, list(terms.made))}",
                [("variables", listing(list(terms.made)))],
            )
        )
    model = Regression(output, backend=backend)
    model._formula = terms
    fit: Any = model.observe({output: seen})
    asked = priors or {}
    varying = [x for x in terms.made if f"{x}_sigma" in terms.made and x not in asked]
    return fit.noncentred(*varying) if varying else fit


def _read(formula: str, data: Any) -> tuple[pd.DataFrame, Any]:
    """The columns that a formula reads, and what formulae makes of them.

    Functions that it calls are those of the caller of :func:`from_formula`.
    """
    formulae = require("formulae", "formula", "dt.from_formula")
    lacking: set[str] = set()
    try:
        environment = formulae.environment.Environment.capture(2)
        description = described(formula)
        known = set(columns_of(data))
        # what is no column may be a name of the caller, or of formulae
        lacking = description.var_names - known
        table = as_pandas(data, description.var_names & known)
        space = environment.with_outer_namespace(FUNCTIONS)
        design = formulae.matrices.DesignMatrices(description, table, space)
    except (InputError, ImportError):
        raise
    except Exception as error:  # formulae raises what its parser and the functions called raise
        if lacking and isinstance(error, (KeyError, NameError)):
            as_pandas(data, lacking)  # has the error
        raise InputError(
            build_message(
                f"the formula {formula!r} cannot be read", [("formulae says", str(error))]
            )
        ) from error
    if design.response is None:
        raise InputError(f"the formula {formula!r} has no response: y ~ ...")
    return table, design


def _response(terms: _Terms, family: str, chosen: Family, link: str) -> tuple[DimTensor, Any]:
    """The random variable of the response, and what is observed of it."""
    response = terms.design.response
    name = response.name
    if family in ("categorical", "cumulative", "ordinal"):
        return _labels(terms, family, chosen, link)
    numbers_of(name, lambda: response.design_matrix)
    seen = np.asarray(response.design_matrix).reshape(len(terms.table), -1)
    parameters: dict[str, Any] = {}
    if family in OF_TRIALS:
        if response.kind != "proportion":
            raise InputError(f"the response of a {family} formula is p(successes, trials)")
        name, trials = (argument.strip() for argument in name[name.index("(") + 1 : -1].split(","))
        many = seen[:, 1]
        parameters["trials"] = many[0]
        if trials in terms.table:
            terms.extra.append(trials)
            parameters["trials"] = make_data(many, dims=terms.obs, name=f"{trials}_data")
        seen = seen[:, :1]
    if seen.shape[1] != 1:
        raise InputError(
            build_message(
                f"the response {name!r} has levels, and the family {family} takes numbers",
                hint=f"{name}['level'] ~ ... is 1 at that level; or family='categorical'",
            )
        )
    scales = Scales(family, link, chosen.scaled, seen[:, 0])
    eta = named(f"{name}_linear", terms.predictor(scales, (), True))
    for key, prior in chosen.priors.items():
        parameters[key] = terms.variable(key, prior(scales.scale))
    return rv(name, response_of(chosen, link, eta, parameters)), seen[:, 0]


def _labels(terms: _Terms, family: str, chosen: Family, link: str) -> tuple[DimTensor, Any]:
    """A response of labels: of all but the first one against it, or between thresholds."""
    name = terms.design.response.name
    if name not in terms.table:
        raise InputError(f"the response of family {family!r} is a column of labels, not {name}")
    levels = levels_of(terms.table[name])
    if len(levels) < 2:
        raise InputError(
            build_message(
                f"the response {name!r} has one level, and there is nothing to tell apart",
                [("level", listing(list(map(str, levels))))],
            )
        )
    over = Dim(f"{name}_level", coords=levels)
    parameters: dict[str, Any] = {"over": over}
    scales = Scales(family, link, False, None)
    if family == "categorical":
        rest = Dim(f"{name}_dim", coords=levels[1:])
        eta = terms.predictor(scales, (rest,), True)
        against = make_data(np.eye(len(levels))[1:], dims=[rest, over])
        eta = named(f"{name}_linear", dot(eta, against, dims=[rest]))
    else:
        cut = Dim("threshold_dim", length=len(levels) - 1)
        prior = dist.ordered(chosen.priors["threshold"](1.0), over=cut)
        parameters["threshold"] = terms.variable("threshold", prior, [cut])
        eta = named(f"{name}_linear", terms.predictor(scales, (), False))
    return rv(name, response_of(chosen, link, eta, parameters)), terms.table[name].tolist()
