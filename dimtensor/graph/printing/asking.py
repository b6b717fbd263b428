"""Order in which the user wrote named nodes, which determines the order of a model's variables.

It must not depend on whether an equal node was already alive, nor on other threads.
"""

from __future__ import annotations

import threading

from dimtensor.graph.beside import Beside
from dimtensor.graph.node import Node, next_serial
from dimtensor.tuning import RECORDED_THREADS


class _Thread(threading.local):
    """Identity of a thread, unique among all threads, ended ones too."""

    def __init__(self) -> None:
        self.token = object()


_thread = _Thread()
_asked: Beside[dict[object, int]] = Beside(clear=False)


def ask(node: Node) -> Node:
    """Record that this thread's user code writes a node now, and return the node."""
    numbers = _asked.get(node)
    if numbers is None:
        numbers = _asked.add(node, {})
    elif len(numbers) >= RECORDED_THREADS:
        for token in list(numbers)[: 1 - RECORDED_THREADS]:
            numbers.pop(token, None)
    numbers[_thread.token] = next_serial()
    return node


def when_asked(node: Node) -> int:
    """Return a number that sorts nodes by when this thread wrote them.

    For nodes that it did not write: when another thread did, or when they were made.
    """
    numbers = _asked.get(node)
    if numbers is None:
        return node._serial
    own = numbers.get(_thread.token)
    return max([*numbers.values()], default=node._serial) if own is None else own
