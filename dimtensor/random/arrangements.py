"""Draws of labels, orders and vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dimtensor.dims import Dim, find_dim, without
from dimtensor.errors import DimError
from dimtensor.graph import make
from dimtensor.graph.infer import describe
from dimtensor.random.draws import DimsLike, DrawMethods, G
from dimtensor.tensor.check import check
from dimtensor.tensor.elementwise import abs as absolute
from dimtensor.tensor.elementwise import exp, log, minimum
from dimtensor.tensor.handle import as_node, wrap
from dimtensor.tensor.linalg.contract import dot
from dimtensor.tensor.linalg.decompositions import cholesky
from dimtensor.tensor.linalg.matrices import matrix

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


class Arrangements(DrawMethods):
    """Choices, permutations, counts by category, and vectors of several numbers."""

    def bernoulli(
        self: G, p: TensorLike = 0.5, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw booleans that are True with a probability.

        Parameters
        ----------
        p : DimTensor or number
            From 0 to 1.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the probabilities and of the generator.

        Returns
        -------
        DimTensor of bool
        Generator

        Raises
        ------
        OptionError
            If a number is no probability.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if an element of a tensor is no probability.

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=4)
        >>> x, rng = dt.random.generator(1).bernoulli(0.5, dims=k)
        >>> x.values.tolist()
        [True, True, False, True]
        """
        found, rng = self._draw("binomial", [1, p], dims)
        return found > 0, rng

    def choice(
        self: G, dim: Dim, dims: DimsLike | None = None, p: TensorLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw labels of a dim with replacement.

        Parameters
        ----------
        dim : Dim
            The one whose labels are drawn.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of `p` and of the generator.
        p : DimTensor, optional
            Probabilities along the dim, normalized to a sum of one; by default all are equal. Its
            other dims are dims of the draws.

        Returns
        -------
        DimTensor of labels
            ``.codes`` are their positions.
        Generator

        Raises
        ------
        DimError
            If the probabilities lack the dim.
        GraphError
            If the generator was used before.
        CheckError
            At the call, if a probability is negative.

        Examples
        --------
        >>> import dimtensor as dt
        >>> kind = dt.Dim("kind", coords=["cat", "dog", "fish"])
        >>> obs = dt.Dim("obs", length=4)
        >>> x, rng = dt.random.generator(1).choice(kind, dims=obs)
        >>> x.values.tolist()
        ['dog', 'dog', 'fish', 'fish']
        >>> rare = dt.data([0.0, 0.1, 0.9], dims=kind)
        >>> x, rng = rng.choice(kind, dims=obs, p=rare)
        >>> x.values.tolist()
        ['fish', 'fish', 'fish', 'fish']
        """
        _require_dim(dim, "choice")
        if p is None:
            codes, rng = self._draw("integers", [0, _length(dim)], dims)
            return codes.as_labels(dim), rng
        shares = wrap(as_node(p, what="choice: p"))
        if dim not in shares.dims:
            raise DimError(
                f"choice: the probabilities have no {dim._title}", [("p", describe(shares.node))]
            )
        up_to = shares.cumsum(dim)
        total = up_to.isel({dim: -1})
        # a generator has no dims of the shares, so the draws get them from the bound
        u, rng = self._draw("uniform", [0.0, total], dims)
        codes = minimum((up_to <= u).sum(dim), _length(dim) - 1)
        fine = (shares >= 0).all(dim) & (total > 0)
        codes = check(fine, "choice: probabilities are not negative and not all zero", codes)
        return codes.as_labels(dim), rng

    def permutation(self: G, dim: Dim, dims: DimsLike | None = None) -> tuple[DimTensor, G]:
        """Draw a permutation of the labels of a dim.

        Parameters
        ----------
        dim : Dim
        dims : Dim, str or sequence of them, optional
            Dims along which there are several orders.

        Returns
        -------
        DimTensor of labels
            Over the dim; ``x.sel({dim: order})`` shuffles a tensor.
        Generator

        Examples
        --------
        >>> import dimtensor as dt
        >>> kind = dt.Dim("kind", coords=["cat", "dog", "fish"])
        >>> order, rng = dt.random.generator(1).permutation(kind)
        >>> order.values.tolist()
        ['cat', 'dog', 'fish']
        """
        _require_dim(dim, "permutation")
        codes, rng = self._draw("permutation", [], dims, event=dim)
        return codes.as_labels(dim), rng

    def multinomial(
        self: G, n: TensorLike, pvals: DimTensor, dim: Dim | str, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the multinomial distribution: counts of `n` trials by category.

        Parameters
        ----------
        n : DimTensor or int
            Not negative.
        pvals : DimTensor
            Probabilities along the dim of categories; their sum is one.
        dim : Dim or str
            That dim.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor of int64
            With the dim of categories.
        Generator

        Examples
        --------
        >>> import dimtensor as dt
        >>> kind = dt.Dim("kind", coords=["cat", "dog", "fish"])
        >>> p = dt.data([0.2, 0.3, 0.5], dims=kind)
        >>> x, rng = dt.random.generator(1).multinomial(10, p, dim=kind)
        >>> x.values.tolist()
        [2, 5, 3]
        """
        shares = wrap(as_node(pvals, what="multinomial: pvals"))
        dim = find_dim(shares.dims, dim, "multinomial")
        found, rng = self._draw("multinomial", [n, shares], dims, event=dim)
        fine = (shares >= 0).all(dim) & (absolute(shares.sum(dim) - 1) <= 1e-8)
        return check(fine, "multinomial: probabilities are not negative and sum to one", found), rng

    def multivariate_hypergeometric(
        self: G,
        colors: DimTensor,
        nsample: TensorLike,
        dim: Dim | str,
        dims: DimsLike | None = None,
    ) -> tuple[DimTensor, G]:
        """Draw counts of each color in a sample without replacement.

        Parameters
        ----------
        colors : DimTensor of integers
            How many there are, along the dim of colors; fewer than 10**9 in all.
        nsample : DimTensor or int
            How many are drawn.
        dim : Dim or str
            The dim of colors.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor of int64
            With the dim of colors.
        Generator

        Examples
        --------
        >>> import dimtensor as dt
        >>> color = dt.Dim("color", coords=["red", "green", "blue"])
        >>> urn = dt.data([8, 3, 5], dims=color)
        >>> x, rng = dt.random.generator(1).multivariate_hypergeometric(urn, 6, dim=color)
        >>> int(x.sum())
        6
        """
        name = "multivariate_hypergeometric"
        counts = wrap(as_node(colors, what=f"{name}: colors"))
        dim = find_dim(counts.dims, dim, name)
        found, rng = self._draw(name, [counts, nsample], dims, event=dim)
        total = counts.sum(dim)
        fine = (counts >= 0).all(dim) & (total < 10**9) & (nsample <= total)
        return check(fine, f"{name}: there are as many as are drawn", found), rng

    def dirichlet(
        self: G, alpha: DimTensor, dim: Dim | str, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the Dirichlet distribution: shares that sum to one.

        Parameters
        ----------
        alpha : DimTensor
            Positive, along the dim of the shares.
        dim : Dim or str
            That dim.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
            With the dim of the shares.
        Generator

        Notes
        -----
        Normalized gamma numbers; a gamma number of shape a is one of shape a + 1 times the
        a-th root of a uniform one, so that small shapes do not give zeros only (Marsaglia and Tsang
        2000).

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=3)
        >>> x, rng = dt.random.generator(1).dirichlet(dt.ones(k), dim=k)
        >>> float(x.sum().values.round(12))
        1.0
        """
        shapes = wrap(as_node(alpha, what="dirichlet: alpha"))
        dim = find_dim(shapes.dims, dim, "dirichlet")
        larger, rng = self._draw("gamma", [shapes + 1.0, 1.0], dims)
        whole = [each for each in larger.dims if each not in self.words.dims]
        u, rng = rng._draw("uniform", [0.0, 1.0], whole)
        logs = log(larger) + log(1.0 - u) / shapes
        found = exp(logs - logs.logsumexp(dim))
        return check((shapes > 0).all(dim), "dirichlet: alpha is positive", found), rng

    def multivariate_normal(
        self: G, mean: TensorLike, cov: DimTensor, dims: DimsLike | None = None
    ) -> tuple[DimTensor, G]:
        """Draw from the multivariate normal distribution.

        Parameters
        ----------
        mean : DimTensor or number
        cov : DimTensor
            Covariance, symmetric and positive definite, over a dim and the same one renamed.
        dims : Dim, str or sequence of them, optional
            Additional dims of the draws, beside those of the parameters and of the generator.

        Returns
        -------
        DimTensor
            Over the dim of rows. NaN where the covariance has no Cholesky factor.
        Generator

        Examples
        --------
        >>> import dimtensor as dt
        >>> k = dt.Dim("k", length=2)
        >>> cov = 4.0 * dt.eye(k, k.rename())
        >>> x, rng = dt.random.generator(1).multivariate_normal(0.0, cov)
        >>> x.values.round(3).tolist()
        [0.691, 1.643]
        """
        node, row, column = matrix(cov, None, "multivariate_normal")
        center = as_node(mean, [node], "multivariate_normal: mean")
        known = tuple(dict.fromkeys((*center.dims, *node.dims)))
        apart = without(known, (row, column, *self.words.dims))
        z, rng = self._draw("normal", [0.0, 1.0], (*_many(dims), *apart, column))
        return wrap(center) + dot(cholesky(wrap(node), [row, column]), z, dim=[column]), rng


def _many(dims: Any) -> tuple[Any, ...]:
    if dims is None:
        return ()
    return (dims,) if isinstance(dims, (Dim, str)) else tuple(dims)


def _require_dim(dim: Any, name: str) -> None:
    if not isinstance(dim, Dim):
        raise DimError(f"{name} takes a Dim, the one whose labels are drawn, not {dim!r}")


def _length(dim: Dim) -> Any:
    return wrap(make("length", (), dim)) if dim.length is None else dim.length
