"""Explanations as numbers, text and HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

from dimtensor.compile.memory import written
from dimtensor.cost.polynomial import Lengths, Polynomial
from dimtensor.cost.quantities import bytes_text, count_text
from dimtensor.display.html import Section, card, styled, table
from dimtensor.errors import PartitionError, printable
from dimtensor.graph.printing.formula import formula
from dimtensor.graph.walk import leaves
from dimtensor.spellings.attributes import former_names
from dimtensor.spellings.renamed import METHODS_OF_RESULTS
from dimtensor.tensor.graphs.partition import Partition, partition
from dimtensor.tensor.handle import wrap

if TYPE_CHECKING:
    from dimtensor.dims import Dim
    from dimtensor.explanation.steps import AllocatedArray, Schedule, Step
    from dimtensor.graph import Node

_WIDTH = 56
_SHOWN = 12  # steps and dims of a text
_COMBINED = {"add": "added", "concat": "independent positions", "": "not used"}


class XlaCost(NamedTuple):
    """XLA's analysis of its code: operations, bytes accessed, and bytes of memory."""

    flops: float | None
    accessed: float | None
    arguments: int
    results: int
    temporaries: int

    @property
    def peak(self) -> int:
        """Total bytes of memory."""
        return self.arguments + self.results + self.temporaries


