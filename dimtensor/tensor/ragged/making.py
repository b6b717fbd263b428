"""The constructor of ragged dims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dimtensor.dims import Coords, Dim, RaggedDim
from dimtensor.dims.selection import Positions
from dimtensor.errors import ArgumentError, DimError, DtypeError, InputError, listing
from dimtensor.tensor.handle import TensorHandle
from dimtensor.tensor.inputs import data

if TYPE_CHECKING:
    from dimtensor.tensor.core import DimTensor
    from dimtensor.typing import ArrayLike


def ragged(
    name: str,
    within: Dim,
    lengths: ArrayLike | DimTensor | None = None,
    by: ArrayLike | DimTensor | None = None,
    coords: ArrayLike | None = None,
) -> RaggedDim:
    """Make a ragged dim: trials of subjects, words of documents, in different numbers.

    A tensor along the dim has its elements of all parents one after another. Operations along the
    dim are for each parent: ``x.sum(trial)`` is along `subject`, a cumulative sum starts anew for
    each subject, and a tensor along `subject` combines with one along `trial` by the subject of
    each trial.

    Parameters
    ----------
    name : str
    within : Dim
        The dim of the parents, which may be ragged itself.
    lengths : sequence of int or DataArray or Series or DimTensor, optional
        Number of positions of each parent, 0 or more; the positions are in the order of the
        parents. A symbolic tensor along `within` has the lengths at a call.
    by : sequence of labels or DimTensor of labels, optional
        The parent of each position, in any order: a column of a table.
    coords : sequence, optional
        A label of each position, unique within its parent; by default the number within the
        parent, from 0. The labels of the dim are pairs (parent, label).

    Returns
    -------
    RaggedDim
        With neither `lengths` nor `by` the parents come with a call, as a tensor of labels that is
        named like the parent dim: ``trial.owner``.

    Raises
    ------
    ArgumentError
        If both `lengths` and `by` are given.
    DimError
        If `within` is no Dim or has no length.
    LabelError
        If a label in `by` is not one of the parents.
    InputError
        If a length is negative or no integer.
    DtypeError
        If lengths that come with a call are no integers.

    Examples
    --------
    >>> import dimtensor as dt
    >>> subject = dt.Dim("subject", coords=["Ann", "Bob", "Cem"])
    >>> trial = dt.ragged("trial", within=subject, lengths=[3, 0, 1])
    >>> x = dt.data([1.0, 2.0, 4.0, 5.0], dims=trial)
    >>> x.sum(trial).values.tolist()
    [7.0, 0.0, 5.0]
    >>> base = dt.data([10.0, 20.0, 30.0], dims=subject)
    >>> (base + x).values.tolist()
    [11.0, 12.0, 14.0, 35.0]
    >>> visit = dt.ragged("visit", within=subject, by=["Bob", "Ann", "Bob"])
    >>> dt.data([1.0, 2.0, 3.0], dims=visit).cumsum(visit).values.tolist()
    [1.0, 2.0, 4.0]
    """
    if not isinstance(within, Dim):
        raise DimError(
            f"a ragged dim is within a Dim, not {within!r}",
            hint=f"dt.ragged({name!r}, within=dt.Dim('subject', coords=[...]), ...)",
        )
    if lengths is not None and by is not None:
        raise ArgumentError(
            "dt.ragged takes the lengths of the parents or the parent of each position, not both",
            hint=f"dt.ragged({name!r}, within={within._short}, by=...)",
        )
    if isinstance(lengths, TensorHandle) and lengths.known_values() is None:  # type: ignore[attr-defined]
        source: Any = _late(lengths, within)
    elif lengths is not None:
        source = Positions(np.repeat(np.arange(len(within)), _counts(lengths, within)))
    else:
        source = None if by is None else Positions(_parents(by, within))
    if coords is not None and not isinstance(source, Positions):
        raise ArgumentError(
            f"labels of {name!r} need the parents of the positions",
            hint="leave out coords= where lengths come with a call",
        )
    index = None if coords is None else Coords(coords)
    if index is not None and len(index) != len(source.array):
        raise DimError(
            f"{name!r} has {len(source.array)} positions and {len(index)} labels",
            [("labels", listing(index.values))],
        )
    return RaggedDim._of(name, within, source, index)


def _late(lengths: TensorHandle, within: Dim) -> Any:
    if lengths.dims != (within,):
        raise DimError(
            f"the lengths of a ragged dim are along {within._title}",
            [("dims", ", ".join(dim._short for dim in lengths.dims) or "none")],
        )
    if not lengths.dtype.startswith(("int", "uint")):
        raise DtypeError(
            f"lengths are integers, not {lengths.dtype}",
            hint=f"dt.tensor('lengths', dims={within._short}, dtype='int64')",
        )
    return lengths.node


def _counts(lengths: Any, within: Dim) -> np.ndarray:
    known = lengths if isinstance(lengths, TensorHandle) else data(lengths, dims=within)
    values = _values(known)
    if values.dtype.kind not in "iu" or (values < 0).any():
        wrong = values[values < 0] if values.dtype.kind in "iu" else values
        raise InputError(
            f"lengths of a ragged dim are integers of at least 0, not {listing(wrong, 3)}",
            [("within", repr(within))],
        )
    return values


def _parents(by: Any, within: Dim) -> np.ndarray:
    if isinstance(by, TensorHandle):
        known = by.categories is within and by.known_values() is not None  # type: ignore[attr-defined]
        if not known:
            raise InputError(
                f"by= takes known labels of {within._title}",
                hint="leave it out where the parents come with a call: they are name.owner",
            )
        return _values(by.codes)  # type: ignore[attr-defined]
    return _values(data(np.asarray(by), dims=Dim(length=len(by)), categories=within))


def _values(x: TensorHandle) -> np.ndarray:
    """Return known values, positions of labels."""
    if x.node.kind == "data":
        return np.asarray(x.node.attrs.values)
    return np.asarray(x.known_values())  # type: ignore[attr-defined]
