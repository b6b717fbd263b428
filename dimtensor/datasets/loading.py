"""Reading of the data sets."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dimtensor.errors import LabelError, did_you_mean, listing

if TYPE_CHECKING:
    import pandas as pd

_FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Return the names of the data sets.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import dimtensor as dt
    >>> "radon" in dt.datasets.names()
    True
    """
    return sorted(_sources())


def load(name: str) -> pd.DataFrame:
    """Load a data set.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    DataFrame
        Its `attrs` are ``title``, ``source`` (who published the data), ``copy`` (where the copy in
        dimtensor is from), ``license`` (of that copy, as an SPDX expression; "none" for numbers of
        a published table) and ``units`` by column.

    Raises
    ------
    LabelError
        If there is no data set of this name.

    Examples
    --------
    >>> import dimtensor as dt
    >>> houses = dt.datasets.load("radon")
    >>> len(houses), list(houses)
    (919, ['county', 'floor', 'log_uranium', 'log_radon'])
    >>> houses.attrs["title"]
    'Radon in 919 houses in 85 counties of Minnesota'
    """
    import pandas as pd

    if not isinstance(name, str) or name not in _sources():
        guess = did_you_mean(name, names()) if isinstance(name, str) else ""
        raise LabelError(
            f"there is no data set {name!r}{guess}", [("data sets", listing(names(), 20))]
        )
    about = _sources()[name]
    table = pd.read_csv(_FOLDER / f"{name}.csv").astype(about.get("read", {}))
    if "index" in about:
        table = table.set_index(about["index"])
    if "columns" in about:
        labels = [int(each) if each.isdigit() else each for each in table.columns]
        table = table.set_axis(pd.Index(labels, name=about["columns"]), axis="columns")
    units = dict(about.get("units", {}))
    told = {name: about[name] for name in ("title", "source", "copy", "license")}
    table.attrs = {**told, "units": units}
    return table


@cache
def _sources() -> dict[str, dict[str, Any]]:
    return tomllib.loads((_FOLDER / "sources.toml").read_text(encoding="utf-8"))
