"""What a model knows of its posterior without sampling it: its mode, and approximations of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dimtensor.errors import OptionError
from dimtensor.model.checks import check_observed
from dimtensor.model.density import log_density, raw_name
from dimtensor.model.inference.approximate import Mode, find_mode, normal_at
from dimtensor.model.inference.memory import check_draws
from dimtensor.model.inference.results import add_known_groups
from dimtensor.model.inference.runs import Draws, Run, keeping, labelled
from dimtensor.model.inference.sample import check_unknowns, check_whole, start_of
from dimtensor.model.logdensity import LogDensity
from dimtensor.model.parts.summing import Summing
from dimtensor.random.seeds import seed_for

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.model import Model


class Approximating(Summing):
    """Modes and approximations of :class:`dimtensor.Model`."""

    _noncentred: frozenset[str]

    def mode(self, *, initial: Any = None) -> xr.Dataset:
        """The most probable values of the free variables: the maximum a posteriori.

        It is the maximum of the density of the variables themselves, and not of transformed ones;
        that of a variable that is not centered, of the standardised one.

        Parameters
        ----------
        initial : dict or Dataset, optional
            Where the search starts: values of all free variables.

        Returns
        -------
        Dataset
            Values of variables and named expressions. Attributes say the log density there, and
            whether the search ended at a maximum.

        Raises
        ------
        CheckError
            If the log density is not finite where the search starts.

        Warns
        -----
        ModelWarning
            If no maximum is found.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> rate = dt.rv("rate", dist.Gamma(3.0, 2.0))
        >>> y = dt.rv("y", dist.Poisson(rate))
        >>> mode = dt.Model(y, backend="python").observe({y: 4}).mode()
        >>> float(mode["rate"].round(4))  # (3 + 4 - 1) / (2 + 1)
        2.0
        """
        density = log_density(_model(self), jacobian=False)
        found = find_mode(density, start_of(density, initial))
        raw = [raw_name(name) for name in self._noncentred]
        values = density.constrain(found.vector).drop_vars(raw)
        values.attrs.update(_told("scipy", _scipy_version(), found.seconds))
        values.attrs.update(
            log_density=found.value,
            converged=int(found.converged),  # files have no bool among attributes
            evaluations=found.evaluations,
            message=found.message,
        )
        return values

    def laplace(
        self,
        draws: int = 1000,
        *,
        seed: int | None = None,
        initial: Any = None,
        prior: bool = False,
    ) -> xr.DataTree:
        """Draws from the normal distribution that fits the posterior at its mode.

        In the unconstrained elements that a sampler moves; draws have the supports of their
        variables.

        Parameters
        ----------
        draws : int
        seed : int, optional
        initial : dict or Dataset, optional
            Where the search for the mode starts.
        prior : bool
            Whether the model may be one in which nothing is observed, as in :meth:`sample`.

        Returns
        -------
        DataTree
            As of :meth:`sample`, of one chain. ``sample_stats`` has the log densities of the
            posterior, ``lp``, and of the approximation, ``log_q``; the attribute ``log_evidence``
            of ``posterior`` is the logarithm of the integral by this approximation.

        Raises
        ------
        CheckError
            If the log density is not finite where the search for the mode starts, or is flat or
            rises along a direction where it ends: no normal distribution fits.
        GraphError
            If nothing is observed.

        Warns
        -----
        ModelWarning
            If no maximum is found.

        References
        ----------
        Tierney and Kadane 1986, "Accurate approximations for posterior moments and marginal
        densities", Journal of the American Statistical Association 81.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 1.0))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python").observe(y=1.0)
        >>> post = fit.laplace(1000, seed=1)  # the posterior is normal, with mean and variance 1/2
        >>> round(float(post["posterior"]["mu"].mean()), 1)
        0.5
        """
        check_whole("laplace", {"draws": draws}, {"seed": seed})
        check_observed(_model(self), "laplace", prior)
        density = log_density(_model(self))
        check_draws("laplace", density.size, draws)
        mode: Mode = find_mode(density, start_of(density, initial), "laplace")
        normal = normal_at(density, mode)
        seed = _some(seed)
        vectors, log_q = normal.draw(draws, seed_for(seed, "laplace"))
        log_p = np.array([density.logp(x) for x in vectors])
        attributes = _told("scipy", _scipy_version(), mode.seconds)
        attributes |= {"inference_method": "laplace", "seed": seed}
        tree = self._approximation(density, vectors, log_p, log_q, attributes)
        tree["posterior"].attrs["log_evidence"] = normal.log_evidence
        return tree

    def pathfinder(
        self,
        draws: int = 1000,
        *,
        seed: int | None = None,
        paths: int = 4,
        maxiter: int = 100,
        initial: Any = None,
        prior: bool = False,
    ) -> xr.DataTree:
        """Draws by Pathfinder: normal approximations along the way to the mode, the best of each.

        Parameters
        ----------
        draws : int
        seed : int, optional
        paths : int
            Ways from different starts, whose draws are resampled by their importance.
        maxiter : int
            Most steps of a way.
        initial : dict or Dataset, optional
            Around where the ways start.
        prior : bool
            Whether the model may be one in which nothing is observed, as in :meth:`sample`.

        Returns
        -------
        DataTree
            As of :meth:`laplace`; the attribute ``elbo`` has the evidence lower bound of each path.

        Raises
        ------
        MissingExtraError
            If BlackJAX is not installed.
        GraphError
            If nothing is observed.

        References
        ----------
        Zhang, Carpenter, Gelman and Vehtari 2022, "Pathfinder: Parallel quasi-Newton variational
        inference", Journal of Machine Learning Research 23.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="jax").observe(y=1.0)
        >>> dict(fit.pathfinder(4, paths=1, maxiter=5, seed=1)["posterior"]["mu"].sizes)
        {'chain': 1, 'draw': 4}
        """
        from dimtensor.interop.blackjax_variational import pathfinder

        numbers = {"draws": draws, "paths": paths, "maxiter": maxiter}
        check_whole("pathfinder", numbers, {"seed": seed})
        check_observed(_model(self), "pathfinder", prior)
        density, seed = log_density(_model(self)), _some(seed)
        check_draws("pathfinder", density.size, draws)
        found = pathfinder(density, start_of(density, initial), draws, paths, seed, maxiter)
        return self._of_blackjax(density, found, "pathfinder", seed, elbo=found.elbo.tolist())

    def advi(
        self,
        draws: int = 1000,
        *,
        seed: int | None = None,
        steps: int = 10_000,
        samples: int = 5,
        learning_rate: float = 0.05,
        full_rank: bool = False,
        prior: bool = False,
    ) -> xr.DataTree:
        """Draws from the normal approximation with the smallest Kullback-Leibler divergence.

        Parameters
        ----------
        draws : int
        seed : int, optional
        steps : int
            Of the optimiser, Adam, whose rate decays to a hundredth.
        samples : int
            Draws of a step.
        learning_rate : float
        full_rank : bool
            Whether elements are correlated; without it each has a variance of its own.
        prior : bool
            Whether the model may be one in which nothing is observed, as in :meth:`sample`.

        Returns
        -------
        DataTree
            As of :meth:`laplace`; the group ``optimization`` has the evidence lower bound of each
            step, ``elbo``.

        Raises
        ------
        MissingExtraError
            If BlackJAX is not installed.
        OptionError
            If nothing is observed.

        References
        ----------
        Kucukelbir, Tran, Ranganath, Gelman and Blei 2017, "Automatic differentiation variational
        inference", Journal of Machine Learning Research 18.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="jax").observe(y=1.0)
        >>> dict(fit.advi(4, steps=5, seed=1)["posterior"]["mu"].sizes)
        {'chain': 1, 'draw': 4}
        """
        import xarray as xr

        from dimtensor.interop.blackjax_variational import advi

        check_whole("advi", {"draws": draws, "steps": steps, "samples": samples}, {"seed": seed})
        check_observed(_model(self), "advi", prior)
        if not isinstance(learning_rate, (int, float)) or not learning_rate > 0:
            raise OptionError(f"advi: learning_rate is above 0, not {learning_rate!r}")
        density, seed = log_density(_model(self)), _some(seed)
        check_draws("advi", density.size, draws)
        check_unknowns(density)
        found = advi(density, draws, seed, steps, samples, float(learning_rate), bool(full_rank))
        method = "full-rank advi" if full_rank else "mean-field advi"
        tree = self._of_blackjax(density, found, method, seed)
        history = xr.Dataset({"elbo": ("step", found.elbo)})
        tree["optimization"] = xr.DataTree(history)
        return tree

    def _of_blackjax(
        self, density: LogDensity, found: Any, method: str, seed: int, **more: Any
    ) -> xr.DataTree:
        attributes = _told(found.library, found.version, found.seconds)
        attributes |= {"inference_method": method, "seed": seed}
        tree = self._approximation(density, found.vectors, found.log_p, found.log_q, attributes)
        tree["posterior"].attrs.update(more)
        return tree

    def _approximation(
        self,
        density: LogDensity,
        vectors: np.ndarray,
        log_p: np.ndarray,
        log_q: np.ndarray,
        attributes: Mapping[str, Any],
    ) -> xr.DataTree:
        import xarray as xr

        dims = ("chain", "draw")
        statistics = xr.Dataset({"lp": (dims, log_p[None]), "log_q": (dims, log_q[None])})
        run = Run(Draws(vectors[None], statistics), None, 0.0, dict(attributes))
        tree = labelled(density, run, True, ())
        with keeping(tree):
            return add_known_groups(_model(self), tree)


def _model(self: Approximating) -> Model:
    """What all of these are, for those who check types."""
    return cast("Model", self)


def _told(library: str, version: str, seconds: float) -> dict[str, Any]:
    return {
        "inference_library": library,
        "inference_library_version": version,
        "sampling_time": seconds,
    }


def _scipy_version() -> str:
    import scipy

    return scipy.__version__


def _some(seed: int | None) -> int:
    from dimtensor.model.inference.sample import any_seed

    return any_seed() if seed is None else int(seed)
