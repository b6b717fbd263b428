"""Identity by value: in one process, pickled into another, and independent of hash seeds."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import dimtensor as dt

COUNTRY = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
AGE = dt.Dim("age", length=5)
DATE = dt.Dim("date", coords=np.array(["2020-01-01", "2020-01-02"], "M8[D]"))
OBS = dt.Dim("obs")
ANONYMOUS = dt.Dim(length=2)

EVERY_KIND = {
    "labeled": COUNTRY,
    "known": AGE,
    "dates": DATE,
    "unknown": OBS,
    "anonymous": ANONYMOUS,
    "slice": dt.SelDim(COUNTRY, positions=slice(1, None)),
    "list": dt.SelDim(COUNTRY, ["USA", "Italy"]),
    "open slice": dt.SelDim(OBS, positions=slice(None, -1)),
    "late labels": dt.SelDim(OBS, ["a", "b"]),
    "late slice": dt.SelDim(OBS, slice("a", "b")),
    "of anonymous": dt.SelDim(ANONYMOUS, positions=[1]),
    "renamed": COUNTRY.rename(),
    "product": dt.ProductDim([COUNTRY, AGE]),
    "concat": dt.ConcatDim([AGE, dt.Dim("age", length=1)]),
    "padded": dt.PadDim(OBS, 1, 2),
    "sorted": dt.SortedDim(AGE),
    "nested": dt.SelDim(dt.ProductDim([COUNTRY, OBS.rename("o")]), positions=slice(None, None, 2)),
}


def test_named_dims_are_equal_by_value() -> None:
    assert dt.Dim("age", length=5) is AGE
    assert dt.Dim("country", coords=("Italy", "Kenya", "USA")) is COUNTRY
    assert dt.Dim("obs") is OBS
    assert len({AGE, dt.Dim("age"), dt.Dim("age", coords=range(5)), dt.Dim("Age", length=5)}) == 4
    assert hash(dt.Dim("age", length=np.int64(5))) == hash(AGE)


def test_anonymous_dims_are_equal_to_themselves_only() -> None:
    assert dt.Dim(length=2) != ANONYMOUS
    assert pickle.loads(pickle.dumps(ANONYMOUS)) == ANONYMOUS
    assert dt.Dim(coords=["a"]) != dt.Dim(coords=["a"])


def test_an_anonymous_dim_has_the_length_of_its_tensors() -> None:
    import pytensor.tensor as pt

    dim = dt.Dim()
    before = dt.ProductDim([AGE, dim])
    x = dt.from_shaped(pt.constant(np.ones((5, 3))), dims=[AGE, dim])
    assert (x * 2).sizes == {"age": 5, dim._short: 3}
    assert dt.data(np.zeros(4), dims=dim).sizes == {dim._short: 4}
    assert dim.length is None  # it is a key, and does not change
    assert dt.ProductDim([AGE, dim]) is before
    with pytest.raises(dt.CheckError, match="is not as long as an anonymous dim"):
        (x + dt.data(np.zeros(4), dims=dim)).eval()


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_copies_are_the_dim(kind: str) -> None:
    dim = EVERY_KIND[kind]
    assert pickle.loads(pickle.dumps(dim)) is dim
    assert copy.copy(dim) is dim
    assert copy.deepcopy([dim])[0] is dim


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_dims_do_not_change(kind: str) -> None:
    with pytest.raises(AttributeError, match="a Dim is immutable"):
        EVERY_KIND[kind].name = "other"


CHILD = """
import pickle, sys
import dimtensor as dt
dims, tensors = pickle.load(sys.stdin.buffer)
country = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
x = dt.tensor("x", dims=[country, dt.Dim("age", length=5)])
assert dims["labeled"] is country
assert dims["list"] is dt.SelDim(country, ["USA", "Italy"])
assert dims["product"] is dt.ProductDim([dt.Dim("age", length=5), country])
assert dims["renamed"] is country.rename()
assert dims["late slice"] is dt.SelDim(dt.Dim("obs"), slice("a", "b"))
assert dims["anonymous"] is dims["of anonymous"].parent
assert dims["anonymous"] is not dt.Dim(length=2)
assert tensors[0] is (x * 2).sel(country=["USA", "Italy"]).sum("age")
assert tensors[1].dims[0] is dims["anonymous"]
pickle.dump((dims, tensors), sys.stdout.buffer)
"""


@pytest.mark.parametrize("seed", ["1", "2"])
def test_dims_and_tensors_pickled_into_another_process(seed: str) -> None:
    x = dt.tensor("x", dims=[COUNTRY, AGE])
    tensors = [(x * 2).sel(country=["USA", "Italy"]).sum(AGE), dt.ones(ANONYMOUS)]
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=pickle.dumps((EVERY_KIND, tensors)),
        capture_output=True,
        env={"PYTHONHASHSEED": seed, "PATH": "", "PYTHONPATH": ":".join(sys.path)},
        check=False,
    )
    assert child.returncode == 0, child.stderr.decode()
    dims, returned = pickle.loads(child.stdout)
    assert all(dims[kind] is dim for kind, dim in EVERY_KIND.items())
    assert all(one is other for one, other in zip(returned, tensors, strict=True))


def test_canonical_order_is_by_name_and_anonymous_dims_come_last() -> None:
    b, a = dt.Dim("b"), dt.Dim("a")
    first, second = dt.Dim(), dt.Dim()
    x = dt.tensor("x", dims=[second, b, first, a])
    assert x.dims == (a, b, first, second)
    assert dt.tensor("x", dims=[a, first, b, second]) is x


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": 3}, "the name of a dim is a non-empty string"),
        ({"name": ""}, "the name of a dim is a non-empty string"),
        ({"name": "k", "length": -1}, "the length of dim 'k' is an integer of at least 0, not -1"),
        ({"name": "k", "length": 1.5}, "the length of dim 'k' is an integer of at least 0"),
        ({"name": "k", "length": True}, "the length of dim 'k' is an integer of at least 0"),
        ({"name": "k", "coords": ["a"], "length": 2}, "given length 2 and 1 labels"),
    ],
)
def test_dims_that_make_no_sense(arguments: dict, message: str) -> None:
    with pytest.raises(dt.DimError, match=message):
        dt.Dim(**arguments)


def test_what_a_dim_knows() -> None:
    assert (len(COUNTRY), COUNTRY["Kenya"], list(COUNTRY)) == (3, 1, ["Italy", "Kenya", "USA"])
    assert COUNTRY[["USA", "Italy"]] is EVERY_KIND["list"]
    assert COUNTRY["Kenya":] is dt.SelDim(COUNTRY, positions=[1, 2])
    assert bool(dt.Dim("empty", length=0))
    with pytest.raises(dt.DimError, match=r"the length of .* is not known before data arrives"):
        len(OBS)
    with pytest.raises(dt.LabelError, match="has no labels to look 'a' up in"):
        OBS["a"]
    with pytest.raises(dt.LabelError, match="has no labels"):
        list(AGE)
