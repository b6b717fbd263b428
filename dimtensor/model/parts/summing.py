"""Models whose discrete variables are summed out, and recovered."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from dimtensor.errors import OptionError, escaped, listing
from dimtensor.graph import toposort
from dimtensor.model.density import Placed
from dimtensor.model.inference.results import LEADING, extended, posterior_of, with_leading
from dimtensor.model.predictive.drawing import Drawing
from dimtensor.model.predictive.generation import CHAIN, DRAW
from dimtensor.model.records import beside
from dimtensor.model.summed import HOW, recovered, summed_terms, unknowns_of
from dimtensor.random.seeds import checked_seed, required_seed
from dimtensor.values.data import as_mapping

if TYPE_CHECKING:
    import xarray as xr

    from dimtensor.dims import Dim


class Summing(Drawing):
    """What :class:`dimtensor.Model` can do with discrete variables."""

    _marginal: dict[str, Any]
    _associative_scan: bool

    @abstractmethod
    def _copy(self) -> Self: ...

    def marginalize(
        self,
        *variables: Any,
        states: Mapping[Any, Sequence[int]] | None = None,
        associative_scan: bool = False,
    ) -> Self:
        """The same model with discrete variables summed out of its log density.

        Which terms read which elements follows from dims: see :func:`dimtensor.marginalize`.

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
            Whose draws lack the variables; :meth:`recover` adds them.

        Raises
        ------
        OptionError
            If there is no such variable, or it is observed.

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
        other = self._copy()
        given = as_mapping(states, "states")
        chosen = {self._name(key, self.variables, "random variable"): x for key, x in given.items()}
        found = dict(self._marginal)
        for key in variables:
            name = self._name(key, self.variables, "random variable")
            if name in self.observed:
                raise OptionError(f"marginalize: {name!r} is observed, and has nothing to sum over")
            found[name] = chosen.get(name)
        other._marginal = found
        other._associative_scan = self._associative_scan or associative_scan
        unknowns_of(_placed(other))
        return other

    def _with_summed_out(
        self,
        draws: xr.Dataset,
        targets: Iterable[str],
        others: Callable[[Dim], bool],
        seed: int | None,
    ) -> xr.Dataset:
        nodes = {name: v.node for name, v in self.variables.items()} | self._found.named
        targets = [name for name in targets if name in nodes]
        above = {x.name for x in toposort([nodes[name] for name in targets])}
        lacking = [name for name in self._marginal if name in above and name not in draws
                   and name not in self.observed and not any(map(others, nodes[name].dims))
                   ]  # fmt: skip
        if not lacking or not self.observed:
            return draws
        shared = summed_terms(_placed(self)).refused
        readers = toposort([self.variables[name].node for name in shared if name in self.observed])
        known = toposort([self.variables[name].node for name in self.observed])
        told = [name for name in lacking
                if nodes[name] in (known if name in targets else readers)]  # fmt: skip
        return posterior_of(self.recover(draws, *told, seed=seed)) if told else draws

    @property
    def elimination(self) -> str:
        """How variables are summed out: the steps in order, and how many numbers each computes.

        Raises
        ------
        GraphError
            If they depend on each other in a way that is no chain.
        """
        return escaped(summed_terms(_placed(self)).steps)

    def recover(
        self, post: Any, *variables: Any, how: str = "draws", seed: int | None = None
    ) -> xr.DataTree:
        """Variables that were summed out, for each draw of the others.

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
            If a variable is not summed out, or draws have no seed.

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
        names = [self._name(x, self._marginal, "summed-out variable") for x in variables]
        if how not in HOW:
            raise OptionError(f"recover: how is {listing(HOW)}, not {how!r}")
        seed = required_seed(seed, "recover") if how == "draws" else checked_seed(seed, "recover")
        draws = posterior_of(post)
        placed = _placed(self)
        found = recovered(placed, names or list(self._marginal), how, seed, draws)
        new = {name: x.rename(name) for name, x in found.items()}
        whole = beside(draws, new, LEADING)
        if how != "probabilities":
            whole = beside(whole, self._named_of(placed, whole), LEADING)
        return extended(post, {"posterior": with_leading(whole, post)})

    def _named_of(self, placed: Placed, draws: xr.Dataset) -> dict[str, xr.DataArray]:
        """Return the named expressions of marginalized variables that the draws determine."""
        hidden = {node: name for name, node in placed.summed.items()}
        targets = {}
        for name, x in placed.named.items():
            read = [hidden[node] for node in toposort([x.node]) if node in hidden]
            above = [n.name for n in toposort([self._found.named[name]]) if n.kind == "rv"]
            known = all(one in draws or one in self.observed for one in above)
            if read and known and all(one in draws for one in read):
                targets[name] = self._found.named[name]
        if not targets:
            return {}
        draws = self._with_missing(draws, targets, ())
        told = {CHAIN: draws.sizes["chain"], DRAW: draws.sizes["draw"]}
        found = self._draws(targets, draws, None, told, {}, {}, "python")
        return {name: x.rename(name) for name, x in found.items()}


def _placed(model: Any) -> Placed:
    return Placed(model, noncentred=False)
