"""Calls: batches, frames, results that belong to the caller, threads, pickling, new data."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import dimtensor as dt

K = dt.Dim("k", coords=["a", "b", "c"])
OBS = dt.Dim("obs")
A = dt.tensor("a", dims=K)
X = dt.tensor("x", dims=OBS)
Y = dt.tensor("y", dims=OBS)
DRAWS = xr.DataArray(
    np.arange(12.0).reshape(2, 2, 3),
    dims=["chain", "draw", "k"],
    coords={"chain": [1, 2], "draw": [10, 20], "k": ["c", "a", "b"]},
)


def function(inputs, outputs):
    return dt.function(inputs, outputs, backend="python")


def along_obs(values, labels=None):
    coords = {} if labels is None else {"obs": labels}
    return xr.DataArray(np.asarray(values, dtype=float), dims="obs", coords=coords)


# -- batches ---------------------------------------------------------------------------------------


def looped(f, draws, *rest):
    """What a loop over chain and draw gives."""
    chains = [xr.concat([f(draws[c, d], *rest) for d in range(2)], "draw") for c in range(2)]
    result = xr.concat(chains, "chain")
    return result.assign_coords(chain=draws.chain, draw=draws.draw)


def test_more_dims_in_an_input_batch_the_call_as_a_loop_would():
    loss = ((A.sel(k="b") * X) ** 2).sum()
    f = function([A, X], loss)
    x = along_obs([1.0, 2.0], ["p", "q"])
    xr.testing.assert_allclose(f(DRAWS, x), looped(f, DRAWS, x).transpose("chain", "draw"))
    g = function([A, X], dt.grad(loss, X))
    expected = looped(g, DRAWS, x).transpose("chain", "draw", "obs")
    xr.testing.assert_allclose(g(DRAWS, x), expected)


def test_several_inputs_may_batch_by_the_same_and_by_other_dims():
    f = function([A, X], A.sum() + X)
    x = along_obs([1.0, 2.0]).expand_dims(draw=[10, 20])
    result = f(DRAWS, x)
    xr.testing.assert_identical(result, (DRAWS.sum("k") + x).transpose("chain", "draw", "obs"))
    scale = along_obs([1.0, 2.0]).expand_dims(scale=["u", "v", "w"])
    assert f(DRAWS, scale).sizes == {"chain": 2, "draw": 2, "obs": 2, "scale": 3}
    with pytest.raises(dt.LabelError, match="inputs disagree about the labels of dim 'draw'"):
        f(DRAWS, x.assign_coords(draw=[10, 30]))
    with pytest.raises(dt.DimError, match="inputs disagree about the length of dim 'draw'"):
        f(DRAWS.drop_vars("draw"), along_obs([1.0]).expand_dims(draw=3))


def test_a_batched_call_neither_repeats_nor_changes_the_plain_one():
    f = function([A], A.sum())
    assert float(f([1.0, 2.0, 3.0])) == 6.0
    first = f(DRAWS)
    before = f.stats
    again = f(DRAWS[:1, ::-1])
    assert f.stats == before
    xr.testing.assert_identical(again, first[:1, ::-1])
    assert float(f([1.0, 2.0, 3.0])) == 6.0
    assert f.with_data()(DRAWS).identical(first)


def test_a_vectorized_expression_can_be_batched_again():
    grown = dt.vectorize(dt.exp(A).sum(), {A: dt.Dim("z", length=2)})
    (inner,) = dt.inputs_of(grown)
    values = DRAWS.expand_dims(z=2)
    xr.testing.assert_allclose(function([inner], grown)(values).transpose("z", ...),
                               np.exp(values).sum("k").transpose("z", ...))  # fmt: skip


def test_a_batch_dim_may_not_be_called_like_a_dim_of_the_function():
    f = function([A, X], A.sum() + X)
    value = DRAWS[0].rename(draw="obs")
    with pytest.raises(dt.DimError, match="the value of input 'a' has an additional dim 'obs'"):
        f(value, [1.0, 2.0])


def test_a_mask_is_batched_only_where_it_stays_the_same():
    mask = dt.tensor("mask", dims=OBS, dtype="bool")
    x = along_obs([1.0, 2.0, 4.0], ["p", "q", "r"]).expand_dims(draw=[7, 8]) * [[1.0], [10.0]]
    result = function([X, mask], X[mask])(x, [True, False, True])
    xr.testing.assert_identical(result, x[:, [0, 2]])
    with pytest.raises(dt.DimError, match="a mask along dim 'obs' has this dim and no other"):
        function([X], X[X > 1].sum())(x)
    total = function([X], dt.where(X > 1, X, 0.0).sum())(x)
    xr.testing.assert_identical(total, x.where(x > 1, 0.0).sum("obs"))


def test_a_misspelled_dim_is_no_batch():
    with pytest.raises(dt.InputError, match=r"lacks dim 'k' \(is 'kk' meant for it\?\)"):
        function([A], A)(xr.DataArray(np.zeros(3), dims="kk"))


# -- frames ----------------------------------------------------------------------------------------


def test_lengths_and_labels_may_change_from_call_to_call_and_back():
    f = function([X, Y], [X + Y, (X * Y)[1:], X.sum()])
    seen = []
    for labels in (["p", "q"], ["q", "p"], ["u", "v", "w"], None, ["p", "q"]):
        n = 4 if labels is None else len(labels)
        x = along_obs(np.arange(n), labels)
        total, tail, _ = f(x, x)
        xr.testing.assert_identical(total, 2 * x)
        xr.testing.assert_identical(tail, (x * x)[1:])
        seen.append(total)
    assert seen[0].identical(seen[-1])


def test_more_sets_of_labels_than_are_remembered():
    f = function([X], X * 2)
    for n in [*range(40), *range(40)]:
        x = along_obs(np.arange(n), np.arange(n) + n)
        xr.testing.assert_identical(f(x), 2 * x)


def test_a_disagreement_is_found_although_both_were_seen_before():
    f = function([X, Y], X + Y)
    one, two = along_obs([1, 2], ["p", "q"]), along_obs([1, 2], ["q", "p"])
    f(one, one), f(two, two)
    for _ in range(2):
        with pytest.raises(dt.LabelError, match="inputs disagree about the labels of dim 'obs'"):
            f(one, two)


def test_masks_give_every_call_its_own_labels():
    f = function([X], [X[X > 1], X[X > 1].sum()])
    for values in ([0, 2, 3], [5, 0, 0], [0, 0, 0]):
        x = along_obs(values, ["p", "q", "r"])
        kept, total = f(x)
        xr.testing.assert_identical(kept, x[(x > 1).values])
        assert float(total) == float(x[(x > 1).values].sum())


# -- results ---------------------------------------------------------------------------------------


def test_results_are_in_the_structure_of_the_outputs():
    assert isinstance(function([X], [X, X])([1.0]), list)
    assert isinstance(function([X], (X, X))([1.0]), tuple)
    named = function([X], {"total": X.sum(), "same": X})([1.0])
    assert {key: value.name for key, value in named.items()} == {"total": "total", "same": "same"}
    assert function([X], X)([1.0]).name == "x"
    assert function([X], X + 1)([1.0]).name is None


def test_labels_come_out_as_labels():
    where = dt.data(["c", "a"], dims=OBS, categories=K, name="where")
    result = function([A, X], [where, A.idxmax(), X.idxmax()])
    where_values, best, late = result([1.0, 3.0, 2.0], along_obs([5, 4], ["p", "q"]))
    assert where_values.values.tolist() == ["c", "a"]
    assert best.item() == "b"
    assert late.item() == "p"


def test_results_belong_to_the_caller():
    held = dt.data([1.0, 2.0], dims=OBS, name="held")
    f = function([X], [X, X[1:], held, X * 2, held.rename(obs="row")])
    x = along_obs([3.0, 4.0], ["p", "q"])
    first = f(x)
    for result in first:
        result.values[:] = -1.0
        result.attrs["unit"] = "m"
        for coord in result.coords.values():
            coord.attrs["unit"] = "m"
    assert x.values.tolist() == [3.0, 4.0]
    second = f(x)
    assert [r.values.tolist() for r in second] == [[3, 4], [4], [1, 2], [6, 8], [1, 2]]
    assert not any(r.attrs or any(c.attrs for c in r.coords.values()) for r in second)
    second[3].coords["more"] = ("obs", [1, 2])
    assert list(f(x)[3].coords) == ["obs"]


# -- data ------------------------------------------------------------------------------------------


@pytest.fixture
def on_data():
    income = dt.data([1.0, 2.0, 3.0], dims=OBS, name="income")
    where = dt.data(["a", "c", "a"], dims=OBS, categories=K, name="where")
    return income, where, function([A], A.sel(k=where) * income)


def test_data_are_exchanged_by_name_and_by_tensor(on_data):
    income, _, f = on_data
    a = [10.0, 20.0, 30.0]
    assert f(a).values.tolist() == [10.0, 60.0, 30.0]
    other = f.with_data(income=[5.0, 6.0, 7.0])
    assert other(a).values.tolist() == [50.0, 180.0, 70.0]
    assert f.with_data({income: [5.0, 6.0, 7.0]})(a).identical(other(a))
    assert other.with_data(where=["b"] * 3)(a).values.tolist() == [100.0, 120.0, 140.0]
    assert f(a).values.tolist() == [10.0, 60.0, 30.0]


def test_new_data_may_have_another_length_and_labels(on_data):
    income, where, f = on_data
    new = f.with_data({income: along_obs([5.0, 6.0], ["u", "v"]), where: ["b", "a"]})
    result = new([10.0, 20.0, 30.0])
    xr.testing.assert_identical(result, along_obs([100.0, 60.0], ["u", "v"]))
    assert new(DRAWS).sizes == {"chain": 2, "draw": 2, "obs": 2}
    assert new.stats == f.stats
    for wrong, error, message in [
        ({"income": [1.0]}, dt.DimError, "inputs disagree about the length of dim 'obs'"),
        ({"where": ["b", "zz", "b"]}, dt.LabelError, "data 'where': dim 'k' has no label 'zz'"),
        ({"incom": [1.0]}, dt.InputError, r"holds no data 'incom' \(did you mean 'income'\?\)"),
        ({A: [1.0]}, dt.InputError, "input 'a' is not among the data of the function"),
        ({"income": np.zeros((2, 3))}, dt.InputError, r"data 'income' has shape \(2, 3\)"),
    ]:
        with pytest.raises(error, match=message):
            f.with_data(wrong)([1.0, 2.0, 3.0])


def test_a_function_does_not_change_with_the_array_it_was_given(on_data):
    _, _, f = on_data
    given = np.array([5.0, 6.0, 7.0])
    new = f.with_data(income=given)
    given[:] = 0.0
    assert new([10.0, 20.0, 30.0]).values.tolist() == [50.0, 180.0, 70.0]
    assert pickle.loads(pickle.dumps(new))([1.0, 1.0, 1.0]).values.tolist() == [5.0, 6.0, 7.0]


def test_data_tell_lengths_and_labels_to_inputs():
    held = dt.data(pd.Series([1.0, 2.0], index=pd.Index(["p", "q"], name="obs")), dims=OBS)
    f = function([X], X + held)
    assert f([10.0, 20.0]).obs.values.tolist() == ["p", "q"]
    with pytest.raises(dt.DimError, match="inputs disagree about the length of dim 'obs'"):
        f([1.0, 2.0, 3.0])
    with pytest.raises(dt.LabelError, match="inputs disagree about the labels of dim 'obs'"):
        f(along_obs([1, 2], ["q", "p"]))


# -- below the labels ------------------------------------------------------------------------------


def test_positional_functions_state_their_order():
    w = dt.tensor("w", dims=[OBS, K])
    held = dt.data([1.0, 2.0], dims=OBS, name="held")
    f = function([w, A], [(w * A).sum(K) + held, (w + A).rename(k="kk")])
    plain = f.positional
    assert plain.input_dims[1] == (K,)
    sizes = {OBS: 2, K: 3}
    rng = np.random.default_rng(0)
    values = [rng.normal(size=[sizes[dim] for dim in dims]) for dims in plain.input_dims]
    labeled = f((plain.input_dims[0], values[0]), values[1])
    for array, dims, expected in zip(plain(*values), plain.output_dims, labeled, strict=True):
        np.testing.assert_allclose(array, expected.transpose(*(dim.name for dim in dims)))
    longer = f.with_data(held=[1.0, 2.0, 3.0]).positional
    wide = rng.normal(size=[{OBS: 3, K: 3}[dim] for dim in plain.input_dims[0]])
    assert longer(wide, values[1])[0].shape == (3,)


def test_positional_functions_know_labels_that_come_with_data():
    held = dt.data(along_obs([1.0, 2.0, 4.0], ["p", "q", "r"]), dims=OBS, name="held")
    s = dt.scalar("s")
    f = function([s], held.sel(obs="q") * s)
    assert float(f.positional(np.asarray(10.0))[0]) == 20.0
    new = f.with_data(held=along_obs([1.0, 2.0], ["q", "p"]))
    assert float(new.positional(np.asarray(10.0))[0]) == 10.0
    with pytest.raises(dt.LabelError, match="dim 'obs' has no labels to look up 'q'"):
        function([X], X.sel(obs="q")).positional


# -- evaluation ------------------------------------------------------------------------------------


def test_evaluation_by_tensor_by_name_and_by_dim():
    values = {X: [1.0, 2.0], "y": [10.0, 20.0]}
    assert (X + Y).eval(values).values.tolist() == [11.0, 22.0]
    both = dt.evaluate({"sum": X + Y, "product": X * Y}, values)
    assert both["product"].values.tolist() == [10.0, 40.0]
    assert [r.values.tolist() for r in dt.evaluate([X, Y], values)] == [[1, 2], [10, 20]]
    assert (dt.zeros(OBS) + 1).eval({OBS: ["u", "v"]}).obs.values.tolist() == ["u", "v"]
    unnamed = dt.tensor()
    assert float((unnamed + 1).eval({unnamed: 2.0})) == 3.0
    with pytest.raises(dt.InputError, match="depends on inputs that are not given: input 'y'"):
        (X + Y).eval({X: [1.0, 2.0]})
    with pytest.raises(dt.InputError, match="the expression does not depend on 'z'"):
        X.eval({X: [1.0], "z": 3.0})
    with pytest.raises(dt.InputError, match="the expression does not depend on input 'a'"):
        X.eval({X: [1.0], A: 3.0})


def test_evaluated_expressions_are_not_kept_for_ever():
    import gc
    import weakref

    node = (X * 123.0 + 4.5).node
    gone = weakref.ref(node)
    dt.evaluate(node, {X: [1.0]})
    del node
    for n in range(80):
        (X + float(n)).eval({X: [1.0]})
    gc.collect()
    assert gone() is None


# -- processes and threads -------------------------------------------------------------------------


def test_compiled_functions_are_pickled(on_data):
    _, _, f = on_data
    a = [10.0, 20.0, 30.0]
    new = f.with_data(income=[5.0, 6.0, 7.0])
    for one in (f, new):
        again = pickle.loads(pickle.dumps(one))
        assert again(a).identical(one(a))
        assert repr(again) == repr(one)
    code = (
        "import pickle, sys\n"
        "f = pickle.load(sys.stdin.buffer)\n"
        "print(f(a=[10.0, 20.0, 30.0]).values.tolist(), f.backend)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(new), capture_output=True
    )
    assert done.stdout.decode().strip() == "[50.0, 180.0, 70.0] python", done.stderr.decode()


def test_threads_share_one_function():
    f = function([X, A], [(X * A.sum())[1:], X.sum()])

    def call(n: int) -> bool:
        x = along_obs(np.arange(n % 7), [f"{n % 5}-{i}" for i in range(n % 7)])
        tail, total = f(x, [1.0, 2.0, float(n)])
        return tail.identical((x * (3.0 + n))[1:]) and float(total) == float(x.sum())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(300)))


def test_the_repr_names_inputs_outputs_and_backend():
    f = function([X, OBS], {"a": X, "b": X.sum()})
    assert repr(f) == (
        "<CompiledFunction (input 'x', the length of dim 'obs') -> [{obs}, {}] on python>"
    )
