"""Densities of a model without what is summed out of it, as potentials of PyMC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dimtensor.dist import Flat
from dimtensor.dist.distribution import Distribution
from dimtensor.dist.spec import spec_of
from dimtensor.errors import GraphError, build_message
from dimtensor.graph import Node, toposort
from dimtensor.graph.rebuilding.substitute import rebuild
from dimtensor.interop.pymc.lifted import OtherSupport
from dimtensor.model.density import Placed
from dimtensor.model.marginal.terms import summed_terms
from dimtensor.model.missing import missing_name
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.model.model import Model
    from dimtensor.tensor.core import DimTensor


class Potentials:
    """What stands in place of variables that are summed out, and of the densities that read them.

    Attributes
    ----------
    touched : frozenset of str
        Variables whose own densities are parts of potentials.
    """

    def __init__(self, model: Model):
        self._placed = placed = Placed(model.spec, noncentered=True)
        self._hidden = set(placed.summed.values())
        self._written: dict[Node, Node] = {}
        self.touched = frozenset(n for n, x in placed.terms().items() if self.reads(x.node))
        summed = summed_terms(placed)
        free = {*placed.parameters, *model.variables} - set(model.observed)
        self._terms = {
            # two variables of PyMC have two names
            f"{label}_density" if label in free else label: summed.terms[label]
            for label, members in summed.together.items()
            if self.touched.issuperset(members)
        }

    def reads(self, node: Node) -> bool:
        """Whether something depends on what is summed out."""
        return not self._hidden.isdisjoint(toposort([node]))

    def unknown(self, name: str) -> Node:
        """What stands for a variable that is summed out, where it is read."""
        return self._placed.summed[name]

    def observed(self, name: str) -> tuple[DimTensor, DimTensor | None]:
        """The values of a variable, and its missing ones if they are unknowns."""
        return self._placed.values[name], self._placed.parameters.get(missing_name(name))

    def write(self, name: str, node: Node) -> None:
        """Tell what stands for a free variable, or for the missing values of an observed one."""
        self._written[self._placed.parameters[name].node] = node

    def write_data(self, name: str, node: Node, written: Node) -> None:
        """Tell what stands for an input of the model."""
        source = self._placed.sources.get(("data", name))
        self._written[node if source is None else source] = written

    def put(self, x: DimTensor) -> DimTensor:
        """An expression of placed values with what was written in their places."""
        return wrap(rebuild([x.node], self._written)[0])

    def terms(self) -> Mapping[str, DimTensor]:
        """Potentials by name."""
        return {name: self.put(x) for name, x in self._terms.items()}

    def spread(self, name: str, d: Distribution) -> Distribution:
        """A distribution with the support of another one and the log density 0, which a potential
        replaces.

        Raises
        ------
        GraphError
            If what is summed out moves the bounds of the support, or the variable is discrete.
        """
        if d.discrete:
            raise GraphError(
                build_message(
                    f"to_pymc: the discrete variable {name!r} depends on what is summed out",
                    [(name, repr(d))],
                    f"sum it out as well: model.marginalize({name!r})",
                )
            )
        if d.support.is_unconstrained:
            return Flat()
        found = OtherSupport(Flat(), d.support)
        _, nodes = spec_of(found)
        if any(self.reads(node) for node in nodes):
            raise GraphError(
                build_message(
                    f"to_pymc: where {name!r} may be depends on what is summed out, and a "
                    "transform of PyMC has bounds that are known",
                    [(name, repr(d))],
                    "write the model before marginalize(...)",
                )
            )
        return found
