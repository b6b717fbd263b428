"""Stan's log densities by stanli, which runs Stan's programs without a compiler of C++.

``python -m tests.benchmarks.posteriordb.stan arK`` stores the numbers of all posteriors of a model
in ``values/``, and small data in ``data/``; POSTERIORDB names a copy of posteriordb.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
import warnings
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.posteriordb import posteriors
from tests.benchmarks.posteriordb.posteriors import HERE

SMALL = 20_000  # bytes of compressed data that are carried


def program(copy: Path, posterior: str) -> Path:
    return copy / "models" / "stan" / f"{posterior.split('-', 1)[1]}.stan"


def exact(text: str) -> str:
    """Stan's program with differential equations solved to 1e-11.

    Solutions are then not checked to be positive, which fails by 1e-13 where they are 0.
    """
    start = 0
    while (found := re.compile(r"integrate_ode_\w+\(").search(text, start)) is not None:
        commas, depth, at = [], 0, found.end()
        while depth >= 0:
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
            if text[at] == "," and depth == 0:
                commas.append(at)
            at += 1
        end = commas[6] if len(commas) > 6 else at - 1
        text = f"{text[:end]}, 1e-11, 1e-11, 1e7{text[at - 1 :]}"
        start = end
    return unchecked(text) if start else text


def unchecked(text: str) -> str:
    """Stan's program without bounds of what is computed of parameters."""
    block = text.find("transformed parameters")
    return text if block < 0 else text[:block] + text[block:].replace("<lower=0>", "")


def bridge(copy: Path, posterior: str, precise: bool = False) -> Any:
    """A ``bridgestan.StanModel`` on the data of the copy."""
    import stanli

    data = json.dumps(posteriors.data_of(copy, posterior))
    text = program(copy, posterior).read_text()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all models are of one library
        return stanli.bridgestan_model(stan_code=exact(text) if precise else text, data=data)


def constrained(model: Any, x: np.ndarray) -> dict[str, np.ndarray]:
    """Stan's parameters at a point, as arrays."""
    elements: dict[str, dict[tuple[int, ...], float]] = {}
    for name, value in zip(model.param_names(), model.param_constrain(x), strict=True):
        base, *index = name.split(".")
        elements.setdefault(base, {})[tuple(int(i) - 1 for i in index)] = value
    found = {}
    for base, by_index in elements.items():
        array = np.empty(tuple(np.max(list(by_index), axis=0).astype(int) + 1))
        for index, value in by_index.items():
            array[index] = value
        found[base] = array
    return found


def centre_of(copy: Path, posterior: str, parameters: Iterable[str], size: int) -> np.ndarray:
    """Where the posterior has its mass: a draw after a short warm-up, or zeros if that fails."""
    import stanli

    data = json.dumps(posteriors.data_of(copy, posterior))
    text = unchecked(program(copy, posterior).read_text())
    model = stanli.Model(stan_code=text, data=data)
    start = getattr(posteriors.load_model(posterior.split("-", 1)[1]), "START", None)
    options = {"init_radius": 0.5} if start is None else {"inits": model.unconstrain(start)}
    try:
        fit = model.sample(chains=1, warmup=150, samples=1, refresh=0, max_depth=6, **options)
        draw = {name: fit.draws(name)[0, -1] for name in parameters}
        x = model.unconstrain({name: v.ravel(order="F").tolist() for name, v in draw.items()})
    except Exception as error:
        print(f"{posterior}: points around zero, {error}", file=sys.stderr)
        return np.zeros(size, "float32")
    return np.asarray(x, "float32")


def evaluated(model: Any, centre: np.ndarray, radius: float) -> dict[str, Any]:
    """Values, gradients and the parameters at the probe, of points so far around a centre."""
    points = centre + posteriors.offsets(len(centre), radius)
    found = [model.log_density_gradient(x) for x in points]
    values, gradients = np.array([v for v, _ in found]), np.stack([g for _, g in found])
    if not (np.isfinite(values).all() and np.isfinite(gradients).all()):
        raise ValueError("a log density is not finite")
    at_probe = constrained(model, posteriors.probe(len(centre), radius))
    return {
        "centre": centre,
        "radius": np.array(radius),
        "values": values,
        "gradients": posteriors.shortened(gradients),
        **{f"probe {name}": value for name, value in at_probe.items()},
    }


