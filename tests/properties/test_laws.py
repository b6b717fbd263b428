"""The order of operands, dims and labels, and batching, change nothing of what is computed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st

import dimtensor as dt
from dimtensor.testing.comparing import assert_same, labels_of
from dimtensor.testing.strategies import Choose, DimSpec, dim_spec
from tests.effort import a_third
from tests.properties.checks import run
from tests.random_programs.programs import KINDS, ProgramStep, RandomProgram
from tests.random_programs.selections import Pointwise
from tests.random_programs.strategies import DEFAULT_KINDS, programs

# maximum and minimum of zeros of both signs depend on the order
COMMUTATIVE = ("add", "multiply", "equal", "logical_and")

# -- one program is one node -------------------------------------------------------------------


@a_third
@given(programs(), st.randoms(use_true_random=False))
def test_order_of_operands_and_of_dims(program: RandomProgram, random) -> None:
    """Permuted declarations and permuted operands of commutative operations give the same nodes."""
    inputs = []
    for i in program.inputs:
        dims = list(i.tensor.dims)
        random.shuffle(dims)
        if i.symbolic:
            inputs.append(dt.tensor(i.tensor.name, dims=dims, dtype=i.tensor.dtype))
        else:
            by_name = {dim.name: dim for dim in dims}
            moved = i.array.transpose(*by_name)
            inputs.append(dt.data(moved, dims=[by_name[name] for name in moved.dims]))
    values = program.tensors()
    assert all(one is other for one, other in zip(program.tensors(inputs), values, strict=True))
    for step in program.steps:
        operands = [values[at] for at in step.operands]
        if step.kind == "dot" or step.params.get("name") in COMMUTATIVE:
            apply = KINDS[step.kind].on_tensors
            turned = apply(program.env, *operands[::-1], **step.params)
            assert turned is apply(program.env, *operands, **step.params)


@a_third
@given(programs())
def test_pickled_programs_are_the_same(program: RandomProgram) -> None:
    values = program.tensors()
    again = pickle.loads(pickle.dumps(values))
    assert all(one is other for one, other in zip(again, values, strict=True))


# -- labels ------------------------------------------------------------------------------------


def _labeled(choose: Choose, name: str | None) -> DimSpec:
    if choose.flag(3):
        return dim_spec(choose, name, known=True)
    spec = dim_spec(choose, name, low=1)
    labels = [f"{name}{at}" for at in range(spec.length)]
    return DimSpec(dt.Dim(name, coords=labels), spec.length, np.array(labels))


def _is_by_label(step: ProgramStep) -> bool:
    """Whether the step speaks of labels, and of no order of them."""
    if step.kind == "best":
        return True
    selection = step.params.get("selection")
    if selection is not None:
        by_label = step.kind == "sel" or step.params.get("by") == "sel"
        return by_label and not any(isinstance(k, (slice, Pointwise)) for k in selection.values())
    return KINDS[step.kind].by_label


@a_third
@given(programs(make_dim=_labeled, anonymous=False), st.randoms(use_true_random=False))
def test_order_of_labels(program: RandomProgram, random) -> None:
    """Dims with their labels in another order give the same results by label."""
    program = program.only(_is_by_label)
    arrays = program.arrays()[len(program.inputs) :]
    # a product without labels has its elements in the order of its factors' positions
    without_labels = [
        step
        for step, array in zip(program.steps, arrays, strict=True)
        if step.kind == "ravel" and labels_of(array, step.params["name"]) is None
    ]
    program = program.only(lambda step: not any(step is other for other in without_labels))
    assume(program.steps)
    env: dict[str, DimSpec] = {}
    for name, spec in program.env.items():
        if spec.dim.coords is None:
            env[name] = spec
            continue
        order = list(range(spec.length))
        random.shuffle(order)
        labels = spec.labels[order]
        env[name] = DimSpec(dt.Dim(name, coords=labels), spec.length, labels)
    inputs = [
        dt.tensor(f"y{at}", dims=[env[name].dim for name in i.array.dims], dtype=i.tensor.dtype)
        for at, i in enumerate(program.inputs)
    ]
    moved = RandomProgram(env, program.inputs, program.steps)
    f = dt.function(inputs, moved.tensors(inputs), backend="python")
    found = f(*[i.given for i in program.inputs])
    for at, (one, expected) in enumerate(zip(found, program.arrays(), strict=True)):
        assert_same(_in_order_of(expected, one), expected, f"v{at}")


def _in_order_of(expected: xr.DataArray, found: xr.DataArray) -> xr.DataArray:
    for name in expected.dims:
        labels, own = labels_of(expected, name), labels_of(found, name)
        if (
            labels is not None
            and own is not None
            and sorted(map(str, own)) == sorted(map(str, labels))
        ):
            found = found.isel({name: [own.index(label) for label in labels]})
    return found


# -- batches -----------------------------------------------------------------------------------

BATCHABLE = tuple(kind for kind in DEFAULT_KINDS if kind != "mask")


def _variant(array: xr.DataArray, number: int) -> xr.DataArray:
    if array.dtype.kind == "b":
        return array ^ bool(number % 2)
    return array + number if array.dtype.kind == "i" else array + number / 4


@a_third
@given(programs(kinds=BATCHABLE, anonymous=False), st.integers(0, 3), st.data())
def test_batch_is_a_loop(program: RandomProgram, size: int, data) -> None:
    """A call with one more dim in some inputs is a loop of calls over it; so is vectorize."""
    assume(program.symbolic)
    batched = [data.draw(st.booleans()) or at == 0 for at in range(len(program.symbolic))]
    outputs = program.tensors()
    f = dt.function(program.symbolic, outputs, backend="python")
    calls = [
        [_variant(x, number) if many else x for x, many in zip(program.given, batched, strict=True)]
        for number in range(max(size, 1))
    ]
    together = [
        xr.concat([call[at] for call in calls], "batch").isel(batch=slice(0, size)) if many else x
        for at, (x, many) in enumerate(zip(program.given, batched, strict=True))
    ]
    loop = [f(*call) for call in calls]
    _check_loop(f(*together), loop, size)
    batch = dt.Dim("batch", length=size)
    replaced = {
        x: dt.tensor(f"{x.name}_many", dims=[*x.dims, batch], dtype=x.dtype)
        for x, many in zip(program.symbolic, batched, strict=True)
        if many
    }
    grown = dt.vectorize(outputs, replaced)
    g = dt.function([replaced.get(x, x) for x in program.symbolic], grown, backend="python")
    _check_loop(g(*together), loop, size)


def _check_loop(found: list, loop: list, size: int) -> None:
    for at, value in enumerate(found):
        for number in range(size if "batch" in value.dims else 1):
            one = value.isel(batch=number) if "batch" in value.dims else value
            assert_same(one, loop[number][at], f"v{at} at {number}")
        if "batch" in value.dims:
            assert value.sizes["batch"] == size


# -- lengths -----------------------------------------------------------------------------------


@a_third
@given(programs(anonymous=False), st.data())
def test_input_of_another_length_is_refused_by_name(program: RandomProgram, data) -> None:
    """One input with one dim longer or shorter: never a shape error from below, never a value."""
    symbolic = [i for i in program.inputs if i.symbolic]
    candidates = [
        (at, name)
        for at, i in enumerate(symbolic)
        for name in i.array.dims
        if program.env[name].dim.length is not None
        or sum(name in other.array.dims for other in program.inputs) > 1
    ]
    assume(candidates)
    at, name = data.draw(st.sampled_from(candidates))
    given_values = program.given
    wrong = given_values[at]
    if wrong.sizes[name] and data.draw(st.booleans()):
        wrong = wrong.isel({name: slice(0, wrong.sizes[name] - 1)})
    else:
        wrong = wrong.pad({name: (0, 1)}, constant_values=0)
        wrong = wrong.astype(given_values[at].dtype).drop_vars(name, errors="ignore")
    given_values[at] = wrong
    f = dt.function(program.symbolic, program.tensors(), backend="python")
    with pytest.raises((dt.DimError, dt.LabelError), match=f"'{name}'"):
        f(*given_values)


@a_third
@given(programs(anonymous=False))
def test_function_of_other_lengths_and_labels(program: RandomProgram) -> None:
    """What is compiled once runs with data of other lengths and labels where these are free."""
    free = [name for name, spec in program.env.items() if spec.dim.length is None]
    elementwise = {"unary", "binary", "scalar", "where", "clip", "reduce", "stack", "sort", "dot"}
    program = program.only(lambda step: step.kind in elementwise)
    assume(free and program.symbolic and all(i.symbolic for i in program.inputs))
    f = dt.function(program.symbolic, program.tensors(), backend="python")
    f(*program.given)
    longer = [
        i.array.pad({name: (0, 2) for name in free if name in i.array.dims}, constant_values=1)
        .astype(i.array.dtype)
        .drop_vars([name for name in free if name in i.array.coords])
        .assign_coords(
            {
                name: [f"n{at}" for at in range(program.env[name].length + 2)]
                for name in free
                if name in i.array.dims
            }
        )
        for i in program.inputs
    ]
    for at, (one, other) in enumerate(zip(f(*longer), program.arrays(longer), strict=True)):
        assert_same(one, other, f"v{at}")


def test_run_takes_every_value(rng: np.random.Generator) -> None:
    """The helper returns as many values as the program has, so that none goes unchecked."""
    from tests.random_programs.choosing import Seeded
    from tests.random_programs.strategies import random_program

    program = random_program(Seeded(int(rng.integers(1000))))
    assert len(run(program)) == len(program.inputs) + len(program.steps) == len(program.arrays())
