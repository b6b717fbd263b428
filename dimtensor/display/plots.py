"""ArviZ's plots as methods of a model."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from dimtensor.errors import NoAttributeError, did_you_mean, printable
from dimtensor.extras import require
from dimtensor.model.variables import name_of
from dimtensor.tensor.handle import TensorHandle

if TYPE_CHECKING:
    from dimtensor.model.model import Model

_PREFIX = "plot_"


class ModelPlots:
    """ArviZ's functions ``plot_...`` as methods without the prefix, which accept random variables.

    Examples
    --------
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> mu = dt.rv("mu", dist.Normal(0.0, 1.0))
    >>> model = dt.Model(dt.rv("y", dist.Normal(mu, 1.0)))
    >>> "trace" in dir(model.plot), "forest" in dir(model.plot)
    (True, True)
    """

    def __init__(self, model: Model):
        self._model = model

    @printable
    def __repr__(self) -> str:
        return f"<plots of ArviZ for draws of {', '.join(self._model.variables)}>"

    def __dir__(self) -> list[str]:
        found = dir(require("arviz", "sampling", "plots of draws"))
        return [name.removeprefix(_PREFIX) for name in found if name.startswith(_PREFIX)]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        plot = getattr(require("arviz", "sampling", "plots of draws"), _PREFIX + name, None)
        if plot is None:
            guess = did_you_mean(name, dir(self))
            raise NoAttributeError(f"ArviZ has no plot {_PREFIX}{name}{guess}")

        @functools.wraps(plot)
        def call(post: Any, *arguments: Any, var_names: Any = None, **options: Any) -> Any:
            if var_names is not None:
                options["var_names"] = self._names(var_names)
            return plot(post, *arguments, **options)

        return call

    def _names(self, asked: Any) -> list[str]:
        known = self._model.spec.graph.nodes
        alone = isinstance(asked, (str, TensorHandle))
        each: Iterable[Any] = [asked] if alone else asked
        return [name_of(name, known, "variable") for name in each]
