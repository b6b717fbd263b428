"""Linear algebra: a matrix is a tensor with a row dim and a column dim, all others are batch dims.

Every function takes ``dims=(row, column)``. Where a tensor has one dim together with its renamed
self, as a covariance on ``country`` and ``country.rename()`` has, they may be left out: the
original is the row dim, the renamed one the column dim. A square matrix has a row and a column
dim that are known to have the same length, because both lengths are known or because one is the
other renamed.

What does not exist is not finite, on all backends: the Cholesky factor of a matrix that is not
positive definite, the inverse of a singular one, the decomposition of one that holds nan. Nothing
is raised when the function runs.
"""

from dimtensor.tensor.linalg.decompositions import EighResult as EighResult
from dimtensor.tensor.linalg.decompositions import QRResult as QRResult
from dimtensor.tensor.linalg.decompositions import SVDResult as SVDResult
from dimtensor.tensor.linalg.decompositions import cholesky as cholesky
from dimtensor.tensor.linalg.decompositions import eigh as eigh
from dimtensor.tensor.linalg.decompositions import qr as qr
from dimtensor.tensor.linalg.decompositions import svd as svd
from dimtensor.tensor.linalg.equations import SlogdetResult as SlogdetResult
from dimtensor.tensor.linalg.equations import det as det
from dimtensor.tensor.linalg.equations import diagonal as diagonal
from dimtensor.tensor.linalg.equations import inv as inv
from dimtensor.tensor.linalg.equations import slogdet as slogdet
from dimtensor.tensor.linalg.equations import solve as solve
from dimtensor.tensor.linalg.equations import solve_triangular as solve_triangular
from dimtensor.tensor.linalg.equations import trace as trace
from dimtensor.tensor.linalg.kronecker import kron as kron
from dimtensor.tensor.linalg.kronecker import solve_kron as solve_kron


def __dir__() -> list[str]:
    """What is public: no modules of the inside."""
    ours = (name for name, x in globals().items() if hasattr(x, "__module__"))
    return sorted(name for name in ours if not name.startswith("_"))
