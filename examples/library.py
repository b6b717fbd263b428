"""A small modeling library on dimtensor's public names: priors, models, interventions, text.

Unknowns are tensors with a prior; a model is a dict of log densities by name. What a library needs
beside that is here: a density for samplers, the best point, values by label, a model in which an
unknown is fixed, stable forms put in by a rewrite, and formulas printed from nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import xarray as xr
from scipy.optimize import minimize

import dimtensor as dt

LogDensity = Callable[[dt.DimTensor], dt.DimTensor]


@dataclass(frozen=True)
class Prior:
    """A log density of elements, and where they may lie."""

    logp: LogDensity
    support: dt.supports.Support = dt.real


def normal(mean: float | dt.DimTensor = 0.0, sd: float | dt.DimTensor = 1.0) -> Prior:
    """A normal prior; its parameters may be unknowns."""
    log_sd = np.log(sd) if isinstance(sd, float) else dt.log(sd)
    return Prior(lambda x: -0.5 * ((x - mean) / sd) ** 2 - log_sd)


def exponential(rate: float = 1.0) -> Prior:
    """An exponential prior of positive numbers."""
    return Prior(lambda x: np.log(rate) - rate * x, dt.positive)


@dataclass
class Model:
    """Unknowns and what is observed, as they are declared."""

    terms: dict[str, dt.DimTensor] = field(default_factory=dict)
    supports: dict[dt.DimTensor, dt.supports.Support] = field(default_factory=dict)
    recorded: dict[str, dt.DimTensor] = field(default_factory=dict)

    def unknown(self, name: str, prior: Prior, *dims: dt.Dim) -> dt.DimTensor:
        """A tensor to be inferred."""
        x = dt.tensor(name, dims=list(dims))
        self.terms[name] = prior.logp(x)
        self.supports[x] = prior.support
        return x

    def effect(self, name: str, sd: dt.DimTensor, dim: dt.Dim) -> dt.DimTensor:
        """Deviations of groups in units of their standard deviation, which samplers like."""
        return self.record(name, sd * self.unknown(f"{name}_raw", normal(), dim))

    def record(self, name: str, x: dt.DimTensor) -> dt.DimTensor:
        """Remember an expression under a name."""
        self.recorded[name] = x
        return x

    def observe(self, name: str, likelihood: Prior, data: dt.DimTensor) -> None:
        """Add the log density of data."""
        self.terms[name] = likelihood.logp(data)

    def density(self) -> dt.LogDensity:
        """The log density as samplers take it, in stable forms."""
        terms = dt.rewrite(self.terms, stable)
        return dt.LogDensity(terms, self.supports, backend="python", deterministics=self.recorded)

    def best(self) -> xr.Dataset:
        """The point of the highest density, by name and label."""
        density = self.density()

        def falling(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = density.logp_and_grad(x)
            return -value, -gradient

        found = minimize(falling, density.initial_point, jac=True, method="L-BFGS-B")
        return density.constrain(found.x)

    def fixed(self, **values: float) -> Model:
        """The model in which unknowns have given values."""
        numbers = {name: dt.full([], value) for name, value in values.items()}
        kept = {name: x for name, x in self.terms.items() if name not in values}

        def known(parts: dict[str, dt.DimTensor]) -> dict[str, dt.DimTensor]:
            own = {x.name for x in dt.inputs_of(parts)}
            return dt.substitute(parts, {k: v for k, v in numbers.items() if k in own})

        supports = {x: s for x, s in self.supports.items() if x.name not in values}
        return Model(known(kept), supports, known(self.recorded))

    def formulas(self) -> str:
        """The terms as text."""
        return "\n".join(f"{name}: {written(x.node)}" for name, x in self.terms.items())


def stable(x: dt.DimTensor) -> dt.DimTensor | None:
    """``log(1 + x)`` as ``log1p(x)``; nothing for other tensors."""
    node = x.node
    if node.operation != "log" or node.inputs[0].operation != "add":
        return None
    rest = [one for one in node.inputs[0].inputs if one.value != 1.0]
    return dt.log1p(dt.from_node(rest[0])) if len(rest) == 1 else None


def written(node: dt.Node) -> str:
    """An expression as text, with dims where there is a choice."""
    if node.value is not None:
        return f"{node.value:g}"
    if node.name is not None:
        return node.name
    if node.is_known:
        return f"data{list(dt.data_of(node).shape)}"
    parts = [*map(written, node.inputs), *(f"{k}={v}" for k, v in node.options.items())]
    return f"{node.operation}({', '.join(parts)})"


def schools(names: Sequence[str], y: np.ndarray, sd: np.ndarray) -> Model:
    """Effects of a treatment in several schools, drawn towards their mean."""
    school = dt.Dim("school", coords=names)
    model = Model()
    mean = model.unknown("mean", normal(0.0, 5.0))
    spread = model.unknown("spread", exponential(0.2))
    effect = mean + model.effect("deviation", spread, school)
    model.observe("y", normal(effect, dt.data(sd, dims=school)), dt.data(y, dims=school))
    return model


if __name__ == "__main__":
    y, sd = np.array([28.0, 8, -3, 7, -1, 1, 18, 12]), np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    eight = schools(list("ABCDEFGH"), y, sd)
    print(eight.formulas())
    print(eight.fixed(spread=5.0).best()["deviation"].to_series().round(2))
