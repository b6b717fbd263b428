"""Array modeling with named dimensions: checked when built, compiled to loops, labeled results.

Importing the package imports no library but NumPy. Dims and errors are available at once; access to
any other name imports all public modules, and PyTensor.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dimtensor.dims import BlockDim as BlockDim
from dimtensor.dims import ConcatDim as ConcatDim
from dimtensor.dims import Dim as Dim
from dimtensor.dims import PadDim as PadDim
from dimtensor.dims import ProductDim as ProductDim
from dimtensor.dims import RenamedDim as RenamedDim
from dimtensor.dims import SelDim as SelDim
from dimtensor.dims import SortedDim as SortedDim
from dimtensor.dims import date_range as date_range
from dimtensor.errors import ArgumentError as ArgumentError
from dimtensor.errors import BroadcastWarning as BroadcastWarning
from dimtensor.errors import CheckError as CheckError
from dimtensor.errors import ComputationError as ComputationError
from dimtensor.errors import DimError as DimError
from dimtensor.errors import DimtensorError as DimtensorError
from dimtensor.errors import DimtensorWarning as DimtensorWarning
from dimtensor.errors import DtypeError as DtypeError
from dimtensor.errors import GraphError as GraphError
from dimtensor.errors import InputError as InputError
from dimtensor.errors import LabelError as LabelError
from dimtensor.errors import MemoryLimitError as MemoryLimitError
from dimtensor.errors import MissingExtraError as MissingExtraError
from dimtensor.errors import ModelWarning as ModelWarning
from dimtensor.errors import NoAttributeError as NoAttributeError
from dimtensor.errors import NotNativeWarning as NotNativeWarning
from dimtensor.errors import OptionError as OptionError
from dimtensor.errors import PartitionError as PartitionError
from dimtensor.errors import PositionError as PositionError
from dimtensor.errors import RaggedDimError as RaggedDimError
from dimtensor.errors import SamplingWarning as SamplingWarning
from dimtensor.errors import StreamError as StreamError
from dimtensor.errors import UnknownDimError as UnknownDimError
from dimtensor.hooks import provided_by as _provided_by
from dimtensor.plugins import find as _find_in_plugin
from dimtensor.plugins import names as _names_of_plugins
from dimtensor.upstream.homes import usable_home as _usable_home
from dimtensor.upstream.imports import around_import as _around_import

if TYPE_CHECKING:
    from dimtensor.public import *  # noqa: F403

__version__ = "0.1.0"

_around_import("pytensor", _usable_home)
_provided_by(
    "dimtensor.display",
    "dimtensor.public",
    "dimtensor.display.cards",
    "dimtensor.display.completion",
)

_SUBMODULES = frozenset(
    {"datasets", "dist", "fft", "gp", "linalg", "random", "special", "supports"}
)

# public packages that no other module imports
_ASIDE = frozenset({"testing"})


def _all_names() -> dict[str, Any]:
    """Import all public names into the package, and return them."""
    public = vars(import_module("dimtensor.public"))
    dist = import_module("dimtensor.dist")
    found = {"dist": dist, **{name: x for name, x in public.items() if not name.startswith("_")}}
    globals().update(found)
    return found


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name in _ASIDE:
        return import_module(f"dimtensor.{name}")
    if not name.startswith("_"):
        found = _all_names()
        if name in found:
            return found[name]
        if name in _names_of_plugins():
            return globals().setdefault(name, _find_in_plugin(name))
    from dimtensor.spellings import as_variable, no_attribute

    if name.startswith("_"):
        raise AttributeError(f"module 'dimtensor' has no attribute {name!r}", name=name)
    hint = None
    if name[0].isupper() and name in dir(dist := import_module("dimtensor.dist")):
        hint = as_variable(name, getattr(dist, name))
    raise no_attribute("dt", name, "dimtensor", __dir__(), sys.modules[__name__], hint)


def __dir__() -> list[str]:
    """List the public names, without internal modules."""
    return sorted(
        name
        for name, value in (_all_names() | _names_of_plugins()).items()
        if name in _SUBMODULES or not isinstance(value, ModuleType)
    )


class _Package(ModuleType):
    """Class of the package, in which the function `tensor` is not replaced by the subpackage."""

    def __setattr__(self, name: str, value: object) -> None:
        if name != "tensor" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
