"""Positions in dims that turn out to be empty, or shorter than the positions ask for."""

import numpy as np
import pytest
import xarray as xr
from pytensor.graph.traversal import ancestors

import dimtensor as dt
from dimtensor.ops.positions import Inhabited
from tests.backend_names import LONG_JAX

K, T, M = dt.Dim("k"), dt.Dim("t"), dt.Dim("m")
x = dt.tensor("x", dims=T)
table = dt.tensor("table", dims=[T, M])
at = dt.tensor("at", dims=K, dtype="int64")
w = dt.tensor("w", dims=K)
zero = dt.scalar("zero")
# how many positions are kept is known while the function runs only
kept = at.isel(k=at != 7)
(k,) = kept.dims
values = w.isel(k=at != 7)
values = values.relabel(*values.dims, k)
inside = dt.minimum(dt.maximum(kept, 0), dt.maximum(dt.length(T) - 1, 0))
large = x.isel(t=x > 1.0)
(some,) = large.dims

READERS = {
    "look-up": lambda: x.isel(t=kept),
    "clipped": lambda: x.isel(t=inside),
    "rows": lambda: table.isel(t=kept),
    "of what is computed": lambda: dt.exp(table).isel(t=kept).sum(M),
    "set": lambda: x.isel(t=kept).set(values),
    "inc": lambda: x.isel(t=kept).inc(values),
    "gradient": lambda: dt.grad(dt.sin(x.isel(t=kept)).sum(), x),
    "gradient of rows": lambda: dt.grad((table.isel(t=kept) ** 2).sum(), table),
    "gradient of an update": lambda: dt.grad((x.isel(t=kept).inc(values) ** 2).sum(), w),
    "tangent": lambda: dt.jvp(dt.exp(x).isel(t=kept), x, x),
    "second derivative": lambda: dt.grad(dt.grad((x.isel(t=kept) ** 3).sum(), x).sum(), x),
    "of what a mask keeps": lambda: large.isel({some: kept}),
}
EMPTY = {"x": [], "table": xr.DataArray(np.zeros((0, 2)), dims=["t", "m"]), "w": [1.0, 2.0]}


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("reader", READERS)
def test_nothing_is_read_of_an_empty_dim(reader, backend):
    result = READERS[reader]()
    f = dt.function(dt.inputs_of(result), result, backend=backend)
    given = {node.name: EMPTY[node.name] for node in dt.inputs_of(result) if node.name != "at"}
    with pytest.raises(dt.CheckError, match="computed for dim 't' are outside of its length"):
        f(at=[7, 0], **given)
    # no position is kept, so that nothing is asked for
    found = f(at=[7, 7], **given).values
    assert found.size == (2 if reader == "gradient of an update" else 0)
    assert not found.any()


@pytest.mark.parametrize("backend", LONG_JAX)
def test_the_check_that_was_written_for_it_speaks_first(backend):
    checked = dt.check(dt.length(T) > 0, "there are no observations", x)
    f = dt.function([x, at], checked.isel(t=kept), backend=backend)
    with pytest.raises(dt.CheckError, match="there are no observations"):
        f(x=[], at=[7, 0])
    assert f(x=[3.0, 4.0], at=[7, 1]).values.tolist() == [4.0]


# what is kept of [0.5, 2.0] has one element
@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (lambda: large.isel({some: at}), [2.0]),
        (lambda: large.isel({some: at}).set(1.0), [1.0]),
        (lambda: dt.grad((large.isel({some: at}) ** 2).sum(), x), [0.0, 4.0]),
    ],
    ids=["look-up", "set", "gradient"],
)
def test_positions_among_what_a_mask_keeps_are_checked(result, expected, backend):
    f = dt.function([x, at], result(), backend=backend)
    for position in (0, -1):
        assert f(x=[0.5, 2.0], at=[position]).values.tolist() == expected
    for position in (1, 10**6, -2):
        with pytest.raises(dt.CheckError, match="computed for dim 't' are outside of its length"):
            f(x=[0.5, 2.0], at=[position])


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize(
    ("result", "position", "expected"),
    [
        (lambda: large.isel({some: 2}), 2, 4.0),
        (lambda: large.isel({some: -3}), -3, 2.0),
        (lambda: large.isel({some: [0, 2]}), 2, [2.0, 4.0]),
        (lambda: large.isel({some: 2}).set(1.0), 2, [2.0, 3.0, 1.0]),
        (lambda: large.isel({some: 2}).inc(1.0), 2, [2.0, 3.0, 5.0]),
        (lambda: dt.grad(large.isel({some: 2}) ** 2, x), 2, [0.0, 0.0, 0.0, 8.0]),
    ],
    ids=["position", "from the end", "list", "set", "inc", "gradient"],
)
def test_written_positions_among_what_a_mask_keeps_are_checked(result, position, expected, backend):
    f = dt.function([x], result(), backend=backend)
    assert f(x=[0.5, 2.0, 3.0, 4.0]).values.tolist() == expected
    for too_short in ([0.5, 2.0], [0.5, 0.7], []):
        with pytest.raises(dt.CheckError, match=f"position {position} is outside of dim 't'"):
            f(x=too_short)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_positions_that_a_mask_leaves_out_may_be_anything(backend):
    f = dt.function([x, at], x.isel(t=at.isel(k=at < 100)), backend=backend)
    assert f(x=[3.0, 4.0], at=[1, 10**6]).values.tolist() == [4.0]


