"""Traversals of directed acyclic graphs: nodes, variables, dims."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator


def reached[T: Hashable](start: Iterable[T], below: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Iterate over all items reachable from some starts, each once, in depth-first order.

    Parameters
    ----------
    start : iterable of hashable
    below : callable
        Successors of an item.

    Yields
    ------
    hashable
        An item before its successors. `below` is called when the next item is requested, so that a
        caller can stop early.

    Examples
    --------
    >>> list(reached([12], lambda n: [n // d for d in (2, 3) if n % d == 0]))
    [12, 6, 3, 1, 2, 4]
    """
    seen: set[T] = set()
    stack = list(start)[::-1]
    while stack:
        item = stack.pop()
        if item not in seen:
            seen.add(item)
            yield item
            stack += list(below(item))[::-1]


def postorder[T: Hashable](start: Iterable[T], below: Callable[[T], Iterable[T]]) -> list[T]:
    """Iterate over all items reachable from some starts, each once, after its successors.

    Parameters
    ----------
    start : iterable of hashable
    below : callable
        Successors of an item; called once per item. There are no cycles.

    Examples
    --------
    >>> postorder([12], lambda n: [n // d for d in (2, 3) if n % d == 0])
    [1, 3, 2, 6, 4, 12]
    """
    order: list[T] = []
    seen: set[T] = set()
    stack = [(item, False) for item in list(start)[::-1]]
    while stack:
        item, ready = stack.pop()
        if item in seen:
            continue
        if ready:
            seen.add(item)
            order.append(item)
        else:
            stack.append((item, True))
            stack += [(x, False) for x in list(below(item))[::-1] if x not in seen]
    return order
