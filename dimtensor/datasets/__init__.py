"""Small real data sets for examples, as data frames with labels; they come with the package."""

from dimtensor.datasets.loading import load as load
from dimtensor.datasets.loading import names as names


def __dir__() -> list[str]:
    return ["load", "names"]
