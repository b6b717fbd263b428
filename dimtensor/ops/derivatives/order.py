"""Record whether a derivative will be differentiated again.

Where a cotangent is zero for want of a use, products with it are left out. By chance it may be zero
where it is used; then derivatives of the product by it and by its other factor are not zero, and
the second derivative of what is left out has to say so. The last derivative that is taken of an
expression need not: nobody asks for the slope of its zeros, and computing it is work.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from dimtensor.scopes import within

_again: ContextVar[bool | None] = ContextVar("again", default=None)


def is_differentiated_again() -> bool:
    """Return whether the current derivative may be differentiated again; True by default."""
    return _again.get() is not False


def differentiated[T](call: Callable[[], T]) -> T:
    """Call a function; derivatives that it takes are differentiated."""
    return within(_again, True, call)


def taken_last[T](call: Callable[[], T]) -> T:
    """Call a function; derivatives that it takes are not differentiated, unless known to be.

    Examples
    --------
    >>> taken_last(is_differentiated_again)
    False
    >>> differentiated(lambda: taken_last(is_differentiated_again))
    True
    """
    return within(_again, _again.get() or False, call)
