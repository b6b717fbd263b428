"""Tensor contraction: products summed over dims."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dimtensor.dims import find_dims, union
from dimtensor.errors import OptionError
from dimtensor.graph import make
from dimtensor.graph.dtypes import promote
from dimtensor.tensor.handle import TensorHandle, as_node, elemwise, wrap
from dimtensor.tensor.numpy_style import named_dims

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.tensor.reductions.basic import DimKey
    from dimtensor.typing import TensorLike


@named_dims
def dot(*tensors: TensorLike, dim: DimKey = None) -> DimTensor:
    """Multiply tensors and sum the product over dims.

    Parameters
    ----------
    *tensors : DimTensor or number
        Any number of them; the order of contractions is chosen by the lengths of dims.
    dim : Dim, str, iterable of them, or ``...``, optional
        Dims to sum over; by default those that two or more of the tensors share. ``...`` means all.

    Returns
    -------
    DimTensor
        On the remaining dims.

    Raises
    ------
    DimError
        If a dim is in none of the tensors, or two different dims have one name.

    Examples
    --------
    >>> import dimtensor as dt
    >>> a, b = dt.Dim("a", length=2), dt.Dim("b", length=3)
    >>> x, y = dt.ones([a, b]), dt.ones([b])
    >>> dt.dot(x, y).eval().values.tolist()
    [3.0, 3.0]
    >>> float(dt.dot(x, y, dim=...).eval())
    6.0
    """
    if not tensors:
        raise OptionError("dot takes at least one tensor")
    beside = [x.node for x in tensors if isinstance(x, TensorHandle)]
    nodes = [as_node(x, beside, f"operand {at + 1} of dot") for at, x in enumerate(tensors)]
    joint = union([x.dims for x in nodes], "dot")
    if dim is None:
        shared = Counter(each for x in nodes for each in x.dims)
        summed = tuple(each for each in joint if shared[each] > 1)
    else:
        summed = tuple(each for each in joint if each in find_dims(joint, dim, "dot"))
    if promote(tuple(x.dtype for x in nodes)) == "bool":
        nodes = [make("cast", (x,), "int64") for x in nodes]
    if any(each._within is not None for each in summed):
        product = wrap(nodes[0])
        for x in nodes[1:]:
            product = elemwise("multiply", product, wrap(x))
        return product.sum(summed)
    return wrap(make("dot", tuple(nodes), summed))
