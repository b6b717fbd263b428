"""Distributions over named dims: densities, probabilities, moments and draws as expressions."""

import sys
from typing import Any

from dimtensor.dist.distribution import Distribution as Distribution
from dimtensor.dist.families import *  # noqa: F403
from dimtensor.dist.joint.covariances import LKJCholesky as LKJCholesky
from dimtensor.dist.joint.covariances import LKJCholeskyCov as LKJCholeskyCov
from dimtensor.dist.joint.covariances import LKJCorr as LKJCorr
from dimtensor.dist.joint.gaussian import MatrixNormal as MatrixNormal
from dimtensor.dist.joint.gaussian import MvNormal as MvNormal
from dimtensor.dist.joint.gaussian import MvStudentT as MvStudentT
from dimtensor.dist.joint.gaussian import ZeroSumNormal as ZeroSumNormal
from dimtensor.dist.joint.kronecker import KroneckerNormal as KroneckerNormal
from dimtensor.dist.joint.neighbors import CAR as CAR
from dimtensor.dist.joint.neighbors import ICAR as ICAR
from dimtensor.dist.joint.ordinal import OrderedLogistic as OrderedLogistic
from dimtensor.dist.joint.ordinal import OrderedMultinomial as OrderedMultinomial
from dimtensor.dist.joint.ordinal import OrderedProbit as OrderedProbit
from dimtensor.dist.joint.outcomes import Categorical as Categorical
from dimtensor.dist.joint.outcomes import Dirichlet as Dirichlet
from dimtensor.dist.joint.outcomes import DirichletMultinomial as DirichletMultinomial
from dimtensor.dist.joint.outcomes import Multinomial as Multinomial
from dimtensor.dist.joint.outcomes import StickBreaking as StickBreaking
from dimtensor.dist.joint.wishart import InverseWishart as InverseWishart
from dimtensor.dist.joint.wishart import InverseWishartCholesky as InverseWishartCholesky
from dimtensor.dist.joint.wishart import Wishart as Wishart
from dimtensor.dist.joint.wishart import WishartCholesky as WishartCholesky
from dimtensor.dist.modifiers.bounds import censored as censored
from dimtensor.dist.modifiers.bounds import truncated as truncated
from dimtensor.dist.modifiers.flat import Flat as Flat  # type: ignore[assignment]
from dimtensor.dist.modifiers.mixtures import custom as custom
from dimtensor.dist.modifiers.mixtures import mixture as mixture
from dimtensor.dist.modifiers.transformations import transformed as transformed
from dimtensor.dist.modifiers.weights import weighted as weighted
from dimtensor.dist.modifiers.zeros import hurdle as hurdle
from dimtensor.dist.modifiers.zeros import zero_inflated as zero_inflated
from dimtensor.dist.points import DiracDelta as DiracDelta
from dimtensor.dist.points import Interpolated as Interpolated
from dimtensor.dist.processes.gaussian_process import GP as GP
from dimtensor.dist.processes.sequential import Series as Series
from dimtensor.dist.processes.sequential import ordered as ordered
from dimtensor.dist.processes.series import AR as AR
from dimtensor.dist.processes.series import GaussianRandomWalk as GaussianRandomWalk
from dimtensor.dist.processes.series import MarkovChain as MarkovChain
from dimtensor.dist.processes.series import RandomWalk as RandomWalk
from dimtensor.dist.processes.volatility import GARCH11 as GARCH11
from dimtensor.dist.processes.volatility import EulerMaruyama as EulerMaruyama
from dimtensor.dist.processes.volatility import MvGaussianRandomWalk as MvGaussianRandomWalk
from dimtensor.dist.processes.volatility import MvStudentTRandomWalk as MvStudentTRandomWalk
from dimtensor.dist.rows import TABLE as TABLE


def __getattr__(name: str) -> Any:
    from dimtensor.spellings import no_attribute

    if name.startswith("_"):
        raise AttributeError(f"module 'dimtensor.dist' has no attribute {name!r}", name=name)
    raise no_attribute("dist", name, "dimtensor.dist", __dir__(), sys.modules[__name__])


def __dir__() -> list[str]:
    """Return the public names."""
    ours = (
        name
        for name, x in globals().items()
        if str(getattr(x, "__module__", "")).startswith("dimtensor.")
    )
    return sorted(name for name in ours if not name.startswith("_"))
