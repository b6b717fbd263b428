"""What explain says, against counts by hand."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import dimtensor as dt
from dimtensor import dist
from dimtensor.explanation.steps import schedule
from tests.reference_models.generative import PROGRAMS
from tests.reference_models.reference import load

i, j, k, n, t = (dt.Dim(name) for name in "ijknt")


def steps_of(*tensors):
    nodes = [x.node for x in tensors]
    return schedule([x.node for x in dt.inputs_of(list(tensors))], nodes).steps


def total(what, *tensors):
    return sum((getattr(step, what) for step in steps_of(*tensors)), 0)


# -- operations ------------------------------------------------------------------------------------


def test_a_product_of_matrices():
    x, y = dt.tensor("x", dims=[i, k]), dt.tensor("y", dims=[k, j])
    (step,) = steps_of(dt.dot(x, y, dim=k))
    assert str(step.flops) == "2·i·j·k"
    assert str(step.read) == "8·i·k + 8·j·k"
    assert str(step.written) == "8·i·j"
    assert step.temporaries == 0


def test_elementwise_operations_are_one_pass():
    x, y = dt.tensor("x", dims=[i, j]), dt.tensor("y", dims=j)
    (step,) = steps_of(dt.exp(x * y) + y / x)
    # exp is 10, * and + are 1, / is 3
    assert str(step.flops) == "15·i·j"
    assert str(step.read) == "8·i·j + 8·j"
    assert str(step.written) == "8·i·j"


def test_floats_of_32_bits_are_half_as_many_bytes():
    x = dt.tensor("x", dims=i, dtype="float32")
    (step,) = steps_of(x * x)
    assert (str(step.read), str(step.written)) == ("4·i", "4·i")


def test_look_ups_and_updates():
    a, at = dt.tensor("a", dims=k), dt.tensor("at", dims=n, categories=k)
    x = dt.tensor("x", dims=n)
    (step,) = steps_of(a.sel(k=at) * x)
    assert str(step.flops) == "n"
    assert str(step.read) == "24·n"


def test_a_cholesky_factor_and_a_solution():
    a, b = dt.tensor("a", dims=[n, n.rename()]), dt.tensor("b", dims=n)
    dims = [n, n.rename()]
    factor = dt.linalg.cholesky(a, dims=dims)
    assert leading(total("flops", factor)) == "n³/3"
    assert leading(total("flops", dt.linalg.solve_triangular(a, b, dims=dims))) == "n²"
    assert leading(total("flops", dt.linalg.solve(a, b, dims=dims))) == "2·n³/3"
    # the factor; its copy is in place
    assert str(steps_of(factor)[0].arrays[0].size) == "8·n²"


def leading(polynomial):
    return str(polynomial).split(" + ")[0]


def test_a_loop_is_its_rounds_times_its_body():
    series, start = dt.tensor("series", dims=[t, k]), dt.tensor("start", dims=k)
    final, states = dt.scan(lambda s, e: (0.5 * s + dt.exp(e),) * 2, start, series, dim=t)
    assert leading(total("flops", final, states)) == "12·k·t"
    found = dt.explain([final, states]).value
    assert str(found.temporaries) == "0"
    assert str(found.results) == "8·k·t + 8·k"


def test_a_loop_inside_of_a_loop():
    x = dt.tensor("x", dims=k)

    def step(s, e):
        return s + dt.scan(lambda a, b: (a * b, None), s, x, dim=k)[0] + e, None

    final, _ = dt.scan(step, dt.scalar("start"), dt.tensor("e", dims=t), dim=t)
    # a product for each k, and two sums, in each round
    assert str(total("flops", final)) == "k·t + 2·t"


def test_rounds_of_a_loop_are_an_input_or_unknown():
    x, m = dt.tensor("x", dims=k), dt.scalar("m", dtype="int64")
    found = dt.explain(dt.fori_loop(0, m, lambda _, s: dt.sin(s), x), {"k": 7, "m": 100})
    assert str(found.value.total("flops")) == "10·k·m"
    assert found.flops == 7000
    ended = dt.explain(dt.while_loop(lambda s: s.sum() < 9, lambda s: s * 2, x), {"k": 7})
    assert ended.flops is None
    assert ended.lengths.missing(ended.value.total("flops")) == [dt.cost.Count("rounds")]
    assert (
        dt.explain(
            dt.while_loop(lambda s: s.sum() < 9, lambda s: s * 2, x), {"k": 7, "rounds": 3}
        ).flops
        >= 3 * 7 * 2
    )


def test_the_larger_branch_counts():
    which, x = dt.scalar("which", dtype="bool"), dt.tensor("x", dims=k)
    found = dt.if_else(which, lambda: dt.exp(dt.exp(x)), lambda: x + 1)
    assert leading(total("flops", found)) == "20·k"


def test_sums_of_a_hundred_random_expressions_are_no_less_than_their_elements():
    rng = np.random.default_rng(3)
    x, y = dt.tensor("x", dims=[i, j]), dt.tensor("y", dims=j)
    for _ in range(5):
        e, count = x, 0
        for kind in rng.integers(0, 3, size=4):
            e = [e * y, e + x, dt.tanh(e)][kind]
            count += [1, 1, 10][kind]
        found, rest = leading(total("flops", e.sum())).split("·", 1)
        assert rest == "i·j"
        # totals of blocks of 1,024 elements are added up, too
        assert count <= float(found) < count + 1.02


# -- masks and derived dims ------------------------------------------------------------------------


def test_what_a_mask_leaves_is_at_most_what_there_is():
    x = dt.tensor("x", dims=n)
    found = dt.explain(dt.exp(x[x > 0]), {"n": 100})
    assert "n[mask]" in str(found.value.results)
    assert found.number(found.value.results) == 100 * 8 + 100


def test_products_of_dims_are_products_of_lengths():
    x = dt.tensor("x", dims=[i, j])
    found = dt.explain(dt.exp(x.ravel([i, j])))
    assert str(found.value.results) == "8·i·j"


# -- lines and expressions -------------------------------------------------------------------------


def test_the_line_of_the_largest_array():
    x, y = dt.tensor("x", dims=i), dt.tensor("y", dims=j)
    table = dt.exp(x * y)
    line = inspect.currentframe().f_lineno - 1
    running = table.cumsum(i)
    found = dt.explain((running**2).sum())
    largest = found.largest
    assert str(largest.size) == "8·i·j"
    assert largest.line.file == __file__
    assert largest.line.number in (line, line + 2)
    assert largest.line.text in ("table = dt.exp(x * y)", "running = table.cumsum(i)")


def test_expressions_of_gradients_are_those_outside_of_them():
    x, y = dt.tensor("x", dims=i), dt.tensor("y", dims=[i, j])
    found = dt.explain((dt.dot(x, y, dim=i) ** 2).sum())
    assert "bound" not in repr(found)
    assert "dot(x, y" in repr(found)


# -- what can be explained -------------------------------------------------------------------------


def test_a_function_has_its_own_outputs():
    x = dt.tensor("x", dims=i)
    f = dt.function([x], {"a": x * 2, "b": x.sum()}, backend="python")
    found = dt.explain(f, {i: 10})
    assert found.gradient is None
    assert found.number(found.value.results) == 10 * 8 + 8
    assert found.backend == "python"


def test_a_model_has_a_gradient_and_the_lengths_of_its_data():
    house = dt.Dim("house")
    mu, sigma = dt.rv("mu", dist.Normal(0, 1)), dt.rv("sigma", dist.HalfNormal(1))
    y = dt.rv("y", dist.Normal(mu, sigma), dims=house)
    model = dt.Model(y).observe({y: np.arange(1000.0)})
    for x in (model, model.log_density()):
        found = dt.explain(x)
        assert found.gradient is not None
        # two parameters, the data and the density; with the gradient two numbers more
        assert found.peak == 2 * 8 + 1000 * 8 + 8
        assert found.gradient_peak == found.peak + 2 * 8


def test_equal_rows_of_data_are_counted_once():
    house = dt.Dim("house")
    mu = dt.rv("mu", dist.Normal(0, 1))
    y = dt.rv("y", dist.Normal(mu, 1.0), dims=house)
    model = dt.Model(y, backend="python").observe({y: np.arange(1000) % 7})
    # the parameter, seven values with their counts and the number of all, the density
    assert dt.explain(model).peak == 8 + 2 * 7 * 8 + 8 + 8
    # of other lengths all rows are counted
    assert dt.explain(model, {house: 10**6}).peak == 8 + 10**6 * 8 + 8


def test_what_follows_from_data_alone_is_counted_once():
    house = dt.Dim("house")
    rate = dt.rv("rate", dist.Gamma(1.0, 1.0))
    y = dt.rv("y", dist.Poisson(rate), dims=house)
    found = dt.explain(dt.Model(y).observe({y: np.arange(5000)}))
    assert found.value.once
    # gammaln of each count, which is a call: not at every call
    once = sum(step.flops.at(found.lengths) for step in found.value.once)
    assert once >= 5000 * 10


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gradient_costs_a_few_times_its_function(name):
    """At most five times, by Baur and Strassen (1983), who count no sums of what is read twice."""
    found = dt.explain(PROGRAMS[name](load(name)["data"], "python").fit)
    value, gradient = (found.number(each.total("flops")) for each in found.schedules.values())
    assert value < gradient < 6 * value


@pytest.mark.compiled
def test_on_jax_xla_says_what_it_counts():
    pytest.importorskip("jax")
    x, y = dt.tensor("x", dims=[i, k]), dt.tensor("y", dims=[k, j])
    found = dt.explain(dt.dot(x, y, dim=k), {"i": 30, "j": 40, "k": 50}, backend="jax")
    assert found.xla["value"].flops == 2 * 30 * 40 * 50 == found.flops
    assert found.xla["value"].arguments == 8 * (30 * 50 + 50 * 40)
    assert found.xla["value"].results == 8 * 30 * 40
    assert "XLA flops    120 k" in repr(found)
    # lengths that are missing are not asked of XLA
    assert dt.explain(dt.dot(x, y, dim=k), backend="jax").xla == {}


def test_something_else_is_refused():
    with pytest.raises(dt.ArgumentError, match="explain takes tensors"):
        dt.explain(3.0)


# -- lengths and limits ----------------------------------------------------------------------------


def test_lengths_by_dim_and_by_name_are_the_same():
    x = dt.tensor("x", dims=[i, j])
    assert dt.explain(dt.exp(x), {i: 3, j: 4}).peak == dt.explain(dt.exp(x), {"i": 3, "j": 4}).peak


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ({"ii": 3}, "there is no dim 'ii' to give a length to"),
        ({"i": -1}, "is an integer of at least 0"),
        ({"i": 2.0}, "is an integer of at least 0"),
        ({"i": True}, "is an integer of at least 0"),
        ({k: 2}, "there is no dim 'k'"),
    ],
)
def test_wrong_lengths_are_refused(lengths, message):
    error = dt.UnknownDimError if "there is no dim" in message else dt.OptionError
    with pytest.raises(error, match=message):
        dt.explain(dt.exp(dt.tensor("x", dims=i)), lengths)


def test_a_limit_is_that_of_everything_together():
    x = dt.tensor("x", dims=i)
    needed = 1000 * 16
    assert dt.explain(dt.exp(x), {"i": 1000}, limit=needed).peak == needed
    with pytest.raises(dt.MemoryLimitError, match="needs 16 kB of memory"):
        dt.explain(dt.exp(x), {"i": 1000}, limit=needed - 1)
    with pytest.raises(MemoryError, match="needs 16 PB of memory"):
        dt.explain(dt.exp(x), {"i": 10**15}, limit="2 GB")


def test_a_limit_asks_for_the_lengths_that_are_missing():
    x = dt.tensor("x", dims=[i, j])
    with pytest.raises(dt.GraphError, match="without a length: j"):
        dt.explain(dt.exp(x), {"i": 1000}, limit="2 GB")


# -- text, HTML, picture ---------------------------------------------------------------------------


def test_text_has_polynomials_with_numbers_beside():
    x, y = dt.tensor("x", dims=[i, k]), dt.tensor("y", dims=[k, j])
    text = repr(dt.explain(dt.dot(x, y, dim=k), {"i": 100, "j": 200, "k": 50}))
    assert "lengths: i=100, j=200, k=50" in text
    assert "2·i·j·k = 2 M" in text
    assert "peak         8·i·j + 8·i·k + 8·j·k = 280 kB" in text
    text = repr(dt.explain(dt.dot(x, y, dim=k)))
    assert "lengths: i=?, j=?, k=?" in text
    assert "peak         8·i·j + 8·i·k + 8·j·k\n" in text


def test_html_has_a_row_for_each_step():
    x = dt.tensor("x", dims=i)
    found = dt.explain((dt.exp(x) ** 2).sum() * dt.scalar("<b>"), {"i": 10})
    page = found._repr_html_()
    assert page.count("<tr>") >= len(found.value.steps) + len(found.gradient.steps)
    assert "&lt;b&gt;" in page
    assert "<b>" not in page


def test_a_picture_is_saved(tmp_path):
    pytest.importorskip("matplotlib")
    x = dt.tensor("x", dims=i)
    found = dt.explain((dt.exp(x) ** 2).sum(), {"i": 10})
    picture = found.plot(tmp_path / "steps.svg")
    assert (tmp_path / "steps.svg").read_bytes().startswith(b"<?xml")
    assert "<svg" in picture._repr_svg_()
    picture.save(tmp_path / "steps.png")
    with pytest.raises(dt.OptionError, match="is saved as"):
        picture.save(tmp_path / "steps.gif")
    with pytest.raises(dt.GraphError, match="without a length: i"):
        dt.explain((dt.exp(x) ** 2).sum()).plot()


def test_a_limit_names_lengths_only_where_they_were_open():
    fixed = dt.tensor("fixed", dims=dt.Dim("n", length=1000))
    with pytest.raises(dt.MemoryLimitError, match=r"largest array: 8 kB = 8000 bytes") as caught:
        dt.explain(dt.exp(fixed).cumsum("n"), limit="1 kB")
    assert "lengths" not in str(caught.value)


def test_threads_and_their_slices_are_reported():
    obs, b = dt.Dim("obs"), dt.scalar("b")
    x = dt.tensor("x", dims=obs)
    f = dt.function([x, b], ((x - b) ** 2).sum(), "python", threads=3)
    for lengths, text in [
        ({obs: 10**7}, "3, for 64 slices of obs"),
        ({obs: 100}, "3, not used: there is too little work for slices"),
        ({}, "3, and the number of slices depends on the lengths"),
    ]:
        found = dt.explain(f, lengths)
        assert found.threads == text
        assert f"  threads      {text}" in str(found).splitlines()
    y = dt.data(np.ones(50), dims=obs)
    density = dt.LogDensity(-((y - b) ** 2).sum(), {b: dt.real}, "python", threads=2)
    assert dt.explain(density).threads == "2, not used: there is too little work for slices"
    assert dt.explain((x * b).sum()).threads == ""


def test_a_chunk_of_streams_is_explained():
    obs, b = dt.Dim("obs"), dt.scalar("b")
    y = dt.stream(np.ones(10**6), obs, chunks=400_000, name="y")
    terms = {"y": -dt.exp(dt.sin((y - b) ** 2))}
    density = dt.LogDensity(terms, {b: dt.real}, "python", threads=2)
    number = density.functions.evaluator.code.slices
    assert number > 1
    found = dt.explain(density)
    assert found.what == "a log density, one chunk of its streams"
    assert found.threads == f"2, for {number} slices of obs in each chunk"
    assert found.lengths.get(obs) == 400_000
    assert found.peak < 2 * 8 * 400_000
    z = dt.stream(lambda: [np.ones(50)], obs, chunks=60, name="z")
    density = dt.LogDensity({"z": -((z - b) ** 2)}, {b: dt.real}, "python", threads=2)
    text = "2, not used: there is too little work for slices of a chunk"
    assert dt.explain(density).threads == text
    assert "  obs          added" in str(dt.explain(density)).splitlines()
