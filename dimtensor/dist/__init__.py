"""Distributions over named dims: densities, probabilities, moments and draws as expressions."""

from dimtensor.dist.catalogue import TABLE as TABLE
from dimtensor.dist.distribution import Distribution as Distribution
from dimtensor.dist.families import *  # noqa: F403
