"""Private names of formulae."""

from __future__ import annotations

from typing import Any


def codings(terms: Any) -> dict[str, list[dict[str, bool]]]:
    """Return by term which of its labels are coded in full, with a column for each level.

    A term with several such dicts needs further terms, so that the columns span what it says.

    Parameters
    ----------
    terms : formulae.terms.terms.Model
        With types.
    """
    found: dict[str, list[dict[str, bool]]] = terms._get_encoding_bools()
    return found