def differences(model: Any, x: np.ndarray) -> np.ndarray:
    """A gradient as it is stored, by differences of values (of order 4, along the vectors)."""
    ways = np.eye(len(x)) if len(x) <= posteriors.LONG else posteriors.signs(len(x)).T
    h = 1e-3 / np.sqrt(len(x))

    def between(way: np.ndarray, h: float) -> float:
        values = [model.log_density_gradient(x + step * way)[0] for step in (h, -h)]
        return (values[0] - values[1]) / (2 * h)

    return np.array([(4 * between(way, h) - between(way, 2 * h)) / 3 for way in ways])


def store(copy: Path, posterior: str) -> None:
    """Write what Stan says of a posterior into ``values/``."""
    model = bridge(copy, posterior, precise=True)
    names = dict.fromkeys(name.split(".")[0] for name in model.param_names())
    centre = centre_of(copy, posterior, names, model.param_unc_num())
    for radius in (1.0, 0.3, 0.1, 0.03):
        try:
            found = evaluated(model, centre, radius)
            break
        except (RuntimeError, ValueError) as error:
            print(f"{posterior}: radius {radius}: {error}", file=sys.stderr)
    else:
        raise ValueError(f"{posterior} has no points with a finite density")
    if hasattr(posteriors.load_model(posterior.split("-", 1)[1]), "DIFFERENCES"):
        points = centre + posteriors.offsets(len(centre), radius)
        found["gradients"] = np.stack([differences(model, x) for x in points])
    packages = ("stanli", "bridgestan")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    information = {x.strip() for x in model.model_info().splitlines() if "Stan" in x or "STAN" in x}
    np.savez_compressed(
        HERE / "values" / f"{posterior}.npz",
        versions=np.array("; ".join([versions, *sorted(information)])),
        **found,
    )


def carry(copy: Path, posterior: str) -> None:
    """Put the data of a posterior into ``data/`` if they are small, with their source."""
    name = posterior.split("-", 1)[0]
    about = json.loads((copy / "data" / "info" / f"{name}.info.json").read_text())
    text = {
        "title": about.get("title", name),
        "source": about.get("urls") or about.get("references") or "posteriordb",
        "licence": about.get("licence", "posteriordb: BSD 3-clause"),
        "data": posteriors.data_of(copy, posterior),
    }
    packed = gzip.compress(json.dumps(text, separators=(",", ":")).encode(), mtime=0)
    if len(packed) <= SMALL:
        posteriors.carried(posterior).write_bytes(packed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", nargs="*", help="names of models; all that have no values yet")
    parser.add_argument("--posteriordb", help="a copy of posteriordb")
    options = parser.parse_args()
    copy = posteriors.database(options.posteriordb)
    if copy is None:
        parser.error("--posteriordb, or the variable POSTERIORDB, names a copy of posteriordb")
    chosen = [name for model in options.model for name in posteriors.load_model(model).POSTERIORS]
    if not options.model:
        names = posteriors.posterior_names()
        chosen = [name for name in names if not (HERE / "values" / f"{name}.npz").exists()]
    for name in chosen:
        if not (HERE / "values" / f"{name}.npz").exists():
            store(copy, name)
        carry(copy, name)
        solves = hasattr(posteriors.load_model(name.split("-", 1)[1]), "EXACT")
        built = posteriors.build(name, "numba" if solves else "python", str(copy), exact=True)
        errors = posteriors.compare(built, posteriors.stored(name))
        print(f"{name}: errors of values {errors[0]:.1e}, of gradients {errors[1]:.1e}")


if __name__ == "__main__":
    main()
