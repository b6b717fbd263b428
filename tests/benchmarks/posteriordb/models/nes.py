"""Identification with a party by ideology, race, age, education, sex and income."""

import dimtensor as dt
from dimtensor import dist
from tests.benchmarks.posteriordb.models._regression import columns, linear

POSTERIORS = (
    "nes1972-nes",
    "nes1976-nes",
    "nes1980-nes",
    "nes1984-nes",
    "nes1988-nes",
    "nes1992-nes",
    "nes1996-nes",
    "nes2000-nes",
)
GROUPS = {"age 30-44": 2, "age 45-64": 3, "age 65-": 4}


def model(data, backend="numba"):
    person = dt.Dim("person")
    names = ("real_ideo", "race_adj", "educ1", "gender", "income", "age_discrete")
    ideology, race, education, gender, income, age = columns(data, names, person)
    aged = {group: (age == number).astype("float64") for group, number in GROUPS.items()}
    sigma = dt.rv("sigma", dist.HalfFlat())
    mean = linear(
        {"intercept": 1.0, "ideology": ideology, "race": race}
        | aged
        | {"education": education, "gender": gender, "income": income}
    )
    party = dt.rv("party", dist.Normal(mean, sigma))
    return dt.Model(party, backend=backend).observe({party: data["partyid7"]})
