"""Norms of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dimtensor.dims import find_dims
from dimtensor.errors import OptionError
from dimtensor.graph.printing.words import say
from dimtensor.tensor.handle import as_node, elemwise, require_float, wrap
from dimtensor.tensor.numpy_style import named_dims
from dimtensor.tensor.reductions.basic import DimKey, root_of_variance

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import TensorLike


@named_dims
def norm(x: TensorLike, dim: DimKey = None, *, ord: float = 2) -> DimTensor:
    """Norm of the elements along dims: by default the root of their sum of squares.

    Parameters
    ----------
    x : DimTensor
    dim : Dim, str or iterable of them, optional
        All dims by default; the elements along several are one vector, so that the norm of a matrix
        is Frobenius'.
    ord : number
        The sum of absolute values to this power, to the power of its inverse; ``np.inf`` and
        ``-np.inf`` are the largest and the smallest absolute value, 0 the number of elements that
        are not zero.

    Returns
    -------
    DimTensor
        Floats, without the dims. The gradient where all elements are zero is 0, a subgradient.

    Raises
    ------
    DimError
        If a dim is not there.
    OptionError
        If `ord` is no number. Norms of matrices come from their singular values,
        ``dt.linalg.svd(x).S``.

    See Also
    --------
    numpy.linalg.vector_norm

    Examples
    --------
    >>> import dimtensor as dt
    >>> x = dt.data([3.0, -4.0], dims=dt.Dim("k"))
    >>> dt.linalg.norm(x).item(), dt.linalg.norm(x, "k", ord=1).item()
    (5.0, 7.0)
    """
    if isinstance(ord, bool) or not isinstance(ord, (int, float, np.integer, np.floating)):
        raise OptionError(
            f"norm: ord is a number, not {ord!r}",
            hint="norms of matrices come from their singular values: dt.linalg.svd(x).S",
        )
    size = elemwise("abs", wrap(require_float(as_node(x, what="norm"))))
    if ord in (np.inf, -np.inf):
        result = size.max(dim) if ord > 0 else size.min(dim)
    elif ord == 0:
        result = elemwise("not_equal", size, 0).astype(size.dtype).sum(dim)
    elif ord == 1:
        result = size.sum(dim)
    elif ord == 2:
        result = root_of_variance(elemwise("square", size).sum(dim))
    else:
        result = elemwise("power", elemwise("power", size, ord).sum(dim), 1 / ord)
    shown = None if ord == 2 else float(ord)
    return say(result, "norm", x, dim=find_dims(size.dims, dim, "norm"), ord=shown)
