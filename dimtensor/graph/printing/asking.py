"""When nodes with names were written last, for the order of the variables of a model.

Whether a node is new, or one of an equal expression that is still alive, is not to be seen in it;
nor is what other threads write.
"""

from __future__ import annotations

import threading

from dimtensor.graph.beside import Beside
from dimtensor.graph.node import Node, next_serial

# for so many threads a node knows when it was written
_THREADS = 16


class _Thread(threading.local):
    """Identity of a thread, unique among all threads, ended ones too."""

    def __init__(self) -> None:
        self.token = object()


_thread = _Thread()
_asked: Beside[dict[object, int]] = Beside(clear=False)


def ask(node: Node) -> Node:
    """The node, which this thread writes now."""
    numbers = _asked.get(node)
    if numbers is None:
        numbers = _asked.add(node, {})
    elif len(numbers) >= _THREADS:
        for token in list(numbers)[: 1 - _THREADS]:
            numbers.pop(token, None)
    numbers[_thread.token] = next_serial()
    return node


def when_asked(node: Node) -> int:
    """A number that is greater than those of nodes that this thread wrote before this one.

    Of a node that only others wrote, or none: when that was.
    """
    numbers = _asked.get(node)
    if numbers is None:
        return node.serial
    own = numbers.get(_thread.token)
    return max([*numbers.values()], default=node.serial) if own is None else own
