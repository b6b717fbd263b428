"""Linear algebra: a matrix is a tensor with a row dim and a column dim; other dims are batch dims.

Every function takes ``dims=(row, column)``. They are optional for a tensor that has a dim and its
renamed copy, such as a covariance on ``country`` and ``country.rename()``: the original is the row
dim, the renamed one the column dim. The row and column dims of a square matrix must be known to
have the same length, because both lengths are known or because one dim is the other renamed.

Results that do not exist are not finite, on all backends: the Cholesky factor of a matrix that is
not positive definite, the inverse of a singular matrix, the decomposition of a matrix with NaNs.
Compiled functions raise no error for them, unless a factor is checked: ``cholesky(x, check=True)``.
"""

from dimtensor.tensor.linalg.decompositions import EighResult as EighResult
from dimtensor.tensor.linalg.decompositions import QRResult as QRResult
from dimtensor.tensor.linalg.decompositions import SVDResult as SVDResult
from dimtensor.tensor.linalg.decompositions import cholesky as cholesky
from dimtensor.tensor.linalg.decompositions import eigh as eigh
from dimtensor.tensor.linalg.decompositions import funm as funm
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
from dimtensor.tensor.linalg.lyapunov import solve_discrete_lyapunov as solve_discrete_lyapunov
from dimtensor.tensor.linalg.norms import norm as norm


def __dir__() -> list[str]:
    """List the public names, without the submodules."""
    ours = (name for name, x in globals().items() if hasattr(x, "__module__"))
    return sorted(name for name in ours if not name.startswith("_"))