@former_names(METHODS_OF_RESULTS["explain"])
class Explanation:
    """Operations and memory of a computation; made by :func:`dimtensor.explain`.

    Parameters
    ----------
    what : str
        The kind of object that is explained.
    value, gradient, lengths, backend
        See the attributes.

    Attributes
    ----------
    value : Schedule
        The steps that compute the value, with flops, bytes read and written, and arrays allocated
        by each, as polynomials in the lengths of dims.
    gradient : Schedule or None
        The steps that compute value and gradient together.
    lengths : Lengths
        Known lengths.
    backend : str
    expression : Node or None
        The expression, or the log density; None for several.
    xla : dict of str to XlaCost
        On JAX: XLA's analysis of ``value`` and ``gradient``.
    threads : str
        How a function or log density on threads is cut, or why not; empty without threads.

    Notes
    -----
    The steps are those of the ``native`` backend's kernels. XLA compiles the same graph to other
    steps, which `xla` describes.

    Examples
    --------
    >>> import dimtensor as dt
    >>> i, j = dt.Dim("i"), dt.Dim("j")
    >>> x, y = dt.tensor("x", dims=i), dt.tensor("y", dims=j)
    >>> found = dt.explain(dt.exp(x * y), {"i": 10, "j": 20})
    >>> found.flops, found.peak
    (2200, 1840)
    >>> for line in str(found).splitlines()[5:8]:
    ...     print(line.strip())
    flops        11·i·j = 2.2 k
    read         8·i + 8·j = 240 B
    written      8·i·j = 1.6 kB
    >>> found.number(found.value.results), found.largest.size
    (1600, <polynomial 8·i·j>)
    """

    def __init__(
        self,
        what: str,
        value: Schedule,
        gradient: Schedule | None,
        lengths: Lengths,
        backend: str,
    ):
        self.what = what
        self.value = value
        self.gradient = gradient
        self.lengths = lengths
        self.backend = backend
        self.xla: dict[str, XlaCost] = {}
        self.threads = ""
        self.expression: Node | None = None

    @property
    def schedules(self) -> dict[str, Schedule]:
        """Schedules by name: ``"value"`` and, if there is one, ``"gradient"``."""
        found = {"value": self.value}
        return found if self.gradient is None else {**found, "gradient": self.gradient}

    @cached_property
    def partitions(self) -> dict[Dim, Partition | PartitionError]:
        """Splits of the expression along the dims of inputs and data, see :func:`partition`.

        An error says which expression mixes positions. Empty if several expressions are explained.
        """
        if self.expression is None:
            return {}
        leaves_of = leaves([self.expression])
        dims = dict.fromkeys(dim for leaf in leaves_of for dim in leaf.dims if not dim.parents)
        found: dict[Dim, Partition | PartitionError] = {}
        for dim in dims:
            try:
                found[dim] = partition(wrap(self.expression), dim)
            except PartitionError as problem:
                found[dim] = problem
        return found

    @property
    def polynomials(self) -> list[Polynomial]:
        """Peak memory and flops of all schedules."""
        return [p for each in self.schedules.values() for p in (each.peak, each.total("flops"))]

    def number(self, polynomial: Polynomial) -> float | None:
        """Evaluate a polynomial at the known lengths.

        Parameters
        ----------
        polynomial : Polynomial

        Returns
        -------
        int, float or None
            None if lengths are missing.
        """
        if self.lengths.missing(polynomial):
            return None
        found = polynomial.at(self.lengths)
        return found if isinstance(found, int) else float(found)

    @property
    def flops(self) -> float | None:
        """Floating-point operations of a value; None if lengths are missing."""
        return self.number(self.value.total("flops"))

    @property
    def peak(self) -> float | None:
        """Peak memory of a value in bytes; None if lengths are missing."""
        return self.number(self.value.peak)

    @property
    def gradient_peak(self) -> float | None:
        """Peak memory of value and gradient in bytes; None if either, or a length, is missing."""
        return None if self.gradient is None else self.number(self.gradient.peak)

    @property
    def largest(self) -> AllocatedArray | None:
        """The largest array that is allocated, for the gradient if there is one."""
        return self._largest_of(self.value if self.gradient is None else self.gradient)

    def _largest_of(self, each: Schedule) -> AllocatedArray | None:
        """Find the largest array of a schedule.

        Parameters
        ----------
        each : Schedule
            `value` or `gradient`.

        Returns
        -------
        AllocatedArray or None
            Missing lengths are assumed to be 1000. None if no array is allocated.
        """
        arrays = each.arrays
        if not arrays:
            return None
        known = self.lengths
        if known.missing(*(one.size for one in arrays)):
            known = self.lengths.assuming(1000)
        return max(arrays, key=lambda one: one.size.at(known))

    def plot(self, path: str | PathLike[str] | None = None) -> Any:
        """Plot the operations and bytes of each step, and the memory in use after it.

        Parameters
        ----------
        path : path-like, optional
            Also save the picture, as ``.svg``, ``.png`` or ``.pdf``.

        Returns
        -------
        Bars
            Shown by notebooks.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed (``pip install 'dimtensor[viz]'``).
        DimError
            If lengths are missing.

        Examples
        --------
        >>> import dimtensor as dt
        >>> x = dt.tensor("x", dims=dt.Dim("i", length=3))
        >>> dt.explain(dt.exp(x)).plot()
        <Bars of 1 steps>
        """
        from dimtensor.explanation.picture import Bars

        picture = Bars(self)
        if path is not None:
            picture.save(path)
        return picture

    # -- text ------------------------------------------------------------------------------------

    @printable
    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"Cost of {self.what}, backend {self.backend}"
        known = self._known_lengths()
        if known:
            yield from textwrap.wrap(f"lengths: {known}", 96, subsequent_indent="  ")
        for name, each in self.schedules.items():
            yield ""
            yield f"{'value and gradient' if name == 'gradient' else 'value'}:"
            yield from self._steps(each)
            yield from (f"  {title:<12} {text}" for title, text in self._memory(each))
            largest = self._largest_of(each)
            if largest is not None:
                yield f"  {'largest':<12} {self._text(largest.size, bytes_text)}"
                yield from (f"    {title}: {text}" for title, text in made_at(largest))
            if name in self.xla:
                yield from (f"  {title:<12} {text}" for title, text in xla_rows(self.xla[name]))
        slices = self._slices()
        if slices:
            yield ""
            yield "slices of dims:"
            yield from (f"  {title:<12} {text}" for title, text in slices[:_SHOWN])
        if len(slices) > _SHOWN:
            yield f"  …  {len(slices) - _SHOWN} more dims"

    def _slices(self) -> list[tuple[str, str]]:
        """Describe by dim how the values for slices make the whole, and which of them are made."""
        found = [("threads", self.threads)] if self.threads else []
        for dim, each in self.partitions.items():
            if isinstance(each, PartitionError):
                place = "" if each.line is None else f", {each.line}"
                text = f"mixed by {formula(each.node, _WIDTH)}{place}"
            else:
                text = _COMBINED.get(each.operation or "", f"combined by {each.operation}")
            found.append((dim._short, text))
        return found

    def _steps(self, each: Schedule) -> Iterator[str]:
        numbered = [*(("once", step) for step in each.once), *enumerate(each.steps, start=1)]
        for at, step in numbered[:_SHOWN]:
            place = _place(step)
            yield f"  {at}  {step.title:<{_WIDTH}}{place}".rstrip()
            yield from (f"       {name:<12} {text}" for name, text in self._costs(step))
        if len(numbered) > _SHOWN:
            yield f"  …  {len(numbered) - _SHOWN} more steps"

    def _known_lengths(self) -> str:
        """List the lengths that occur in polynomials, with their values."""
        variables = dict.fromkeys(v for p in self.polynomials for v in p.variables)
        return ", ".join(
            f"{v._short}={number:,}" if (number := self.lengths.get(v)) is not None
            else f"{v._short}=?"
            for v in variables
        )  # fmt: skip

    def _costs(self, step: Step) -> list[tuple[str, str]]:
        """Return the costs of a step as titles and texts."""
        rows = [
            ("flops", step.flops, count_text),
            ("read", step.read, bytes_text),
            ("written", step.written, bytes_text),
            ("temporaries", step.temporaries, bytes_text),
        ]
        return [(name, self._text(p, unit)) for name, p, unit in rows if p]

    def _memory(self, each: Schedule) -> list[tuple[str, str]]:
        """Return the memory of a call as titles and texts."""
        rows = [
            ("inputs", each.given),
            ("data", each.held),
            ("temporaries", each.temporaries),
            ("results", each.results),
            ("peak", each.peak),
        ]
        return [(name, self._text(p, bytes_text)) for name, p in rows if p]

    def _text(self, polynomial: Polynomial, unit: Any) -> str:
        """Write a polynomial and its value."""
        number = self.number(polynomial)
        if polynomial.number is not None:
            return unit(polynomial.number)
        return str(polynomial) if number is None else f"{polynomial} = {unit(number)}"

    # -- HTML ------------------------------------------------------------------------------------

    def _repr_html_(self) -> str:
        sections = []
        for name, each in self.schedules.items():
            rows = []
            numbered = [*(("once", step) for step in each.once), *enumerate(each.steps, start=1)]
            for at, step in numbered:
                costs = dict(self._costs(step))
                cells = [costs.get(key, "") for key in ("flops", "read", "written", "temporaries")]
                rows.append([str(at), styled(step.title, "mono"), *cells, _place(step)])
            title = "Value and gradient" if name == "gradient" else "Value"
            header = ["", "computes", "flops", "read", "written", "temporaries", "line"]
            sections.append(Section(title, table(rows, header), number=len(rows)))
            memory = [[key, text] for key, text in self._memory(each)]
            largest = self._largest_of(each)
            if largest is not None:
                memory.append(["largest array", self._text(largest.size, bytes_text)])
                memory += [list(pair) for pair in made_at(largest)]
            if name in self.xla:
                memory += [list(pair) for pair in xla_rows(self.xla[name])]
            sections.append(Section(f"Memory of {title.lower()}", table(memory)))
        slices = [list(pair) for pair in self._slices()]
        if slices:
            sections.append(Section("Slices of dims", table(slices), number=len(slices)))
        head = [styled("Cost", "kind"), self.what, "on", styled(self.backend, "name")]
        return card([*head, styled(self._known_lengths(), "soft")], sections)


def _place(step: Step) -> str:
    lines = [node.line for node in step.nodes if node.line is not None]
    return str(lines[0]) if lines else ""


def made_at(array: AllocatedArray) -> list[tuple[str, str]]:
    """Describe the expression of an array and its line of code."""
    return [] if array.node is None else written(array.node, array.line)


def xla_rows(cost: XlaCost) -> list[tuple[str, str]]:
    """Return XLA's analysis as titles and texts."""
    rows = [("XLA peak", bytes_text(cost.peak)), ("XLA temps", bytes_text(cost.temporaries))]
    if cost.flops is not None:
        rows.append(("XLA flops", count_text(cost.flops)))
    if cost.accessed is not None:
        rows.append(("XLA bytes", bytes_text(cost.accessed)))
    return rows
