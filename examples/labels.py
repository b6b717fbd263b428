"""Eight ways to put a value under the wrong name, and what becomes of them here.

Positional arrays let all of these through, and the mistake is found, if at all, after sampling.
With labeled dims each one either gives the right labels or is an error on the line that is wrong.

Run it with ``python examples/labels.py``; it compiles nothing and takes a second.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

import dimtensor as dt

country = dt.Dim("country", coords=["Italy", "Kenya", "USA"])
effect = dt.data([1.0, 2.0, 4.0], dims=country, name="effect")


def labeled(values: xr.DataArray) -> str:
    """The values of one dim with their labels, on one line."""
    (name,) = values.dims
    pairs = zip(values[name].values, values.values, strict=True)
    return ", ".join(f"{label} {float(value):g}" for label, value in pairs)


def show(title: str, code: str, compute: Callable[[], object]) -> None:
    """Print a line of code and its labeled value, or the error that it is."""
    print(f"\n{title}\n    {code}")
    try:
        result = compute()
    except dt.DimtensorError as error:
        message = str(error).replace("\n", "\n    ")
        print(f"    {type(error).__name__}: {message}")
    else:
        print(f"    {result}")


def a_slice_keeps_the_labels_of_what_it_keeps() -> str:
    return labeled(effect[1:].eval())


def a_reversal_reverses_the_labels() -> str:
    reverse = effect[::-1].eval()
    assert reverse.sel(country="USA") == 4.0
    return labeled(reverse)


def neighbors_are_different_countries() -> object:
    return effect[1:] + effect[:-1]


def observations_are_put_in_order_by_label() -> str:
    observed = xr.DataArray([40.0, 10.0, 20.0], coords={"country": ["USA", "Italy", "Kenya"]})
    return labeled((dt.data(observed, dims=country) / effect).eval())


def unknown_labels_are_refused() -> object:
    observed = xr.DataArray([40.0, 10.0, 20.0], coords={"country": ["USA", "Italy", "Kenia"]})
    return dt.data(observed, dims=country)


def draws_of_a_part_have_the_labels_of_the_part() -> str:
    """A posterior goes through a function of single values; the dims it adds stay."""
    x = dt.tensor("x", dims=country)
    last_two = dt.function([x], x[1:] - x.mean(), backend="python")
    draws = xr.DataArray(
        np.arange(24.0).reshape(2, 4, 3) ** 2,
        dims=["chain", "draw", "country"],
        coords={"country": list(country)},
    )
    result = last_two(draws)
    expected = draws.sel(country=["Kenya", "USA"]) - draws.mean("country")
    xr.testing.assert_allclose(result.transpose(*expected.dims), expected)
    return labeled(result.mean(["chain", "draw"]))


def a_misspelled_name_is_looked_up_and_not_found() -> object:
    return effect.sum("contry")


def a_misspelled_dim_is_another_dim() -> object:
    """The product has both dims, so the next step that names the right one fails."""
    contry = dt.Dim("contry", coords=["Italy", "Kenya", "USA"])
    weight = dt.data([0.2, 0.3, 0.5], dims=contry)
    return (effect * weight).sum(country).sel(country="USA")


CASES = [
    ("A slice keeps the labels of what it keeps",
     "effect[1:]", a_slice_keeps_the_labels_of_what_it_keeps),
    ("A reversal reverses the labels", "effect[::-1]", a_reversal_reverses_the_labels),
    ("Neighbors are different countries, and do not add up",
     "effect[1:] + effect[:-1]", neighbors_are_different_countries),
    ("Observations in another order are put in order by label",
     "dt.data(observed, dims=country) / effect", observations_are_put_in_order_by_label),
    ("Observations with an unknown label are refused",
     "dt.data(observed, dims=country)", unknown_labels_are_refused),
    ("Draws of a part of the countries have the labels of the part",
     "function([x], x[1:] - x.mean())(draws)", draws_of_a_part_have_the_labels_of_the_part),
    ("A misspelled name is looked up among the dims there are",
     "effect.sum('contry')", a_misspelled_name_is_looked_up_and_not_found),
    ("A dim made under a misspelled name is another dim, and nothing takes it for the right one",
     "(effect * weight).sum(country).sel(country='USA')", a_misspelled_dim_is_another_dim),
]  # fmt: skip


def main() -> None:
    print(f"effect: {labeled(effect.eval())}")
    for title, code, compute in CASES:
        show(title, code, compute)


if __name__ == "__main__":
    main()
