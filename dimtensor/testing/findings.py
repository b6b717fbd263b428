"""Failures of contracts, and reports of what was checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from dimtensor.errors import DimtensorError
from dimtensor.graph.lines import Line


class Finding(NamedTuple):
    """Failure of a contract.

    Attributes
    ----------
    contract : str
        Name of the contract, such as ``labels``.
    variable : str
        Name of the result that fails it.
    reason : str
    line : Line or None
        The first line of the user's code whose value fails it, where it is known.

    Examples
    --------
    >>> import dimtensor as dt
    >>> print(dt.testing.Finding("labels", "share", "depends on positions along country"))
    labels: 'share' depends on positions along country
    """

    contract: str
    variable: str
    reason: str
    line: Line | None = None

    def __str__(self) -> str:
        text = f"{self.contract}: {self.variable!r} {self.reason}"
        if self.line is None:
            return text
        code = f": {self.line.text}" if self.line.text else ""
        return f"{text}\n    at {self.line}{code}"


class ContractError(AssertionError):
    """Raised with all failures of contracts.

    Attributes
    ----------
    findings : tuple of Finding
    """

    def __init__(self, findings: Iterable[Finding]):
        self.findings = tuple(findings)
        super().__init__("\n".join(map(str, self.findings)))


@dataclass
class Report:
    """Record of the checked contracts, and of the reasons why others were skipped.

    Attributes
    ----------
    checked : list of str
        Contract and dim or variable, such as ``labels along country``.
    skipped : dict of str to str
        Reasons, by what was not checked.

    Examples
    --------
    >>> import dimtensor as dt
    >>> dt.testing.check_function(lambda x: 2 * x, 1.0)
    Report(checked=[], skipped={})
    """

    checked: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def _checking(self, what: str) -> Iterator[None]:
        """Record that something is checked, or that it is refused with an error."""
        try:
            yield
            self.checked.append(what)
        except DimtensorError as error:
            self.skipped[what] = str(error).partition("\n")[0]
