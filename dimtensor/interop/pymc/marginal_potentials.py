"""Marginal log densities of a model as PyMC potentials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dimtensor.dist import Flat
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.spec import spec_of
from dimtensor.errors import GraphError
from dimtensor.graph import Node, toposort
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.interop.pymc.lifted import WithSupport
from dimtensor.model.density import BoundGraph
from dimtensor.model.marginal.terms import summed_terms
from dimtensor.model.missing import missing_name
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.model.model import Model
    from dimtensor.tensor.core import DimTensor


class MarginalPotentials:
    """Potentials that replace marginalized variables and the densities that depend on them.

    Attributes
    ----------
    touched : frozenset of str
        Variables whose densities are part of potentials.
    """

    def __init__(self, model: Model):
        self._placed = placed = BoundGraph(model.spec, noncentered=True)
        self._hidden = set(placed.summed.values())
        self._written: dict[Node, Node] = {}
        self.touched = frozenset(n for n, x in placed.terms().items() if self.reads(x.node))
        summed = summed_terms(placed)
        free = {*placed.parameters, *model.variables} - set(model.observed)
        self._terms = {
            # names in a PyMC model are unique
            f"{label}_density" if label in free else label: summed.terms[label]
            for label, members in summed.together.items()
            if self.touched.issuperset(members)
        }

    def reads(self, node: Node) -> bool:
        """Return whether a node depends on a marginalized variable."""
        return not self._hidden.isdisjoint(toposort([node]))

    def unknown(self, name: str) -> Node:
        """Return the placeholder of a marginalized variable."""
        return self._placed.summed[name]

    def observed(self, name: str) -> tuple[DimTensor, DimTensor | None]:
        """Return the values of an observed variable, and its missing ones if they are inferred."""
        return self._placed.values[name], self._placed.parameters.get(missing_name(name))

    def write(self, name: str, node: Node) -> None:
        """Record the PyMC variable of a free variable, or of missing values."""
        self._written[self._placed.parameters[name].node] = node

    def write_data(self, name: str, node: Node, written: Node) -> None:
        """Record the PyMC data of an input of the model."""
        source = self._placed.sources.get(("data", name))
        self._written[node if source is None else source] = written

    def put(self, x: DimTensor) -> DimTensor:
        """Substitute the recorded PyMC variables into an expression."""
        return wrap(rebuild([x.node], self._written)[0])

    def terms(self) -> Mapping[str, DimTensor]:
        """Return the potentials by name."""
        return {name: self.put(x) for name, x in self._terms.items()}

    def spread(self, name: str, d: Distribution) -> Distribution:
        """Return a flat distribution with the support of another one, whose density is a potential.

        Raises
        ------
        GraphError
            If the support depends on a marginalized variable, or the variable is discrete.
        """
        if d.discrete:
            raise GraphError(
                f"to_pymc: the discrete variable {name!r} depends on a variable that is summed out",
                [(name, repr(d))],
                f"sum it out as well: model.marginalize({name!r})",
            )
        if d.support.is_unconstrained:
            return Flat()
        found = WithSupport(Flat(), d.support)
        _, nodes = spec_of(found)
        if any(self.reads(node) for node in nodes):
            raise GraphError(
                f"to_pymc: the support of {name!r} depends on a variable that is summed out, "
                "and transforms of PyMC need known bounds",
                [(name, repr(d))],
                "convert the model before it is marginalized: dt.to_pymc(model)",
            )
        return found
