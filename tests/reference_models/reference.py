"""The reference points in the folder ``data``, and how the models' values compare with them."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.reference_models import programs

PROGRAMS = {
    "eight_schools": programs.eight_schools,
    "radon_mn": programs.radon_mn,
    "kidiq": programs.kidiq,
    "GLMM_Poisson": programs.glmm_poisson,
    "low_dim_gauss_mix": programs.low_dim_gauss_mix,
    "arK": programs.arK,
}


@functools.cache
def load(name: str) -> dict[str, Any]:
    return json.loads((Path(__file__).parent / "data" / f"{name}.json").read_text())


def build(name: str) -> programs.Model:
    """The model on its data, with the parameters in the order of the reference."""
    model = PROGRAMS[name](load(name)["data"])
    assert [tensor.name for tensor in model.parameters] == list(load(name)["parameters"])
    return model


def assert_same_value(value: Any, expected: float, label: str) -> None:
    """Wild points have values up to 1e24, so the tolerance is relative."""
    error = abs(float(value) - expected)
    assert error <= 1e-10 * abs(expected) + 1e-9, f"{label}: {float(value)} is not {expected}"


def assert_same_gradient(gradient: Any, expected: Any, label: str) -> None:
    gradient, expected = np.asarray(gradient), np.asarray(expected)
    assert gradient.shape == expected.shape
    error = np.linalg.norm(gradient - expected) / np.linalg.norm(expected)
    assert error <= 1e-9, f"{label}: relative error {error} of the gradient"
