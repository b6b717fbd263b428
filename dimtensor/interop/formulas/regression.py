"""Regression models from formulas: `from_formula`, and predictions for new tables."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

import dimtensor.dist as dist
from dimtensor.dims import Dim
from dimtensor.dist.distribution import Distribution
from dimtensor.errors import (
    DimtensorError,
    InputError,
    LabelError,
    OptionError,
    clipped,
    did_you_mean,
    listing,
)
from dimtensor.extras import require
from dimtensor.interop.formulas.design import EvaluatedFormula, evaluated
from dimtensor.interop.formulas.families import OF_TRIALS, Family, family_of, response_of
from dimtensor.interop.formulas.functions import FUNCTIONS, OF_NUMPY, names_of
from dimtensor.interop.formulas.grammar import FormulaDescription, parse_formula
from dimtensor.interop.formulas.priors import Scales
from dimtensor.interop.formulas.splines import Outside
from dimtensor.interop.formulas.tables import Columns, as_pandas, levels_of, numbers_of
from dimtensor.interop.formulas.terms import FormulaTerms
from dimtensor.model.model import Model
from dimtensor.model.variables import named, rv
from dimtensor.tensor.inputs import data as make_data
from dimtensor.tensor.linalg.contract import dot

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dimtensor.backends import BackendName
    from dimtensor.model.spec import ModelSpec
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import Table


class Regression(Model):
    """Regression model: a :class:`dimtensor.Model` that predicts for tables."""

    _formula: FormulaTerms | None

    def predict(
        self,
        post: Any,
        data: Any = None,
        *,
        dims: Mapping[Dim, Any] | None = None,
        outside: Outside = "raise",
        **options: Any,
    ) -> xr.DataTree:
        """Draw the response given posterior draws of the other variables.

        Parameters
        ----------
        post : DataTree or Dataset
        data : DataFrame or dict, optional
            A table of new rows with the columns of the predictors, in any order. Effects of new
            groups are drawn from their distribution.
        dims : dict, optional
        outside : {"raise", "clip"}
            Values beyond the knots of a B-spline ``bs(x, ...)`` raise an error, or are clipped to
            the nearest knot.
        **options
            Other options of :meth:`dimtensor.Model.predict`.

        Returns
        -------
        DataTree

        Raises
        ------
        InputError
            If the table has missing values, or values beyond the knots of a spline.
        LabelError
            If the table lacks a column, or a categorical predictor has a new level.
        """
        if data is None or isinstance(data, Mapping):
            return super().predict(post, data, dims=dims, **options)
        terms = self.__dict__.get("_formula")
        if terms is None:
            raise InputError(
                "a regression that was pickled has forgotten its formula: make it again, or "
                "predict for a dict of its data"
            )
        if outside not in ("raise", "clip"):
            raise OptionError(f"predict: outside is 'raise' or 'clip', not {outside!r}")
        values, wider = terms.of_new(data, outside)
        return super().predict(post, values, dims={**wider, **(dims or {})}, **options)

    def _with(self, spec: ModelSpec) -> Self:
        other = super()._with(spec)
        other._formula = self.__dict__.get("_formula")
        return other

    def __getstate__(self) -> dict[str, Any]:
        # the namespace of a formula may not be picklable
        return {"spec": self.spec}


def from_formula(
    formula: str,
    data: Table,
    family: str = "gaussian",
    *,
    link: str | None = None,
    priors: Mapping[str, Distribution] | None = None,
    obs: Dim | None = None,
    namespace: Mapping[str, Any] | Literal["caller"] | None = None,
    backend: BackendName = "native",
) -> Regression:
    """Create a regression model from a formula.

    Parameters
    ----------
    formula : str
        As in R's lme4 and Bambi, ``"y ~ 1 + x + (1 + x | county)"``; parsed by formulae.
    data : DataFrame
        A table of pandas, polars, or another library that narwhals supports.
    family : str
        The response's: ``"gaussian"``, ``"t"``, ``"bernoulli"``, ``"binomial"``, ``"poisson"``,
        ``"negativebinomial"``, ``"gamma"``, ``"beta"``, ``"categorical"``, ``"ordinal"`` (or
        ``"cumulative"``), ``"exponential"``, ``"weibull"``, ``"wald"``, ``"lognormal"``,
        ``"laplace"``, ``"asymmetriclaplace"``, ``"exgaussian"``, ``"vonmises"``,
        ``"beta_binomial"``; ``"poisson"``, ``"binomial"`` and ``"negativebinomial"`` after
        ``"zero_inflated_"``, and the first, the third, ``"gamma"`` and ``"lognormal"`` after
        ``"hurdle_"``.
    link : str, optional
        ``"identity"``, ``"log"``, ``"inverse"``, ``"logit"``, ``"probit"`` or ``"cloglog"``, if
        the family supports it.
    priors : dict of str to Distribution, optional
        Priors of variables by name, replacing the defaults.
    obs : Dim, optional
        The dim of the rows.
    namespace : dict of str to object, or "caller", optional
        Functions and values that the formula may use in addition to columns and the functions of
        formulas (``bs``, ``poly``, ``scale``, ``C``, ``I``, ``log``, ``np.sqrt``, ...):
        ``{"half": half}`` for ``y ~ half(x)``. With ``"caller"`` it may use all names in
        the scope of the caller, and their attributes. It can then run any code: use it only for
        formulas that you wrote yourself.
    backend : {"native", "jax", "python"}

    Returns
    -------
    Regression
        A :class:`dimtensor.Model` conditioned on the response, whose ``predict`` takes tables.
        Coefficients are named after their terms, ``Intercept``, ``x``, ``1|county``, and standard
        deviations of group-specific ones have the suffix ``_sigma``. A grouping factor is a dim
        with labels of the data; the columns of a categorical predictor ``g`` are a dim ``g_dim``.

    Raises
    ------
    MissingExtraError
        If formulae is not installed.
    OptionError
        If the formula cannot be parsed, calls a function that is not allowed or has too many terms,
        or a family or link does not exist.
    ArgumentError
        If `namespace` is not a dict.
    LabelError
        If a column or variable does not exist.
    InputError
        If the table has no rows, or missing values.

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
    known: Any
    if namespace == "caller":
        import inspect

        frame: Any = inspect.currentframe()
        known = ChainMap(frame.f_back.f_locals, frame.f_back.f_globals)
    else:
        known = names_of(namespace)
    table, design, description = _read(formula, data, known, namespace == "caller")
    terms = FormulaTerms(
        table, design, description, Dim("obs") if obs is None else obs, priors or {}
    )
    output, seen = _response(terms, family, chosen, link)
    if terms.priors:
        unknown = next(iter(terms.priors))
        raise LabelError(
            f"from_formula: there is no variable {unknown!r} to have a prior"
            f"{did_you_mean(unknown, list(terms.made))}",
            [("variables", listing(list(terms.made)))],
        )
    model = Regression(output, backend=backend)
    model._formula = terms
    fit: Any = model.observe({output: seen})
    # one element for each row, which would be most of a table of draws
    fit = fit._with(replace(fit.spec, unrecorded=frozenset({f"{design.response.name}_linear"})))
    asked = priors or {}
    varying = [x for x in terms.made if f"{x}_sigma" in terms.made and x not in asked]
    return fit.noncentered(*varying) if varying else fit


