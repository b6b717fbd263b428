"""Log densities of the variables of a model, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dimtensor.errors import GraphError, OptionError
from dimtensor.model.density import Which, evaluate_terms
from dimtensor.model.inference.constant import warn_of_constant
from dimtensor.model.inference.results import LEADING, extended, posterior_of, with_leading
from dimtensor.model.missing import left
from dimtensor.model.parts.approximating import Approximating
from dimtensor.model.records import as_dataset
from dimtensor.renderers import plots

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.display.plots import ModelPlots
    from dimtensor.model.model import Model


class Evaluating(Approximating):
    """Log densities of :class:`dimtensor.Model`, by variable."""

    @property
    def plot(self) -> ModelPlots:
        """ArviZ's plots of draws: ``fit.plot.trace(post)`` is ``arviz.plot_trace(post)``.

        All functions ``plot_...`` of ArviZ are there; ``var_names`` may be tensors.

        Returns
        -------
        ModelPlots
        """
        return plots(self)

    def logp(self, point: Any) -> xr.Dataset:
        """Log densities by variable, element by element.

        Parameters
        ----------
        point : dict, Dataset or DataTree
            Values of the free variables; additional dims batch.

        Returns
        -------
        Dataset
            The sum over everything is the log density.

        Raises
        ------
        InputError
            If a value is missing.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 1.0))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python").observe(y=1.0)
        >>> terms = fit.logp({"mu": 1.0})  # -log(2 pi) / 2, less 1 / 2 for mu
        >>> round(terms["mu"].item(), 3), round(terms["y"].item(), 3)
        (-1.419, -0.919)
        """
        return self._terms(point, list(self.variables))

    def _terms(self, point: Any, names: list[str], which: Which = "elements") -> xr.Dataset:
        return evaluate_terms(cast("Model", self), point, names, which)

    def log_likelihood(
        self, post: Any, *, one_step_ahead: bool = False, grouped: bool = False
    ) -> xr.DataTree:
        """Log densities of what is observed for each draw, element by element.

        Parameters
        ----------
        post : DataTree or Dataset
            Draws of the free variables.
        one_step_ahead : bool, optional
            Where a chain is summed out, elements of what depends on it are not independent of each
            other. With this the log density of each is that given all elements before it, as it is
            for elements of series: AR, walks, GARCH, Markov chains, `dist.Series`.
        grouped : bool, optional
            Elements that share what is summed out have one log density, those of a subject or of
            a whole chain, and variables that share it do, under all of their names. It is that of
            groups that are left out as a whole.

        Returns
        -------
        DataTree
            `post` with the group ``log_likelihood``.

        Warns
        -----
        ModelWarning
            If some elements have the same density in all draws, such as the first one of a series
            that starts from a fixed law. They depend on no parameter, and ``arviz.loo`` and
            ``arviz.plot_loo_pit`` fail for them; ``arviz.loo(post.isel(t=slice(1, None)))`` leaves
            the first along ``t`` out, and the warning says which and how.

        Raises
        ------
        OptionError
            If nothing is observed.
        GraphError
            If elements share what is summed out, and are asked for neither one step ahead nor in
            groups; or one step ahead, where only the density of a whole series is known.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 1.0))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python").observe(y=1.0)
        >>> post = fit.log_likelihood(fit.laplace(20, seed=1))
        >>> dict(post["log_likelihood"]["y"].sizes)
        {'chain': 1, 'draw': 20}
        """
        if not self.observed:
            raise GraphError("log_likelihood: the model has no observations; model.observe({...})")
        if one_step_ahead and grouped:
            raise OptionError("log_likelihood: elements one step ahead are in no groups")
        which: Which = "ahead" if one_step_ahead else "groups" if grouped else "elements"
        found = self._terms(posterior_of(post), list(self.observed), which)
        kept = {str(name): self._known(str(name), x) for name, x in found.items()}
        found = with_leading(as_dataset(kept, LEADING), post)
        warn_of_constant(found)
        return extended(post, {"log_likelihood": found})

    def _known(self, name: str, values: xr.DataArray) -> xr.DataArray:
        """Something of each observation without those that are missing."""
        observed = self.observed.get(name)
        if observed is None:
            return values
        if not set(observed.dims) <= set(values.dims):
            d = self.variables[name].distribution
            joint = [dim._short for dim in d.event_dims if dim._short not in values.dims]
            if not joint:
                return values  # of groups
            # elements that have one density are missing together
            observed = observed.isel({dim: 0 for dim in joint if dim in observed.dims})
        return left(values, observed)

    def log_prior(self, post: Any) -> xr.DataTree:
        """Log densities of the free variables for each draw; as :meth:`log_likelihood`.

        Parameters
        ----------
        post : DataTree or Dataset
            Draws of the free variables.

        Returns
        -------
        DataTree
            `post` with the group ``log_prior``.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 1.0))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python").observe(y=1.0)
        >>> list(fit.log_prior(fit.laplace(20, seed=1))["log_prior"].data_vars)
        ['mu']
        """
        found = self._terms(posterior_of(post), list(cast("Model", self).free))
        return extended(post, {"log_prior": with_leading(found, post)})
