"""Models: random variables and what depends on them, found from the graph."""
# over budget: the face of all that models can do, most of whose lines are docstrings

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Never, Self

from dimtensor.errors import ArgumentError, LabelError, did_you_mean, named_after
from dimtensor.model.inference import pointwise, posterior
from dimtensor.model.marginal.recovery import elimination, recover
from dimtensor.model.predictive import predictions
from dimtensor.model.spec import (
    ModelSpec,
    center,
    intervene,
    marginalize,
    new_spec,
    noncenter,
    observe,
    with_data,
)
from dimtensor.renderers import Rendered, picture, plots, summaries
from dimtensor.spellings import no_attribute, spelled, spelled_methods
from dimtensor.tensor.handle import wrap
from dimtensor.values.data import as_mapping

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from dimtensor.backends import BackendName
    from dimtensor.dims import Dim
    from dimtensor.display.plots import ModelPlots
    from dimtensor.model.logdensity import LogDensity
    from dimtensor.model.minibatch.batches import Minibatches
    from dimtensor.model.observations import Observations
    from dimtensor.model.variables import Variable
    from dimtensor.plugins.pictures.picture import Picture
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import ArrayLike, Data, Path, Posterior, TensorLike, Variables


@named_after
@spelled_methods
class Model(Rendered):
    """Random variables, and everything that they depend on.

    A model is immutable: `observe`, `do`, `with_data` and the like return new ones. Its variables
    are found from the graph of its outputs, and keep the order in which they were written.

    Parameters
    ----------
    *outputs : DimTensor
        Random variables (:func:`dimtensor.rv`) and named expressions (:func:`dimtensor.named`).
    data : dict of DimTensor (or its name) to value, optional
        Values of inputs, and replacements of values of data.
    backend : {"native", "jax", "python"}
        Backend of compiled functions.

    Attributes
    ----------
    spec : ModelSpec
        All that the model consists of, as data; methods are functions of it.

    Raises
    ------
    GraphError
        If a name is used twice, an input has none, or a parameter of a distribution is a variable
        that may be out of its range.
    OptionError
        If an output has no name, or a name has a slash.
    InputError
        If there are data of no input.
    ArgumentError
        If outputs are given in a list.
    LabelError
        If there are data of a name that no input has.
    MemoryLimitError
        If an array of dask does not fit into memory.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> obs = dt.Dim("obs")
    >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
    >>> y = dt.rv("y", dist.Normal(mu, 1.0), dims=obs)
    >>> fit = dt.Model(y, backend="python").observe({y: [1.0, 3.0]})
    >>> float(fit.logp({mu: 2.0})["y"].sum().round(4))
    -2.8379

    Draws, here of the normal approximation at the mode in place of ``fit.sample()``, and what is
    made of them:

    >>> post = fit.laplace(draws=4, seed=1)
    >>> dict(post["posterior"]["mu"].sizes)
    {'chain': 1, 'draw': 4}
    >>> dict(fit.log_likelihood(post)["log_likelihood"]["y"].sizes)
    {'chain': 1, 'draw': 4, 'obs': 2}
    >>> dict(fit.log_prior(post)["log_prior"]["mu"].sizes)
    {'chain': 1, 'draw': 4}
    >>> dict(fit.predict(post, dims={obs: 3}, seed=1)["predictions"]["y"].sizes)
    {'chain': 1, 'draw': 4, 'obs': 3}
    >>> dict(fit.draw(2, dims={obs: 3}, seed=1)["prior"]["mu"].sizes)
    {'chain': 1, 'draw': 2}

    Another parametrization of the same model, as a function of a flat vector:

    >>> scale = dt.data(2.0, name="scale")
    >>> effect = dt.rv("effect", dist.Normal(mu, scale))
    >>> model = dt.Model(effect, backend="python").noncentered(effect)
    >>> model.log_density().names, model.centered().log_density().names
    (['mu', 'effect_raw'], ['mu', 'effect'])
    >>> model.with_data(scale=3.0).data["scale"].item()
    3.0
    """

    @spelled("Model")
    def __init__(
        self,
        *outputs: DimTensor,
        data: Mapping[Any, Any] | None = None,
        backend: BackendName = "native",
    ):
        self.spec = new_spec(outputs, data, backend)

    def _with(self, spec: ModelSpec) -> Self:
        """Make a model of another specification."""
        return _model_of(spec, type(self))

    @property
    def outputs(self) -> tuple[DimTensor, ...]:
        """The random variables and named expressions that the model was made of."""
        return self.spec.outputs

    @property
    def backend(self) -> str:
        """Name of the backend of compiled functions."""
        return self.spec.backend

    @property
    def data(self) -> dict[str, xr.DataArray]:
        """Values of inputs, and replacements of the values that data were made with, by name."""
        return dict(self.spec.data)

    @property
    def defaults(self) -> dict[str, xr.DataArray]:
        """Values of all inputs that have one, by name."""
        return self.spec.defaults

    @property
    def observed(self) -> Observations:
        """Observed values of random variables, by name."""
        return self.spec.observed

    @property
    def variables(self) -> dict[str, Variable]:
        """Random variables by name, in topological order, with their distributions."""
        return self.spec.variables

    @property
    def free(self) -> dict[str, Variable]:
        """Random variables that are neither observed nor summed out."""
        return self.spec.free

    # -- other models ------------------------------------------------------------------------------

    def with_data(self, data: Mapping[Any, Any] | None = None, **by_name: ArrayLike) -> Self:
        """Replace data of the model.

        Parameters
        ----------
        data : dict of DimTensor (or its name) to value
        **by_name
            New values by name.

        Returns
        -------
        Model

        Raises
        ------
        LabelError
            If the model has no such data.
        MemoryLimitError
            If an array of dask does not fit into memory.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> x = dt.data([1.0, 2.0], dims=dt.Dim("obs"), name="x")
        >>> model = dt.Model(dt.rv("y", dist.Normal(x, 1.0)), backend="python")
        >>> model.with_data(x=[1.0, 2.0, 4.0]).data["x"].sizes["obs"]
        3
        """
        return self._with(
            with_data(self.spec, {**as_mapping(data, "data", self.spec.graph.inputs), **by_name})
        )

    def observe(
        self,
        values: Mapping[Any, Any] | None = None,
        *,
        missing: str | None = None,
        **by_name: ArrayLike,
    ) -> Self:
        """Condition on values of random variables.

        Parameters
        ----------
        values : dict of DimTensor (or its name) to value
        missing : {"drop", "infer"}, optional
            What happens to values that are NaN or masked (or NA or None, of labels): dropped ones
            are left out of the density, inferred ones are a parameter, ``y_missing`` for a variable
            y, over their labels. Without it they are an error.
        **by_name
            Values by name.

        Returns
        -------
        Model

        Raises
        ------
        LabelError
            If there is no such variable.
        InputError
            If values are missing or outside of their support, or those that are left out are read
            by other variables.
        MemoryLimitError
            If an array of dask does not fit into memory.

        Warns
        -----
        ModelWarning
            If nothing observed depends on a variable: its posterior is its prior.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
        >>> y = dt.rv("y", dist.Normal(mu, 1.0), dims=dt.Dim("k", coords=["a", "b"]))
        >>> fit = dt.Model(y, backend="python").observe({y: [1.0, 2.0]})
        >>> list(fit.free), fit.observed["y"].sel(k="b").item()
        (['mu'], 2.0)
        """
        given = {**as_mapping(values, "observations", self.spec.graph.nodes), **by_name}
        return self._with(observe(self.spec, given, missing))

    def do(self, values: Mapping[Any, Any] | None = None, **by_name: TensorLike) -> Self:
        """Intervene: set variables to values, whatever they depended on.

        Parameters
        ----------
        values : dict of DimTensor (or its name) to number, array or DimTensor
            Of random variables and of named expressions. Values have dims of what they replace.
        **by_name
            Values by name.

        Returns
        -------
        Model
            The variables are named expressions of it, with the values.

        Raises
        ------
        LabelError
            If there is no such variable.
        DimError
            If a value has other dims.
        DtypeError
            If a value is no number.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> x = dt.rv("x", dist.Normal(0.0, 1.0))
        >>> y = dt.rv("y", dist.Normal(3.0 * x, 0.1))
        >>> model = dt.Model(y, backend="python").do({x: 2.0})
        >>> list(model.variables)
        ['y']
        """
        given = {**as_mapping(values, "interventions"), **by_name}
        return self._with(intervene(self.spec, given))

    def noncentered(self, *variables: Variables) -> Self:
        """Sample variables in their noncentered parametrization.

        For a variable with a location and a scale the standardized variable is sampled: the
        variable is location + scale · standardized. A normal vector or Gaussian process is its mean
        plus the Cholesky factor of its covariance times independent elements; random walks and
        autoregressions follow from standardized steps. Posterior and names are the same.

        Parameters
        ----------
        *variables : DimTensor or str

        Returns
        -------
        Model

        Raises
        ------
        LabelError
            If there is no such variable.
        GraphError
            If its distribution has no standardized one.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
        >>> x = dt.rv("x", dist.Normal(mu, 2.0))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(x, 1.0)), backend="python").observe(y=1.0)
        >>> fit.noncentered(x).log_density().names
        ['mu', 'x_raw']
        """
        return self._with(noncenter(self.spec, variables))

    def centered(self, *variables: Variables) -> Self:
        """Undo :meth:`noncentered` for variables, by default for all.

        Parameters
        ----------
        *variables : DimTensor or str

        Returns
        -------
        Model

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> x = dt.rv("x", dist.Normal(0.0, 2.0))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(x, 1.0)), backend="python").observe(y=1.0)
        >>> fit.noncentered(x).centered().log_density().names
        ['x']
        """
        return self._with(center(self.spec, variables))

    def marginalize(
        self,
        *variables: Variables,
        states: Mapping[Any, Sequence[int]] | None = None,
        associative_scan: bool = False,
    ) -> Self:
        """Sum discrete variables out of the log density.

        Dims tell which terms depend on which elements: see :func:`dimtensor.marginalize`.

        Parameters
        ----------
        *variables : DimTensor or str
        states : dict of DimTensor (or its name) to sequence of int, optional
            The values of variables that have no two bounds, such as counts.
        associative_scan : bool, optional
            Multiply the matrices of chains in pairs, with states³ numbers for each position, as
            :func:`dimtensor.marginalize` does.

        Returns
        -------
        Model
            Its draws lack the variables; :meth:`recover` adds them.

        Raises
        ------
        LabelError
            If there is no such variable.
        OptionError
            If it is observed.
        ArgumentError
            If variables are given in a list.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> obs, kind = dt.Dim("obs"), dt.Dim("kind", coords=["low", "high"])
        >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0), dims=kind)
        >>> weights = dt.data([0.5, 0.5], dims=kind)
        >>> z = dt.rv("z", dist.Categorical(weights, dim=kind), dims=obs)
        >>> y = dt.rv("y", dist.Normal(mu.sel(kind=z), 1.0))
        >>> fit = dt.Model(y, backend="python").observe({y: [0.1, 4.9]}).marginalize(z)
        >>> fit.log_density().names
        ['mu[low]', 'mu[high]']
        >>> fit.logp({mu: [0.0, 5.0]})["y"].values.round(4).tolist()
        [-1.6171, -1.6171]
        """
        return self._with(marginalize(self.spec, variables, states, associative_scan))

    # -- log densities -----------------------------------------------------------------------------

    def log_density(self) -> LogDensity:
        """Return the log density of the free variables as a function of one flat vector.

        Its terms have the names of the variables.

        Returns
        -------
        LogDensity

        Raises
        ------
        GraphError
            If a free variable is discrete, or the length of one is not known.
        InputError
            If an input has no value.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python").observe(y=1.0)
        >>> fit.log_density()
        <LogDensity of 1 unconstrained elements on python>
          mu  real  {}  1
          terms: mu, y
        """
        return self.spec.log_density

    def logp(self, point: Data) -> xr.Dataset:
        """Compute log densities by variable, element by element.

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
        return pointwise.logp(self.spec, point, list(self.variables))

    def log_likelihood(
        self,
        post: Posterior,
        *,
        one_step_ahead: bool = False,
        grouped: bool = False,
        store: Path | None = None,
        chunks: int | None = None,
    ) -> xr.DataTree:
        """Add the log likelihood: densities of observations for each draw, element by element.

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
        store : path-like, optional
            A Zarr store to create: some draws are computed at a time and appended to it, so that
            the whole is never in memory. The result's group reads from it.
        chunks : int, optional
            Draws of each chain that are computed at a time, by default those of 64 MiB.

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
        MemoryLimitError
            If the result does not fit into memory; ``store=`` writes it to a file.
        InputError
            If the store exists.
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
        return pointwise.log_likelihood(self.spec, post, one_step_ahead, grouped, store, chunks)

    def residuals(
        self,
        post: Posterior | Mapping[Any, Any],
        *,
        store: Path | None = None,
        chunks: int | None = None,
    ) -> xr.DataTree:
        """Add one-step-ahead residuals: observations less their predictions from earlier ones.

        Where a chain is integrated out, each observation is predicted from those at earlier
        positions of the chain; otherwise it has the mean and variance of its distribution. If the
        model is right, standardized residuals of each element have mean 0, variance 1, and no
        correlation along the chain.

        Parameters
        ----------
        post : DataTree, Dataset or mapping
            Draws of the free variables, or their values at one point.
        store : path-like, optional
            A Zarr store to create, as that of :meth:`log_likelihood`.
        chunks : int, optional
            Draws of each chain that are computed at a time.

        Returns
        -------
        DataTree
            `post` with the groups ``fitted``, the predictive means, ``residuals``, and
            ``standardized_residuals``, the residuals divided by the predictive standard
            deviations. Residuals of missing observations are NaN.

        Raises
        ------
        GraphError
            If nothing is observed, or an observed variable is not normal given earlier ones.
        OptionError
            If there are options of draws and only one point.
        MemoryLimitError
            If the result does not fit into memory; ``store=`` writes it to a file.
        InputError
            If values are missing, or the store exists.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> day = dt.Dim("day", length=3)
        >>> level = dt.rv("level", dist.GaussianRandomWalk(0.0, 1.0, dim=day, start=dist.Normal()))
        >>> y = dt.rv("y", dist.Normal(level, 1.0))
        >>> fit = dt.Model(y, backend="python").observe({y: [2.0, 2.0, 2.0]}).marginalize(level)
        >>> fit.residuals({})["residuals"]["y"].values.round(3).tolist()
        [2.0, 1.0, 0.4]
        """
        return pointwise.residuals(self.spec, post, store, chunks)

    def log_prior(self, post: Posterior) -> xr.DataTree:
        """Add log densities of the free variables for each draw; as :meth:`log_likelihood`.

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
        return pointwise.log_prior(self.spec, post)

    # -- the posterior -----------------------------------------------------------------------------

    def sample(
        self,
        draws: int = 1000,
        *,
        seed: int | None = None,
        unconstrained: bool = True,
        log_likelihood: bool = False,
        log_prior: bool = False,
        prior: bool = False,
        **options: Any,
    ) -> xr.DataTree:
        """Draw from the posterior with the No-U-Turn sampler.

        Parameters
        ----------
        draws : int
            Of each chain.
        seed : int, optional
        unconstrained : bool
            Whether unconstrained draws are kept, in the group ``unconstrained_posterior``.
        log_likelihood, log_prior : bool
            Whether the groups that :meth:`log_likelihood` and :meth:`log_prior` make are added.
        prior : bool
            Whether the model may be one in which nothing is observed: all of its variables are
            drawn from their prior. :meth:`draw` does so without a Markov chain.
        **options
            Those of :func:`dimtensor.sample`: ``sampler="nutpie"``, ``"blackjax"`` or
            ``"numpyro"``, ``tune``, ``chains``, ``threads``, ``client``, and so on.

        Returns
        -------
        DataTree
            ``posterior`` with all free variables and named expressions, ``sample_stats`` under the
            names that ArviZ knows, ``observed_data``, ``constant_data``.

        Raises
        ------
        GraphError
            If nothing is observed.
        ArgumentError, OptionError, PartitionError
            For options, as :func:`dimtensor.sample`.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(mu, 1.0))).observe(y=1.0)
        >>> post = fit.sample(20, tune=20, chains=1, seed=1, progress_bar=False, report=False)
        >>> dict(post["posterior"]["mu"].sizes)
        {'chain': 1, 'draw': 20}
        """
        return posterior.sample(
            self.spec,
            draws,
            seed=seed,
            unconstrained=unconstrained,
            log_likelihood=log_likelihood,
            log_prior=log_prior,
            prior=prior,
            **options,
        )

    def mode(
        self, *, initial: Data | None = None, threads: int | None = None, client: Any = None
    ) -> xr.DataTree:
        """Find the posterior mode: the maximum a posteriori values of the free variables.

        The density is that of the variables themselves, not of transformed ones; for a
        noncentered variable it is that of the standardized one.

        Parameters
        ----------
        initial : dict or Dataset, optional
            Where the search starts: values of all free variables. It begins 0.01 beside them in
            unconstrained coordinates, because symmetric values are often on the way to a saddle.
        threads : int, optional
            Threads that compute the log density in slices of the data, as in :meth:`sample`.
        client : distributed.Client, optional
            Cluster that computes it, as in :func:`dimtensor.sample`.

        Returns
        -------
        DataTree
            The groups of a posterior with one chain of one draw, the mode, as other methods take
            it. ``sample_stats`` has its log density ``lp``; attributes of the group ``posterior``
            tell whether the search converged.

        Raises
        ------
        CheckError
            If the log density is not finite where the search starts.
        OptionError
            If both `threads` and `client` are given, or `threads` is not a positive number.
        PartitionError
            If they are given, and the log density cannot be computed in slices of the data.

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
        >>> mode["posterior"]["rate"].round(4).item()  # (3 + 4 - 1) / (2 + 1)
        2.0
        """
        return posterior.mode(self.spec, initial, threads, client)

    def laplace(
        self,
        draws: int = 1000,
        *,
        seed: int | None = None,
        initial: Data | None = None,
        threads: int | None = None,
        client: Any = None,
        prior: bool = False,
    ) -> xr.DataTree:
        """Draw from the normal approximation of the posterior at its mode (Laplace).

        The approximation is normal on the unconstrained space; draws are transformed to the
        supports of their variables.

        Parameters
        ----------
        draws : int
        seed : int, optional
        initial : dict or Dataset, optional
            Where the search for the mode starts.
        threads : int, optional
            Threads that compute the log density in slices of the data, as in :meth:`sample`.
        client : distributed.Client, optional
            Cluster that computes it, as in :func:`dimtensor.sample`.
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
        OptionError
            If both `threads` and `client` are given, or `threads` is not a positive number.
        PartitionError
            If they are given, and the log density cannot be computed in slices of the data.

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
        return posterior.laplace(self.spec, draws, seed, initial, threads, client, prior)

    def pathfinder(
        self,
        draws: int = 1000,
        *,
        seed: int | None = None,
        paths: int = 4,
        maxiter: int = 100,
        initial: Data | None = None,
        threads: int | None = None,
        client: Any = None,
        prior: bool = False,
    ) -> xr.DataTree:
        """Draw by Pathfinder: the best normal approximation along each path to the mode.

        Parameters
        ----------
        draws : int
        seed : int, optional
        paths : int
            Number of paths from different starts; draws are resampled by their importance.
        maxiter : int
            Maximal number of steps of a path.
        initial : dict or Dataset, optional
            Point around which the paths start.
        threads : int, optional
            Threads that compute the log density in slices of the data, as in :meth:`sample`.
        client : distributed.Client, optional
            Cluster that computes it, as in :func:`dimtensor.sample`.
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
        OptionError
            If both `threads` and `client` are given, or `threads` is not a positive number.
        PartitionError
            If they are given, and the log density cannot be computed in slices of the data.

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
        return posterior.pathfinder(
            self.spec, draws, seed, paths, maxiter, initial, threads, client, prior
        )

    def advi(
        self,
        draws: int = 1000,
        *,
        seed: int | None = None,
        steps: int = 10_000,
        samples: int = 5,
        learning_rate: float = 0.05,
        full_rank: bool = False,
        threads: int | None = None,
        client: Any = None,
        prior: bool = False,
    ) -> xr.DataTree:
        """Draw from the normal approximation with the smallest Kullback-Leibler divergence.

        Parameters
        ----------
        draws : int
        seed : int, optional
        steps : int
            Steps of the optimizer, Adam, whose learning rate decays to a hundredth.
        samples : int
            Draws for each step.
        learning_rate : float
        full_rank : bool
            Whether elements are correlated; without it each has a variance of its own.
        threads : int, optional
            Threads that compute the log density in slices of the data, as in :meth:`sample`.
        client : distributed.Client, optional
            Cluster that computes it, as in :func:`dimtensor.sample`.
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
        GraphError
            If nothing is observed.
        OptionError
            If both `threads` and `client` are given, or a number is not positive.
        PartitionError
            If they are given, and the log density cannot be computed in slices of the data.

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
        return posterior.advi(
            self.spec, draws, seed, steps, samples, learning_rate, full_rank, threads, client, prior
        )

    def minibatch(
        self,
        dim: Dim | str,
        *,
        size: int,
        seed: int | None = None,
        by: Any = None,
        replace: bool = False,
    ) -> Minibatches:
        """Estimate the log density from random rows, for stochastic gradients.

        Priors are counted once, and the shares of rows times the number of rows that each
        represents, so that values and gradients are unbiased.

        Parameters
        ----------
        dim : Dim or str
            The dim of the rows.
        size : int
            Rows of a batch.
        seed : int, optional
        by : DimTensor, str or array, optional
            Strata, as in :meth:`LogDensity.minibatch`.
        replace : bool
            Whether rows are drawn independently of each other. By default each row is drawn once
            before all are shuffled again.

        Returns
        -------
        Minibatches
            Of :meth:`log_density`.

        Raises
        ------
        PartitionError
            If the log density is no sum over rows; `line` is that of the expression that mixes
            them.
        OptionError
            If the size is above the number of rows, or below that of strata, or the log density
            does not depend on the dim.
        GraphError
            If a free variable is discrete, or a stream is read by a Python function.
        InputError
            If the strata are no data of the model, or not one value for each row.
        UnknownDimError
            If there is no dim of this name.
        ArgumentError
            If `by` has labels of its own.

        Examples
        --------
        >>> import itertools, dimtensor as dt
        >>> from dimtensor import dist
        >>> obs = dt.Dim("obs")
        >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
        >>> y = dt.rv("y", dist.Normal(mu, 1.0), dims=obs)
        >>> fit = dt.Model(y, backend="python").observe({y: np.arange(10.0)})
        >>> batches = fit.minibatch(obs, size=5, seed=1)
        >>> x = np.array([4.0])
        >>> estimates = [batches.logp(x, batch) for batch in itertools.islice(batches, 2)]
        >>> bool(np.isclose(np.mean(estimates), fit.log_density().logp(x)))
        True
        """
        return self.log_density().minibatch(dim, size=size, seed=seed, by=by, replace=replace)

    @property
    def elimination_order(self) -> str:
        """Elimination order of marginalized variables, with the number of elements of each step.

        Raises
        ------
        GraphError
            If they depend on each other in a way that is no chain.
        """
        return elimination(self.spec)

    def recover(
        self, post: Posterior, *variables: Variables, how: str = "draws", seed: int | None = None
    ) -> xr.DataTree:
        """Recover marginalized variables, for each draw of the others.

        Parameters
        ----------
        post : DataTree or Dataset
            Draws of the free variables.
        *variables : DimTensor or str
            By default all that are summed out.
        how : {"draws", "probabilities", "most probable"}
            Draws from their posterior; probabilities of the values of each element, given all
            observations, as ``z_probability``; or the most probable values of all elements
            together, of a chain the path of Viterbi.
        seed : int, optional
            Of draws.

        Returns
        -------
        DataTree
            `post` with the variables in the group ``posterior``, and with draws or the most
            probable values of them the named expressions that depend on them.

        Raises
        ------
        OptionError
            If `how` is none of these.
        ArgumentError
            If there is no seed.
        InputError
            If the draws lack variables.
        LabelError
            If a variable is not summed out.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu, z = dt.rv("mu", dist.Normal(0.0, 1.0)), dt.rv("z", dist.Bernoulli(0.5))
        >>> y = dt.rv("y", dist.Normal(mu + 4 * z, 1.0))
        >>> fit = dt.Model(y, backend="python").observe({y: 3.9}).marginalize(z)
        >>> post = fit.recover(fit.laplace(2, seed=1), how="most probable")
        >>> post["posterior"]["z"].values.tolist()
        [[1, 1]]
        """
        return recover(self.spec, post, variables, how, seed)

    # -- predictions -------------------------------------------------------------------------------

    def draw(
        self,
        n: int = 500,
        *,
        seed: int,
        dims: Mapping[Dim, Any] | None = None,
        backend: str | None = None,
    ) -> xr.DataTree:
        """Draw all variables from the prior.

        Parameters
        ----------
        n : int
        seed : int
        dims : dict of Dim to int or labels, optional
            Lengths or labels of dims that no data tell.
        backend : {"python", "native", "jax"}, optional
            As in :meth:`predict`.

        Returns
        -------
        DataTree
            ``prior_predictive`` has the outputs of the model that are random variables, and what is
            observed; ``prior`` all others, and named expressions.

        Raises
        ------
        InputError
            If an input has no value, or a length is not known.
        OptionError
            If the number of draws is negative or no integer.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 1.0))
        >>> model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)), backend="python")
        >>> drawn = model.draw(20, seed=1)
        >>> list(drawn["prior"].data_vars), dict(drawn["prior_predictive"]["y"].sizes)
        (['mu'], {'chain': 1, 'draw': 20})
        """
        return predictions.draw(self.spec, n, seed, dims, backend)

    def predict(
        self,
        post: Posterior,
        data: Mapping[Any, Any] | None = None,
        *,
        seed: int | None = None,
        names: Iterable[Any] | None = None,
        dims: Mapping[Dim, Any] | None = None,
        backend: str | None = None,
        store: Path | None = None,
        chunks: int | None = None,
    ) -> xr.DataTree:
        """Draw outputs given draws of other variables: posterior predictive draws.

        Parameters
        ----------
        post : DataTree or Dataset
            Draws with the dims chain and draw. Variables that it lacks are drawn. Those that were
            summed out are recovered first, as :meth:`recover` does, where several observations
            share them or they are asked for; others belong to one observation each, and are drawn
            with it.
        data : dict of DimTensor (or its name) to value, optional
            Other values of inputs, of other lengths and labels.
        seed : int
        names : iterable of str or DimTensor, optional
            What is drawn or computed: by default the outputs of the model; without new data those
            that are random variables, as the posterior has the named expressions.
        dims : dict of Dim to Dim, int or labels, optional
            A wider dim: elements with a known label keep their draws, others are drawn from their
            distribution given the variables that it depends on. Where elements belong together
            along the dim, as those of a series or a Gaussian process, they are drawn given the
            known ones, too, which of an observed variable are its observations. Without labels
            the first elements are the known ones. Or lengths or labels of dims that no data tell.
        backend : {"python", "native", "jax"}, optional
            What the draws are compiled with. Left out, nothing is compiled for fewer than five
            million numbers; more are drawn by machine code, which is the same for all lengths,
            where the backend of the model is native. Both give the same numbers.
        store : path-like, optional
            A Zarr store to create: some draws are predicted at a time and appended to it, so that
            the whole is never in memory. The result's groups read from it. The first chunk has the
            numbers that the same draws have without a store; those of each later one are from a
            stream of its own.
        chunks : int, optional
            Draws of each chain that are predicted at a time, by default those of 64 MiB.

        Returns
        -------
        DataTree
            `post` with the group ``posterior_predictive``, or with new data ``predictions`` and
            ``predictions_constant_data``. Elements that were not observed are in ``predictions``
            alone, with the others: observations, log likelihoods and ``posterior_predictive`` have
            the same elements, along one dim where there are several.

        Raises
        ------
        ArgumentError
            If there is no seed.
        InputError
            If an input has no value, or the store exists.
        MemoryLimitError
            If the result does not fit into memory; ``store=`` writes it to a file.
        LabelError
            If data have labels that a dim lacks.
        DimError
            If a dim has another length than that asked for, or draws have another one than data.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> x = dt.data([1.0, 2.0], dims=dt.Dim("obs"), name="x")
        >>> slope = dt.rv("slope", dist.Normal(0.0, 1.0))
        >>> model = dt.Model(dt.rv("y", dist.Normal(slope * x, 1.0)), backend="python")
        >>> post = model.observe(y=[1.1, 1.9]).laplace(20, seed=1)
        >>> new = model.predict(post, {"x": [1.0, 2.0, 3.0]}, seed=1)
        >>> dict(new["predictions"]["y"].sizes)
        {'chain': 1, 'draw': 20, 'obs': 3}
        """
        return predictions.predict(
            self.spec,
            post,
            data,
            seed=seed,
            names=names,
            dims=dims,
            backend=backend,
            store=store,
            chunks=chunks,
        )

    # -- looking -----------------------------------------------------------------------------------

    def to_graph(self, path: Path | None = None) -> Picture:
        """Draw the graph of variables, named expressions and data, with a plate for each dim.

        Parameters
        ----------
        path : path-like, optional
            Also save the picture, as ``.svg``, ``.png`` or ``.pdf``.

        Returns
        -------
        Picture
            Shown by notebooks, with observed variables in grey.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
        >>> dt.Model(dt.rv("y", dist.Normal(mu, 1.0))).to_graph()
        <Picture of 2 boxes and 1 arrows>
        """
        return picture(self, path)

    @property
    def plot(self) -> ModelPlots:
        """Plots of draws: ``fit.plot.trace(post)`` is ``arviz.plot_trace(post)``.

        All functions ``plot_...`` of ArviZ are there; ``var_names`` may be tensors. ``trace``,
        ``rank`` and ``forest`` leave out by default what has an element for each observation.
        ``ppc(post)`` shows observations among replications, and ``forecast(new)`` predictions along
        a dim.

        Returns
        -------
        ModelPlots
        """
        return plots(self)

    def summary(
        self,
        post: Posterior,
        var_names: Variables | Iterable[Variables] | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Summarize draws by ArviZ: means, intervals and diagnostics, a row for each element.

        Parameters
        ----------
        post : DataTree
            Draws of the model.
        var_names : DimTensor or str, or several, optional
            By default all variables and named expressions but those with one element for each
            observation.
        **options
            Those of :func:`arviz.summary`, such as ``kind="stats"`` or ``round_to=2``.

        Returns
        -------
        DataFrame

        Raises
        ------
        MissingExtraError
            If ArviZ is not installed.
        LabelError
            If there is no such variable.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> obs = dt.Dim("obs")
        >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
        >>> mean = dt.named("mean", mu * dt.data([1.0, 2.0], dims=obs))
        >>> fit = dt.Model(dt.rv("y", dist.Normal(mean, 1.0)), backend="python").observe(
        ...     y=[1.0, 3.0]
        ... )
        >>> post = fit.laplace(draws=50, seed=1)
        >>> list(fit.summary(post, kind="stats").index)
        ['mu']
        """
        return summaries(self, post, var_names, options)

    def __getitem__(self, name: str) -> DimTensor:
        """Return a random variable, named expression, input or data by name.

        Raises
        ------
        LabelError
            If there is none of the name.
        """
        graph = self.spec.graph
        nodes = {**graph.nodes, **graph.inputs}
        if name not in nodes:
            raise LabelError(f"the model has no {name!r}{did_you_mean(name, list(nodes))}")
        return wrap(nodes[name])

    def _ipython_key_completions_(self) -> list[str]:
        graph = self.spec.graph
        return [*graph.variables, *graph.named, *graph.inputs]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}", name=name)
        spec = self.__dict__.get("spec")
        known = spec is not None and name in spec.graph.nodes
        hint = f"variables are found by brackets: model[{name!r}]" if known else None
        raise no_attribute("model", name, "a model", dir(type(self)), self, hint)

    def __enter__(self) -> Never:
        first = self.outputs[0].name
        raise ArgumentError(
            "a model is no context: variables are written before it, and not inside",
            hint=f"methods of the model are called: model.draw(100, seed=1), model[{first!r}]",
        )

    def __exit__(self, *_: object) -> None:
        """Do nothing: `__enter__` has raised."""


def model_of(spec: ModelSpec) -> Model:
    """Make the model of a specification."""
    return _model_of(spec, Model)


def _model_of[M: Model](spec: ModelSpec, cls: type[M]) -> M:
    model = object.__new__(cls)
    model.spec = spec
    return model
