"""Other libraries that sum discrete variables out: a value and its gradient."""

import warnings


def enumerated(model, values):
    """The log density of a model of NumPyro, whose arguments are the parameters."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from numpyro.contrib.funsor import config_enumerate, enum, log_density

    def density(*values):
        # two dims for plates, those to the left for states
        inner = enum(config_enumerate(model), first_available_dim=-3)
        return log_density(inner, values, {}, {})[0]

    compiled = jax.jit(jax.value_and_grad(density, argnums=tuple(range(len(values)))))

    def call(*values):
        value, slopes = compiled(*values)
        return [x.block_until_ready() for x in (value, *slopes)]

    return call, tuple(map(jax.numpy.asarray, values))


def without(model, name, values):
    """The log density of a model of PyMC without one of its variables."""
    import pytensor
    from pymc_extras import marginalize

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        left = marginalize(model, [name])
        total = left.logp()
        slopes = pytensor.grad(total, left.value_vars)
        f = pytensor.function(left.value_vars, [total, *slopes], mode="NUMBA")
    f.trust_input = True
    return f, values
