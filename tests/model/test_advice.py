"""What a warning of bad draws says that helps, of posteriors that are written down."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor import dist
from dimtensor.model.inference.advice import advice
from dimtensor.model.inference.diagnostics import Verdict

SCHOOL = dt.Dim("school", coords=list("ABCDE"))
OBS = dt.Dim("obs", length=30)
BAD = Verdict(2, 300, 1.0, 5, (1.2, "theta[B]"), (30.0, "theta[C]"))


def hierarchy():
    tau = dt.rv("tau", dist.HalfNormal(2.0))
    mu = dt.rv("mu", dist.Normal(0.0, 2.0))
    theta = dt.rv("theta", dist.Normal(mu, tau), dims=SCHOOL)
    noise = dt.rv("noise", dist.HalfNormal(1.0))
    y = dt.rv("y", dist.Normal(theta, noise))
    return dt.Model(y, backend="python").observe(y=[1.0, 2.0, 0.0, 1.5, 0.5])


def draws(rng, share):
    """Standardized effects whose variance is a share of that of their prior."""
    scalar = ("chain", "draw")
    tau, mu = rng.gamma(4.0, 0.5, (2, 300)), rng.normal(1.0, 0.4, (2, 300))
    z = rng.normal(size=5) + np.sqrt(share) * rng.normal(size=(2, 300, 5))
    theta = mu[..., None] + tau[..., None] * z
    noise = rng.gamma(4.0, 0.2, (2, 300))
    return xr.Dataset(
        {"tau": (scalar, tau), "mu": (scalar, mu), "noise": (scalar, noise),
         "theta": ((*scalar, "school"), theta)},
        coords={"school": list("ABCDE")},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("share", "noncentered", "expected"),
    [
        (0.95, False, "noncentered"),
        (0.02, True, "centered"),
        (0.95, True, None),
        (0.02, False, None),
    ],
)
def test_a_parametrization_is_advised_by_what_the_data_say(rng, share, noncentered, expected):
    fit = hierarchy()
    fit = fit.noncentered("theta") if noncentered else fit
    found = [one for one in advice(fit.spec, draws(rng, share), BAD) if "centered" in one]
    assert len(found) == (expected is not None)
    if expected is not None:
        assert found[0].startswith(f"fit.{expected}('theta'), for the data say")
        percent = int(found[0].partition("%")[0].rpartition(" ")[2])
        assert abs(percent - 100 * share) < 15


def test_what_can_be_integrated_out_is_named(rng):
    found = advice(hierarchy().spec, draws(rng, 0.5), BAD)
    assert "fit.marginalize('theta'), which is integrated out of the density exactly" in found
    # the scale of a normal variable cannot be
    other = BAD._replace(r_hat=(1.2, "tau"), ess=(30.0, "tau"))
    assert not any("marginalize" in one for one in advice(hierarchy().spec, draws(rng, 0.5), other))


def test_terms_that_only_their_sum_is_known_of_are_named(rng):
    level = dt.rv("level", dist.Normal(0.0, 10.0))
    effect = dt.rv("effect", dist.Normal(0.0, 10.0), dims=SCHOOL)
    other = dt.rv("other", dist.Normal(0.0, 1.0))
    y = dt.rv("y", dist.Normal(level + effect + other, 1.0))
    fit = dt.Model(y, backend="python").observe(y=np.zeros(5))
    known = rng.normal(size=(2, 300))
    apart = rng.normal(size=(2, 300, 5)) * 0.1
    posterior = xr.Dataset(
        {
            "level": (("chain", "draw"), 5.0 * known),
            "effect": (("chain", "draw", "school"), -5.0 * known[..., None] + apart),
            "other": (("chain", "draw"), rng.normal(size=(2, 300))),
        }
    )
    verdict = BAD._replace(r_hat=(1.2, "level"), ess=(30.0, "effect[A]"))
    (found,) = (one for one in advice(fit.spec, posterior, verdict) if "leave" in one)
    assert found.startswith("leave 'level' or 'effect' out, or let 'effect' add up to 0")
    assert "ZeroSumNormal" in found
    assert "(correlation -1.00)" in found


def test_chains_at_different_places_are_started_elsewhere(rng):
    """What is different between chains is no correlation of parameters."""
    mu, tau = dt.rv("mu", dist.Normal(0.0, 1.0)), dt.rv("tau", dist.HalfNormal(1.0))
    fit = dt.Model(dt.rv("y", dist.Normal(mu, tau)), backend="python").observe(y=1.0)
    places = np.array([[0.0], [9.0]])
    posterior = xr.Dataset(
        {x: (("chain", "draw"), places + rng.normal(size=(2, 300))) for x in ("mu", "tau")}
    )
    found = advice(fit.spec, posterior, BAD._replace(r_hat=(3.0, "mu")))
    assert [one for one in found if "fit.sample(initial={'mu': ..., 'tau': ...})" in one]
    assert not [one for one in found if "hardly tell them apart" in one]
    assert not [one for one in advice(fit.spec, posterior, BAD) if "initial=" in one]


def test_advice_takes_the_place_of_general_words():
    assert "hint: raise target_accept (0.8 by default), or write the model" in str(BAD.complaint)
    text = str(BAD.complaint_with(["fit.noncentered('theta')", "fit.marginalize('mu')"]))
    assert text.endswith("hint: fit.noncentered('theta'); or fit.marginalize('mu')")


@pytest.mark.slow
@pytest.mark.compiled
def test_sampling_warns_with_advice_that_helps():
    pytest.importorskip("nutpie")
    tau = dt.rv("tau", dist.HalfCauchy(5.0))
    theta = dt.rv("theta", dist.Normal(dt.rv("mu", dist.Normal(0.0, 5.0)), tau), dims=SCHOOL)
    scale = dt.data([15.0, 10.0, 16.0, 11.0, 9.0], dims=SCHOOL)
    fit = dt.Model(dt.rv("y", dist.Normal(theta, scale))).observe(y=[28.0, 8, -3, 7, -1])
    quiet = {"tune": 400, "chains": 2, "seed": 2, "progress_bar": False, "report": False}
    with pytest.warns(dt.SamplingWarning, match=r"hint: fit\.noncentered\('theta'\), for the data"):
        fit.sample(400, **quiet)
    fit.noncentered("theta").sample(1500, target_accept=0.95, **quiet)