first = dt.floor(zero).astype("int64")


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize(
    "needs_elements",
    [
        lambda y: y.isel(t=0),
        lambda y: y.isel(t=[0, -1]).sum(),
        lambda y: y.isel(t=first),
        lambda y: y.isel(t=0).set(1.0).sum(),
        lambda y: y.max(),
        lambda y: y.isel(t=y.argmax("t")),
    ],
    ids=["position", "list", "computed", "set", "max", "argmax"],
)
def test_an_arm_that_is_not_taken_needs_no_elements(needs_elements, backend):
    flag = dt.scalar("flag", dtype="bool")
    result = dt.if_else(flag, needs_elements, lambda y: y.sum() - 1.0, x)
    f = dt.function([x, flag, zero], [result, dt.grad(result, x)], backend=backend)
    value, gradient = f(x=[], flag=False, zero=0.5)
    assert float(value) == -1.0
    assert gradient.values.tolist() == []
    with pytest.raises(dt.CheckError, match="dim 't'"):
        f(x=[], flag=True, zero=0.5)
    assert float(f(x=[3.0], flag=True, zero=0.5)[0]) in (1.0, 3.0, 6.0)


@pytest.mark.parametrize("backend", LONG_JAX)
@pytest.mark.parametrize("position", [2, -2, 300, -300, [1], [-2, 0], [0, 300]])
@pytest.mark.parametrize("update", [False, True])
def test_positions_in_an_arm_that_is_taken_are_checked(position, update, backend):
    """Code is shared by selections of other positions, which it takes as arguments."""

    def chosen(y):
        taken = y.isel(t=position)
        return taken.set(1.0).sum() if update else taken.sum()

    flag = dt.scalar("flag", dtype="bool")
    f = dt.function([x, flag], dt.if_else(flag, chosen, lambda y: y.sum(), x), backend=backend)
    assert float(f(x=[0.5], flag=False)) == 0.5
    with pytest.raises(dt.CheckError, match=r"position -?\d+ is outside of dim 't'"):
        f(x=[0.5], flag=True)


@pytest.mark.parametrize("backend", LONG_JAX)
def test_no_steps_need_no_elements(backend):
    chosen = dt.reduce(lambda s, p: dt.sin(s) + x.isel(t=p), zero, kept, dim=k)
    f = dt.function([x, at, zero], chosen, backend=backend)
    assert float(f(x=[], at=[7, 7], zero=1.5)) == 1.5
    with pytest.raises(dt.CheckError, match="computed for dim 't' are outside of its length"):
        f(x=[], at=[7, 0], zero=1.5)
    g = dt.function(
        [x, at, zero], dt.reduce(lambda s, p: s + x.isel(t=p), zero, at, dim=K), backend=backend
    )
    assert float(g(x=[], at=np.array([], dtype="int64"), zero=1.5)) == 1.5
    with pytest.raises(dt.PositionError, match="it has length 0"):
        g(x=[], at=[0], zero=1.5)


def test_dims_of_known_length_are_read_without_a_guard():
    fixed = dt.tensor("x", dims=dt.Dim("t", length=3))
    for y, guarded in ((fixed, False), (x, True)):
        graph = ancestors([y.isel(t=kept + 1).to_shaped()])
        assert any(v.owner and isinstance(v.owner.op, Inhabited) for v in graph) == guarded


def test_parts_of_what_a_mask_keeps_have_parts():
    b = dt.Dim("b", length=3)
    v = dt.tensor("v", dims=b)
    kept = v.isel(b=v > 0)
    found = [kept.isel(b=[0]).isel(b=-1), kept.isel(b=[]), kept.isel(b=[1, 0]).isel(b=[1])]
    f = dt.function([v], found, backend="python")
    last, none, first = f([-1.5, 0.5, 2.0])
    assert (last.item(), none.values.tolist(), first.values.tolist()) == (0.5, [], [0.5])
    with pytest.raises(dt.CheckError, match="'b'"):
        f([-1.5, -0.5, -2.0])
