"""Log densities as expressions, to be built upon."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dimtensor.model.functions import ModelFunctions
    from dimtensor.model.parameters import Parameter
    from dimtensor.tensor.core import DimTensor


class Expressions:
    """A :class:`dimtensor.LogDensity` in terms of the flat vector."""

    functions: ModelFunctions
    parameters: tuple[Parameter, ...]

    @property
    def unconstrained(self) -> DimTensor:
        """The flat vector as an input: what `constrained` and the log density are functions of."""
        return self.functions.assembly.flat

    @property
    def constrained(self) -> dict[str, DimTensor]:
        """The parameters as expressions of `unconstrained`, by name.

        Examples
        --------
        >>> import dimtensor as dt
        >>> tau = dt.scalar("tau")
        >>> model = dt.LogDensity(-tau, {tau: dt.positive}, backend="python")
        >>> model.constrained["tau"].eval({model.unconstrained: [0.0]}).item()
        1.0
        """
        found = self.functions.assembly.constrained
        return {p.name: found[p.tensor] for p in self.parameters}

    @property
    def density(self) -> DimTensor:
        """The log density as an expression of `unconstrained`, with Jacobians where they count."""
        return self.functions.assembly.value
