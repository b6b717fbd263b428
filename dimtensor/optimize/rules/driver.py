"""One walk over a graph, from its inputs to its outputs, in which each node is rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.shape import Shape_i
from pytensor.tensor.type import TensorType

from dimtensor.ops.constants import follows
from dimtensor.ops.graphs import computation, set_outputs, with_inputs
from dimtensor.optimize.rules.constants import folded
from dimtensor.optimize.rules.lengths import source_of_length
from dimtensor.optimize.rules.table import RULES, Rule, by_operation, operation
from dimtensor.tuning import COMPARED_CONSTANT, RULE_APPLICATIONS
from dimtensor.upstream.freezing import signature


def rewrite(graph: FunctionGraph, rules: Sequence[Rule] | None = None) -> bool:
    """Rewrite a graph in place.

    Equal nodes become one, constants of few elements are computed, and rules are applied until
    none fits. Each node is looked at once, after its inputs; so are the nodes that rules make.

    Parameters
    ----------
    graph : FunctionGraph
    rules : sequence of Rule, optional
        All of the table, if none are given.

    Returns
    -------
    bool
        Whether anything has changed.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dvector("x")
    >>> graph = FunctionGraph([x], [pt.exp(x * 1.0) + pt.exp(x)], clone=True)
    >>> rewrite(graph), len(graph.apply_nodes)
    (True, 2)
    """
    outputs = Rewriting(RULES if rules is None else rules).rewritten(graph.outputs)
    found = [_of_type(o, n) for o, n in zip(graph.outputs, outputs, strict=True)]
    if all(new is old for new, old in zip(found, graph.outputs, strict=True)):
        return False
    set_outputs(graph, found, "rewrites")
    return True


def _of_type(old: Variable, new: Variable) -> Variable:
    return new if old.type.is_super(new.type) else old.type.filter_variable(new)


class Rewriting:
    """Rewritten variables of graphs.

    Parameters
    ----------
    rules : sequence of Rule
    """

    def __init__(self, rules: Sequence[Rule]):
        self._rules = by_operation(list(rules))
        self._nodes: dict[Any, Apply] = {}
        self._constants: dict[Any, Constant] = {}
        self._done: dict[Variable, Variable] = {}
        self._becomes: dict[Variable, Variable] = {}
        self._lengths: dict[tuple[Variable, int], Variable | int] = {}
        self._found: dict[type, list[Rule]] = {}
        self._steps_left = 1000

    def rewritten(self, outputs: Sequence[Variable]) -> list[Variable]:
        """Return the rewritten outputs."""
        done, becomes = self._done, self._becomes
        stack = list(reversed(outputs))
        while stack:
            variable = stack[-1]
            if variable in done:
                stack.pop()
                continue
            following = becomes.get(variable)
            if following is not None:
                if following in done:
                    done[variable] = done[following]
                    stack.pop()
                else:
                    stack.append(following)
                continue
            node = variable.owner
            if node is None:
                done[variable] = self.constant(variable)
                stack.pop()
                continue
            missing = [v for v in node.inputs if v not in done]
            if missing:
                stack += reversed(missing)
                continue
            stack.pop()
            stack.append(variable)
            self._step(node)
        return [done[v] for v in outputs]

    def _step(self, node: Apply) -> None:
        """Say what the outputs of a node become, whose inputs are rewritten."""
        same = self._interned(node, [self._done[v] for v in node.inputs])
        if same is not node:
            self._steps_left += RULE_APPLICATIONS
            self._becomes.update(zip(node.outputs, same.outputs, strict=True))
            return
        results = self._applied(node) if self._steps_left > 0 else None
        if results is None:
            self._done.update((v, v) for v in node.outputs)
            return
        self._steps_left -= 1
        for old, new in zip(node.outputs, results, strict=True):
            if new is old:
                self._done[old] = old
            else:
                self._becomes[old] = new

    def _applied(self, node: Apply) -> list[Variable] | None:
        folded = self._folded(node)
        if folded is not None:
            return folded
        for one in self._rules_for(node):
            found = one.function(node, self)
            if found is None:
                continue
            results = found if isinstance(found, list) else [found]
            fits = all(
                old.type.is_super(new.type) and _as_broadcast(old, new)
                for old, new in zip(node.outputs, results, strict=True)
            )
            if fits:
                return results
        return None

    def _rules_for(self, node: Apply) -> list[Rule]:
        kind = operation(node)
        found = self._found.get(kind)
        if found is None:
            general = self._rules.get(Elemwise, []) if isinstance(node.op, Elemwise) else []
            found = self._found[kind] = [*general, *self._rules.get(kind, [])]
        return found

    def _interned(self, node: Apply, inputs: list[Variable]) -> Apply:
        """Return the node that represents all nodes of an operation and inputs."""
        key = computation(node.op, inputs)
        known = self._nodes.get(key)
        if known is None:
            if any(new is not old for new, old in zip(inputs, node.inputs, strict=True)):
                node = with_inputs(node, inputs)
                key = computation(node.op, node.inputs)
            known = self._nodes.setdefault(key, node)
        return known

    def constant(self, variable: Variable) -> Variable:
        """Return the constant that represents all equal ones; other variables are returned
        unchanged.
        """
        if not isinstance(variable, Constant):
            return variable
        data = variable.data
        if not isinstance(variable.type, TensorType) or data.size > COMPARED_CONSTANT:
            return variable
        return self._constants.setdefault(signature(variable), variable)

    def _folded(self, node: Apply) -> list[Variable] | None:
        return folded(node) if follows(node) else None

    def length(self, variable: Variable, axis: int) -> Variable | int:
        """Return the length of an axis, from the variable that is cheapest to compute."""
        path = []
        found: Variable | int | None = None
        while found is None:
            static = variable.type.shape[axis]
            if static is not None:
                found = static
                break
            found = self._lengths.get((variable, axis))
            if found is not None:
                break
            path.append((variable, axis))
            source = source_of_length(variable, axis)
            if source is None:
                found = Shape_i(axis)(variable)
            elif isinstance(source, tuple):
                variable, axis = source
            else:
                found = source
        self._lengths.update((key, found) for key in path)
        return found


def _as_broadcast(old: Variable, new: Variable) -> bool:
    """Return whether two variables have the same axes of length 1, which broadcast."""
    if not isinstance(old.type, TensorType):
        return True
    return all((n == 1) == (m == 1) for n, m in zip(old.type.shape, new.type.shape, strict=True))
