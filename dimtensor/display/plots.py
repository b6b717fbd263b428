"""ArviZ's plots as methods of a model, its summary, and fans of forecasts."""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from dimtensor.errors import (
    ArgumentError,
    LabelError,
    NoAttributeError,
    OptionError,
    did_you_mean,
    listing,
    printable,
)
from dimtensor.extras import is_installed, require
from dimtensor.model.inference.results import LEADING, extended, posterior_of
from dimtensor.model.variables import name_of
from dimtensor.spellings import spelled_methods
from dimtensor.tensor.handle import TensorHandle
from dimtensor.tuning import FOREST_LABEL
from dimtensor.values.labeled import is_dataarray

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dimtensor.model.model import Model

_PREFIX = "plot_"
_OWN = ("forecast", "ppc")
# plots of one row or panel per element; variables with one element per observation are left out
_BY_ELEMENT = frozenset({"forest", "rank", "rank_dist", "trace", "trace_dist"})
_MOST_PANELS = 16


def _panels_apart() -> AbstractContextManager[None]:
    """Lay out new figures so that titles of panels are not written over the axes above them."""
    if not is_installed("matplotlib"):  # ArviZ has other backends
        return nullcontext()
    pyplot = require("matplotlib.pyplot", "viz", "plots of draws")
    return pyplot.rc_context({"figure.constrained_layout.use": True})


def without_rows(model: Model, post: Any) -> list[str]:
    """Return the names of draws without those of one element for each observation.

    A dim of observations that a free variable has as well, such as the dates of a latent state, is
    none that is left out.
    """
    draws = posterior_of(post)
    rows = {dim.name for name in model.observed for dim in model.variables[name].tensor.dims}
    rows -= {dim for name in model.free if name in draws for dim in draws[name].dims}
    return [str(name) for name, x in draws.data_vars.items() if rows.isdisjoint(x.dims)]


def summary(model: Model, post: Any, var_names: Any, options: dict[str, Any]) -> pd.DataFrame:
    """Summarize draws; see :meth:`dimtensor.Model.summary`."""
    arviz = require("arviz", "sampling", "summaries of draws")
    names = without_rows(model, post) if var_names is None else names_of(model, var_names)
    return arviz.summary(post, var_names=names, **options)


def names_of(model: Model, asked: Any) -> list[str]:
    """Return the names of variables that are given as tensors or names, alone or several."""
    known = model.spec.graph.nodes
    alone = isinstance(asked, (str, TensorHandle))
    each: Iterable[Any] = [asked] if alone else asked
    return [name_of(name, known, "variable") for name in each]


