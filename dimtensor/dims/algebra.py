"""Sets of dims: canonical order, look-up by name, union with the check for clashes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from types import EllipsisType
from typing import Any

from dimtensor.dims.dim import Dim
from dimtensor.errors import (
    DimError,
    RaggedDimError,
    UnknownDimError,
    clipped,
    did_you_mean,
    plain_repr,
)

Dims = tuple[Dim, ...]


class DimTuple(tuple[Dim, ...]):
    """The dims of a tensor, in canonical order, which can be asked for by name.

    Examples
    --------
    >>> dims = DimTuple([Dim("age", length=5)])
    >>> "age" in dims, "year" in dims, dims["age"]
    (True, False, Dim('age', length=5))
    >>> dims == ("age",), dims.index("age")
    (True, 0)
    """

    __slots__ = ()

    def __contains__(self, dim: object) -> bool:
        if isinstance(dim, str):
            return any(one.name == dim for one in self)
        return tuple.__contains__(self, dim)

    def __getitem__(self, key: Any) -> Any:
        return find_dim(self, key, "dims") if isinstance(key, str) else tuple.__getitem__(self, key)

    def __eq__(self, other: object) -> bool:
        """Compare with dims or names of dims, in any order: dims are unordered."""
        given = (other,) if isinstance(other, str) else other
        if not isinstance(given, (tuple, list)):
            return False
        if not any(isinstance(one, str) for one in given):
            return tuple.__eq__(self, tuple(given))
        names = {one.name if isinstance(one, Dim) else one for one in given}
        return len(given) == len(self) and {dim.name for dim in self} == names

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def index(self, dim: Any, *ends: Any) -> int:
        return tuple.index(self, self[dim] if isinstance(dim, str) else dim, *ends)

    def __reduce__(self) -> tuple:
        return (DimTuple, (tuple(self),))


def in_order(given: Iterable[Any], what: str) -> tuple:
    """Return what a user gives in an order, as a tuple.

    Raises
    ------
    DimError
        If a set or a dict has several of them, or they are not iterable.
    """
    if isinstance(given, (Set, Mapping)) and len(given) > 1:
        names = sorted(getattr(one, "_short", None) or str(one) for one in given)
        raise DimError(
            f"{what} must be in an order, which a {type(given).__name__} has not",
            [("given", "{" + ", ".join(names) + "}")],
            f"pass them as a list, one for each axis: [{', '.join(names)}] or another order",
        )
    if not isinstance(given, Iterable):
        raise DimError(f"{what} are given in a list, not as {given!r}")
    return tuple(given)


def sort_dims(dims: Iterable[Dim]) -> Dims:
    """Sort dims in canonical order."""
    return tuple(sorted(dims, key=_sort_key))


def _sort_key(dim: Dim) -> tuple:
    return dim._sort_key


def canonical_dims(dims: Dim | Iterable[Dim] | None, what: str) -> Dims:
    """Check dims that a user gives, and sort them in canonical order.

    Raises
    ------
    DimError
        If something is not a Dim, is given twice, or two dims have one name.
    """
    given = as_dim_tuple(dims, what)
    seen: dict[str | Dim, Dim] = {}
    for position, dim in enumerate(given):
        if dim in given[:position]:
            raise DimError(f"{what} have {dim!r} twice")
        if seen.setdefault(dim._namespace, dim) is not dim:
            raise clash_error(
                f"{what} have two dims {what_is_shared(dim)}",
                seen[dim._namespace],
                dim,
                hint="give one of them another name: dim.rename(name)",
            )
    if any(dim._within is not None for dim in given):
        outer = outer_error(given, what)
        if outer is not None:
            raise outer
        _check_apart([dim for dim in given if dim._within is not None], what)
    return sort_dims(given)


def what_is_shared(dim: Dim) -> str:
    """Describe what two clashing dims share: their name or their origin."""
    return f"named {dim.name!r}" if dim.name is not None else "from one anonymous dim"


def _no_dim(given: object, what: str) -> DimError:
    if isinstance(given, int):  # a length, as in a shape
        hint = f"make one with dt.Dim(name, length={given})"
    else:
        hint = f"make one with dt.Dim({given!r}, length=...) or coords=[...]"
    are = "is a Dim" if what.startswith("the dim of") else "are Dim objects"
    return DimError(f"{what} {are}, not {given!r}", hint=hint)


def as_dim_tuple(dims: Dim | Iterable[Dim] | None, what: str) -> Dims:
    """Check that these are dims, and return them in the given order."""
    if dims is None:
        return ()
    given = (dims,) if isinstance(dims, Dim) else dims
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _no_dim(given, what)
    given = tuple(given)
    for dim in given:
        if not isinstance(dim, Dim):
            raise _no_dim(dim, what)
    return given


def union(
    sets: Sequence[Dims], operation: str, names: Callable[[], Sequence[str]] | None = None
) -> Dims:
    """Return all dims of several tensors, in canonical order.

    A ragged dim stands for the dims that it is within, whose values its positions look up.

    `names` gives names of the tensors for the message of an error.

    Raises
    ------
    DimError
        If two different dims have the same name.
    """
    first = sets[0]
    if all(dims == first for dims in sets[1:]):
        return first
    merged: dict[Dim, int] = {}
    by_name: dict[str | Dim, Dim] = {}
    for position, dims in enumerate(sets):
        for dim in dims:
            if dim in merged:
                continue
            other = by_name.get(dim._namespace)
            if other is not None:
                same = f"are named {dim.name!r}" if dim.name else "come from one anonymous dim"
                called = None if names is None else names()
                raise clash_error(
                    f"{operation}: two different dims {same}",
                    other,
                    dim,
                    _operand(called, merged[other]),
                    _operand(called, position),
                )
            merged[dim] = position
            by_name[dim._namespace] = dim
    ragged = [dim for dim in merged if dim._within is not None]
    for dim in ragged:
        for above in ancestors(dim):
            merged.pop(above, None)
    if len(ragged) > 1:
        _check_apart([dim for dim in ragged if dim in merged], operation)
    return sort_dims(merged)


def _check_apart(ragged: Sequence[Dim], operation: str) -> None:
    """Refuse ragged dims of the same parents, whose positions would combine across parents."""
    seen: dict[Dim, Dim] = {}
    for dim in ragged:
        for above in ancestors(dim):
            other = seen.setdefault(above, dim)
            if other is not dim:
                raise RaggedDimError(
                    f"{operation} would combine each {dim._short} with each {other._short}, of "
                    f"other labels of {above._title}, too",
                    [("dims", ", ".join(map(repr, ragged)))],
                    f"reduce one of them first, such as x.sum({dim._short}), which has "
                    f"{above._short}; or ignore {above._short}: x.relabel({dim._short}, "
                    f"{dim._short}.flat)",
                )


def dim_set(dims: Iterable[Dim]) -> str:
    """Write the dims of a tensor for a message.

    Examples
    --------
    >>> dim_set([Dim("age", length=5), Dim("country")])
    '{age, country}'
    """
    return "{" + ", ".join(dim._short for dim in dims) + "}"


def _operand(names: Sequence[str] | None, position: int) -> str:
    return f"operand {position + 1}" + (f" ({names[position]})" if names else "")


_WAYS_OUT = (
    "keep both with rename_dim, bring them to the same labels with sel, isel, reindex or dt.align, "
    "or match them position by position with relabel"
)


def clash_error(
    headline: str, one: Dim, two: Dim, first: str = "", second: str = "", hint: str = _WAYS_OUT
) -> DimError:
    """Return the error for two different dims of the same name, which shows both."""
    return DimError(headline, [(first or "one", repr(one)), (second or "other", repr(two))], hint)


def find_dim(dims: Dims, key: Dim | str, operation: str) -> Dim:
    """Return the dim that a user names.

    Raises
    ------
    DimError
        If it is not among the dims.
    """
    if not isinstance(key, (Dim, str)):
        raise _no_key(key, dims, operation)
    if isinstance(key, Dim):
        if key in dims:
            return key
        namesakes = [dim for dim in dims if dim._namespace == key._namespace]
        if namesakes:
            raise clash_error(
                f"{operation}: the tensor has another dim named {key.name!r}",
                key,
                namesakes[0],
                "asked for",
                "the tensor has",
                "name the dim of the tensor, or ask for it by its name",
            )
    else:
        for dim in dims:
            if dim.name == key:
                return dim
    name = key.name if isinstance(key, Dim) else key
    known = [dim._short for dim in dims]
    raise UnknownDimError(
        f"{operation}: there is no dim {name!r}{did_you_mean(name, known)}",
        [("dims", ", ".join(map(repr, known)) or "none (a scalar)")],
    )


def _no_key(key: Any, dims: Dims, operation: str) -> DimError:
    """Return the error for something else in the place of a dim."""
    there = [("dims", ", ".join(repr(dim._short) for dim in dims) or "none (a scalar)")]
    such = f"name one, such as {dims[0]._short!r}" if dims else None
    if hasattr(key, "sizes"):
        return DimError(f"{operation}: a tensor stands in the place of a dim", there, such)
    text = f"{operation}: a dim is named by a string or is a Dim, not {clipped(plain_repr(key))}"
    return DimError(text, there, such and f"dims have no order, so that none has a number: {such}")


def only_dim(dims: Dims, key: Dim | str | None, operation: str) -> Dim:
    """Return the dim that a user names, or the only dim for None."""
    if key is not None:
        return find_dim(dims, key, operation)
    if not dims:
        raise DimError(f"{operation} goes along a dim, and a scalar has none")
    if len(dims) != 1:
        raise DimError(f"{operation}: name one of the dims {[dim._short for dim in dims]}")
    return dims[0]


def find_plain_dim(dims: Dims, key: Dim | str, operation: str) -> Dim:
    """Return the dim that a user names, which is not ragged.

    Raises
    ------
    DimError
        If it is not among the dims.
    RaggedDimError
        If it is ragged.
    """
    dim = find_dim(dims, key, operation)
    refuse_ragged(dim, operation)
    return dim


def find_dims(
    dims: Dims, keys: Dim | str | Iterable[Dim | str] | EllipsisType | None, operation: str
) -> Dims:
    """Return the dims that a user names, in the given order; all dims for None or ``...``."""
    if keys is None or keys is Ellipsis:
        return dims
    if isinstance(keys, (Dim, str)) or not isinstance(keys, Iterable):
        return (find_dim(dims, keys, operation),)
    if hasattr(keys, "sizes"):
        larger = {"max": "maximum", "min": "minimum"}.get(operation)
        raise DimError(
            f"{operation} of one tensor takes dims after it, and is given another tensor",
            hint=f"of two tensors, element by element: dt.{larger}(x, y)" if larger else None,
        )
    found = tuple(find_dim(dims, key, operation) for key in keys)
    if len(set(found)) != len(found):
        twice = next(dim for dim in found if found.count(dim) > 1)
        raise DimError(f"{operation}: {twice._title} is named twice")
    return found


def without(dims: Dims, removed: Iterable[Dim]) -> Dims:
    """Return the dims that are not removed."""
    removed = tuple(removed)
    return tuple(dim for dim in dims if dim not in removed)


def ancestors(dim: Dim) -> Iterator[Dim]:
    """Iterate over the dim that a ragged dim is within, the one that this is within, and so on.

    Examples
    --------
    >>> import dimtensor as dt
    >>> document = Dim("document", length=1)
    >>> sentence = dt.ragged("sentence", within=document, lengths=[2])
    >>> word = dt.ragged("word", within=sentence, lengths=[3, 1])
    >>> [dim.name for dim in ancestors(word)]
    ['sentence', 'document']
    """
    above = dim._within
    while above is not None:
        yield above
        above = above._within


def with_ancestors(dims: Iterable[Dim]) -> tuple[Dim, ...]:
    """Return dims and the dims that they are within."""
    dims = tuple(dims)
    return (*dims, *(above for dim in dims for above in ancestors(dim)))


def refuse_ragged(dim: Dim, what: str) -> None:
    """Refuse an operation that combines positions along a dim if these have several parents.

    Raises
    ------
    RaggedDimError
        If the dim is ragged.
    """
    if dim._within is not None:
        raise mixing_error(dim, what)


def mixing_error(dim: Dim, what: str) -> RaggedDimError:
    """Return the error of an operation that would mix the positions of different parents."""
    name, above = dim._short, dim._within
    assert above is not None
    return RaggedDimError(
        f"{what} along {dim._title} would mix positions of different labels of {above._title}, "
        "and works on a plain dim only",
        [("dim", repr(dim))],
        f"for one label: x.sel({above._short}=...); to ignore {above._short}: "
        f"x.relabel({name}, {name}.flat)",
    )


def outer_error(dims: Sequence[Dim], what: str) -> RaggedDimError | None:
    """Return the error of dims among which is a ragged one and a dim it is within, if any."""
    for dim in dims:
        for above in ancestors(dim):
            if above in dims:
                return RaggedDimError(
                    f"{what} have {dim._title} and {above._title}, but each {dim._short} belongs "
                    f"to one {above._short}",
                    [("dims", ", ".join(map(repr, dims)))],
                    f"leave out {above._short}; to combine each {dim._short} with every "
                    f"{above._short}, rename it: {above._short}.rename('other')",
                )
    return None
