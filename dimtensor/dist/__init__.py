"""Distributions over named dims: densities, probabilities, moments and draws as expressions."""

from dimtensor.dist.catalogue import TABLE as TABLE
from dimtensor.dist.distribution import Distribution as Distribution
from dimtensor.dist.families import *  # noqa: F403
from dimtensor.dist.gaussian import CAR as CAR
from dimtensor.dist.gaussian import ICAR as ICAR
from dimtensor.dist.gaussian import LKJCholesky as LKJCholesky
from dimtensor.dist.gaussian import MatrixNormal as MatrixNormal
from dimtensor.dist.gaussian import MvNormal as MvNormal
from dimtensor.dist.gaussian import MvStudentT as MvStudentT
from dimtensor.dist.gaussian import ZeroSumNormal as ZeroSumNormal
from dimtensor.dist.mixtures import custom as custom
from dimtensor.dist.mixtures import mixture as mixture
from dimtensor.dist.outcomes import Categorical as Categorical
from dimtensor.dist.outcomes import Dirichlet as Dirichlet
from dimtensor.dist.outcomes import DirichletMultinomial as DirichletMultinomial
from dimtensor.dist.outcomes import Multinomial as Multinomial
from dimtensor.dist.outcomes import OrderedLogistic as OrderedLogistic
from dimtensor.dist.outcomes import OrderedProbit as OrderedProbit
from dimtensor.dist.outcomes import StickBreaking as StickBreaking
from dimtensor.dist.sequential import Series as Series
from dimtensor.dist.sequential import ordered as ordered
from dimtensor.dist.series import AR as AR
from dimtensor.dist.series import GaussianRandomWalk as GaussianRandomWalk
from dimtensor.dist.series import MarkovChain as MarkovChain
from dimtensor.dist.series import RandomWalk as RandomWalk
from dimtensor.dist.transformations import transformed as transformed
from dimtensor.dist.wrappers import censored as censored
from dimtensor.dist.wrappers import hurdle as hurdle
from dimtensor.dist.wrappers import truncated as truncated
from dimtensor.dist.wrappers import zero_inflated as zero_inflated