def _read(
    formula: str, data: Any, namespace: Mapping[str, Any], attributes: bool
) -> tuple[pd.DataFrame, EvaluatedFormula, FormulaDescription]:
    """Return the columns that a formula uses, its evaluated terms, and their description."""
    formulae = require("formulae", "formula", "dt.from_formula")
    columns = Columns(data)
    if not columns.rows:
        raise InputError("a formula reads a table with rows, and this one has none")
    description = parse_formula(formula, columns, namespace, attributes)
    names = {name for name in description.terms.var_names if name in columns}
    table = as_pandas(data, names)
    own = {**FUNCTIONS, "np": OF_NUMPY, "numpy": OF_NUMPY}
    environment = formulae.environment.Environment([namespace, own])
    try:
        design = evaluated(description.terms, table, environment)
    except DimtensorError:
        raise
    except Exception as error:  # raised by called functions, or by formulae
        reason = str(error) or type(error).__name__
        raise InputError(
            f"the terms of the formula {clipped(repr(formula))} cannot be computed from the table",
            [("reason", clipped(reason))],
        ) from error
    return table, design, description


def _response(terms: FormulaTerms, family: str, chosen: Family, link: str) -> tuple[DimTensor, Any]:
    """Return the random variable of the response, and its observed values."""
    response = terms.design.response
    name = response.name
    if family in ("categorical", "cumulative", "ordinal"):
        return _labels(terms, family, chosen, link)
    numbers_of(name, lambda: response.design_matrix)
    seen = np.asarray(response.design_matrix).reshape(len(terms.table), -1)
    parameters: dict[str, Any] = {}
    if family in OF_TRIALS:
        if response.kind != "proportion":
            raise OptionError(f"the response of a {family} formula is p(successes, trials)")
        call = response.term.term.components[0].call
        given = dict(zip(("successes", "trials"), call.args, strict=False)) | call.kwargs
        name, trials = str(given["successes"]), str(given["trials"])
        many = seen[:, 1]
        parameters["trials"] = many[0]
        if trials in terms.table:
            terms.extra.append(trials)
            parameters["trials"] = make_data(many, dims=terms.obs, name=f"{trials}_data")
        seen = seen[:, :1]
    if seen.shape[1] != 1:
        level = levels_of(terms.table[name])[-1] if name in terms.table else "level"
        raise InputError(
            f"the response {name!r} has levels, and the family {family} takes numbers",
            hint=f"{name}[{str(level)!r}] ~ ... is 1 at that level; or family='categorical'",
        )
    scales = Scales(family, link, chosen.scaled, seen[:, 0])
    eta = named(f"{name}_linear", terms.predictor(scales, (), True))
    for key, prior in chosen.priors.items():
        parameters[key] = terms.variable(key, prior(scales.scale))
    return rv(name, response_of(chosen, link, eta, parameters)), seen[:, 0]


