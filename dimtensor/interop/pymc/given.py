"""Models that were written elsewhere."""

from __future__ import annotations

from dimtensor.errors import ModelWarning, warn
from dimtensor.model.checks import ranges_left
from dimtensor.model.model import Model


class GivenModel(Model):
    """A model of which a parameter may leave its range: a warning where it is read, no error.

    Models that are made of it by `observe`, `do` and so on are silent about it.
    """

    ranges_are_checked = False


def warn_of_ranges(model: Model) -> None:
    """Warn of each parameter that may leave its range."""
    for message in ranges_left(model.variables):
        warn(
            f"from_pymc: the log density is NaN where a parameter is out of its range: {message}",
            ModelWarning,
        )
