"""Recipes of cached code: how a graph with the same fingerprint maps to its arguments and results.

Lowering determines which ends of slices are arguments of the code, and which masks and checks are
results besides the outputs. A recipe stores their numbers in the description of the graph. With the
recipe a graph becomes a :class:`~dimtensor.compile.program.Program` without lowering.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dimtensor.compile.arguments import end_of, source_of
from dimtensor.compile.caching.fingerprint import Description
from dimtensor.compile.caching.rebuild import raise_bugs, rebuild_graph
from dimtensor.compile.program import Program, Slot, build_program, host_side
from dimtensor.dims import Dim
from dimtensor.errors import DimtensorError
from dimtensor.graph import Node
from dimtensor.graph.attrs import LabelPosition
from dimtensor.graph.checking.checks import Check, is_check
from dimtensor.graph.forms import FormlessError
from dimtensor.graph.kinds.elementwise import CHECK
from dimtensor.lower.layout.order import AxisOrder

_ROLES = ("start", "stop", "length")


class Recipe(NamedTuple):
    """Arguments and results of code, by numbers in the description of its graph.

    Attributes
    ----------
    ends : tuple of (int, str)
        The last arguments: the number of a slice, and which end.
    masks : tuple of int
        The nodes that are computed after the outputs.
    checks : tuple of (int, int or None)
        The nodes and dims of the checks.
    """

    ends: tuple[tuple[int, str], ...]
    masks: tuple[int, ...]
    checks: tuple[tuple[int, int | None], ...]

    def fits(self, description: Description) -> bool:
        """Check that all numbers are in range."""
        nodes, dims = len(description.nodes), len(description.dims)
        return (
            all(0 <= cut < len(description.cuts) and role in _ROLES for cut, role in self.ends)
            and all(0 <= mask < nodes for mask in self.masks)
            and all(0 <= n < nodes and (d is None or 0 <= d < dims) for n, d in self.checks)
        )


def recipe_of(found: Any) -> Recipe:
    """Convert the contents of a file to a recipe.

    Raises
    ------
    TypeError, ValueError
        If they are malformed.
    """
    ends, masks, checks = found
    return Recipe(
        tuple((int(cut), str(role)) for cut, role in ends),
        tuple(map(int, masks)),
        tuple((int(node), None if dim is None else int(dim)) for node, dim in checks),
    )


def lower_description(description: Description) -> tuple[Program, Recipe]:
    """Lower the graph of a description.

    Returns
    -------
    program : Program
    recipe : Recipe
        How to use the program's code for graphs with this description.

    Raises
    ------
    FormlessError
        If lowering needs something that the description leaves out.
    BrokenGraphError
        Under full checks, if the verifier finds that the lowered graph is broken.
    """
    graph = rebuild_graph(description)
    try:
        given = len(description.form["inputs"])
        program = build_program(graph.inputs, graph.outputs, order=graph.order, given=given)
    except DimtensorError as error:
        raise_bugs(error)
        raise FormlessError(f"the graph cannot be lowered without names: {error}") from error
    numbers = graph.numbers
    ends = []
    for slot in program.slots[len(graph.inputs) :]:
        position = slot.source
        assert isinstance(position, LabelPosition)
        ends.append((position.labels[0], position.role))
    checks = [
        (_number_of(check.node, numbers), None if check.about is None else numbers[check.about])
        for check in program.checks
    ]
    masks = [numbers[mask] for mask in program.masks]
    return program, Recipe(tuple(ends), tuple(masks), tuple(checks))


def _number_of(node: Node, numbers: Mapping[Any, int]) -> int:
    """Return the number of the node that a check belongs to.

    A loop that is batched over dims replaces the checks in its body by new ones; the messages of
    these contain the numbers of the old ones.

    Raises
    ------
    FormlessError
        If the node is not in the description.
    """
    number = numbers.get(node)
    if number is None and is_check(node):
        number = int(node.attrs.removeprefix(CHECK))
    if number is None:
        raise FormlessError(f"{node!r} of a loop asks for a check and is not described")
    return number


def program_of(
    description: Description,
    recipe: Recipe,
    inputs: Sequence[Node | Dim],
    outputs: Sequence[Node],
) -> Program:
    """Build the program of a described graph, without its positional graph."""
    dims = description.dims
    order = AxisOrder({dims[n]: (0, at) for at, n in enumerate(description.form["order"])})
    slots = [Slot(s, order.sort(s.dims) if isinstance(s, Node) else ()) for s in inputs]
    slots += [Slot(node, order.sort(node.dims)) for node in description.data]
    for argument in description.arguments:
        own = () if isinstance(argument, Dim) else argument.dims
        slots.append(Slot(source_of(argument), own))
    slots += [Slot(end_of(description.cuts[cut], role), ()) for cut, role in recipe.ends]
    nodes = description.nodes
    return Program(
        slots=slots,
        outputs=[],
        output_dims=[order.sort(node.dims) for node in outputs],
        order=order,
        masks=[nodes[mask] for mask in recipe.masks],
        checks=[Check(nodes[n], None if d is None else dims[d]) for n, d in recipe.checks],
        **host_side(outputs),
    )
