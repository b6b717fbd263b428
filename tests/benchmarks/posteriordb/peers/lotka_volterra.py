"""Hares and lynxes around a path of Lotka and Volterra: NumPyro alone, with JAX's own solver.

PyMC's solver calls SciPy from Python at every step; a race against that would say nothing.
"""


def numpyro(data, rtol=1e-5, atol=1e-3):
    import jax.numpy as jnp
    from jax.experimental.ode import odeint
    from numpyro import distributions as dist
    from numpyro import sample

    times = jnp.array([0.0, *data["ts"]])
    skins = jnp.array([data["y_init"], *data["y"]])
    center, width = jnp.array([1, 0.05, 1, 0.05]), jnp.array([0.5, 0.05, 0.5, 0.05])

    def change(z, t, theta):
        hares, lynxes = z
        birth, eaten, death, fed = theta
        return jnp.stack([(birth - eaten * lynxes) * hares, (fed * hares - death) * lynxes])

    def model():
        theta = sample("theta", dist.TruncatedNormal(center, width, low=0.0))
        start = sample("z_init", dist.LogNormal(jnp.log(10), 1).expand([2]))
        sigma = sample("sigma", dist.LogNormal(-1, 1).expand([2]))
        path = odeint(change, start, times, theta, rtol=rtol, atol=atol)
        sample("y", dist.LogNormal(jnp.log(path), sigma), obs=skins)

    return model
