"""Named-dimension array modelling: checked when built, compiled to loops, labels in and out."""

from dimtensor import random as random
from dimtensor.caches import clear_caches as clear_caches
from dimtensor.dims import BlockDim as BlockDim
from dimtensor.dims import ConcatDim as ConcatDim
from dimtensor.dims import Dim as Dim
from dimtensor.dims import PadDim as PadDim
from dimtensor.dims import ProductDim as ProductDim
from dimtensor.dims import RenamedDim as RenamedDim
from dimtensor.dims import SelDim as SelDim
from dimtensor.dims import SortedDim as SortedDim
from dimtensor.dims import time as time
from dimtensor.display.pictures.picture import draw as draw
from dimtensor.display.printing import dprint as dprint
from dimtensor.errors import BroadcastWarning as BroadcastWarning
from dimtensor.errors import CheckError as CheckError
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
from dimtensor.errors import PositionError as PositionError
from dimtensor.errors import SamplingWarning as SamplingWarning
from dimtensor.graph.checkpoints import levels as levels
from dimtensor.graph.checkpoints import states as states
from dimtensor.graph.node import Node as Node
from dimtensor.interop.align import align as align
from dimtensor.interop.align import reindex as reindex
from dimtensor.interop.export.loading import load_exported as load_exported
from dimtensor.interop.pymc import dims_of as dims_of
from dimtensor.interop.pytensor import pytensor_mode as pytensor_mode
from dimtensor.tensor import linalg as linalg
from dimtensor.tensor.along.statistics import corr as corr
from dimtensor.tensor.along.statistics import cov as cov
from dimtensor.tensor.along.statistics import cross as cross
from dimtensor.tensor.along.statistics import polyval as polyval
from dimtensor.tensor.along.statistics import searchsorted as searchsorted
from dimtensor.tensor.along.time import fourier as fourier
from dimtensor.tensor.along.time import one_hot as one_hot
from dimtensor.tensor.autodiff import grad as grad
from dimtensor.tensor.autodiff import hessian as hessian
from dimtensor.tensor.autodiff import jacobian as jacobian
from dimtensor.tensor.autodiff import jvp as jvp
from dimtensor.tensor.autodiff import value_and_grad as value_and_grad
from dimtensor.tensor.autodiff import vjp as vjp
from dimtensor.tensor.check import check as check
from dimtensor.tensor.constructors import arange as arange
from dimtensor.tensor.constructors import eye as eye
from dimtensor.tensor.constructors import full as full
from dimtensor.tensor.constructors import full_like as full_like
from dimtensor.tensor.constructors import index as index
from dimtensor.tensor.constructors import length as length
from dimtensor.tensor.constructors import ones as ones
from dimtensor.tensor.constructors import ones_like as ones_like
from dimtensor.tensor.constructors import zeros as zeros
from dimtensor.tensor.constructors import zeros_like as zeros_like
from dimtensor.tensor.control.associative import associative_scan as associative_scan
from dimtensor.tensor.control.branches import if_else as if_else
from dimtensor.tensor.control.loops import cumulate as cumulate
from dimtensor.tensor.control.loops import filter as filter
from dimtensor.tensor.control.loops import lag as lag
from dimtensor.tensor.control.loops import lead as lead
from dimtensor.tensor.control.loops import map as map
from dimtensor.tensor.control.loops import push as push
from dimtensor.tensor.control.loops import reduce as reduce
from dimtensor.tensor.control.loops import scan as scan
from dimtensor.tensor.control.ode import ode as ode
from dimtensor.tensor.control.while_loops import fori_loop as fori_loop
from dimtensor.tensor.control.while_loops import while_loop as while_loop
from dimtensor.tensor.core import DimTensor as DimTensor
from dimtensor.tensor.elementwise import *  # noqa: F403
from dimtensor.tensor.evaluate import evaluate as evaluate
from dimtensor.tensor.evaluate import function as function
from dimtensor.tensor.evaluate import inputs_of as inputs_of
from dimtensor.tensor.evaluate import walk as walk
from dimtensor.tensor.functions import all as all
from dimtensor.tensor.functions import any as any
from dimtensor.tensor.functions import cumprod as cumprod
from dimtensor.tensor.functions import cumsum as cumsum
from dimtensor.tensor.functions import log_softmax as log_softmax
from dimtensor.tensor.functions import logsumexp as logsumexp
from dimtensor.tensor.functions import max as max
from dimtensor.tensor.functions import mean as mean
from dimtensor.tensor.functions import median as median
from dimtensor.tensor.functions import min as min
from dimtensor.tensor.functions import prod as prod
from dimtensor.tensor.functions import quantile as quantile
from dimtensor.tensor.functions import softmax as softmax
from dimtensor.tensor.functions import std as std
from dimtensor.tensor.functions import sum as sum
from dimtensor.tensor.functions import var as var
from dimtensor.tensor.graphs.rewriting import data_of as data_of
from dimtensor.tensor.graphs.rewriting import from_node as from_node
from dimtensor.tensor.graphs.rewriting import rewrite as rewrite
from dimtensor.tensor.graphs.substitution import substitute as substitute
from dimtensor.tensor.graphs.substitution import vectorize as vectorize
from dimtensor.tensor.inputs import bool as bool
from dimtensor.tensor.inputs import complex128 as complex128
from dimtensor.tensor.inputs import data as data
from dimtensor.tensor.inputs import float32 as float32
from dimtensor.tensor.inputs import float64 as float64
from dimtensor.tensor.inputs import int32 as int32
from dimtensor.tensor.inputs import int64 as int64
from dimtensor.tensor.inputs import scalar as scalar
from dimtensor.tensor.inputs import tensor as tensor
from dimtensor.tensor.joining import concat as concat
from dimtensor.tensor.joining import stack as stack
from dimtensor.tensor.linalg import cholesky as cholesky
from dimtensor.tensor.linalg import det as det
from dimtensor.tensor.linalg import diagonal as diagonal
from dimtensor.tensor.linalg import eigh as eigh
from dimtensor.tensor.linalg import inv as inv
from dimtensor.tensor.linalg import kron as kron
from dimtensor.tensor.linalg import qr as qr
from dimtensor.tensor.linalg import slogdet as slogdet
from dimtensor.tensor.linalg import solve as solve
from dimtensor.tensor.linalg import solve_triangular as solve_triangular
from dimtensor.tensor.linalg import svd as svd
from dimtensor.tensor.linalg import trace as trace
from dimtensor.tensor.linalg.contract import dot as dot
from dimtensor.tensor.positional.apply import apply as apply
from dimtensor.tensor.positional.border import from_shaped as from_shaped
from dimtensor.tensor.simplify import Simplified as Simplified
from dimtensor.tensor.simplify import simplify as simplify
from dimtensor.tensor.tables.frame import frame as frame