@spelled_methods
class ModelPlots:
    """ArviZ's functions ``plot_...`` as methods without the prefix, which accept random variables.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    >>> model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)))
    >>> "trace" in dir(model.plot), "forest" in dir(model.plot)
    (True, True)
    """

    def __init__(self, model: Model):
        self._model = model

    @printable
    def __repr__(self) -> str:
        return f"<plots of ArviZ for draws of {', '.join(self._model.variables)}>"

    def __call__(self, *_: Any, **_options: Any) -> NoReturn:
        raise ArgumentError("plots of a model are methods", hint="fit.plot.trace(post)")

    def __dir__(self) -> list[str]:
        found = dir(require("arviz", "sampling", "plots of draws"))
        return [*_OWN, *(x.removeprefix(_PREFIX) for x in found if x.startswith(_PREFIX))]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        plot = getattr(require("arviz", "sampling", "plots of draws"), _PREFIX + name, None)
        if plot is None:
            guess = did_you_mean(name, dir(self))
            raise NoAttributeError(f"ArviZ has no plot {_PREFIX}{name}{guess}")

        known = inspect.signature(plot).parameters.get("var_names")
        names_alone = known is not None and known.kind is inspect.Parameter.KEYWORD_ONLY

        @functools.wraps(plot)
        def call(post: Any = None, *arguments: Any, var_names: Any = None, **options: Any) -> Any:
            if post is None:
                raise ArgumentError(f"{name} plots draws", hint=f"fit.plot.{name}(post)")
            if arguments and names_alone and var_names is None:
                var_names, arguments = arguments[0], arguments[1:]  # as summary has it
            if var_names is not None:
                options["var_names"] = names_of(self._model, var_names)
            elif name in _BY_ELEMENT and not arguments:
                shown = without_rows(self._model, post)
                if len(shown) < len(posterior_of(post).data_vars):
                    options["var_names"] = shown
            if name == "forest":
                post = _with_short_labels(post)
            options = _labeled(plot, post, "posterior", options)
            try:
                with _panels_apart():
                    return plot(post, *arguments, **options)
            except ValueError as error:
                if "max_subplots" not in str(error):
                    raise
                raise _too_many_panels(name, post, options.get("var_names")) from None

        return call

    def ppc(self, post: Any, *, var_names: Any = None, seed: int = 0, **options: Any) -> Any:
        """Plot observations among their replications: ``arviz.plot_ppc_dist``.

        Counts and labels have steps: their cumulative distributions are drawn instead of densities.

        Parameters
        ----------
        post : DataTree
            Draws, with the group ``posterior_predictive``; without it replications are drawn.
        var_names : DimTensor, str or list of them, optional
            Observed variables, by default all.
        seed : int, optional
            Of the replications.
        **options
            Those of ArviZ's function.

        Returns
        -------
        PlotCollection
        """
        arviz = require("arviz", "sampling", "plots of draws")
        seen = options["var_names"] = names_of(self._model, var_names or self._model.observed)
        if "posterior_predictive" not in post.children:
            drawn = self._model.predict(post, names=seen, seed=seed)
            post = extended(post, {name: x.to_dataset() for name, x in drawn.children.items()})
        drawn = post["posterior_predictive"].data_vars
        if any(x.dtype.kind in "biu" for name, x in drawn.items() if name in seen):
            options.setdefault("kind", "ecdf")
        with warnings.catch_warnings(), _panels_apart():
            warnings.filterwarnings("ignore", "Deleting a single level", FutureWarning)  # ArviZ's
            return arviz.plot_ppc_dist(
                post, **_labeled(arviz.plot_ppc_dist, post, "posterior_predictive", options)
            )

    def forecast(
        self,
        new: xr.DataTree,
        name: Any = None,
        dim: Any = None,
        *,
        intervals: tuple[float, ...] = (0.5, 0.9),
        ax: Any = None,
    ) -> Any:
        """Plot predictions along a dim as a fan of intervals, with the observations.

        The attributes ``units`` and ``long_name`` of the predictions and of their coords label the
        axes. Predictions have those of the observations, if these are a DataArray.

        Parameters
        ----------
        new : DataTree, Dataset or DataArray
            What ``fit.predict`` returns, or its group or variable of predictions.
        name : DimTensor or str, optional
            The variable, by default the first output of the model.
        dim : Dim or str, optional
            The dim of the horizontal axis, by default the only one of the variable, or the one that
            is longer than in the observations. Others have a panel for each label.
        intervals : tuple of float, optional
            Probabilities, of intervals around the median.
        ax : matplotlib Axes, optional

        Returns
        -------
        Axes or ndarray of Axes

        Raises
        ------
        ArgumentError
            If there are no predictions.
        OptionError
            If the variable has several dims and none is chosen, or too many panels.
        LabelError
            If there are no predictions of the variable, or it has no such dim.
        """
        drawn = _predictions(new)
        chosen = self._model.outputs[0] if name is None else name
        (title,) = names_of(self._model, chosen)
        if title not in drawn:
            raise LabelError(
                f"the draws have no predictions of {title!r}",
                [("predictions", listing(list(map(str, drawn.data_vars))))],
                f"fit.predict(post, names=[{title!r}], seed=1)",
            )
        seen = self._model.observed.get(title)
        return _fan(drawn[title], _along(drawn[title], dim, seen), seen, intervals, ax)


def _too_many_panels(name: str, post: Any, asked: Any) -> OptionError:
    """Return the error for more panels than ArviZ draws, with variables that fit."""
    sizes = {
        str(each): math.prod(n for dim, n in x.sizes.items() if dim not in LEADING)
        for each, x in posterior_of(post).data_vars.items()
        if asked is None or each in asked
    }
    fitting: list[str] = []
    for each in sorted(sizes, key=lambda each: sizes[each]):
        if sum(sizes[x] for x in [*fitting, each]) <= _MOST_PANELS:
            fitting.append(each)
    shown = [f"{each}: {n}" for each, n in sizes.items() if each not in fitting]
    chosen = f"fit.plot.{name}(post, var_names={[x for x in sizes if x in fitting]}); "
    return OptionError(
        f"{name} has a panel for each element, and {sum(sizes.values())} are not drawn",
        [("elements", listing(shown))],
        f"{chosen if fitting else ''}fit.plot.forest(post) has a row for each element",
    )


def _with_short_labels(post: Any) -> Any:
    """Shorten labels that would cover other columns of a forest, as long as they differ."""
    if "posterior" not in getattr(post, "children", {}):
        return post
    draws, short = post["posterior"].to_dataset(), {}
    for dim in draws.dims:
        if dim not in draws.coords or draws.indexes[dim].nlevels > 1:
            continue
        labels = draws.indexes[dim].tolist()
        texts = [_short(x) if isinstance(x, str) else x for x in labels]
        if texts != labels and len(set(texts)) == len(texts):
            short[dim] = texts
    return extended(post, {"posterior": draws.assign_coords(short)}) if short else post


def _short(text: str) -> str:
    """Leave out the middle of a long text.

    >>> _short("A rather long label of group 12")
    'A rather lo…of group 12'
    """
    most = FOREST_LABEL
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2) :]}"


