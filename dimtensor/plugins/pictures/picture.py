"""Pictures of expression graphs and of models."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dimtensor.display.printing import nodes_of
from dimtensor.errors import OptionError
from dimtensor.extras import check_installed
from dimtensor.plugins.pictures.scene import Arrow, Box, scene_of

if TYPE_CHECKING:
    from dimtensor.model.model import Model
    from dimtensor.plugins.pictures.plates import PlatePlan

_FORMATS = ("svg", "png", "pdf")


class Picture:
    """A picture of a graph, made by :func:`dimtensor.to_graph`; notebooks show it as it is.

    Attributes
    ----------
    boxes : list of Box
    arrows : list of Arrow
    plan : PlatePlan or None
        The plates of a model.
    """

    def __init__(self, boxes: list[Box], arrows: list[Arrow], plan: PlatePlan | None = None):
        self.boxes = boxes
        self.arrows = arrows
        self.plan = plan

    def save(self, path: str | PathLike[str], dpi: int = 150) -> Path:
        """Write the picture to a file.

        Parameters
        ----------
        path : path-like
            The suffix determines the format: ``.svg``, ``.png`` or ``.pdf``.
        dpi : int
            Resolution of a png.

        Raises
        ------
        OptionError
            If the suffix is another one.
        """
        path = Path(path)
        kind = path.suffix.lstrip(".").lower()
        if kind not in _FORMATS:
            raise OptionError(f"a picture is saved as .svg, .png or .pdf, not as {path.name!r}")
        path.write_bytes(self._render(kind, dpi))
        return path

    def _render(self, kind: str, dpi: int = 150) -> bytes:
        from dimtensor.plugins.pictures import canvas

        return canvas.render(self.boxes, self.arrows, kind, dpi, self.plan)

    def _repr_svg_(self) -> str:
        return self._render("svg").decode()

    def _repr_html_(self) -> str:
        svg = self._repr_svg_()
        return f'<div style="overflow-x: auto; background: white">{svg[svg.index("<svg") :]}</div>'

    def __repr__(self) -> str:
        return f"<Picture of {len(self.boxes)} boxes and {len(self.arrows)} arrows>"


def to_graph(x: Any, path: str | PathLike[str] | None = None) -> Picture:
    """Draw the graph of an expression: inputs and data at the top, results at the bottom.

    Parameters
    ----------
    x : DimTensor, CompiledFunction, or list or dict of DimTensor
        The keys of a dict name the results.
    path : path-like, optional
        Also save the picture, as ``.svg``, ``.png`` or ``.pdf``.

    Returns
    -------
    Picture
        Shown by notebooks; ``.save(path)`` writes it.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed (``pip install 'dimtensor[viz]'``).
    ArgumentError
        If `x` is something else.
    OptionError
        If the format is not known.
    GraphError
        If there are more than 1,000 nodes: print such a graph with ``dt.dprint``.

    Examples
    --------
    >>> import dimtensor as dt
    >>> a = dt.tensor("a", dims=dt.Dim("country", coords=["Italy", "Kenya"]))
    >>> picture = dt.to_graph({"total": dt.exp(a).sum()})
    >>> [box.title for box in picture.boxes]
    ['a', 'exp', 'Σ sum', 'total']
    """
    check_installed("matplotlib", "viz", "dt.to_graph")
    picture = Picture(*scene_of(nodes_of(x)))
    if path is not None:
        picture.save(path)
    return picture


def draw_model(model: Model, path: str | PathLike[str] | None = None) -> Picture:
    """Draw the variables of a model; see :meth:`dimtensor.Model.to_graph`."""
    from dimtensor.plugins.pictures.plates import plan_of

    check_installed("matplotlib", "viz", "to_graph")
    plan = plan_of(model)
    picture = Picture(plan.boxes, plan.arrows, plan)
    if path is not None:
        picture.save(path)
    return picture
