"""Bar charts of steps: operations, bytes, and memory in use."""

from __future__ import annotations

import io
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from dimtensor.cost.polynomial import missing_lengths
from dimtensor.cost.quantities import bytes_text, count_text
from dimtensor.errors import OptionError, escaped
from dimtensor.explanation.steps import Schedule
from dimtensor.extras import check_installed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dimtensor.explanation.report import Explanation

_FORMATS = ("svg", "png", "pdf")


class Bars:
    """Bar chart of the steps of an explanation, displayed by notebooks."""

    def __init__(self, explanation: Explanation):
        check_installed("matplotlib", "viz", "the picture of an explanation")
        missing = explanation.lengths.missing(*explanation.polynomials)
        if missing:
            raise missing_lengths(missing)
        self._explanation = explanation

    def save(self, path: str | PathLike[str], dpi: int = 150) -> Path:
        """Write the picture to a file; the suffix determines the format: svg, png or pdf.

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
        import matplotlib as mpl
        from matplotlib.figure import Figure

        schedules = self._explanation.schedules
        rows = [max(len(each.steps), 1) for each in schedules.values()]
        height = 0.28 * sum(rows) + 1.1 * len(rows)
        buffer = io.BytesIO()
        with mpl.rc_context({"text.parse_math": False}):  # names may have dollar signs
            figure = Figure(figsize=(10, height), layout="constrained")
            axes = figure.subplots(
                len(schedules), 3, squeeze=False, gridspec_kw={"height_ratios": rows}
            )
            for line, (name, each) in zip(axes, schedules.items(), strict=True):
                self._row(line, name, each)
            figure.savefig(buffer, format=kind, dpi=dpi)
        return buffer.getvalue()

    def _row(self, axes: list[Axes], name: str, each: Schedule) -> None:
        at = self._explanation.lengths
        places = list(range(len(each.steps)))
        steps = enumerate(each.steps, start=1)
        titles = [f"{n}  {escaped(step.title)[:40]}" for n, step in steps]
        flops = [float(step.flops.at(at)) for step in each.steps]
        moved = [float((step.read + step.written).at(at)) for step in each.steps]
        start = float((each.given + each.held).at(at))
        made = [float(sum(array.size.at(at) for array in step.arrays)) for step in each.steps]
        held = [start + sum(made[: n + 1]) for n in places]
        what = "value and gradient" if name == "gradient" else name
        columns = (("flops", flops, count_text), ("bytes read and written", moved, bytes_text),
                   ("memory after the step", held, bytes_text))  # fmt: skip
        for axis, (title, numbers, unit) in zip(axes, columns, strict=True):
            bars = axis.barh(places, numbers, color="#4c72b0", height=0.6)
            axis.bar_label(bars, [unit(n) for n in numbers], padding=2, fontsize=7)
            axis.set_title(f"{what}: {title}", fontsize=8, loc="left")
            axis.set_yticks(places, titles if axis is axes[0] else [""] * len(places), fontsize=7)
            axis.invert_yaxis()
            axis.margins(x=0.25)
            axis.set_xticks([])
            for side in ("top", "right", "bottom"):
                axis.spines[side].set_visible(False)

    def _repr_svg_(self) -> str:
        return self._render("svg").decode()

    def __repr__(self) -> str:
        steps = sum(len(each.steps) for each in self._explanation.schedules.values())
        return f"<Bars of {steps} steps>"
