"""Distributions without a PyMC counterpart, as ``pm.CustomDist``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dimtensor.dims import Dim, Dims, without
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.spec import spec_of
from dimtensor.dist.supports import Support
from dimtensor.graph import Node
from dimtensor.interop.pymc.drawing import ArrayDraw, with_constants
from dimtensor.tensor.elementwise import equal, where
from dimtensor.tensor.handle import TensorHandle, wrap
from dimtensor.tensor.inputs import tensor
from dimtensor.tensor.positional.border import from_shaped


class CustomDistribution:
    """Functions that ``pm.CustomDist`` needs of a distribution, with positional parameters.

    Parameters
    ----------
    d : Distribution
    dims : tuple of Dim
        Dims of the axes of the variable; event dims are last.
    partial : bool
        Whether some elements are missing. PyMC splits such a variable into an observed and an
        unobserved one, whose axes differ from those of the whole.
    """

    def __init__(self, d: Distribution, dims: Dims, partial: bool):
        batch = dims[: len(without(dims, d.event_dims))]
        # axes of a batch are those of the parameters that PyMC gives
        self.spec, self.nodes = spec_of(d._without_own_dims(batch))
        self.categories, self.dims = d.categories, dims
        self.batch = batch
        self.events = dims[len(self.batch) :]
        self.cores = [without(node.dims, self.batch) for node in self.nodes]
        self._partial = partial
        self._anew: dict[int, Dims] = {}

    def signature(self) -> str:
        """Return the gufunc signature: core axes of each parameter, and event axes of a draw."""
        letters: dict[Dim, str] = {}
        for dim in (*self.events, *(dim for core in self.cores for dim in core)):
            letters.setdefault(dim, f"d{len(letters)}")
        # a last parameter only gives the lengths of event dims
        cores = [*self.cores, *([self.events] if self.events else [])]
        written = [f"({','.join(letters[dim] for dim in core)})" for core in cores]
        return f"{','.join(written)}->({','.join(letters[dim] for dim in self.events)})"

    def draw(self) -> ArrayDraw:
        """Return the function that draws values."""
        return ArrayDraw(self.spec, self.nodes, self.cores, self.events)

    def logp(self, value: Any, *parameters: Any) -> Any:
        """Return the log densities of values; labels are given as positions."""
        dims = self._dims_of(value)
        batch = dims[: len(dims) - len(self.events)]
        x = from_shaped(inside(value, self.categories), dims, categories=self.categories)
        term = self._with(parameters, batch).logp(x).expand(batch)
        if self.categories is not None:  # PyMC's step methods also try positions out of range
            stayed = equal(x.codes, from_shaped(value, dims))
            term = where(stayed.all(without(dims, batch)), term, -np.inf)
        return term.to_shaped(list(batch))

    def support(self, value: Any, parameters: Sequence[Any]) -> tuple[Support, Dims]:
        """Return the support of a value, and the dims of its axes."""
        dims = self._dims_of(value)
        batch = dims[: len(dims) - len(self.events)]
        support = self._with(parameters, batch).support
        return support.resolve(tensor("value", dims=dims)), dims

    def start(self, lengths: Callable[[Dim], int | None]) -> Callable[..., Any]:
        """Return the function of the support point: the image of zeros under the transform."""

        def start(variable: Any, size: Any, *parameters: Any) -> Any:
            import pytensor.tensor as pt

            support, dims = self.support(variable, parameters)
            free = support.free_dims(dims)
            axes = variable.shape
            zeros = pt.zeros(
                [axes[dims.index(dim)] if self._partial else lengths(dim) for dim in free]
            )
            found, _ = support.constrain(from_shaped(zeros, free))
            return found.expand(dims).to_shaped(list(dims))

        return start

    def _dims_of(self, value: Any) -> Dims:
        if not self._partial:
            return self.dims
        count = value.type.ndim - len(self.events)
        return (*self._anew.setdefault(count, tuple(Dim() for _ in range(count))), *self.events)

    def _with(self, parameters: Sequence[Any], batch: Dims) -> Distribution:
        each = zip(parameters, self.nodes, self.cores, strict=False)
        tensors = [self._read(parameter, node, core, batch) for parameter, node, core in each]
        return self.spec.build(with_constants(self.nodes, [t.node for t in tensors]))

    def _read(self, parameter: Any, node: Node, core: Dims, batch: Dims) -> TensorHandle:
        """Convert a parameter made by `aligned` back to a tensor, dropping axes of missing dims."""
        lead = parameter.ndim - len(core)
        dims = batch[len(batch) - lead :] if lead else ()
        if self._partial:
            there = [not alone for alone in parameter.type.broadcastable[:lead]]
        else:
            there = [dim in node.dims for dim in dims]
        own = [dim for dim, one in zip(dims, there, strict=True) if one]
        index = tuple(slice(None) if one else 0 for one in there)
        return from_shaped(parameter[index], [*own, *core], categories=node.categories)

    def parameters(self) -> list[Any]:
        """Return the parameters as positional variables: batch axes, then core axes."""
        each = zip(self.nodes, self.cores, strict=True)
        return [aligned(wrap(node), self.batch, core) for node, core in each]


def aligned(x: Any, batch: Dims, core: Dims = ()) -> Any:
    """Convert a tensor to a positional variable, with axes of length 1 for missing batch dims."""
    own = [dim for dim in batch if dim in x.dims]
    if x.node.categories is not None:
        x = x.codes
    variable = x.to_shaped([*own, *core])
    if not own:
        return variable
    lead = [own.index(dim) if dim in own else "x" for dim in batch]
    return variable.dimshuffle(*lead, *range(len(own), len(own) + len(core)))


def inside(positions: Any, categories: Dim | None) -> Any:
    """Clip positions of labels to their range; `logp` gives those out of range the density 0."""
    if categories is None or categories.length is None:
        return positions
    return positions.clip(0, categories.length - 1)
