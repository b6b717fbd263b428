"""Models whose variables are sampled as others, which they follow from."""

from __future__ import annotations

from typing import Any, Self

from dimtensor.model.density import standard_of
from dimtensor.model.parts.evaluating import Evaluating


class Parametrising(Evaluating):
    """Parametrisations of :class:`dimtensor.Model`."""

    _noncentred: frozenset[str]

    def noncentered(self, *variables: Any) -> Self:
        """The same model with another parametrisation of variables.

        A variable with a location and a scale is sampled as the standardized one: its location and
        scale times this one is what it is. A normal vector or Gaussian process is its mean and the
        Cholesky factor of its covariance times independent elements; random walks and
        autoregressions follow from those of their steps. The posterior is the same, and so are the
        names.

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
        other = self._copy()
        names = {self._name(x, self.variables, "random variable") for x in variables}
        for name in names:
            standard_of(self.variables[name].distribution, name)
        other._noncentred = self._noncentred | names
        return other

    def centered(self, *variables: Any) -> Self:
        """The opposite of :meth:`noncentered`; of all variables where none are named.

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
        other = self._copy()
        names = {self._name(x, self.variables, "random variable") for x in variables}
        other._noncentred = self._noncentred - names if names else frozenset()
        return other
