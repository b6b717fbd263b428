"""Whether a derivative that is taken is differentiated in turn.

Where a cotangent is zero for want of a use, products with it are left out. By chance it may be zero
where it is used; then derivatives of the product by it and by its other factor are not zero, and
the second derivative of what is left out has to say so. The last derivative that is taken of an
expression need not: nobody asks for the slope of its zeros, and computing it is work.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_again: ContextVar[bool | None] = ContextVar("again", default=None)


def is_differentiated_again() -> bool:
    """Whether what is taken now may be differentiated; it may, if nobody says that it is not."""
    return _again.get() is not False


@contextmanager
def differentiated() -> Iterator[None]:
    """Derivatives that are taken within are differentiated."""
    token = _again.set(True)
    try:
        yield
    finally:
        _again.reset(token)


@contextmanager
def taken_last() -> Iterator[None]:
    """Derivatives that are taken within are not differentiated, unless it is known that they are.

    Examples
    --------
    >>> with taken_last():
    ...     outer = is_differentiated_again()
    >>> with differentiated(), taken_last():
    ...     inner = is_differentiated_again()
    >>> outer, inner
    (False, True)
    """
    token = _again.set(_again.get() or False)
    try:
        yield
    finally:
        _again.reset(token)
