"""Random draws on JAX, by keys of Threefry: the lower halves of a generator's first two words.

Distributions that ``jax.random`` lacks are made of those that it has, by the relations in Devroye
(1986), *Non-uniform random variate generation*, or by rejection: von Mises after Best and Fisher
(1979), Zipf after Devroye (section X.6), logarithmic series after Kemp (1981), hypergeometric by
ratio of uniforms after Stadlober (1990).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dimtensor.backends.jax.symbolic import length_of
from dimtensor.ops.random.conditions import valid_parameters
from dimtensor.ops.random.draw import Draw, Seed, Split

Sampler = Callable[..., Any]


def own_translation(node: Any) -> Callable[..., Any] | None:
    """Return the JAX function of a node, None if this module has none."""
    op = node.op
    if isinstance(op, Draw):
        return _drawing(op)
    if isinstance(op, Seed):
        return _seeded
    return _split if isinstance(op, Split) else None


def _key(words: Any) -> Any:
    import jax
    import jax.numpy as jnp

    return jax.random.wrap_key_data(words[..., :2].astype(jnp.uint32), impl="threefry2x32")


def _with_key(words: Any, key: Any) -> Any:
    import jax

    return words.at[..., :2].set(jax.random.key_data(key).astype(words.dtype))


def _seeded(seed: Any) -> Any:
    import jax
    import jax.numpy as jnp

    seed = jnp.asarray(seed)
    make = jax.random.key
    for _ in range(seed.ndim):
        make = jax.vmap(make)
    words = jnp.zeros((*seed.shape, 6), jnp.uint64)
    return _with_key(words, make(seed))


def _split(words: Any, length: Any) -> Any:
    import jax
    import jax.numpy as jnp

    n = length_of(length)
    words = jnp.asarray(words)

    def children(one: Any) -> Any:
        keys = jax.random.split(jax.random.fold_in(_key(one), 1), n)
        return _with_key(jnp.broadcast_to(one, (n, one.shape[-1])), keys)

    for _ in range(words.ndim - 1):
        children = jax.vmap(children)
    return children(words)


def _drawing(op: Draw) -> Callable[..., Any]:
    def draw(words: Any, *rest: Any) -> Any:
        import jax
        import jax.numpy as jnp

        words = jnp.asarray(words)
        lengths = tuple(map(length_of, rest[: op.n_lengths]))
        shape, vector = lengths[: op.n_axes], lengths[op.n_axes :]
        row = op.row
        parameters = []
        for name, x in zip(row.parameters, rest[op.n_lengths :], strict=True):
            x = jnp.asarray(x)
            last = x.shape[-1:] if name in row.along else ()
            parameters.append(jnp.broadcast_to(x, (*words.shape[:-1], *shape, *last)))

        def one(words: Any, *parameters: Any) -> Any:
            after, key = jax.random.split(_key(words))
            if row.is_vector:
                values = SAMPLERS[op.name](key, *parameters, (*shape, *vector))
            else:
                values = SAMPLERS[op.name](key, *parameters, shape)
            valid = valid_parameters(row, parameters, jnp)
            if valid is not True:
                valid = valid[..., None] if row.is_vector else valid
                values = jnp.where(valid, values, jnp.nan if row.dtype == "float64" else 0)
            return _with_key(words, after), values.astype(row.dtype)

        for _ in range(op.n_streams):
            one = jax.vmap(one)
        return one(words, *parameters)

    return draw


def _real_numbers() -> dict[str, Sampler]:
    """Densities with a location and a scale, or by a formula of one number."""
    import jax.numpy as jnp
    from jax import random

    def located(name: str) -> Sampler:
        standard = getattr(random, name)
        return lambda key, loc, scale, shape: loc + scale * standard(key, shape)

    def triangular(key: Any, left: Any, mode: Any, right: Any, shape: Any) -> Any:
        u = random.uniform(key, shape)
        share = (mode - left) / (right - left)
        rising = left + jnp.sqrt(u * (right - left) * (mode - left))
        falling = right - jnp.sqrt((1 - u) * (right - left) * (right - mode))
        return jnp.where(u < share, rising, falling)

    def uniform(key: Any, low: Any, high: Any, shape: Any) -> Any:
        return low + (high - low) * random.uniform(key, shape)

    def lognormal(key: Any, mean: Any, sigma: Any, shape: Any) -> Any:
        return jnp.exp(mean + sigma * random.normal(key, shape))

    def weibull(key: Any, a: Any, shape: Any) -> Any:
        return jnp.where(a == 0, 0.0, random.exponential(key, shape) ** (1 / a))

    return {
        **{name: located(name) for name in ("normal", "gumbel", "laplace", "logistic")},
        "exponential": lambda key, scale, shape: scale * random.exponential(key, shape),
        "lognormal": lognormal,
        "pareto": lambda key, a, shape: jnp.expm1(random.exponential(key, shape) / a),
        "power": lambda key, a, shape: (-jnp.expm1(-random.exponential(key, shape))) ** (1 / a),
        "rayleigh": lambda key, scale, shape: scale * jnp.sqrt(2 * random.exponential(key, shape)),
        "standard_cauchy": lambda key, shape: random.cauchy(key, shape),
        "standard_t": lambda key, df, shape: random.t(key, df, shape),
        "triangular": triangular,
        "uniform": uniform,
        "vonmises": _vonmises,
        "weibull": weibull,
    }


def _made_of_gammas() -> dict[str, Sampler]:
    import jax.numpy as jnp
    from jax import random

    def chisquare(key: Any, df: Any, shape: Any) -> Any:
        return 2 * random.gamma(key, df / 2, shape)

    def ratio(key: Any, dfnum: Any, dfden: Any, shape: Any) -> Any:
        top, bottom = random.split(key)
        return chisquare(top, dfnum, shape) / dfnum / (chisquare(bottom, dfden, shape) / dfden)

    def noncentral_chisquare(key: Any, df: Any, nonc: Any, shape: Any) -> Any:
        count, number = random.split(key)
        return chisquare(number, df + 2 * random.poisson(count, nonc / 2, shape), shape)

    def noncentral_f(key: Any, dfnum: Any, dfden: Any, nonc: Any, shape: Any) -> Any:
        top, bottom = random.split(key)
        above = noncentral_chisquare(top, dfnum, nonc, shape) / dfnum
        return above / (chisquare(bottom, dfden, shape) / dfden)

    def wald(key: Any, mean: Any, scale: Any, shape: Any) -> Any:
        # Michael, Schucany and Haas (1976), without the cancellation of the smaller root
        one, two = random.split(key)
        y = mean * random.normal(one, shape) ** 2
        root = mean * 2 * scale / (2 * scale + y + jnp.sqrt(y * (4 * scale + y)))
        return jnp.where(
            random.uniform(two, shape) <= mean / (mean + root), root, mean * mean / root
        )

    return {
        "beta": lambda key, a, b, shape: random.beta(key, a, b, shape),
        "chisquare": chisquare,
        "f": ratio,
        "gamma": lambda key, a, scale, shape: scale * random.gamma(key, a, shape),
        "noncentral_chisquare": noncentral_chisquare,
        "noncentral_f": noncentral_f,
        "wald": wald,
    }


def _counts() -> dict[str, Sampler]:
    import jax.numpy as jnp
    from jax import random

    def binomial(key: Any, n: Any, p: Any, shape: Any) -> Any:
        return random.binomial(key, n.astype(p.dtype), p, shape)

    def integers(key: Any, low: Any, high: Any, shape: Any) -> Any:
        return random.randint(key, shape, low, high, low.dtype)

    def negative_binomial(key: Any, n: Any, p: Any, shape: Any) -> Any:
        mean, count = random.split(key)
        return random.poisson(count, random.gamma(mean, n, shape) * (1 - p) / p, shape)

    def logseries(key: Any, p: Any, shape: Any) -> Any:
        first, second = random.split(key)
        v = random.uniform(first, shape, minval=jnp.finfo(p.dtype).tiny)
        q = -jnp.expm1(jnp.log1p(-p) * random.uniform(second, shape))
        found = jnp.floor(1 + jnp.log(v) / jnp.log(q))
        found = jnp.where(v <= q * q, found, jnp.where(v >= q, 1, 2))
        return jnp.where(v >= p, 1, jnp.maximum(found, 1))

    def permutation(key: Any, shape: Any) -> Any:
        return jnp.argsort(random.bits(key, shape, jnp.uint64), axis=-1)

    return {
        "binomial": binomial,
        "geometric": lambda key, p, shape: random.geometric(key, p, shape),
        "hypergeometric": _hypergeometric,
        "integers": integers,
        "logseries": logseries,
        "multinomial": _multinomial,
        "multivariate_hypergeometric": _multivariate_hypergeometric,
        "negative_binomial": negative_binomial,
        "permutation": permutation,
        "poisson": lambda key, lam, shape: random.poisson(key, lam, shape),
        "zipf": _zipf,
    }


class _Samplers:
    """Made when the first is asked for, as they need JAX."""

    def __init__(self) -> None:
        self._made: dict[str, Sampler] = {}

    def __getitem__(self, name: str) -> Sampler:
        if not self._made:
            self._made.update(_real_numbers() | _made_of_gammas() | _counts())
        return self._made[name]


SAMPLERS = _Samplers()


def _rejection(key: Any, shape: Any, start: Any, propose: Callable[[Any], tuple[Any, Any]]) -> Any:
    """Proposals until each element has accepted one.

    ``propose(key)`` gives values and where they are accepted.
    """
    import jax
    import jax.numpy as jnp

    def step(state: Any) -> Any:
        key, values, done = state
        key, here = jax.random.split(key)
        proposed, accepted = propose(here)
        return key, jnp.where(done, values, proposed), done | accepted

    state = (key, start, jnp.zeros(shape, bool))
    return jax.lax.while_loop(lambda state: ~jnp.all(state[2]), step, state)[1]


def _vonmises(key: Any, mu: Any, kappa: Any, shape: Any) -> Any:
    import jax.numpy as jnp
    from jax import random

    concentrated = kappa > 1e6  # there a wrapped normal is as good, as in NumPy
    usual = jnp.clip(jnp.where(kappa >= 0, kappa, 1.0), 1e-5, 1e6)
    r = 1 + jnp.sqrt(1 + 4 * usual**2)
    rho = (r - jnp.sqrt(2 * r)) / (2 * usual)
    s = jnp.where(usual < 1e-5, 1 / usual + usual, (1 + rho**2) / (2 * rho))
    again, sign, flat, normal = random.split(key, 4)

    def propose(key: Any) -> tuple[Any, Any]:
        one, two = random.split(key)
        z = jnp.cos(jnp.pi * random.uniform(one, shape))
        w = (1 + s * z) / (s + z)
        y = usual * (s - w)
        v = random.uniform(two, shape)
        return w, (y * (2 - y) - v >= 0) | (jnp.log(y / v) + 1 - y >= 0)

    w = _rejection(again, shape, jnp.zeros(shape, mu.dtype), propose)
    angle = jnp.arccos(jnp.clip(w, -1, 1))
    turned = jnp.where(random.bernoulli(sign, shape=shape), angle, -angle)
    turned = jnp.where(kappa < 1e-8, jnp.pi * (2 * random.uniform(flat, shape) - 1), turned)
    spread = random.normal(normal, shape) / jnp.sqrt(jnp.maximum(kappa, 1.0))
    found = mu + jnp.where(concentrated, spread, turned)
    return jnp.pi - jnp.mod(jnp.pi - found, 2 * jnp.pi)  # in (-pi, pi]


def _zipf(key: Any, a: Any, shape: Any) -> Any:
    import jax.numpy as jnp
    from jax import random

    a = jnp.where(a > 1, a, 2.0)
    largest = 2.0**62
    smallest_u = largest ** -(a - 1)
    b = 2.0 ** (a - 1)

    def propose(key: Any) -> tuple[Any, Any]:
        one, two = random.split(key)
        u = smallest_u + (1 - smallest_u) * (1 - random.uniform(one, shape))
        x = jnp.floor(u ** (-1 / (a - 1)))
        t = (1 + 1 / x) ** (a - 1)
        v = random.uniform(two, shape)
        return x, v * x * (t - 1) / (b - 1) <= t / b

    found = _rejection(key, shape, jnp.ones(shape, a.dtype), propose)
    return jnp.where(a >= 1025, 1.0, found)


def _hypergeometric(key: Any, ngood: Any, nbad: Any, nsample: Any, shape: Any) -> Any:
    import jax.numpy as jnp
    from jax import random
    from jax.scipy.special import gammaln

    good, bad, sample = (x.astype(jnp.result_type(float)) for x in (ngood, nbad, nsample))
    total = good + bad
    fewer, more = jnp.minimum(good, bad), jnp.maximum(good, bad)
    drawn = jnp.minimum(sample, total - sample)
    share = fewer / jnp.maximum(total, 1)
    center = drawn * share + 0.5
    variance = (total - drawn) * drawn * share * (1 - share) / jnp.maximum(total - 1, 1)
    c = jnp.sqrt(variance + 0.5)
    width = 2 * jnp.sqrt(2 / jnp.e) * c + 3 - 2 * jnp.sqrt(3 / jnp.e)
    mode = jnp.floor((drawn + 1) * (fewer + 1) / (total + 2))
    most = jnp.minimum(jnp.minimum(drawn, fewer) + 1, jnp.floor(center + 16 * c))

    def log_weight(k: Any) -> Any:
        return -(
            gammaln(k + 1)
            + gammaln(fewer - k + 1)
            + gammaln(drawn - k + 1)
            + gammaln(more - drawn + k + 1)
        )

    def propose(key: Any) -> tuple[Any, Any]:
        one, two = random.split(key)
        u = 1 - random.uniform(one, shape)
        x = center + width * (random.uniform(two, shape) - 0.5) / u
        inside = (x >= 0) & (x < most)
        k = jnp.where(inside, jnp.floor(x), mode)
        return k, inside & (2 * jnp.log(u) <= log_weight(k) - log_weight(mode))

    valid = (good >= 0) & (bad >= 0) & (sample >= 0) & (sample <= total)

    def safe(key: Any) -> tuple[Any, Any]:
        k, accepted = propose(key)
        return k, accepted | ~valid

    k = _rejection(key, shape, jnp.zeros(shape, good.dtype), safe)
    k = jnp.where(good > bad, drawn - k, k)
    return jnp.where(drawn < sample, good - k, k)


def _along_last(step: Callable[..., Any], start: Any, key: Any, columns: Any) -> Any:
    """Draw the columns of a vector one after the other, each given the remainder."""
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(key, columns.shape[-1])
    _, values = jax.lax.scan(
        lambda left, each: step(left, *each), start, (keys, jnp.moveaxis(columns, -1, 0))
    )
    return jnp.moveaxis(values, 0, -1)


def _multinomial(key: Any, n: Any, pvals: Any, shape: Any) -> Any:
    import jax.numpy as jnp
    from jax import random

    if shape[-1] == 0:
        return jnp.zeros(shape, n.dtype)

    def step(left: Any, key: Any, p: Any) -> Any:
        count, probability = left
        share = jnp.where(probability > 0, p / probability, 1.0)
        share = jnp.clip(share, 0.0, 1.0)
        drawn = random.binomial(key, count, share, count.shape)
        drawn = jnp.where(share >= 1, count, drawn)
        return (count - drawn, probability - p), drawn

    count = n.astype(pvals.dtype)
    first = _along_last(step, (count, jnp.ones_like(count)), key, pvals[..., :-1])
    return jnp.concatenate([first, (count - first.sum(-1))[..., None]], axis=-1)


def _multivariate_hypergeometric(key: Any, colors: Any, nsample: Any, shape: Any) -> Any:
    import jax.numpy as jnp

    def step(left: Any, key: Any, color: Any) -> Any:
        total, sample = left
        drawn = _hypergeometric(key, color, total - color, sample, color.shape)
        drawn = drawn.astype(color.dtype)
        return (total - color, sample - drawn), drawn

    if shape[-1] == 0:
        return jnp.zeros(shape, colors.dtype)
    return _along_last(step, (colors.sum(-1), nsample), key, colors)
