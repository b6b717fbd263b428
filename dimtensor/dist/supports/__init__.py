"""Supports of random variables, and their transforms from unconstrained real numbers.

Samplers move through unconstrained vectors. A support maps such a vector to values inside of it,
together with the logarithm of the absolute determinant of the map's Jacobian, which the log
density of the unconstrained vector needs.

The maps are those of Stan, so that log densities agree number for number: Stan Development Team,
*Stan Reference Manual* (version 2.38), chapter "Constraint Transforms".
"""

from dimtensor.dist.supports.elementwise import Bounded as Bounded
from dimtensor.dist.supports.elementwise import Integers as Integers
from dimtensor.dist.supports.elementwise import Positive as Positive
from dimtensor.dist.supports.elementwise import Real as Real
from dimtensor.dist.supports.elementwise import bounded as bounded
from dimtensor.dist.supports.elementwise import positive as positive
from dimtensor.dist.supports.elementwise import real as real
from dimtensor.dist.supports.elementwise import unit as unit
from dimtensor.dist.supports.support import Support as Support
from dimtensor.dist.supports.support import plain_bound as plain_bound
from dimtensor.dist.supports.support import value_between as value_between
