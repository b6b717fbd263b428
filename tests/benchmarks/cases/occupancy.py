"""Occupancy of sites that are visited five times, written with a variable that says who is there.

`hand` is the density without it.
"""

import numpy as np

SIZES = (200, 20_000)
CONTENDERS = ("hand", "marginal", "numpyro")
VISITS = 5


def problem(n):
    rng = np.random.default_rng(3)
    forest = rng.normal(size=n)
    there = rng.random(n) < 1 / (1 + np.exp(-0.3 - forest))
    return {
        "forest": forest,
        "seen": (rng.random((n, VISITS)) < 0.4 * there[:, None]).astype(int),
        "effect": np.array([0.2, 0.9]),
        "logit": np.asarray(-0.4),
    }


def _dimtensor(p, by_hand, backend="numba"):
    import dimtensor as dt
    from dimtensor import dist

    site, visit = dt.Dim("site"), dt.Dim("visit", length=VISITS)
    which = dt.Dim("which", coords=["one", "forest"])
    forest = dt.data(p["forest"], dims=site)
    seen = dt.data(p["seen"], dims=[site, visit])
    effect, logit = dt.tensor("effect", dims=which), dt.scalar("logit")
    eta = effect.sel(which="one") + effect.sel(which="forest") * forest
    if by_hand:
        on = -dt.softplus(-eta) + dist.Bernoulli(dt.sigmoid(logit)).logp(seen).sum(visit)
        off = dt.where(dt.any(seen > 0, visit), -np.inf, -dt.softplus(eta))
        total = dt.logaddexp(on, off).sum()
    else:
        z = dt.tensor("z", dims=site, dtype="int64")
        terms = {
            "z": dist.Bernoulli(logit_p=eta).logp(z),
            "y": dist.Bernoulli(z * dt.sigmoid(logit)).logp(seen),
        }
        total = dt.marginalize(terms, z, states={z: range(2)})
    inputs = [effect, logit]
    f = dt.function(inputs, [total, *dt.grad(total, inputs)], backend=backend)
    return f.positional, (p["effect"], p["logit"])


def hand(p):
    return _dimtensor(p, True)


def marginal(p):
    return _dimtensor(p, False)


def numpyro(p):
    """NumPyro's enumeration."""
    import jax
    import numpyro.distributions as dist
    from numpyro import plate, sample

    from cases.peers import enumerated

    seen = p["seen"].T

    def model(effect, logit):
        eta = effect[0] + effect[1] * p["forest"]
        with plate("site", len(eta), dim=-1):
            z = sample("z", dist.Bernoulli(logits=eta))
            with plate("visit", VISITS, dim=-2):
                sample("y", dist.Bernoulli(z * jax.nn.sigmoid(logit)), obs=seen)

    return enumerated(model, (p["effect"], p["logit"]))