# isort: split
# After the elementwise functions: dt.real is a support that is also the function of that name.
from dimtensor.dist.supports import Support as Support
from dimtensor.dist.supports import bounded as bounded
from dimtensor.dist.supports import positive as positive
from dimtensor.dist.supports import real as real
from dimtensor.dist.supports import unit as unit
from dimtensor.dist.supports.along import ordered as ordered
from dimtensor.dist.supports.along import positive_ordered as positive_ordered
from dimtensor.dist.supports.along import simplex as simplex
from dimtensor.dist.supports.along import zero_sum as zero_sum
from dimtensor.dist.supports.matrix import cholesky_corr as cholesky_corr
from dimtensor.dist.supports.matrix import cholesky_cov as cholesky_cov
from dimtensor.dist.supports.matrix import corr_matrix as corr_matrix
from dimtensor.dist.supports.matrix import cov_matrix as cov_matrix
from dimtensor.explanation.frontend import explain as explain
from dimtensor.explanation.report import Explanation as Explanation
from dimtensor.marginal.frontend import marginalize as marginalize
from dimtensor.model.checking.calibrate import calibrate as calibrate
from dimtensor.model.checking.cross_validate import cross_validate as cross_validate
from dimtensor.model.inference.sample import sample as sample
from dimtensor.model.logdensity import LogDensity as LogDensity
from dimtensor.model.model import Model as Model
from dimtensor.model.variables import named as named
from dimtensor.model.variables import rv as rv

__version__ = "0.1.0"

_SUBMODULES = frozenset({"dist", "linalg", "random"})  # those that users name


def __dir__() -> list[str]:
    """What is public: no modules of the inside."""
    from types import ModuleType

    return sorted(
        name
        for name, value in globals().items()
        if name in _SUBMODULES or not (name.startswith("_") or isinstance(value, ModuleType))
    )
