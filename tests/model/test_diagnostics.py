"""R-hat and effective sample sizes are ArviZ's, and what dt.sample says of a run."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr

import dimtensor as dt
from dimtensor.model.inference import diagnostics

SCHOOL = dt.Dim("school", coords=["A", "B", "C"])
QUIET = {"progress_bar": False, "seed": 3}


def autoregressive(rng, n_chains=4, n_draws=400):
    """Chains whose draws depend on each other: a little, not at all, much, and chains apart."""
    share = np.array([0.5, 0.0, -0.6, 0.97, 0.2, 0.3])
    x = rng.normal(size=(n_chains, n_draws, len(share)))
    for at in range(1, n_draws):
        x[:, at] += share * x[:, at - 1]
    x[1, :, 4] += 2.0
    x[..., 5] = np.round(x[..., 5])
    return x


def test_statistics_are_those_of_arviz(rng):
    arviz = pytest.importorskip("arviz")
    x = autoregressive(rng)
    draws = xr.Dataset({"x": (("chain", "draw", "k"), x)})
    np.testing.assert_allclose(diagnostics.r_hat(x), arviz.rhat(draws)["x"], rtol=1e-10)
    bulk, tail = arviz.ess(draws), arviz.ess(draws, method="tail", prob=(0.05, 0.95))
    worst = np.minimum(bulk["x"], tail["x"])
    np.testing.assert_allclose(diagnostics.effective_size(x), worst, rtol=1e-10)


def test_halves_of_one_chain_are_compared(rng):
    arviz = pytest.importorskip("arviz")
    x = rng.normal(size=(1, 400, 2))
    x[0, 200:, 0] += 1.0
    halves = xr.Dataset({"x": (("chain", "draw", "k"), x.reshape(2, 200, 2))})
    np.testing.assert_allclose(diagnostics.r_hat(x), arviz.rhat(halves)["x"], rtol=1e-10)
    assert diagnostics.r_hat(x)[0] > 1.1 > diagnostics.r_hat(x)[1]


def test_the_worst_of_many_elements_are_found(rng):
    x = rng.normal(size=(4, 200, 600))
    for at in range(1, 200):
        x[:, at, 123] += 0.95 * x[:, at - 1, 123]
    x[2, :, 345] += 1.5
    x[3, :, 77] *= 4.0  # the folded draws show it
    draws = xr.Dataset({"x": (("chain", "draw", "k"), x), "y": (("chain", "draw"), x[..., 0])})
    diverging = xr.DataArray(np.zeros((4, 200), dtype=bool), dims=("chain", "draw"))
    verdict = diagnostics.judge(draws, diverging, 1.0)
    exact_r_hat, sizes = diagnostics.r_hat(x), diagnostics.effective_size(x)
    assert verdict.r_hat == (exact_r_hat.max(), f"x[{exact_r_hat.argmax()}]")
    assert verdict.ess == (sizes.min(), f"x[{sizes.argmin()}]")
    assert {exact_r_hat.argmax(), sizes.argmin()} <= {77, 123, 345}


def test_the_worst_elements_are_named(rng, monkeypatch):
    monkeypatch.setattr(diagnostics, "_AT_ONCE", 2)
    x = autoregressive(rng)
    labels = [("a", 1), ("a", 2), ("b", 1)]
    draws = xr.Dataset(
        {
            "alone": (("chain", "draw"), x[..., 0]),
            "fixed": (("chain", "draw", "k"), np.ones((4, 400, 3))),
            "pair": (("chain", "draw", "k", "j"), x[..., [1, 1, 1, 4, 1, 1]].reshape(4, 400, 3, 2)),
            "slow": (("chain", "draw", "j"), x[..., 2:4]),
        },
        coords={"k": ["p", "q", "r"], "unused": labels[0][0]},
    )
    diverging = xr.DataArray(np.zeros((4, 400), dtype=bool), dims=("chain", "draw"))
    verdict = diagnostics.judge(draws, diverging, 1.25)
    assert verdict.r_hat[1] == "pair[q,1]"
    assert verdict.ess[1] == "pair[q,1]"
    assert (verdict.chains, verdict.draws, verdict.divergences) == (4, 400, 0)
    slow = diagnostics.judge(draws[["alone", "slow"]], diverging, 1.25)
    assert slow.ess[1] == "slow[1]"
    assert re.fullmatch(
        r"sampled: 4 chains × 400 draws in 1\.2 s, no divergences, "
        r"worst r_hat 1\.\d{3} \(slow\[1\]\), worst ESS \d+ \(slow\[1\]\)",
        str(slow),
    )
    fine = diagnostics.judge(draws[["fixed"]], diverging, 1.25)
    assert (fine.r_hat, fine.ess, fine.complaint) == (None, None, None)


def test_what_is_complained_of():
    verdict = diagnostics.Verdict(4, 1000, 2.0, 0, (1.004, "mu"), (812.0, "tau"))
    assert verdict.complaint is None
    assert str(verdict).endswith("no divergences, worst r_hat 1.004 (mu), worst ESS 812 (tau)")
    text = verdict._replace(divergences=107).complaint
    assert "divergences: 107 of 4000 draws\nhint: raise target_accept" in text
    text = verdict._replace(r_hat=(1.04, "tau"), ess=(35.0, "mu")).complaint
    assert "r_hat: 1.040 of tau, above 1.01" in text
    assert "effective draws: 35 of mu, below 400" in text
    assert "divergences" not in text
    assert verdict._replace(r_hat=(np.inf, "mu")).complaint is not None
    short = verdict._replace(draws=50, r_hat=(1.2, "tau"), ess=(35.0, "mu"))
    assert short.complaint is None
    assert "1 divergence," in str(short._replace(divergences=1))


@pytest.mark.compiled
def test_sample_closes_with_a_line_and_warns(capsys):
    pytest.importorskip("nutpie")
    theta, scale = dt.tensor("theta", dims=SCHOOL), dt.scalar("scale")
    # the funnel of Neal 2003: not to be drawn from without divergences
    funnel = {
        "scale": -0.5 * (scale / 3) ** 2,
        "theta": -0.5 * (theta / dt.exp(scale / 2)) ** 2 - scale / 2,
    }
    model = dt.LogDensity(funnel, {scale: dt.real, theta: dt.real})
    with pytest.warns(dt.SamplingWarning, match=r"divergences: \d+ of 1000 draws") as caught:
        tree = dt.sample(model, draws=500, tune=300, chains=2, **QUIET)
    assert caught[0].filename == __file__
    count = int(tree["sample_stats"]["diverging"].sum())
    assert count > 0
    line = capsys.readouterr().out
    assert re.fullmatch(
        rf"sampled: 2 chains × 500 draws in [\d.]+ s, {count} divergences?, "
        r"worst r_hat [\d.]+ \((scale|theta\[[ABC]\])\), worst ESS \d+ \(.*\)\n",
        line,
    )
    assert tree["posterior"].attrs["sampling_time"] > 0


def test_a_run_without_a_report_prints_nothing(capsys):
    pytest.importorskip("nutpie")
    x = dt.scalar("x")
    model = dt.LogDensity(-0.5 * x**2, {x: dt.real}, "python")
    dt.sample(model, draws=4, tune=20, chains=1, report=False, **QUIET)
    assert capsys.readouterr().out == ""
    dt.sample(model, draws=4, tune=20, chains=1, **QUIET)
    assert re.fullmatch(
        r"sampled: 1 chain × 4 draws in [\d.]+ s, no divergences\n", capsys.readouterr().out
    )