def _labels(terms: FormulaTerms, family: str, chosen: Family, link: str) -> tuple[DimTensor, Any]:
    """Return a categorical or ordinal response, and its observed labels."""
    name = terms.design.response.name
    if name not in terms.table:
        raise InputError(f"the response of family {family!r} is a column of labels, not {name}")
    levels = levels_of(terms.table[name])
    if len(levels) < 2:
        raise InputError(
            f"the response {name!r} has one level, and there is nothing to tell apart",
            [("level", listing(list(map(str, levels))))],
        )
    dim = Dim(f"{name}_level", coords=levels)
    parameters: dict[str, Any] = {"dim": dim}
    scales = Scales(family, link, False, None)
    if family == "categorical":
        rest = Dim(f"{name}_dim", coords=levels[1:])
        eta = terms.predictor(scales, (rest,), True)
        against = make_data(np.eye(len(levels))[1:], dims=[rest, dim])
        eta = named(f"{name}_linear", dot(eta, against, dim=[rest]))
    else:
        cut = Dim("threshold_dim", length=len(levels) - 1)
        prior = dist.ordered(chosen.priors["threshold"](1.0), dim=cut)
        parameters["threshold"] = terms.variable("threshold", prior, [cut])
        eta = named(f"{name}_linear", terms.predictor(scales, (), False))
    return rv(name, response_of(chosen, link, eta, parameters)), terms.table[name].tolist()
