"""Reports of a fit as one self-contained page."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from dimtensor.errors import InputError
from dimtensor.model.inference.results import posterior_of
from dimtensor.plugins.report.page import page_of

if TYPE_CHECKING:
    from dimtensor.model.model import Model
    from dimtensor.typing import Path, Posterior


def report(
    fit: Model, post: Posterior, path: Path, *, title: str | None = None, seed: int = 0
) -> FilePath:
    """Write a report of a fit: one HTML file that needs no other file and no network.

    It has the card of the model with its data, its formulas, diagnostics of the draws, tables and
    pictures of the posterior, comparisons of observations with replications, versions of libraries,
    and seeds.

    Parameters
    ----------
    fit : Model
        A model with observations.
    post : DataTree
        Draws of its posterior. Without a group ``posterior_predictive`` replications are drawn.
    path : path-like
        The file; one that exists is overwritten.
    title : str, optional
    seed : int, optional
        Of the replications.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        If the model has no observations, or `post` no draws.
    MissingExtraError
        If matplotlib or ArviZ is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import dimtensor as dt
    >>> from dimtensor import dist
    >>> mu = dt.rv("mu", dist.Normal(0.0, 10.0))
    >>> y = dt.rv("y", dist.Normal(mu, 1.0), dims=dt.Dim("obs"))
    >>> fit = dt.Model(y, backend="python").observe(y=[1.0, 3.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = dt.report(fit, fit.laplace(100, seed=1), f"{folder}/report.html")
    ...     "Predictive checks" in file.read_text(encoding="utf-8")
    True
    """
    posterior_of(post)
    if not fit.observed:
        raise InputError(
            "a report is of a fit, and the model has no observations",
            hint="model.observe({y: values}) conditions it on them",
        )
    file = FilePath(path)
    file.write_text(page_of(fit, post, title, seed), encoding="utf-8")
    return file
