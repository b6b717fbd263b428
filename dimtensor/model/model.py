"""Models: random variables and what depends on them, found from the graph."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any
from weakref import ref

from dimtensor.arrays import has_elements
from dimtensor.backends import check_backend
from dimtensor.errors import DimError, OptionError, build_message, named_after
from dimtensor.graph import Node, make
from dimtensor.graph.attrs import NamedAttrs
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.model import checks
from dimtensor.model.density import log_density
from dimtensor.model.inference.advice import advice_of
from dimtensor.model.inference.results import add_known_groups
from dimtensor.model.inference.runs import keeping
from dimtensor.model.inference.sample import sample as sample_density
from dimtensor.model.logdensity import LogDensity
from dimtensor.model.missing import read_observation, refuse_readers
from dimtensor.model.observations import Observations
from dimtensor.model.parts.by_name import ByName
from dimtensor.model.parts.parametrising import Parametrising
from dimtensor.model.predictive.drawing import output_of
from dimtensor.model.predictive.generation import admitted, held
from dimtensor.model.variables import Variable, find
from dimtensor.renderers import Rendered, picture
from dimtensor.spellings import spelled, spelled_methods
from dimtensor.tensor.constructors import full
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.inputs import data as make_data
from dimtensor.values.data import as_mapping

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.backends import BackendName
    from dimtensor.display.pictures.picture import Picture
    from dimtensor.tensor.core import DimTensor


@named_after
@spelled_methods
class Model(Rendered, Parametrising, ByName):
    """Random variables, and everything that they depend on.

    A model is a value: `observe`, `do`, `with_data` and the like give others. What it consists of
    is found from the graph of its outputs; variables are in the order in which they were written.

    Parameters
    ----------
    *outputs : DimTensor
        Random variables (:func:`dimtensor.rv`) and named expressions (:func:`dimtensor.named`).
    data : dict of DimTensor (or its name) to value, optional
        Values of inputs, and others than those that data were made with.
    backend : {"numba", "jax", "python"}
        What log densities are compiled with.

    Attributes
    ----------
    outputs : tuple of DimTensor
    observed : mapping of str to DataArray
    data : dict of str to DataArray
    backend : str

    Raises
    ------
    GraphError
        If a name is used twice, an input has none, or a parameter of a distribution is a variable
        that may be out of its range.
    OptionError
        If an output has no name, or a name has a slash.
    InputError
        If there are data of no input.

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

    Another parametrisation of the same model, as a function of a flat vector:

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
        backend: BackendName = "numba",
    ):
        self.backend: BackendName = check_backend(backend)
        self._written: list[str] = []
        self._set(tuple(wrap(output_of(x)) for x in outputs))
        self.data: dict[str, xr.DataArray] = {}
        self._numbered: dict[str, tuple[str, ...]] = {}  # axes of data that have row numbers
        self.observed = Observations()
        self._missing: dict[str, str] = {}
        self._kept: dict[str, xr.DataArray] = {}
        self._unchecked: frozenset[str] = frozenset()
        self._noncentred: frozenset[str] = frozenset()
        self._marginal: dict[str, Any] = {}
        self._associative_scan = False
        self._add_data(data)

    def _set(self, outputs: tuple[DimTensor, ...]) -> None:
        if not outputs:
            text = "a model is made of variables that are there, and none is given"
            hint = "write the variables first: dt.Model(y) is y, and all that it depends on"
            raise OptionError(build_message(text, hint=hint))
        for x in outputs:
            if x.node.kind not in ("rv", "named"):
                raise OptionError(
                    build_message(
                        f"an output of a model is a random variable or has a name, not {x.node}",
                        hint="dt.rv('y', dist.Normal(...)), or dt.named('y', expression)",
                    )
                )
        self.outputs = outputs
        checks.warn_of_empty(x.node for x in outputs)
        self._found = find([x.node for x in outputs], self._written)
        self._written = self._found.written
        checks.check_result_names(self._found)
        checks.check_ranges(self)
        self._functions: dict[Any, Any] = {}

    @property
    def free(self) -> dict[str, Variable]:
        """Random variables that are neither observed nor summed out."""
        known = {*self.observed, *self._marginal}
        return {name: v for name, v in self.variables.items() if name not in known}

    # -- other models ----------------------------------------------------------------------------

    def _copy(self) -> Model:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)  # compiled functions are shared
        other.__dict__.pop("_density", None)
        return other

    def _add_data(self, data: Mapping[Any, Any] | None) -> None:
        self.data, self._numbered = dict(self.data), dict(self._numbered)
        for key, value in as_mapping(data, "data").items():
            name = self._name(key, self._found.inputs, "data")
            found = held(self._found.inputs[name], value)
            self.data[name], self._numbered[name] = found.labelled(found.values), found.numbered

    def with_data(self, data: Mapping[Any, Any] | None = None, **by_name: Any) -> Model:
        """The same model on other data.

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
        InputError
            If the model has no such data.

        Examples
        --------
        >>> import dimtensor as dt
        >>> from dimtensor import dist
        >>> x = dt.data([1.0, 2.0], dims=dt.Dim("obs"), name="x")
        >>> model = dt.Model(dt.rv("y", dist.Normal(x, 1.0)), backend="python")
        >>> model.with_data(x=[1.0, 2.0, 4.0]).data["x"].sizes["obs"]
        3
        """
        other = self._copy()
        other._add_data({**as_mapping(data, "data"), **by_name})
        changed = {n for n, x in other.data.items() if x is not self.data.get(n)}
        other._unchecked = self._unchecked | changed
        return other

    def observe(
        self, values: Mapping[Any, Any] | None = None, *, missing: str | None = None, **by_name: Any
    ) -> Model:
        """The model given values of some of its variables.

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
        other = self._copy()
        observed, how = dict(self.observed.plain), dict(self._missing)
        other._marginal = dict(self._marginal)
        given = {**as_mapping(values, "observations"), **by_name}
        named = {self._name(key, self.variables, "random variable"): x for key, x in given.items()}
        for name, value in named.items():
            variable = self.variables[name]
            known = observed[name] = read_observation(variable.node, value, missing)
            readers = {n: v.node for n, v in self.variables.items()} | self._found.named
            refuse_readers(variable.node, known, readers, missing)
            how[name] = missing or ""
            other._marginal.pop(name, None)
            if missing == "infer" and variable.distribution.discrete and not known.complete:
                other._marginal[name] = None
        other.observed, other._missing = Observations(observed), how
        checks.check_inside(other, named)
        checks.warn_of_unaffected(self.variables, other.observed)
        return other

    def _keeping(self, kept: Mapping[str, xr.DataArray]) -> Model:
        """The model whose density leaves observations out where `kept` is False."""
        other = self._copy()
        other._kept = dict(kept)
        return other

    def do(self, values: Mapping[Any, Any] | None = None, **by_name: Any) -> Model:
        """The model in which variables are set to values, whatever they depended on.

        Parameters
        ----------
        values : dict of DimTensor (or its name) to number, array or DimTensor
            Of random variables and of named expressions. Values have dims of what they replace.
        **by_name
            Values by name.

        Returns
        -------
        Model
            In which the names stand for the values.

        Raises
        ------
        LabelError
            If there is no such variable.
        DimError
            If a value has other dims.

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
        known = {**{n: v.node for n, v in self.variables.items()}, **self._found.named}
        chosen: dict[str, Node] = {}
        for key, value in {**as_mapping(values, "interventions"), **by_name}.items():
            name = self._name(key, known, "variable")
            node = known[name]
            if node.dims and has_elements(value) and not isinstance(value, TensorHandle):
                value = make_data(admitted(node, value).rename(None), node.dims)
            set_to = full(node.dims, value, node.dtype)
            more = [dim._short for dim in set_to.dims if dim not in node.dims]
            if more:
                raise DimError(
                    build_message(
                        f"do: the value of {name!r} has dims that it has not",
                        [("dims", [dim._short for dim in node.dims]), ("more", more)],
                    )
                )
            chosen[name] = make("named", (set_to.node,), NamedAttrs(name))

        def replace(node: Node, inputs: tuple[Node, ...]) -> Node | None:
            return chosen.get(node.name) if node.kind in ("rv", "named") and node.name else None

        other = self._copy()
        nodes = rebuild([x.node for x in self.outputs], {}, replace, nested=False)
        other._set(tuple(map(wrap, nodes)))
        kept = {n: x for n, x in self.observed.plain.items() if n in other.variables}
        other.observed = Observations(kept)
        other.data = {n: x for n, x in self.data.items() if n in other._found.inputs}
        other._noncentred = self._noncentred & set(other.variables)
        other._marginal = {n: x for n, x in self._marginal.items() if n in other.variables}
        return other

    # -- log densities ---------------------------------------------------------------------------

    @cached_property
    def _density(self) -> LogDensity:
        # not before: of other data, predictions may be all that is asked for
        checks.check_inside(self, self._unchecked)
        return log_density(self)

    def log_density(self) -> LogDensity:
        """The log density of the free variables as a function of one flat vector.

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
        return self._density

    # -- draws -----------------------------------------------------------------------------------

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
            Whether what the sampler moves is kept in the group ``unconstrained_posterior``.
        log_likelihood, log_prior : bool
            Whether the groups that :meth:`log_likelihood` and :meth:`log_prior` make are added.
        prior : bool
            Whether the model may be one in which nothing is observed: all of its variables are
            drawn from their prior. :meth:`draw` does so without a Markov chain.
        **options
            Those of :func:`dimtensor.sample`: ``sampler="nutpie"``, ``"blackjax"`` or
            ``"numpyro"``, ``tune``, ``chains``, ``save_warmup`` and so on.

        Returns
        -------
        DataTree
            ``posterior`` with all free variables and named expressions, ``sample_stats`` under the
            names that ArviZ knows, ``observed_data``, ``constant_data``.

        Raises
        ------
        GraphError
            If nothing is observed.

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
        checks.check_observed(self, "sample", prior)
        density = self.log_density()
        density._advice = partial(advice_of, ref(self))
        tree = sample_density(density, draws, seed=seed, unconstrained=unconstrained, **options)
        with keeping(tree):
            add_known_groups(self, tree)
            tree = self.log_likelihood(tree) if log_likelihood else tree
        with keeping(tree):
            return self.log_prior(tree) if log_prior else tree

    def __getstate__(self) -> dict[str, Any]:
        # what follows from the outputs is found again, and functions are compiled again
        made = ("_density", "_found", "_functions")
        return {key: value for key, value in self.__dict__.items() if key not in made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._set(self.outputs)

    # -- looking ---------------------------------------------------------------------------------

    def to_graph(self, path: Any = None) -> Picture:
        """Draw what depends on what: variables, named expressions and data, a plate for each dim.

        Parameters
        ----------
        path : path-like, optional
            Also save the picture, as ``.svg``, ``.png`` or ``.pdf``.

        Returns
        -------
        Picture
            Shown by notebooks. What is observed is grey.

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
