"""Distributions over named dims: densities, probabilities, moments and draws as expressions."""

from dimtensor.dist.catalogue import TABLE as TABLE
from dimtensor.dist.distribution import Distribution as Distribution
from dimtensor.dist.families import *  # noqa: F403
from dimtensor.dist.mixtures import custom as custom
from dimtensor.dist.mixtures import mixture as mixture
from dimtensor.dist.transformations import transformed as transformed
from dimtensor.dist.wrappers import censored as censored
from dimtensor.dist.wrappers import hurdle as hurdle
from dimtensor.dist.wrappers import truncated as truncated
from dimtensor.dist.wrappers import zero_inflated as zero_inflated
