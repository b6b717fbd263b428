"""Log densities as other libraries' samplers take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dimtensor.model.logdensity import LogDensity


class Bridging:
    """Ways of a :class:`dimtensor.LogDensity` to samplers that are not called from here."""

    def to_nutpie(self) -> Any:
        """A model that ``nutpie.sample`` takes.

        With the numba backend the sampler calls machine code, and its chains run in parallel; with
        other backends it calls Python.

        Returns
        -------
        object
            What ``nutpie.sample`` takes as its first argument.

        Raises
        ------
        MissingExtraError
            If nutpie is not installed.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.scalar("x")
        >>> density = dt.LogDensity({"x": -(x**2)}, {x: dt.real}, backend="python")
        >>> density.to_nutpie().n_dim
        1
        """
        from dimtensor.interop.nutpie import to_nutpie

        return to_nutpie(cast("LogDensity", self))

    def to_blackjax(self) -> Callable[[Any], Any]:
        """The log density as a pure JAX function of the flat vector.

        It may be jitted, differentiated and vmapped. It computes in 64 bits whatever the process's
        flag says, and returns a value of the dtype of the vector: for gradients in 64 bits call it
        inside of ``jax.enable_x64(True)``.

        Returns
        -------
        callable
            From an array of shape (size,) to a scalar.

        Raises
        ------
        MissingExtraError
            If JAX is not installed.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.scalar("x")
        >>> density = dt.LogDensity({"x": -(x**2)}, {x: dt.real}, backend="python")
        >>> float(density.to_blackjax()(np.array([3.0])))
        -9.0
        """
        from dimtensor.interop.blackjax import to_blackjax

        return to_blackjax(cast("LogDensity", self))
