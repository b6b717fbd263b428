"""Samplers of ``dt.sample``: their protocol, and their registry."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dimtensor.errors import OptionError, did_you_mean, listing

if TYPE_CHECKING:
    import numpy as np

    from dimtensor.compile.devices.mesh import Placement
    from dimtensor.model.inference.runs import Run
    from dimtensor.model.logdensity import LogDensity


@dataclass(frozen=True)
class SamplerSettings:
    """Settings of a run that all samplers take; those of :func:`dimtensor.sample`.

    The data are on the devices of `placement`, and the chains on those of `chain_placement`.
    """

    draws: int
    tune: int | None
    chains: int
    cores: int | None
    seed: int
    progress_bar: bool
    save_warmup: bool
    placement: Placement | None = None
    chain_placement: Placement | None = None


class Sampler(Protocol):
    """Algorithm that draws flat vectors from a log density.

    Attributes
    ----------
    keeps_warmup : bool
        Whether draws of tuning are in memory even where they are not returned.
    on_devices : bool
        Whether the log density can be computed on several devices of JAX.
    """

    keeps_warmup: bool
    on_devices: bool

    def prepare(
        self, options: Mapping[str, Any], known: Sequence[str]
    ) -> Callable[[LogDensity, np.ndarray, SamplerSettings], Run]:
        """Check the sampler's own options, before anything is compiled.

        Parameters
        ----------
        options : dict
            Options of ``dt.sample`` that all samplers do not have.
        known : sequence of str
            Names of the options that they have, for messages.

        Returns
        -------
        callable
            Function of the log density, the flat vector around which chains start and the settings:
            the draws.

        Raises
        ------
        MissingExtraError
            If the library is not installed.
        ArgumentError, OptionError
            If there is no such option, or it does not take the value.
        """
        ...


# Samplers by name, or the modules whose SAMPLER they are.
_samplers: dict[str, Sampler | str] = {
    name: f"dimtensor.interop.{name}" for name in ("nutpie", "blackjax", "numpyro")
}


def register(name: str, sampler: Sampler | str) -> None:
    """Make a sampler known to ``dt.sample(sampler=name)``.

    Parameters
    ----------
    name : str
    sampler : Sampler or str
        An object, or the name of a module with one called ``SAMPLER``, which is imported when it is
        asked for.
    """
    _samplers[name] = sampler


def unregister(name: str) -> None:
    """Forget a sampler."""
    del _samplers[name]


def sampler_of(name: str) -> Sampler:
    """Return the sampler of a name.

    Raises
    ------
    OptionError
        If there is none.
    """
    found = _samplers.get(name) if isinstance(name, str) else None
    if found is None:
        guess = did_you_mean(name, list(_samplers)) if isinstance(name, str) else ""
        raise OptionError(
            f"sample: there is no sampler {name!r}{guess}", [("samplers", listing(list(_samplers)))]
        )
    if isinstance(found, str):
        sampler: Sampler = importlib.import_module(found).SAMPLER
        return sampler
    return found
