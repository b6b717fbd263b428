"""Models of posteriordb in dimtensor: which there are, their data, and where Stan's numbers go."""

from __future__ import annotations

import functools
import gzip
import importlib
import json
import os
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dimtensor as dt

HERE = Path(__file__).parent
N_POINTS = 10
# Gradients that are longer are stored as their products with so many vectors of signs.
LONG, N_PRODUCTS = 60, 30


class Stored(NamedTuple):
    """What Stan says of a posterior."""

    versions: str
    points: np.ndarray  # in the order of Stan's vector, as are gradients
    values: np.ndarray
    gradients: np.ndarray  # shortened
    radius: float
    at_probe: dict[str, np.ndarray]


class Posterior(NamedTuple):
    """A model with data.

    ``parts`` are the parameters of Stan that one of ours is made of, ``axes`` the dims of a
    parameter in the order of Stan's indices.
    """

    name: str
    data: dict[str, Any]
    fit: dt.Model | dt.LogDensity
    parts: Mapping[str, tuple[str, ...]]
    axes: Mapping[str, tuple[str, ...]]
    tolerance: float  # of gradients

    @property
    def density(self) -> dt.LogDensity:
        return self.fit.log_density() if isinstance(self.fit, dt.Model) else self.fit


def model_names() -> list[str]:
    return sorted(path.stem for path in (HERE / "models").glob("[!_]*.py"))


def load_model(name: str) -> Any:
    """The module of a model, by its name in posteriordb."""
    return importlib.import_module(f"tests.benchmarks.posteriordb.models.{name}")


@functools.cache
def posterior_names() -> tuple[str, ...]:
    return tuple(name for model in model_names() for name in load_model(model).POSTERIORS)


def build(
    name: str, backend: str = "numba", folder: str | None = None, exact: bool = False
) -> Posterior:
    """A posterior by its name, ``<data>-<model>``; an exact one solves equations to 1e-11."""
    data = read_data(name, folder)
    module = load_model(name.split("-", 1)[1])
    options = getattr(module, "EXACT", {}) if exact else {}
    with warnings.catch_warnings():
        # Stan's program has a parameter of which nothing is observed
        warnings.simplefilter("ignore", dt.ModelWarning)
        fit = module.model(data, backend, **options)
    return Posterior(
        name,
        data,
        fit,
        getattr(module, "PARTS", {}),
        getattr(module, "AXES", {}),
        getattr(module, "DIFFERENCES", 1e-8),
    )


# -- data ------------------------------------------------------------------------------------------


def database(folder: str | None = None) -> Path | None:
    """The folder ``posterior_database`` of a copy of posteriordb, if one is named."""
    folder = folder or os.environ.get("POSTERIORDB")
    if not folder:
        return None
    found = Path(folder)
    return found / "posterior_database" if (found / "posterior_database").is_dir() else found


def carried(posterior: str) -> Path:
    return HERE / "data" / f"{posterior.split('-', 1)[0]}.json.gz"


def read_data(posterior: str, folder: str | None = None) -> dict[str, Any]:
    """The data of a posterior: those that are carried here, or those of a copy of posteriordb."""
    path = carried(posterior)
    if path.exists():
        return json.loads(gzip.decompress(path.read_bytes()))["data"]
    copy = database(folder)
    if copy is None:
        raise FileNotFoundError(f"POSTERIORDB names no folder, and {path.name} is not carried")
    return data_of(copy, posterior)


def data_of(copy: Path, posterior: str) -> dict[str, Any]:
    name = posterior.split("-", 1)[0]
    with zipfile.ZipFile(copy / "data" / "data" / f"{name}.json.zip") as archive:
        return json.loads(archive.read(archive.namelist()[0]))


# -- points ----------------------------------------------------------------------------------------


def offsets(size: int, radius: float) -> np.ndarray:
    """What is added to a centre in ten points: five lie near it, five further away."""
    # the legacy generator is the one whose numbers never change
    draws = np.random.RandomState(20250101).uniform(-1.0, 1.0, (N_POINTS, size))
    return radius * draws * np.repeat([0.1, 1.0], N_POINTS // 2)[:, None]


def signs(size: int) -> np.ndarray:
    draws = np.random.RandomState(20250102).randint(0, 2, (size, N_PRODUCTS))
    return 2.0 * draws - 1.0


def shortened(gradients: np.ndarray) -> np.ndarray:
    """Gradients as they are stored."""
    size = gradients.shape[-1]
    return gradients if size <= LONG else gradients @ signs(size)


def probe(size: int, radius: float) -> np.ndarray:
    """A vector of numbers that are far apart: they tell which element is which."""
    order = np.random.RandomState(20250103).permutation(size)
    return radius * (2 * order + 1 - size) / size


def values_of(posterior: Posterior, stan: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Values of our parameters, of those of Stan's."""
    found = {}
    for parameter in posterior.density.parameters:
        name, dims = parameter.name, [dim._short for dim in parameter.tensor.dims]
        parts = posterior.parts.get(name)
        value = np.stack([stan[part] for part in parts]) if parts else np.asarray(stan[name])
        axes = list(posterior.axes.get(name, dims))
        if len(dims) > 1 and name not in posterior.axes:
            raise ValueError(f"{name} has the dims {dims}: give AXES = {{{name!r}: {dims}}}")
        # an array of one element may be a number here
        found[name] = (axes, value) if axes else value.reshape(())
    return found


def order_of(posterior: Posterior, known: Stored) -> np.ndarray:
    """Where each element of our vector is in Stan's, from Stan's values at the probe."""
    x = posterior.density.unconstrain(values_of(posterior, known.at_probe))
    theirs = probe(len(x), known.radius)
    order = np.empty(len(x), int)
    order[np.argsort(x)] = np.argsort(theirs)
    if not np.allclose(x, theirs[order], rtol=0, atol=1e-6):
        distance = abs(x[:, None] - theirs).min(axis=1)
        name = posterior.density.names[distance.argmax()]
        raise ValueError(f"{posterior.name}: the transform of {name} is not that of Stan")
    return order


def stored(posterior: str) -> Stored:
    with np.load(HERE / "values" / f"{posterior}.npz") as file:
        at_probe = {key[6:]: file[key] for key in file.files if key.startswith("probe ")}
        centre, radius = file["centre"], float(file["radius"]) if "radius" in file.files else 1.0
        points = centre + offsets(len(centre), radius)
        return Stored(
            str(file["versions"]), points, file["values"], file["gradients"], radius, at_probe
        )


def compare(posterior: Posterior, known: Stored) -> tuple[float, float]:
    """The largest relative errors of values and of gradients.

    Stan leaves constants out, so values are compared by how far they are above the first one.
    """
    order = order_of(posterior, known)
    back = np.argsort(order)
    found = [posterior.density.logp_and_grad(point[order]) for point in known.points]
    values = np.array([value for value, _ in found])
    expected = known.values - known.values[0]
    gradients = shortened(np.stack([gradient[back] for _, gradient in found]))
    scale = np.maximum(1.0, abs(known.values))
    errors = abs(values - values[0] - expected) / scale
    lengths = np.linalg.norm(known.gradients, axis=1)
    slopes = np.linalg.norm(gradients - known.gradients, axis=1) / np.maximum(1.0, lengths)
    return _worst(errors), _worst(slopes)


def _worst(errors: np.ndarray) -> float:
    return float(np.where(np.isnan(errors), np.inf, errors).max())
