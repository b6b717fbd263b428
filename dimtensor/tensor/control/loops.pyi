"""Signatures of loops for type checkers, written by tools/generate_loops.py."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Unpack, overload

import xarray as xr

from dimtensor.dims import Dim
from dimtensor.graph.checkpoints import Checkpoints
from dimtensor.tensor.control.types import LoopKeywords, Tree
from dimtensor.tensor.core import DimTensor
from dimtensor.tensor.handle import Leaf

type Two = tuple[DimTensor, DimTensor]
type TwoLeaves = tuple[Leaf, Leaf]
type Three = tuple[DimTensor, DimTensor, DimTensor]
type ThreeLeaves = tuple[Leaf, Leaf, Leaf]
type Four = tuple[DimTensor, DimTensor, DimTensor, DimTensor]
type FourLeaves = tuple[Leaf, Leaf, Leaf, Leaf]

@overload
def scan[X, Y](
    step: Callable[[DimTensor, X], tuple[Leaf, Y]],
    init: Leaf,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> tuple[DimTensor, Y]: ...
@overload
def scan[X, Y](
    step: Callable[[Two, X], tuple[TwoLeaves, Y]],
    init: TwoLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> tuple[Two, Y]: ...
@overload
def scan[X, Y](
    step: Callable[[Three, X], tuple[ThreeLeaves, Y]],
    init: ThreeLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> tuple[Three, Y]: ...
@overload
def scan[X, Y](
    step: Callable[[Four, X], tuple[FourLeaves, Y]],
    init: FourLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> tuple[Four, Y]: ...
@overload
def scan[X, Y](
    step: Callable[[dict[str, DimTensor], X], tuple[Mapping[str, Leaf], Y]],
    init: Mapping[str, Leaf],
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> tuple[dict[str, DimTensor], Y]: ...
@overload
def scan[X, Y](
    step: Callable[[None, X], tuple[None, Y]],
    init: None,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> tuple[None, Y]: ...
@overload
def scan[S: Tree, X, Y](
    step: Callable[[S, X], tuple[S, Y]],
    init: S,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> tuple[S, Y]: ...
@overload
def cumulate[X](
    step: Callable[[DimTensor, X], Leaf],
    init: Leaf,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> DimTensor: ...
@overload
def cumulate[X](
    step: Callable[[Two, X], TwoLeaves],
    init: TwoLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> Two: ...
@overload
def cumulate[X](
    step: Callable[[Three, X], ThreeLeaves],
    init: ThreeLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> Three: ...
@overload
def cumulate[X](
    step: Callable[[Four, X], FourLeaves],
    init: FourLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> Four: ...
@overload
def cumulate[X](
    step: Callable[[dict[str, DimTensor], X], Mapping[str, Leaf]],
    init: Mapping[str, Leaf],
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> dict[str, DimTensor]: ...
@overload
def cumulate[S: Tree, X](
    step: Callable[[S, X], S],
    init: S,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> S: ...
@overload
def reduce[X](
    step: Callable[[DimTensor, X], Leaf],
    init: Leaf,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> DimTensor: ...
@overload
def reduce[X](
    step: Callable[[Two, X], TwoLeaves],
    init: TwoLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> Two: ...
@overload
def reduce[X](
    step: Callable[[Three, X], ThreeLeaves],
    init: ThreeLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> Three: ...
@overload
def reduce[X](
    step: Callable[[Four, X], FourLeaves],
    init: FourLeaves,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> Four: ...
@overload
def reduce[X](
    step: Callable[[dict[str, DimTensor], X], Mapping[str, Leaf]],
    init: Mapping[str, Leaf],
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> dict[str, DimTensor]: ...
@overload
def reduce[S: Tree, X](
    step: Callable[[S, X], S],
    init: S,
    xs: X = ...,
    dim: Dim | str | None = None,
    **options: Unpack[LoopKeywords],
) -> S: ...
@overload
def while_loop(
    cond: Callable[[DimTensor], DimTensor],
    body: Callable[[DimTensor], Leaf],
    init: Leaf,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[False] = False,
    inverse: Callable[[DimTensor], Leaf] | None = None,
    truncate: int | None = None,
) -> DimTensor: ...
@overload
def while_loop(
    cond: Callable[[DimTensor], DimTensor],
    body: Callable[[DimTensor], Leaf],
    init: Leaf,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[True],
    inverse: Callable[[DimTensor], Leaf] | None = None,
    truncate: int | None = None,
) -> tuple[DimTensor, DimTensor]: ...
@overload
def while_loop(
    cond: Callable[[Two], DimTensor],
    body: Callable[[Two], TwoLeaves],
    init: TwoLeaves,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[False] = False,
    inverse: Callable[[Two], TwoLeaves] | None = None,
    truncate: int | None = None,
) -> Two: ...
@overload
def while_loop(
    cond: Callable[[Two], DimTensor],
    body: Callable[[Two], TwoLeaves],
    init: TwoLeaves,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[True],
    inverse: Callable[[Two], TwoLeaves] | None = None,
    truncate: int | None = None,
) -> tuple[Two, DimTensor]: ...
@overload
def while_loop(
    cond: Callable[[Three], DimTensor],
    body: Callable[[Three], ThreeLeaves],
    init: ThreeLeaves,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[False] = False,
    inverse: Callable[[Three], ThreeLeaves] | None = None,
    truncate: int | None = None,
) -> Three: ...
@overload
def while_loop(
    cond: Callable[[Three], DimTensor],
    body: Callable[[Three], ThreeLeaves],
    init: ThreeLeaves,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[True],
    inverse: Callable[[Three], ThreeLeaves] | None = None,
    truncate: int | None = None,
) -> tuple[Three, DimTensor]: ...
@overload
def while_loop(
    cond: Callable[[Four], DimTensor],
    body: Callable[[Four], FourLeaves],
    init: FourLeaves,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[False] = False,
    inverse: Callable[[Four], FourLeaves] | None = None,
    truncate: int | None = None,
) -> Four: ...
@overload
def while_loop(
    cond: Callable[[Four], DimTensor],
    body: Callable[[Four], FourLeaves],
    init: FourLeaves,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[True],
    inverse: Callable[[Four], FourLeaves] | None = None,
    truncate: int | None = None,
) -> tuple[Four, DimTensor]: ...
@overload
def while_loop(
    cond: Callable[[dict[str, DimTensor]], DimTensor],
    body: Callable[[dict[str, DimTensor]], Mapping[str, Leaf]],
    init: Mapping[str, Leaf],
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[False] = False,
    inverse: Callable[[dict[str, DimTensor]], Mapping[str, Leaf]] | None = None,
    truncate: int | None = None,
) -> dict[str, DimTensor]: ...
@overload
def while_loop(
    cond: Callable[[dict[str, DimTensor]], DimTensor],
    body: Callable[[dict[str, DimTensor]], Mapping[str, Leaf]],
    init: Mapping[str, Leaf],
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[True],
    inverse: Callable[[dict[str, DimTensor]], Mapping[str, Leaf]] | None = None,
    truncate: int | None = None,
) -> tuple[dict[str, DimTensor], DimTensor]: ...
@overload
def while_loop[S: Tree](
    cond: Callable[[S], DimTensor],
    body: Callable[[S], S],
    init: S,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[False] = False,
    inverse: Callable[[S], S] | None = None,
    truncate: int | None = None,
) -> S: ...
@overload
def while_loop[S: Tree](
    cond: Callable[[S], DimTensor],
    body: Callable[[S], S],
    init: S,
    max_steps: int | DimTensor | None = None,
    *,
    return_finished: Literal[True],
    inverse: Callable[[S], S] | None = None,
    truncate: int | None = None,
) -> tuple[S, DimTensor]: ...
@overload
def fori_loop(
    start: int | DimTensor,
    stop: int | DimTensor,
    body: Callable[[DimTensor, DimTensor], Leaf],
    init: Leaf,
    *,
    inverse: Callable[[DimTensor, DimTensor], Leaf] | None = None,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    truncate: int | None = None,
) -> DimTensor: ...
@overload
def fori_loop(
    start: int | DimTensor,
    stop: int | DimTensor,
    body: Callable[[DimTensor, Two], TwoLeaves],
    init: TwoLeaves,
    *,
    inverse: Callable[[DimTensor, Two], TwoLeaves] | None = None,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    truncate: int | None = None,
) -> Two: ...
@overload
def fori_loop(
    start: int | DimTensor,
    stop: int | DimTensor,
    body: Callable[[DimTensor, Three], ThreeLeaves],
    init: ThreeLeaves,
    *,
    inverse: Callable[[DimTensor, Three], ThreeLeaves] | None = None,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    truncate: int | None = None,
) -> Three: ...
@overload
def fori_loop(
    start: int | DimTensor,
    stop: int | DimTensor,
    body: Callable[[DimTensor, Four], FourLeaves],
    init: FourLeaves,
    *,
    inverse: Callable[[DimTensor, Four], FourLeaves] | None = None,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    truncate: int | None = None,
) -> Four: ...
@overload
def fori_loop(
    start: int | DimTensor,
    stop: int | DimTensor,
    body: Callable[[DimTensor, dict[str, DimTensor]], Mapping[str, Leaf]],
    init: Mapping[str, Leaf],
    *,
    inverse: Callable[[DimTensor, dict[str, DimTensor]], Mapping[str, Leaf]] | None = None,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    truncate: int | None = None,
) -> dict[str, DimTensor]: ...
@overload
def fori_loop[S: Tree](
    start: int | DimTensor,
    stop: int | DimTensor,
    body: Callable[[DimTensor, S], S],
    init: S,
    *,
    inverse: Callable[[DimTensor, S], S] | None = None,
    checkpoint: Checkpoints | Sequence[int] | None = None,
    truncate: int | None = None,
) -> S: ...
@overload
def ode(
    rhs: Callable[[DimTensor, DimTensor], Leaf],
    y0: Leaf,
    t: DimTensor | xr.DataArray,
    method: Literal["dopri5", "rk4"] = "dopri5",
    *,
    steps: int = 1,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    max_steps: int = 1000,
) -> DimTensor: ...
@overload
def ode(
    rhs: Callable[[DimTensor, Two], TwoLeaves],
    y0: TwoLeaves,
    t: DimTensor | xr.DataArray,
    method: Literal["dopri5", "rk4"] = "dopri5",
    *,
    steps: int = 1,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    max_steps: int = 1000,
) -> Two: ...
@overload
def ode(
    rhs: Callable[[DimTensor, Three], ThreeLeaves],
    y0: ThreeLeaves,
    t: DimTensor | xr.DataArray,
    method: Literal["dopri5", "rk4"] = "dopri5",
    *,
    steps: int = 1,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    max_steps: int = 1000,
) -> Three: ...
@overload
def ode(
    rhs: Callable[[DimTensor, Four], FourLeaves],
    y0: FourLeaves,
    t: DimTensor | xr.DataArray,
    method: Literal["dopri5", "rk4"] = "dopri5",
    *,
    steps: int = 1,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    max_steps: int = 1000,
) -> Four: ...
@overload
def ode(
    rhs: Callable[[DimTensor, dict[str, DimTensor]], Mapping[str, Leaf]],
    y0: Mapping[str, Leaf],
    t: DimTensor | xr.DataArray,
    method: Literal["dopri5", "rk4"] = "dopri5",
    *,
    steps: int = 1,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    max_steps: int = 1000,
) -> dict[str, DimTensor]: ...
@overload
def ode[S: Tree](
    rhs: Callable[[DimTensor, S], S],
    y0: S,
    t: DimTensor | xr.DataArray,
    method: Literal["dopri5", "rk4"] = "dopri5",
    *,
    steps: int = 1,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    max_steps: int = 1000,
) -> S: ...
