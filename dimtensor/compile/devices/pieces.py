"""Code for the slices of a device, and the values that devices combine."""

from __future__ import annotations

from typing import Any, NamedTuple

from dimtensor.backends import Executable
from dimtensor.compile.devices.arrays import Segment
from dimtensor.compile.devices.shares import ShareTerm
from dimtensor.compile.program import Program


class SliceCode(NamedTuple):
    """Code for slices of one length along each cut.

    Attributes
    ----------
    segments : tuple of Segment
        Rows of each cut.
    terms : list of (int, ShareTerm)
        What it computes, with the number of the output.
    given : list of int
        The inputs of the whole that it takes, by their number.
    program : Program
    executable : Executable
    """

    segments: tuple[Segment, ...]
    terms: list[tuple[int, ShareTerm]]
    given: list[int]
    program: Program
    executable: Executable


class Total(NamedTuple):
    """Value of an output on a device.

    Attributes
    ----------
    operation : str
        Combines the values of devices along `cuts`.
    cuts : frozenset of int
    value : array or None
    rest : array or None
        Counted once: added after devices are combined.
    """

    operation: str
    cuts: frozenset[int]
    value: Any
    rest: Any
