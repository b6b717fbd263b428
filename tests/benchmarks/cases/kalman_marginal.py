"""A level that walks, and is seen with noise: written with the level as a variable.

`hand` is the Kalman filter of one number as one writes it with dimtensor.
"""

import numpy as np

SIZES = (200, 10_000)
CONTENDERS = ("hand", "marginal")
LOG_2PI = np.log(2 * np.pi)


def problem(n):
    rng = np.random.default_rng(4)
    level = np.cumsum(0.3 * rng.normal(size=n))
    return {
        "y": level + 0.8 * rng.normal(size=n),
        "drift": np.asarray(0.35),
        "noise": np.asarray(0.7),
    }


def _dimtensor(p, by_hand, backend="numba"):
    import dimtensor as dt
    from dimtensor import dist

    time = dt.Dim("time")
    y = dt.data(p["y"], dims=time)
    inputs = drift, noise = dt.scalar("drift"), dt.scalar("noise")
    if by_hand:

        def step(state, y):
            mean, variance = state
            error, spread = y - mean, variance + noise**2
            gain = variance / spread
            term = -0.5 * (dt.log(spread) + error**2 / spread + LOG_2PI)
            return (mean + gain * error, variance * (1.0 - gain) + drift**2), term

        _, terms = dt.scan(step, (0.0, 4.0), y, over=time)
        total = terms.sum()
    else:
        level = dt.tensor("level", dims=time)
        walk = dist.GaussianRandomWalk(0.0, drift, over=time, start=dist.Normal(0.0, 2.0))
        total = dt.marginalize(
            {"level": walk.logp(level), "y": dist.Normal(level, noise).logp(y)}, level
        )
    f = dt.function(list(inputs), [total, *dt.grad(total, list(inputs))], backend=backend)
    return f.positional, (p["drift"], p["noise"])


def hand(p):
    return _dimtensor(p, True)


def marginal(p):
    return _dimtensor(p, False)