def _predictions(new: Any) -> xr.Dataset:
    """Return the predictions among draws.

    Raises
    ------
    ArgumentError
        If there are none.
    """
    for group in ("predictions", "posterior_predictive"):
        if group in getattr(new, "children", ()):
            return new[group].to_dataset()
    if {*LEADING} <= {*getattr(new, "dims", ())}:
        if is_dataarray(new):
            return new.to_dataset(name=new.name or "predictions")
        return new.to_dataset() if hasattr(new, "children") else new
    raise ArgumentError(
        f"a forecast is drawn from predictions, and this {type(new).__name__} has none",
        hint="fit.plot.forecast(fit.predict(post, seed=1))",
    )


def _labeled(plot: Any, post: Any, group: str, options: dict[str, Any]) -> dict[str, Any]:
    """Add labels with units to the options of ArviZ's plots, unless they have others."""
    children = getattr(post, "children", {})
    if group not in children or "labeller" not in inspect.signature(plot).parameters:
        return options
    drawn = children[group].data_vars
    names = {
        str(n): _axis_label(x) for n, x in drawn.items() if {"units", "long_name"} & {*x.attrs}
    }
    if not names:
        return options
    labels = require("arviz_base.labels", "sampling", "plots of draws")
    return {"labeller": labels.MapLabeller(var_name_map=names)} | options


def _axis_label(x: xr.DataArray) -> str:
    """Return the name of an array with its units, as xarray writes it on an axis."""
    units = x.attrs.get("units")
    return f"{x.attrs.get('long_name', x.name)}{f' [{units}]' if units else ''}"


def _along(x: xr.DataArray, dim: Any, seen: xr.DataArray | None) -> str:
    """Return the dim of the horizontal axis.

    Raises
    ------
    OptionError
        If there are several, and none is chosen.
    LabelError
        If there is no such dim.
    """
    own = [str(each) for each in x.dims if each not in LEADING]
    asked = getattr(dim, "name", dim)
    if asked is not None and asked not in own:
        raise LabelError(f"{x.name!r} has no dim {asked!r}", [("dims", listing(own))])
    if asked is not None:
        return str(asked)
    known = {} if seen is None else seen.sizes
    longer = [d for d in own if x.sizes[d] > known.get(d, x.sizes[d])]
    if len(own) != 1 and len(longer) != 1:
        in_order = [d for d in own if d in x.coords and x[d].dtype.kind in "iufM"]
        raise OptionError(
            f"a forecast is drawn along one dim, and {x.name!r} has {len(own)}",
            [("dims", listing(own) or "none")],
            f"fit.plot.forecast(new, dim={[*in_order, *own][0]!r})" if own else None,
        )
    return own[0] if len(own) == 1 else longer[0]


def _fan(
    x: xr.DataArray, along: str, seen: xr.DataArray | None, intervals: tuple[float, ...], ax: Any
) -> Any:
    pyplot = require("matplotlib.pyplot", "viz", "plots of forecasts")
    others = [dim for dim in x.dims if dim not in (*LEADING, along)]
    panels = [
        dict(zip(others, at, strict=True)) for at in np.ndindex(*(x.sizes[d] for d in others))
    ]
    if len(panels) > _MOST_PANELS:
        raise OptionError(
            f"a forecast of {len(panels)} panels is not drawn",
            [("dims", listing([f"{dim}: {x.sizes[dim]}" for dim in others]))],
            "select some labels of the predictions before they are plotted",
        )
    if ax is None:
        _, axes = pyplot.subplots(
            len(panels),
            squeeze=False,
            sharex=True,
            layout="constrained",
            figsize=(7, 0.7 + 1.9 * len(panels)),
        )
        axes = axes[:, 0]
    else:
        axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    for place, panel in zip(axes, panels, strict=True):
        part = x.isel(panel)
        _draw(place, part, along, intervals)
        if seen is not None and set(seen.dims) == {along, *others}:
            labels = {d: part[d] for d in others if d in x.coords}
            shown = seen.sel(labels) if len(labels) == len(others) else seen.isel(panel)
            at = shown[along] if along in shown.coords else np.arange(shown.sizes[along])
            place.plot(at, shown, ".", color="0.3", label="observed")
        texts = [f"{d} {part[d].item() if d in x.coords else panel[d]}" for d in others]
        place.set_title(", ".join(texts), fontsize="medium")
        place.set_ylabel(_axis_label(x))
    axes[-1].set_xlabel(_axis_label(x[along]))
    axes[0].legend(frameon=False, fontsize="small")
    return axes if len(axes) > 1 else axes[0]


def _draw(place: Any, x: xr.DataArray, along: str, intervals: tuple[float, ...]) -> None:
    at = x[along] if along in x.coords else np.arange(x.sizes[along])
    for inside in sorted(intervals, reverse=True):
        bounds = [0.5 - inside / 2, 0.5 + inside / 2]
        low, high = x.quantile(bounds, LEADING).transpose("quantile", along).values
        place.fill_between(at, low, high, alpha=0.3, color="C0", lw=0, label=f"{inside:.0%}")
    place.plot(at, x.median(LEADING), color="C0", label="median")
