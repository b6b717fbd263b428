"""Draws of models: from the prior, and given draws of some variables."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dimtensor.backends import backend_of
from dimtensor.backends.progress import Progress
from dimtensor.compile.function import node_of
from dimtensor.dims import Binding, Dim, RowNumbers
from dimtensor.errors import (
    ArgumentError,
    DimError,
    InputError,
    LabelError,
    build_message,
    did_you_mean,
    listing,
)
from dimtensor.graph import Node, toposort
from dimtensor.model.inference.results import as_tree, extended, known_groups, posterior_of
from dimtensor.model.missing import completed, left, missing_name
from dimtensor.model.predictive.generation import CHAIN, DRAW, Draws, as_input
from dimtensor.model.predictive.new_labels import known_positions, padded, widened
from dimtensor.model.records import beside
from dimtensor.model.variables import Found, Variable
from dimtensor.random.seeds import checked_seed, required_seed, seed_for
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.values.data import as_mapping
from dimtensor.values.datasets import values_from
from dimtensor.values.labelled import labels_of, with_row_numbers
from dimtensor.values.ports import LengthPort

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.model.observations import Observations
    from dimtensor.tensor.core import DimTensor


# numbers from which on compiling them costs less than it saves
MANY = 5_000_000


class Drawing(ABC):
    """What :class:`dimtensor.Model` can do without a log density."""

    backend: str
    outputs: tuple[DimTensor, ...]
    observed: Observations
    data: dict[str, xr.DataArray]
    _numbered: dict[str, tuple[str, ...]]
    _found: Found
    _functions: dict[Any, Draws]

    @abstractmethod
    def with_data(self, data: Mapping[Any, Any] | None = None, **by_name: Any) -> Drawing:
        """The same model on other data.

        Parameters
        ----------
        data : dict of DimTensor (or its name) to value, optional
        **by_name
            New values by name of the data.

        Returns
        -------
        Drawing
        """

    @abstractmethod
    def _copy(self) -> Drawing: ...

    @abstractmethod
    def _set(self, outputs: tuple[DimTensor, ...]) -> None: ...

    @property
    def variables(self) -> dict[str, Variable]:
        """Random variables by name, in topological order, with their distributions."""
        return self._found.variables

    def _name(self, key: Any, known: Collection[str], what: str) -> str:
        """The name of a variable or input that something is said of.

        Raises
        ------
        LabelError
            If the model has none.
        """
        if isinstance(key, (list, tuple, set)):
            raise ArgumentError(
                build_message(
                    f"{what}s are given one by one, and not in a {type(key).__name__}",
                    hint=f"without brackets: {', '.join(map(spoken, key))}",
                )
            )
        name = key.node.name if isinstance(key, TensorHandle) else key
        if not isinstance(name, str) or name not in known:
            guess = did_you_mean(name, list(known)) if isinstance(name, str) else ""
            raise LabelError(
                build_message(
                    f"the model has no {what} {(name or key)!r}{guess}",
                    [(f"{what}s" if what != "data" else what, listing(list(known)))],
                )
            )
        return name

    def draw(
        self,
        n: int = 500,
        *,
        seed: int,
        dims: Mapping[Dim, Any] | None = None,
        backend: str | None = None,
    ) -> xr.DataTree:
        """Draws from the prior.

        Parameters
        ----------
        n : int
        seed : int
        dims : dict of Dim to int or labels, optional
            Lengths or labels of dims that no data tell.
        backend : {"python", "numba", "jax"}, optional
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
        predictive = {*self.observed, *(x.node.name for x in self.outputs if x.node.kind == "rv")}
        seed = required_seed(seed, "draw")
        targets = {**{name: v.node for name, v in self.variables.items()}, **self._found.named}
        _check_told(dims or {}, targets)
        told = {CHAIN: 1, DRAW: n, **(dims or {})}
        found = self._draws(targets, {}, seed, told, {}, {}, backend)
        prior = {name: x for name, x in found.items() if name not in predictive}
        outcome = {name: x for name, x in found.items() if name in predictive}
        groups = {"prior": prior, "prior_predictive": outcome}
        sizes = {"chain": 1, "draw": n}
        return as_tree({**{k: (v, sizes) for k, v in groups.items() if v}}, known_groups(self))

    def predict(
        self,
        post: Any,
        data: Mapping[Any, Any] | None = None,
        *,
        seed: int | None = None,
        names: Iterable[Any] | None = None,
        dims: Mapping[Dim, Any] | None = None,
        backend: str | None = None,
    ) -> xr.DataTree:
        """Draws of the outputs given draws of other variables.

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
        backend : {"python", "numba", "jax"}, optional
            What the draws are compiled with. Left out, nothing is compiled for fewer than five
            million numbers; more are drawn by machine code, which is the same for all lengths,
            where the backend of the model is numba. Both give the same numbers.

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
            If an input has no value.
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
        seed = checked_seed(seed, "predict")
        known = as_mapping(dims, "dims")
        wider = {old: new for old, new in known.items() if isinstance(new, Dim)}
        told = {dim: value for dim, value in known.items() if not isinstance(value, Dim)}
        model, wider = widened(self, wider) if wider else (self, wider)
        model = model.with_data(data) if data else model
        draws = posterior_of(post)
        # what depends on no variable that is given is drawn as often
        told |= {CHAIN: draws.sizes["chain"], DRAW: draws.sizes["draw"]}
        targets = model._targets(names)
        if names is None and not (data or dims):
            # named expressions of the same data are beside the variables that they are made of
            drawn_ones = {name: node for name, node in targets.items() if node.kind == "rv"}
            targets = drawn_ones or targets
        _check_told(told, targets)
        model._check_lengths(targets, draws, wider)
        # along a dim that gets its length from new data elements are others
        draws = self._with_summed_out(
            draws,
            targets,
            lambda dim: bool(data) and dim.length is None and dim not in wider,
            seed,
        )
        # observations that others along the wider dim follow from
        begun = {name: x for name, x in self.observed.items() if name not in model.observed
                 and not set(wider).isdisjoint(self.variables[name].distribution.event_dims)
                 }  # fmt: skip
        draws = self._with_missing(draws, targets, begun)
        found = model._draws(targets, draws, seed, told, wider, begun, backend)
        sizes = {dim: draws.sizes[dim] for dim in ("chain", "draw") if dim in draws.sizes}
        new = bool(data or dims)
        group = "predictions" if new else "posterior_predictive"
        groups = known_groups(model)
        if new:
            constant = groups.get("constant_data")
            groups = {"predictions_constant_data": constant} if constant is not None else {}
        drawn = {group: (found, sizes)}
        if not new:
            # The same elements as in log_likelihood and observed_data: without missing ones.
            seen = {n: left(x, self.observed[n]) if n in self.observed else x
                    for n, x in found.items()}  # fmt: skip
            whole = {n: x for n, x in found.items() if seen[n] is not x}
            drawn = {group: (seen, sizes)} | ({"predictions": (whole, sizes)} if whole else {})
        tree = as_tree(drawn, groups)
        return extended(post, {name: tree[name].to_dataset() for name in tree.children})

    def _check_lengths(
        self, targets: Mapping[str, Node], draws: Any, wider: Mapping[Dim, Dim]
    ) -> None:
        """Raise where draws of a variable have another length than the data of the model."""
        above = [x for x in toposort(list(targets.values())) if x.kind == "rv"]
        found = values_from(draws, above)
        for node in (node for node in above if node in found):
            name, drawn = node.name, found[node]
            for dim in node.dims:
                own = drawn.sizes.get(dim._short)
                if own is None or dim.length is not None or dim in wider:
                    continue
                for other, x in self.data.items():
                    if dim in self._found.inputs[other].dims and x.sizes[dim._short] != own:
                        raise DimError(
                            build_message(
                                f"predict: {name!r} has {own} elements along {dim._short!r} in the "
                                f"draws, and {other!r} has {x.sizes[dim._short]}",
                                hint=f"of draws without it, post['posterior'].drop_vars({name!r}), "
                                "new elements are drawn",
                            )
                        )

    @abstractmethod
    def _with_summed_out(
        self,
        draws: xr.Dataset,
        targets: Iterable[str],
        others: Callable[[Dim], bool],
        seed: int | None,
    ) -> xr.Dataset:
        """Draws with the variables that were summed out and that observations tell.

        `others` says of a dim whether its elements are others than those that were observed.
        """

    def _targets(self, names: Iterable[Any] | None) -> dict[str, Node]:
        known = {**{n: v.node for n, v in self.variables.items()}, **self._found.named}
        if names is None:
            return {str(x.node.name): x.node for x in self.outputs}
        asked = [names] if isinstance(names, (str, TensorHandle)) else names
        chosen = [self._name(name, known, "variable") for name in asked]
        return {name: known[name] for name in chosen}

    def _draws(
        self,
        targets: Mapping[str, Node],
        draws: Any,
        seed: int | None,
        told: Mapping[Dim, Any],
        wider: Mapping[Dim, Dim],
        begun: Mapping[str, xr.DataArray],
        backend: str | None,
    ) -> dict[str, xr.DataArray]:
        above = {str(n.name) for n in toposort(list(targets.values())) if n.kind == "rv"}
        given = [name for name in self.variables if name in above and name in draws]
        fixed = {
            name: as_input(self.variables[name].node)
            for name in self.observed
            if name in above and name not in targets and name not in given
        }
        begun = {name: x for name, x in begun.items() if name in above and name not in given}
        known = {**{name: self.observed[name] for name in fixed}, **begun}
        unknown = [name for name, x in known.items() if bool(x.isnull().any())]
        if unknown:
            raise InputError(
                build_message(
                    f"predictions depend on observations that are missing: {listing(unknown)}",
                    [("draws", listing([str(name) for name in getattr(draws, "data_vars", ())]))],
                    f"draws of observe(..., missing='infer') have {missing_name(unknown[0])!r}",
                )
            )
        nodes = [self.variables[name].node for name in given]
        drawn = values_from(draws, nodes) if nodes else {}
        grown = {name: known_positions(name, self.variables[name], x, wider)
                 for name, x in {**{str(v.name): x for v, x in drawn.items()}, **begun}.items()
                 }  # fmt: skip
        grown = {name: at for name, at in grown.items() if at}
        values: dict[Any, Any] = {**self.defaults, **{n: self.observed[n] for n in fixed}, **told}
        if backend is None:
            many = _numbers(targets.values(), values, draws) >= MANY
            backend = self.backend if many and backend_of(self.backend).native else "python"
        key = (tuple(targets.items()), tuple(given), tuple(fixed), tuple(begun), backend,
               tuple((name, *at.items()) for name, at in grown.items()))  # fmt: skip
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = Draws(targets, given, fixed, grown, begun, backend)
        if given:
            nodes = [x for x in function.inputs if x.name in given]
            values |= {
                x.name: padded(self.variables[str(x.name)].node, value, grown.get(str(x.name), ()))
                for x, value in values_from(draws, nodes).items()
            }
        values = {**self._told_by_observations(function.late), **values}
        for name, start in begun.items():
            values[name] = padded(self.variables[name].node, start, grown[name])
        numbered = self._row_numbered | {n: self.observed.plain[n].numbered for n in fixed}
        for name in numbered.keys() & values:
            values[name] = with_row_numbers(values[name], numbered[name])
        if given:
            anew = sorted(above & {*self.variables} - {*given, *fixed} | {*grown})
            seed = seed_for(seed, f"predict {anew}")
        with Progress(f"drawing {listing(list(targets), limit=3)}"):
            return function(values, seed)

    def _with_missing(
        self, draws: xr.Dataset, targets: Mapping[str, Node], begun: Collection[str]
    ) -> xr.Dataset:
        """Draws with the observations whose missing elements they have, where others read them."""
        above = {x.name for x in toposort(list(targets.values())) if x.kind == "rv"}
        for name, x in self.observed.items():
            read = name in begun or (name in above and name not in targets)
            if read and name not in draws and missing_name(name) in draws:
                unknown = draws[missing_name(name)]
                whole = completed(self.variables[name].node, x, unknown, ("chain", "draw"))
                draws = beside(draws, {name: whole}, ("chain", "draw"))
        return draws

    def _told_by_observations(self, dims: Iterable[Dim]) -> dict[Dim, Any]:
        """Labels or lengths of dims that no input tells."""
        binding = Binding()
        for name, x in self.observed.items():
            for dim in self.variables[name].node.dims:
                binding.add_length(dim, x.sizes[dim._short], f"observations of {name!r}")
                numbered = dim._short in self.observed.plain[name].numbered
                if dim._short in x.indexes and not numbered:
                    own = labels_of(x.indexes[dim._short])
                    binding.add_labels(dim, own, f"observations of {name!r}")
        found: dict[Dim, Any] = {}
        for dim in dims:
            labels, length = dim._bound_labels(binding), dim._bound_length(binding)
            if length is not None:
                found[dim] = length if labels is None else labels.values
        return found

    @property
    def _row_numbered(self) -> dict[str, tuple[str, ...]]:
        """By name of data, the axes whose rows a default index numbers."""
        own = {
            name: tuple(d._short for d, one in node.attrs.labels if isinstance(one, RowNumbers))
            for name, node in self._found.inputs.items()
            if node.kind == "data" and name not in self.data
        }
        return {**own, **self._numbered}

    @property
    def defaults(self) -> dict[str, xr.DataArray]:
        """Values of all inputs that have one, by name."""
        own = {
            name: wrap(node).eval()
            for name, node in self._found.inputs.items()
            if node.kind == "data" and name not in self.data
        }
        return {**own, **self.data}


def output_of(x: Any) -> Node:
    """Return the node of an output given to a model.

    Raises
    ------
    ArgumentError
        If it is no tensor.
    """
    if not isinstance(x, (list, tuple, set, dict)):
        return node_of(x)
    hint = f"dt.Model({', '.join(map(spoken, x)) or 'y'})"
    if isinstance(x, dict):
        hint = "dt.Model(y, data={...}) has values of inputs, dt.Model(y).observe({...}) observes"
    raise ArgumentError(
        build_message(
            f"a model takes its outputs one by one, and is given a {type(x).__name__}", hint=hint
        )
    )


def spoken(x: Any) -> str:
    """Guess the name of the caller's variable, for hints."""
    name = x.node.name if isinstance(x, TensorHandle) else None
    return name if isinstance(name, str) and name.isidentifier() else repr(name or x)


def _check_told(told: Mapping[Dim, Any], targets: Mapping[str, Node]) -> None:
    """Raise where a length is asked for that a dim has not."""
    for dim, value in told.items():
        length = LengthPort(dim).read(value).lengths[0]
        if dim.length is not None and dim.length != length:
            raise DimError(
                build_message(
                    f"dims: {dim._short!r} has the length {dim.length}, not {length}",
                    [("variables", listing([n for n, x in targets.items() if dim in x.dims]))],
                    f"pass a wider dim: dims={{{dim._short}: dt.Dim({dim._short!r}, ...)}}",
                )
            )


def _numbers(targets: Iterable[Node], values: Mapping[Any, Any], draws: Any) -> int:
    """How many numbers targets have, as far as values tell lengths, over all draws."""
    known: dict[str, int] = dict(getattr(draws, "sizes", {}))
    for key, value in values.items():
        if isinstance(key, Dim):
            known[key._short] = LengthPort(key).read(value).lengths[0]
        else:
            known |= {str(dim): n for dim, n in value.sizes.items()}
    each = known.get("chain", 1) * known.get("draw", 1)
    return each * sum(
        math.prod(known.get(d._short, 1) if d.length is None else d.length for d in node.dims)
        for node in targets
    )
