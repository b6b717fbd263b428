"""Named-dimension array modelling: checked when built, compiled to loops, labels in and out."""

from dimtensor.dims import ConcatDim as ConcatDim
from dimtensor.dims import Dim as Dim
from dimtensor.dims import PadDim as PadDim
from dimtensor.dims import ProductDim as ProductDim
from dimtensor.dims import RenamedDim as RenamedDim
from dimtensor.dims import SelDim as SelDim
from dimtensor.dims import SortedDim as SortedDim
from dimtensor.display.printing import dprint as dprint
from dimtensor.errors import CheckError as CheckError
from dimtensor.errors import DimError as DimError
from dimtensor.errors import DimtensorError as DimtensorError
from dimtensor.errors import DtypeError as DtypeError
from dimtensor.errors import GraphError as GraphError
from dimtensor.errors import InputError as InputError
from dimtensor.errors import LabelError as LabelError
from dimtensor.errors import MissingExtraError as MissingExtraError
from dimtensor.errors import PositionError as PositionError
from dimtensor.tensor.autodiff import grad as grad
from dimtensor.tensor.autodiff import hessian as hessian
from dimtensor.tensor.autodiff import jacobian as jacobian
from dimtensor.tensor.autodiff import jvp as jvp
from dimtensor.tensor.autodiff import value_and_grad as value_and_grad
from dimtensor.tensor.autodiff import vjp as vjp
from dimtensor.tensor.constructors import arange as arange
from dimtensor.tensor.constructors import bool as bool
from dimtensor.tensor.constructors import complex128 as complex128
from dimtensor.tensor.constructors import data as data
from dimtensor.tensor.constructors import eye as eye
from dimtensor.tensor.constructors import float32 as float32
from dimtensor.tensor.constructors import float64 as float64
from dimtensor.tensor.constructors import from_shaped as from_shaped
from dimtensor.tensor.constructors import full as full
from dimtensor.tensor.constructors import full_like as full_like
from dimtensor.tensor.constructors import index as index
from dimtensor.tensor.constructors import int32 as int32
from dimtensor.tensor.constructors import int64 as int64
from dimtensor.tensor.constructors import length as length
from dimtensor.tensor.constructors import ones as ones
from dimtensor.tensor.constructors import ones_like as ones_like
from dimtensor.tensor.constructors import scalar as scalar
from dimtensor.tensor.constructors import tensor as tensor
from dimtensor.tensor.constructors import zeros as zeros
from dimtensor.tensor.constructors import zeros_like as zeros_like
from dimtensor.tensor.contract import dot as dot
from dimtensor.tensor.core import DimTensor as DimTensor
from dimtensor.tensor.elementwise import *  # noqa: F403
from dimtensor.tensor.evaluate import evaluate as evaluate
from dimtensor.tensor.evaluate import function as function
from dimtensor.tensor.evaluate import inputs_of as inputs_of
from dimtensor.tensor.evaluate import substitute as substitute
from dimtensor.tensor.evaluate import vectorize as vectorize
from dimtensor.tensor.evaluate import walk as walk
from dimtensor.tensor.functions import all as all
from dimtensor.tensor.functions import any as any
from dimtensor.tensor.functions import concat as concat
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
from dimtensor.tensor.functions import stack as stack
from dimtensor.tensor.functions import std as std
from dimtensor.tensor.functions import sum as sum
from dimtensor.tensor.functions import var as var

# isort: split
# After the elementwise functions: dt.real is a support that is also the function of that name.
from dimtensor.model.logdensity import LogDensity as LogDensity
from dimtensor.model.sample import sample as sample
from dimtensor.model.supports import bounded as bounded
from dimtensor.model.supports import positive as positive
from dimtensor.model.supports import real as real
from dimtensor.model.supports import unit as unit
from dimtensor.model.supports_along import ordered as ordered
from dimtensor.model.supports_along import positive_ordered as positive_ordered
from dimtensor.model.supports_along import simplex as simplex
from dimtensor.model.supports_matrix import cholesky_corr as cholesky_corr

__version__ = "0.1.0"
